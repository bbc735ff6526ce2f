"""Hydra as its documentation describes it: each of its flags, its folders, launchers, sweepers and completion."""

import argparse
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from fakes import ROOT
from hydra._internal.utils import get_args_parser
from hydra.core.utils import setup_globals
from started import Forked

from bmx_grid.commands.run import help_of_any_type
from bmx_grid.core.terminal import FULL_ERROR

pytestmark = pytest.mark.usefixtures("blank_figures")

SMALL = (
    *("dataset.sample.language_pairs=[de-en]", "limit=3", "metric=[chrf]", "explainer=[erasure]", "evaluation=[grid]"),
    *("executor=sequential", "tracking=none", "analysis=false", "cache_dir=cache"),
)
LIME = ("explainer=[lime]", "explainer.lime.num_samples=20")
OWN_FILES = {
    "mine.yaml": "defaults: [config, _self_]\nname: from_mine\nlimit: 5\n",
    "metric/own.yaml": "own: {_target_: bmx_grid.metrics.chrf.Chrf, char_order: 3}\n",
}


@pytest.fixture
def conf(tmp_path):
    """A folder of options, one of which stands in the place of config.yaml."""
    for name, text in OWN_FILES.items():
        path = tmp_path / "conf" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "conf"


ONE = "Only one of --run, --multirun, --cfg, --info and --shell_completion can be specified"
# Arguments, the status, and what is said, a regular expression: what https://hydra.cc/docs/advanced/hydra-command-line-flags
# says of each, alone and with --multirun.
FLAGS = [
    ("run --help", 0, r"usage: bmx-grid run[\s\S]*metric: bartscore, [\s\S]*seed: 0  # of every random draw"),
    ("run -h -m seed=2", 0, "seed: 0  # of every random draw"),
    ("run -h -m seed=1,2", 2, "Ambiguous value"),
    ("--hydra-help", 0, r"Hydra \(1\.3\.\d+\)[\s\S]*--cfg,-c : Show config[\s\S]*hydra/launcher: basic"),
    ("--hydra-help -m", 0, "--cfg,-c : Show config"),
    ("--version", 0, r"bmx-grid \S+\nHydra 1\.3\.\d+\n"),
    ("-m --version", 0, r"Hydra 1\.3\.\d+\n"),
    ("--cfg job limit=3", 0, r"(?m)^dataset:\n[\s\S]*^limit: 3$"),
    ("-c hydra", 0, r"(?m)^hydra:\n  run:\n    dir: \$\{bmx.output_dir:\}$"),
    ("--cfg all", 0, r"(?m)^hydra:$[\s\S]*^limit: null$"),
    ("--cfg job --resolve name=x", 0, "output_dir: outputs/x\n"),
    ("--cfg job name=x", 0, r"output_dir: outputs/\$\{name\}\n"),
    ("--cfg hydra --resolve --package hydra.run", 0, "\\A# @package hydra.run\ndir: outputs/custom\n\\Z"),
    ("--cfg job -p metric.sentence_bleu", 0, "\\A# @package metric.sentence_bleu\n_target_: "),
    ("--cfg job --package nope", 2, "package 'nope' not found in config"),
    ("--cfg job -m seed=1,2", 2, ONE),
    ("--cfg nope", 2, r"invalid choice: 'nope' \(choose from"),
    ("--resolve", 2, "--resolve flag can only be used in conjunction with --cfg or --help"),
    ("--run dry_run=true SMALL", 0, "texts to score with chrf"),
    ("--run --multirun", 2, ONE),
    ("-m dry_run=true seed=1,2 SMALL", 0, r"#0 : [\s\S]*#1 : [\s\S]*seed=2"),
    ("hydra.mode=MULTIRUN dry_run=true seed=1,2 SMALL", 0, r"#0 : [\s\S]*#1 : [\s\S]*seed=2"),
    ("--config-dir conf metric=[own] --cfg job -p metric.own.char_order", 0, "3\n"),
    ("--config-dir conf -m SMALL metric=[own],[chrf] dry_run=true", 0, r"score with own[\s\S]*score with chrf"),
    ("--config-dir nowhere", 2, "folder not found"),
    ("--config-dir conf --config-name mine --cfg job -p name", 0, "from_mine\n"),
    ("--config-dir conf -cn mine -m seed=1,2 dry_run=true SMALL", 0, r"#1 : [\s\S]*seed=2"),
    ("--config-name nope", 2, "Cannot find primary config 'nope'"),
    ("--config-path nowhere", 2, "Check that the config directory '.*nowhere' exists"),
    ("--experimental-rerun x.pickle", 2, "loads a pickle, which can run any code; .* --config-path DIR/.hydra"),
    ("-m --experimental-rerun=x.pickle", 2, "loads a pickle"),
    ("--shell-completion install=bash", 0, "complete -o nospace -o default -F hydra_bash_completion bmx-grid"),
    ("-sc uninstall=bash", 0, "unset hydra_bash_completion"),
    ("-sc install=nope", 2, "No completion plugin for 'nope'.* install=bash"),
    ("-sc", 2, "Expecting one subcommand"),
    ("-m -sc install=bash", 2, ONE),
    (
        "--info",
        0,
        r"Installed Hydra Plugins[\s\S]*Config search path[\s\S]*Defaults Tree[\s\S]*Defaults List[\s\S]*Config\n",
    ),
    ("--info all seed=3", 0, "seed: 3\n"),
    ("-i config limit=4", 0, "limit: 4\n"),
    ("--info defaults metric=[chrf]", 0, r"\| metric/chrf +\| metric +\| False +\| config +\|"),
    ("--info defaults-tree", 0, "config:\n    dataset/sample\n"),
    ("--info plugins", 0, r"Launcher:\n[\s\S]*BasicLauncher"),
    ("--info searchpath --config-dir conf", 0, r"\| command-line \| file://.*/conf"),
    ("--info nope", 2, "invalid choice: 'nope'"),
    ("-m --info", 2, ONE),
    ("--nope", 2, "unknown option '--nope'"),
    ("hydra.nope=1", 2, "Key 'nope' not in 'HydraConf'"),
    ("hydra/launcher=nope", 2, "Could not find 'hydra/launcher/nope' Available options in 'hydra/launcher': basic"),
]


@pytest.mark.parametrize(("line", "status", "said"), FLAGS, ids=[line for line, *_ in FLAGS])
def test_a_flag_does_what_hydras_documentation_says(line, status, said, call, conf, monkeypatch):
    arguments = [word for given in line.split() for word in (SMALL if given == "SMALL" else (given,))]
    before = {*conf.parent.rglob("*")}
    ended, printed = call(*arguments)
    assert ended == status and re.search(said, printed), printed
    assert "Traceback" not in printed
    assert {*conf.parent.rglob("*")} == before


def test_every_flag_of_hydra_is_in_the_table():
    tried = " ".join(line for line, *_ in FLAGS).split()
    with help_of_any_type():
        actions = get_args_parser()._actions
    for action in filter(lambda action: action.option_strings, actions):
        assert {*action.option_strings} & {word.partition("=")[0] for word in tried}, action.option_strings


def shown_in(page: Path) -> list[tuple[str, str]]:
    """The commands of a page with what it shows of their output."""
    commands = []
    for block in re.findall(r"```text\n(\$.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
        for part in block.split("$ bmx-grid ")[1:]:
            command, _, output = part.partition("\n")
            commands.append((command, output))
    return commands


@pytest.mark.parametrize(("command", "output"), shown_in(ROOT / "docs" / "how-to" / "use_hydra.md"))
def test_the_page_on_hydra_shows_what_is_printed(command, output, call, tmp_path):
    (tmp_path / "conf" / "metric").mkdir(parents=True)
    (tmp_path / "conf" / "mine.yaml").write_text("defaults: [config, _self_]\nname: of_mine\n")
    own = "mine: {_target_: bmx_grid.metrics.chrf.Chrf, char_order: 3}\n"
    (tmp_path / "conf" / "metric" / "mine.yaml").write_text(own)
    _, printed = call(*shlex.split(command))
    expected = re.escape(bare(output.strip())).replace("…", r"[\s\S]*")
    assert re.search(expected, bare(printed)), printed


def bare(text: str) -> str:
    """The text without versions, and without blanks that columns are filled up with: paths are as long as they are."""
    text = re.sub(r"\d+\.\d+\.\d+", "V", text)
    return re.sub(r" {2,}", " ", re.sub(r"\s+$", "", text, flags=re.MULTILINE))


def run_of(folder: Path) -> dict:
    return {path.stem: yaml.safe_load(path.read_text()) for path in (folder / ".hydra").glob("*.yaml")}


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [
        pytest.param(["name=mine"], "outputs/mine", id="the name"),
        pytest.param(["output_dir=there/x"], "there/x", id="output_dir"),
        pytest.param(["hydra.run.dir=there/x"], "there/x", id="hydra.run.dir"),
        pytest.param(["hydra.run.dir='there/${name}'"], "there/custom", id="with a reference"),
    ],
)
def test_the_folder_of_a_run_is_hydras_and_the_sweeps(arguments, folder, call, tmp_path):
    secret = "++tracking.uri=http://me:hunter2@host/x"
    assert call(*SMALL, *arguments, secret)[0] == 2 and not (tmp_path / folder).exists()
    assert call(*SMALL, *arguments, "seed=3")[0] == 0
    place = tmp_path / folder
    assert (place / "tables" / "grid.parquet").is_file() and (place / "log.txt").is_file()
    assert sorted(path.name for path in place.rglob("*.log")) == []
    record = run_of(place)
    assert record["config"]["seed"] == 3 and record["config"]["output_dir"] == folder
    assert "++seed=3" in record["overrides"] and record["hydra"]["hydra"]["job"]["name"] == "bmx_grid"
    own = call(*SMALL, *arguments, "--cfg", "job", "--resolve", "-p", "output_dir")
    assert own == (0, f"{folder}\n")


def test_a_finished_sweep_is_run_again_from_its_record(call, tmp_path):
    assert call(*SMALL, "seed=3", "name=first")[0] == 0
    grid = (tmp_path / "outputs" / "first" / "tables" / "grid.parquet").read_bytes()
    again = ["--config-path", "outputs/first/.hydra", "--config-name", "config", "cache_dir=cache"]
    assert call(*again, "output_dir=again")[0] == 0
    assert (tmp_path / "again" / "tables" / "grid.parquet").read_bytes() == grid
    assert not (tmp_path / "outputs" / "first" / "again").exists()


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [([], "outputs/custom"), (["hydra.sweep.dir=there"], "there"), (["output_dir=there"], "there")],
    ids=["by default", "hydra.sweep.dir", "output_dir"],
)
def test_a_multirun_has_a_folder_per_job_named_by_what_varies(arguments, folder, call, tmp_path):
    place = tmp_path / folder
    assert call("-m", *SMALL, *arguments, *LIME, "explainer.lime.mask=a,b/c")[0] == 0
    assert {path.name for path in place.iterdir()} == {
        *("multirun.yaml", "explainer.lime.mask=a", "explainer.lime.mask=b_c")
    }
    assert "hydra" in yaml.safe_load((place / "multirun.yaml").read_text())
    record = run_of(place / "explainer.lime.mask=b_c")
    assert record["config"]["output_dir"] == f"{folder}/explainer.lime.mask=b_c"
    assert record["config"]["explainer"]["lime"]["mask"] == "b/c"


def test_a_folder_of_a_job_may_be_named_otherwise(call, tmp_path):
    assert call("-m", *SMALL, "seed=1,2", "hydra.sweep.subdir='${hydra.job.num}'")[0] == 0
    assert {path.name for path in (tmp_path / "outputs" / "custom").iterdir()} == {"multirun.yaml", "0", "1"}


def test_passwords_are_in_no_file_of_hydras(call, tmp_path):
    address = "http://me:hunter2@host"
    assert call("-m", *SMALL, *LIME, f"explainer.lime.mask={address}", "seed=1,2")[0] == 0
    assert call("-m", *SMALL, *LIME, f"explainer.lime.mask={address},{address}/x")[0] == 0
    written = [*(tmp_path / "outputs").rglob("*.yaml"), *(tmp_path / "outputs").rglob("log.txt")]
    assert any(path.name == "multirun.yaml" for path in written)
    for path in written:
        is_own_parameter = path.name == "config.yaml" and path.parent.name != ".hydra"
        assert is_own_parameter or b"hunter2" not in path.read_bytes(), path
        assert "hunter2" not in str(path)


def test_a_traceback_is_shown_if_the_user_asks_for_it(call, monkeypatch):
    assert "Traceback" not in call("limit=0")[1]
    monkeypatch.setenv(FULL_ERROR, "1")
    status, printed = call("limit=0")
    assert status == 2 and "Traceback" in printed and printed.endswith("got 0.\n")
    assert os.environ[FULL_ERROR] == "1"


def ended(forks: str, folder: Path, *arguments: str, plugins: Path | None = None) -> tuple[int, str, str]:
    """Status, standard output and error of a small sweep in a process of its own."""
    paths = [str(ROOT), *filter(None, [plugins and str(plugins), os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    program = Forked(forks, ["-m", "bmx_grid", *SMALL, *arguments], folder, cwd=folder, environment=environment)
    out, err = program.communicate(timeout=300)
    return program.wait(), out, err


LAUNCHERS = {
    "joblib": ("hydra_joblib_launcher", ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]),
    "submitit": ("hydra_submitit_launcher", ["hydra/launcher=submitit_local", "hydra.launcher.timeout_min=5"]),
}


@pytest.mark.processes
@pytest.mark.parametrize(("module", "chosen"), LAUNCHERS.values(), ids=LAUNCHERS)
def test_a_launcher_runs_the_jobs_of_a_multirun(module, chosen, forks, tmp_path):
    if importlib.util.find_spec("hydra_plugins") is None or importlib.util.find_spec(f"hydra_plugins.{module}") is None:
        pytest.skip(f"{module.replace('_', '-')} is not installed")
    status, _, err = ended(forks, tmp_path, "-m", "limit=3,-1,2", *chosen)
    assert status == 2, err
    jobs = {path.parts[-3] for path in (tmp_path / "outputs" / "custom").glob("*/tables/grid.parquet")}
    assert jobs == {"limit=2", "limit=3"}


SWEEPER = """
from dataclasses import dataclass
from hydra.core.config_store import ConfigStore
from hydra.plugins.sweeper import Sweeper

class Trier(Sweeper):
    def setup(self, *, hydra_context, task_function, config):
        from hydra.core.plugins import Plugins

        context = {"hydra_context": hydra_context, "task_function": task_function}
        self.launcher = Plugins.instance().instantiate_launcher(config=config, **context)

    def sweep(self, arguments):
        for number, order in enumerate((2, 6)):
            job, = self.launcher.launch([[*arguments, f"++metric.chrf.char_order={order}"]], initial_job_idx=number)
            print("RESULT", order, repr(job.return_value))

@dataclass
class Conf:
    _target_: str = "hydra_plugins.trier.Trier"

ConfigStore.instance().store(group="hydra/sweeper", name="trier", node=Conf)
"""


@pytest.mark.processes
@pytest.mark.parametrize("explainer", ["erasure", ""])
def test_a_sweeper_gets_the_gain_or_without_explainers_the_correlation(explainer, forks, tmp_path):
    import pandas as pd

    folder = tmp_path / "plugins" / "hydra_plugins"
    folder.mkdir(parents=True)
    (folder / "trier.py").write_text(SWEEPER)
    chosen = ["hydra/sweeper=trier", f"explainer=[{explainer}]", "evaluation=[grid,boosts,significance]", "limit=12"]
    status, out, err = ended(forks, tmp_path, "-m", *chosen, plugins=tmp_path / "plugins")
    assert status == 0, err
    results = re.findall(r"RESULT (\d) (\S+)", out)
    assert [order for order, _ in results] == ["2", "6"] and len({value for _, value in results}) == 2
    for order, value in results:
        tables = tmp_path / "outputs" / "custom" / f"metric.chrf.char_order={order}" / "tables"
        best = pd.read_parquet(tables / "settings.parquet")["baseline"].max()
        if explainer:
            verdicts = pd.read_parquet(tables / "verdicts.parquet")
            (best,) = verdicts.loc[verdicts["point"] != "published", "gain"]
        assert float(value) == best


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("bmx-grid metric=chrf_", "metric=chrf_plus_plus"),
        ("bmx-grid +sweep=quick", "+sweep=quickstart"),
        ("bmx-grid executor=das", "executor=dask"),
        ("bmx-grid run grid.corr", "grid.correlation="),
    ],
)
def test_bash_completes_with_hydras_script(line, some, tmp_path):
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    program = f"#!{sys.executable}\nfrom bmx_grid.__main__ import main\nmain()\n"
    (tmp_path / "bmx-grid").write_text(program)
    (tmp_path / "bmx-grid").chmod(0o755)
    ask = f'COMP_LINE="{line}"; COMP_CWORD={line.count(" ")}; hydra_bash_completion; printf "<%s>" "${{COMPREPLY[@]}}"'
    script = f'eval "$(bmx-grid --shell-completion install=bash)"\n{ask}'
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    process = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert f"<{some}>" in process.stdout, process.stderr


def test_a_help_that_is_no_text_does_not_stop_python_3_14(monkeypatch):
    """There, a parser looks for % in the help of an option when it is added; that of --shell-completion is no text."""
    before = argparse.ArgumentParser.add_argument

    def add(parser, *names, **settings):
        action = before(parser, *names, **settings)
        if action.help and "%" in action.help:
            action.help % {}
        return action

    monkeypatch.setattr(argparse.ArgumentParser, "add_argument", add)
    with pytest.raises(TypeError):
        get_args_parser()
    with help_of_any_type():
        shown = get_args_parser()
    assert "--shell-completion" in shown._option_string_actions
    setup_globals()


ATTACKS = {
    "a group of Hydra's": ("hydra/launcher/evil", "_target_: hostile.Thing\n", ["hydra/launcher=evil"]),
    "a group of its own": ("extra/evil", "# @package hydra.callbacks\nx: {_target_: hostile.Thing}\n", ["+extra=evil"]),
    "a package": ("metric/evil", "# @package hydra.callbacks\nx: {_target_: hostile.Thing}\n", ["metric=[evil]"]),
    "a package of a choice": (
        "sweep/evil",
        "defaults: [metric@hydra.callbacks: chrf]\nlimit: 3\n",
        ["+sweep=evil"],
    ),
    "the primary file": ("evil", "hydra: {callbacks: {x: {_target_: hostile.Thing}}}\n", ["--config-name", "evil"]),
    "the environment": ("evil", "name: ${oc.env:HOME}\n", ["--config-name", "evil"]),
    "a resolver of Hydra's": ("sweep/evil", "name: ${hydra:runtime.cwd}\n", ["+sweep=evil"]),
    "a path in the defaults": ("sweep/evil", "defaults: [override /boost: [../../secret]]\n", ["+sweep=evil"]),
    "a search path": ("evil", "hydra: {searchpath: [file:///etc]}\n", ["--config-name", "evil"]),
}


@pytest.mark.parametrize("mode", [[], ["-m"], ["--cfg", "all"], ["--info", "defaults"]], ids=" ".join)
@pytest.mark.parametrize(("name", "text", "chosen"), ATTACKS.values(), ids=ATTACKS)
@pytest.mark.parametrize("place", ["--config-dir=evil", "hydra.searchpath=[file://{}/evil]"])
def test_a_strangers_file_is_refused_before_hydra_acts_on_it(
    place, name, text, chosen, mode, call, tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "hostile.py").write_text("open('RAN', 'w')\nclass Thing: pass\n")
    path = tmp_path / "evil" / f"{name}.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    (tmp_path / "secret.yaml").write_text("secret: {_target_: hostile.Thing}\n")
    before = {*tmp_path.rglob("*")}
    status, printed = call(place.format(tmp_path), *SMALL, *chosen, *mode, "dry_run=true")
    assert status == 2 and "Traceback" not in printed, printed
    assert str(Path.home()) not in printed.replace(str(tmp_path), "")
    assert {*tmp_path.rglob("*")} == before
