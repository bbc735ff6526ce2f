"""Results as the paper's authors published them."""

import dataclasses

import numpy as np
import pytest
from some_results import make_result, with_grid

from bmx_grid.grid import PAPER_W, TIE

FIXED = {"erasure": (0.6, -0.3), "lime": (0.4, -1.4), "shap": (0.6, -0.95), "input_marginalization": (0.8, -13.1)}


@pytest.fixture(scope="session")
def authors_results(authors_grid):
    """The settings of the published grid with these names."""
    import pyarrow.parquet as pq

    def find(**names):
        table = pq.read_table(authors_grid, filters=[(key, "==", name) for key, name in names.items()]).to_pandas()
        found = []
        for (dataset, pair, metric, explainer), rows in table.groupby(
            ["dataset", "language_pair", "metric", "explainer"], observed=True
        ):
            p = tuple(rows["p"].unique().tolist())
            grid = rows["correlation"].to_numpy().reshape(len(p), len(PAPER_W))
            row, column = np.unravel_index(np.argmax(grid), grid.shape)
            best = grid[row, column]
            result = with_grid(
                make_result(dataset=dataset, language_pair=pair, metric=metric, explainer=explainer, p=p, w=PAPER_W),
                correlation=grid,
                baseline=float(grid[0, -1]),
                best=float(best),
                best_p=p[row],
                best_w=PAPER_W[column],
                plateau=int((grid >= best - TIE).sum()),
            )
            w, p_fixed = FIXED.get(explainer, (np.nan, np.nan))
            at = float(grid[p.index(p_fixed), PAPER_W.index(w)]) if p_fixed in p else np.nan
            found.append(dataclasses.replace(result, fixed_w=w, fixed_p=p_fixed, fixed=at))
        return found

    return find
