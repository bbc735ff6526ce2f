"""The README's commands work: each one is run, on a few segments, or checked against what it names."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from fakes import ROOT, composed

from bmx_grid.commands.analyse import main as analyse
from bmx_grid.commands.compose import compose_and_run
from bmx_grid.configure import options

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```bash\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = [line.split("  #")[0].strip() for block in BLOCKS for line in block.splitlines() if line.strip()]
OTHERS = ("data", "score", "analyse")
SWEEPS = [one for one in COMMANDS if one.startswith("python -m bmx_grid ") and one.split()[3] not in OTHERS]
PROCESS = next(one for one in reversed(SWEEPS) if "--help" not in one)  # for status and streams
SMALL = ["limit=3", "tracking=none", "executor=sequential", "analysis=false"]


def run(arguments: list[str], cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, env=known, check=False)


@pytest.fixture
def folder(tmp_path):
    """An empty folder with the table that the README calls my.tsv, of one language pair."""
    head, *rows = (ROOT / "bmx_grid" / "datasets" / "sample.tsv").read_text(encoding="utf-8").splitlines()
    pair = head.split("\t").index("language_pair")
    kept = [row for row in rows if row.split("\t")[pair] == rows[0].split("\t")[pair]]
    (tmp_path / "my.tsv").write_text("\n".join([head, *kept]) + "\n", encoding="utf-8")
    return tmp_path


def small(arguments: list[str]) -> list[str]:
    """Overrides for one language pair of three segments and the fewest splits and draws.

    What a command does with several pairs is what it does with one, once for each; `make run` runs them all. Of the
    tests' resamples 400 are left: with fewer each of them is done again, with more.
    """
    chosen = composed(*arguments)
    pairs = {name: one["language_pairs"][:1] for name, one in chosen["dataset"].items() if one["language_pairs"]}
    found = [*SMALL, *(f"dataset.{name}.language_pairs={own}" for name, own in pairs.items())]
    for name, one in chosen["evaluation"].items():
        for key in ("resamples", "splits"):
            enough = 400 if (name, key) == ("significance", "resamples") else 40
            found += [f"evaluation.{name}.{key}={enough}"] if key in one else []
    return found


@pytest.mark.parametrize("command", SWEEPS)
def test_a_sweep_of_the_readme_runs(command, folder, request, monkeypatch, capsys, blank_figures):
    """One of them as a process; the others here, where libraries and models are loaded already."""
    arguments = shlex.split(command)[1:]
    if "DIR" in command or "sweep=paper" in command:
        data = str(request.getfixturevalue("data_dir").resolve())
        arguments = [one.replace("DIR", data) for one in arguments]
        arguments += [] if "data_dir" in command else [f"data_dir={data}"]
    if "--help" not in arguments:
        arguments += small(arguments[2:])
    if command == PROCESS:
        done = run(arguments, folder)
        assert done.returncode == 0, done.stderr[-2000:]
        assert done.stdout
    else:
        monkeypatch.chdir(folder)
        assert compose_and_run(arguments[2:]) == 0, capsys.readouterr().err[-2000:]
        assert capsys.readouterr().out


@pytest.mark.parametrize("command", [one for one in COMMANDS if one not in SWEEPS])
def test_every_other_command_names_what_exists(command, tmp_path, monkeypatch, blank_figures):
    words = shlex.split(command)
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    elif words[:2] == ["pip", "install"]:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        for extra in re.findall(r"\[(.*?)\]", command):
            assert extra in project["optional-dependencies"]
    elif words[:4] == ["python", "-m", "bmx_grid", "data"]:
        done = run([*words[1:4], words[4], "--help"], tmp_path)
        assert done.returncode == 0, done.stderr
    elif words[:4] == ["python", "-m", "bmx_grid", "score"]:
        for name, text in (("R.txt", "a reference\n"), ("H.txt", "a hypothesis\n")):
            (tmp_path / name).write_text(text)
        done = run(words[1:], tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("signature: chrF2|")
    elif words[:4] == ["python", "-m", "bmx_grid", "analyse"]:
        sweep = ["+sweep=quickstart", "metric=[chrf]", "explainer=[erasure,lime]"]
        monkeypatch.chdir(tmp_path)
        assert compose_and_run([*sweep, *small(sweep)]) == 0
        assert analyse(words[4:]) == 0
        assert (tmp_path / "analysis" / "report.html").is_file()
    elif words[0] == "mlflow":
        assert words[1:3] == ["ui", "--backend-store-uri"]
    elif words[:3] == ["python3", "-m", "venv"]:
        pass
    else:
        pytest.fail(f"the README's command is not checked: {command}")


DOCUMENTED = [*options("sweep"), *options("dataset"), "share_shifted", "plateau", "length_control", "n_undefined"]


@pytest.mark.parametrize("name", sorted({*DOCUMENTED} - {"tabular"}))
def test_the_docs_have_a_row_for(name):
    pages = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md")))
    assert re.search(rf"^\| `{name}` \|", pages, flags=re.MULTILINE)
