"""The transcript for new users: its commands run as they stand, on few segments, and print what it shows."""

import re
import shlex
import sys

import pytest
from fakes import ROOT

from bmx_grid.__main__ import _run

PAGE = (ROOT / "docs" / "first_steps.md").read_text(encoding="utf-8")
(TABLE,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
# A command, and the text that is shown below it, if any.
BLOCKS = re.findall(r"```bash\n(.*?)```(?:\n\n```text\n(.*?)```)?", PAGE, flags=re.DOTALL)
# What keeps a run short: one language pair and a coarse grid, and nothing drawn.
SMALL = ["executor=sequential", "evaluation=[grid]", "grid.p.step=10", "limit=3"]
SHOWN = ("data", "compare")  # commands whose output does not depend on what is left out here


@pytest.mark.usefixtures("blank_figures")
def test_the_transcript_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("BMX_CACHE_DIR", str(tmp_path / "cache"))
    exec(compile(TABLE, "docs/first_steps.md", "exec"), {})
    assert len((tmp_path / "our ratings.tsv").read_text(encoding="utf-8").splitlines()) == 289
    ready = ""
    for block, shown in BLOCKS:
        words = shlex.split(block.replace("\\\n", " "))
        assert words[0] == "bmx-grid"
        dry = "dry_run=true" in words
        if words[1] == "run" and not dry:
            kept = [word for word in words if not word.startswith("limit=")]
            pairs = "dataset.sample.language_pairs=[de-en]" if "+sweep=quickstart" in words else ""
            words = [*kept, *SMALL, *([pairs] if pairs else ["analysis=true"])]
        monkeypatch.setattr(sys, "argv", words)
        status = _run(words[1])
        out = capsys.readouterr().out
        assert status == 0, block
        assert "\x1b" not in out, "no colours and no control sequences where there is no terminal"
        lines = [line.rstrip() for line in shown.splitlines() if line != "…"]
        if words[1] in SHOWN or dry:
            assert [line for line in lines if line not in out.splitlines()] == []
        if words[1] == "data":
            ready = shlex.split(out.split("to run it:\n")[1].replace("\\\n", " "))
        if dry:
            assert [word for word in words if word != "dry_run=true"] == ready, (
                "the page has the command that is printed"
            )
        if "--multirun" in words:
            assert (tmp_path / "outputs" / "quickstart" / "explainer.lime.num_samples=20" / "settings.csv").is_file()
    assert (tmp_path / "conclusions" / "report.html").is_file()
