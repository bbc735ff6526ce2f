"""`compare` of tables with many segments: bundles of clusters, and verdicts that rest on some of them."""

import numpy as np
import pandas as pd
import pytest

import bmx_grid as bmx
from bmx_grid.api import compared as compared_module
from bmx_grid.api import compared_pairs, comparison
from bmx_grid.evaluations import boost_evidence
from bmx_grid.measures import resampling


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    item = np.arange(240).repeat(5)
    human = rng.normal(size=1200)
    return pd.DataFrame(
        {
            "id": item,
            "system": np.tile(list("abcde"), 240),
            "score": human,
            "good": human + rng.normal(size=1200),
            "bad": human / 3 + rng.normal(size=1200),
            "words": rng.integers(3, 40, 1200),
        }
    )


def compared(frame):
    return bmx.compare(frame, ["good", "bad"], resamples=200, lengths="words")


def test_many_clusters_are_drawn_in_bundles_with_the_same_values(frame, monkeypatch):
    alone = compared(frame)
    monkeypatch.setattr(resampling, "MOST_UNITS", 100)
    monkeypatch.setattr(resampling, "BUNDLES", 60)
    bundles = compared(frame)
    assert (alone.n_clusters, bundles.n_clusters) == (240, 60)
    assert (alone.correlations["value"] == bundles.correlations["value"]).all()
    wide = [(result.correlations["high"] - result.correlations["low"]).to_numpy() for result in (alone, bundles)]
    assert np.allclose(wide[0], wide[1], rtol=0.3)
    assert "60 clusters of segments" in bundles.summary()


def test_a_verdict_on_many_segments_rests_on_whole_items_and_says_so(frame, monkeypatch):
    for module in (compared_pairs, compared_module):
        monkeypatch.setattr(module, "MOST_JUDGED", 400)
    rows = compared_pairs._judged_rows(np.ones(1200, dtype=bool), frame["id"].to_numpy())
    assert 400 <= len(rows) < 405 and set(np.bincount(frame["id"][rows])) == {0, 5}
    some = compared(frame)
    assert "Verdicts of more than 400 segments rest on so many" in some.summary()
    assert some.verdicts["verdict"].tolist() == ["helps"]
    assert (some.tests["n"] == 1200).all()


def test_no_partial_correlation_is_learned_of_a_table_without_lengths(frame, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a partial correlation that nobody reads")

    monkeypatch.setattr(boost_evidence, "partial_correlations", refuse)
    alone = bmx.compare(frame, ["good", "bad"], resamples=200)
    assert alone.verdicts["partial_r"].isna().all()
    # A gain that is significant, whose controls are unknown.
    assert alone.verdicts["verdict"].tolist() == ["open"]
    with pytest.raises(AssertionError, match="nobody reads"):
        compared(frame)


@pytest.mark.filterwarnings("ignore:.*no score in column 'fourth'")
def test_gains_of_many_metrics_are_those_of_each_two(frame):
    rng = np.random.default_rng(1)
    frame["third"] = frame["score"] / 2 + rng.normal(size=1200)
    frame["fourth"] = frame["score"] + rng.normal(size=1200)
    # Other segments have a score of it.
    frame.loc[:99, "fourth"] = np.nan
    names = ["good", "bad", "third", "fourth"]
    together = bmx.compare(frame, names, resamples=200)
    for row in together.verdicts.itertuples():
        alone = bmx.compare(frame, [row.compared, row.against], resamples=200).verdicts.iloc[0]
        for name in ("gain", "gain_low", "gain_high"):
            # Rounding of products of other shapes.
            assert getattr(row, name) == pytest.approx(alone[name], abs=1e-12), (row.compared, row.against)


@pytest.mark.filterwarnings("ignore:.*no score in column 'fourth'")
@pytest.mark.parametrize("by", ["none", "item", "system"])
def test_correlations_of_many_metrics_are_those_of_each(frame, by, monkeypatch):
    """In parts of two, and of metrics with scores of the same segments."""
    monkeypatch.setattr(comparison, "TOGETHER", 2)
    rng = np.random.default_rng(1)
    for name in ("third", "fourth", "fifth"):
        frame[name] = frame["score"] + rng.normal(size=1200).round(1)
    frame.loc[:99, "fourth"] = np.nan
    names = ["good", "bad", "third", "fourth", "fifth"]
    together = bmx.compare(frame, names, by=by, resamples=60).correlations
    for name in names:
        alone = bmx.compare(frame, name, by=by, resamples=60).correlations
        rows = together[together["metric"] == name].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows, alone, rtol=0, atol=1e-12, check_exact=False)
