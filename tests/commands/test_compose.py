"""From arguments to a checked configuration: no code but our own runs, every mistake is answered in one sentence."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fakes import ROOT, alias_bomb

from bmx_grid import __version__
from bmx_grid.commands import COMMANDS, compose
from bmx_grid.errors import ConfigError

QUIET = ["executor=sequential", "tracking=none", "analysis=false", "metric=[chrf]", "explainer=[erasure]", "limit=3"]
GLOBAL = "# @package _global_\n"
HOSTILE = """from pathlib import Path
import logging
Path("RAN").write_text("")
class Handler(logging.StreamHandler): pass
class Thing:
    def __init__(self, **_): pass
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder with a module that leaves the file RAN when it is imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "hostile", raising=False)
    (tmp_path / "hostile.py").write_text(HOSTILE)
    return tmp_path


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / "mine" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(*arguments: str) -> str:
    with pytest.raises(ConfigError) as caught:
        compose.compose_and_run([*QUIET, *arguments])
    return str(caught.value)


def command(*arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    line = [sys.executable, "-m", "bmx_grid", *arguments]
    return subprocess.run(line, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


CODE = [
    pytest.param("{callbacks: {x: {_target_: hostile.Thing}}}", "hydra.callbacks", id="callback"),
    pytest.param("{callbacks: '${grid}'}", "hydra.callbacks", id="a callback elsewhere"),
    pytest.param("{launcher: {_target_: hostile.Thing}}", "hydra.launcher._target_: 'hostile.Thing'", id="launcher"),
    pytest.param("{sweeper: {_target_: hostile.Thing}}", "hydra.sweeper._target_: 'hostile.Thing'", id="sweeper"),
    pytest.param("{sweeper: {params: {x: '${grid}'}}}", "hydra.sweeper.params.x: '${grid}'", id="sweeper elsewhere"),
    pytest.param(
        "{job_logging: {version: 1, handlers: {x: {class: hostile.Handler}}, root: {handlers: [x]}}}",
        "hydra.job_logging.handlers.x.class: 'hostile.Handler'",
        id="handler of a job",
    ),
    pytest.param(
        "{hydra_logging: {version: 1, handlers: {x: {(): hostile.Thing}}, root: {handlers: [x]}}}",
        "hydra.hydra_logging.handlers.x.(): 'hostile.Thing'",
        id="factory of Hydra's logging",
    ),
    pytest.param(
        "{job_logging: {version: 1, handlers: {x: {class: logging.StreamHandler, stream: ext://hostile.Thing}}, "
        "root: {handlers: [x]}}}",
        "hydra.job_logging.handlers.x.stream: 'ext://hostile.Thing'",
        id="stream",
    ),
    pytest.param("{job: {env_set: {BMX_ALLOWED_PACKAGES: hostile}}}", "hydra.job.env_set", id="environment"),
    pytest.param("{help: {_target_: hostile.Thing}}", "_target_", id="any other place"),
]


@pytest.mark.parametrize("mode", [[], ["dry_run=true"], ["--multirun"], ["--multirun", "dry_run=true"]], ids=" ".join)
@pytest.mark.parametrize(("hydra", "message"), CODE)
def test_code_in_the_hydra_node_of_a_sweep_file_does_not_run(hydra, message, mode, folder):
    path = write(folder, "sweep/evil", f"{GLOBAL}hydra: {hydra}\n")
    said = refused("--config-dir", "mine", "+sweep=evil", *mode)
    assert str(path) in said
    assert message in said
    assert said.endswith(".")
    assert not (folder / "RAN").exists()


def test_the_hostile_module_would_have_run(folder):
    """What the test above relies on: Hydra itself builds this callback."""
    code = "import hydra\n@hydra.main(version_base='1.3', config_path=None)\ndef main(_): pass\nmain()"
    line = [sys.executable, "-c", code, "+hydra.callbacks.x._target_=hostile.Thing", "hydra.run.dir=."]
    subprocess.run(line, cwd=folder, capture_output=True, check=False)
    assert (folder / "RAN").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["+hydra.callbacks.x._target_=hostile.Thing"], id="callback"),
        pytest.param(["hydra.launcher._target_=hostile.Thing", "--multirun"], id="launcher"),
        pytest.param(
            ["hydra/job_logging=stdout", "hydra.job_logging.handlers.console.class=hostile.Handler"], id="log"
        ),
        pytest.param(["hydra.searchpath=[pkg://hostile]"], id="a package as a folder"),
        pytest.param(["+hydra.job.env_set.BMX_ALLOWED_PACKAGES=hostile"], id="environment"),
        pytest.param(["metric.chrf._target_=hostile.Thing"], id="our own groups"),
        pytest.param(["--experimental-rerun", "x.pickle"], id="a pickle"),
    ],
)
def test_code_in_the_arguments_does_not_run(arguments, folder):
    assert refused(*arguments)
    assert not (folder / "RAN").exists()


def test_a_job_of_a_multirun_is_checked_like_a_sweep(folder):
    """The values of a multirun enter only when its jobs are composed, one after the other."""
    write(folder, "sweep/good", f"{GLOBAL}name: good\n")
    evil = "hydra: {job_logging: {version: 1, handlers: {x: {class: hostile.Handler}}, root: {handlers: [x]}}}"
    write(folder, "sweep/evil", f"{GLOBAL}{evil}\n")
    assert "hostile.Handler" in refused("--config-dir", "mine", "--multirun", "+sweep=good,evil")
    assert not (folder / "RAN").exists()
    assert not (folder / "outputs" / "good").exists()


def test_a_long_value_of_a_multirun_is_shown_in_part(folder, capsys):
    assert compose.compose_and_run([*QUIET, "--multirun", "dry_run=true", f"grid.p.stop=.,{'y/' * 400}"]) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error:")]
    assert len(said) == 2
    assert all(len(line) < 600 for line in said)
    assert any("…: output_dir: the path" in line and "is too long; use at most" in line for line in said), said


@pytest.mark.parametrize("logging", ["default", "stdout", "disabled", "none"])
def test_hydras_own_logging_can_be_chosen(logging, folder):
    assert compose.compose_and_run([*QUIET, "dry_run=true", f"hydra/job_logging={logging}"]) == 0


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        pytest.param("metric=[chfr]", "unknown metric 'chfr'. Did you mean 'chrf'? Available: ", id="metric"),
        pytest.param("metric=[chrf,zzz]", "unknown metric 'zzz'. Available: ", id="second of a list"),
        pytest.param("explainer=[limes]", "unknown explainer 'limes'. Did you mean 'lime'?", id="explainer"),
        pytest.param("dataset=[smaple]", "unknown dataset 'smaple'. Did you mean 'sample'?", id="data set"),
        pytest.param(
            "boost=[sharenegative]", "unknown boost 'sharenegative'. Did you mean 'share_negative'?", id="boost"
        ),
        pytest.param("+sweep=quick", "unknown sweep 'quick'. Did you mean 'quickstart'?", id="sweep"),
        pytest.param("sweep=quickstart", "write +sweep=quickstart", id="sweep without plus"),
        pytest.param("tracking=wandb", "unknown tracking 'wandb'. Available: mlflow, none", id="tracking"),
        pytest.param("hydra/launcher=lob", "unknown hydra/launcher 'lob'", id="launcher"),
        pytest.param("limt=3", "unknown key 'limt'. Did you mean 'limit'?", id="a key"),
        pytest.param("+limt=2", "unknown key 'limt'. Did you mean 'limit'?", id="an added key"),
        pytest.param("++limt=2", "unknown key 'limt'. Did you mean 'limit'?", id="a forced key"),
        pytest.param("+dry_runn=true", "unknown key 'dry_runn'. Did you mean 'dry_run'?", id="a flag"),
        pytest.param("++x.y=1", "unknown key 'x'. Available: ", id="nested"),
        pytest.param(
            "grid.corelation=kendall", "grid: unknown key 'corelation'. Did you mean 'correlation'?", id="grid"
        ),
        pytest.param(
            "+grid.corelation=kendall", "unknown key 'corelation'. Did you mean 'correlation'?", id="grid, added"
        ),
        pytest.param("+grid.p.stp=3", "unknown key 'stp'. Did you mean 'stop'?", id="deeper"),
        pytest.param("+metric.chrf.char_ordr=3", "unknown key 'char_ordr'. Did you mean 'char_order'?", id="component"),
        pytest.param(
            "metric.chrf.char_ordr=3", "unknown key 'char_ordr'. Did you mean 'char_order'?", id="without plus"
        ),
        pytest.param("+hydra.rn.dir=x", "unknown key 'rn'. Did you mean 'run'?", id="Hydra's"),
        pytest.param("+grid.fixed.lmie={w: 0, p: 0}", "unknown explainer 'lmie'. Did you mean 'lime'?", id="fixed"),
        pytest.param("~seed", "the key 'seed' is missing; leave out what deletes it, or write +seed=0", id="deleted"),
        pytest.param("~metric", "options of metric are chosen, not deleted; write metric=[NAME,…]", id="deleted group"),
        pytest.param("~grid", "the group 'grid' is missing", id="deleted grid"),
        pytest.param(
            "~grid.p",
            "'~grid.p': the key 'grid.p' is needed (the powers: 600 values, stop left out; 0 is the geometric mean); "
            "leave out what deletes it, or write +grid.p={start: -30, step: 0.1, stop: 30}.",
            id="deleted key of the grid",
        ),
        pytest.param("~grid.max_points", "or write +grid.max_points=1000000.", id="deleted limit"),
        pytest.param("~grid.fixed", "(the paper's median (w, p) of each explainer,", id="deleted points"),
        pytest.param(
            "metric.sentence_bleu.lowercase=true",
            "metric.sentence_bleu.lowercase: sentence_bleu is not chosen, so it has no keys yet; choose it: "
            "metric=[sentence_bleu].",
            id="a key of an option that is not chosen",
        ),
        pytest.param("+explainer.shap.max_evals=9", "choose it: explainer=[shap].", id="added to one not chosen"),
        pytest.param("~nope", "unknown key 'nope'", id="nothing to delete"),
        pytest.param("+seed=3", "seed is in the configuration already; leave out the +", id="a plus too many"),
        pytest.param("+metric=[chrf]", "metric is chosen already; leave out the +", id="a plus before a group"),
        pytest.param("limit=1,2", "write limit=[1,2] for a list", id="a comma"),
        pytest.param("limit=range(1,3)", "add --multirun", id="a range"),
        pytest.param("limit='1", "cannot be read as KEY=VALUE", id="an open quote"),
        pytest.param("limit", "cannot be read as KEY=VALUE", id="no value"),
        pytest.param("dataset.sample.name=é", "KEY='\"VALUE\"'", id="a letter beyond ASCII"),
        pytest.param("limit=", "limit: expected a whole number, got ''", id="an empty value"),
        pytest.param("metric=", "unknown metric ''", id="an empty choice"),
        pytest.param("name=${nope}", "Interpolation key 'nope' not found", id="leads nowhere"),
        pytest.param("name=${name}", "Recursive interpolation", id="a circle"),
        pytest.param("name=${", "cannot be read as KEY=VALUE", id="an open interpolation"),
        pytest.param("--nope", "unknown option '--nope'", id="option"),
        pytest.param("--dry-run", "Keys have no dashes: KEY=VALUE", id="a key with dashes"),
        pytest.param("--config-name=nope", "there is no nope.yaml", id="config name"),
        pytest.param("--config-dir=nowhere", "there is no such folder", id="no folder"),
        pytest.param("--config-path=x", "add yours with --config-dir DIR", id="config path"),
        pytest.param("hydra.verbose=3", "expected true, false or names of loggers, got 3", id="verbose"),
        pytest.param("hydra.launcher=3", "expected keys below it, got 3", id="no launcher"),
    ],
)
def test_a_mistake_in_the_arguments_gets_a_sentence_with_the_way_out(argument, message, folder):
    said = refused(argument)
    assert message in said
    assert "To append to your config" not in said
    assert not (folder / "outputs").exists()


@pytest.mark.parametrize(
    ("name", "text", "chosen", "message"),
    [
        pytest.param("sweep/typo", GLOBAL + "limt: 3\n", "+sweep=typo", "unknown key 'limt'", id="key"),
        pytest.param("sweep/deep", GLOBAL + "grid: {p: {stp: 3}}\n", "+sweep=deep", "unknown key 'stp'", id="deep"),
        pytest.param("sweep/h", GLOBAL + "hydra: {rn: 3}\n", "+sweep=h", "Hydra has no key 'rn'", id="Hydra's"),
        pytest.param("sweep/plain", "name: x\n", "+sweep=plain", "# @package _global_", id="no package line"),
        pytest.param(
            "sweep/nope",
            GLOBAL + "defaults: [override /dataset: [smaple]]\n",
            "+sweep=nope",
            "Did you mean 'sample'?",
            id="an option that is not there",
        ),
        pytest.param("sweep/d", GLOBAL + "defaults: x\n", "+sweep=d", "defaults must be a list", id="defaults"),
        pytest.param(
            "metric/b", "b:\n  a: [1,\n  c: }\n", "metric=[b]", "line 3, column 6: this is not YAML", id="YAML"
        ),
        pytest.param(
            "metric/u", "u:\n  a: é\n".encode("latin-1"), "metric=[u]", "line 2: this is not UTF-8", id="Latin-1"
        ),
        pytest.param(
            "metric/k", "other:\n  a: 1\n", "metric=[k]", "belong below its file's name, 'k:'", id="other key"
        ),
        pytest.param("metric/n", "_target_: x\n", "metric=[n]", "belong below its file's name, 'n:'", id="no key"),
        pytest.param("metric/e", "", "metric=[e]", "holds no key", id="empty"),
        pytest.param(
            "sweep/b",
            f"{GLOBAL}leave_out: {alias_bomb()}\n",
            "+sweep=b",
            "more than 100,000 values; w",
            id="alias bomb",
        ),
        pytest.param(
            "metric/b", f"b: {{x: {alias_bomb()}}}\n", "metric=[b]", "its aliases (*NAME) stand for", id="in an option"
        ),
        pytest.param(
            "sweep/c", f"{GLOBAL}name: &a [*a]\n", "+sweep=c", "line 2: an alias (*NAME) stands for", id="loop"
        ),
        pytest.param("metric/l", "- 1\n", "metric=[l]", "expected keys with values", id="a list"),
        pytest.param("metric/chrf", "chrf: {}\n", "metric=[chrf]", "give yours another name", id="a name of ours"),
        pytest.param(
            "explainer/x",
            "x: {_target_: bmx_grid.explainers.lime.Lime, num_sampels: 3}\n",
            "explainer=[x]",
            "Did you mean 'num_samples'?",
            id="a typo in an option",
        ),
    ],
)
def test_a_mistake_in_a_file_names_the_file(name, text, chosen, message, folder):
    path = write(folder, name, text)
    said = refused("--config-dir", "mine", chosen)
    assert str(path) in said or str(path.relative_to(folder)) in said
    assert message in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("x: {a: 1}\n", "expected an option with a `_target_`", id="no target"),
        pytest.param("x: {_target_: bmx_grid.metrics.base.Metric}\n", "is abstract", id="abstract"),
        pytest.param("x: {_target_: os.system}\n", "outside the packages", id="another package"),
        pytest.param(
            "x: {_target_: bmx_grid.metrics.chrf.Chrf, beta: '${metric.x.beta}'}\n", "Recursive", id="a circle"
        ),
    ],
)
def test_an_option_that_cannot_be_built_is_named(text, message, folder):
    write(folder, "metric/x", text)
    said = refused("--config-dir", "mine", "metric=[x]")
    assert "metric.x" in said
    assert message in said


def test_a_key_of_a_users_option_that_is_not_chosen_says_how_to_choose_it(folder):
    write(folder, "metric/mine", "mine: {_target_: bmx_grid.metrics.chrf.Chrf, char_order: 3}\n")
    assert "choose it: metric=[mine]" in refused("--config-dir", "mine", "metric.mine.char_order=4")


@pytest.mark.parametrize("key", ["p", "w", "side", "correlation", "max_points", "fixed"])
def test_what_restores_a_deleted_key_of_the_grid_can_be_typed(key, folder):
    said = refused(f"~grid.{key}")
    restored = said.rpartition(" or write ")[2].removesuffix(".")
    assert compose.compose_and_run([*QUIET, "dry_run=true", f"~grid.{key}", restored]) == 0


def test_aliases_are_read_where_they_stand_for_little(folder, capsys):
    text = "name: &a aliased\nleave_out: [*a, *a]\ngrid: {fixed: {lime: &p {w: 0.5, p: 1}, shap: *p}}\n"
    write(folder, "sweep/mine", GLOBAL + text)
    assert compose.compose_and_run([*QUIET, "--config-dir", "mine", "+sweep=mine", "--cfg", "job"]) == 0
    assert capsys.readouterr().out.count("- aliased") == 2


def test_options_and_sweeps_of_the_users_are_used(folder, capsys):
    write(folder, "metric/mine", "mine: {_target_: bmx_grid.metrics.chrf.Chrf, char_order: 3}\n")
    text = "defaults: [override /metric: [mine]]\nname: my_sweep\ngrid: {fixed: {mine: {w: 0.5, p: 1}}}\n"
    write(folder, "sweep/mine", GLOBAL + text)
    write(folder, "explainer/mine", "mine: {_target_: bmx_grid.explainers.erasure.Erasure}\n")
    assert compose.compose_and_run([*QUIET[:3], "--config-dir", "mine", "+sweep=mine", "dry_run=true"]) == 0
    assert "texts to score with mine" in capsys.readouterr().out


def test_settings_of_a_sweep_go_with_options_that_others_replace(folder, capsys):
    text = "defaults: [override /metric: [chrf, ter]]\nmetric: {ter: {normalized: true}, chrf: {char_order: 3}}\n"
    write(folder, "sweep/mine", GLOBAL + text)
    given = ["--config-dir", "mine", "+sweep=mine", "metric=[chrf]", "--cfg", "job"]
    assert compose.compose_and_run([one for one in QUIET if not one.startswith("metric=")] + given) == 0
    said = capsys.readouterr().out
    assert "char_order: 3" in said and "normalized" not in said
    write(folder, "sweep/mine", GLOBAL + "metric: {ter: {normalized: true}}\n")  # which the sweep itself did not choose
    with pytest.raises(ConfigError, match="ter is not chosen"):
        compose.compose_and_run(["--config-dir", "mine", "+sweep=mine", "dry_run=true"])


SECRET = "tracking.uri=http://user:hunter2@localhost:1/x"


def test_a_password_is_shown_nowhere(folder, capsys):
    for flags in (["--cfg", "job"], ["--cfg", "all"], ["--cfg", "job", "--package", "tracking"], ["--info", "config"]):
        assert compose.compose_and_run([SECRET, *flags]) == 0
        shown = capsys.readouterr()
        assert "hunter2" not in shown.out + shown.err
        assert "http://user:***@localhost:1/x" in shown.out


def test_a_password_is_not_written_by_a_multirun(folder):
    """The jobs are refused; Hydra writes its multirun.yaml before they begin."""
    done = command(*QUIET[2:], "executor=sequential", SECRET, "--multirun", "limit=0,-1", cwd=folder)
    assert done.returncode == 2
    assert "limit must be at least 1" in done.stderr
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.name == "multirun.yaml" for path in written)
    assert not [path for path in written if b"hunter2" in path.read_bytes()]
    assert "hunter2" not in done.stdout + done.stderr + "".join(map(str, written))


@pytest.mark.parametrize("more", ["hydra.output_subdir=.hydra", "hydra/job_logging=stdout"])
def test_hydras_own_files_are_refused_where_they_would_hold_a_password(more, folder):
    with pytest.raises(ConfigError, match="would write a password"):
        compose.compose_and_run([SECRET, more, "dry_run=true"])
    assert sorted(path.name for path in folder.iterdir()) == ["hostile.py"]


def test_a_dry_multirun_writes_nothing(folder, capsys):
    assert compose.compose_and_run([*QUIET, "--multirun", "seed=1,2", "dry_run=true"]) == 0
    assert capsys.readouterr().out.count("texts to score with chrf") == 2
    assert sorted(path.name for path in folder.iterdir()) == ["hostile.py"]


def test_a_multirun_of_too_many_jobs_is_refused(folder):
    assert "more than 10,000 jobs" in refused("--multirun", "seed=range(1,1000000000)")


def test_a_sweep_file_can_ask_for_a_multirun(folder, capsys):
    write(folder, "sweep/several", GLOBAL + "hydra: {mode: MULTIRUN, sweeper: {params: {seed: '1,2'}}}\n")
    assert compose.compose_and_run([*QUIET, "--config-dir", "mine", "+sweep=several", "dry_run=true"]) == 0
    assert capsys.readouterr().out.count("texts to score with chrf") == 2


def test_the_version_is_ours(tmp_path):
    for arguments in (["--version"], ["+sweep=quickstart", "--version"]):
        assert command(*arguments, cwd=tmp_path).stdout == f"bmx-grid {__version__}\n"


def test_the_help_fits_a_screen_and_names_every_command(tmp_path):
    done = command("--help", cwd=tmp_path)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) <= 25
    for word in (*COMMANDS, "--version", "install=bash", "exit status"):
        assert word in done.stdout, word
    bare = command(cwd=tmp_path)
    assert (bare.returncode, bare.stdout) == (2, done.stdout), "without arguments nothing runs"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_every_help_has_80_columns_and_ends_with_two_examples(name, tmp_path):
    lines = command(*([name] if name else []), "--help", cwd=tmp_path, COLUMNS="80").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-3] == "examples:"
    for line in lines[-2:]:
        assert line.startswith(f"  bmx-grid {name}".rstrip())


def test_the_help_of_a_run_lists_options_and_keys(tmp_path):
    shown = command("run", "--help", cwd=tmp_path).stdout
    for word in ("quickstart", "minilm_bertscore", "seed=0", "--multirun", "$BMX_CACHE_DIR", "exit status"):
        assert word in shown, word
    assert command("+sweep=quickstart", "--help", cwd=tmp_path).stdout == shown


def test_run_may_be_left_out(tmp_path):
    asked = ["+sweep=quickstart", "metric=[chrf]", "explainer=[erasure]", "dry_run=true", f"cache_dir={tmp_path}"]
    assert command("run", *asked, cwd=tmp_path).stdout == command(*asked, cwd=tmp_path).stdout != ""


def test_the_help_about_hydra_is_ours_and_names_flags_that_work(folder, capsys):
    assert compose.compose_and_run(["--hydra-help"]) == 0
    shown = capsys.readouterr().out
    assert "Powered by Hydra" not in shown and "bmx-grid --help" in shown
    assert max(map(len, shown.splitlines())) <= 120
    for what in ("defaults", "config", "searchpath", "plugins"):
        assert what in shown
        assert compose.compose_and_run(["--info", what]) == 0


@pytest.mark.parametrize("module", ["hydra", "omegaconf"])
def test_a_missing_library_is_one_sentence_with_the_command(module, tmp_path):
    code = f"import sys; sys.modules['{module}'] = None; sys.argv = ['x', 'dry_run=true']\n"
    code += "from bmx_grid.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: sweeps need the library ") and done.stderr.count("\n") == 1
    assert "pip install " in done.stderr


def test_the_help_lists_options_of_the_users(folder, capsys):
    write(folder, "metric/mine", "mine: {}\n")
    assert compose.compose_and_run(["--help", "--config-dir", "mine"]) == 0
    assert "mine," in capsys.readouterr().out


def test_help_loads_neither_hydra_nor_numpy(tmp_path):
    code = "import sys; sys.argv = ['x', '--help']\nfrom bmx_grid.__main__ import main\n"
    code += "try: main()\nexcept SystemExit: pass\n"
    code += "print(sorted({'hydra', 'omegaconf', 'numpy', 'yaml'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("bmx-grid metric=ch", "metric=chrf metric=chrf_plus_plus", id="an option"),
        pytest.param("bmx-grid run metric=ch", "metric=chrf metric=chrf_plus_plus", id="an option of a run"),
        pytest.param("bmx-grid metric=[random,ch", "metric=[random,chrf metric=[random,chrf_plus_plus", id="a list"),
        pytest.param("bmx-grid +sweep=q", "+sweep=quickstart", id="a sweep"),
        pytest.param("bmx-grid grid.p.", "grid.p.start= grid.p.step= grid.p.stop=", id="keys"),
        pytest.param("bmx-grid ", "run score compare analyse data", id="all commands"),
        pytest.param("bmx-grid sc", "score", id="another command"),
        pytest.param("bmx-grid score --me", "--metric", id="a flag of another command"),
        pytest.param("bmx-grid compare t.tsv --h", "--help --human", id="flags behind a file"),
        pytest.param("bmx-grid score --explainer e", "erasure", id="what a flag takes"),
        pytest.param("bmx-grid score my", "", id="files of another command"),
        pytest.param("bmx-grid limt=3 gri", "", id="after a mistake"),
        pytest.param("bmx-grid --he", "", id="a flag"),
    ],
)
def test_completion_suggests_what_exists(line, expected, monkeypatch, capsys):
    monkeypatch.setenv("COMP_LINE", line)
    assert compose.compose_and_run(["-sc", "query=bash"]) == 0
    shown = capsys.readouterr()
    assert shown.out.split() == expected.split()
    assert shown.err == ""
    assert os.environ["COMP_LINE"] == line


IN_SHELL = {
    "bash": """eval "$(bmx-grid -sc install=bash)"
complete -p bmx-grid
COMP_LINE="bmx-grid metric=chr and more"; COMP_POINT=19
_bmx_grid
echo "${COMPREPLY[*]}"
""",
    "zsh": """eval "$(bmx-grid -sc install=zsh)"
compadd() { echo $@ }
words=(bmx-grid metric=chr); CURRENT=2
_bmx_grid""",
    "fish": """bmx-grid -sc install=fish | source
complete -C "bmx-grid metric=chr"
""",
}


@pytest.mark.parametrize("shell", IN_SHELL)
def test_completion_works_in(shell, tmp_path):
    """The hook that `-sc install=SHELL` prints, in a real shell, with a stand-in for the installed command."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "bmx-grid"
    script.write_text(f"#!{sys.executable}\nfrom bmx_grid.__main__ import main\nmain()\n")
    script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    environment |= {"HOME": str(tmp_path)}
    bare = {"zsh": ["-f"], "fish": ["--no-config"], "bash": ["--norc"]}[shell]
    told = [shell, *bare, "-c", IN_SHELL[shell]]
    done = subprocess.run(told, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-2:] == ["metric=chrf", "metric=chrf_plus_plus"], done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["install=tcsh"], "unknown shell 'tcsh'", id="no such shell"),
        pytest.param([], "write -sc install=SHELL", id="nothing asked for"),
    ],
)
def test_completion_says_what_can_be_asked(arguments, message):
    with pytest.raises(ConfigError, match=message):
        compose.compose_and_run(["-sc", *arguments])
