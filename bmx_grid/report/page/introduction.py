"""What an analysis is about: its first sentences on a page."""

from __future__ import annotations

from bmx_grid.analysis.basis import Basis
from bmx_grid.analysis.names import correlation_in_words
from bmx_grid.analysis.run import Analysis
from bmx_grid.wording import counted, typeset


def introduction(analysis: Analysis, basis: Basis) -> list[str]:
    """What BMX, w and p are, which correlation is shown, and over how many segments."""
    p, w = analysis.table.p, analysis.table.w
    mean, names = "the power mean with exponent p", " (p = 1 is the arithmetic mean, 0 the geometric, −1 the harmonic)"
    if basis.aggregation not in (None, "PowerMean"):
        mean, names = f"{basis.aggregation} with the parameter p", ""
    return [
        "BMX boosts a metric with an explanation of its own scores. An explainer gives every word an attribution, what "
        f"it contributes to the score s; M is {mean} of the attributions of a segment{names}. The boosted metric is "
        "w · s + (1 − w) · M: w is the weight of the metric itself, and w = 1 is the metric alone.",
        f"Here p runs from {typeset(float(p[0]), 'g')} to {typeset(float(p[-1]), 'g')} ({counted(len(p), 'value')}) "
        f"and w is {', '.join(typeset(one, 'g') for one in w.tolist())}. {_rests_on(analysis, basis)} A gain is the "
        "correlation of the boosted metric minus that of the metric alone.",
    ]


def _rests_on(analysis: Analysis, basis: Basis) -> str:
    pairs = sorted({(one.dataset, one.language_pair) for one in analysis.table.settings})
    kind = correlation_in_words(basis.correlation)
    said = f"Every number is {kind} with human scores, segment by segment" if basis.correlation else ""
    said = said or "Every number is a correlation with human scores, segment by segment (the table does not say which)"
    sizes = [basis.used[pair] for pair in pairs if pair in basis.used]
    if len(sizes) < len(pairs):
        return f"{said}; the table does not say over how many segments."
    if len(pairs) == 1:
        return f"{said}, over {counted(sizes[0], 'segment')}."
    most = counted(max(sizes), "segment")
    each = most if min(sizes) == max(sizes) else f"{min(sizes):,} to {most}"
    where = counted(len(pairs), "language pair")
    return f"{said}, over {each} per language pair ({sum(sizes):,} in {where})."
