"""Functions as metrics and data sets in memory that go wrong in the ways of people's code, made from a seed.

    for shown, work in inputs(seed=0, count=100, folder=tmp_path):
        work()          # the refusal, "" where there was a result

What does no harm (it prints, sleeps, changes its lists, returns other numbers of the same value) gives the numbers of
the plain function. What is wrong is refused with one sentence, which names the line of the user's code if it raised.
"""

from __future__ import annotations

import contextlib
import decimal
import fractions
import io
import logging
import os
import random
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tools.fuzz.columns import FRAME, REFERENCES, TEXTS, Unprintable

import bmx_grid as bmx
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet

Scores = Callable[[list[str], list[str]], Any]


def plain(hypotheses: list[str], references: list[str]) -> list[float]:
    """The share of equal words."""
    scores = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        words = set(hypothesis.split())
        scores.append(len(words & set(reference.split())) / (len(words) + 1))
    return scores


class Number(float):
    """A float of one's own class."""


def _told(what: Callable[[], object], then: Scores = plain) -> Scores:
    """A function that does something else before it scores."""

    def function(hypotheses: list[str], references: list[str]) -> Any:
        what()
        return then(hypotheses, references)

    return function


def _changed(change: Callable[[list[float]], Any]) -> Scores:
    """A function whose scores are changed."""

    def function(hypotheses: list[str], references: list[str]) -> Any:
        return change(plain(hypotheses, references))

    return function


def _emptied(hypotheses: list[str], references: list[str]) -> list[float]:
    scores = plain(hypotheses, references)
    hypotheses.clear()
    references.sort()
    return scores


def _raise(error: BaseException) -> None:
    raise error


def _deep(count: int = 0) -> int:
    return _deep(count + 1) + 1


def _thread() -> None:
    threading.Thread(target=lambda: None).start()


def _of_torch(scores: list[float]) -> Any:
    return __import__("torch").tensor(scores, dtype=__import__("torch").float64)


# fmt: off
HARMLESS: dict[str, Scores] = {
    "prints": _told(lambda: print("scores \x1b[31m" * 3)),
    "writes to stderr": _told(lambda: sys.stderr.write("note\n")),
    "sleeps": _told(lambda: time.sleep(0.01)),
    "warns": _told(lambda: warnings.warn("careful", stacklevel=1)),
    "logs": _told(lambda: logging.getLogger("mine").error("careful")),
    "logs at the root": _told(lambda: logging.error("careful")),
    "draws from the global generator": _told(lambda: (random.random(), np.random.random())),  # noqa: NPY002
    "seeds the global generator": _told(lambda: (random.seed(0), np.random.seed(0))),  # noqa: NPY002
    "starts a thread": _told(_thread),
    "changes its lists": _emptied,
    "an array": _changed(np.array),
    "a read-only array": _changed(lambda scores: np.broadcast_to(np.array(scores), (len(scores),))),
    "a Series": _changed(pd.Series),
    "a Series with another index": _changed(lambda scores: pd.Series(scores, index=[7] * len(scores))),
    "a tuple": _changed(tuple),
    "numpy numbers": _changed(lambda scores: [np.float64(score) for score in scores]),
    "a tensor": _changed(_of_torch),
    "numbers of a class of one's own": _changed(lambda scores: [Number(score) for score in scores]),
    "an unmasked array": _changed(np.ma.array),
    "a strided array": _changed(lambda scores: np.repeat(scores, 2)[::2]),
}
WRONG: dict[str, Scores] = {
    "one too few": _changed(lambda scores: scores[:-1]),
    "one too many": _changed(lambda scores: [*scores, 1.0]),
    "nothing": _changed(lambda scores: []),
    "None": _changed(lambda scores: None),
    "a number": _changed(lambda scores: 0.5),
    "a text": _changed(lambda scores: "0.5"),
    "texts": _changed(lambda scores: [str(score) for score in scores]),
    "an array of texts": _changed(lambda scores: np.array([str(score) for score in scores])),
    "Nones": _changed(lambda scores: [None] * len(scores)),
    "one None": _changed(lambda scores: [None, *scores[1:]]),
    "a dictionary": _changed(lambda scores: {"score": scores}),
    "dictionaries": _changed(lambda scores: [{"score": score} for score in scores]),
    "a set": _changed(set),
    "pairs": _changed(lambda scores: [(score, 1) for score in scores]),
    "lists": _changed(lambda scores: [[score] for score in scores]),
    "two dimensions": _changed(lambda scores: np.array(scores)[:, None]),
    "a frame": _changed(lambda scores: pd.DataFrame({"score": scores})),
    "complex": _changed(lambda scores: np.array(scores) * 1j),
    "dates": _changed(lambda scores: np.array(["2026-01-01"] * len(scores), "datetime64[D]")),
    "objects": _changed(lambda scores: [Unprintable() for _ in scores]),
    "a function": _changed(lambda scores: plain),
    "all NaN": _changed(lambda scores: [float("nan")] * len(scores)),
    "infinity": _changed(lambda scores: [float("inf"), *scores[1:]]),
    "all masked": _changed(lambda scores: np.ma.masked_all(len(scores))),
    "place in the batch": _changed(lambda scores: [score + place for place, score in enumerate(scores)]),
    "size of the batch": _changed(lambda scores: [score + len(scores) for score in scores]),
    "mean of the batch": _changed(
        lambda scores: [score - sum(scores) / len(scores) + place * 0.1 for place, score in enumerate(scores)]),
    "ranks in the batch": _changed(
        lambda scores: [float(np.argsort(np.argsort(scores))[place]) for place in range(len(scores))]),
    "exits": _told(lambda: sys.exit(0)),
}
RAISED: dict[str, Scores] = {
    "ValueError": _told(lambda: _raise(ValueError("boom\nin two lines"))),
    "KeyError": _told(lambda: {}["boom"]),
    "IndexError": _told(lambda: [][3]),
    "ZeroDivisionError": _told(lambda: 1 / 0),
    "AttributeError": _told(lambda: None.boom),  # type: ignore[attr-defined]
    "TypeError": _told(lambda: len(5)),  # type: ignore[arg-type]
    "UnicodeError": _told(lambda: b"\xff".decode()),
    "OSError": _told(lambda: Path("/nowhere/at/all").read_text()),
    "RecursionError": _told(_deep),
    "MemoryError": _told(lambda: _raise(MemoryError())),
    "StopIteration": _told(lambda: next(iter(()))),
    "AssertionError": _told(lambda: _raise(AssertionError())),
    "ImportError": _told(lambda: __import__("nowhere_at_all")),
    "a group": _told(lambda: _raise(ExceptionGroup("two", [ValueError("a"), KeyError("b")]))),
    "a warning": _told(lambda: _raise(UserWarning("boom"))),
    "escapes": _told(lambda: _raise(ValueError("\x1b[31mred\x07"))),
    "says much": _told(lambda: _raise(ValueError("x" * 600_000))),
    "an error of ours": _told(lambda: _raise(bmx.BmxError("boom; give it up"))),
    "GeneratorExit": _told(lambda: _raise(GeneratorExit())),
}
# A result or a sentence: numbers of these kinds may be scores.
EITHER: dict[str, Scores] = {
    "ints": _changed(lambda scores: [round(score * 10) for score in scores]),
    "booleans": _changed(lambda scores: [score > 0.3 for score in scores]),
    "fractions": _changed(lambda scores: [fractions.Fraction(score) for score in scores]),
    "decimals": _changed(lambda scores: [decimal.Decimal(score) for score in scores]),
    "halves": _changed(lambda scores: np.array(scores, np.float16)),
    "a generator": _changed(lambda scores: (score for score in scores)),
    "one NaN": _changed(lambda scores: [float("nan"), *scores[1:]]),
    "huge": _changed(lambda scores: [score * 1e300 for score in scores]),
    "tiny": _changed(lambda scores: [score * 1e-300 for score in scores]),
    "equal": _changed(lambda scores: [0.5] * len(scores)),
    "changes the folder": _told(lambda: os.chdir("/")),
    "changes the environment": _told(lambda: os.environ.update({"BMX_CACHE_DIR": "/nowhere"})),
    "raises for floating point": _told(lambda: np.seterr(all="raise")),
    "makes warnings errors": _told(lambda: warnings.simplefilter("error")),
    "closes standard output": _told(lambda: sys.stdout.close()),
    "forgets standard output": _told(lambda: setattr(sys, "stdout", None)),
    "lowers the precision of decimals": _told(lambda: decimal.getcontext().__setattr__("prec", 1)),
    "lowers the limit of recursion": _told(lambda: sys.setrecursionlimit(200)),
}
# fmt: on
KINDS = {"harmless": HARMLESS, "wrong": WRONG, "raised": RAISED, "either": EITHER}


def _no_parameters() -> list[float]:
    return []


def _other_names(a: list[str], b: list[str]) -> list[float]:
    return plain(a, b)


class Callable_:
    """An object that is called."""

    def __call__(self, hypotheses: list[str], references: list[str]) -> list[float]:
        return plain(hypotheses, references)


# A function of another shape: a name, what it is, and whether it is a metric.
SHAPES: dict[str, tuple[Any, bool]] = {
    "no parameters": (_no_parameters, False),
    "other names": (_other_names, False),
    "a builtin": (max, False),
    "a class": (Number, False),
    "a callable object": (Callable_(), True),
    "a method": (Callable_().__call__, True),
    "a lambda": (lambda hypotheses, references: plain(hypotheses, references), True),
    "a default": (lambda hypotheses, references, scale=1.0: plain(hypotheses, references), True),
    "keywords only": (lambda *, hypotheses, references: plain(hypotheses, references), True),
    "any keywords": (lambda hypotheses, references, **_: plain(hypotheses, references), True),
    "any arguments": (lambda *texts: plain(*texts), False),
    "hypotheses alone": (lambda hypotheses: [1.0 for _ in hypotheses], False),
}


def through_grid(function: Any) -> Any:
    """The numbers of a small grid."""
    small = {"grid.p.step": 30, "executor.chunk_texts": 1000}
    run = bmx.grid(FRAME, metric=function, explainer="erasure", evaluation=["grid"], settings=small)
    if run.n_failed:
        raise AssertionError(f"{run.n_failed} failed without an error")
    return run.settings[["baseline", "best", "n_used", "n_undefined"]].to_numpy(dtype=np.float64)


def through_load(function: Any) -> Any:
    """Scores of texts."""
    return bmx.load(function, None).score(TEXTS, references=REFERENCES)


WAYS = {"grid": through_grid, "load": through_load}
# `bmx.load` scores what it is given in one call, so that it cannot know.
OF_BATCHES = ("place in the batch", "size of the batch", "mean of the batch", "ranks in the batch")


@dataclass(frozen=True)
class Odd(DatasetReader):
    """A data set in memory; `way` says what is wrong with it."""

    name: str = "odd"
    way: str = "nothing"

    def load_segments(self, data_dir: Path, language_pair: str) -> Any:
        """The segments, or what is in their place."""
        texts = [(f"r {number} x", f"h {number} x") for number in range(8)]
        segments = tuple(
            Segment(str(number), hypothesis, reference=reference)
            for number, (reference, hypothesis) in enumerate(texts)
        )
        human = np.arange(8, dtype=np.float64) ** 2
        return READS[self.way](segments, human, language_pair)


def _set(segments: Any, human: Any, pair: Any = "de-en", name: Any = "odd") -> SegmentSet:
    return SegmentSet(name, pair, segments, Judgements({"da": human}))


READS: dict[str, Callable[[Any, Any, str], Any]] = {
    "nothing": lambda segments, human, pair: _set(segments, human, pair),
    "raises": lambda segments, human, pair: _raise(KeyError("boom")),
    "raises OSError": lambda segments, human, pair: Path("/nowhere/at/all").read_text(),
    "None": lambda segments, human, pair: None,
    "a list": lambda segments, human, pair: list(segments),
    "no segments": lambda segments, human, pair: _set((), human[:0], pair),
    "too few scores": lambda segments, human, pair: _set(segments, human[:-1], pair),
    "texts as scores": lambda segments, human, pair: _set(segments, [str(one) for one in human], pair),
    "all NaN": lambda segments, human, pair: _set(segments, human * np.nan, pair),
    "infinite": lambda segments, human, pair: _set(segments, human * np.inf, pair),
    "equal scores": lambda segments, human, pair: _set(segments, human * 0, pair),
    "whole numbers": lambda segments, human, pair: _set(segments, human.astype(int), pair),
    "a list of scores": lambda segments, human, pair: _set(segments, human.tolist(), pair),
    "a list of segments": lambda segments, human, pair: _set(list(segments), human, pair),
    "another pair": lambda segments, human, pair: _set(segments, human, "cs-en"),
    "another name": lambda segments, human, pair: _set(segments, human, pair, "../x"),
    "two alike": lambda segments, human, pair: _set((*segments[:-1], segments[0]), human, pair),
    "a text for an id": lambda segments, human, pair: _set(
        (*segments[:-1], Segment(5, "h", reference="r")), human, pair),
    "None for a text": lambda segments, human, pair: _set(
        (*segments[:-1], Segment("x", None, reference="r")), human, pair),
    "no reference": lambda segments, human, pair: _set((*segments[:-1], Segment("x", "h", "s")), human, pair),
    "half a character": lambda segments, human, pair: _set(
        (*segments[:-1], Segment("x", "\ud83d", reference="r")), human, pair),
    "an empty text": lambda segments, human, pair: _set((*segments[:-1], Segment("x", "", reference="")), human, pair),
    "one segment": lambda segments, human, pair: _set(segments[:1], human[:1], pair),
}  # fmt: skip
# These are refused; others may have a result.
REFUSED = (
    *(
        "raises",
        "raises OSError",
        "None",
        "a list",
        "no segments",
        "too few scores",
        "all NaN",
        "infinite",
        "two alike",
    ),
    *("None for a text", "half a character", "texts as scores"),
)


def through_reader(way: str, folder: Path) -> None:
    run = bmx.run(
        dataset={"odd": Odd(language_pairs=("de-en",), way=way)}, metric="chrf", explainer="erasure",
        evaluation=["grid"],
        grid={"p": {"step": 10}}, executor="sequential", tracking="none", analysis=False, quiet=True,
        output_dir=str(folder / "out"), cache_dir=str(folder / "cache"),
    )  # fmt: skip
    if run.n_failed:
        raise AssertionError("failed without an error")


def inputs(seed: int, count: int, folder: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """`count` of (what is tried, the work), the same for one seed."""
    clean: dict[str, Any] = {}
    for number in range(count):
        rng = random.Random(f"{seed}-{number}")
        way = rng.choice(list(WAYS))
        kind = rng.choice([*KINDS, "shape", "reader"])
        if kind == "reader":
            name = rng.choice(list(READS))
            own = folder / str(number)
            yield (
                f"a data set: {name}",
                lambda name=name, own=own: _answered(name in REFUSED, lambda: through_reader(name, own)),
            )
            continue
        if kind == "shape":
            name = rng.choice(list(SHAPES))
            function, is_metric = SHAPES[name]
        else:
            name = rng.choice(list(KINDS[kind]))
            function, is_metric = KINDS[kind][name], kind == "harmless"

        def work(
            kind: str = kind, name: str = name, way: str = way, function: Any = function, ok: bool = is_metric
        ) -> str:
            with _kept():
                if way not in clean:
                    clean[way] = WAYS[way](plain)
                must_fail = kind in ("wrong", "raised") or (kind == "shape" and not ok)
                if way == "load" and name in OF_BATCHES:
                    must_fail = False
                found: list[Any] = []
                said = _answered(must_fail, lambda: found.append(WAYS[way](function)))
                if ok and said:
                    raise AssertionError(f"harmless, but refused: {said}")
                if ok and not np.allclose(found[0], clean[way], equal_nan=True):
                    raise AssertionError(f"other numbers: {found[0]}, not {clean[way]}")
                # Our own errors say themselves what is wrong.
                if kind == "raised" and name != "an error of ours" and "own_parts.py, line" not in said:
                    raise AssertionError(f"no line of the user's: {said}")
                return said

        yield f"{way}, {kind}: {name}", work


def _answered(must_fail: bool, work: Callable[[], object]) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work()
    except bmx.BmxError as error:
        return str(error)
    if must_fail:
        raise AssertionError("accepted, which must be refused")
    return ""


@contextlib.contextmanager
def _kept() -> Iterator[None]:
    """What functions change in this process, put back."""
    environment, folder, limit = dict(os.environ), Path.cwd(), sys.getrecursionlimit()
    errors, out, prec = np.geterr(), sys.stdout, decimal.getcontext().prec
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    sys.stdout = io.StringIO()
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        sys.stdout = out
        os.environ.clear()
        os.environ |= environment
        os.chdir(folder)
        sys.setrecursionlimit(limit)
        np.seterr(**errors)
        decimal.getcontext().prec = prec
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
