"""What `score` prints: segments or whole systems, as JSON, and as text or TSV made from the same values."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bmx_grid.attribution.boosted import BoostedMetric
from bmx_grid.attribution.explain import Explanation
from bmx_grid.attribution.scorer import Scored, Scorer
from bmx_grid.measures.multiplicity import holm
from bmx_grid.measures.significance import compare_sums
from bmx_grid.measures.systems import by_mean, mean, system_score
from bmx_grid.metrics.base import Metric
from bmx_grid.wording import number, visible
from bmx_grid.words.perturbation import Item
from bmx_grid.words.text import split_words

RESAMPLES = 1000
SCORE, TEST = ("score", "low", "high"), ("difference", "low", "high", "p")  # what JSON has of a system, and of two
LEVEL = 0.05
Values = dict[str, Any]


def scale_of(metric: Metric) -> int:
    """What printed scores are multiplied by: 100 for those of sacreBLEU."""
    while isinstance(metric, BoostedMetric):
        metric = metric.metric
    return metric.SCALE


def segments(scorer: Scorer, scored: Scored, *, words: bool) -> Values:
    """The scores of the segments of one system, and their mean."""
    scale = scale_of(scorer.metric)
    rows: list[Values] = [
        {"score": score, "base": base}
        for score, base in zip((scale * scored.scores).tolist(), (scale * scored.base).tolist(), strict=True)
    ]
    for row, explanation in zip(rows, scored.explanations, strict=True) if words else ():
        row["words"] = _words(explanation, scale)
    found: Values = {"signature": scorer.signature, "scale": scale}
    found |= {"explainer": scorer.explanation_signature} if words and scorer.explanation_signature else {}
    found |= {"mean": scale * float(scored.scores.mean())}
    found |= {"unboosted": [row + 1 for row in scored.unboosted]} if scorer.recipe is not None else {}
    return {**found, "scores": rows}


def _words(explanation: Explanation, scale: int) -> Values:
    """role -> words with their attributions, in order."""
    return {
        role: [
            {"word": word, "attribution": scale * value}
            for word, value in zip(split_words(text), explanation.attributions[role].tolist(), strict=True)
        ]
        for role, text in explanation.item.texts().items()
    }


def systems(
    scorer: Scorer, scored: Mapping[str, Scored], texts: Mapping[str, list[Item]], seed: int, *, with_segments: bool
) -> Values:
    """The scores of systems with intervals, and paired tests of every two; texts: by system its items."""
    metric = scorer.metric
    corpus, scale = not scorer.boosts and metric.has_statistics, scale_of(metric)
    of = {name: metric.statistics(items) if corpus else by_mean(scored[name].scores) for name, items in texts.items()}
    combine = metric.combine if corpus else mean
    # Segments with the same source or reference are drawn and swapped together.
    labels = np.array([repr(item.source or item.reference) for item in next(iter(texts.values()))])
    how: dict[str, Any] = {"resamples": RESAMPLES, "seed": seed}
    pairs = list(itertools.combinations(of, 2))
    tests = [compare_sums(of[one], of[other], combine, labels, **how) for one, other in pairs]
    adjusted = holm([test.p for test in tests])
    found: Values = {
        "signature": scorer.signature,
        "scale": scale,
        "system_score": "corpus" if corpus else "mean",
        "higher_is_better": metric.higher_is_better,
        "clusters": len(np.unique(labels)),
        "systems": {
            name: _scaled(zip(SCORE, system_score(terms, combine, labels, **how), strict=True), scale)
            for name, terms in of.items()
        },
        "tests": [
            {
                **{"system": one, "against": other},
                **_scaled([*((key, getattr(test, key)) for key in TEST), ("p_holm", float(p))], scale),
            }
            for (one, other), test, p in zip(pairs, tests, adjusted, strict=True)
        ],
    }
    if with_segments:
        found["scores"] = {name: (scale * own.scores).tolist() for name, own in scored.items()}
    return found


def _scaled(values: Iterable[tuple[str, float]], scale: int) -> Values:
    """Values as JSON has them: scores on their scale, p as it is, None for what is undefined."""
    return {
        key: None if math.isnan(value) else value if key.startswith("p") else scale * value for key, value in values
    }


def as_json(found: Values, boosts: bool) -> str:
    """All values with all digits."""
    return json.dumps(found, ensure_ascii=False, indent=1)


def as_text(found: Values, boosts: bool) -> str:
    """Lines to read; boosts: whether the scores of the metric alone are another column."""
    head = [f"{key}: {found[key]}" for key in ("signature", "explainer") if key in found]
    rows = _lines_of_systems(found) if "systems" in found else _lines_of_segments(found, boosts)
    return "\n".join([*head, "", *rows])


def _lines_of_segments(found: Values, boosts: bool) -> Iterator[str]:
    digits = _digits(found)
    yield "     #     score" + ("      base" if boosts else "")
    base = float(np.mean([row["base"] for row in found["scores"]]))
    rows = [(str(place), row) for place, row in enumerate(found["scores"], start=1)]
    for head, row in [*rows, ("mean", {"score": found["mean"], "base": base})]:
        yield f"{head:>6}  {row['score']:8.{digits}f}" + (f"  {row['base']:8.{digits}f}" if boosts else "")
        for role, words in row.get("words", {}).items():
            yield f"        {role}: " + "  ".join(
                f"{visible(word['word'])} {word['attribution']:+.{digits - 2}f}" for word in words
            )


def _digits(found: Values) -> int:
    """Behind the point of a score."""
    return 4 if found["scale"] > 1 else 6


def _lines_of_systems(found: Values) -> Iterator[str]:
    form, signed = f".{_digits(found)}f", f"+.{_digits(found)}f"
    scores: dict[str, Sequence[float]] = found.get("scores", {})
    if scores:
        yield "     #  " + "  ".join(map(visible, scores))
        for place, row in enumerate(zip(*scores.values(), strict=True), start=1):
            yield f"{place:>6}  " + "  ".join(f"{score:8.{_digits(found)}f}" for score in row)
        yield ""
    wide = max(map(len, ["system", *map(visible, found["systems"])]))
    kind = "corpus score" if found["system_score"] == "corpus" else "mean of segments"
    better = "" if found["higher_is_better"] else "; lower is better"
    yield f"{'system':<{wide}}  {kind}, 95 % interval{better}"
    for name, one in found["systems"].items():
        yield f"{visible(name):<{wide}}  {_number(one['score'], form)} {_interval(one, form)}"
    for test in found["tests"]:
        sign = "" if (math.nan if test["p_holm"] is None else test["p_holm"]) < LEVEL else ", not established"
        yield (
            f"{visible(test['system'])} minus {visible(test['against'])}: {_number(test['difference'], signed)} "
            f"{_interval(test, signed)}, p = {_number(test['p'], '.4f')}, for all pairs "
            f"{_number(test['p_holm'], '.4f')}{sign}"
        )


def _number(value: float | None, form: str) -> str:
    return number(math.nan if value is None else value, form)


def _interval(ends: Mapping[str, float | None], form: str) -> str:
    return f"[{_number(ends['low'], form)}, {_number(ends['high'], form)}]"


def as_tsv(found: Values, boosts: bool) -> str:
    """Rows with all digits, below comments."""
    lines = [f"# {key}: {found[key]}" for key in ("signature", "scale", "explainer", "mean") if key in found]
    if "systems" in found:
        lines.append("system\tsegment\tscore\tlow\thigh")
        for name, one in found["systems"].items():
            lines.append("\t".join([visible(name), "all", *(_full(one[key]) for key in ("score", "low", "high"))]))
        for name, scores in found.get("scores", {}).items():
            lines += [f"{visible(name)}\t{place}\t{score!r}\t\t" for place, score in enumerate(scores, start=1)]
        return "\n".join(lines)
    lines += [f"# unboosted: {' '.join(map(str, found['unboosted']))}"] if found.get("unboosted") else []
    roles = list(found["scores"][0].get("words", {}))
    lines.append("\t".join(["segment", "score", "base", *(f"{role}_words" for role in roles)]))
    for place, row in enumerate(found["scores"], start=1):
        fields = [str(place), repr(row["score"]), repr(row["base"])]
        for role in roles:  # as JSON, in which a tab inside a word is no tab
            pairs = [(one["word"], one["attribution"]) for one in row["words"][role]]
            fields.append(json.dumps(pairs, ensure_ascii=False))
        lines.append("\t".join(fields))
    return "\n".join(lines)


def _full(value: float | None) -> str:
    return "nan" if value is None else repr(value)


FORMATS = {"text": as_text, "json": as_json, "tsv": as_tsv}
