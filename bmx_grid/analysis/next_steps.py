"""What to do with each metric next: use a recipe, average metrics, rate more, or keep it as it is."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bmx_grid.analysis.names import written
from bmx_grid.analysis.verdict_rows import ShownVerdict, grouped, place_of
from bmx_grid.evaluations.boost_evidence import COMBINED
from bmx_grid.evaluations.verdicts import HURTS, NO_GAIN, TOO_LITTLE
from bmx_grid.segments import NO_PAIR
from bmx_grid.wording import counted, named, number

if TYPE_CHECKING:
    import pandas as pd

PRECISE = 0.02  # half of an interval that tells a gain worth having
MOST_METRICS, MOST_STEPS = 5, 3  # that are named
KEEP = "keep the metric as it is"
RATE_MORE = "rate more segments: these are too few to judge a boost"


def next_steps(rows: Sequence[ShownVerdict], boosts: pd.DataFrame | None) -> str:
    """What to do with each metric, in a sentence; "" without verdicts."""
    steps: dict[str, list[str]] = {}
    for own in grouped(rows, "metric"):
        steps.setdefault(_step(own, boosts), []).append(written(own[0].metric))
    told = [f"{step} ({named(metrics, most=MOST_METRICS)})" for step, metrics in steps.items()]
    return f"Next: {named(told, most=MOST_STEPS, separator='; ')}." if told else ""


def _step(rows: Sequence[ShownVerdict], boosts: pd.DataFrame | None) -> str:
    """The next step with one metric; rows: what helps first."""
    first = rows[0]
    averages = [row.estimates["combined_gain"] for row in rows if _average_is_better(row)]
    if averages and len(averages) == sum(math.isfinite(row.estimates["combined_gain"].gain) for row in rows):
        gains = averages[0].in_words("+.3f")
        if len({(row.dataset, row.language_pair) for row in rows}) > 1:
            gains = f"at least {number(min(one.gain for one in averages), '+.3f')}"
        return f"use {_average(first.metric, boosts)} instead, {gains}"
    if first.helps:
        same = [row for row in rows if (row.explainer, row.boost) == (first.explainer, first.boost)]
        helped = [place_of(row, same) for row in same if row.helps]
        where = f" on {', '.join(helped)}" if len(helped) < len(same) else ""
        return f"use the recipe of {first.boost} with {written(first.explainer)}{where}"
    if all(row.verdict == HURTS for row in rows):
        return f"do not boost it, {KEEP}"
    if all(row.verdict in (TOO_LITTLE, NO_GAIN) for row in rows):
        return _more_data(rows)
    return KEEP


def _average_is_better(row: ShownVerdict) -> bool:
    """Whether averaging metrics gains more than the boost, established also beyond score and length."""
    average, beyond = row.estimates["combined_gain"], row.estimates["combined_beyond"]
    return average.low > 0 and beyond.low > 0 and average.gain > (row.gain.gain if row.helps else 0.0)


def _more_data(rows: Sequence[ShownVerdict]) -> str:
    """What to rate so that the interval of what gains most tells a gain of PRECISE; no more where it does already."""
    known = [row for row in rows if math.isfinite(row.gain.low)]
    if not known:
        return RATE_MORE
    row = max(known, key=lambda one: one.gain.gain)
    wider = ((row.gain.high - row.gain.low) / 2 / PRECISE) ** 2
    if wider <= 1:
        return KEEP if row.verdict == NO_GAIN else RATE_MORE
    if row.pairs > 1:
        more = counted(math.ceil(row.pairs * (wider - 1)), "more language pair")
        return f"add about {more} of this size to see a gain of {PRECISE:g}"
    more = counted(math.ceil(row.n * (wider - 1) / 100) * 100, "more segment")
    pair = "" if row.language_pair == NO_PAIR else f" {row.language_pair}"
    return f"rate about {more} of {row.dataset}{pair} to see a gain of {PRECISE:g}"


def _average(metric: str, boosts: pd.DataFrame | None) -> str:
    """The average that most language pairs choose, in words; the constants of a single choice are JSON."""
    counts: Counter[tuple[str, ...]] = Counter()
    if boosts is not None:
        own = boosts[(boosts["metric"] == metric) & (boosts["boost"] == COMBINED) & (boosts["constants"] != "")]
        for text in own["constants"]:
            constants = json.loads(text)
            weights = zip(constants["features"], constants["weights"], strict=True)
            counts[(metric,) * (constants["own"] > 0) + tuple(name for name, weight in weights if weight > 0)] += 1
    del counts[metric,]  # no average
    if not counts:
        return "an average of the metrics"
    (names, _), *_rest = counts.most_common(1)
    names = tuple(map(written, names))
    return names[0] if len(names) == 1 else f"the average of {', '.join(names[:-1])} and {names[-1]}"
