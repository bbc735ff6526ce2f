"""What was run and found: the answer, counts in a few sentences and tables, every setting, and what was tested."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bmx_grid.analysis import answers, marked_words, placebos
from bmx_grid.analysis.base import FACTORS, Column, Given, Table, rows_by
from bmx_grid.analysis.declared_gains import MARKED, DeclaredGain, declared
from bmx_grid.analysis.gain_summaries import CLUSTERED, COUNTED, SIGN_TEST, SUMMARY_COLUMNS
from bmx_grid.analysis.gains import FixedSummary, SettingAtPoints, at_points, overview, real_at_points
from bmx_grid.analysis.points import chosen_points, in_sample_in_words, points_in_words
from bmx_grid.core.wording import P_VALUE, counted, named, p_in_words, with_interval, written
from bmx_grid.evaluations.boost_evidence import ALL
from bmx_grid.evaluations.verdicts import Verdict
from bmx_grid.measures.correlation import FEWEST
from bmx_grid.sweep.results import SeedRow

OF_SETTINGS = (
    "Correlation with human scores: baseline, the metric alone; in-sample best, at each setting's own best point, "
    "chosen where it is judged, with its w and p; plateau: points with w below 1 within 0.00001 of the highest of "
    "these; fixed, at the point of the explainer, none for controls. In brackets: 95 % intervals, by a bootstrap of "
    "clusters of segments."
)
OF_SEEDS = ("Lowest, highest: the gain with other seeds of the explainer, which the interval does not contain.",)


@dataclass(frozen=True)
class SeededGain(DeclaredGain):
    """A tested gain with its spread over other draws of the explainer; NaN without them."""

    lowest: float = math.nan
    highest: float = math.nan


@dataclass(frozen=True)
class Headline:
    """What was run, and what it gains.

    headline: sentences on the gains at one (w, p) per explainer, none where boosts have verdicts. overview: by
    explainer, and of all, point and summary at the fixed points. Counts of the whole table, controls included; every
    setting by its label.

    n_correlations: those with w other than 1, n_undefined of them NaN. single_gains: how many gains at declared points
    were tested, and how many survive Holm's correction; tested_gains: these, with their spread over other draws of the
    explainer where there are several. in_sample: which of them were chosen where they are judged, in a sentence.
    """

    headline: Sequence[str]
    overview: Mapping[str, FixedSummary]
    points: str
    n_settings: int
    n_correlations: int
    n_settings_without_controls: int
    n_undefined: int
    left_out: Sequence[str]
    grid: Mapping[str, Any]
    single_gains: Mapping[str, int]
    tested_gains: Sequence[DeclaredGain]
    in_sample: str
    settings: Mapping[str, SettingAtPoints]


def compute(given: Given) -> Headline:
    """The answer in numbers, and every setting."""
    table = given.table
    tested = given.ask(declared)
    n_tested = sum(not math.isnan(row.p_holm) for row in tested)
    n_survive = sum(row.survives for row in tested)
    labels = [setting.label for setting in table.settings]
    defined = [row for row in tested if not math.isnan(row.gain)]
    boosted = table.correlation[:, :, table.boosted]
    return Headline(
        headline=[] if given.judged or not len(table) else _sentences(given),
        overview=given.ask(overview),
        points=points_in_words(given.ask(chosen_points)),
        n_settings=len(table),
        n_correlations=table.n_boosted,
        n_settings_without_controls=len(given.real),
        n_undefined=int(np.isnan(boosted).sum()),
        left_out=table.left_out,
        grid={"p": table.p, "w": table.w, "side": table.side},
        single_gains={"tested": n_tested, "survive": n_survive},
        tested_gains=_with_seeds(defined, given.rows("seeds", SeedRow)),
        in_sample=given.ask(in_sample_in_words),
        settings=dict(zip(labels, given.ask(at_points), strict=True)),
    )


def answer(given: Given, most: int | None = None) -> list[str]:
    """The answer, said with the same words everywhere: verdicts, placebos, the legend, what to do next, words, and
    whether it is evidence at all.

    most: verdicts that are said; all of them for None.
    """
    # The same sentences in the terminal, on the page and in answers of the package: they are made here alone.
    of_boosts = given.ask(answers.compute)
    of_words = given.ask(marked_words.compute)
    lines = list(of_boosts.answers[:most])
    more = len(of_boosts.answers) - len(lines)
    if more > 0:
        lines.append(f"{more} more in report.html")
    lines += of_boosts.not_judged
    lines += _without_correlation(given)
    lines += given.ask(placebos.compute).unbeaten
    lines += of_boosts.legend
    lines += filter(None, [of_boosts.families, of_boosts.unnamed, of_boosts.next_steps])
    return [*lines, *of_words.words_in_words, *of_words.plausibility_in_words, *not_evidence(given)]


def _without_correlation(given: Given) -> list[str]:
    """A sentence on the metrics whose correlation with the human scores is undefined, per data and reason."""
    with_verdict = {(row.metric, row.explainer) for row in given.rows("verdicts", Verdict)}
    metrics: dict[tuple[str, str], dict[str, None]] = {}
    for row in given.settings:
        # without the grid a setting has no baseline: then a metric without any verdict is meant
        has_grid = row.correlation != ""
        is_missing = given.judged and (row.metric, row.explainer) not in with_verdict
        if not math.isnan(row.baseline) or not (has_grid or is_missing):
            continue
        reason = "all scores of the metric are equal, or all human scores"
        if has_grid and row.n_used < FEWEST:
            reason = f"{counted(row.n_used, 'segment')} with both scores, and a correlation needs {FEWEST}"
        place = f"{row.dataset} {row.language_pair}"
        # a metric is named once, however many explainers it has
        metrics.setdefault((place, reason), {})[row.metric] = None
    sentences = []
    for (place, reason), names in metrics.items():
        sentences.append(f"{', '.join(names)}: no correlation with the human scores of {place}: {reason}.")
    return sentences


def not_evidence(given: Given) -> list[str]:
    """A sentence where segments of the sweep were made up."""
    if not given.constructed:
        return []
    datasets = [written(name) for name in given.constructed]
    return [f"constructed sample: not evidence ({named(datasets)})."]


def tables(result: Headline) -> Iterator[Table]:
    """Per explainer its point and what it gains there, without verdicts; every setting; gains that were tested."""
    notes = [COUNTED, f"{CLUSTERED} {SIGN_TEST}", result.points]
    if result.headline and result.overview:
        point = (Column("used_w", "w", "g"), Column("used_p", "p", "g"))
        rows = []
        for name, row in result.overview.items():
            rows.append({"explainer": name, **vars(row), "total": name == ALL})
        title = "Gains at one (w, p) per explainer"
        columns: tuple[Any, ...] = ("explainer", *point, *SUMMARY_COLUMNS)
        yield Table.of("overview", title, rows, columns, notes, by=["total"], brief=True)
    columns = (
        *FACTORS,
        Column("baseline", form=".4f"),
        Column("best", "in-sample best", ".4f"),
        Column("best_w", "w", "g"),
        Column("best_p", "p", "g"),
        "plateau",
        Column("fixed", form=".4f"),
        Column("fixed_gain", "gain at fixed", "+.4f", marked="survives"),
    )
    shown = []
    for setting in result.settings.values():
        # p means nothing at w = 1.
        if not setting.best_w < 1:
            setting = replace(setting, best_p=math.nan)
        shown.append(setting)
    if not shown:
        return
    left_out = [f"Left out: {part}." for part in result.left_out]
    notes = [OF_SETTINGS, MARKED, *left_out, result.points]
    yield Table.of("settings", "Every setting", shown, columns, notes, names=4)
    yield from _table_of_tests(result.tested_gains, result.in_sample)


def _with_seeds(tested: Sequence[DeclaredGain], seeds: Sequence[SeedRow]) -> Sequence[DeclaredGain]:
    """The tested gains as rows with their spread over other seeds of the explainer; as they are without any seed.

    seeds: the gain with each seed, of all settings and points.
    """
    if not seeds:
        return tested
    by_point = rows_by(seeds, lambda row: (row.setting_names, row.point))
    seeded = []
    for row in tested:
        gains = [seed.gain for seed in by_point.get((row.setting, row.point), [])]
        # A setting without repeats keeps its row, with an unknown spread.
        if not gains:
            gains = [math.nan]
        seeded.append(SeededGain(**vars(row), lowest=min(gains), highest=max(gains)))
    return seeded


def _table_of_tests(tested: Sequence[DeclaredGain], in_sample: str) -> Iterator[Table]:
    """No table where nothing was tested."""
    # A sweep without the evaluation of significance has gains at points, and no tests.
    known = [row for row in tested if row.test is not None]
    if not known:
        return
    several = isinstance(tested[0], SeededGain)
    spread = [Column(name, form="+.4f") for name in ("lowest", "highest") if several]
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
    families = sorted({str(row.family) for row in known})
    notes = (
        "Gain at the declared point with its 95 % interval by a bootstrap of clusters of segments; p of the test "
        f"{known[0].test}, and corrected by Holm within its family ({'; '.join(families)}).",
        MARKED,
        *filter(None, [in_sample]),
        *OF_SEEDS[: len(spread)],
    )
    title = "Gains at declared points, with intervals and tests"
    yield Table.of("tested_gains", title, tested, columns, notes, names=5)


def _sentences(given: Given) -> list[str]:
    real = given.ask(real_at_points)
    if not real:
        return ["The table holds control settings only (random metric or explainer): there is nothing to conclude."]
    all_of = given.ask(overview)[ALL]
    origins = "; ".join(sorted({point.origin for point in given.ask(chosen_points).values()}))
    between = f", {all_of.unchanged} gain no more than 0.00001" if all_of.unchanged else ""
    without = ", without an interval: it needs 3 language pairs"
    mean = with_interval(all_of.mean_gain, all_of.mean_low, all_of.mean_high, "+.5f", without=without)
    sentences = [
        f"At one (w, p) per explainer, {origins}: {all_of.better} of {counted(all_of.n, 'setting')} are better, "
        f"{all_of.worse} equal or worse{between}. Their mean gain in correlation is {mean}. Settings of one "
        f"language pair share its segments: {all_of.clusters_better} of "
        f"{counted(all_of.clusters, 'language pair')} have a mean gain above 0 (one-sided sign test "
        f"{p_in_words(all_of.sign_p)})."
    ]
    labels = [row.setting.label for row in real if math.isnan(row.fixed_gain.value)]
    if labels:
        undefined = counted(len(labels), "further setting")
        sentences.append(f"The gain of {undefined} is undefined there: {named(labels)}.")
    # An undefined baseline is neither tied nor beaten.
    known = [row for row in real if math.isfinite(row.baseline)]
    n_tied = sum(row.ties_baseline for row in known)
    sentences.append(
        f"For {n_tied} of {counted(len(known), 'setting')} the best is the metric "
        "alone: no (w, p) with w other than 1 improves them."
    )
    return sentences
