"""A table of judgements, in either shape: what is said of its annotators."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import bmx_grid as bmx
from bmx_grid.core.errors import BmxError
from bmx_grid.measures.annotators import cohen_kappa, fleiss_kappa, krippendorff_alpha, reliability

PEOPLE = ["anna", "ben", "chen"]


@pytest.fixture
def wide():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 5, size=(40, 1)) + rng.integers(-1, 2, size=(40, 3)).astype(float)
    values[rng.random(values.shape) < 0.2] = np.nan
    return pd.DataFrame(values, columns=PEOPLE).assign(segment=[f"s{row}" for row in range(40)], doc=np.arange(40) // 4)


@pytest.fixture
def long(wide):
    return wide.melt(["segment", "doc"], PEOPLE, "annotator", "score").dropna().reset_index(drop=True)


def test_both_shapes_say_the_same(wide, long):
    one, other = bmx.annotators(wide, PEOPLE, resamples=50), bmx.annotators(long, resamples=50)
    pd.testing.assert_frame_equal(
        one.ratings.set_axis(wide["segment"]), other.ratings.loc[wide["segment"], PEOPLE], check_names=False
    )
    for table in ("agreement", "pairs"):
        found = getattr(one, table)
        assert list(found.columns) == list(getattr(other, table).columns)
        assert found["value"].to_numpy() == pytest.approx(getattr(other, table)["value"].to_numpy())


def test_values_are_those_of_the_measures(wide):
    found = bmx.annotators(wide, PEOPLE, cluster="doc", resamples=50, seed=3)
    drawn = {"cluster": wide["doc"], "resamples": 50, "seed": 3}
    values = wide[PEOPLE].to_numpy()
    expected = [
        *(krippendorff_alpha(values, level, **drawn) for level in ("nominal", "ordinal", "interval")),
        *(fleiss_kappa(values, chance=chance, **drawn) for chance in ("pooled", "uniform")),
    ]
    for (_, row), one in zip(found.agreement.iterrows(), expected, strict=True):
        assert (row["value"], row["low"], row["high"], row["n_items"]) == (one.value, one.low, one.high, one.n_items)
    row = found.pairs.set_index(["one", "other", "weights"]).loc[("anna", "chen", "linear")]
    known = np.unique(values[np.isfinite(values)])
    pair = cohen_kappa(values[:, 0], values[:, 2], weights="linear", categories=known, **drawn)
    assert (row["value"], row["low"], row["high"]) == (pair.value, pair.low, pair.high)
    assert found.reliability == reliability(values)


def test_scales_and_standardised_scores(wide):
    found = bmx.annotators(wide, PEOPLE)
    assert found.scales["deviation"].to_numpy() == pytest.approx(wide[PEOPLE].std(ddof=0).to_numpy())
    assert found.standardised.mean().to_numpy() == pytest.approx(0, abs=1e-12)
    assert found.standardised.std(ddof=0).to_numpy() == pytest.approx(1)
    shifted = bmx.annotators(wide.assign(ben=10 * wide["ben"] - 7), PEOPLE)
    pd.testing.assert_series_equal(shifted.scores["z_mean"], found.scores["z_mean"])
    assert not np.allclose(shifted.scores["mean"], found.scores["mean"], equal_nan=True)
    assert found.scores["ratings"].tolist() == wide[PEOPLE].notna().sum(axis=1).tolist()


def test_kappa_of_direct_assessments_needs_categories():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, 101, size=(50, 2)), columns=["a", "b"])
    alone = bmx.annotators(frame, ["a", "b"], resamples=20)
    assert set(alone.agreement["statistic"]) == {"alpha"} and alone.pairs.empty
    binned = bmx.annotators(frame, ["a", "b"], bins=(10, 29, 50, 69, 90), resamples=20)
    assert binned.categories.loc[0].tolist() == [
        sum(value > end for end in (10, 29, 50, 69, 90)) for value in frame.loc[0]
    ]
    row = binned.agreement.set_index(["statistic", "of"]).loc[("fleiss_kappa", "uniform chance")]
    assert row["expected"] == pytest.approx(5 / 6), "p(E) of six categories is 1/6"
    assert len(binned.pairs) == 3


def test_a_pair_without_common_segments_has_no_row():
    frame = pd.DataFrame({"a": [1, 2, 1, None], "b": [1, 2, None, 2], "c": [None, None, None, 1]})
    assert set(bmx.annotators(frame, ["a", "b", "c"], resamples=0).pairs["other"]) == {"b", "c"}
    frame["b"] = [1, 2, None, None]
    found = bmx.annotators(frame, ["a", "b", "c"], resamples=0).pairs
    assert set(zip(found["one"], found["other"], strict=True)) == {("a", "b")}


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        pytest.param(lambda w, x: bmx.annotators(w, ["ana", "ben"]), "Did you mean 'anna'", id="column"),
        pytest.param(lambda w, x: bmx.annotators(w), "unknown column 'annotator'", id="neither shape"),
        pytest.param(lambda w, x: bmx.annotators(x, cluster="document"), "unknown column 'document'", id="cluster"),
        pytest.param(lambda w, x: bmx.annotators(w, ["anna"]), "needs two annotators.*has anna", id="one annotator"),
        pytest.param(lambda w, x: bmx.annotators(w, ["anna", "anna"]), "twice", id="column twice"),
        pytest.param(
            lambda w, x: bmx.annotators(w.assign(ben="good"), PEOPLE),
            "row 1: .*'ben' is not a finite number: 'good'",
            id="text",
        ),
        pytest.param(lambda w, x: bmx.annotators(w.assign(ben=np.inf), PEOPLE), "finite number: 'inf'", id="infinite"),
        pytest.param(lambda w, x: bmx.annotators(pd.concat([x, x[:1]])), "'anna' rated 's[0-9]+' twice", id="twice"),
        pytest.param(lambda w, x: bmx.annotators(x.assign(annotator=None)), "'annotator' holds None", id="nobody"),
        pytest.param(
            lambda w, x: bmx.annotators(x.assign(doc=range(len(x))), cluster="doc"), "several docs", id="two clusters"
        ),
        pytest.param(
            lambda w, x: bmx.annotators(w.assign(doc=None), PEOPLE, cluster="doc"), "'doc' holds None", id="no cluster"
        ),
        pytest.param(lambda w, x: bmx.annotators(w, PEOPLE, bins=(3, 3)), "rising numbers", id="bins"),
        pytest.param(lambda w, x: bmx.annotators(w, PEOPLE, bins="ab"), "bins='ab': write rising", id="bins of text"),
        pytest.param(lambda w, x: bmx.annotators(w, PEOPLE, bins=3), "bins=3: write rising", id="one bin"),
        pytest.param(lambda w, x: bmx.annotators(w, "anna"), "needs two annotators at least", id="a text"),
        pytest.param(lambda w, x: bmx.annotators(w, PEOPLE, cluster=["doc"]), r"unknown column '\['doc'\]'", id="list"),
        pytest.param(
            lambda w, x: bmx.annotators(x.assign(segment=[[1]] * len(x))), r"'segment' holds \[1\]", id="lists"
        ),
        pytest.param(lambda w, x: bmx.annotators(x.iloc[:0]), "the frame has no rows", id="empty, long"),
        pytest.param(
            lambda w, x: bmx.annotators(w.assign(doc=[[1]] * len(w)), PEOPLE, cluster="doc"),
            r"row 1: the column 'doc' holds \[1\]",
            id="clusters without a hash",
        ),
        pytest.param(lambda w, x: bmx.annotators(w, PEOPLE, resamples=-1), "resamples must lie between 0", id="draws"),
    ],
)
def test_mistakes_have_a_sentence(wide, long, ask, said):
    with pytest.raises(BmxError, match=said):
        ask(wide, long)
