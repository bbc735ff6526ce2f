"""Gains at one (w, p) per explainer (paper 4.3 to 4.5): what was tested of them, and their summaries.

Settings of one data set and language pair share segments and human scores, so that intervals and tests count these
clusters, not settings: 15 of 18 settings on six language pairs are 5 of 6 pairs; the sign test gives p = .109, not
.004.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bmx_grid.analysis.base import CONTROL, FACTORS, Column, Given, GridTable, Table
from bmx_grid.analysis.points import best_of_all, chosen_points, gains_at, points_in_words
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import P_VALUE
from bmx_grid.evaluations.boost_evidence import ELSEWHERE, PUBLISHED
from bmx_grid.evaluations.grid import PointRow
from bmx_grid.evaluations.significance import Row as Comparison
from bmx_grid.measures.correlation import better, correlate, worse
from bmx_grid.measures.grid import Point
from bmx_grid.measures.resampling import BOOTSTRAPPED, cluster_mean

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05
DECLARED = (PUBLISHED, ELSEWHERE)  # points that were not chosen where they are judged; the first that is there
# Of several tests of one gain the one whose p value is shown: permutations need no assumption about the scores.
PREFERRED = ("perm_inputs", "perm_both", "perm_systems", "bootstrap", "williams")
SAME = 1e-6  # how far the gain of a point and the difference that was tested may lie apart, by rounding
SURVIVES = f"it survives Holm's correction at {ALPHA:.2f} within its family".replace("0.", ".")
MARKED = f"Bold, and † in plain text: a gain above 0 where {SURVIVES}; nothing else is marked."
COUNTED = "Better: gain above 1e-5; equal or worse: gain of 0 or less; between: a gain up to 1e-5."
CLUSTERED = (
    "In brackets: 95 % interval of the mean gain over the language pairs of all data sets: by Student's t, from "
    f"{BOOTSTRAPPED} pairs on by a bootstrap of them (none with fewer than 3)."
)
SIGN_TEST = "Above 0: pairs whose mean gain is; sign test p: one-sided, of these counts."
MEAN = ("mean_gain", "mean_low", "mean_high")
SUMMARY = (
    "n",
    "better",
    Column("worse", "equal or worse"),
    Column("unchanged", "between"),
    "undefined",
    Column("mean_gain", "mean gain", "+.5f", MEAN[1:]),
    Column("clusters", "pairs"),
    Column("clusters_better", "above 0"),
    Column("sign_p", "sign test p", P_VALUE),
)
AT_POINT = {  # columns of `declared_points`, by the names that they have beside every setting
    **{"w": "fixed_w", "p": "fixed_p", "low": "fixed_gain_low", "high": "fixed_gain_high"},
    **{"p_value": "fixed_gain_p", "p_holm": "fixed_gain_p_holm"},
}
OF_TEST = ("test", "family", "low", "high", "p_value", "p_holm", "n", "clusters")


def summarise(settings: pd.DataFrame, seed: int = 0, gain: str = "fixed_gain") -> dict[str, Any]:
    """The summary of a column of gains, NaN = undefined, above the column baseline, of settings in a column cluster.

    n: settings with a defined gain; undefined: the others, counted in nothing else. better, worse: as in `correlation`,
    a gain above 1e-5, and one of 0 or less; unchanged: the rest; positive: better and unchanged.
    max_gain, mean_gain, mean_baseline: over the n settings; NaN if there are none.
    mean_low, mean_high: 95 % interval of the mean gain over clusters (`cluster_mean`); NaN with fewer than 3 of
    them. clusters: how many there are; clusters_better: those with a mean gain above 0; sign_p: the one-sided sign test
    of these. seed: of the bootstrap.
    """
    defined = settings[settings[gain].notna()]
    gains, baseline = defined[gain].to_numpy(), defined["baseline"].to_numpy()
    n, n_better, n_worse = len(gains), int(better(gains).sum()), int(worse(gains).sum())
    mean = cluster_mean(gains, defined["cluster"].to_numpy(), seed=seed)
    return {
        "n": n,
        "better": n_better,
        "worse": n_worse,
        "unchanged": n - n_better - n_worse,
        "undefined": len(settings) - n,
        "positive": n - n_worse,
        "max_gain": float(gains.max()) if n else math.nan,
        "mean_gain": mean["mean"],
        "mean_baseline": float(baseline.mean()) if n else math.nan,
        "mean_low": mean["low"],
        "mean_high": mean["high"],
        "clusters": mean["clusters"],
        "clusters_better": mean["positive"],
        "sign_p": mean["p"],
    }


def summaries(settings: pd.DataFrame, by: str | Sequence[str], seed: int, gain: str = "fixed_gain") -> pd.DataFrame:
    """A summary per group of settings, by the names of the group."""
    import pandas as pd

    factors = [by] if isinstance(by, str) else list(by)
    rows = [
        {**dict(zip(factors, names, strict=True)), **summarise(group, seed, gain)}
        for names, group in settings.groupby(factors)
    ]
    columns = [*factors, *summarise(settings[:0], seed, gain)]
    return pd.DataFrame(rows, columns=columns).set_index(factors)


def declared_points(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Every setting at each of its declared points, with what was tested of its gain there; NaN where nothing was.

    Columns: those of points.parquet, low, high: 95 % interval of the gain, by a bootstrap of clusters of segments;
    p_value, p_holm: of the test `test`, alone and corrected within `family`; survives: a gain above 0 that survives the
    correction; n, clusters: segments and clusters behind the test.
    Of several judgements the first counts, which is the primary one. A test of another statistic than the grid's speaks
    of another gain, whose interval must not stand beside this one: its rows are left out.
    """
    import pandas as pd

    key = [*FACTORS, "point"]
    points = frames.get("points", pd.DataFrame(columns=[*key, "w", "p", "baseline", "gain"]))
    points = points[points["point"].isin(DECLARED)].drop_duplicates(key).drop(columns="n", errors="ignore")
    tests = frames.get("tests", pd.DataFrame(columns=[*key, "level", "grouping", "against"]))
    alone = tests["against"] == tests["metric"]
    tests = tests[alone & (tests["level"] == "segment") & (tests["grouping"] == "none")]
    tests = tests.rename(columns={"p": "p_value"}).reindex(columns=[*key, "difference", *OF_TEST])
    tests = tests[tests["p_value"].notna()]
    both = points.merge(tests, on=key, how="left")
    both = both[~((both["difference"] - both["gain"]).abs() > SAME)]
    test = next((name for name in PREFERRED if (both["test"] == name).any()), "")
    best = both[both["test"] == test].drop_duplicates(key)[[*key, *OF_TEST]]
    frame = points.merge(best, on=key, how="left")
    return frame.assign(survives=(frame["p_holm"].astype(float) <= ALPHA) & (frame["gain"] > 0))


def tested_points(given: Given) -> dict[str, pd.DataFrame]:
    """The frames that `declared_points` reads, those that are there. Raises DataError for a damaged one."""
    frames = {"points": given.frame("points", PointRow), "tests": given.frame("tests", Comparison)}
    return {name: frame for name, frame in frames.items() if frame is not None}


def declared(given: Given) -> pd.DataFrame:
    """The settings that are not controls at the declared point of their explainer: published, or chosen elsewhere.

    An explainer has one kind of point for all its settings, the first of DECLARED at which a gain of one is defined.
    """
    real = given.real.frame.drop(columns="baseline")
    points = real.merge(declared_points(tested_points(given)), on=list(FACTORS))
    known = points[points["gain"].notna()]
    first = known["point"].map(DECLARED.index).groupby(known["explainer"]).min()
    return points[points["point"].map(DECLARED.index) == points["explainer"].map(first)]


def at_points(given: Given) -> pd.DataFrame:
    """Every setting, with its best point and at the point of its explainer; controls have none.

    Columns beside those of `points.best_points`: fixed: correlation at fixed_w, fixed_p, the grid point that is used;
    fixed_gain; fixed_gain_low, fixed_gain_high: its 95 % interval; fixed_gain_p, fixed_gain_p_holm: of its test, alone
    and corrected; survives: a gain above 0 that survives. These where the sweep tested this point, else NaN and False.
    """
    frame, points = given.ask(best_of_all), given.ask(chosen_points)
    used = points[["used_w", "used_p"]].set_axis(["fixed_w", "fixed_p"], axis=1)
    frame = frame.join(used, on="explainer")
    frame.loc[frame["control"], ["fixed_w", "fixed_p"]] = math.nan
    frame["fixed_gain"] = gains_of(given.table, frame["explainer"].where(~frame["control"]), points)
    frame["fixed"] = frame["baseline"] + frame["fixed_gain"]
    tested = declared_points(tested_points(given)).astype({"w": float, "p": float}).rename(columns=AT_POINT)
    tested["fixed_p"] = tested["fixed_p"].where(tested["fixed_w"] != 1)  # the metric alone, whatever its p
    key = [*FACTORS, "fixed_w", "fixed_p"]
    tested = tested.drop_duplicates(key)[[*FACTORS, *AT_POINT.values(), "survives"]]
    frame = frame.merge(tested, on=key, how="left")
    return frame.assign(survives=frame["survives"].fillna(False).astype(bool))


def gains_of(table: GridTable, explainers: ArrayLike, points: pd.DataFrame) -> Floats:
    """float64[S] gains of the settings of a table, each at the chosen point of the explainer named for it."""
    gain = np.full(len(table), np.nan)
    names = np.asarray(explainers, dtype=object)
    for explainer, point in points.iterrows():
        rows = names == explainer
        gain[rows] = gains_at(table, Point(point["p"], point["w"]))[rows]
    return gain


def real_at_points(given: Given) -> pd.DataFrame:
    """The settings that are not controls, at the points of their explainers."""
    settings = given.ask(at_points)
    return settings[~settings["control"]].reset_index(drop=True)


def compute(given: Given) -> dict[str, Any]:
    """Gains at the point of each explainer, by explainer, by factor and name; and of control settings.

    fixed: by explainer its point and a summary; fixed_by: by explainer, factor and name.
    gain_baseline_pearson: Pearson's r of the gain with the baseline, of all and by explainer: is a weak metric easier
    to improve? The gain is coupled to the baseline, so that noise alone makes this negative; gain_baseline_oldham: the
    same with the mean of baseline and boosted correlation (Oldham 1962), which noise in both does not move.
    controls: summaries of the control settings, read at the points of the real explainers: at the median of its own
    best points, which is mostly w = 1, the random explainer would gain nothing by construction. Best of the grid: of
    the gains at the best point of each setting of a metric that is no control. judged: whether boosts have verdicts.
    """
    import pandas as pd

    real, points, seed = given.ask(real_at_points), given.ask(chosen_points), given.seed
    by = {factor: summaries(real, ["explainer", factor], seed) for factor in FACTORS[:3]}
    return {
        "fixed": points.join(summaries(real, "explainer", seed)),
        "fixed_by": pd.concat(by, names=["factor"]).rename_axis(["factor", "explainer", "name"]),
        "gain_baseline_pearson": _of_baseline(real, 0.0),
        "gain_baseline_oldham": _of_baseline(real, 0.5),
        "controls": _controls(given),
        "judged": given.judged,
        "points": points_in_words(points),
    }


def _of_baseline(real: pd.DataFrame, part: float) -> dict[str, float]:
    """Pearson's r of the gain with the baseline plus this part of the gain, by explainer and of all settings."""
    correlations = {}
    for name, group in [*real.groupby("explainer"), ("all", real)]:
        gain = group["fixed_gain"]
        correlations[str(name)] = correlate("pearson", gain.to_numpy(), (group["baseline"] + part * gain).to_numpy())
    return correlations


def _controls(given: Given) -> pd.DataFrame:
    import pandas as pd

    table, points, settings = given.table, given.ask(chosen_points), given.ask(at_points)
    random_metric, random = settings["metric"] == CONTROL, settings["explainer"] == CONTROL
    parts = {}
    if (random & ~random_metric).any():
        every = [
            settings.assign(explainer=name, gain=gains_of(table, [name] * len(table), points))[random & ~random_metric]
            for name in points.index
        ]
        parts["random explainer"] = pd.concat([settings[:0], *every])
        parts["best of the grid"] = settings[~random_metric]
    if (random_metric & ~random).any():
        gain = gains_of(table, settings["explainer"], points)
        parts["random metric"] = settings.assign(gain=gain)[random_metric & ~random]
    frames = {name: summaries(part, "explainer", given.seed, "gain") for name, part in parts.items()}
    return pd.concat(frames, names=["control"]) if frames else pd.DataFrame()


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """Gains by data set, language pair and metric, where boosts have no verdicts; control settings."""
    notes = (COUNTED, f"{CLUSTERED} {SIGN_TEST}", result["points"])
    by_factor, controls = result["fixed_by"].reset_index(), result["controls"].reset_index()
    if len(by_factor) and not result["judged"]:
        columns: tuple[Any, ...] = (
            "factor",
            "name",
            "explainer",
            *SUMMARY,
            Column("mean_baseline", "mean baseline", ".4f"),
        )
        title = "Gains at the fixed points by data set, language pair and metric"
        yield Table.of("gains_by_factor", title, by_factor, columns, notes, by=["factor"], names=3)
    if len(controls):
        note = (
            "Random explainer: attributions drawn at random for real metrics, at the points of the real explainers. "
            "Random metric: real explainers with a metric that is noise, at their points. Best of the grid: at the "
            "best point of each setting, chosen where it is judged, the metric alone among them; what random "
            "attributions reach there is found by looking at the whole grid, not by an explanation."
        )
        columns = ("control", "explainer", *SUMMARY)
        notes = (note, *notes[:2])
        yield Table.of("controls", "Control settings", controls, columns, notes, by=["control"], names=2)
