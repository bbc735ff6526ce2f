"""What was run and found: the answer, counts in a few sentences and tables, every setting, and what was tested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis import gains, shared_task, verdicts, words
from bmx_grid.analysis.base import FACTORS, Column, Given, Table, interval
from bmx_grid.analysis.gains import (
    CLUSTERED,
    COUNTED,
    MARKED,
    MEAN,
    SIGN_TEST,
    SUMMARY,
    at_points,
    declared,
    real_at_points,
    summaries,
    summarise,
)
from bmx_grid.analysis.points import chosen_points, points_in_words
from bmx_grid.core.wording import P_VALUE, counted, named, p_in_words, setting_label, written
from bmx_grid.evaluations.boost_evidence import ALL
from bmx_grid.sweep.results import SeedRow

if TYPE_CHECKING:
    import pandas as pd

READ = (
    "Correlation with human scores: baseline, the metric alone; in-sample best, at each setting's own best point, "
    "chosen where it is judged, with its w and p; plateau: points with w below 1 within 0.00001 of the highest of "
    "these; fixed, at the point of the explainer, none for controls. In brackets: 95 % intervals, by a bootstrap of "
    "clusters of segments."
)
OF_SEEDS = ("Lowest, highest: the gain with other seeds of the explainer, which the interval does not contain.",)
NUMBERS = (
    *("baseline", "best", "best_w", "best_p", "gain", "ties_baseline", "plateau", "fixed", "fixed_w", "fixed_p"),
    *("fixed_gain", "fixed_gain_low", "fixed_gain_high", "fixed_gain_p", "fixed_gain_p_holm"),
)


def compute(given: Given) -> dict[str, Any]:
    """headline: sentences on the gains at one (w, p) per explainer, none where boosts have verdicts. overview: by
    explainer, and of all, point and summary at the fixed points. Counts of the whole table, controls included; every
    setting by its label.

    n_correlations: those with w other than 1, n_undefined of them NaN. single_gains: how many gains at declared points
    were tested, and how many survive Holm's correction; tested_gains: these, with their spread over other draws of the
    explainer where there are several.
    """
    table, tested = given.table, given.ask(declared)
    settings = given.ask(at_points).set_axis([setting.label for setting in table.settings])
    return {
        "headline": [] if given.judged else _sentences(given),
        "overview": _overview(given),
        "points": points_in_words(given.ask(chosen_points)),
        "n_settings": len(table),
        "n_correlations": table.n_boosted,
        "n_settings_without_controls": len(given.real),
        "n_undefined": int(np.isnan(table.correlation[:, :, table.boosted]).sum()),
        "left_out": table.left_out,
        "grid": {"p": table.p, "w": table.w, "side": table.side},
        "single_gains": {"tested": int(tested["p_holm"].notna().sum()), "survive": int(tested["survives"].sum())},
        "tested_gains": _with_seeds(tested[tested["gain"].notna()], given.frame("seeds", SeedRow)),
        "settings": settings[[*FACTORS, "control", *NUMBERS, "survives"]],
    }


def answer(given: Given, most: int | None = None) -> list[str]:
    """The answer, said with the same words everywhere: verdicts, placebos, the legend, what to do next, words, and
    whether it is evidence at all.

    most: verdicts that are said; all of them for None.
    """
    found, of_words = given.ask(verdicts.compute), given.ask(words.compute)
    answers = found["answers"]
    more = 0 if most is None else len(answers) - most
    lines = [*answers[:most], *([f"{more} more in report.html"] if more > 0 else []), *found["not_judged"]]
    lines += given.ask(shared_task.compute)["unbeaten"]
    lines += [*found["legend"], *filter(None, [found["unnamed"], found["next_steps"]])]
    return [*lines, *of_words["words_in_words"], *of_words["plausibility_in_words"], *not_evidence(given)]


def not_evidence(given: Given) -> list[str]:
    """A sentence where segments of the sweep were made up."""
    if not given.constructed:
        return []
    return [f"constructed sample: not evidence ({named(list(map(written, given.constructed)))})."]


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """Per explainer its point and what it gains there, without verdicts; every setting; gains that were tested."""
    notes = [COUNTED, f"{CLUSTERED} {SIGN_TEST}", result["points"]]
    columns: tuple[Any, ...] = ("explainer", Column("used_w", "w", "g"), Column("used_p", "p", "g"), *SUMMARY)
    overview = result["overview"].reset_index()
    if result["headline"] and len(overview) > 1:  # all, of nothing
        overview = overview.assign(total=overview["explainer"] == ALL)
        title = "Gains at one (w, p) per explainer"
        yield Table.of("overview", title, overview, columns, notes, by=["total"], brief=True)
    settings = result["settings"]
    columns = (
        *FACTORS,
        Column("baseline", form=".4f"),
        Column("best", "in-sample best", ".4f"),
        Column("best_w", "w", "g"),
        Column("best_p", "p", "g"),
        "plateau",
        Column("fixed", form=".4f"),
        Column("fixed_gain", "gain at fixed", "+.4f", ("fixed_gain_low", "fixed_gain_high"), "survives"),
    )
    settings = settings.assign(best_p=settings["best_p"].where(settings["best_w"] < 1))  # p means nothing at w = 1
    notes = [READ, MARKED, *(f"Left out: {part}." for part in result["left_out"]), result["points"]]
    yield Table.of("settings", "Every setting", settings, columns, notes, names=4)
    yield from _table_of_tests(result["tested_gains"])


def _with_seeds(tested: pd.DataFrame, seeds: pd.DataFrame | None) -> pd.DataFrame:
    """The tested gains with their spread over other draws of the explainer."""
    key = [*FACTORS, "point"]
    if seeds is None:
        return tested
    spread = seeds.groupby(key, observed=True)["gain"].agg(lowest="min", highest="max")
    return tested.merge(spread, left_on=key, right_index=True, how="left")


def _table_of_tests(tested: pd.DataFrame) -> Iterator[Table]:
    """No table where nothing was tested."""
    known = tested[tested["test"].notna()]
    if not len(known):
        return
    spread = [Column(name, form="+.4f") for name in ("lowest", "highest") if name in tested]
    columns = (
        *FACTORS,
        "point",
        Column("baseline", form=".4f"),
        Column("gain", "gain at the point", "+.4f", ("low", "high"), "survives"),
        Column("p_value", "p", P_VALUE),
        Column("p_holm", "p (Holm)", P_VALUE),
        Column("n", "segments", ",.0f"),
        Column("clusters", form=",.0f"),
        *spread,
    )
    families = "; ".join(sorted(set(known["family"])))
    notes = (
        "Gain at the declared point with its 95 % interval by a bootstrap of clusters of segments; p of the test "
        f"{known['test'].iloc[0]}, and corrected by Holm within its family ({families}).",
        MARKED,
        *OF_SEEDS[: len(spread)],
    )
    title = "Gains at declared points, with intervals and tests"
    yield Table.of("tested_gains", title, tested, columns, notes, names=5)


def _overview(given: Given) -> pd.DataFrame:
    import pandas as pd

    real, seed = given.ask(real_at_points), given.seed
    every = summaries(real.assign(explainer=ALL), "explainer", seed)
    overview: pd.DataFrame = pd.concat([given.ask(gains.compute)["fixed"], every])
    return overview.rename_axis("explainer")


def _sentences(given: Given) -> list[str]:
    real = given.ask(real_at_points)
    if not len(real):
        return ["The table holds control settings only (random metric or explainer): there is nothing to conclude."]
    all_of = summarise(real, given.seed)
    origins = "; ".join(sorted(set(given.ask(chosen_points)["origin"])))
    between = f", {all_of['unchanged']} gain no more than 0.00001" if all_of["unchanged"] else ""
    mean = interval(all_of, MEAN, "+.5f", ", without an interval: it needs 3 language pairs")
    sentences = [
        f"At one (w, p) per explainer, {origins}: {all_of['better']} of {counted(all_of['n'], 'setting')} are better, "
        f"{all_of['worse']} equal or worse{between}. Their mean gain in correlation is {mean}. Settings of one "
        f"language pair share its segments: {all_of['clusters_better']} of "
        f"{counted(all_of['clusters'], 'language pair')} have a mean gain above 0 (one-sided sign test "
        f"{p_in_words(all_of['sign_p'])})."
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
