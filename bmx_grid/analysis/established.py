"""What is established: for each explainer one sentence, before any table of best points.

How many settings, the mean gain at a point that was declared before, with its interval; how many single gains survive
the correction for their number; what placebos reach at the same point; what selection hides; the verdict.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bmx_grid.analysis import fixed, tested
from bmx_grid.analysis.base import Cell, Table, point_cells, working
from bmx_grid.analysis.gains import CLUSTERED, GainSummary, summarise
from bmx_grid.analysis.given import Given
from bmx_grid.analysis.table import Floats, GridTable, Setting
from bmx_grid.analysis.tested import MARKED, Tested, by_point, rows_of, setting_of
from bmx_grid.measures.cluster_means import MeanOfClusters, cluster_mean
from bmx_grid.wording import counted, number, point_in_words

PLACEBOS = {
    "random": "random attributions",
    "reassigned": "attributions of another segment",
    "length": "length alone",
    "indicator": "the sign alone",
}
BEYOND = "beyond_length"
ALL, CROSS_FITTED = "all", "cross_fitted"  # in the table of verdicts
NEEDS = {"tests": "significance", "selection": "significance", "placebos": "placebos"}
VERDICT_NUMBERS = (
    *("gain", "gain_low", "gain_high", "beyond_length_gain", "beyond_length_low", "beyond_length_high"),
    *("length_gain", "reassigned_gain", "random_gain"),
)
SWITCHED_ON = "evaluation=[grid,levels,significance,placebos]"
IN_WORDS = {"published": "as published", "elsewhere": "chosen on the other language pairs", "": "as fixed here"}


@dataclass(frozen=True, eq=False)
class OfExplainer:
    """What is established of an explainer, over its settings that are not controls.

    point: "published", "elsewhere" or "", the fixed point of the analysis; w, p: NaN where it differs by setting.
    gains: at this point. survive, lost: single gains, and losses, that survive the correction, of n_tested.
    placebos: by placebo, the mean gain at the same point; beyond_length: what is gained over a base that has the best
    length term already. elsewhere: at points chosen on the other language pairs. best_gain, cross_fitted_gain: means
    over the same n_selected settings, of the best of the grid and of points chosen on half of the clusters and judged
    on the other. verdicts: how often each is given, of `widest_verdicts`. n_seeds: with which each setting was
    explained; seed_deviation: the standard deviation of a gain over them, mean over settings; 0 and NaN where only one
    was.
    """

    point: str
    w: float
    p: float
    gains: GainSummary
    n_tested: int
    survive: int
    lost: int
    placebos: Mapping[str, MeanOfClusters]
    beyond_length: MeanOfClusters | None
    elsewhere: MeanOfClusters | None
    best_gain: float
    cross_fitted_gain: float
    n_selected: int
    n_seeds: int
    seed_deviation: float
    verdicts: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Established:
    """established: by explainer; established_in_words: its sentences, then one for what was not tested.

    tested: all settings at their declared points; seeds: float64[S, R] their gains there with each of R seeds;
    verdict_rows: those of the evaluation, metric by metric.
    """

    established: Mapping[str, OfExplainer]
    established_in_words: Sequence[str]
    tested: Tested = working()
    seeds: Floats = working()
    real: GridTable = working()
    verdict_rows: Sequence[Mapping[str, object]] = working()


def compute(given: Given) -> Established:
    """What the tables of a sweep establish; without them the mean gains at the fixed points alone."""
    real, at = given.real, tested.declared(given)
    evaluation = given.ask(fixed.compute).evaluation
    gain = np.where([point != "" for point in at.points], at.gain, evaluation.gain)
    placebos, seeds = _by_placebo(given, real, at.points), _by_seed(given, real, at.points)
    selection = {setting_of(row): row for row in rows_of(given.frames.get("selection"))}
    verdicts = widest_verdicts(list(rows_of(given.frames.get("verdicts"))))
    there = _elsewhere(given, real)
    found: dict[str, OfExplainer] = {}
    for name in real.factor_levels("explainer"):
        rows = real.where(explainer=name)
        own, clusters, seed = at.take(rows), real.clusters[rows], given.options.seed
        used = evaluation.used.get(name)
        declared = own.points[0]
        place = (_same(own.w), _same(own.p)) if declared or used is None else (used.w, used.p)
        reached = {
            placebo: cluster_mean(values[rows], clusters, seed=seed)
            for placebo, values in placebos.items()
            if np.isfinite(values[rows]).any()
        }
        best, crossed = _selected(selection, [one for one, kept in zip(real.settings, rows, strict=True) if kept])
        found[name] = OfExplainer(
            declared,
            *place,
            gains=summarise(gain[rows], real.baseline[rows], clusters, seed),
            n_tested=int(np.isfinite(own.p_holm).sum()),
            survive=int(own.survives.sum()),
            lost=int(own.lost.sum()),
            placebos={placebo: reached[placebo] for placebo in PLACEBOS if placebo in reached},
            beyond_length=reached.get(BEYOND),
            elsewhere=cluster_mean(there[rows], clusters, seed=seed) if np.isfinite(there[rows]).any() else None,
            best_gain=_mean(best),
            cross_fitted_gain=_mean(crossed),
            n_selected=len(best),
            n_seeds=int(np.isfinite(seeds[rows]).sum(axis=1).max(initial=0)),
            seed_deviation=_deviation(seeds[rows]),
            verdicts=dict(Counter(str(row["verdict"]) for row in verdicts if row.get("explainer") == name)),
        )
    sentences = [_sentence(name, one, at.test) for name, one in found.items()]
    missing = [table for table in NEEDS if table not in given.frames]
    if found and missing:
        sentences.append(_not_tested(missing))
    return Established(found, sentences, at, seeds, real, verdicts)


def tables(result: Established) -> Sequence[Table]:
    """Gains with their tests, placebos and selection by explainer; verdicts by metric; every tested gain."""
    if not result.established:
        return ()
    made = [_gains(result)]
    if any(one.placebos or one.n_selected for one in result.established.values()):
        made.append(_beside(result))
    if result.verdict_rows:
        made.append(_verdicts(result.verdict_rows))
    if result.tested.test:
        made.append(_single(result.real, result.tested, result.seeds))
    return made


def _gains(result: Established) -> Table:
    rows = []
    for name, one in result.established.items():
        gains = one.gains
        rows.append(
            (
                *(Cell(name), *_place(one), Cell(gains.n), Cell(gains.mean_gain, "+.5f")),
                *(Cell(gains.mean_low, "+.5f"), Cell(gains.mean_high, "+.5f"), Cell(gains.clusters)),
                Cell(one.survive if one.n_tested else None, words=_of(one.survive, one.n_tested)),
                Cell(one.lost if one.n_tested else None, words=_of(one.lost, one.n_tested)),
                Cell(_verdicts_in_words(one)),
            )
        )
    header = ("explainer", "w", "p", "settings", "mean gain", "low", "high", "clusters", "gains", "losses", "verdict")
    tests = f"of the test {result.tested.test}, family: {result.tested.family}" if result.tested.test else "of a test"
    notes = (
        CLUSTERED.partition(" Above 0:")[0],
        f"Gains, losses: how many single ones survive Holm's correction ({tests}). Verdict: what the placebos leave of "
        "it, and how often.",
    )
    return Table("established", "What is established", header, (tuple(rows),), notes, brief=True)


def _beside(result: Established) -> Table:
    """What the same point or selection gives without an explanation."""
    rows = []
    for name, one in result.established.items():
        reached = [one.placebos[placebo].mean if placebo in one.placebos else None for placebo in PLACEBOS]
        beyond = one.beyond_length
        past = (None, None, None) if beyond is None else (beyond.mean, beyond.low, beyond.high)
        chosen = (one.best_gain, one.cross_fitted_gain) if one.n_selected else (None, None)
        values = (one.gains.mean_gain, *reached, *past, *chosen)
        rows.append((Cell(name), *(Cell(value, "+.5f") for value in values)))
    names = [placebo.replace("_", " ") for placebo in PLACEBOS]
    header = ("explainer", "mean gain", *names, "beyond length", "low", "high", "best of grid", "chosen on half")
    notes = (
        "Mean gains over the settings of the explainer at the same point: of random attributions, attributions of "
        "another segment, a term in the number of words alone, and the indicator that no attribution was <= 0; beyond "
        "length: over a base that has the best length term already, with its interval by clusters.",
        "Best of grid: chosen where it is judged; chosen on half: of the clusters of segments, and judged on the "
        "other half, not boosting among the choices. What lies between them is what selection hides.",
    )
    return Table("placebos", "What placebos and selection reach", header, (tuple(rows),), notes, brief=True)


def _verdicts(rows: Sequence[Mapping[str, object]]) -> Table:
    """The verdicts with the numbers behind them."""
    numbers = [name for name in VERDICT_NUMBERS if all(name in row for row in rows)]
    body = [
        (
            *(Cell(str(row[name])) for name in ("dataset", "language_pair", "metric", "explainer", "verdict")),
            *(Cell(float(str(row[name])), "+.4f") for name in numbers),
            Cell(str(row["because"])),
        )
        for row in rows
    ]
    header = (
        "data set",
        "language pair",
        "metric",
        "explainer",
        "verdict",
        *(one.replace("_", " ") for one in numbers),
    )
    notes = (
        "At points chosen on other clusters of segments (cross-fitted), for placebos as for the boost. Beyond length: "
        "more is gained than a term in the number of words and attributions of other segments give; length: the gain "
        "is above 0, but these may explain it; selection: it is not, and lies below the best of the grid; nothing "
        "established: the interval holds 0. Data set or language pair all: over several, each pair counted once.",
    )
    return Table("verdicts", "Verdict by metric and explainer", (*header, "because"), (tuple(body),), notes, names=5)


def _single(real: GridTable, at: Tested, seeds: Floats) -> Table:
    """Every setting at its declared point; with several seeds the lowest and highest of their gains."""
    several = seeds.shape[1] > 1
    rows = []
    for row, setting in enumerate(real.settings):
        if math.isnan(at.gain[row]):
            continue
        cells = (Cell(float(at.baseline[row]), ".4f"), Cell(float(at.gain[row]), "+.4f", marked=bool(at.survives[row])))
        ends = (Cell(float(at.low[row]), "+.4f"), Cell(float(at.high[row]), "+.4f"))
        tests = (Cell(float(at.p_value[row]), ".3g"), Cell(float(at.p_holm[row]), ".3g"))
        sizes = tuple(
            Cell(int(one), ",") if math.isfinite(one) else Cell(None) for one in (at.n[row], at.clusters[row])
        )
        own = seeds[row][np.isfinite(seeds[row])]
        reached = [Cell(float(own.min()), "+.4f"), Cell(float(own.max()), "+.4f")] if len(own) else [Cell(None)] * 2
        spread = [Cell(len(own)), *reached] if several else []
        rows.append((*map(Cell, setting), Cell(at.points[row]), *cells, *ends, *tests, *sizes, *spread))
    header = ("data set", "language pair", "metric", "explainer", "point", "baseline", "gain", "low", "high")
    notes = (
        f"Gain at the declared point with its 95 % interval by a bootstrap of clusters of segments; p of the test "
        f"{at.test}, and corrected by Holm within its family ({at.family}).",
        MARKED,
        *(["Seeds: the gain with other draws of the explainer, which the interval does not contain."] * several),
    )
    return Table(
        "tested_gains",
        "Gains at declared points, with intervals and tests",
        (*header, "p", "p (Holm)", "segments", "clusters", *(("seeds", "lowest", "highest") if several else ())),
        (tuple(rows),),
        notes,
        names=5,
    )


def _sentence(name: str, one: OfExplainer, test: str) -> str:
    gains = one.gains
    if one.point and math.isnan(one.w):
        at = f"at points {IN_WORDS[one.point]}"
    else:
        at = f"at {point_in_words(one.w, one.p)}, {IN_WORDS[one.point]}"
    parts = [
        f"{name} ({at}): the mean gain over {counted(gains.n, 'setting')} is "
        f"{_with_interval(gains.mean_gain, gains.mean_low, gains.mean_high)} on "
        f"{counted(gains.clusters, 'cluster')} (data set x language pair)"
    ]
    if one.n_tested:
        lost = f" (and {one.lost} {'loss' if one.lost == 1 else 'losses'})" if one.lost else ""
        parts.append(f"{one.survive} of {one.n_tested} single gains{lost} survive Holm's correction ({test})")
    reached = [
        f"{words} {_signed(one.placebos[kind].mean)}" for kind, words in PLACEBOS.items() if kind in one.placebos
    ]
    if reached:
        parts.append(f"placebos reach {', '.join(reached)}")
    if one.beyond_length is not None:
        beyond = one.beyond_length
        parts.append(f"beyond length it is {_with_interval(beyond.mean, beyond.low, beyond.high)}")
    if one.n_seeds > 1:
        parts.append(f"over {one.n_seeds} seeds a single gain deviates by {number(one.seed_deviation, '.4f')}")
    if one.elsewhere is not None:
        there = one.elsewhere
        parts.append(f"chosen on the other language pairs {_with_interval(there.mean, there.low, there.high)}")
    if one.n_selected:
        parts.append(
            f"the best of the grid gains {_signed(one.best_gain)}, points chosen on half of the clusters "
            f"{_signed(one.cross_fitted_gain)} on the other half: selection hides "
            f"{_signed(one.best_gain - one.cross_fitted_gain)}"
        )
    if one.verdicts:
        parts.append(f"verdicts at cross-fitted points: {_verdicts_in_words(one)}")
    return "; ".join(parts) + "."


def _not_tested(missing: Sequence[str]) -> str:
    if len(missing) == len(NEEDS):
        return (
            "Nothing was tested: no interval or test of a single gain, no placebo, no correction for selection. A "
            f"sweep with {SWITCHED_ON} writes them beside its grid, and the analysis of its folder shows them."
        )
    evaluations = " and ".join(sorted({NEEDS[table] for table in missing}))
    files = " and ".join(f"{table}.parquet" for table in missing)
    return f"Not known here: {files} is not beside the grid; a sweep with the evaluation {evaluations} writes it."


def widest_verdicts(rows: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """For each metric and explainer the verdicts on the most language pairs: of all data sets, else of each data set,
    else of each pair; at the cross-fitted point, which every setting has, where verdicts speak of several.
    """
    kept = [row for row in rows if row.get("point", CROSS_FITTED) == CROSS_FITTED]
    found: list[Mapping[str, object]] = []
    for names in dict.fromkeys((row["metric"], row["explainer"]) for row in kept):
        own = [row for row in kept if (row["metric"], row["explainer"]) == names]
        width = max(_width(row) for row in own)
        found += [row for row in own if _width(row) == width]
    return found


def _width(row: Mapping[str, object]) -> int:
    return (row["dataset"] == ALL) + (row["language_pair"] == ALL)


def _with_interval(mean: float, low: float, high: float) -> str:
    if math.isnan(low) or math.isnan(high):
        return f"{_signed(mean)} (fewer than 3 clusters: no interval)"
    return f"{_signed(mean)} [{_signed(low)}, {_signed(high)}]"


def _signed(value: float) -> str:
    return number(value, "+.4f")


def _of(count: int, total: int) -> str:
    return f"{count} of {total}" if total else "not tested"


def _verdicts_in_words(one: OfExplainer) -> str:
    total = sum(one.verdicts.values())
    told = (f"{verdict} ({count} of {total})" for verdict, count in sorted(one.verdicts.items()))
    return ", ".join(told) or "not tested"


def _place(one: OfExplainer) -> tuple[Cell, Cell]:
    if math.isnan(one.w):
        words = "varies" if one.point else "no point"
        return Cell(math.nan, words=words), Cell(math.nan, words=words)
    return point_cells(one.w, one.p)


def _same(values: Floats) -> float:
    """The value that all defined ones share; NaN where they differ."""
    kept = set(values[~np.isnan(values)].tolist())
    return kept.pop() if len(kept) == 1 else math.nan


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def _selected(selection: Mapping[Setting, Mapping[str, object]], settings: Sequence[Setting]) -> tuple[Floats, Floats]:
    """Gains of the best of the grid and cross-fitted ones, of the settings that have both."""
    found = [selection[one] for one in settings if one in selection]
    pairs = np.array([[row["best_gain"], row["cross_fitted_gain"]] for row in found], dtype=np.float64).reshape(-1, 2)
    kept = pairs[np.isfinite(pairs).all(axis=1)]
    return kept[:, 0], kept[:, 1]


def _elsewhere(given: Given, real: GridTable) -> Floats:
    """float64[S] gains at points chosen on the other language pairs, NaN where there are none."""
    rows = by_point(given.frames.get("points"))
    reached = [rows.get(("elsewhere", setting)) for setting in real.settings]
    return np.array([math.nan if row is None else float(row["gain"]) for row in reached], dtype=np.float64)


def _by_placebo(given: Given, real: GridTable, points: Sequence[str]) -> dict[str, Floats]:
    """By placebo the gains float64[S] of the settings at their declared points, NaN where not evaluated."""
    frame = given.frames.get("placebos")
    if frame is None:
        return {}
    found = {}
    for placebo in (*PLACEBOS, BEYOND):
        rows = by_point(frame[frame["placebo"] == placebo])
        reached = [rows.get((point, setting)) for point, setting in zip(points, real.settings, strict=True)]
        found[placebo] = np.array([math.nan if row is None else float(row["gain"]) for row in reached])
    return found


def _by_seed(given: Given, real: GridTable, points: Sequence[str]) -> Floats:
    """float64[S, R] gains of the settings at their declared points with each of R seeds, NaN where not evaluated."""
    frame = given.frames.get("seeds")
    known = [] if frame is None else sorted(set(frame["seed"].tolist()))
    found = np.full((len(real), len(known)), np.nan)
    for at, seed in enumerate(known):
        rows = by_point(None if frame is None else frame[frame["seed"] == seed])
        for row, (point, setting) in enumerate(zip(points, real.settings, strict=True)):
            one = rows.get((point, setting))
            found[row, at] = math.nan if one is None else float(one["gain"])
    return found


def _deviation(seeds: Floats) -> float:
    """The mean over settings of the standard deviation over seeds, of settings with at least two."""
    kept = seeds[np.isfinite(seeds).sum(axis=1) > 1]
    return float(np.nanstd(kept, axis=1, ddof=1).mean()) if len(kept) else math.nan
