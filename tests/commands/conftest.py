"""The command line called as a function, in an empty folder."""

import sys

import pytest

from bmx_grid.__main__ import _run
from bmx_grid.core.terminal import command


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """call(*arguments): status and all that is said of bmx-grid with these arguments."""
    monkeypatch.chdir(tmp_path)

    def answer(*arguments):
        monkeypatch.setattr(sys, "argv", ["bmx-grid", *arguments])
        try:
            status = command(lambda: _run(arguments[0] if arguments else ""))
        except SystemExit as stop:
            status = stop.code
        return status, "".join(capsys.readouterr())

    return answer
