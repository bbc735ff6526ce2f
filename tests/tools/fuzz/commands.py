"""Arguments of `compare`, `data show`, `analyse` and `check`, made from a seed, and the tables that they name.

    for shown, work in inputs(seed=0, count=100, folder=tmp_path):
        work()          # the refusal, "" where the command did its work

Some commands say the same in another form: `compare` then has the numbers of the plain command. All others end with a
result or one sentence.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tools.fuzz.columns import FRAME
from tools.fuzz.sweeps import swept
from tools.fuzz.watched import commanded

PLAIN = ["t.tsv", "--metrics", "m1", "m2", "--human", "score", "--resamples", "40", "--json"]
VALUES = (
    *(
        "",
        " ",
        "0",
        "-1",
        "1",
        "2",
        "1e9",
        "nan",
        "inf",
        "1.5",
        "9" * 400,
        "x",
        "m1",
        "m2",
        "score",
        "seg_id",
        "ref",
        "nope",
    ),
    *(
        "x" * 5000,
        "é",
        "\x1b[31m",
        "a\nb",
        "a\tb",
        "\udcff",
        "--",
        "-x",
        "--metrics",
        "null",
        "true",
        "[m1,m2]",
        "{a: 1}",
    ),
    *(
        "m1,m2",
        "../x",
        "/dev/zero",
        "/",
        "~",
        "s3://x/y",
        "http://127.0.0.1:9/",
        "utf-99",
        "rot13",
        "cp1252",
        ",",
        ".",
        "de-en",
    ),
    *(
        "${oc.env:HOME}",
        "!!python/object/apply:os.system [true]",
        "&a [*a]",
        "=",
        "=x",
        "score=",
        "score=m1",
        "score=nope",
    ),
    *("id=seg_id", "hypothesis=ref", "nope=m1", "item", "system", "segment", "kendall", "both", "latex", "json", "all"),
)
FILES = (
    *(
        "t.tsv",
        "t.csv",
        "t.parquet",
        "t.jsonl",
        "t.xlsx",
        "nowhere.tsv",
        "folder",
        "empty.tsv",
        "header.tsv",
        "one.tsv",
    ),
    *(
        "texts.tsv",
        "circle.tsv",
        "device.tsv",
        "pipe.tsv",
        "binary.tsv",
        "t.txt",
        "infinite.tsv",
        "constant.tsv",
        "sweep",
    ),
    *("a b.tsv", "a=b.tsv", "sweep/tables", "sweep/tables/grid.parquet", "sweep/config.yaml", "sweep/.sweep.json"),
)
FLAGS = (
    *(
        "--metrics",
        "--human",
        "--by",
        "--level",
        "--statistic",
        "--columns",
        "--lengths",
        "--language-pair",
        "--decimal",
    ),
    *("--encoding", "--skip-rows", "--resamples", "--seed", "--json", "--nope", "--unit", "-h"),
)
KEYS = (
    *(
        "limit",
        "data_dir",
        "language_pair",
        "columns.score",
        "columns.id",
        "columns.nope",
        "columns",
        "decimal",
        "encoding",
    ),
    *(
        "skip_rows",
        "nope",
        "path",
        "name",
        "format",
        "output_dir",
        "figures",
        "select.from",
        "fixed.erasure.w",
        "correlation",
    ),
    *(
        "fixed.erasure.p",
        "fixed.nope.w",
        "questions",
        "metric",
        "explainer",
        "dataset",
        "metric.chrf.beta",
        "",
        "a.b.c",
    ),
    *("metric.chrf._target_", "dataset.tabular.path", "extra", "human", "reference", "test_set", "folder", "cache_dir"),
)
PARTS = (
    *(
        "chrf",
        "erasure",
        "sample",
        "random",
        "word_overlap",
        "metric=chrf",
        "explainer=lime",
        "dataset=sample",
        "nope",
        "",
        "os",
    ),
    *(
        "bmx_grid.metrics.chrf.Chrf",
        "os.system",
        "bmx_grid.metrics.base.Metric",
        "metric=[chrf]",
        "chrf.yaml",
        "../x",
        "é",
    ),
    *(
        "metric=",
        "=chrf",
        "metric=chrf,random",
        "bmx_grid",
        "bmx_grid.core.errors.BmxError",
        "tabular",
        "human",
        "imported",
    ),
)


def write_files(folder: Path) -> None:
    """The tables that the arguments name."""
    frame = FRAME
    frame.to_csv(folder / "t.tsv", sep="\t", index=False)
    frame.to_csv(folder / "a b.tsv", sep="\t", index=False)
    frame.to_csv(folder / "a=b.tsv", sep="\t", index=False)
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "semicolons.csv", sep=";", decimal=",", index=False)
    frame.to_csv(folder / "reversed.csv", index=False, columns=list(reversed(frame.columns)))
    frame.to_csv(folder / "latin.csv", index=False, encoding="utf-16")
    frame.rename(columns={"seg_id": "Segment", "score": "a b"}).to_csv(folder / "renamed.csv", index=False)
    (folder / "titled.csv").write_text("My ratings\n\n" + frame.to_csv(index=False))
    frame.to_parquet(folder / "t.parquet", index=False)
    frame.to_json(folder / "t.jsonl", orient="records", lines=True, double_precision=15)
    frame.astype({"score": object}).assign(score="x").to_csv(folder / "texts.tsv", sep="\t", index=False)
    frame.assign(m1=np.inf).to_csv(folder / "infinite.tsv", sep="\t", index=False)
    frame.assign(m1=0.5).to_csv(folder / "constant.tsv", sep="\t", index=False)
    frame[:1].to_csv(folder / "one.tsv", sep="\t", index=False)
    frame[:0].to_csv(folder / "header.tsv", sep="\t", index=False)
    (folder / "empty.tsv").touch()
    (folder / "t.txt").write_bytes((folder / "t.tsv").read_bytes())
    (folder / "binary.tsv").write_bytes(bytes(range(256)) * 9)
    (folder / "folder").mkdir()
    (folder / "circle.tsv").symlink_to("circle.tsv")
    (folder / "device.tsv").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.tsv")
    with contextlib.suppress(ImportError):
        frame.to_excel(folder / "t.xlsx", index=False)
    swept(folder)


# The plain comparison in other words: arguments in place of its table.
SAME: list[list[str]] = [
    ["t.tsv"], ["t.csv"], ["t.parquet"], ["t.jsonl"], ["a b.tsv"], ["a=b.tsv"], ["reversed.csv"], ["latin.csv"],
    ["semicolons.csv", "--decimal", ","], ["titled.csv", "--skip-rows", "2"], ["./t.tsv"], ["t.tsv", "--seed", "0"],
    ["t.tsv", "--by", "none"], ["t.tsv", "--level", "segment"], ["t.tsv", "--encoding", "utf-8"],
    ["t.tsv", "--columns", "id=seg_id", "system=system"], ["folder/../t.tsv"], ["t.tsv", "--language-pair", "de-en"],
]  # fmt: skip


def _compared(arguments: list[str]) -> Any:
    from bmx_grid.commands.compare import main

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        status = main(arguments)
    if status:
        raise AssertionError(f"status {status}")
    return _numbers(json.loads(out.getvalue()))


def _numbers(node: Any) -> list[float]:
    """All numbers of a JSON document, in order."""
    if isinstance(node, dict):
        return [number for value in node.values() for number in _numbers(value)]
    if isinstance(node, list):
        return [number for value in node for number in _numbers(value)]
    return [float(node)] if isinstance(node, int | float) and not isinstance(node, bool) else []


def _comparison(rng: random.Random) -> list[str]:
    arguments = list(PLAIN)
    for _ in range(rng.randint(1, 3)):
        how = rng.randrange(4)
        if how == 0:
            arguments[0] = rng.choice(FILES)
        elif how == 1:
            arguments[rng.randrange(1, len(arguments))] = rng.choice(VALUES)
        elif how == 2:
            arguments += [rng.choice(FLAGS), rng.choice(VALUES)]
        else:
            del arguments[rng.randrange(len(arguments))]
    return ["compare", *arguments]


def _pairs(rng: random.Random, least: int = 0) -> list[str]:
    return [f"{rng.choice(KEYS)}={rng.choice(VALUES)}" for _ in range(rng.randint(least, 2))]


def _shown(rng: random.Random) -> list[str]:
    act = rng.choice(["show", "show", "show", "list", "verify", rng.choice(VALUES)])
    names = [rng.choice([*FILES, "sample", "wmt17", *VALUES[:8]]) for _ in range(rng.randint(0, 2))]
    return ["data", act, "data_dir=folder", *names, *_pairs(rng)]


def _analysed(rng: random.Random) -> list[str]:
    paths = [rng.choice(["sweep", "sweep", rng.choice(FILES)]) for _ in range(rng.randint(1, 2))]
    return ["analyse", *paths, *_pairs(rng, 1)]


def _checked(rng: random.Random) -> list[str]:
    return ["check", *(rng.choice(PARTS) for _ in range(rng.randint(1, 2))), *_pairs(rng)]


def _done(arguments: list[str]) -> str:
    from importlib import import_module

    main = import_module(f"bmx_grid.commands.{arguments[0]}").main
    usage: list[int] = []

    def work() -> int:
        try:
            return main(arguments[1:])  # type: ignore[no-any-return]
        except SystemExit as error:  # argparse, which shows the usage as the way out, then what is wrong
            usage.append(1)
            return int(error.code or 0)

    said = commanded(work)
    return f"{said}. Write as the usage shows." if said and usage else said


def inputs(seed: int, count: int, folder: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """`count` of (the arguments, the work), the same for one seed."""
    write_files(folder)
    clean: list[Any] = []
    for number in range(count):
        rng = random.Random(f"{seed}-{number}")
        if rng.random() < 0.25:
            same = rng.choice(SAME)

            def compare(same: list[str] = same) -> str:
                if not clean:
                    clean.append(_compared(PLAIN))
                found = _compared([*same, *PLAIN[1:]])
                if not np.allclose(found, clean[0], rtol=1e-9, equal_nan=True):
                    raise AssertionError(f"other numbers: {found}, not {clean[0]}")
                return ""

            yield f"compare {same} as the plain table", compare
            continue
        arguments = rng.choice([_comparison, _comparison, _shown, _analysed, _checked])(rng)
        yield f"{arguments!r:.400}", lambda arguments=arguments: _done(arguments)
