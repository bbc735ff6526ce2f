"""The command line called as a function, in an empty folder."""

import csv
import sys

import pytest

from bmx_grid.__main__ import _run
from bmx_grid.commands.run import compose_and_run
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


@pytest.fixture
def quiet_sweep(tmp_path, monkeypatch, capsys):
    """quiet_sweep(*arguments): status, what was said, and the rows of settings.csv, of a sweep to the folder out."""
    monkeypatch.chdir(tmp_path)

    def answer(*arguments):
        status = compose_and_run([*arguments, "tracking=none", "executor=sequential", "output_dir=out"])
        said = "".join(capsys.readouterr())
        path = tmp_path / "out" / "settings.csv"
        return status, said, list(csv.DictReader(path.open())) if path.is_file() else []

    return answer
