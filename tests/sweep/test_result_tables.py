"""Results as tables."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import pearsonr
from some_results import P, W, grid_table, make_result, with_grid
from some_settings import finished

from bmx_grid.core.errors import StoreError
from bmx_grid.datasets.segments import Judgements, SegmentSet
from bmx_grid.measures.annotators import reliability
from bmx_grid.sweep.judge import Spent
from bmx_grid.sweep.tables import ceilings_table, repeat_deviation, settings_table, write_csv, write_parquet


def test_rows_run_over_w_first_then_p_and_hold_every_point():
    result = make_result()
    table = grid_table([result])
    assert table.column("w").to_pylist() == list(W) * len(P)
    assert table.column("p").to_pylist() == [p for p in P for _ in W]
    assert np.array_equal(table.column("correlation").to_numpy(), result.grid.correlation.ravel())


def test_the_order_of_results_does_not_change_the_tables():
    names = [("b", "x"), ("a", "y"), ("a", "x")]
    results = [make_result(dataset=dataset, metric=metric) for dataset, metric in names]
    for make in (grid_table, settings_table):
        assert make(results).to_pandas().equals(make(results[::-1]).to_pandas())
    assert settings_table(results).column("metric").to_pylist() == ["x", "y", "x"]


def test_undefined_points_stay_nan_in_files(tmp_path):
    holes = make_result().grid.correlation.copy()
    holes[3, 1] = np.nan
    write_parquet(grid_table([with_grid(make_result(), correlation=holes)]), tmp_path / "grid.parquet")
    column = pq.read_table(tmp_path / "grid.parquet").column("correlation")
    assert column.null_count == 0
    assert np.flatnonzero(np.isnan(column.to_numpy())).tolist() == [3 * len(W) + 1]


def test_more_names_than_a_small_dictionary_holds():
    table = grid_table([make_result(language_pair=f"{number:03}-en", p=(1.0,), w=(1.0,)) for number in range(129)])
    assert table.column("language_pair").to_pylist() == [f"{number:03}-en" for number in range(129)]


def test_a_setting_is_a_row_with_its_numbers_and_settings(tmp_path):
    result = make_result(seed=3)
    write_csv(settings_table([result]), tmp_path / "settings.csv")
    row = settings_table([result]).to_pylist()[0]
    assert (row["best"], row["fixed"]) == (result.grid.best, result.published_row.correlation)
    assert not [name for name in row if "gain" in name], "a gain has an interval, which this table has not"
    assert (row["n_segments"], row["n_rated"], row["n_used"]) == (40, 39, 38)
    assert '"explainer.num_samples":100' in row["parameters"]
    assert repr(row["best"]) in (tmp_path / "settings.csv").read_text()


def test_what_a_run_spent_is_no_part_of_the_tables():
    assert grid_table([]).num_rows == settings_table([]).num_rows == 0
    cheap = dataclasses.replace(make_result(), spent=Spent(), cached=True)
    assert settings_table([cheap]).to_pandas().equals(settings_table([make_result()]).to_pandas())


@pytest.mark.parametrize("write", [pytest.param(write_parquet, id="parquet"), pytest.param(write_csv, id="csv")])
def test_a_place_that_cannot_be_written_is_named(tmp_path, write):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="table"):
        write(pa.table({"a": [1]}), tmp_path / "file" / "table")


def rated(pair, raters):
    segments = finished(n=12).segments.segments
    scores = {"z_mean": np.nanmean(raters, axis=1), "hter": np.arange(12.0)}
    return SegmentSet("toy", pair, segments, Judgements(scores, {"z_mean": raters}))


def test_each_judgement_with_raters_has_a_row_and_others_none():
    rng = np.random.default_rng(0)
    raters = rng.normal(size=(12, 1)) + 0.5 * rng.normal(size=(12, 3))
    three_raters, two_raters = rated("de-en", raters), rated("zh-en", raters[:, :2])
    rows = ceilings_table([three_raters, two_raters, three_raters, finished().segments]).to_pylist()
    assert [(row["dataset"], row["language_pair"], row["human"]) for row in rows] == [
        ("toy", "de-en", "z_mean"),
        ("toy", "zh-en", "z_mean"),
    ]
    expected = reliability(raters)
    assert (rows[0]["raters"], rows[0]["reliability"]) == pytest.approx((3, expected["icc_k"]))
    assert rows[0]["ceiling"] == pytest.approx(expected["icc_k"] ** 0.5)
    assert rows[1]["ceiling"] < rows[0]["ceiling"], "fewer raters, a less reliable mean"
    assert ceilings_table([finished().segments]) is None, "without raters there is no table"


def test_the_deviation_of_a_judge_is_that_of_the_correlations_of_its_repeats():
    human, *repeats = np.random.default_rng(0).normal(size=(4, 30))
    statistics = np.stack([np.mean(repeats, axis=0), np.ones(30), *repeats], axis=1)  # as `Judge.statistics` has them
    setting = SimpleNamespace(
        scores=SimpleNamespace(statistics=statistics), segments=SimpleNamespace(human_scores=human)
    )
    expected = np.std([pearsonr(scores, human).statistic for scores in repeats], ddof=1)
    for repeat, deviation in ((3, expected), (1, np.nan)):
        setting.metric = SimpleNamespace(repeat=repeat)
        assert repeat_deviation(setting, "pearson") == pytest.approx(deviation, nan_ok=True)
