"""Commands of README and docs that need what a test lacks ("# needs …"): sweeps are planned, others are tried on files.

All other commands are run as written by tests/test_doc_pages.py.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.util import find_spec

import pytest
from fakes import ROOT
from score_trees import TREE, plant

from bmx_grid.__main__ import _run
from bmx_grid.api import compose
from bmx_grid.api.sweep import run_sweep
from bmx_grid.commands import COMMANDS as MAINS
from bmx_grid.commands.analyse import main as analyse
from bmx_grid.commands.run import compose_and_run
from bmx_grid.core.configure import options
from bmx_grid.core.terminal import command as call_command
from bmx_grid.sweep.executors.dask import Dask
from bmx_grid.sweep.folder import STAMP

PAGES = sorted(
    path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "contributing"
)
PYTHON = "python -m bmx_grid "
OTHERS = ("data", "score", "analyse", "compare", "check")
OF_OTHERS = ("podman", "vllm", "mlflow", "dask", "export", "python3", "python", "~/comet/bin/pip", "hf")
MAKES_FILES = ("printf", "cp")
# What a command names and a checkout does not have: files, folders of results, places of the reader's.
NAMED = re.compile(
    r"[\w-]+\.(?:tsv|txt|jsonl|json)\b|\boutputs/(?!mlflow\.db)\w+|\bDIR\b|\bHOST\b|my-bucket|/shared|/srv/bmx|\$HOME/[\w.-]+"
)


def blocks_with_needs(page: str) -> list[str]:
    """The shell blocks of a page that need what the first line names."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"```bash\n(# needs .*?)```", text, flags=re.DOTALL)


def commands(page: str) -> list[str]:
    """The commands of these blocks, each in one line."""
    blocks = "".join(blocks_with_needs(page)).replace("\\\n", " ")
    lines = [line.split("  #")[0].strip() for line in blocks.splitlines() if line.strip() and not line.startswith("#")]
    return [re.sub(r"^((?:[A-Z_]+=(?:\"[^\"]*\"|\S+) )?)bmx-grid (run )?", rf"\1{PYTHON}", line) for line in lines]


def is_sweep(command: str) -> bool:
    return command.startswith(PYTHON) and command.split()[3] not in OTHERS and not has_flags(command)


def has_flags(command: str) -> bool:
    """Whether it has flags of Hydra, which `compose` does not take."""
    return re.search(rf"{PYTHON}(-m|--config-dir|--config-path) ", command) is not None


def without_a_word(page: str) -> list[str]:
    """What these blocks name, and neither make themselves nor say that they need."""
    lacking = []
    for block in blocks_with_needs(page):
        stated = " ".join(line for line in block.splitlines() if "needs" in line)
        created = " ".join(line for line in block.splitlines() if line.split()[:1] and line.split()[0] in MAKES_FILES)
        for name in dict.fromkeys(NAMED.findall(block)):
            if name not in stated and name not in created and not (ROOT / name).exists():
                lacking.append(name)
    return lacking


COMMANDS = list(dict.fromkeys(line for page in ("README.md", *PAGES) for line in commands(page)))
PLANNED = [command for command in COMMANDS if is_sweep(command) and "--help" not in command]
QUICK = {"dry_run": "true", "limit": "3"}
SMALL = ("limit=3", "tracking=none", "executor=sequential", "analysis=false", "dataset.sample.language_pairs=[de-en]")


@pytest.fixture
def folder(tmp_path):
    """An empty folder with the table that the docs call my.tsv, of one language pair."""
    head, *rows = (ROOT / "bmx_grid" / "datasets" / "sample.tsv").read_text(encoding="utf-8").splitlines()
    pair = head.split("\t").index("language_pair")
    kept = [row for row in rows if row.split("\t")[pair] == rows[0].split("\t")[pair]]
    (tmp_path / "my.tsv").write_text("\n".join([head, *kept]) + "\n", encoding="utf-8")
    # Scores of the same segments, as somebody else's metric.
    columns = [head.split("\t").index(name) for name in ("id", "system")]
    scores = ["id\tsystem\tscore"]
    for number, row in enumerate(kept):
        cells = row.split("\t")
        scores.append("\t".join([*(cells[column] for column in columns), str(number)]))
    for name in ("imported", "theirs"):
        path = tmp_path / "scores" / "de-en" / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(scores) + "\n", encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def analysed(tmp_path_factory):
    """A folder with the results of a sweep."""
    place = tmp_path_factory.mktemp("analysed")
    folders = (f"output_dir={place / 'outputs' / 'quickstart'}", f"cache_dir={place / 'cache'}")
    chosen = ("+sweep=quickstart", "metric=[chrf]", "explainer=[erasure,lime]", "evaluation=[grid,significance]")
    assert compose_and_run([*chosen, *SMALL, "evaluation.significance.resamples=400", *folders]) == 0
    return place


@pytest.mark.parametrize("page", ["README.md", *PAGES])
def test_a_shell_block_says_what_it_needs_or_makes_it(page):
    assert without_a_word(page) == []


@pytest.mark.parametrize("command", [command for command in PLANNED if "data_dir=" not in command])
def test_a_sweep_without_a_data_folder_reads_what_is_here(command):
    """The embedded sample, a table, or a folder that the block names."""
    datasets = compose.compose_config(shlex.split(command)[3:])["dataset"]
    for keys in datasets.values():
        # A data set that is judged by a file of spans is one of these.
        datasets = datasets | (keys.get("dataset") or {})
    assert set(datasets) <= {"sample", "tabular", "mt_metrics_eval", "span_scores"}


@pytest.mark.parametrize("command", PLANNED)
def test_a_sweep_of_the_docs_can_be_planned(command, folder, monkeypatch, capsys):
    """Every group, option, key and value is there and fits; the data are those of whoever types it."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("BMX_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setattr(
        Dask, "check", lambda self: None
    )  # whether this machine has a cluster is not what the page says
    arguments = [os.path.expandvars(word).replace("=s3://", "=memory://") for word in shlex.split(command)[3:]]
    keys = {argument.partition("=")[0] for argument in arguments}
    run_sweep(
        compose.compose_config([*arguments, *(f"{key}={value}" for key, value in QUICK.items() if key not in keys)])
    )
    assert capsys.readouterr().out


# Files of options that commands with flags read from the folder conf, which their blocks say they need.
JUDGE = (
    "{_target_: bmx_grid.guests.judge.judge.Judge, model: m, base_url: 'https://llm.example.org/v1', "
    "key_variable: MY_KEY}"
)
PROGRAM = "['$HOME/comet/bin/python', comet.py, --model, Unbabel/wmt22-comet-da]"
OPTIONS = {
    "BMX_JUDGE_ALLOW": ("metric/mine.yaml", f"mine: {JUDGE}"),
    "BMX_ALLOWED_COMMANDS": (
        "metric/mine.yaml",
        f"mine: {{_target_: bmx_grid.guests.command.metric.CommandMetric, command: {os.path.expandvars(PROGRAM)}}}",
    ),
    "+sweep=theirs": ("sweep/theirs.yaml", "# @package _global_\nname: theirs\nlimit: 2"),
}

# Packages of their own.
PLUGINS = {
    "hydra/launcher=joblib": "hydra_plugins.hydra_joblib_launcher",
    "hydra/launcher=submitit_slurm": "hydra_plugins.hydra_submitit_launcher",
    "hydra/sweeper=optuna": "hydra_plugins.hydra_optuna_sweeper",
}


def one_of_several(word: str) -> str:
    """The first value of an override that has several, for --multirun."""
    key, equals, value = word.partition("=")
    return word if "[" in value or "(" in value else f"{key}{equals}{value.partition(',')[0]}"


@pytest.mark.parametrize("command", [command for command in COMMANDS if has_flags(command)])
def test_a_command_with_flags_of_hydra_has_a_configuration(command, folder, request, monkeypatch, capsys):
    """Every group, option, key and value is there and fits. A multirun is composed with its first values."""
    stated, _, rest = command.partition(PYTHON)
    words = shlex.split(os.path.expandvars(rest))
    for setting in shlex.split(os.path.expandvars(stated)):
        name, _, value = setting.partition("=")
        monkeypatch.setenv(name, value)
    for mark, (place, text) in OPTIONS.items():
        if mark in command:
            file = folder / "conf" / place
            file.parent.mkdir(parents=True)
            file.write_text(text + "\n", encoding="utf-8")
    if "--config-path" in words:
        (folder / "outputs").symlink_to(request.getfixturevalue("analysed") / "outputs")
    for word in words:
        if word in PLUGINS and find_spec(PLUGINS[word]) is None:
            pytest.skip(f"{PLUGINS[word]} is not installed")
    monkeypatch.chdir(folder)
    arguments = [one_of_several(word) for word in words if word != "-m"]
    monkeypatch.setattr(sys, "argv", ["bmx-grid", *arguments, "--cfg", "all"])
    status = call_command(lambda: _run(arguments[0]))
    printed = capsys.readouterr()
    assert status == 0, printed.err
    assert "\nhydra:\n" in f"\n{printed.out}" and "\nmetric:\n" in printed.out


@pytest.mark.parametrize(
    "command", [command for command in COMMANDS if not is_sweep(command) and not has_flags(command)]
)
def test_every_other_command_names_what_exists(command, folder, request, monkeypatch, capsys, blank_figures):
    words = shlex.split(command)
    if "judge" in words:
        pytest.skip("sends requests to a server; tests/guests/test_judge.py has one of its own")
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    elif words[0] in MAKES_FILES:
        (folder / "bmx_grid").symlink_to(ROOT / "bmx_grid")  # a checkout
        (folder / "H.txt").write_text("the text of H\n")
        subprocess.run(command, shell=True, cwd=folder, check=True)
        assert (folder / words[-1]).stat().st_size > 0
    elif words[:2] == ["pip", "install"]:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        for extra in ",".join(re.findall(r"\[(.*?)\]", command)).split(","):
            assert not extra or extra in project["optional-dependencies"]
    elif words[:5] == ["python", "-m", "bmx_grid", "data", "download"]:  # needs a network
        assert words[5] in options("dataset")
    elif words[:3] == ["python", "-m", "bmx_grid"] and words[3] in ("data", "score"):
        monkeypatch.chdir(folder)
        for name in ("R", "R2", "H", "A", "B"):
            (folder / f"{name}.txt").write_text(f"the text of {name}\n" * 3)
        item = {"item_id": "eng_###_deu_###_news_###_d_###_0", "src": "One.", "ref": "Eins.", "hyps": {"A": "Ein."}}
        (folder / "items.jsonl").write_text(json.dumps(item) + "\n")
        plant(folder / ".mt-metrics-eval" / "mt-metrics-eval-v2" / "wmt23", TREE)
        words = [word.replace("$HOME", str(folder)) for word in words]
        status, printed = import_module(MAINS[words[3]]).main(words[4:]), capsys.readouterr()
        assert status == 0 and printed.out, printed.err
    elif words[:4] == ["python", "-m", "bmx_grid", "analyse"]:
        (folder / "outputs").symlink_to(request.getfixturevalue("analysed") / "outputs")
        monkeypatch.chdir(folder)
        assert analyse(words[4:]) == 0
        written = {path.name for path in folder.glob("analysis/*")}
        asked = [command.partition("=")[0] for command in words[4:]]
        tables = {STAMP, "tables"} if "format" in asked else {STAMP, "report.html", "figures"}
        assert written == (tables if "output_dir" in asked else set())
    elif words[0] == "python" and words[1].startswith("experiments/"):
        assert (ROOT / words[1]).is_file()
    else:  # what others' programs take is not for us to check
        assert words[0] in OF_OTHERS or "=" in words[0], f"a command that is not checked: {command}"


@pytest.mark.parametrize("name", ["share_shifted", "plateau", "length_control", "n_undefined"])
def test_the_docs_have_a_row_for(name):
    pages = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md")))
    assert re.search(rf"^\| `{name}` \|", pages, flags=re.MULTILINE)
