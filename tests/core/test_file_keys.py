"""What a file of a stranger may set: every key of the configuration is classified, and every attack is refused."""

import dataclasses
import importlib
import itertools
import os
import re

import pytest
import yaml

from bmx_grid.api.compose import compose_config
from bmx_grid.boosts.recipe import Identity
from bmx_grid.core import file_keys
from bmx_grid.core.configure import CONFIGS
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.file_keys import (
    FOLDER_KEYS,
    GROUPS_OF_PARTS,
    INNER_PARTS,
    KEYS_OF_FILES,
    KEYS_OF_USERS,
    check_keys_of_files,
)

GLOBAL = "# @package _global_\n"
# Fields that no file sets: parts fill them as they see the data.
FILLED_BY_PARTS = frozenset(
    {
        "declared",
        "explanations",
        "fitted_on",
        "given_scores",
        "judged",
        "nrefs",
        "one_metric",
        "outputs",
        "scores",
        "served",
        "set",
    }
)
GROUPS = sorted({path.parent.name for path in CONFIGS.glob("*/*.yaml")} - {"prompt", "sweep", "tasks"})
TOP = yaml.safe_load((CONFIGS / "config.yaml").read_text(encoding="utf-8"))
TARGETS = {}
for path in CONFIGS.glob("*/*.yaml"):
    for target in re.findall(r"_target_: (\S+)", path.read_text(encoding="utf-8")):
        group = path.parent.name
        TARGETS[target] = group if group in ("executor", "tracking") else INNER_PARTS


def classes_of(name: str, rules: str) -> list[str]:
    """The lists that have a key: exactly one must."""
    lists = {"files": KEYS_OF_FILES[rules], "folders": FOLDER_KEYS, "users": KEYS_OF_USERS, "parts": FILLED_BY_PARTS}
    return [kind for kind, names in lists.items() if name in names]


@pytest.mark.parametrize("key", sorted(TOP.keys() - {"defaults", "hydra"} | set(GROUPS)))
def test_every_key_at_the_top_is_classified(key):
    assert len(classes_of(key, "")) == 1, f"may a file of a stranger set {key}? Say so in bmx_grid/core/file_keys.py"


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_every_field_of_every_part_is_classified(target):
    """A new field fails here until somebody says whether a file of a stranger may set it."""
    module, _, name = target.rpartition(".")
    rules = TARGETS[target]
    for field in dataclasses.fields(getattr(importlib.import_module(module), name)):
        if field.init:
            kinds = classes_of(field.name, rules)
            assert len(kinds) == 1, (
                f"may a file set {name}.{field.name}? Say so in bmx_grid/core/file_keys.py ({kinds})"
            )


@pytest.mark.parametrize("group", GROUPS)
def test_every_key_of_every_option_is_classified(group):
    for file in CONFIGS.glob(f"{group}/*.yaml"):
        keys = yaml.safe_load(file.read_text(encoding="utf-8"))
        if group in GROUPS_OF_PARTS:
            keys = keys[file.stem]
        rules = group if group in KEYS_OF_FILES else INNER_PARTS
        for key in keys.keys() - {"_target_", "defaults"}:
            assert len(classes_of(key, rules)) == 1, f"{file.name}: {key}"


def test_no_list_names_a_key_that_is_gone():
    known = {*TOP, *GROUPS, *yaml.safe_load((CONFIGS / "grid" / "paper.yaml").read_text(encoding="utf-8"))}
    known |= {"repository"}  # of a data set's sources
    for target in TARGETS:
        module, _, name = target.rpartition(".")
        known |= {field.name for field in dataclasses.fields(getattr(importlib.import_module(module), name))}
    listed = {*FOLDER_KEYS, *KEYS_OF_USERS}
    for names in KEYS_OF_FILES.values():
        listed |= names
    assert listed <= known, listed - known


def mine(folder, **files: str) -> str:
    """A folder of options, in which each file is named group_option."""
    for name, text in files.items():
        group, _, option = name.partition("_")
        path = folder / "mine" / group / f"{option}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder / "mine")


DASK = "defaults: [override /executor: dask]\n"
SLURM = "defaults: [override /executor: slurm]\n"
JUDGE = "_target_: bmx_grid.guests.judge.judge.Judge, model: m, base_url: 'http://elsewhere.invalid/v1'"
COMET = "_target_: bmx_grid.metrics.libraries.Comet"
ATTACKS = {
    "a scheduler": (f"{DASK}executor: {{address: 'tcp://127.0.0.1:1'}}", "executor.address"),
    "a scheduler by a reference": (f"{DASK}name: 'tcp:1'\nexecutor: {{address: '${{name}}'}}", "executor.address"),
    "a scheduler of another class": (
        "executor: {_target_: bmx_grid.sweep.executors.dask.Dask, address: 'tcp://127.0.0.1:1'}",
        "executor.address",
    ),
    "a cluster": (f"{DASK}executor: {{cluster: hostile.Cluster}}", "executor.cluster"),
    "an option of a cluster": (
        f"{DASK}executor: {{cluster_options: {{python: ./evil}}}}",
        "executor.cluster_options.python",
    ),
    "a command": (
        f"{SLURM}executor: {{cluster_options: {{job_script_prologue: ['touch RAN']}}}}",
        "executor.cluster_options.job_script_prologue",
    ),
    "a command in a copy": (
        f"{SLURM}leave_out: ['touch RAN']\nexecutor: {{cluster_options: {{job_script_prologue: '${{leave_out}}'}}}}",
        "executor.cluster_options.job_script_prologue",
    ),
    "a directive": (
        f"{SLURM}executor: {{device_options: {{job_extra_directives: ['--wrap=evil']}}}}",
        "executor.device_options.job_extra_directives",
    ),
    "a partition": (f"{SLURM}executor: {{cluster_options: {{queue: theirs}}}}", "executor.cluster_options.queue"),
    "memory with a command": (
        f'{SLURM}executor: {{cluster_options: {{memory: "1GB\\ntouch RAN"}}}}',
        "executor.cluster_options.memory",
    ),
    "logs in a store": (f"{SLURM}executor: {{log_dir: 's3://theirs/x'}}", "executor.log_dir"),
    "a cache for workers": (f"{DASK}executor: {{cache_dir: 's3://theirs/x'}}", "executor.cache_dir"),
    "a tracking server": ("tracking: {uri: 'http://elsewhere.invalid'}", "tracking.uri"),
    "a tracking server here": ("tracking: {uri: 'http://127.0.0.1:1'}", "tracking.uri"),
    "a tracking database": ("tracking: {uri: 'sqlite:////tmp/theirs.db'}", "tracking.uri"),
    "a cache in a store": ("cache_dir: 's3://theirs/x'", "cache_dir"),
    "a cache in a chain of stores": ("cache_dir: 'simplecache::s3://theirs/x'", "cache_dir"),
    "a cache by parts": ("name: s3\ncache_dir: '${name}://theirs/x'", "cache_dir"),
    "data in a store": ("data_dir: 's3://theirs/x'", "data_dir"),
    "results in a store": ("output_dir: 's3://theirs/x'", "output_dir"),
    "answers in a store": (
        "metric: {x: {_target_: bmx_grid.guests.judge.judge.Judge, model: m, answers: 's3://theirs/x'}}",
        "metric.x.answers",
    ),
    "a download": (
        "dataset: {x: {_target_: bmx_grid.datasets.mlqe_pe.MlqePe, name: x, sources: [{repository: a/b}]}}",
        "dataset.x.sources",
    ),
    "a server": (f"metric: {{x: {{{JUDGE}}}}}", "metric.x.base_url"),
    "a server in a boosted metric": (
        f"metric: {{x: {{_target_: bmx_grid.attribution.boosted.BoostedMetric, metric: {{{JUDGE}}}}}}}",
        "metric.x.metric.base_url",
    ),
    "a server in a list": (
        f"metric: {{x: {{_target_: bmx_grid.guests.datscore.combined.Combined, metrics: [{{y: {{{JUDGE}}}}}]}}}}",
        "metric.x.metrics.0.y.base_url",
    ),
    "a server in a list, named as data are": (
        f"metric: {{x: {{_target_: bmx_grid.guests.datscore.combined.Combined, metrics: [{{files: {{{JUDGE}}}}}]}}}}",
        "metric.x.metrics.0.files.base_url",
    ),
    "a server that was data": (
        f"metric: {{i: {{_target_: ext.X, files: {{{JUDGE}}}}}, x: '${{metric.i.files}}'}}",
        "metric.i.files.base_url",
    ),
    "a program": (
        "metric: {x: {_target_: bmx_grid.guests.command.metric.CommandMetric, command: [touch, RAN]}}",
        "metric.x.command",
    ),
    "a program in a list": (
        "metric: {x: {_target_: bmx_grid.guests.datscore.combined.Combined, metrics: [command: {command: [evil]}]}}",
        "metric.x.metrics.0.command.command",
    ),
    "a pickle": (f"metric: {{x: {{{COMET}, model: stranger/evil}}}}", "metric.x.model"),
    "another pickle": (f"metric: {{x: {{{COMET}, revision: '{'a' * 40}'}}}}", "metric.x.revision"),
    "a pickle in a list": (
        "metric: {x: {_target_: bmx_grid.guests.datscore.combined.Combined, metrics: [{transquest: {model: a/b}}]}}",
        "metric.x.metrics.0.transquest.model",
    ),
    "what a part fills itself": (
        "metric: {x: {_target_: bmx_grid.guests.judge.judge.Judge, model: m, served: other}}",
        "metric.x.served",
    ),
    "a server of an allowed package": ("metric: {x: {_target_: ext.X, base_url: 'http://x.invalid'}}", "x.base_url"),
}


@pytest.mark.parametrize(("text", "key"), ATTACKS.values(), ids=ATTACKS)
def test_a_file_cannot_say_where_things_go_and_what_runs(text, key, tmp_path, monkeypatch):
    monkeypatch.setenv("BMX_ALLOWED_PACKAGES", "ext")
    folder = mine(tmp_path, sweep_evil=f"{GLOBAL}{text}\n")
    with pytest.raises(ConfigError, match=re.escape(f"{key}: ")) as caught:
        compose_config(["+sweep=evil"], folder)
    assert "is named by a file" in str(caught.value) and "write it on the command line" in str(caught.value)


def test_an_option_is_a_file_as_well(tmp_path):
    folder = mine(
        tmp_path,
        executor_x="_target_: bmx_grid.sweep.executors.dask.Dask\naddress: tcp://127.0.0.1:1\n",
        tracking_x="_target_: bmx_grid.sweep.tracking.MlflowTracker\nuri: http://127.0.0.1:1\n",
    )
    for chosen, key in (("executor=x", "executor.address"), ("tracking=x", "tracking.uri")):
        with pytest.raises(ConfigError, match=f"{key}: .* is named by a file"):
            compose_config([chosen], folder)


OF_USERS = [
    pytest.param(["executor=dask", "executor.address=tcp://HOST:1"], "tcp://HOST:1", id="a scheduler"),
    pytest.param(["executor=dask", "executor.cluster_options.python=/x/py"], "/x/py", id="an option of a cluster"),
    pytest.param(["executor=slurm", "executor.cluster_options.queue=mine"], "walltime", id="beside our own values"),
    pytest.param(["tracking.uri=http://HOST:5000"], "http://HOST:5000", id="a tracking server"),
    pytest.param(["cache_dir=s3://mine/x"], "s3://mine/x", id="a cache"),
    pytest.param(["cache_dir=s3://mine/y", "metric=[judge]"], "s3://mine/y/answers", id="a folder of the cache"),
    pytest.param(["metric=[comet]", "metric.comet.model=me/mine"], "me/mine", id="a pickle"),
    pytest.param(["metric=[judge]", "metric.judge={base_url: 'http://mine/v1'}"], "http://mine/v1", id="a mapping"),
]


@pytest.mark.parametrize(("lines", "value"), OF_USERS)
def test_the_user_sets_every_key(lines, value):
    assert value in yaml.safe_dump(compose_config(lines))


def test_a_file_over_which_the_user_has_the_last_word(tmp_path):
    folder = mine(tmp_path, sweep_x=f"{GLOBAL}{DASK}executor: {{address: 'tcp://theirs.invalid:1'}}\n")
    config = compose_config(["+sweep=x", "executor.address=tcp://mine.invalid:1"], folder)
    assert config["executor"]["address"] == "tcp://mine.invalid:1"


def test_what_the_user_set_of_a_part_holds_in_its_copies(tmp_path):
    boosted = "{_target_: bmx_grid.attribution.boosted.BoostedMetric, metric: '${metric.judge}'}"
    folder = mine(tmp_path, sweep_x=f"{GLOBAL}defaults: [override /metric: [judge]]\nmetric: {{b: {boosted}}}\n")
    address = "http://mine.invalid/v1"
    config = compose_config(["+sweep=x", "metric.judge.model=m", f"metric.judge.base_url={address}"], folder)
    assert config["metric"]["b"]["metric"]["base_url"] == address


def test_values_of_python_are_the_users():
    metrics = [{"judge": {"base_url": "http://mine.invalid/v1", "model": "m"}}]
    values = {"executor.address": "tcp://mine.invalid:1", "metric.combined.metrics": metrics}
    config = compose_config(["executor=dask", "metric=[combined]"], None, values)
    assert config["executor"]["address"] == "tcp://mine.invalid:1"
    assert config["metric"]["combined"]["metrics"] == metrics


HARMLESS = {
    "folders of this machine": "cache_dir: /shared/cache\ndata_dir: ~/data\noutput_dir: results/${name}",
    "a folder as an address": "cache_dir: 'file:///shared/cache'",
    "how much is run at once": f"{SLURM}executor: {{jobs: 4, cores: 2, memory: 8GB, walltime: '02:00:00', gpus: 1}}",
    "values of our own options": f"{DASK}executor: {{address: null}}\ntracking: {{uri: null, curves: thin}}",
    "a column that is named like a key": (
        "explainer: {x: {_target_: bmx_grid.explainers.imported_attributions.Imported, columns: {scores: uri}, "
        "file: x.tsv}}"
    ),
    "files of metrics that are named like keys": (
        "metric: {x: {_target_: bmx_grid.metrics.imported.Imported, files: {address: a.tsv, python: b.tsv}}}"
    ),
    "a safetensors model": "metric: {x: {_target_: bmx_grid.metrics.encoders.BertScore, model: a/b, revision: c}}",
    "keys of a class of the user's package": "metric: {x: {_target_: ext.X, anything: 3, served: true}}",
}


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_a_file_sets_what_is_computed(text, tmp_path, monkeypatch):
    monkeypatch.setenv("BMX_ALLOWED_PACKAGES", "ext")
    compose_config(["+sweep=x"], mine(tmp_path, sweep_x=f"{GLOBAL}{text}\n"))


def test_every_sweep_and_every_option_of_ours_is_harmless(tmp_path):
    """As if a stranger had written them: none sets a key that only the user may set to a value of its own."""
    for group in ("sweep", "tasks"):
        for file in CONFIGS.glob(f"{group}/*.yaml"):
            compose_config([f"+{group}={file.stem}"])
    several, one = [], []  # every option of a group at once, or one of each group
    for group in GROUPS:
        names = [file.stem for file in CONFIGS.glob(f"{group}/*.yaml")]
        if group in GROUPS_OF_PARTS:
            several.append(f"{group}=[{','.join(names)}]")
        else:
            one.append([f"{group}={name}" for name in names])
    compose_config(several)
    for chosen in itertools.zip_longest(*one):
        compose_config([line for line in chosen if line is not None])


def test_a_cache_of_the_environment_is_the_users(monkeypatch):
    config = {"cache_dir": "s3://mine/x", "metric": {"m": {"cache_dir": "s3://mine/x"}}}
    with pytest.raises(ConfigError, match="^cache_dir: 's3://mine/x' is named by a file"):
        check_keys_of_files(config, frozenset())
    monkeypatch.setenv("BMX_CACHE_DIR", "s3://mine/x")
    check_keys_of_files(config, frozenset())
    with pytest.raises(ConfigError, match="^metric.m.answers: 's3://mine/xy' is named by a file"):
        check_keys_of_files(config | {"metric": {"m": {"answers": "s3://mine/xy"}}}, frozenset())


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        pytest.param("judge", {"base_url": "http://elsewhere.invalid/v1"}, id="a server"),
        pytest.param("judge", {"key_variable": "AWS_SECRET_ACCESS_KEY"}, id="a key"),
        pytest.param("judge", {"answers": "../../elsewhere"}, id="a folder"),
        pytest.param("datscore", {"cache_dir": "/elsewhere"}, id="a cache"),
        pytest.param("comet", {"model": "stranger/evil"}, id="a pickle"),
        pytest.param("x", {"_target_": "bmx_grid.metrics.libraries.Comet", "model": "a/b"}, id="a pickle by its class"),
        pytest.param(
            "boosted", {"metric": {"_target_": "bmx_grid.guests.judge.judge.Judge", "answers": "x"}}, id="below"
        ),
    ],
)
def test_a_recipe_names_no_server_no_folder_and_no_pickle(name, settings):
    with pytest.raises(ConfigError, match=r"^metric\.[\w.]+: .* is named by a file"):
        Identity(name, "", {}, settings).node("metric")
    kept = {"model": "m", "served": "m 1", "max_tokens": 300}
    assert Identity("judge", "", {}, kept).node("metric")["max_tokens"] == 300


def test_the_environment_variable_is_that_of_the_configuration():
    assert f"oc.env:{file_keys.CACHE_VARIABLE}," in TOP["cache_dir"]
    assert os.sep == "/", "folders are told from addresses by a slash"
