"""What was run, and what each metric reaches: per language pair alone, at the point of each explainer, at its best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.base import Column, Table
from bmx_grid.analysis.gains import MARKED, MEAN, at_points, declared, real_at_points, summaries
from bmx_grid.analysis.points import chosen_points, points_in_words
from bmx_grid.analysis.table import FACTORS, Given, GridTable
from bmx_grid.core.wording import file_stem

if TYPE_CHECKING:
    import pandas as pd

READ = (
    "Correlation with human scores: baseline, the metric alone; fixed, at the point of the explainer; gain, of the "
    "fixed point over the metric alone; best, at each setting's own best point, chosen where it is judged. Average: "
    "over all language pairs, n/a where one is undefined or was not run. Baselines of explainers may differ slightly; "
    "shown is that of the first. In brackets: 95 % intervals of gains, by a bootstrap of clusters of segments; of "
    "average gains over language pairs, none with fewer than 3."
)
AVERAGE, GAIN = "average", "+.4f"
SHOWN = ("fixed", "fixed_gain", "fixed_gain_low", "fixed_gain_high", "survives", "best")  # of each explainer
NUMBERS = (
    *("baseline", "best", "best_w", "best_p", "gain", "ties_baseline", "plateau", "fixed", "fixed_w", "fixed_p"),
    *("fixed_gain", "fixed_gain_low", "fixed_gain_high", "fixed_gain_p", "fixed_gain_p_holm"),
)


def compute(given: Given) -> dict[str, Any]:
    """Counts of the whole table, controls included; every setting by its label; results by metric and language pair.

    n_correlations: those with w other than 1, n_undefined of them NaN. single_gains: how many gains at declared points
    were tested, and how many gains and losses survive Holm's correction; tested_gains: these.
    """
    table, settings, tested = given.table, given.ask(at_points), given.ask(declared)
    labels = [setting.label for setting in table.settings]
    return {
        "n_settings": len(table),
        "n_correlations": table.n_boosted,
        "n_settings_without_controls": len(given.real),
        "n_undefined": int(np.isnan(table.correlation[:, :, table.boosted]).sum()),
        "left_out": table.left_out,
        "grid": {"p": table.p, "w": table.w, "side": table.side},
        "counts": _counts(given),
        "single_gains": {
            "tested": int(tested["p_holm"].notna().sum()),
            "survive": int(tested["survives"].sum()),
            "lost": int(tested["lost"].sum()),
        },
        "tested_gains": _with_seeds(tested[tested["gain"].notna()], given.frames.get("seeds")),
        "settings": settings[[*FACTORS, "control", *NUMBERS]].set_axis(labels),
        "results": _results(given),
        "points": points_in_words(given.ask(chosen_points)),
    }


def tables(result: Mapping[str, Any]) -> Sequence[Table]:
    """Settings and correlations of each data set; its results; gains that were tested; all settings as data."""
    columns = [*(Column(name, name) for name in FACTORS), "control", *NUMBERS]
    return [
        _table_of_counts(result),
        *_tables_of_results(result),
        *_table_of_tests(result["tested_gains"]),
        Table.of("settings", "All settings", result["settings"], columns, names=4, data=True),
    ]


def _counts(given: Given) -> pd.DataFrame:
    """Of each data set, and of all, how much was run."""
    import pandas as pd

    table, segments = given.table, given.basis.segments
    parts = {name: table.take(table.where(dataset=name)) for name in table.factor_levels("dataset")}
    rows = []
    for name, part in {**parts, "all": table}.items():
        pairs = sorted({setting[:2] for setting in part.settings})
        counts = {factor: len(part.factor_levels(factor)) for factor in ("metric", "explainer", "language_pair")}
        known = sum(segments[pair] for pair in pairs) if set(pairs) <= set(segments) else None
        rows.append({"dataset": name, **counts, "settings": len(part), "segments": known, **_of_grid(part)})
    return pd.DataFrame(rows).astype({"segments": object})


def _of_grid(table: GridTable) -> dict[str, int]:
    return {"p": len(table.p), "w": int(table.boosted.sum()), "correlations": table.n_boosted}


def _table_of_counts(result: Mapping[str, Any]) -> Table:
    columns = (
        "dataset",
        Column("metric", "metrics"),
        Column("explainer", "explainers"),
        Column("language_pair", "language pairs"),
        Column("settings", form=","),
        Column("segments", form=","),
        Column("p", form=","),
        Column("w", "w below 1", ","),
        Column("correlations", form=","),
    )
    notes = [
        "Controls (random metric, random explainer) included. A setting is a data set, language pair, metric and "
        "explainer that was run; correlations: settings times p times w other than 1, undefined ones included.",
        *(f"Left out: {part}." for part in result["left_out"]),
    ]
    counts = result["counts"].assign(total=result["counts"]["dataset"] == "all")
    return Table.of("counts", "What was run", counts, columns, notes, by=["total"])


def _results(given: Given) -> pd.DataFrame:
    """A row per data set, metric and language pair, then their average; SHOWN of each explainer in columns.

    Averages of explainers are over all language pairs of a metric, each with a gain.
    """
    import pandas as pd

    of_metric, key = ["dataset", "metric"], ["dataset", "metric", "language_pair"]
    real = given.ask(real_at_points)
    alone = real.drop_duplicates(key)[[*key, "baseline"]]
    pairs = alone.groupby(of_metric)["baseline"].agg(baseline=lambda values: values.mean(skipna=False), pairs="size")
    groups = [*of_metric, "explainer"]
    means = summaries(real, groups, given.options.seed).join(real.groupby(groups)[["fixed", "best"]].mean())
    means = means.rename(columns=dict(zip(MEAN, SHOWN[1:4], strict=True))).reset_index()
    means = means.merge(pairs["pairs"], on=of_metric).query("n == pairs")
    every: Any = pd.concat([real, means.assign(language_pair=AVERAGE, survives=False)])
    wide = every.pivot(index=key, columns="explainer", values=list(SHOWN))
    columns = [(name, explainer) for explainer in given.real.factor_levels("explainer") for name in SHOWN]
    wide = wide[columns].set_axis([f"{explainer} {name}" for name, explainer in columns], axis=1)
    frame = pd.concat([alone.assign(last=0), pairs.reset_index().assign(language_pair=AVERAGE, last=1)])
    frame = frame.sort_values([*of_metric, "last", "language_pair"])[[*key, "baseline"]].join(wide, on=key)
    if "ceilings" not in given.frames:
        return frame.reset_index(drop=True)
    ceilings = given.frames["ceilings"].drop_duplicates(list(FACTORS[:2]))[[*FACTORS[:2], "ceiling"]]
    return frame.merge(ceilings, on=list(FACTORS[:2]), how="left")


def _tables_of_results(result: Mapping[str, Any]) -> Iterator[Table]:
    for dataset, part in result["results"].groupby("dataset"):
        frame = part.dropna(axis="columns", how="all")
        explainers = [name.removesuffix(" survives") for name in frame if name.endswith(" survives")]
        marks = [f"{name} survives" for name in explainers]
        frame = frame.assign(**{name: frame[name].fillna(False).astype(bool) for name in marks})
        every = [f"{name} {value}" for name in explainers for value in SHOWN]
        frame = frame.reindex(columns=list(dict.fromkeys([*frame, *every])))
        columns = [
            "metric",
            "language_pair",
            *([Column("ceiling", form=".4f")] if "ceiling" in frame else []),
            Column("baseline", form=".4f"),
        ]
        for name in explainers:
            ends = (f"{name} fixed_gain_low", f"{name} fixed_gain_high")
            columns += [
                Column(f"{name} fixed", form=".4f"),
                Column(f"{name} fixed_gain", f"{name} gain", "+.4f", ends, f"{name} survives"),
                Column(f"{name} best", form=".4f"),
            ]
        title = f"{dataset}: correlation with human scores"
        notes = (READ, MARKED, result["points"])
        yield Table.of(file_stem(f"results_{dataset}"), title, frame, columns, notes, by=["metric"], names=2)


def _with_seeds(tested: pd.DataFrame, seeds: pd.DataFrame | None) -> pd.DataFrame:
    """The tested gains with their spread over other draws of the explainer."""
    key = [*FACTORS, "point"]
    if seeds is None:
        return tested
    spread = seeds.groupby(key, observed=True)["gain"].agg(seeds="count", lowest="min", highest="max")
    return tested.merge(spread, left_on=key, right_index=True, how="left")


def _table_of_tests(tested: pd.DataFrame) -> Iterator[Table]:
    """No table where nothing was tested."""
    known = tested[tested["test"].notna()]
    if not len(known):
        return
    spread = (Column("seeds", form=".0f"), Column("lowest", form="+.4f"), Column("highest", form="+.4f"))
    seeds = bool("seeds" in tested and tested["seeds"].max() > 1)
    columns = (
        *FACTORS,
        "point",
        Column("baseline", form=".4f"),
        Column("gain", form=GAIN, marked="survives"),
        Column("low", form=GAIN),
        Column("high", form=GAIN),
        Column("p_value", "p", ".3g"),
        Column("p_holm", "p (Holm)", ".3g"),
        Column("n", "segments", ",.0f"),
        Column("clusters", form=",.0f"),
        *(spread if seeds else ()),
    )
    families = "; ".join(sorted(set(known["family"])))
    notes = (
        "Gain at the declared point with its 95 % interval by a bootstrap of clusters of segments; p of the test "
        f"{known['test'].iloc[0]}, and corrected by Holm within its family ({families}).",
        MARKED,
        *(["Seeds: the gain with other draws of the explainer, which the interval does not contain."] * seeds),
    )
    title = "Gains at declared points, with intervals and tests"
    yield Table.of("tested_gains", title, tested, columns, notes, names=5)
