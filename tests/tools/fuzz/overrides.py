"""Arguments that people and attackers might give to a sweep, made from a seed.

    write_options(folder)              option files, good and broken, which some of the arguments name, and one
                                       outside the folder of options, which may not be read: LEAKED is in it
    inputs(seed, count)                argument lists; to be run in that folder, and with `dry_run=true` last

Whatever comes, the answer is a plan (status 0 or 1) or one sentence (status 2), and no code of the arguments runs:
`hostile.py` in the folder would write the file RAN.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

from bmx_grid.core.configure import CONFIGS

LEAKED = "words-of-another-file"
GLOBAL = "# @package _global_\n"
FILES = {
    "hostile.py": "from pathlib import Path\nPath('RAN').write_text('')\n"
    "import logging\nclass Handler(logging.StreamHandler): pass\nclass Thing:\n    def __init__(self, **_): pass\n",
    "mine/metric/good.yaml": "good:\n  _target_: bmx_grid.metrics.chrf.Chrf\n  char_order: 4\n",
    "mine/metric/other_key.yaml": "another:\n  _target_: bmx_grid.metrics.chrf.Chrf\n",
    "mine/metric/no_target.yaml": "no_target:\n  char_order: 4\n",
    "mine/metric/no_key.yaml": "_target_: bmx_grid.metrics.chrf.Chrf\n",
    "mine/metric/broken.yaml": "broken:\n  a: [1, 2\n  b: }\n",
    "mine/metric/tabs.yaml": "tabs:\n\t_target_: x\n",
    "mine/metric/empty.yaml": "",
    "mine/metric/a_list.yaml": "- 1\n- 2\n",
    "mine/metric/a_text.yaml": "just a text\n",
    "mine/metric/abstract.yaml": "abstract:\n  _target_: bmx_grid.metrics.base.Metric\n",
    "mine/metric/other_class.yaml": "other_class:\n  _target_: os.system\n",
    "mine/metric/circle.yaml": "circle:\n  _target_: bmx_grid.metrics.chrf.Chrf\n  char_order: ${metric.circle.beta}\n"
    "  beta: ${metric.circle.char_order}\n",
    "mine/metric/nowhere.yaml": "nowhere:\n  _target_: bmx_grid.metrics.chrf.Chrf\n  char_order: ${nope.nope}\n",
    "mine/dataset/twice.yaml": "twice:\n  _target_: bmx_grid.datasets.tabular.Sample\n  name: sample\n",
    "mine/explainer/mine.yaml": "mine:\n  _target_: bmx_grid.explainers.lime.Lime\n  num_sampels: 3\n",
    "mine/sweep/good.yaml": GLOBAL + "defaults:\n  - override /metric: [good]\nname: good\n",
    "mine/sweep/unknown_key.yaml": GLOBAL + "limt: 3\n",
    "mine/sweep/unknown_deep.yaml": GLOBAL + "grid: {p: {strat: 3}}\n",
    "mine/sweep/no_package.yaml": "name: x\n",
    "mine/sweep/no_such_default.yaml": GLOBAL + "defaults:\n  - override /metric: [nope]\n",
    "mine/sweep/no_override.yaml": GLOBAL + "defaults:\n  - /metric: [chrf]\n",
    "mine/sweep/self.yaml": GLOBAL + "defaults:\n  - self\n",
    "mine/sweep/defaults_text.yaml": GLOBAL + "defaults: metric\n",
    "mine/sweep/callback.yaml": GLOBAL + "hydra: {callbacks: {x: {_target_: hostile.Thing}}}\n",
    "mine/sweep/launcher.yaml": GLOBAL + "hydra: {launcher: {_target_: hostile.Thing}}\n",
    "mine/sweep/sweeper.yaml": GLOBAL + "hydra: {sweeper: {_target_: hostile.Thing}}\n",
    "mine/sweep/handler.yaml": GLOBAL
    + "hydra: {job_logging: {version: 1, handlers: {x: {class: hostile.Handler}}, root: {handlers: [x]}}}\n",
    "mine/sweep/factory.yaml": GLOBAL
    + "hydra: {hydra_logging: {version: 1, formatters: {x: {(): hostile.Thing}}, root: {handlers: []}}}\n",
    "mine/sweep/stream.yaml": GLOBAL
    + "hydra: {job_logging: {version: 1, handlers: {x: {class: logging.StreamHandler, stream: ext://hostile.Thing}}, "
    "root: {handlers: [x]}}}\n",
    "mine/sweep/environment.yaml": GLOBAL + "hydra: {job: {env_set: {BMX_ALLOWED_PACKAGES: hostile}}}\n",
    "mine/sweep/params.yaml": GLOBAL + "hydra: {mode: MULTIRUN, sweeper: {params: {limit: '1,2', +limt: '3'}}}\n",
    "mine/sweep/several.yaml": GLOBAL + "hydra: {mode: MULTIRUN, sweeper: {params: {limit: '1,2'}}}\n",
    "mine/sweep/file_handler.yaml": GLOBAL
    + "hydra: {job_logging: {handlers: {x: {class: logging.FileHandler, filename: RAN}}, root: {handlers: [x]}}}\n",
    "mine/sweep/output_subdir.yaml": GLOBAL + "hydra: {output_subdir: /tmp/x, run: {dir: ../x}}\n",
    "mine/sweep/environment_read.yaml": GLOBAL + "name: ${oc.env:HOME}\n",
    "mine/sweep/base_60.yaml": GLOBAL + "limit: 1:30\nseed: 010\n",
    "mine/sweep/alias.yaml": GLOBAL + "name: &a x\nleave_out: [*a, *a]\n",
    "mine/sweep/null_key.yaml": GLOBAL + "~: 5\n",
    "mine/sweep/a_number.yaml": "5\n",
    "mine/sweep/byte_order_mark.yaml": "\ufeff" + GLOBAL + "name: marked\n",
    "mine/sweep/invisible.yaml": GLOBAL + "li\u00a0mit: 3\nseed\u200b: 1\n",
    "mine/sweep/large.yaml": GLOBAL + "evaluation: {levels: {resamples: 1000000000000}}\n",
}
PATHS = {  # {} is the path of the file with LEAKED, as an option would be named by it
    "mine/sweep/path.yaml": GLOBAL + "defaults:\n  - override /metric: [chrf, '{}']\n",
    "mine/sweep/path_of_sweep.yaml": GLOBAL + "defaults:\n  - '{}'\n",
    "mine/sweep/path_of_group.yaml": GLOBAL + "defaults:\n  - /metric/{}: x\n",
    "mine/sweep/absolute.yaml": GLOBAL + "defaults:\n  - /metric/{}\n",
}
BYTES = {
    "mine/metric/latin1.yaml": "latin1:\n  _target_: é\n".encode("latin-1"),
    "mine/metric/utf16.yaml": "utf16:\n  _target_: x\n".encode("utf-16"),
    "mine/metric/zero.yaml": b"zero:\n  a: \x00\n",
}
KEYS = (
    *("name", "data_dir", "cache_dir", "output_dir", "limit", "leave_out", "seed", "seeds", "dry_run", "on_error"),
    "analysis",
    *("grid", "grid.p", "grid.p.start", "grid.p.stop", "grid.p.step", "grid.w", "grid.w[0]", "grid.side"),
    *("grid.correlation", "grid.fixed", "grid.fixed.lime", "grid.fixed.lime.w", "grid.fixed.shap.p", "grid.max_points"),
    *("metric.sentence_bleu.tokenize", "metric.sentence_bleu.smooth_value", "metric.sentence_bleu._target_"),
    *("explainer.lime.num_samples", "explainer.lime.kernel_width", "explainer.lime.mask", "explainer.lime"),
    *("dataset.sample.language_pairs", "dataset.sample.name", "dataset.sample", "executor.n_jobs", "executor._target_"),
    *("leave_out.zz", "evaluation.levels.resamples", "evaluation.significance.resamples"),
    *("tracking.uri", "tracking.experiment", "aggregation._target_", "hydra.run.dir", "hydra.sweep.dir"),
    *("hydra.job.name", "hydra.verbose", "hydra.mode", "hydra.output_subdir", "hydra.searchpath", "hydra.callbacks"),
    *("hydra.launcher", "hydra.sweeper.params", "hydra.job.chdir", "hydra.help.template", "hydra"),
)
TYPOS = (
    *("limt", "dry_runn", "grid.corelation", "x.y", "metric.chrf.nope", "grid.p.stp", "hydra.rn.dir", "explaner.lime"),
)
GROUPS = ("dataset", "metric", "explainer", "grid", "aggregation", "executor", "tracking", "sweep", "hydra/launcher")
OPTIONS = (
    *("sample", "chrf", "lime", "paper", "power_mean", "loky", "mlflow", "quickstart", "sequential", "none", "shap"),
    *("chfr", "", "[]", "[chrf]", "[chrf,random]", "chrf,random", "[chrf", "null", "5", "{a: b}", "[[chrf]]", "../x"),
    *("[chrf,chrf]", "'chrf'", "[sample,wmt71]", "glob(*)", "/etc/passwd", "chrf.yaml", "~", "basic", "joblib"),
)
VALUES = (
    *(
        "",
        "null",
        "true",
        "0",
        "-1",
        "1",
        "3",
        "1e-10",
        "1e300",
        "-1e308",
        "nan",
        "inf",
        "-inf",
        "1_000",
        "0x10",
        "abc",
    ),
    *("[]", "[1,2]", "{}", "{a: 1}", "[a,", "}", "'", '"', "'abc", "a b", "a,b", "1,2", "range(1,3)"),
    *("interval(0,1)", "choice(1,2)", "glob(*)", "${nope}", "${oc.env:HOME}", "${seed}", "${name}", "${"),
    *("${nope.a.b}", "${limit}", "${output_dir}", "${grid}", "${hydra:job.name}", "${now:%Y}", "${oc.decode:'${'}"),
    *("???", "é", "日本"),
    *("abc", "range(1,1e9)", "${nope.a.b}", "日本"),
    *("\\", "a\\,b", "a=b", "=", "a\nb", "\t", "~/x", "/proc/self/mem", "x" * 300, "y/" * 3000, "z" * 6000, "\x00a"),
    *("http://user:secret@host:1/x", "[0,2]", "[0,.nan]", "{w: 2, p: 1}", "{w: .5, p: .nan}", "{lmie: {w: 0, p: 0}}"),
    *("os.system", "bmx_grid.metrics.base.Metric", "bmx_grid.nope.Nope", "bmx_grid..x", ".", "chrf", "hostile.Thing"),
    *("{x: {_target_: hostile.Thing}}", "[pkg://hostile]", "[/nope]", "MULTIRUN", "both", "kendall", "stop", "0.3"),
    *("99999999999999999999999", "[" * 50 + "]" * 50, "int(x)", "str(1)", "sort(3,1)", "shuffle(1,2)", "tag(a,1)"),
)
FLAGS = (
    *(["--multirun"], ["-m"], ["--run"], ["--cfg", "job"], ["--cfg", "nope"]),
    *(["--cfg", "hydra"], ["--resolve"], ["--config-dir", "mine"]),
    *(["--config-dir", "nowhere"], ["--config-dir=mine"], ["--config-dir", "hostile.py"], ["--config-dir"]),
    *(["--config-dir", "x" * 6000], ["--config-name", "nope"], ["--config-path", "mine"]),
    *(["--experimental-rerun", "x.pickle"], ["--nope"], ["--dry-run"], ["-x"], ["--cfg", "job", "--multirun"]),
    *(["-"], ["--"], ["--multirun", "--multirun"]),
)


def write_options(folder: Path) -> None:
    """Write the files that the arguments name."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for name, raw in BYTES.items():
        (folder / name).write_bytes(raw)
    (folder / "other.yaml").write_text(f"{GLOBAL}name: {LEAKED}\n")
    path = os.path.relpath(folder / "other", CONFIGS / "metric")
    for name, text in PATHS.items():
        (folder / name).write_text(text.replace("{}", path))


def inputs(seed: int, count: int) -> list[list[str]]:
    """`count` argument lists, the same ones for the same seed; each kind of mistake comes up in about 50."""
    rng = random.Random(seed)
    return [_one(rng) for _ in range(count)]


def _one(rng: random.Random) -> list[str]:
    parts = [rng.choice(KINDS)(rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    return [argument for part in parts for argument in part]


def _value(rng: random.Random) -> list[str]:
    return [f"{rng.choice(('', '', '', '+', '++'))}{rng.choice(KEYS)}={rng.choice(VALUES)}"]


def _several(rng: random.Random) -> list[str]:
    return ["--multirun", f"{rng.choice(KEYS)}={rng.choice(VALUES)},{rng.choice(VALUES)}"]


def _typo(rng: random.Random) -> list[str]:
    return [f"{rng.choice(('', '+', '++', '~'))}{rng.choice(TYPOS)}={rng.choice(VALUES)}"]


def _deletion(rng: random.Random) -> list[str]:
    return [f"~{rng.choice((*KEYS, *GROUPS, *TYPOS))}{rng.choice(('', '', '=1', '=null', '=chrf'))}"]


def _choice(rng: random.Random) -> list[str]:
    return [
        f"{rng.choice(('', '', '+', '++'))}{rng.choice(GROUPS)}{rng.choice(('', '', '', '@x'))}={rng.choice(OPTIONS)}"
    ]


def _own_option(rng: random.Random) -> list[str]:
    name = rng.choice([one for one in (*FILES, *PATHS, *BYTES) if one.count("/") == 2])
    group, option = name.removeprefix("mine/").removesuffix(".yaml").split("/")
    chosen = f"+sweep={option}" if group == "sweep" else f"{group}=[{option}]"
    return ["--config-dir", "mine", chosen, *(["--multirun"] if rng.random() < 0.3 else [])]


def _flag(rng: random.Random) -> list[str]:
    return list(rng.choice(FLAGS))


def _noise(rng: random.Random) -> list[str]:
    """A good override with a character changed, dropped or doubled."""
    text = rng.choice(("metric=[chrf,random]", "grid.p.stop=10", "+sweep=quickstart", "leave_out=['*/*']", "seed=1"))
    place = rng.randrange(len(text))
    other = rng.choice(("", text[place] * 2, chr(rng.randrange(32, 127)), "\u202e", "\udcff", "\r"))
    return [text[:place] + other + text[place + 1 :]]


KINDS: tuple[Callable[[random.Random], list[str]], ...] = (
    *(_value, _value, _value, _several, _typo, _deletion, _choice, _own_option, _own_option, _flag, _noise),
)
