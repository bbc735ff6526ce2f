"""A sample of the mistakes that `make fuzz` tries by the hundred: a plan or one sentence, and no foreign code."""

import pytest
from tools.fuzz.overrides import inputs, write_options

from bmx_grid.commands.run import compose_and_run
from bmx_grid.core.terminal import command

SHOWS = "--cfg"


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_given_is_answered(seed, tmp_path, monkeypatch, capsys):
    write_options(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for arguments in inputs(seed, 12):
        last = [] if any(argument.startswith(SHOWS) for argument in arguments) else ["dry_run=true"]
        try:
            status = command(lambda line=(*arguments, *last): compose_and_run(line))
        except SystemExit as error:
            pytest.fail(f"{arguments} leaves with {error.code}")
        shown = capsys.readouterr()
        assert status in (0, 1, 2), arguments
        assert "Traceback" not in shown.err, arguments
        assert status != 2 or shown.err.rstrip("\n").endswith("."), (arguments, shown.err)
        assert not (tmp_path / "RAN").exists(), arguments
