import numpy as np
import pytest

from bmx_grid.terminal import command


def test_too_little_memory_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """An option can ask for an array that no machine holds; numpy then raises MemoryError."""

    def work() -> int:
        np.empty((1 << 29, 1 << 28))
        return 0

    assert command(work) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: not enough memory: Unable to allocate") and said.count("\n") == 1
