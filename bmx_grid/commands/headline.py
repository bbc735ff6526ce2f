"""The headline numbers of a finished sweep, and its summary in a paragraph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bmx_grid.analysis.gains import GainSummary, summarise
from bmx_grid.analysis.table import CONTROL
from bmx_grid.measures.best import NO_CHANGE
from bmx_grid.sweep.plan import Refused
from bmx_grid.sweep.results import SettingResult
from bmx_grid.wording import counted

EXPLAINERS = 4  # with separate numbers; all of them are in the summary


def headline(results: Sequence[SettingResult], failed: Sequence[Refused]) -> tuple[dict[str, float], str]:
    """About ten numbers by name (NaN where undefined), and the same as Markdown.

    Gains are those at the declared point of each explainer; better and worse as in `GainSummary`. Controls (the random
    metric and the random explainer) count as settings only.
    """
    real = [result for result in results if CONTROL not in result.names]
    kinds = sorted({result.correlation for result in results})
    kind = kinds[0] if len(kinds) == 1 else "correlation"
    alone = {result.names[:3]: result.baseline for result in real}
    declared = [result for result in real if np.isfinite(result.fixed_p)]
    whole = _gains(declared)
    by = {name: _gains([one for one in declared if one.explainer == name]) for name in _explainers(declared)}
    numbers = {
        "settings": float(len(results)),
        "settings failed": float(len(failed)),
        f"mean baseline {kind}": float(np.mean(list(alone.values()))) if alone else float("nan"),
        "mean gain": whole.mean_gain,
        "settings better": float(whole.better),
        "settings worse": float(whole.worse),
        "settings undefined": float(whole.undefined),
        **{f"mean gain {name}": one.mean_gain for name, one in list(by.items())[:EXPLAINERS]},
    }
    return numbers, _note(len(results), len(failed), kind, numbers[f"mean baseline {kind}"], whole, by)


def _note(
    n_settings: int, n_failed: int, kind: str, alone: float, whole: GainSummary, by: Mapping[str, GainSummary]
) -> str:
    lines = [f"**{counted(n_settings, 'setting')}**, {n_failed} failed."]
    if np.isfinite(alone):
        lines[0] += f" Mean {kind} of the metrics alone: {alone:.4f}."
    if by:
        lines += [
            "",
            f"At the declared point of each explainer, {whole.better} of {whole.n} settings get better (gain above "
            f"{NO_CHANGE:g}) and {whole.worse} do not (gain of 0 or less); {whole.undefined} are undefined. "
            f"Mean gain: {whole.mean_gain:+.4f}.",
            "",
            "| explainer | settings | better | worse | mean gain |",
            "|---|---:|---:|---:|---:|",
            *(f"| {name} | {one.n} | {one.better} | {one.worse} | {one.mean_gain:+.4f} |" for name, one in by.items()),
        ]
    return "\n".join(lines)


def _gains(results: Sequence[SettingResult]) -> GainSummary:
    gain = np.array([result.fixed_gain for result in results], dtype=np.float64)
    return summarise(gain, np.array([result.baseline for result in results], dtype=np.float64))


def _explainers(results: Sequence[SettingResult]) -> list[str]:
    return sorted({result.explainer for result in results})
