"""Arguments that people might give to `python -m bmx_grid score`, and the files they name, made from a seed.

    write_files(folder)      files of segments, good and bad
    inputs(seed, count)      argument lists; to be run in that folder

Whatever comes, the answer is scores (status 0) or one sentence (status 2).
"""

from __future__ import annotations

import gzip
import os
import random
from pathlib import Path

from some_recipe import recipe

from bmx_grid.boosts.recipe import write_recipe

GOOD = "the cat sat on the mat .\na dog barks\n\n"
FILES = {
    "good.txt": GOOD.encode(),
    "other.txt": b"the cat is on a mat .\nthe dog barked loudly\nx\n",
    "shorter.txt": b"one line\n",
    "empty.txt": b"",
    "line_feeds.txt": b"\n\n\n",
    "no_last_feed.txt": GOOD.rstrip("\n").encode() + b"\nx",
    "windows.txt": GOOD.replace("\n", "\r\n").encode(),
    "old_mac.txt": GOOD.replace("\n", "\r").encode(),
    "mark.txt": GOOD.encode("utf-8-sig"),
    "utf16.txt": GOOD.encode("utf-16"),
    "latin1.txt": "é\nü\nx\n".encode("latin-1"),
    "surrogate.txt": b"a\n\xed\xa0\x80\nx\n",
    "zero.txt": b"a\x00b\nc\nd\n",
    "odd.txt": "\u202eabc\u2028\n\u0301 [MASK] UNKWORDZ\n\N{NO-BREAK SPACE}\u200b\n".encode(),
    "packed.gz": gzip.compress(GOOD.encode(), mtime=0),
    "truncated.gz": gzip.compress(GOOD.encode(), mtime=0)[:-9],
    "flipped.gz": gzip.compress(GOOD.encode(), mtime=0)[:12] + b"\xff" * 9,
    "bomb.gz": gzip.compress(b"a " * 105_000_000, compresslevel=1, mtime=0),
    "many_words.txt": (" ".join(f"w{number}" for number in range(3_000)) + "\na\nb\n").encode(),
    "long_word.txt": b"a" * 100_000 + b"\nb\nc\n",
    "a name with blanks.txt": GOOD.encode(),
    "folder/inside.txt": b"",
}
NAMES = (
    *("good.txt", "other.txt", "good.txt", "other.txt", "good.txt"),
    *FILES,
    *("pipe.txt", "device.txt"),
    *("nowhere.txt", "folder", "", "x" * 6000, "x/" * 3000, "~nobody/x", "\x1b[2J.txt", "a\nb", "é", "/dev/null"),
)
# fmt: off
RECIPES = (
    "recipe.json", "good.txt", "edited.json", "list", "nowhere", "nowhere.json", "", "folder", "x.json", "/", "é",
)
# fmt: on
METRICS = ("sentence_bleu", "chrf", "chrf_plus_plus", "random", "chrf", "chfr", "", "boosted", "../x", "None", "日本")
EXPLAINERS = ("lime", "shap", "erasure", "random", "none", "none", "lmie", "", "null", "input_marginalization")
NUMBERS = ("0", "1", "-0.3", "0.6", "-30", "1e300", "1e-320", "inf", "-inf", "nan", "2", "-1", "abc", "", "1,5", "0x1")
KEYS = (
    *("metric.beta", "metric.char_order", "metric.tokenize", "metric.nope", "metric", "metric.a.b", "metric._target_"),
    *("explainer.num_samples", "explainer.max_evals", "explainer.nope", "explainer", "explainer.kernel_width"),
    *("seed", "side", "aggregation", "max_texts", "p", "w", "nope", "", ".", "explainer..x", "aggregation.x"),
)
VALUES = (
    *("0", "1", "-1", "3", "10", "1e9", "1e300", ".nan", ".inf", "true", "null", "", "abc", "[1,2]", "{a: 1}", "[a"),
    *("hypothesis", "both", "13a", "power_mean", "os.system", "bmx_grid.metrics.base.Metric", "${seed}", "9" * 400),
    *("'", "!!python/object/apply:os.system [true]", "*x", "&x [*x]", "2020-01-01", "\x00", "é", "x" * 6000, "- 1"),
)
FORMATS = ("text", "json", "tsv", "xml", "")
ODD = (["--nope"], ["x"], ["--"], ["--set"], ["--words"], ["--words"], ["-p"], ["--set", "noequals"], ["--metric"])


def write_files(folder: Path) -> None:
    """Write the files that the arguments name."""
    write_recipe(folder / "recipe.json", recipe())
    (folder / "edited.json").write_bytes((folder / "recipe.json").read_bytes().replace(b"0.0", b"0.1", 1))
    os.mkfifo(folder / "pipe.txt")
    (folder / "device.txt").symlink_to("/dev/zero")
    for name, raw in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw)


def inputs(seed: int, count: int) -> list[list[str]]:
    """`count` argument lists; a shorter list is the beginning of a longer one of the same seed."""
    rng = random.Random(seed)
    return [_one(rng) for _ in range(count)]


def _one(rng: random.Random) -> list[str]:
    """A command that would do, with one to three of its parts replaced by anything."""
    parts = {
        "metric": rng.choice(METRICS[:4]),
        "explainer": rng.choice(EXPLAINERS[:6]),
        "reference": "good.txt",
        "hypothesis": "other.txt",
    }
    pools = {"metric": METRICS, "explainer": EXPLAINERS, "reference": NAMES, "hypothesis": NAMES}
    rest: list[str] = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        kind = rng.choice(
            (*pools, "reference", "hypothesis", "source", "number", "set", "set", "format", "odd", "less", "recipe")
        )
        if kind in pools:
            parts[kind] = rng.choice(pools[kind])
        elif kind == "source":
            parts["source"] = rng.choice(NAMES)
        elif kind == "number":
            rest.append(f"-{rng.choice('pw')}={rng.choice(NUMBERS)}")
        elif kind == "set":
            rest += ["--set", f"{rng.choice(KEYS)}={rng.choice(VALUES)}"]
        elif kind == "recipe":
            rest += ["--recipe", rng.choice(RECIPES)]
            if rng.random() < 0.7:
                parts.pop("metric", None)
                parts.pop("explainer", None)
        elif kind == "format":
            rest += ["--format", rng.choice(FORMATS)]
        elif kind == "odd":
            rest += rng.choice(ODD)
        else:
            parts.pop(rng.choice(list(parts)))
    return [*(word for key, value in parts.items() for word in (f"--{key}", value)), *rest]
