"""Calls from Python with what people hand over, made from a seed: columns of every type, odd values for every argument.

    for shown, call in inputs(seed=0, count=100, folder=tmp_path):
        call()          # the refusal, "" where there was a result

Half of the calls say the same thing in another form (a Series for a list, NumPy's numbers, categories, Arrow's types,
another index): they must give the same numbers. The others hold odd values: there is a result or one sentence.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tools.fuzz.columns import (
    ATTRIBUTIONS,
    COUNTS,
    FRAME,
    FRAMES,
    HUMAN,
    MISSING,
    NUMBER_FORMS,
    ODD,
    REFERENCES,
    TEXT_FORMS,
    TEXTS,
    N,
)
from tools.fuzz.tables import pick

import bmx_grid as bmx

Random = np.random.Generator
COMPARED = {"metrics": ["m1", "m2"], "human": "score", "resamples": 40, "seed": 3}
BOOSTED = {"scores": FRAME["m1"].tolist(), "attributions": ATTRIBUTIONS, "human": HUMAN.tolist(), "p": 1, "w": 0.5}
ARGUMENTS = {
    "compare": [*COMPARED, "by", "level", "statistic", "columns", "language_pair", "lengths", "decimal", "unit"],
    "boost": [*BOOSTED, "side", "correlation", "clusters", "systems", "texts", "resamples", "seed"],
    "score": ["hypotheses", "references", "sources", "progress"],
    "explain": ["hypotheses", "references", "sources"],
    "corpus": ["hypotheses", "references"],
    "load": ["metric", "explainer", "p", "w", "settings", "recipe", "language_pair"],
    "grid": ["metric", "explainer", "columns", "language_pair", "decimal", "output_dir", "settings", "limit", "seed"],
    "run": ["sweep", "metric", "explainer", "limit", "output_dir", "settings", "config_dir", "seed", "dataset", "grid"],
    "analyse": ["runs", "correlation", "resamples", "seed"],
    "settings": [
        *("metric.beta", "metric.char_order", "metric.lowercase", "explainer.num_samples", "seed", "side"),
        *("max_texts", "aggregation", "metric", "", "metric.nope"),
    ],
}
WEIGHTS = {"grid": 1, "run": 2}  # what takes long comes up less


def compared(frame: Any, **changed: Any) -> list[Any]:
    """The numbers of a comparison."""
    made = bmx.compare(frame, **{**COMPARED, **changed})
    tables = [made.correlations, made.tests]
    repr(made), made._repr_html_()
    return [_numbers(table) for table in tables] + [made.n_clusters]


def boosted(**changed: Any) -> list[Any]:
    made = bmx.boost(**{**BOOSTED, "resamples": 20, **changed})
    repr(made), made._repr_html_()
    found = [np.asarray(made.scores, dtype=np.float64)] if made.p is not None else []
    if made.human is not None:
        found.append(float(made.gain.difference) if made.p is not None else math.nan)
    return found


def scored(**changed: Any) -> list[Any]:
    return [bmx.load("chrf", None).score(**{"hypotheses": TEXTS, "references": REFERENCES, **changed})]


def explained(**changed: Any) -> list[Any]:
    made = bmx.load("chrf", "erasure").explain(**{"hypotheses": TEXTS, "references": REFERENCES, **changed})
    made._repr_html_(), repr(made), made.to_frame()
    return [made.base, *(one.attributions["hypothesis"] for one in made.explanations)]


def corpus(**changed: Any) -> list[Any]:
    return [bmx.load("chrf", None).corpus_score(**{"hypotheses": TEXTS, "references": REFERENCES, **changed})]


def loaded(**changed: Any) -> list[Any]:
    scorer = bmx.load(**{"metric": "chrf", **changed})
    repr(scorer)
    return []


def with_settings(**changed: Any) -> list[Any]:
    scorer = bmx.load("chrf", "lime", p=1, w=0.5, settings={"explainer.num_samples": 20, **changed})
    return [scorer.score(TEXTS[:2], references=REFERENCES[:2])]


def gridded(frame: Any, folder: Path, **changed: Any) -> list[Any]:
    small = changed.pop("settings", {"grid.p.step": 30})
    usual = {"metric": "chrf", "explainer": "erasure", "evaluation": ["grid"], "cache_dir": str(folder / "cache")}
    with _within(folder):
        run = bmx.grid(frame, **{**usual, "settings": small, **changed})
        repr(run)
        return [_numbers(run.table("settings"), ["baseline", "best", "n_used"])]


def swept(folder: Path, **changed: Any) -> list[Any]:
    usual = {"sweep": "quickstart", "limit": 2, "quiet": True, "dry_run": True}
    with _within(folder):
        try:
            bmx.run(**{**usual, **changed})
        except bmx.BmxError as error:
            if str(error).startswith("dry_run"):  # a plan, which has no tables: the arguments are good
                return []
            raise
    raise AssertionError("a plan was run")


def analysed(**changed: Any) -> list[Any]:
    bmx.analyse(**{"runs": ["one", "other"], **changed})
    raise AssertionError("folders that are not there were analysed")


class _within:
    """The current folder for a while."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> None:
        self.before = Path.cwd()
        os.chdir(self.folder)

    def __exit__(self, *_: object) -> None:
        os.chdir(self.before)


def _numbers(table: Any, names: list[str] | None = None) -> Any:
    """The columns of numbers of a frame of any kind, row by row."""
    in_pandas = pd.DataFrame(table if isinstance(table, dict) else _to_pandas(table))
    chosen = in_pandas if names is None else in_pandas[names]
    numbers = chosen.apply(pd.to_numeric, errors="coerce")
    return np.asarray(numbers.to_numpy(dtype=np.float64, na_value=np.nan))


def _to_pandas(table: Any) -> Any:
    if isinstance(table, pd.DataFrame):
        return table
    return {
        name: table[name].to_pylist() if hasattr(table[name], "to_pylist") else table[name].to_list()
        for name in (table.column_names if hasattr(table, "column_names") else table.columns)
    }


def _same(left: list[Any], right: list[Any]) -> bool:
    if len(left) != len(right):
        return False
    return all(np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True) for a, b in zip(left, right, strict=True))


Calls = dict[str, Callable[..., list[Any]]]


def calls(folder: Path) -> Calls:
    return {
        "compare": lambda **given: compared(given.pop("frame", FRAME), **given),
        "boost": boosted,
        "score": scored,
        "explain": explained,
        "corpus": corpus,
        "load": loaded,
        "settings": with_settings,
        "grid": lambda **given: gridded(given.pop("frame", FRAME), folder, **given),
        "run": lambda **given: swept(folder, **given),
        "analyse": analysed,
    }


def _equal_form(rng: Random) -> tuple[str, str, dict[str, Any]]:
    """(what is done, function, arguments) that must give the same numbers."""
    function = pick(rng, ["compare", "compare", "boost", "score", "explain", "corpus", "grid"])
    if function in ("compare", "grid"):
        # `_texts_of_numbers` and others of ids are told apart by nothing that is computed.
        change = pick(rng, FRAMES)
        given: dict[str, Any] = {"frame": change(FRAME.copy())}
        shown = f"{change.__name__} of the frame"
        if function == "compare" and rng.random() < 0.3:
            given["resamples"] = pick(rng, COUNTS)(40)
            given["metrics"] = pick(rng, [tuple, np.array, pd.Series, pd.Index])(["m1", "m2"])
            shown += f", {type(given['resamples']).__name__}, {type(given['metrics']).__name__}"
        return shown, function, given
    if function == "boost":
        name = pick(rng, ["scores", "human", "attributions", "p"])
        if name == "attributions":
            form = pick(rng, [np.array, tuple, pd.Series, lambda row: __import__("polars").Series(row)])
            whole = pick(rng, [list, tuple])
            value: Any = whole(form(row) for row in ATTRIBUTIONS)
        elif name == "p":
            value = pick(rng, [np.float64, np.int8, np.float32, np.array, float])(1)
        else:
            value = pick(rng, NUMBER_FORMS)(BOOSTED[name])
        return f"{name} as {type(value).__module__}.{type(value).__name__}", function, {name: value}
    name = pick(rng, ["hypotheses", "references"])
    value = pick(rng, TEXT_FORMS)(TEXTS if name == "hypotheses" else REFERENCES)
    return f"{name} as {type(value).__module__}.{type(value).__name__}", function, {name: value}


def _odd_value(rng: Random) -> tuple[str, str, dict[str, Any]]:
    """One or two odd arguments, or an odd cell in a frame or a list."""
    weighted = [name for name in ARGUMENTS for _ in range(WEIGHTS.get(name, 4))]
    function = pick(rng, weighted)
    if function in ("compare", "grid", "boost", "score") and rng.random() < 0.4:
        kind, value = pick(rng, list(MISSING.items()))
        row = int(rng.integers(N))
        if function in ("compare", "grid"):
            frame = FRAME.astype(object)
            name = pick(rng, list(frame))
            at = list(frame).index(name)
            values = frame[name].tolist()
            values[row] = value
            frame.isetitem(at, pd.Series(values, dtype=object))
            if rng.random() < 0.2:
                frame.columns = [pick(rng, [one, one, one, 5, ("a", "b"), None, one.upper(), "m1"]) for one in frame]
            return f"{kind} in row {row + 1} of {name}, {list(frame)}", function, {"frame": frame}
        name = pick(rng, ["scores", "human"] if function == "boost" else ["hypotheses", "references"])
        usual: list[Any] = {"scores": BOOSTED["scores"], "human": BOOSTED["human"], "hypotheses": TEXTS}.get(
            name, REFERENCES
        )
        values = list(usual)
        values[row] = value
        return f"{kind} in row {row + 1} of {name}", function, {name: values}
    given: dict[str, Any] = {}
    shown = []
    for _ in range(int(rng.integers(1, 3))):
        argument, kind = pick(rng, ARGUMENTS[function]), pick(rng, list(ODD))
        given[argument] = ODD[kind]()
        shown.append(f"{argument}={kind}")
    return ", ".join(shown), function, given


def inputs(seed: int, count: int, folder: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """`count` of (what is called, the call), the same for one seed."""
    by_name = calls(folder)
    clean: dict[str, list[Any]] = {}
    for number in range(count):
        rng = np.random.default_rng([seed, number, 3])
        is_equal = bool(rng.random() < 0.4)
        shown, function, given = (_equal_form if is_equal else _odd_value)(rng)

        def call(function: str = function, given: dict[str, Any] = given, is_equal: bool = is_equal) -> str:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if function not in clean:
                    clean[function] = by_name[function]() if function not in ("analyse",) else []
                try:
                    found = by_name[function](**given)
                except bmx.BmxError as error:
                    if is_equal:
                        raise AssertionError(f"another form of the same: {error}") from error
                    return str(error)
            if is_equal and not _same(found, clean[function]):
                raise AssertionError(f"another form of the same gives {found}, not {clean[function]}")
            return ""

        yield f"{function}: {shown}", call
