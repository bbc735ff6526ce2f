"""What to do next with each metric: use a recipe or an average, rate more segments, or keep it as it is."""

from __future__ import annotations

import math

from bmx_grid.analysis.base import rows_by
from bmx_grid.analysis.verdict_rows import BOOST, Row, Verdicts, place_of
from bmx_grid.core.wording import counted, named, with_interval, written
from bmx_grid.evaluations.verdicts import FEWEST_UNITS, HELPS, HURTS, INFORMATIVE, NO_GAIN, OPEN, TOO_LITTLE
from bmx_grid.measures.resampling import CONFIDENCE

PRECISE = 0.02  # a gain that should be seen if it is there
POWER = 0.8
MOST_NAMED = 5  # that are named
MOST_STEPS = 3
KEEP = "keep the metric as it is"
RATE_MORE = "rate more segments: these are too few to judge a boost"
DECIDE = "rate more segments: whether score, length, text or groups explain its gain is not decided"


def next_steps(rows: Verdicts) -> str:
    """What to do with each metric, in a sentence; "" without verdicts. rows: what helps first."""
    metrics_of_step: dict[str, list[str]] = {}
    by_metric = rows_by(rows, lambda row: row.metric)
    for metric, rows_of_metric in by_metric.items():
        step = _step(rows_of_metric)
        metrics_of_step.setdefault(step, []).append(written(metric))
    if not metrics_of_step:
        return ""
    lines = []
    for step, metrics in metrics_of_step.items():
        lines.append(f"{step} ({named(metrics, most=MOST_NAMED)})")
    steps = named(lines, most=MOST_STEPS, separator="; ")
    return f"Next: {steps}."


def _step(rows: Verdicts) -> str:
    """The next step with one metric."""
    first = rows[0]
    averages = [row for row in rows if _average_is_better(row)]
    n_known = sum(math.isfinite(row.combined_gain) for row in rows)
    # Only where an average is better wherever there is one.
    if averages and len(averages) == n_known:
        # The least of what averages gain: advice must not promise more than every place bears out.
        least = min(averages, key=lambda row: row.combined_gain)
        combined = (least.combined_gain, least.combined_gain_low, least.combined_gain_high)
        return f"use an average of the metrics instead, {with_interval(*combined, '+.3f')}"
    rows_of_first = [row for row in rows if _boost(row) == _boost(first)]
    by_place = rows_by(rows_of_first, lambda row: place_of(row, rows))
    helped = []
    for place, rows_of_golds in by_place.items():
        # It helps where every human score says so.
        if all(row.verdict == HELPS for row in rows_of_golds):
            helped.append(place)
    if helped:
        recipe = f"use the recipe of {first.boost} with {written(first.explainer)}"
        if len(helped) < len(by_place):
            recipe += f" on {', '.join(helped)}"
        return recipe
    if first.verdict == INFORMATIVE:
        return _more_data([row for row in rows if row.verdict == INFORMATIVE])
    if first.verdict == OPEN:
        return DECIDE
    labels = {row.verdict for row in rows}
    if labels == {HURTS}:
        return f"do not boost it, {KEEP}"
    if labels <= {TOO_LITTLE, NO_GAIN}:
        return _more_data(rows)
    return KEEP


def _boost(row: Row) -> tuple[str, ...]:
    """Metric, explainer and boost."""
    return tuple(getattr(row, name) for name in BOOST)


def _average_is_better(row: Row) -> bool:
    """Whether averaging metrics gains more than the boost, with a partial correlation."""
    if not (row.combined_gain_low > 0 and row.combined_partial_r_low > 0):
        return False
    # A gain of the boost counts only where the whole rule found it.
    gain = row.gain if row.verdict == HELPS else 0.0
    return bool(row.combined_gain > gain)


def _more_data(rows: Verdicts) -> str:
    """How much more to rate so that a gain of PRECISE is significant; no more where that is there already."""
    known = [row for row in rows if math.isfinite(row.gain_low)]
    if not known:
        return RATE_MORE
    row = max(known, key=lambda row: row.gain)
    needed = units_needed(row)
    more = needed - _n_units(row)
    if more <= 0:
        return KEEP if row.verdict == NO_GAIN else RATE_MORE
    goal = f"a gain of {PRECISE:g} with probability {POWER:g}"
    # Nobody makes language pairs: each can be judged by itself, by its segments.
    if row.pairs > 1:
        one_by_one = "judge language pairs one by one (dataset.NAME.language_pairs=[PAIR])"
        return f"{one_by_one}, as to see {goal} across them takes about {needed:,}"
    hundreds = math.ceil(more / 100)
    return f"rate about {counted(hundreds * 100, 'more segment')} to see {goal}"


def _n_units(row: Row) -> int:
    """The number of language pairs that a mean is over, of a single pair that of its segments."""
    return int(row.pairs if row.pairs > 1 else row.n)


def units_needed(row: Row) -> int:
    """At how many segments, or language pairs, a gain of PRECISE is significant with probability POWER.

    After the hardest step of Holm's correction. The standard error is that of the interval, and falls with the root of
    the number.
    """
    from scipy.special import stdtr, stdtrit

    n_clusters = row.clusters if row.pairs == 1 else row.pairs
    # The interval reaches so many standard errors to each side.
    reach = stdtrit(n_clusters - 1, (1 + CONFIDENCE) / 2)
    width = row.gain_high - row.gain_low
    error_of_mean = width / (2 * reach)
    error = error_of_mean * math.sqrt(_n_units(row))  # of one unit
    if error == 0:
        return FEWEST_UNITS
    # The hardest step of Holm's correction is Bonferroni's.
    alpha = (1 - CONFIDENCE) / 2 / max(row.tried, 1)
    level = 1 - alpha

    def power(count: int) -> float:
        expected = PRECISE / error * math.sqrt(count)
        threshold = stdtrit(count - 1, level)
        return float(stdtr(count - 1, expected - threshold))

    needed = FEWEST_UNITS
    # Power grows with the number, and the answer is advice: steps of 1 % are fine enough.
    while power(needed) < POWER:
        needed = max(needed + 1, math.floor(needed * 1.01))
    return needed
