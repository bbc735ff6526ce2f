"""The headline numbers of a finished sweep, and its summary in a paragraph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bmx_grid.analysis.gains import GainSummary, summarise
from bmx_grid.analysis.table import CONTROL
from bmx_grid.measures.best import NO_CHANGE
from bmx_grid.measures.cluster_means import MeanOfClusters, cluster_mean
from bmx_grid.report.table import markdown
from bmx_grid.sweep.results import SettingResult
from bmx_grid.sweep.settings import Refused
from bmx_grid.wording import counted, number, setting_label, with_interval

FEW = "(no interval: fewer than 3 language pairs)"
READING = (
    "**How to read it.** A setting is a data set, a language pair, a metric and an explainer. Gain is the correlation "
    "of the boosted metric with human scores minus that of the metric alone. The best of a grid is chosen on the "
    "segments it is judged on, so that its gain is optimistic. An interval that holds 0 establishes no gain, and "
    "settings of one language pair share its segments: many better settings may be one finding.",
    "",
    "The runs below this one are its settings, each with its curves, heat map and grid, and `analysis`: medians, "
    "regression and tests as numbers, and everything on one page in `report.html` among its artifacts.",
)


def headline(
    results: Sequence[SettingResult], failed: Sequence[Refused], established: Sequence[str] = ()
) -> tuple[dict[str, float], str]:
    """About ten numbers by name (NaN where undefined), and the same as Markdown.

    established: the sentences that say what is established (analysis.established), none without an analysis. Gains are
    those at the declared point of each explainer, whose own gains are in the Markdown; better and worse as in
    `GainSummary`. Controls (the random metric and the random explainer) count as settings only.
    """
    real = [result for result in results if CONTROL not in result.names]
    kinds = sorted({result.correlation for result in results})
    kind = kinds[0] if len(kinds) == 1 else "correlation"
    baselines = {result.names[:3]: result.baseline for result in real}
    alone = cluster_mean(list(baselines.values()), [setting_label(*names[:2]) for names in baselines])
    declared = [result for result in real if np.isfinite(result.fixed_p)]
    whole = _gains(declared)
    by = {name: _gains([one for one in declared if one.explainer == name]) for name in _explainers(declared)}
    numbers = {
        "mean gain": whole.mean_gain,  # first: comparisons of runs begin with it
        "mean gain low": whole.mean_low,  # its 95 % interval, undefined for fewer than 3 language pairs
        "mean gain high": whole.mean_high,
        f"mean baseline {kind}": alone.mean,
        "settings": float(len(results)),
        "settings failed": float(len(failed)),
        "settings better": float(whole.better),
        "settings worse": float(whole.worse),
        "settings undefined": float(whole.undefined),
    }
    note = _note(len(results), len(failed), kind, alone, whole, by, established)
    return numbers, note


def _note(
    n_settings: int,
    n_failed: int,
    kind: str,
    alone: MeanOfClusters,
    whole: GainSummary,
    by: Mapping[str, GainSummary],
    established: Sequence[str],
) -> str:
    lines = [f"**{counted(n_settings, 'setting')}**, {n_failed} failed."]
    if np.isfinite(alone.mean):
        lines[0] += f" Mean {kind} of the metrics alone: {with_interval(alone.mean, alone.low, alone.high, '.4f')}."
    if by:
        lines += [
            "",
            "| explainer | settings | better | worse | mean gain | 95 % interval, by language pair |",
            "|---|---:|---:|---:|---:|---:|",
            *(f"| {name} | {one.n} | {one.better} | {one.worse} | {_cells(one)} |" for name, one in by.items()),
            "",
            f"At the declared point of each explainer, {whole.better} of {whole.n} settings get better (gain above "
            f"{NO_CHANGE:g}) and {whole.worse} do not (gain of 0 or less); {whole.undefined} are undefined. "
            f"Mean gain: {with_interval(whole.mean_gain, whole.mean_low, whole.mean_high, without=FEW)}.",
            "",
            *READING,
        ]
    lines += [line for sentence in established for line in ("", markdown(sentence))]
    return "\n".join(lines)


def _cells(one: GainSummary) -> str:
    """The last two cells of a row: the mean gain and its interval."""
    if np.isnan(one.mean_low):
        return f"{number(one.mean_gain, '+.4f')} | fewer than 3 pairs"
    return f"{number(one.mean_gain, '+.4f')} | {number(one.mean_low, '+.4f')} to {number(one.mean_high, '+.4f')}"


def _gains(results: Sequence[SettingResult]) -> GainSummary:
    gain = np.array([result.fixed_gain for result in results], dtype=np.float64)
    clusters = np.array([setting_label(*result.names[:2]) for result in results], dtype=np.str_)
    return summarise(gain, np.array([result.baseline for result in results], dtype=np.float64), clusters)


def _explainers(results: Sequence[SettingResult]) -> list[str]:
    return sorted({result.explainer for result in results})
