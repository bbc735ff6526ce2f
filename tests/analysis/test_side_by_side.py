"""Sweeps beside each other: gains of both, the interval of their difference, and folders that cannot be compared."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from bmx_grid.analysis.side_by_side import BASELINE, compare_sweeps
from bmx_grid.commands.analyse import main
from bmx_grid.core.errors import BmxError
from bmx_grid.core.wording import correlation_in_words

N = 60


def scores(seed: int = 0, **changes) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    human = np.random.default_rng(9).normal(size=N)
    table = pd.DataFrame(
        {
            **{"dataset": "d", "language_pair": "de-en", "metric": "m", "explainer": "lime"},
            "id": [str(row) for row in range(N)],
            "system": None,
            "cluster": [f"c{row // 2}" for row in range(N)],
            "human": human,
            "base": human + rng.normal(size=N),
            "boosted_published": human + 0.5 * rng.normal(size=N),
        }
    )
    return table.assign(**changes)


def folder(place: Path, table: pd.DataFrame) -> Path:
    place.mkdir(parents=True)
    table.to_parquet(place / "scores.parquet")
    return place


def test_the_difference_of_gains_has_an_interval_of_clusters(tmp_path):
    first, second = scores(1), scores(2)
    second["boosted_published"] += second["human"]  # so that b gains more
    compared = compare_sweeps([folder(tmp_path / "a", first), folder(tmp_path / "b", second)], resamples=400)

    def r(table, column):
        return scipy.stats.pearsonr(table[column], table["human"])[0]

    alone, point = (compared[compared["point"] == name].iloc[0] for name in (BASELINE, "published"))
    gains = [r(table, "boosted_published") - r(table, "base") for table in (first, second)]
    assert point[["gain_a", "gain_b"]].tolist() == pytest.approx(gains, abs=1e-12)
    assert point["difference"] == pytest.approx(gains[1] - gains[0], abs=1e-12)
    assert alone["difference"] == pytest.approx(r(second, "base") - r(first, "base"), abs=1e-12)
    assert (point["n_segments"], point["n_clusters"]) == (N, N // 2)
    for row, column in ((alone, "base"), (point, "boosted_published")):
        assert row[["run_a", "run_b"]].tolist() == ["a", "b"]
        assert row[["r_a", "r_b"]].tolist() == pytest.approx([r(table, column) for table in (first, second)], abs=1e-12)
    assert np.isnan(alone[["gain_a", "gain_b"]].tolist()).all()
    rng = np.random.default_rng(3)
    columns = [[table[name].to_numpy() for name in ("boosted_published", "base", "human")] for table in (first, second)]
    drawn, drawn_alone = [], []
    for _ in range(2000):
        clusters = rng.integers(0, N // 2, N // 2)
        rows = np.concatenate([2 * clusters, 2 * clusters + 1])
        # without pandas and p-values, which take fifty times as long
        of_first, of_second = (np.corrcoef([column[rows] for column in of_table]) for of_table in columns)
        drawn.append((of_second[0, 2] - of_second[1, 2]) - (of_first[0, 2] - of_first[1, 2]))
        drawn_alone.append(of_second[1, 2] - of_first[1, 2])
    assert [alone["low"], alone["high"]] == pytest.approx(np.quantile(drawn_alone, [0.025, 0.975]), abs=0.05)
    assert [point["low"], point["high"]] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.05)


@pytest.mark.parametrize(
    ("changes", "clusters", "defined"),
    [
        pytest.param({"cluster": ["c1", "c2"] * (N // 2)}, 2, True, id="two clusters"),
        pytest.param({"boosted_published": 0.5}, N // 2, False, id="equal scores"),
        pytest.param({"human": np.nan}, 0, False, id="nobody rated"),
    ],
)
def test_without_enough_clusters_or_a_correlation_there_is_no_interval(changes, clusters, defined, tmp_path):
    places = [folder(tmp_path / name, scores(seed, **changes)) for seed, name in enumerate("ab")]
    point = compare_sweeps(places, resamples=40).set_index("point").loc["published"]
    assert point["n_clusters"] == clusters
    assert np.isfinite(point["difference"]) == defined
    assert np.isnan(point["low"]) and np.isnan(point["high"])


def settings(*correlations: str) -> pd.DataFrame:
    """The table of settings of a sweep, as far as it is read."""
    names = {"dataset": "d", "language_pair": "de-en", "metric": [f"m{row}" for row in range(len(correlations))]}
    known = {"aggregation": "PowerMean", "baseline": 0.5, "n_used": N, "repeat_deviation": np.nan, "constructed": False}
    return pd.DataFrame({**names, "explainer": "lime", "correlation": correlations, **known})


@pytest.mark.parametrize(
    ("correlations", "chosen", "kind"),
    [
        pytest.param((("kendall",), ("kendall",)), None, "kendall", id="both"),
        pytest.param((("spearman",), ("", "")), None, "spearman", id="one of them, the other has metrics alone"),
        pytest.param((("",), ("",)), None, "pearson", id="neither"),
        pytest.param((("kendall",), ("pearson",)), "spearman", "spearman", id="chosen"),
    ],
)
def test_sweeps_are_compared_in_their_own_correlation(correlations, chosen, kind, tmp_path, capsys):
    tables = [scores(1), scores(2)]
    places = [folder(tmp_path / name, table) for name, table in zip("ab", tables, strict=True)]
    for place, of_sweep in zip(places, correlations, strict=True):
        settings(*of_sweep).to_parquet(place / "settings.parquet")
    compared = compare_sweeps(places, correlation=chosen, resamples=40)
    assert set(compared["correlation"]) == {kind}
    of_scipy = {"pearson": scipy.stats.pearsonr, "spearman": scipy.stats.spearmanr, "kendall": scipy.stats.kendalltau}
    alone = compared[compared["point"] == BASELINE].iloc[0]
    expected = [of_scipy[kind](table["base"], table["human"])[0] for table in tables]
    assert alone[["r_a", "r_b"]].tolist() == pytest.approx(expected, abs=1e-12)
    assert main([*map(str, places), *([f"correlation={chosen}"] if chosen else [])]) == 0
    assert f"differences of {correlation_in_words(kind)}" in capsys.readouterr().out


def test_sweeps_of_different_correlations_are_refused(tmp_path, capsys):
    places = [folder(tmp_path / name, scores(seed)) for seed, name in enumerate("ab")]
    for place, kind in zip(places, ("kendall", "pearson"), strict=True):
        settings(kind).to_parquet(place / "settings.parquet")
    assert main([str(place) for place in places]) == 2
    said = "a has gains in Kendall's τ, b in Pearson's r. Compare both in one: add correlation=kendall, or correlation="
    assert said in capsys.readouterr().err
    assert main([str(places[0]), "correlation=kendall"]) == 2
    assert "correlation: a finished sweep has its own" in capsys.readouterr().err


def test_only_shared_segments_and_points_count(tmp_path):
    first, second = scores(1), scores(2).iloc[10:].assign(boosted_elsewhere=0.5)
    first.loc[20, "human"] = np.nan
    compared = compare_sweeps([folder(tmp_path / "a", first), folder(tmp_path / "b", second)], resamples=40)
    assert compared["point"].tolist() == [BASELINE, "published"]
    assert (compared["n_segments"] == N - 11).all() and (compared["n_only_a"] == 10).all()


def test_systems_tell_segments_apart(tmp_path):
    both = pd.concat([scores(1).assign(system="A"), scores(2).assign(system="B")])
    compared = compare_sweeps([folder(tmp_path / "a", both), folder(tmp_path / "b", both)], resamples=40)
    assert (compared["n_segments"] == 2 * N).all() and (compared["difference"] == 0).all()


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ((scores(),), "two or more"),
        (
            (scores(), scores().assign(human=[0.0, 0.5, *scores()["human"][2:]])),
            f"segment '0' has the human score {scores()['human'][0]:g} in a and 0 in b",
        ),
        ((scores(), scores().assign(metric="other")), "no setting in common"),
        ((scores(), scores().drop(columns="cluster")), "no column cluster"),
        ((scores(), None), r"scores\.parquet not found"),
    ],
    ids=["one folder", "other judgements", "other settings", "another table", "no table"],
)
def test_what_cannot_be_compared_is_said(tmp_path, tables, message):
    places = []
    for name, table in zip("ab", tables, strict=False):
        if table is None:
            (tmp_path / name).mkdir()
        else:
            folder(tmp_path / name, table)
        places.append(tmp_path / name)
    with pytest.raises(BmxError, match=message):
        compare_sweeps(places)
