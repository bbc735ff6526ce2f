"""What was found: the answer, then counts in a few sentences, a small table and about ten numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis import shared_task, verdicts, words
from bmx_grid.analysis.base import Column, Table, interval
from bmx_grid.analysis.gains import (
    CLUSTERED,
    COUNTED,
    MEAN,
    SIGN_TEST,
    SUMMARY,
    real_at_points,
    summaries,
    summarise,
)
from bmx_grid.analysis.points import chosen_points, points_in_words
from bmx_grid.analysis.table import FACTORS, Given
from bmx_grid.core.wording import counted, named, number, setting_label

if TYPE_CHECKING:
    import pandas as pd

ALL = "all"


def compute(given: Given) -> dict[str, Any]:
    """headline: sentences on the gains at one (w, p) per explainer.

    overview: by explainer, and of all, point and summary at the fixed points.
    """
    return {
        "headline": _sentences(given),
        "overview": _overview(given),
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


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """Per explainer its point and what it gains there."""
    overview = result["overview"].reset_index()
    if len(overview) < 2:  # all, of nothing
        return
    columns = ("explainer", Column("used_w", "w", "g"), Column("used_p", "p", "g"), *SUMMARY)
    notes = (COUNTED, f"{CLUSTERED} {SIGN_TEST}", result["points"])
    overview = overview.assign(total=overview["explainer"] == ALL)
    yield Table.of("overview", "Gains at one (w, p) per explainer", overview, columns, notes, by=["total"], brief=True)


def _overview(given: Given) -> pd.DataFrame:
    import pandas as pd

    real, seed = given.ask(real_at_points), given.options.seed
    frame = given.ask(chosen_points).join(summaries(real, "explainer", seed))
    return pd.concat([frame, summaries(real.assign(explainer=ALL), "explainer", seed)]).rename_axis("explainer")


def _sentences(given: Given) -> list[str]:
    real = given.ask(real_at_points)
    if not len(real):
        return ["The table holds control settings only (random metric or explainer): there is nothing to conclude."]
    all_of = summarise(real, given.options.seed)
    origins = "; ".join(sorted(set(given.ask(chosen_points)["origin"])))
    between = f", {all_of['unchanged']} gain no more than 0.00001" if all_of["unchanged"] else ""
    mean = interval(all_of, MEAN, "+.5f", ", without an interval: it needs 3 language pairs")
    sentences = [
        f"At one (w, p) per explainer, {origins}: {all_of['better']} of {counted(all_of['n'], 'setting')} are better, "
        f"{all_of['worse']} equal or worse{between}. Their mean gain in correlation is {mean}. Settings of one "
        f"language pair share its segments: {all_of['clusters_better']} of "
        f"{counted(all_of['clusters'], 'language pair')} have a mean gain above 0 (one-sided sign test p = "
        f"{number(all_of['sign_p'], '.3g')})."
    ]
    undefined = real[real["fixed_gain"].isna()]
    if len(undefined):
        labels = [setting_label(*names) for names in undefined[list(FACTORS)].to_numpy()]
        sentences.append(f"The gain of {counted(len(labels), 'further setting')} is undefined there: {named(labels)}.")
    known = real[np.isfinite(real["baseline"])]
    sentences.append(
        f"For {known['ties_baseline'].sum()} of {counted(len(known), 'setting')} the best is the metric alone: no "
        "(w, p) with w other than 1 improves them."
    )
    return sentences
