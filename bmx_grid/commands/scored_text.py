"""What `score` prints: segments or whole systems, as values for JSON, and as text made from them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.attribution.boosted import BoostedMetric
from bmx_grid.attribution.scorer import Scored, Scorer
from bmx_grid.core.errors import DataError
from bmx_grid.core.wording import P_VALUE, number, p_in_words, visible, with_interval
from bmx_grid.evaluations.base import BASE, columns_of
from bmx_grid.evaluations.level_rows import ThresholdRow
from bmx_grid.evaluations.stored_tables import read_arrow, rows_of
from bmx_grid.measures.paired_tests import compare_sums, holm
from bmx_grid.measures.systems import by_mean, expit, mean, system_score
from bmx_grid.metrics.base import Metric
from bmx_grid.sweep.output import table_path
from bmx_grid.words.perturbation import Item, split_words

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
    both = zip((scale * scored.scores).tolist(), (scale * scored.base).tolist(), strict=True)
    rows: list[ScoredValues] = [{"score": score, "base": base} for score, base in both]
    for row, explanation in zip(rows, scored.explanations, strict=True) if words else ():
        row["words"] = {}
        for role, text in explanation.item.texts().items():
            attributions = (scale * explanation.attributions[role]).tolist()
            of_words = zip(split_words(text), attributions, strict=True)
            row["words"][role] = [{"word": word, "attribution": value} for word, value in of_words]
    values: ScoredValues = {"signature": scorer.signature, "scale": scale}
    values |= {"explainer": scorer.explanation_signature} if words and scorer.explanation_signature else {}
    values |= {"mean": scale * float(scored.scores.mean())}
    values |= {"unboosted": [row + 1 for row in scored.unboosted]} if scorer.recipe is not None else {}
    return {**values, "scores": rows}


def human_agreement(path: Path, metric: str, system_score: str, gap: float) -> list[ScoredValues]:
    """How often people agree with a difference of two systems' scores, for each judgement of a sweep's thresholds.

    path: thresholds.parquet, or the folder of the sweep. The logistic curve of `level_rows.ThresholdRow`, with
    the ends of its interval. Raises DataError for a table without this metric and kind of system score.
    """
    file = table_path(path, "thresholds") if path.is_dir() else path
    table = read_arrow(file)
    if not {*columns_of(ThresholdRow)} <= {*table.column_names}:
        raise DataError(f"{path}: no table of thresholds; name the folder of a sweep with evaluation=[levels].")
    by_judgement: dict[tuple[str, str, str], list[ThresholdRow]] = {}
    for row in rows_of(table, ThresholdRow, str(file)):
        if (row.metric, row.point, row.system_score) == (metric, BASE, system_score):
            by_judgement.setdefault((row.dataset, row.language_pair, row.human_name), []).append(row)
    if not by_judgement:
        way_out = f"metric=[{metric}] evaluation=[levels] evaluation.levels.system_score={system_score}"
        raise DataError(f"{path}: no thresholds of {metric} with such system scores; run a sweep with {way_out}.")
    people = []
    for names, curve in by_judgement.items():
        row = min(curve, key=lambda row: row.probability)
        known = np.array([row.probability, row.probability_low, row.probability_high])
        shares = expit(np.log(known / (1 - known)) * abs(gap) / row.difference.value).tolist()
        judged = " ".join(names)
        people.append({"judged": judged, **dict(zip(("agree", "low", "high"), shares, strict=True))})
    return people


def system_kind(scorer: Scorer) -> str:
    """What a system's score is: made of summed statistics, "corpus", or the "mean" of its segments."""
    return "corpus" if scorer.has_statistics else "mean"


def systems(
    scorer: Scorer,
    scores: Mapping[str, NDArray[np.float64]],
    texts: Mapping[str, list[Item]],
    seed: int,
    *,
    with_segments: bool,
    thresholds: tuple[Path, str] | None = None,
) -> ScoredValues:
    """The scores of systems with intervals, and paired tests of every two; texts, scores: by system.

    thresholds: a table of `agreement`, and the name of the metric there.
    """
    metric = scorer.metric
    corpus = system_kind(scorer) == "corpus"
    scale = scale_of(metric)
    combine = metric.combine if corpus else mean
    terms = {name: by_mean(of_system) for name, of_system in scores.items()}
    if corpus:
        terms = {name: metric.statistics(items) for name, items in texts.items()}
    # Segments with the same source or reference are drawn and swapped together.
    labels = np.array([repr(item.source or item.reference) for item in next(iter(texts.values()))])
    drawn: dict[str, Any] = {"resamples": RESAMPLES, "seed": seed}
    intervals = {name: system_score(sums, combine, labels, **drawn) for name, sums in terms.items()}
    pairs = list(itertools.combinations(terms, 2))
    tests = [compare_sums(terms[left], terms[right], combine, labels, **drawn) for left, right in pairs]
    adjusted = holm([test.p for test in tests])
    compared = []
    for (left, right), test, p in zip(pairs, tests, adjusted, strict=True):
        names = {"system": left, "against": right, "p": test.p, "p_holm": float(p)}
        estimates = {name: scale * getattr(test, name) for name in ("difference", "low", "high")}
        compared.append(names | estimates)
    values: ScoredValues = {
        "signature": scorer.signature,
        "scale": scale,
        "system_score": system_kind(scorer),
        "higher_is_better": metric.higher_is_better,
        "clusters": len(np.unique(labels)),
        "systems": {
            name: {"score": scale * score, "low": scale * low, "high": scale * high}
            for name, (score, low, high) in intervals.items()
        },
        "tests": compared,
    }
    if thresholds is not None:
        for row, test in zip(values["tests"], tests, strict=True):
            row["people"] = human_agreement(*thresholds, values["system_score"], test.difference)
    if with_segments:
        values["scores"] = {name: (scale * of_system).tolist() for name, of_system in scores.items()}
    return values


def as_json(values: ScoredValues) -> str:
    """All digits, null for what is undefined."""
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
    columns = ["score", "base"] if any(row["score"] != row["base"] for row in rows) else ["score"]
    base = float(np.mean([row["base"] for row in rows]))
    yield "     #  " + "  ".join(f"{name:>8}" for name in columns)
    for head, row in [*enumerate(rows, start=1), ("mean", {"score": values["mean"], "base": base})]:
        yield f"{head:>6}  " + "  ".join(f"{row[name]:8.{digits}f}" for name in columns)
        for role, words in row.get("words", {}).items():
            shown = (f"{visible(word['word'])} {word['attribution']:+.{digits - 2}f}" for word in words)
            yield f"        {role}: {'  '.join(shown)}"


def _digits(values: ScoredValues) -> int:
    """Behind the point of a score."""
    return 4 if values["scale"] > 1 else 6


def _lines_of_systems(values: ScoredValues) -> Iterator[str]:
    form = f".{_digits(values)}f"
    signed = f"+.{_digits(values)}f"
    scores: dict[str, Sequence[float]] = values.get("scores", {})
    if scores:
        yield "     #  " + "  ".join(map(visible, scores))
        for place, row in enumerate(zip(*scores.values(), strict=True), start=1):
            yield f"{place:>6}  " + "  ".join(f"{score:8{form}}" for score in row)
        yield ""
    wide = max(map(len, ["system", *map(visible, values["systems"])]))
    kind = "corpus score" if values["system_score"] == "corpus" else "mean of segments"
    yield f"{'system':<{wide}}  {kind}, 95 % interval{'' if values['higher_is_better'] else '; lower is better'}"
    for name, score in values["systems"].items():
        yield f"{visible(name):<{wide}}  {with_interval(score['score'], score['low'], score['high'], form)}"
    for test in values["tests"]:
        difference = with_interval(test["difference"], test["low"], test["high"], signed)
        p = f"{p_in_words(test['p'])}, for all pairs {number(test['p_holm'], P_VALUE)}"
        end = "" if test["p_holm"] < LEVEL else ", not established"
        yield f"{visible(test['system'])} minus {visible(test['against'])}: {difference}, {p}{end}"
        for people in test.get("people", ()):
            share = with_interval(people["agree"], people["low"], people["high"], ".0%")
            yield f"  people agree with a difference of this size: {share} ({visible(people['judged'])})"
