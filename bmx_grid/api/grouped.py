"""Tests of metrics by their agreement with people within items or within systems."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from bmx_grid.measures.correlation import Kind


def grouped_tests(scores: pd.DataFrame, grouping: str, statistic: Kind, resamples: int, seed: int) -> pd.DataFrame:
    """Tests of every pair of metrics of a table of scores by their agreement within items or within systems.

    One row per language pair and pair of metrics; segments count that both metrics scored. p_holm, p_bh: over all rows.
    """
    import numpy as np
    import pandas as pd

    from bmx_grid.measures.levels import within_groups
    from bmx_grid.measures.multiplicity import benjamini_hochberg, holm
    from bmx_grid.measures.resampling import codes
    from bmx_grid.measures.significance import compare as compared
    from bmx_grid.measures.significance import compare_means

    rows: list[dict[str, Any]] = []
    for (dataset, pair), own in scores.groupby(["dataset", "language_pair"], sort=False):
        of = {name: part.reset_index(drop=True) for name, part in own.groupby("metric", sort=True)}
        for left, right in itertools.combinations(of, 2):
            one = of[left]
            x, y, human = (np.asarray(part, float) for part in (one["base"], of[right]["base"], one["human"]))
            known = one["system"].notna().to_numpy()
            x = np.where(known, x, np.nan)
            groups = codes(one["id" if grouping == "item" else "system"].astype(str))
            cluster = one["cluster"].to_numpy()

            def within(s: Any, h: Any, systems: Any, _: Any) -> float:
                return float(np.nanmean(within_groups(statistic, s[:, None], h, systems)))

            if grouping == "item":
                both = within_groups(statistic, np.stack([x, y], axis=1), human, groups)
                first = np.full(len(both.T), 0)
                first[groups[::-1]] = np.arange(len(groups))[::-1]
                found = compare_means(both[0], both[1], cluster[first], resamples=resamples, seed=seed)
            else:
                found = compared(x, y, human, cluster, system=groups, statistic=within, resamples=resamples, seed=seed)
            rows.append(
                {
                    **{"dataset": dataset, "language_pair": pair, "compared": left, "against": right},
                    **{"level": "segment", "grouping": grouping, "statistic": statistic},
                    **{"difference": found.difference, "low": found.low, "high": found.high},
                    **{"test": "perm_inputs", "alternative": "two-sided", "p": found.p},
                    **{"n": found.n, "clusters": found.clusters, "resamples": resamples, "seed": seed},
                }
            )
    table = pd.DataFrame(rows)
    if len(table):
        at = table.columns.get_loc("p")
        for place, (name, adjust) in enumerate((("p_holm", holm), ("p_bh", benjamini_hochberg)), start=1):
            table.insert(int(at) + place, name, adjust(table["p"].to_numpy()))  # type: ignore[arg-type]
    return table
