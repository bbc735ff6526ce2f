"""The table at the end of a sweep."""

import dataclasses

import numpy as np
import pytest
from some_results import make_result, with_grid

from bmx_grid.measures.grid import PAPER_W, TIE
from bmx_grid.report.terminal import WIDTH, sweep_table
from bmx_grid.sweep.plan import Refused

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


def row(table, *names):
    """The cells of the one line that starts with these names."""
    (line,) = [line for line in table.splitlines() if line.split()[: len(names)] == list(names)]
    return line.split()[len(names) :]


def test_a_row_gives_baseline_best_point_gain_fixed_point_and_shifted_share():
    result = with_grid(make_result(), baseline=0.70717, best=0.72335, best_w=0.4, best_p=-5.2, share_shifted=0.254)
    result = dataclasses.replace(result, fixed=0.7)
    cells = row(sweep_table([result], []), "de-en", "chrf", "lime")
    assert cells == ["0.7072", "0.7234", "0.4", "-5.2", "+0.0162", "0.7000", "-0.0072", "25%"]


def test_whole_numbers_line_up_with_tenths_and_a_plateau_is_shown():
    result = with_grid(make_result(), best_w=1.0, best_p=-30.0, plateau=1600)
    cells = row(sweep_table([result], []), "de-en", "chrf", "lime")
    assert cells[2:4] == ["1.0", "-30.0"]
    assert cells[-1] == "1,600"


def test_undefined_numbers_are_said_and_counted():
    nothing = dict.fromkeys(("baseline", "best", "best_w", "best_p", "share_shifted"), np.nan)
    result = dataclasses.replace(with_grid(make_result(), **nothing, plateau=0, n_undefined=1234), fixed=np.nan)
    table = sweep_table([result, make_result(language_pair="zh-en")], [])
    assert row(table, "de-en", "chrf", "lime") == ["n/a"] * 8
    assert "undefined: 1,234 grid points, in 1 of 2 settings" in table
    assert "nan" not in table


def test_zero_is_a_number():
    result = with_grid(make_result(), baseline=0.0, best=0.0, best_w=0.0, best_p=0.0, share_shifted=0.0)
    cells = row(sweep_table([result], []), "de-en", "chrf", "lime")
    assert cells[:5] == ["0.0000", "0.0000", "0.0", "0.0", "+0.0000"]
    assert cells[7] == "0%"


def test_data_sets_have_a_table_each_and_rows_do_not_depend_on_the_order_of_results():
    results = [make_result(dataset=name, language_pair=pair) for name in ("b", "a") for pair in ("zh-en", "cs-en")]
    table = sweep_table(results, [])
    assert table == sweep_table(results[::-1], [])
    heads = [line for line in table.splitlines() if "correlation with human scores" in line]
    assert [head[:2] for head in heads] == ["a:", "b:"]
    assert heads[0].startswith("a: Pearson correlation")


def test_failures_are_listed_with_their_reasons_also_when_nothing_else_is_there():
    table = sweep_table([], [Refused("wmt17 · comet", "comet is not installed: pip install it")])
    assert table == "failed: 1\n  wmt17 · comet: comet is not installed: pip install it"
    assert sweep_table([], []) == "no setting was run"


@pytest.mark.parametrize("length", [pytest.param(5, id="short names"), pytest.param(90, id="names of 90 letters")])
def test_lines_fit_a_terminal_and_columns_are_aligned(length):
    results = [
        make_result(metric="m" * length, explainer=e + "x" * length, language_pair=pair)
        for e in "ab"
        for pair in ("de-en", "zh-en")
    ]
    lines = sweep_table(results, []).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert not any(line != line.rstrip() for line in lines)
    rows = [line for line in lines if line.startswith(("de-en", "zh-en"))]
    assert len(rows) == 4
    assert len({len(line) for line in rows}) == 1


def test_the_authors_numbers_look_as_published(authors_results):
    """Figure 3b of the paper: XBERTScore, et-en, LIME."""
    (result,) = authors_results(dataset="eval4nlp21", language_pair="et-en", metric="xbertscore", explainer="lime")
    cells = row(sweep_table([result], []), "et-en", "xbertscore", "lime")
    assert cells[:7] == ["0.7072", "0.7234", "0.4", "-5.2", "+0.0162", "0.7206", "+0.0135"]
