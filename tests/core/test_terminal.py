import os
import sys

import numpy as np
import pytest

from bmx_grid.core.terminal import command, say


def test_too_little_memory_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """An option can ask for an array that no machine holds; numpy then raises MemoryError."""

    def work() -> int:
        np.empty((1 << 29, 1 << 28))
        return 0

    assert command(work) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: not enough memory: Unable to allocate") and said.count("\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux that is always full")
@pytest.mark.parametrize(
    ("write", "status", "said"),
    [
        pytest.param(print, 1, "error: the output cannot be written: No space left on device; send it elsewhere.\n"),
        pytest.param(say, 0, "warning: the output cannot be written: No space left on device; the work continues.\n"),
    ],
    ids=["a result", "a message of a sweep"],
)
def test_a_full_disk_behind_the_output_is_one_sentence(write, status, said, monkeypatch, capsys):
    def work() -> int:
        for _ in range(2):
            write("x" * 100_000)
        return 0

    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert command(work) == status
        assert capsys.readouterr().err == said
