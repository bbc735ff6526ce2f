"""What was found: the answer, then counts in a few sentences, a small table and about ten numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis import shared_task, verdicts, words
from bmx_grid.analysis.base import Column, Table, interval
from bmx_grid.analysis.gains import (
    CLUSTERED,
    COUNTED,
    COUNTS,
    MEAN,
    SIGN_TEST,
    SURE,
    declared,
    real_at_points,
    share,
    summaries,
    summarise,
)
from bmx_grid.analysis.points import chosen_points, points_in_words
from bmx_grid.analysis.table import Given
from bmx_grid.analysis.transfer import compute as transfers
from bmx_grid.analysis.transfer import moved_gains, transfer_factor
from bmx_grid.core.wording import counted, factor_in_words, named, number, setting_label, with_interval
from bmx_grid.measures.best import better
from bmx_grid.measures.cluster_means import MeanOfClusters

if TYPE_CHECKING:
    import pandas as pd

ALL = "all"


def compute(given: Given) -> dict[str, Any]:
    """headline: sentences on the gains at one (w, p) per explainer; headline_numbers: NaN where undefined.

    overview: by explainer, and of all, point and summary at the fixed points, the share of settings that get better,
    and the mean gain when points come from elsewhere in the table.
    """
    return {
        "headline": _sentences(given),
        "headline_numbers": _numbers(given),
        "overview": _overview(given),
        "transfer_factor": given.ask(transfer_factor),
        "points": points_in_words(given.ask(chosen_points)),
    }


def answer(given: Given, most: int | None = None) -> list[str]:
    """The answer, said with the same words everywhere: verdicts, placebos, the legend, what to do next, words.

    most: verdicts that are said; all of them for None.
    """
    found, of_words = given.ask(verdicts.compute), given.ask(words.compute)
    answers = found["answers"]
    more = 0 if most is None else len(answers) - most
    lines = [*answers[:most], *([f"{more} more in report.html"] if more > 0 else []), *found["not_judged"]]
    lines += given.ask(shared_task.compute)["unbeaten"]
    lines += [*found["legend"], *([found["next_steps"]] if found["next_steps"] else [])]
    return [*lines, *of_words["words_in_words"], *of_words["plausibility_in_words"]]


def tables(result: Mapping[str, Any]) -> Sequence[Table]:
    """Per explainer its point, what it gains there, and the mean gain when points come from elsewhere in the table."""
    overview, factor = result["overview"].reset_index(), result["transfer_factor"]
    if len(overview) < 2:  # all, of nothing
        return ()
    columns = [
        "explainer",
        Column("used_w", "w", "g"),
        Column("used_p", "p", "g"),
        *COUNTS,
        *SURE,
        Column("share", "share better", ".0%", ("share_low", "share_high")),
    ]
    notes = [
        COUNTED,
        f"{CLUSTERED} {SIGN_TEST}",
        "Share better: of the settings with a defined gain. In brackets: intervals of the same kind.",
        result["points"],
    ]
    if factor is not None:
        columns += [
            Column(f"{kind}_mean_gain", f"{header} mean gain", "+.5f", (f"{kind}_mean_low", f"{kind}_mean_high"))
            for kind, header in (("in_sample", "in-sample"), ("transfer", "transfer"))
        ]
        notes.append(
            f"Transfer: at the median point of the settings of the other {factor_in_words(factor)}s; in-sample: of all "
            "settings of the explainer, judged on the same."
        )
    overview = overview.assign(total=overview["explainer"] == ALL)
    title = "Gains at one (w, p) per explainer"
    return (Table.of("overview", title, overview, columns, notes, by=["total"], brief=True),)


def _overview(given: Given) -> pd.DataFrame:
    import pandas as pd

    real, seed = given.ask(real_at_points), given.options.seed
    every = summaries(real.assign(explainer=ALL), "explainer", seed)
    frame = given.ask(chosen_points).join(summaries(real, "explainer", seed))
    frame = pd.concat([frame, every]).rename_axis("explainer")
    shares = [_better(real if name == ALL else real[real["explainer"] == name], seed) for name in frame.index]
    frame = frame.assign(
        share=[found.mean for found in shares],
        share_low=[found.low for found in shares],
        share_high=[found.high for found in shares],
    )
    moved = given.ask(transfers)["leave_one_out"].reset_index()
    moved = moved[moved["factor"] == given.ask(transfer_factor)].set_index("explainer")
    moved = moved[[*MEAN, *(f"in_sample_{name}" for name in MEAN)]]
    return frame.join(moved.rename(columns={name: f"transfer_{name}" for name in MEAN}))


def _better(settings: pd.DataFrame, seed: int) -> MeanOfClusters:
    """The share of settings with a defined gain that get better."""
    known = settings[settings["fixed_gain"].notna()]
    return share(better(known["fixed_gain"].to_numpy()), known, seed)


def _sentences(given: Given) -> list[str]:
    real, seed = given.ask(real_at_points), given.options.seed
    if not len(real):
        return ["The table holds control settings only (random metric or explainer): there is nothing to conclude."]
    all_of = summarise(real, seed)
    origins = "; ".join(sorted(set(given.ask(chosen_points)["origin"])))
    between = f", {all_of['unchanged']} gain no more than 0.00001" if all_of["unchanged"] else ""
    mean = interval(all_of, MEAN, "+.5f", ", without an interval: it needs 3 language pairs")
    sentences = [
        f"At one (w, p) per explainer, {origins}: {all_of['better']} of {counted(all_of['n'], 'setting')} are better, "
        f"{all_of['worse']} equal or worse{between}{_share(_better(real, seed))}. Their mean gain in correlation is "
        f"{mean}. Settings of one language pair share its segments: {all_of['clusters_better']} of "
        f"{counted(all_of['clusters'], 'language pair')} have a mean gain above 0 (one-sided sign test p = "
        f"{number(all_of['sign_p'], '.3g')})."
    ]
    if all_of["n"]:
        sentences.append(_largest(real))
    if all_of["undefined"]:
        labels = [setting_label(*row) for row in given.real.frame[real["fixed_gain"].isna()].iloc[:, :4].to_numpy()]
        sentences.append(f"The gain of {counted(len(labels), 'further setting')} is undefined there: {named(labels)}.")
    if (factor := given.ask(transfer_factor)) is not None:
        sentences.append(_transfer(given, factor_in_words(factor)))
    known = real[np.isfinite(real["baseline"])]
    ties = known["ties_baseline"].to_numpy()
    sentences.append(
        f"For {int(ties.sum())} of {counted(len(known), 'setting')} the best is the metric alone: no (w, p) with w "
        f"other than 1 improves them{_share(share(ties, known, seed))}."
    )
    return sentences


def _largest(real: pd.DataFrame) -> str:
    """The largest gain with its own interval, where it was tested, and its baseline."""
    row = real.iloc[int(real["fixed_gain"].argmax())]
    gain = interval(row, ("fixed_gain", "fixed_gain_low", "fixed_gain_high"), "+.4f")
    count = int(real["fixed_gain"].notna().sum())
    tested = math.isfinite(row["fixed_gain_low"]) and count > 1
    among = f"; its interval takes no account of its being the largest of {count}" if tested else ""
    return f"The largest gain, {gain}, comes from a baseline of {number(row['baseline'], '.4f')}{among}."


def _transfer(given: Given, factor: str) -> str:
    names = [[f"{kind}_{name}" for name in MEAN] for kind in ("transfer", "in_sample")]
    parts = [
        "{} {} (in-sample {})".format(explainer, *(interval(row, of_kind, "+.5f") for of_kind in names))
        for explainer, row in _overview(given).dropna(subset="transfer_mean_gain").iterrows()
    ]
    return (
        f"Across {factor}s (transfer: the {factor} judged on takes no part in choosing the medians), mean gains are "
        f"{'; '.join(parts)}."
    )


def _share(found: MeanOfClusters) -> str:
    """The interval of a count as a share; nothing with fewer than 3 clusters."""
    if math.isnan(found.low):
        return ""
    return f" ({with_interval(found.mean, found.low, found.high, '.0%')})"


def _numbers(given: Given) -> dict[str, float]:
    real, tested, moved = given.ask(real_at_points), given.ask(declared), given.ask(moved_gains)
    all_of, n_tested = summarise(real, given.options.seed), float(tested["p_holm"].notna().sum())
    found = {
        "settings": float(len(given.table)),
        "settings_without_controls": float(len(real)),
        "tied_with_metric_alone": float(real["ties_baseline"].sum()),
        "fixed/better": float(all_of["better"]),
        "fixed/equal_or_worse": float(all_of["worse"]),
        "fixed/mean_gain": all_of["mean_gain"],
        "fixed/largest_gain": all_of["max_gain"],
        "tested/gains": n_tested or math.nan,
        "tested/survive": float(tested["survives"].sum()) if n_tested else math.nan,
    }
    if (factor := given.ask(transfer_factor)) is not None:
        gains = moved[moved["factor"] == factor]["transfer_gain"]
        found["transfer/better"] = float(better(gains.to_numpy()).sum())
        found["transfer/mean_gain"] = float(gains.mean())
    return found
