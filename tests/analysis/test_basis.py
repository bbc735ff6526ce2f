"""What a table rests on is read from the settings beside it, and only where they are of that table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from some_results import make_result

from bmx_grid.analysis.basis import COLUMNS, Basis, basis_beside, basis_of, is_of
from bmx_grid.analysis.table import GridTable, Setting
from bmx_grid.evaluations import significance

SETTINGS = (
    Setting("wmt17", "cs-en", "chrf", "lime"),
    Setting("wmt17", "cs-en", "chrf", "shap"),
    Setting("wmt17", "de-en", "chrf", "lime"),
)
BASELINE = (0.5, 0.25, np.nan)


def table(origin: str) -> GridTable:
    correlation = np.repeat(np.array(BASELINE)[:, None, None], 2, axis=2)
    return GridTable(SETTINGS, np.array([0.0]), np.array([0.0, 1.0]), correlation, "both", origin=origin)


def write(folder, **changes) -> None:
    """The settings of the table in another order, and one more."""
    names = [*SETTINGS[::-1], Setting("other", "de-en", "chrf", "lime")]
    columns = {
        **{factor: [getattr(name, factor) for name in names] for factor in Setting._fields},
        "correlation": ["pearson"] * 3 + ["kendall"],
        "aggregation": ["PowerMean"] * 4,
        "baseline": [*BASELINE[::-1], 0.9],
        "n_segments": [600, 120, 120, 9],
        "n_used": [560, 99, 100, 7],
        "another": [1] * 4,
    } | changes
    pq.write_table(pa.table(columns), folder / "settings.parquet")


def test_the_basis_counts_the_most_segments_of_any_setting_of_a_pair(tmp_path):
    write(tmp_path)
    cs, de = ("wmt17", "cs-en"), ("wmt17", "de-en")
    expected = Basis("pearson", "PowerMean", {cs: 120, de: 600}, {cs: 100, de: 560})
    assert basis_beside(table(str(tmp_path / "grid.parquet"))) == expected
    assert basis_beside(table(str(tmp_path))) == expected, "the folder of a sweep is given as well as its file"


def test_a_folder_is_that_of_the_sweep_whose_settings_it_holds(tmp_path):
    assert not is_of(table(""), tmp_path)
    write(tmp_path)
    assert is_of(table(""), tmp_path)
    write(tmp_path, baseline=[0.1] * 4)
    assert not is_of(table(""), tmp_path)


def test_no_settings_have_no_basis():
    assert basis_of([]) == Basis()


def test_what_settings_do_not_share_is_not_known(tmp_path):
    write(tmp_path, correlation=["pearson", "kendall", "pearson", "pearson"])
    found = basis_beside(table(str(tmp_path)))
    assert (found.correlation, found.aggregation) == (None, "PowerMean")


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        pytest.param({"baseline": [np.nan, 0.25, 0.5 + 1e-13, 0.9]}, True, id="a baseline rounded otherwise"),
        pytest.param({"baseline": [np.nan, 0.25, 0.5 + 1e-9, 0.9]}, False, id="another baseline"),
        pytest.param({"baseline": [0.1, 0.25, 0.5, 0.9]}, False, id="a baseline that is undefined here"),
        pytest.param({"explainer": ["lime", "erasure", "lime", "lime"]}, False, id="a setting is missing"),
    ],
)
def test_settings_of_another_run_say_nothing(changes, same, tmp_path):
    write(tmp_path, **changes)
    assert (basis_beside(table(str(tmp_path))) != Basis()) is same


def test_a_file_that_is_absent_damaged_or_of_other_columns_says_nothing(tmp_path):
    assert basis_beside(table(str(tmp_path))) == Basis()
    (tmp_path / "settings.parquet").write_bytes(b"PAR1 not really")
    assert basis_beside(table(str(tmp_path))) == Basis()
    pq.write_table(pa.table({name: ["x"] for name in COLUMNS[:-1]}), tmp_path / "settings.parquet")
    assert basis_beside(table(str(tmp_path))) == Basis()


def test_settings_whose_grid_was_tested_have_the_band_of_their_own():
    band, of = significance.Band(0.5, *np.zeros((4, 60))), significance.TestsOfSetting
    tests = {"with": of((), band=band), "without": of(()), "nothing": None}
    results = [make_result(metric=name) for name in tests]
    for result in results:
        result.evaluated["tests"] = tests[result.metric]
    del results[-1].evaluated["tests"]
    assert basis_of(results).bands == {Setting(*results[0].names): band}
