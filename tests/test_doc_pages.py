"""Every page of the documentation is run as written, from top to bottom in an empty folder, and prints what it shows.

A block with a title is a file; a block of Python or of the shell is run; a block of text below it is its output, in
which … stands for anything. A shell block whose first line is "# needs …" is not run: tests/test_readme.py plans it.
"""

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from fakes import ROOT
from forks import __file__ as FORKS

PAGES = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]
SECONDS = 300  # for one block
BLOCK = re.compile(r'^```(\w*)(?: title="(.*?)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"[+−-]?\d[\d,]*(?:\.\d+)?")
# Scores of neural metrics differ by up to 1e-6 between processors: the last digit that is shown may be another one.
UNITS_OF_THE_LAST_DIGIT = 2


class Block(NamedTuple):
    """A fenced block: its language, the file that it names if any, and its text."""

    language: str
    title: str
    text: str


def blocks_of(page: str) -> list[Block]:
    """The blocks of a page. What a page of contributing/ shows is run by tests/test_from_outside.py."""
    return [Block(*found) for found in BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))]


def is_run(block: Block) -> bool:
    return not block.title and (
        block.language == "python" or (block.language == "bash" and not block.text.startswith("# needs "))
    )


RUN = [page for page in PAGES if "/contributing/" not in page and any(is_run(block) for block in blocks_of(page))]


@pytest.fixture
def folder(tmp_path, monkeypatch, forks) -> Path:
    """An empty folder, with the commands of this checkout on the path and no data set but the embedded one."""
    programs = tmp_path / "programs"
    programs.mkdir()
    python = f'PYTHONPATH="$PYTHONPATH:{ROOT}" exec {sys.executable}'
    forked = f"{python} -I -S {FORKS} run {forks} -m bmx_grid"
    for name, command in {"python": python, "python3": python, "bmx-grid": forked}.items():
        program = programs / name
        program.write_text(f'#!/bin/sh\n{command} "$@"\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("BMX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("BMX_DATA_DIR", raising=False)
    monkeypatch.setenv("BMX_ALLOWED_PACKAGES", "")
    monkeypatch.setattr(sys, "path", [*sys.path])
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def value_of(number: str) -> float:
    return float(number.replace(",", "").replace("−", "-"))


def numbers_agree(shown: str, printed: str) -> bool:
    """Whether two lines differ in the last digits of decimal fractions at most."""
    if NUMBER.sub("0", shown).split() != NUMBER.sub("0", printed).split():
        return False
    for one, other in zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True):
        digits = len(one.partition(".")[2])
        difference = abs(
            float(one.replace(",", "").replace("−", "-")) - float(other.replace(",", "").replace("−", "-"))
        )
        if difference > (1.01 * UNITS_OF_THE_LAST_DIGIT * 10**-digits if digits else 0):
            return False
    return True


def line_agrees(shown: str, printed: str) -> bool:
    if "…" in shown:
        return re.fullmatch(re.escape(shown).replace("…", ".*"), printed) is not None
    return shown == printed or numbers_agree(shown, printed)


def missing_line(shown: str, printed: str) -> str | None:
    """The first line that is shown and not printed, in this order; None if all are printed."""
    lines: Iterator[str] = iter(line.rstrip() for line in printed.splitlines())
    for line in shown.splitlines():
        if line in ("", "…"):
            continue
        if not any(line_agrees(line.rstrip(), other) for other in lines):
            return line
    return None


def run_shell(text: str, folder: Path) -> str:
    """What a shell block prints, with both streams; fails if one of its commands does."""
    process = subprocess.run(
        ["bash", "-e", "-c", text],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    assert process.returncode == 0, f"{text}\n{process.stdout[-2000:]}"
    assert "\x1b" not in process.stdout, "no colours and no control sequences without a terminal"
    return process.stdout


def run_python(text: str, page: str, known: dict[str, object]) -> str:
    """What a Python block prints; names of earlier blocks of the page are known."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(text, page, "exec"), known)
    return out.getvalue()


@pytest.mark.processes
@pytest.mark.parametrize("page", RUN)
def test_a_page_runs_as_written_and_prints_what_it_shows(page, folder, template, blank_figures):
    if "/experiments/" not in (ROOT / page).read_text(encoding="utf-8"):  # numbers of a database that is made anew
        (folder / "outputs").mkdir()
        shutil.copy(template, folder / "outputs" / "mlflow.db")
    known: dict[str, object] = {}
    printed: str | None = None
    for block in blocks_of(page):
        if block.title:
            file = folder / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif block.language == "text":
            if printed is not None:
                assert missing_line(block.text, printed) is None, printed[-6000:]
        elif is_run(block):
            if block.language == "python":
                printed = run_python(block.text, page, known)
            else:
                printed = run_shell(block.text, folder)
            continue
        printed = None


@pytest.mark.parametrize(
    ("shown", "printed", "lacking"),
    [
        ("a\n…\nc", "a\nb\nc", None),
        ("c\na", "a\nb\nc", "a"),  # another order
        ("took … s", "took 3 s", None),
        ("r 0.467", "r 0.468", None),  # one unit of the last digit
        ("r 0.467", "r 0.470", "r 0.467"),
        ("192 rows", "193 rows", "192 rows"),  # counts are exact
        ("gain +0.002", "loss +0.002", "gain +0.002"),
    ],
)
def test_what_a_page_shows_is_compared(shown, printed, lacking):
    assert missing_line(shown, printed) == lacking
