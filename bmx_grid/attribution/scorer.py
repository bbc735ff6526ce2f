"""A boosted metric ready for texts: what `bmx_grid.load` returns and `python -m bmx_grid score` runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.attribution.boosted import BoostedMetric
from bmx_grid.attribution.engine import score_pairs
from bmx_grid.attribution.explain import Explanation
from bmx_grid.configure import build, convert, load_option
from bmx_grid.errors import BmxError, ConfigError, DataError, ExplainError, unknown
from bmx_grid.metrics.base import Metric, Pair, Reads

PARTS = ("metric", "explainer", "aggregation")  # settings that may be the name of an option
TEXTS_AT_ONCE = 5_000  # enough to fill batches, few enough for the progress display to move


@dataclass(frozen=True, eq=False)
class Scored:
    """N scored segments: float64[N] scores and base scores, and the explanations between them.

    Without an explainer the scores are the base scores, and there are no explanations.
    """

    scores: NDArray[np.float64]
    base: NDArray[np.float64]
    explanations: Sequence[Explanation]


@dataclass(frozen=True)
class Scorer:
    """Scores texts with a metric, boosted or not. Build it with `bmx_grid.load`."""

    metric: Metric

    @property
    def reads(self) -> Reads:
        """Which ground truth `score` wants: "source" or "reference"."""
        return self.metric.reads

    @property
    def signature(self) -> str:
        """The settings behind a score, in one line that travels with every number."""
        return self.metric.signature

    def score(self, ground_truths: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float64]:
        """float64[N] scores of N hypotheses against their sources or references (see `reads`), higher is better.

        A segment without words keeps the score of the metric. Raises DataError when the two differ in length and
        ExplainError for a segment that the explainer cannot explain.
        """
        return self.explain(ground_truths, hypotheses).scores

    def count_texts(self, ground_truths: Sequence[str], hypotheses: Sequence[str]) -> int:
        """How many texts `score` asks the metric for, at most. Raises as `score` does, and scores nothing."""
        return sum(self._sizes(_pairs(self.reads, ground_truths, hypotheses)).values())

    def explain(
        self, ground_truths: Sequence[str], hypotheses: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> Scored:
        """`score`, with base scores and attributions; `progress` is told the number of texts of each finished part."""
        pairs = _pairs(self.reads, ground_truths, hypotheses)
        sizes = self._sizes(pairs)
        scores: dict[Pair, float] = {}
        found: dict[Pair, Explanation] = {}
        for part, values, explanations in self._parts(list(sizes)):
            scores.update(zip(part, values.tolist(), strict=True))
            found.update(zip(part, explanations, strict=bool(explanations)))
            if progress is not None:
                progress(sum(sizes[pair] for pair in part))
        boosted = np.array([scores[pair] for pair in pairs], dtype=np.float64)
        explained = [found[pair] for pair in pairs] if found else []
        base = np.array([one.base_score for one in explained]) if explained else boosted
        return Scored(boosted, base, explained)

    def _sizes(self, pairs: Sequence[Pair]) -> dict[Pair, int]:
        """The distinct pairs, and how many texts each takes."""
        sizes: dict[Pair, int] = {}
        for number, pair in enumerate(pairs, start=1):
            if pair not in sizes:
                try:
                    sizes[pair] = self.metric.count_texts(pair)
                except ExplainError as error:
                    raise ExplainError(f"segment {number}: {error}") from error
        return sizes

    def _parts(self, pairs: list[Pair]) -> Iterator[tuple[list[Pair], NDArray[np.float64], list[Explanation]]]:
        at_once = self.metric.texts_at_once(TEXTS_AT_ONCE)
        if isinstance(self.metric, BoostedMetric):
            for explanations in self.metric.explain(pairs, at_once):
                part = [(one.ground_truth_text, one.hypothesis_text) for one in explanations]
                yield part, self.metric.boost(explanations), explanations
            return
        for start in range(0, len(pairs), at_once):
            part = pairs[start : start + at_once]
            values = score_pairs(self.metric, part)
            if not np.isfinite(values).all():
                raise BmxError(f"{self.signature}: a score is not finite.")
            yield part, values, []


def make_scorer(
    metric: str | Mapping[str, Any],
    explainer: str | Mapping[str, Any] | None,
    p: float | None,
    w: float | None,
    settings: Mapping[str, Any],
) -> Scorer:
    """A scorer from names of options (see `bmx_grid.load`).

    Raises ConfigError for names, keys and values that cannot be used, UnavailableError for a metric or an explainer
    that cannot be had here.
    """
    seed = convert(settings.get("seed", 0), int, "seed")
    node: dict[str, Any] = {"metric": metric}
    if explainer is not None:
        point = _point(explainer, p, w)
        node |= {"explainer": explainer, "aggregation": "power_mean", "seed": seed, **point}
    elif p is not None or w is not None:
        raise ConfigError("p and w belong to an explainer, and there is none: name one, or leave them out.")
    for key, value in settings.items():
        if key != "seed":
            _set(node, key, value, seed)
    if explainer is None:
        made = convert(node.pop("metric"), Metric, "metric", seed)
        if node:
            raise ConfigError(f"'{next(iter(node))}' belongs to an explainer, and there is none: leave it out.")
    else:
        made = build({"_target_": f"{BoostedMetric.__module__}.BoostedMetric", **node}, BoostedMetric, "scorer")
    made.check()
    return Scorer(made)


def _point(explainer: str | Mapping[str, Any], p: float | None, w: float | None) -> dict[str, float]:
    """p and w as given, else the paper's medians of the explainer."""
    medians: Mapping[str, float] = {}
    if isinstance(explainer, str):
        load_option("explainer", explainer)  # a name that does not exist is answered with those that do
        medians = load_option("grid", "paper")["fixed"].get(explainer, {})
    point = {"p": p if p is not None else medians.get("p"), "w": w if w is not None else medians.get("w")}
    missing = [name for name, value in point.items() if value is None]
    if missing:
        raise ConfigError(f"the paper has no p and w for the explainer {explainer!r}: give {' and '.join(missing)}.")
    return {name: value for name, value in point.items() if value is not None}


def _set(node: dict[str, Any], key: str, value: Any, seed: int) -> None:
    """Set a dotted key, opening parts that are given by name. Raises ConfigError for a key that leads nowhere."""
    *parents, last = key.split(".")
    for parent in parents:
        below = node.get(parent)
        if isinstance(below, str) and parent in PARTS:
            below = load_option(parent, below, seed)
        if not isinstance(below, Mapping):
            known = [name for name, held in node.items() if name in PARTS or isinstance(held, Mapping)]
            raise ConfigError(f"{key}: {unknown('part', parent, known)}")
        node[parent] = node = dict(below)
    node[last] = value


def _pairs(reads: Reads, ground_truths: Sequence[str], hypotheses: Sequence[str]) -> list[Pair]:
    for name, texts in ((f"{reads}s", ground_truths), ("hypotheses", hypotheses)):
        if isinstance(texts, str):
            raise DataError(f"{name}: expected a list of texts, got the text {texts!r}.")
        wrong = [(row, one) for row, one in enumerate(texts, start=1) if not isinstance(one, str)]
        if wrong:
            raise DataError(f"{name}: segment {wrong[0][0]} is {wrong[0][1]!r}, not a text (it may be empty).")
    if len(ground_truths) != len(hypotheses):
        raise DataError(
            f"{len(ground_truths)} {reads}s but {len(hypotheses)} hypotheses; every hypothesis needs its {reads}."
        )
    return list(zip(ground_truths, hypotheses, strict=True))
