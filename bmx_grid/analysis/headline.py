"""The contents and findings of a sweep: the answer, counts in sentences and tables, all settings, and the tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis import answers, marked_words, metrics_and_people
from bmx_grid.analysis.base import FACTORS, Column, SweepTables, Table, each_row
from bmx_grid.analysis.gains import (
    CLUSTERED,
    COUNTED,
    SIGN_TEST,
    SUMMARY_COLUMNS,
    overview,
    settings_at_points,
    settings_without_controls,
)
from bmx_grid.analysis.points import (
    MARKED,
    chosen_points,
    describe_in_sample_gains,
    evaluation_point_name,
    gains_at_declared_points,
    points_in_words,
)
from bmx_grid.core.wording import (
    P_VALUE,
    display_name,
    format_interval,
    join_names,
    p_in_words,
    pluralize,
    setting_label,
)
from bmx_grid.evaluations.boost_evidence import ALL
from bmx_grid.evaluations.verdicts import Verdict
from bmx_grid.measures.correlation import FEWEST
from bmx_grid.sweep.tables import SeedRow

if TYPE_CHECKING:
    import pandas as pd

OF_SETTINGS = (
    "Correlation with human scores: baseline, of the unboosted metric; in-sample best, at each setting's own best "
    "point, with its w and p; plateau: points with w below 1 within 0.00001 of the highest one; {point}, that of the "
    "explainer, none for controls. In brackets: 95 % intervals, by a bootstrap of "
    "clusters of segments."
)
OF_SEEDS = ("Lowest, highest: the gain with other seeds of the explainer, which the interval does not contain.",)


def compute(tables: SweepTables) -> dict[str, Any]:
    """The contents and gains of a sweep: the answer in numbers, and every setting by its label, controls included.

    headline: sentences on the gains at one (w, p) per explainer, none if boosts have verdicts. overview: by explainer,
    and of all, point and summary at these. n_correlations: those with w other than 1, n_undefined of which NaN.
    single_gains: how many gains at one point per explainer were tested, and how many survive Holm's correction;
    tested_gains: these, with their spread over other draws of the explainer if there are several. in_sample: the points
    chosen in-sample, in a sentence.
    """
    table = tables.table
    tested = tables.compute_once(gains_at_declared_points)
    labels = [setting.label for setting in table.settings]
    boosted = table.correlation[:, :, table.is_boosted]
    return {
        "headline": [] if tables.has_verdicts or not len(table) else _sentences(tables),
        "overview": tables.compute_once(overview),
        "points": points_in_words(tables.compute_once(chosen_points)),
        "evaluated_at": evaluation_point_name(tables),
        "n_settings": len(table),
        "n_correlations": table.n_boosted,
        "n_settings_without_controls": len(tables.non_controls),
        "n_undefined": int(np.isnan(boosted).sum()),
        "left_out": table.left_out,
        "grid": {"p": table.p, "w": table.w, "side": table.side},
        "single_gains": {"tested": int(tested["p_holm"].notna().sum()), "survive": int(tested["survives"].sum())},
        "tested_gains": _add_seed_spread(tested[tested["gain"].notna()], tables.frame("seeds", SeedRow)),
        "in_sample": tables.compute_once(describe_in_sample_gains),
        "settings": tables.compute_once(settings_at_points)
        .drop(columns="cluster")
        .set_axis(np.array(labels, dtype=object)),
    }


def summary_lines(tables: SweepTables) -> list[str]:
    """The sentences of a sweep in the terminal, on the page and in Python.

    The conclusion, or without verdicts the mean gains; boosts that could not be judged, the legend, the next steps,
    words, and whether it is evidence at all.
    """
    # The terminal, the page and answers of the package share these sentences, so only this module makes them.
    of_boosts = tables.compute_once(answers.compute)
    of_words = tables.compute_once(marked_words.compute)
    lines = [*filter(None, [of_boosts["conclusion"]]), *of_boosts["answers"], *of_boosts["not_judged"]]
    lines += describe_undefined_correlations(tables)
    lines += tables.compute_once(metrics_and_people.describe_unbeaten_placebos)
    lines += of_boosts["legend"]
    lines += filter(None, [of_boosts["families"], of_boosts["unnamed"], of_boosts["next_steps"]])
    return [*lines, *of_words["words_in_words"], *of_words["plausibility_in_words"], *describe_constructed_data(tables)]


def describe_undefined_correlations(tables: SweepTables) -> list[str]:
    """A sentence on the metrics whose correlation with the human scores is undefined, per data and reason."""
    with_verdict = {(row.metric, row.explainer) for row in each_row(tables.frame("verdicts", Verdict))}
    metrics: dict[tuple[str, str], dict[str, None]] = {}
    # A sweep without the evaluation of grids computes no baseline at all.
    has_baselines = len(tables.table) > 0 or bool(tables.settings["baseline"].notna().any())
    for row in each_row(tables.settings):
        # without the grid a setting has no baseline: then a metric without any verdict is meant
        has_grid = has_baselines and row.correlation != ""
        is_missing = tables.has_verdicts and (row.metric, row.explainer) not in with_verdict
        if not math.isnan(row.baseline) or not (has_grid or is_missing):
            continue
        reason = "all scores of the metric are equal, or all human scores"
        if has_grid and row.n_used < FEWEST:
            reason = f"{pluralize(row.n_used, 'segment')} with both scores, and a correlation needs {FEWEST}"
        place = f"{row.dataset} {row.language_pair}"
        # a metric is named once, however many explainers it has
        metrics.setdefault((place, reason), {})[row.metric] = None
    sentences = []
    for (place, reason), names in metrics.items():
        sentences.append(f"{', '.join(names)}: no correlation with the human scores of {place}: {reason}.")
    return sentences


def describe_constructed_data(tables: SweepTables) -> list[str]:
    """A sentence where segments of the sweep were made up."""
    if not tables.constructed_datasets:
        return []
    datasets = [display_name(name) for name in tables.constructed_datasets]
    return [f"constructed sample: not evidence ({join_names(datasets)})."]


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """Per explainer its point and gain, without verdicts; every setting; tested gains."""
    notes = [COUNTED, f"{CLUSTERED} {SIGN_TEST}", result["points"]]
    if result["headline"] and len(result["overview"]):
        point = (Column("used_w", "w", "g"), Column("used_p", "p", "g"))
        rows = result["overview"].rename_axis("explainer").reset_index()
        rows["total"] = rows["explainer"] == ALL
        title = "Gains at one (w, p) per explainer"
        columns: tuple[Any, ...] = ("explainer", *point, *SUMMARY_COLUMNS)
        yield Table.from_rows("overview", title, rows, columns, notes, by=["total"], brief=True)
    point = result["evaluated_at"]
    columns = (
        *FACTORS,
        Column("baseline", form=".4f"),
        Column("best", "in-sample best", ".4f"),
        Column("best_w", "w", "g"),
        Column("best_p", "p", "g"),
        "plateau",
        Column("fixed", point, ".4f"),
        Column("fixed_gain", f"gain at {point}", "+.4f", ("fixed_gain_low", "fixed_gain_high"), "survives"),
    )
    settings = result["settings"]
    if settings.empty:
        return
    # p means nothing at w = 1.
    shown = settings.assign(best_p=settings["best_p"].where(settings["best_w"] < 1))
    left_out = [f"Left out: {part}." for part in result["left_out"]]
    notes = [OF_SETTINGS.format(point=point), MARKED, *left_out, result["points"]]
    yield Table.from_rows("settings", "Every setting", shown, columns, notes, names=4)
    yield from _table_of_tests(result["tested_gains"], result["in_sample"])


def _add_seed_spread(tested: pd.DataFrame, seeds: pd.DataFrame) -> pd.DataFrame:
    """The tested gains with their spread over other seeds of the explainer; as they are without any seed.

    seeds: the gain with each seed, of all settings and points.
    """
    if seeds.empty:
        return tested
    # A setting without repeats keeps its row, with an unknown spread.
    spread = seeds.groupby([*FACTORS, "point"])["gain"].agg(lowest="min", highest="max")
    return tested.join(spread, on=[*FACTORS, "point"])


def _table_of_tests(tested: pd.DataFrame, in_sample: str) -> Iterator[Table]:
    """No table if nothing was tested."""
    # A sweep without the evaluation of significance has gains at points, and no tests.
    known = tested[tested["test"].notna()]
    if known.empty:
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
    families = sorted(set(known["family"]))
    notes = (
        "Gain at one point per explainer, published or chosen elsewhere, with its 95 % interval by a bootstrap of "
        "clusters of segments; p of the test "
        f"{known['test'].iloc[0]}, and corrected by Holm within its family ({'; '.join(families)}).",
        MARKED,
        *filter(None, [in_sample]),
        *OF_SEEDS[: len(spread)],
    )
    title = "Gains at single points, with intervals and tests"
    yield Table.from_rows("tested_gains", title, tested, columns, notes, names=5)


def _sentences(tables: SweepTables) -> list[str]:
    real = tables.compute_once(settings_without_controls)
    if real.empty:
        return ["The table holds control settings only (random metric or explainer): no conclusion is possible."]
    of_all: Any = tables.compute_once(overview).loc[ALL]
    origins = "; ".join(sorted(set(tables.compute_once(chosen_points)["origin"])))
    between = f", {of_all.unchanged} gain no more than 0.00001" if of_all.unchanged else ""
    without = ", without an interval: it needs 3 language pairs"
    mean = format_interval(of_all.mean_gain, of_all.mean_low, of_all.mean_high, "+.5f", without=without)
    sentences = [
        f"At one (w, p) per explainer, {origins}: {of_all.better} of {pluralize(of_all.n, 'setting')} are better, "
        f"{of_all.worse} equal or worse{between}. Their mean gain in correlation is {mean}. Settings of one "
        f"language pair share its segments: {of_all.clusters_better} of "
        f"{pluralize(of_all.clusters, 'language pair')} have a mean gain above 0 (one-sided sign test "
        f"{p_in_words(of_all.sign_p)})."
    ]
    undefined = real[real["fixed_gain"].isna()]
    if len(undefined):
        labels = [setting_label(*names) for names in undefined[[*FACTORS]].to_numpy()]
        settings = pluralize(len(labels), "further setting")
        sentences.append(f"The gain of {settings} is undefined there: {join_names(labels)}.")
    # An undefined baseline is neither tied nor beaten.
    known = real[np.isfinite(real["baseline"])]
    sentences.append(
        f"For {known['ties_baseline'].sum()} of {pluralize(len(known), 'setting')} the best is the baseline: "
        "no (w, p) with w other than 1 improves them."
    )
    return sentences
