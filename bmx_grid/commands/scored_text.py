"""What `score` prints: segments or whole systems, as values for JSON, and as text made from them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid.analysis.base import Column, Table
from bmx_grid.attribution.boosted import BoostedMetric
from bmx_grid.attribution.explain import Explanation
from bmx_grid.attribution.scored import Scored
from bmx_grid.attribution.scorer import Scorer
from bmx_grid.core.errors import DataError
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import P_VALUE, leads_in_words, number, pluralize
from bmx_grid.evaluations.base import BASE, OF_PAIR, columns_of
from bmx_grid.evaluations.level_rows import ThresholdRow
from bmx_grid.evaluations.stored_tables import checked_frame, read_arrow
from bmx_grid.measures.multiple_tests import holm
from bmx_grid.measures.paired_tests import compare_sums
from bmx_grid.measures.resampling import Combine
from bmx_grid.measures.systems import expit, mean, mean_terms, system_score
from bmx_grid.metrics.base import Metric
from bmx_grid.report.table import WIDTH, tables_as_text, wrap_text
from bmx_grid.sweep.folder import table_path
from bmx_grid.words.perturbation import Item
from bmx_grid.words.segmentation import split_words

RESAMPLES = 1000
LEVEL = 0.05
LONGEST_LINE = 1_000_000  # characters; output without a terminal is not wrapped
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
    """Pair the words of each role with their attributions, on the scale of the scores."""
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
    """How a system's score is computed: "corpus" from summed statistics, or "mean" of segments."""
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
    """Compute scores of systems with intervals, and paired tests of every two. texts, scores: by system.

    thresholds: a table of `human_agreement`, and the name of the metric in this table.
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
        terms = {name: mean_terms(system_scores) for name, system_scores in scores.items()}
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
            # Thresholds are on the scale of the table, not on the printed one.
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
    """Write JSON with all digits, and null for undefined values."""
    # json writes NaN and infinity as names that JSON has not; when it reads them again, they become null.
    defined = json.loads(json.dumps(values), parse_constant=lambda _: None)
    return json.dumps(defined, ensure_ascii=False, indent=1)


def scored_text(values: ScoredValues, width: int | None) -> str:
    """The conclusion, the tables, the words of segments, and last the signature; width: as in `as_text`."""
    if "systems" in values:
        tables = list(_tables_of_systems(values))
        conclusion = _best_system(values)
    else:
        tables = [_table_of_segments(values)]
        conclusion = _mean_of_segments(values)
    parts = [wrap_text(conclusion, width or WIDTH), tables_as_text(tables, width).rstrip()]
    words = [wrap_text(line, width or LONGEST_LINE, "    ") for line in _lines_of_words(values)]
    # Users copy signatures, so their lines are not wrapped.
    signatures = [f"{key}: {values[key]}" for key in ("signature", "explainer") if key in values]
    return "\n\n".join(filter(None, [*parts, "\n".join(words), "\n".join(signatures)]))


def _mean_of_segments(values: ScoredValues) -> str:
    form = _form(values)
    rows = values["scores"]
    sentence = f"The mean score of {pluralize(len(rows), 'segment')} is {number(values['mean'], form)}"
    if _has_other_base(rows):
        base = float(np.mean([row["base"] for row in rows]))
        sentence += f", of the metric alone {number(base, form)}"
    return f"{sentence}."


def _has_other_base(rows: Sequence[ScoredValues]) -> bool:
    """Whether a boosted score differs from the unboosted one."""
    return any(row["score"] != row["base"] for row in rows)


def _table_of_segments(values: ScoredValues) -> Table:
    """One row per segment; unboosted scores are a further column if they differ."""
    form = _form(values)
    rows = [{"#": str(place), **row} for place, row in enumerate(values["scores"], start=1)]
    columns = [Column("#"), Column("score", form=form)]
    if _has_other_base(rows):
        columns.append(Column("base", form=form))
    return Table.from_rows("segments", "Scores of segments", rows, columns)


def _lines_of_words(values: ScoredValues) -> Iterator[str]:
    """A line per segment and side, with the attribution of each word."""
    if "systems" in values:
        return
    form = f"+.{_digits(values) - 2}f"
    for place, row in enumerate(values["scores"], start=1):
        for role, words in row.get("words", {}).items():
            shown = [f"{word['word']} {format(word['attribution'], form)}" for word in words]
            yield f"{place}  {role}: {'  '.join(shown)}"


def _digits(values: ScoredValues) -> int:
    """The number of decimals of scores."""
    return 4 if values["scale"] > 1 else 6


def _form(values: ScoredValues) -> str:
    """The format specification of scores."""
    return f".{_digits(values)}f"


def _best_first(values: ScoredValues) -> list[tuple[str, ScoredValues]]:
    """The systems with their scores."""
    sign = -1 if values["higher_is_better"] else 1
    return sorted(values["systems"].items(), key=lambda system: sign * system[1]["score"])


def _better_first(values: ScoredValues) -> list[ScoredValues]:
    """The tests of systems, turned so that the better one is in front."""
    rows = []
    for test in values["tests"]:
        row = {**test, "is_marked": test["p_holm"] < LEVEL}
        if (test["difference"] < 0) is values["higher_is_better"] and test["difference"] != 0:
            row |= {"system": test["against"], "against": test["system"], "difference": -test["difference"]}
            row |= {"low": -test["high"], "high": -test["low"]}
        for place, people in enumerate(test.get("people", ())):
            row |= {f"{name}_{place}": people[name] for name in ("agree", "low", "high")}
        rows.append(row)
    return rows


def _best_system(values: ScoredValues) -> str:
    """Which system is best, and over which ones its lead is significant."""
    (name, row), *others = _best_first(values)
    score = number(row["score"], _form(values))
    if not others:
        return f"{name} scores {score}."
    leads = [test for test in _better_first(values) if test["system"] == name]
    in_words = leads_in_words({test["against"]: test["is_marked"] for test in leads})
    return " ".join(filter(None, [f"{name} scores best ({score}).", in_words]))


def _tables_of_systems(values: ScoredValues) -> Iterator[Table]:
    """Tables of the systems (best first), their pairs and, on request, their segments."""
    form = _form(values)
    kind = "Corpus scores" if values["system_score"] == "corpus" else "Mean scores of segments"
    direction = "" if values["higher_is_better"] else "; lower is better"
    rows = [{"system": name, **row} for name, row in _best_first(values)]
    columns = [Column("system"), Column("score", "score [95 % CI]", form, ("low", "high"))]
    yield Table.from_rows("systems", f"{kind} of systems{direction}", rows, columns)
    tests = _better_first(values)
    if tests:
        columns = [
            Column("system"),
            Column("against"),
            Column("difference", "difference [95 % CI]", f"+{form}", ("low", "high")),
            Column("p", form=P_VALUE),
            Column("p_holm", "p (Holm)", P_VALUE, marked="is_marked"),
        ]
        for place, people in enumerate(values["tests"][0].get("people", ())):
            header = f"people agree, {people['judged']}"
            columns.append(Column(f"agree_{place}", header, ".0%", (f"low_{place}", f"high_{place}")))
        notes = [
            f"p: by swapping segments between the systems; p (Holm): corrected for all pairs. \u2020: below {LEVEL}."
        ]
        if len(columns) > 5:
            notes.append("people agree: how often they do with a difference of this size.")
        yield Table.from_rows(
            "tests", "Differences between systems, the better one minus the other", tests, columns, notes, names=2
        )
    scores: dict[str, Sequence[float]] = values.get("scores", {})
    if scores:
        rows = []
        for place, row in enumerate(zip(*scores.values(), strict=True), start=1):
            rows.append({"#": str(place), **dict(zip(scores, row, strict=True))})
        columns = [Column("#"), *(Column(name, form=form) for name in scores)]
        yield Table.from_rows("segments", "Scores of segments", rows, columns)
