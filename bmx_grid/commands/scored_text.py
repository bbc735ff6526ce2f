"""What `score` prints: segments or whole systems, as values for JSON, and as text made from them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid.attribution.boosted import BoostedMetric
from bmx_grid.attribution.explain import Explanation
from bmx_grid.attribution.scored import Scored
from bmx_grid.attribution.scorer import Scorer
from bmx_grid.core.errors import DataError
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import P_VALUE, number, p_in_words, visible, with_interval
from bmx_grid.evaluations.base import BASE, OF_PAIR, columns_of
from bmx_grid.evaluations.level_rows import ThresholdRow
from bmx_grid.evaluations.stored_tables import checked_frame, read_arrow
from bmx_grid.measures.multiple_tests import holm
from bmx_grid.measures.paired_tests import compare_sums
from bmx_grid.measures.resampling import Combine
from bmx_grid.measures.systems import by_mean, expit, mean, system_score
from bmx_grid.metrics.base import Metric
from bmx_grid.sweep.folder import table_path
from bmx_grid.words.perturbation import Item
from bmx_grid.words.segmentation import split_words

RESAMPLES = 1000
LEVEL = 0.05
ScoredValues = dict[str, Any]


def scale_of(metric: Metric) -> int:
    """What printed scores are multiplied by: 100 for those of sacreBLEU."""
    while isinstance(metric, BoostedMetric):
        metric = metric.metric
    return metric.SCALE


def segments(scorer: Scorer, scored: Scored, *, words: bool) -> ScoredValues:
    """The scores of the segments of one system, and their mean."""
    scale = scale_of(scorer.metric)
    scores = (scale * scored.scores).tolist()
    base_scores = (scale * scored.base).tolist()
    rows = []
    for score, base in zip(scores, base_scores, strict=True):
        rows.append({"score": score, "base": base})
    values: ScoredValues = {"signature": scorer.signature, "scale": scale}
    if words:
        if scorer.explanation_signature:
            values["explainer"] = scorer.explanation_signature
        for row, explanation in zip(rows, scored.explanations, strict=True):
            row["words"] = _explained_words(explanation, scale)
    values["mean"] = scale * float(scored.scores.mean())
    if scorer.recipe is not None:
        values["unboosted"] = [row + 1 for row in scored.unboosted]
    values["scores"] = rows
    return values


def _explained_words(explanation: Explanation, scale: int) -> ScoredValues:
    """Role -> its words, each with its attribution on the scale of the scores."""
    sides: ScoredValues = {}
    for role, text in explanation.item.texts().items():
        attributions = (scale * explanation.attributions[role]).tolist()
        pairs = zip(split_words(text), attributions, strict=True)
        sides[role] = [{"word": word, "attribution": value} for word, value in pairs]
    return sides


def human_agreement(path: Path, metric: str, system_score: str, gap: float) -> list[ScoredValues]:
    """How often people agree with a difference of two systems' scores, for each judgement of a sweep's thresholds.

    path: thresholds.parquet, or the folder of the sweep. The logistic curve of `level_rows.ThresholdRow`, with
    the ends of its interval. Raises DataError for a table without this metric and kind of system score.
    """
    file = table_path(path, "thresholds") if path.is_dir() else path
    table = read_arrow(file)
    if not set(columns_of(ThresholdRow)) <= set(table.column_names):
        raise DataError(f"{path}: no table of thresholds; name the folder of a sweep with evaluation=[levels].")
    rows = checked_frame(table, ThresholdRow, str(file))
    rows = rows[(rows["metric"] == metric) & (rows["point"] == BASE) & (rows["system_score"] == system_score)]
    if rows.empty:
        way_out = f"metric=[{metric}] evaluation=[levels] evaluation.levels.system_score={system_score}"
        raise DataError(f"{path}: no thresholds of {metric} with such system scores; run a sweep with {way_out}.")
    people = []
    for judgement, curve in rows.groupby([*OF_PAIR, "human_name"], sort=False):
        row: Any = next(curve.nsmallest(1, "probability").itertuples())
        known = np.array([row.probability, row.probability_low, row.probability_high])
        # The log-odds of agreement grow in proportion to the difference: one point of the curve gives all others.
        log_odds = np.log(known / (1 - known)) * abs(gap) / row.difference
        agree, low, high = expit(log_odds).tolist()
        people.append({"judged": " ".join(map(str, judgement)), "agree": agree, "low": low, "high": high})
    return people


def system_kind(scorer: Scorer) -> str:
    """What a system's score is: made of summed statistics, "corpus", or the "mean" of its segments."""
    return "corpus" if scorer.has_statistics else "mean"


def systems(
    scorer: Scorer,
    scores: Mapping[str, Floats],
    texts: Mapping[str, list[Item]],
    seed: int,
    *,
    with_segments: bool,
    thresholds: tuple[Path, str] | None = None,
) -> ScoredValues:
    """The scores of systems with intervals, and paired tests of every two; texts, scores: by system.

    thresholds: a table of `human_agreement`, and the name of the metric there.
    """
    metric = scorer.metric
    kind = system_kind(scorer)
    scale = scale_of(metric)
    combine: Combine
    if kind == "corpus":
        combine = metric.combine
        terms = {name: metric.statistics(items) for name, items in texts.items()}
    else:
        combine = mean
        terms = {name: by_mean(system_scores) for name, system_scores in scores.items()}
    # Segments with the same source or reference are drawn and swapped together.
    first_system = next(iter(texts.values()))
    labels = np.array([repr(item.source or item.reference) for item in first_system])
    draws: dict[str, Any] = {"resamples": RESAMPLES, "seed": seed}
    rows_of_systems = {}
    for name, sums in terms.items():
        score, low, high = system_score(sums, combine, labels, **draws)
        rows_of_systems[name] = {"score": scale * score, "low": scale * low, "high": scale * high}
    pairs = list(itertools.combinations(terms, 2))
    tests = [compare_sums(terms[left], terms[right], combine, labels, **draws) for left, right in pairs]
    adjusted = holm([test.p for test in tests])
    compared = []
    for (left, right), test, p in zip(pairs, tests, adjusted, strict=True):
        row: ScoredValues = {"system": left, "against": right, "p": test.p, "p_holm": float(p)}
        for estimate in ("difference", "low", "high"):
            row[estimate] = scale * getattr(test, estimate)
        if thresholds is not None:
            # Thresholds are on the scale of the table, not of what is printed.
            row["people"] = human_agreement(*thresholds, kind, test.difference)
        compared.append(row)
    values: ScoredValues = {
        "signature": scorer.signature,
        "scale": scale,
        "system_score": kind,
        "higher_is_better": metric.higher_is_better,
        "clusters": len(np.unique(labels)),
        "systems": rows_of_systems,
        "tests": compared,
    }
    if with_segments:
        values["scores"] = {name: (scale * system_scores).tolist() for name, system_scores in scores.items()}
    return values


def as_json(values: ScoredValues) -> str:
    """All digits, null for what is undefined."""
    # json writes NaN and infinity as names that JSON has not; when it reads them again, they become null.
    defined = json.loads(json.dumps(values), parse_constant=lambda _: None)
    return json.dumps(defined, ensure_ascii=False, indent=1)


def scored_lines(values: ScoredValues) -> str:
    """Lines to read; the scores of the metric alone are another column where they differ."""
    head = [f"{key}: {values[key]}" for key in ("signature", "explainer") if key in values]
    rows = _lines_of_systems(values) if "systems" in values else _lines_of_segments(values)
    return "\n".join([*head, "", *rows])


def _lines_of_segments(values: ScoredValues) -> Iterator[str]:
    digits = _digits(values)
    rows = values["scores"]
    columns = ["score"]
    if any(row["score"] != row["base"] for row in rows):
        columns.append("base")
    names = _cells(f"{name:>8}" for name in columns)
    yield f"     #  {names}"
    base = float(np.mean([row["base"] for row in rows]))
    mean_row = {"score": values["mean"], "base": base}
    for head, row in [*enumerate(rows, start=1), ("mean", mean_row)]:
        scores = _cells(f"{row[name]:8.{digits}f}" for name in columns)
        yield f"{head:>6}  {scores}"
        for role, words in row.get("words", {}).items():
            shown = _cells(f"{visible(word['word'])} {word['attribution']:+.{digits - 2}f}" for word in words)
            yield f"        {role}: {shown}"


def _cells(cells: Iterable[str]) -> str:
    return "  ".join(cells)


def _digits(values: ScoredValues) -> int:
    """Behind the point of a score."""
    return 4 if values["scale"] > 1 else 6


def _lines_of_systems(values: ScoredValues) -> Iterator[str]:
    digits = _digits(values)
    form = f".{digits}f"
    scores: dict[str, Sequence[float]] = values.get("scores", {})
    if scores:
        names = _cells(map(visible, scores))
        yield f"     #  {names}"
        for number_of_line, row in enumerate(zip(*scores.values(), strict=True), start=1):
            cells = _cells(f"{score:8{form}}" for score in row)
            yield f"{number_of_line:>6}  {cells}"
        yield ""
    width = max(map(len, ["system", *map(visible, values["systems"])]))
    kind = "corpus score" if values["system_score"] == "corpus" else "mean of segments"
    direction = "" if values["higher_is_better"] else "; lower is better"
    yield f"{'system':<{width}}  {kind}, 95 % interval{direction}"
    for name, row_of_system in values["systems"].items():
        yield f"{visible(name):<{width}}  {_estimate(row_of_system, 'score', form)}"
    for test in values["tests"]:
        yield _test_line(test, f"+{form}")
        for people in test.get("people", ()):
            share = _estimate(people, "agree", ".0%")
            yield f"  people agree with a difference of this size: {share} ({visible(people['judged'])})"


def _test_line(test: ScoredValues, form: str) -> str:
    pair = f"{visible(test['system'])} minus {visible(test['against'])}"
    p = f"{p_in_words(test['p'])}, for all pairs {number(test['p_holm'], P_VALUE)}"
    end = "" if test["p_holm"] < LEVEL else ", not significant"
    return f"{pair}: {_estimate(test, 'difference', form)}, {p}{end}"


def _estimate(row: ScoredValues, name: str, form: str) -> str:
    """A number of a row with its interval."""
    return with_interval(row[name], row["low"], row["high"], form)
