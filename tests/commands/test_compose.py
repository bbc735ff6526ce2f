"""From arguments to a checked configuration: no code but our own runs, every mistake is answered in one sentence."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from chat_server import ChatServer
from fakes import ROOT
from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from bmx_grid import __version__
from bmx_grid.api.compose import compose_config
from bmx_grid.commands import COMMANDS, run
from bmx_grid.core.configure import CONFIGS
from bmx_grid.core.errors import BmxError, ConfigError
from bmx_grid.guests.judge.client import Server

QUIET = ["executor=sequential", "tracking=none", "analysis=false", "metric=[chrf]", "explainer=[erasure]", "limit=3"]
GLOBAL = "# @package _global_\n"
BOMB = "a0: &a0 x\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))  # 9^9 texts
HOSTILE = """from pathlib import Path
Path("RAN").write_text("")
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
    with pytest.raises(BmxError) as caught:
        run.compose_and_run([*QUIET, *arguments])
    return str(caught.value)


HYDRA = {
    "callback": "hydra: {callbacks: {x: {_target_: hostile.Thing}}}",
    "a file's handler": "hydra: {job_logging: {version: 1, handlers: {x: {class: logging.FileHandler, filename: x}}}}",
    "environment": "hydra: {job: {env_set: {BMX_ALLOWED_PACKAGES: hostile}}}",
    "a package as a folder": "hydra: {searchpath: ['pkg://hostile']}",
    "a launcher": "defaults: [override hydra/launcher: basic]",
}


@pytest.mark.parametrize("mode", [[], ["--multirun", "dry_run=true"], ["--cfg", "job"]], ids=" ".join)
@pytest.mark.parametrize("text", HYDRA.values(), ids=HYDRA)
def test_a_file_of_options_cannot_configure_hydra(text, mode, folder):
    """Nothing of it runs, and nothing is written."""
    path = write(folder, "sweep/evil", f"{GLOBAL}{text}\n")
    before = {*folder.parent.rglob("*")}
    assert f"{path}: hydra: files of options cannot" in refused("--config-dir", "mine", "+sweep=evil", *mode)
    assert {*folder.parent.rglob("*")} == before


@pytest.mark.parametrize("argument", ["metric=[chrf,{}]", "metric=['{}']", "+sweep={}", "grid={}", "-m grid=paper,{}"])
def test_a_path_is_no_name_of_an_option(argument, folder):
    """Hydra would read the file, which `check_references` never saw: its ${oc.env:SECRET} was shown by a dry run."""
    write(folder, "../evil", "name: ${oc.env:HOME}\n")
    path = os.path.relpath(folder / "evil", CONFIGS / "metric")
    assert f"'{path}'. Available: " in refused("dry_run=true", *argument.format(path).split(maxsplit=1))


@pytest.mark.parametrize(
    "argument",
    [
        *("hydra/job_logging=x", "hydra.searchpath=x", "++hydra=x", "hydra/launcher=x"),
        *("metric.chrf._target_=hostile.Thing", "--experimental-rerun=x.pickle"),
    ],
)
def test_code_in_the_arguments_does_not_run(argument, folder):
    assert refused(argument)
    assert not (folder / "RAN").exists()


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        pytest.param("metric=[chfr]", "unknown metric 'chfr'. Did you mean 'chrf'? Available: ", id="metric"),
        pytest.param("+sweep=quick", "unknown sweep 'quick'. Did you mean 'quickstart'?", id="sweep"),
        pytest.param("limt=3", "limt: unknown key 'limt'. Did you mean 'limit'?", id="a key"),
        pytest.param("chunk_texts=9", "unknown key 'chunk_texts'. Did you mean executor.chunk_texts?", id="a place"),
        pytest.param("grid.corelation=kendall", "grid.corelation: unknown key 'corelation'. Did you mean", id="grid"),
        pytest.param("+grid.p.stp=3", "unknown key 'stp'. Did you mean 'stop'?", id="deeper"),
        pytest.param("metric.chrf.char_ordr=3", "unknown key 'char_ordr'. Did you mean 'char_order'?", id="component"),
        pytest.param("+grid.fixed.lmie={w: 0, p: 0}", "unknown explainer 'lmie'. Did you mean 'lime'?", id="fixed"),
        pytest.param(
            "metric.sentence_bleu.lowercase=true",
            "metric.sentence_bleu has no effect because sentence_bleu is not in this sweep. "
            "Add it: metric=[sentence_bleu].",
            id="a key of an option that is not chosen",
        ),
        pytest.param("~seed", "seed cannot be deleted; write seed=VALUE.", id="deleted"),
        pytest.param("~grid.p", "Interpolation key 'grid.p' not found", id="deleted key of the grid"),
        pytest.param("grid.fixed=[1,2]", "Cannot merge DictConfig with ListConfig", id="a list for keys"),
        pytest.param("name=../../elsewhere", "cannot name a sweep", id="a name that is a path"),
        pytest.param(
            f"evaluation.levels.resamples={10**12}", f"resamples must be at most 1,000,000, got {10**12}", id="too many"
        ),
        pytest.param("limit=1,2", "write limit=[1,2] for a list", id="a comma"),
        pytest.param("dataset.sample.name=é", """write 'dataset.sample.name="é"'""", id="a letter beyond ASCII"),
        *(
            pytest.param(f"{key}=???", f"{key}: ??? is the mark of a missing value; write {key}=VALUE", id=key)
            for key in ("output_dir", "cache_dir", "name", "seed", "explainer.erasure.gap", "tracking.uri")
        ),
        pytest.param("leave_out=[a,???]", "leave_out.1: ??? is the mark of a missing value", id="in a list"),
        pytest.param("name=${nope}", "Interpolation key 'nope' not found", id="leads nowhere"),
        pytest.param("--nope", "unknown option '--nope'", id="option"),
        pytest.param("--config-dir=nowhere", "folder not found", id="no folder"),
    ],
)
def test_a_mistake_in_the_arguments_gets_a_sentence_with_the_way_out(argument, message, folder):
    sentence = refused(argument)
    assert message in sentence
    assert "To append to your config" not in sentence
    assert not (folder / "outputs").exists()


@pytest.mark.parametrize(
    ("name", "text", "chosen", "message"),
    [
        *(
            pytest.param("sweep/y", f"{GLOBAL}{text}\n", "+sweep=y", message, id=text[:30])
            for text, message in (
                ("limt: 3", "unknown key 'limt'"),
                ("grid: {p: {stp: 3}}", "unknown key 'stp'"),
                ("defaults: [override /dataset: [smaple]]", "Did you mean 'sample'?"),
                ("defaults: x", "defaults as '- override /metric: [chrf]'"),
                ("limit: 010", "line 2: YAML reads 010 as something else; write a number in plain digits without"),
                ("seed: 1:30", "YAML reads 1:30 as something else"),
                ("dry_run: yes", "true or false, or 'yes' for the text"),
                ("questions: [on]", "YAML reads on as something else"),
                (BOMB, "aliases (*NAME), and more than 100 levels, are not read"),
                (f"name: {'x' * 1_000_001}", "it is larger than 1,000,000 bytes"),
                ("name: !!python/name:os.system x", "could not determine a constructor for the tag"),
                (f"limit: {'9' * 5000}", "cannot be read"),
                ("~: 5", "Incompatible key type 'NoneType'"),
                ("5", "cannot be read"),
                ("", "it is empty, and would be the default sweep"),
                ("limit: 1\nlimit: 2", "found duplicate key limit"),
                ("name: ${oc.env:SECRET}", "name: '${oc.env:SECRET}' may refer to keys"),
                ("tracking: {uri: '${oc.${name}:SECRET}'}", "tracking.uri: '${oc.${name}:SECRET}' may refer to keys"),
                ("defaults: [override /metric: ['${oc.env:SECRET}']]", "may refer to keys"),
                ("defaults: [override /boost: [mean, ../../evil]]", "unknown boost '../../evil'"),
                ("defaults: [override /grid: ../../evil]", "unknown grid '../../evil'"),
                ("defaults: [../../evil]", "unknown sweep '../../evil'"),
                ("defaults: [/metric/../../evil]", "unknown metric '../../evil'"),
                ("defaults: [override /metric/../..: evil]", "Could not override 'metric/../..'"),
                ("name: ${nope}", "name: cannot be resolved"),
                (
                    "name: ${metric.gone.file}",
                    "name refers to metric.gone.file, but the metric 'gone' is not in this sweep",
                ),
                ("seed: x", "seed: expected a whole number, got 'x'"),
                ("cache_dir: reference://x", "cache_dir: 'reference://x' is named by a file"),
                ("evaluation: {levels: {resamples: 1000001}}", "evaluation.levels.resamples must be at most 1,000,000"),
            )
        ),
        pytest.param("metric/u", "u:\n  a: é\n".encode("latin-1"), "metric=[u]", "'utf-8' codec", id="Latin-1"),
        pytest.param("metric/e", "", "metric=[e]", "belong below its file's name", id="empty"),
        pytest.param("metric/deep", "deep: " + "[" * 5_000, "metric=[deep]", "more than 100 levels", id="nested"),
        pytest.param("metric/zero", b"zero: \x00", "metric=[zero]", "unacceptable character #x0000", id="a zero byte"),
        pytest.param("metric/l", "- 1\n", "metric=[l]", "expected 'KEY: VALUE' lines", id="a list"),
        pytest.param("metric/chrf", "chrf: {}\n", "metric=[chrf]", "give yours another name", id="a name of ours"),
        pytest.param(
            "explainer/x",
            "x: {_target_: bmx_grid.explainers.lime.Lime, num_sampels: 3}\n",
            "explainer=[x]",
            "Did you mean 'num_samples'?",
            id="a typo in an option",
        ),
        pytest.param(
            "metric/x",
            "x: {_target_: bmx_grid.metrics.chrf.Chrf, char_order: '???'}\n",
            "metric=[x]",
            "metric.x.char_order: ??? is the mark of a missing value; write metric.x.char_order=VALUE",
            id="a value that is left to the command line",
        ),
        pytest.param("metric/x", "x: {a: 1}\n", "metric=[x]", "expected an option with a `_target_`", id="no target"),
        pytest.param("metric/x", "x: {beta: '${metric.x.beta}'}\n", "metric=[x]", "Recursive", id="a circle"),
    ],
)
def test_a_mistake_in_a_file_names_the_file(name, text, chosen, message, folder):
    path = write(folder, name, text)
    sentence = refused("--config-dir", "mine", chosen)
    assert str(path) in sentence or str(path.relative_to(folder)) in sentence
    assert message in sentence


def test_options_and_sweeps_of_the_users_are_used(folder, capsys):
    write(folder, "metric/mine", "mine: {_target_: bmx_grid.metrics.chrf.Chrf, char_order: 3}\n")
    text = (
        "defaults: [override /metric: [mine]]\nname: my_sweep\ngrid: {p: {stop: 1e1}, fixed: {mine: {w: 0.5, p: 1}}}\n"
    )
    write(folder, "sweep/mine", f"\ufeff{GLOBAL}{text}")
    write(folder, "explainer/mine", "mine: {_target_: bmx_grid.explainers.erasure.Erasure}\n")
    assert run.compose_and_run([*QUIET[:3], "--config-dir", "mine", "+sweep=mine", "dry_run=true"]) == 0
    assert "texts to score with mine" in capsys.readouterr().out
    assert run.compose_and_run(["--help", "--config-dir", "mine"]) == 0
    assert "mine," in capsys.readouterr().out


def test_settings_of_a_sweep_go_with_options_that_others_replace(folder):
    text = "defaults: [override /metric: [chrf, ter]]\nmetric: {ter: {normalized: true}, chrf: {char_order: 3}}\n"
    write(folder, "sweep/mine", GLOBAL + text)
    metrics = compose_config(["+sweep=mine", "metric=[chrf]"], "mine")["metric"]
    assert metrics.keys() == {"chrf"} and metrics["chrf"]["char_order"] == 3
    write(folder, "sweep/mine", GLOBAL + "metric: {ter: {normalized: true}}\n")  # which the sweep itself did not choose
    with pytest.raises(ConfigError, match="ter is not in this sweep"):
        run.compose_and_run(["--config-dir", "mine", "+sweep=mine", "dry_run=true"])


@pytest.mark.parametrize("name", ["true", "2024", "1e3", "0.50", "null_and_void"])
def test_names_and_folders_are_texts_whatever_they_look_like(name):
    config = compose_config([f"output_dir={name}", f"name={name}"])
    assert (config["output_dir"], config["name"]) == (name, name)


def test_the_users_own_command_line_may_read_the_environment(call, monkeypatch):
    monkeypatch.setenv("MY_SEED", "7")
    assert call("seed='${oc.decode:${oc.env:MY_SEED}}'", "--cfg", "job", "--resolve", "-p", "seed") == (0, "7\n")


@pytest.mark.parametrize(
    "overrides", [["figures=all", "figures.format=[pdf]"], ["figures.format=[pdf]", "figures=all"]]
)
def test_which_figures_and_their_formats_are_two_keys_of_one(overrides):
    assert compose_config(overrides)["figures"] == {"which": "all", "format": ["pdf"]}
    values = dict(line.split("=") for line in overrides) | {"figures.format": ["pdf"]}
    assert compose_config([], None, values)["figures"] == {"which": "all", "format": ["pdf"]}
    assert compose_config(["figures={format: [png]}"])["figures"] == {"which": "page", "format": ["png"]}


LIME = "*/*/minilm_bertscore/lime"
OTHER_PAIRS = "*/[!d]*/minilm_bertscore/*"


@pytest.mark.parametrize(
    ("overrides", "kept"),
    [
        pytest.param([], [LIME, OTHER_PAIRS], id="the sweep as it is"),
        pytest.param(["metric=[chrf]"], [], id="without the metric that they name"),
        pytest.param(["metric=[minilm_bertscore,ter]"], [LIME, OTHER_PAIRS], id="with it and another one"),
        pytest.param(["explainer=[erasure]"], [OTHER_PAIRS], id="without the explainer of one"),
        pytest.param(["dataset.sample.language_pairs=[de-en]"], [LIME], id="without the pairs of one"),
        pytest.param(["dataset.sample.language_pairs=[en-de]"], [LIME, OTHER_PAIRS], id="with pairs of each"),
        pytest.param(["metric=[chrf]", "leave_out=[*/*/ter/*]"], ["*/*/ter/*"], id="the user's own"),
    ],
)
def test_a_sweep_leaves_nothing_out_of_options_that_are_replaced(overrides, kept):
    assert compose_config(["+sweep=quickstart", *overrides])["leave_out"] == kept


def test_a_pattern_without_any_option_stays(folder):
    """A mistake in a sweep of the user's own is reported, whatever is replaced."""
    write(folder, "sweep/mine", "# @package _global_\nleave_out: ['*/*/minilm_bertscor/*', '*/*/ter/*']\n")
    assert compose_config(["+sweep=mine", "metric=[chrf]"], "mine")["leave_out"] == ["*/*/minilm_bertscor/*"]


def test_a_plus_may_be_left_out():
    assert compose_config(
        ["sweep=quickstart", "+seed=3", "+metric=[chrf]", "metric.chrf.char_order=4", "limit=5"]
    ) == compose_config(["+sweep=quickstart", "seed=3", "metric=[chrf]", "+metric.chrf.char_order=4", "++limit=5"])


def test_a_password_is_shown_nowhere(folder, call):
    secret = "tracking.uri=http://user:hunter2@localhost:1/x"
    status, printed = call(secret, "--cfg", "job")
    assert status == 0 and "hunter2" not in printed and "http://user:***@localhost:1/x" in printed
    status, printed = call(*QUIET, secret, "--multirun", "limit=0,-1")
    assert status == 2 and "limit must be at least 1" in printed and "hunter2" not in printed


@pytest.mark.parametrize(
    ("values", "n_jobs"),
    [
        pytest.param(["seed=1,2", "limit=choice(3,4)"], 4, id="each with each"),
        pytest.param(["seed=range(0,2)"], 2, id="a range"),
        pytest.param(["metric=[chrf],[random]"], 2, id="lists"),
    ],
)
def test_a_multirun_is_a_sweep_per_combination_of_values(values, n_jobs, folder, capsys):
    """A dry one writes nothing."""
    assert run.compose_and_run([*QUIET, "-m", *values, "dry_run=true"]) == 0
    assert capsys.readouterr().out.count("correlations, ") == n_jobs
    assert sorted(path.name for path in folder.iterdir()) == ["hostile.py"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        pytest.param("seed=range(1,1000000000)", "more than 10,000 sweeps", id="too many"),
        pytest.param("metric=[chrf],[tre]", "unknown metric 'tre'. Did you mean 'ter'?", id="an option"),
        pytest.param("hydra.run.dir=a,b", "Sweeping over Hydra's configuration is not supported", id="Hydra's"),
        pytest.param("limit=3,x", "expected a whole number, got 'x'", id="a value"),
    ],
)
def test_values_that_a_multirun_cannot_run_are_refused(values, message, folder, call):
    status, printed = call(*QUIET, "dry_run=true", "-m", values)
    assert status == 2 and message in printed and all(len(line) < 600 for line in printed.splitlines())


def test_the_version_is_ours_and_that_of_hydra(call):
    for arguments in (["--version"], ["+sweep=quickstart", "--version"]):
        assert call(*arguments) == (0, f"bmx-grid {__version__}\nHydra {version('hydra-core')}\n")


def test_the_help_fits_a_screen_and_names_every_command(call, tmp_path):
    status, shown = call("--help")
    assert status == 0
    assert len(shown.splitlines()) <= 25
    for word in (*COMMANDS, "--version", "exit status"):
        assert word in shown, word
    assert call() == (2, shown), "without arguments nothing runs"
    of_run = call("run", "--help")
    assert all(
        word in of_run[1]
        for word in ("quickstart", "minilm_bertscore", "seed: 0  # of every random draw", "--multirun")
    )
    assert call("+sweep=quickstart", "--help") == of_run
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_every_help_has_80_columns_and_ends_with_two_examples(name, call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = call(*([name] if name else []), "--help")[1].splitlines()
    assert max(map(len, lines)) <= 80
    examples = lines[lines.index("examples:") + 1 :]
    assert len(examples) >= 2
    for line in examples:
        assert line.startswith(f"  bmx-grid {name}".rstrip())


def test_help_loads_neither_hydra_nor_numpy():
    code = "import sys; sys.argv = ['x', '--help']\nfrom bmx_grid.__main__ import main\n"
    code += "try: main()\nexcept SystemExit: pass\n"
    code += "print(sorted({'hydra', 'omegaconf', 'numpy', 'yaml'} & set(sys.modules)))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert process.stdout.splitlines()[-1] == "[]"


def by_hydra(*overrides):
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return OmegaConf.to_container(compose("config", overrides=list(overrides)), resolve=True)


@pytest.mark.parametrize(
    "overrides",
    [
        pytest.param((), id="nothing"),
        pytest.param(("limit=3", "+sweep=quickstart", "explainer.lime.num_samples=9", "seed=4"), id="mixed"),
        pytest.param(("+sweep=wmt17_lime", "executor=sequential", "executor.chunk_texts=9"), id="below an option"),
        pytest.param(("dataset=[sample,tabular]", "dataset.tabular.name=mine"), id="two options"),
        pytest.param(("~metric.sentence_bleu", "+metric.mine={_target_:bmx_grid.x.X}"), id="deleted and added"),
        pytest.param(("++grid.fixed.lime={w: 0.5}", "grid.w=[0,1]", "output_dir=/elsewhere"), id="merged, replaced"),
        pytest.param(("limit=3", "limit=4", "name=mine", "cache_dir=${data_dir}"), id="twice, and interpolated"),
        pytest.param(("metric=[]", "name='a, b'"), id="no metric, and quotes"),
    ],
)
def test_composed_is_what_hydra_composes(overrides):
    assert compose_config(overrides) == by_hydra(*overrides)


def test_our_files_are_read_once_and_stay_as_they_are_written(monkeypatch):
    """Hydra changes what it reads: the second composition must not see the changes of the first."""
    compose_config(["metric=[chrf]", "metric.chrf.char_order=3", "grid.fixed={}"])
    read = []
    load = FileConfigSource.load_config
    monkeypatch.setattr(FileConfigSource, "load_config", lambda self, path: read.append(path) or load(self, path))
    again = compose_config(["metric=[chrf]"])
    assert read == []
    assert again["metric"]["chrf"]["char_order"] == 6
    assert set(again["grid"]["fixed"]) >= {"erasure", "lime", "shap"}


def test_a_choice_in_a_file_may_refer_to_another_one(folder):
    write(folder, "metric/mine", "mine: {_target_: bmx_grid.metrics.chrf.Chrf}\n")
    write(folder, "sweep/mine", f"{GLOBAL}defaults: [{{/metric@other: '${{sweep}}'}}]\n")
    assert "other: unknown key 'other'" in refused("--config-dir", "mine", "+sweep=mine")


def test_options_of_the_users_do_not_stay_in_hydra(folder):
    write(folder, "metric/mine", "mine: {_target_: bmx_grid.metrics.chrf.Chrf}\n")
    assert "mine" in compose_config(["metric=[mine]"], folder / "mine")["metric"]
    assert "metric" not in ConfigStore.instance().repo


def test_an_environment_variable_is_read_each_time(monkeypatch):
    for folder in ("one", "other"):
        monkeypatch.setenv("BMX_CACHE_DIR", folder)
        assert compose_config([])["cache_dir"] == folder


OF_A_STRANGER = "mine: {_target_: bmx_grid.guests.judge.judge.Judge, model: m, prompt: plain, %s}\n"
ELSEWHERE = "base_url: 'http://elsewhere.invalid/v1'"
SECRET = "key_variable: AWS_SECRET_ACCESS_KEY"
NESTED = "mine: {_target_: bmx_grid.guests.datscore.combined.Combined, metrics: {judge: {%s}, chrf: {}}}\n"


MULTIRUN = ["--multirun", "seed=1,2"]


@pytest.mark.parametrize(
    ("name", "text", "chosen", "modes"),
    [
        pytest.param(
            *("metric/mine", OF_A_STRANGER % ELSEWHERE, ["metric=[mine]"], [[], ["dry_run=true"], MULTIRUN]),
            id="a server in a metric",
        ),
        pytest.param("metric/mine", OF_A_STRANGER % SECRET, ["metric=[mine]"], [[]], id="a key in a metric"),
        pytest.param("metric/mine", NESTED % SECRET, ["metric=[mine]"], [[]], id="a key in a metric of several"),
        pytest.param(
            "sweep/mine",
            f"{GLOBAL}defaults: [override /metric: [judge]]\nmetric: {{judge: {{model: m, {ELSEWHERE}}}}}\n",
            ["+sweep=mine"],
            [[], MULTIRUN],
            id="a server in a sweep",
        ),
        pytest.param(
            "sweep/mine",
            f"{GLOBAL}defaults: [override /explainer: [spans]]\nexplainer: {{spans: {{model: m, {SECRET}}}}}\n",
            ["+sweep=mine"],
            [[]],
            id="a key in the explainer of a sweep",
        ),
        pytest.param(
            "sweep/mine",
            f"{GLOBAL}defaults: [override /metric: [judge]]\nname: AWS_SECRET_ACCESS_KEY\n"
            "metric: {judge: {model: m, key_variable: '${name}'}}\n",
            ["+sweep=mine"],
            [[], MULTIRUN],
            id="a key in another one",
        ),
        pytest.param(
            "metric/mine",
            OF_A_STRANGER % SECRET,
            ["metric=[mine]", "metric.mine={prompt: plain}"],
            [[], ["dry_run=true"], MULTIRUN],
            id="a mapping of the user's beside the key",
        ),
        pytest.param(
            "metric/mine",
            OF_A_STRANGER % "base_url: 'http://localhost.elsewhere.invalid/v1'",
            ["metric=[mine]"],
            [[]],
            id="a name like this machine's",
        ),
    ],
)
def test_a_file_names_no_server_and_no_key(name, text, chosen, modes, folder, monkeypatch, capsys):
    """In a sweep; a dry run and a multirun refuse a file of each group, and keys that refer to others."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    write(folder, name, text)
    for mode in modes:
        assert run.main([*QUIET[:3], "--config-dir", "mine", *chosen, *mode]) == 2
        said = capsys.readouterr().err
        assert "is named by a file, which could send texts and keys anywhere" in said and "BMX_JUDGE_ALLOW" in said
        assert said.count("error: ") == 1 + (mode == MULTIRUN)


@pytest.mark.parametrize(
    ("chosen", "allowed"),
    [
        pytest.param(
            ["metric.mine.base_url=http://elsewhere.invalid/v1", "metric.mine.key_variable=MY_KEY"], "", id="1"
        ),
        pytest.param(["metric.mine={base_url: 'http://mine/v1', key_variable: MY_KEY}"], "", id="as a mapping"),
        pytest.param([], "elsewhere.invalid, MY_KEY", id="by the environment"),
        pytest.param(["metric.mine.key_variable=MY_KEY"], "elsewhere.invalid", id="by both"),
    ],
)
def test_the_user_says_which_server_gets_which_key(chosen, allowed, folder, monkeypatch):
    monkeypatch.setenv("BMX_JUDGE_ALLOW", allowed)
    write(folder, "metric/mine", OF_A_STRANGER % f"{ELSEWHERE}, key_variable: MY_KEY")
    config = compose_config(["metric=[mine]", *chosen], folder / "mine")
    assert config["metric"]["mine"]["key_variable"] == "MY_KEY"


@pytest.mark.parametrize("url", ["http://localhost:1/v1", "http://127.0.0.1:1/v1", "http://[::1]:1/v1"])
def test_a_file_may_name_servers_of_this_machine(url, folder):
    write(folder, "metric/mine", OF_A_STRANGER % f"base_url: '{url}', key_variable: OPENAI_API_KEY")
    assert compose_config(["metric=[mine]"], folder / "mine")["metric"]["mine"]["base_url"] == url


def test_a_dry_run_asks_no_server_and_reads_no_key(folder, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setattr(Server, "key", property(lambda server: pytest.fail("a key is read")))
    with ChatServer().running() as server:
        judge = [f"metric.judge.base_url={server.url}", "metric.judge.model=m", "metric.judge.prompt=plain"]
        sweep = [*QUIET, "dataset=[sample]", "metric=[judge]", *judge, "dry_run=true"]
        assert run.compose_and_run(sweep) == 0
    assert "texts to score with judge" in capsys.readouterr().out
    assert server.keys == set()
