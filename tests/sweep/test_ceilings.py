"""The ceilings of a sweep's human scores: of every judgement whose raters are published, once per language pair."""

import numpy as np
import pytest
from some_settings import finished

from bmx_grid.datasets.judgements import Judgements
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.measures.annotators import reliability
from bmx_grid.sweep.results import ceilings_table


def rated(pair, raters):
    segments = finished(n=12).segments.segments
    scores = {"z_mean": np.nanmean(raters, axis=1), "hter": np.arange(12.0)}
    return SegmentSet("toy", pair, segments, Judgements(scores, {"z_mean": raters}))


def test_each_judgement_with_raters_has_a_row_and_others_none():
    rng = np.random.default_rng(0)
    raters = rng.normal(size=(12, 1)) + 0.5 * rng.normal(size=(12, 3))
    one, other = rated("de-en", raters), rated("zh-en", raters[:, :2])
    found = ceilings_table([one, other, one, finished().segments]).to_pylist()
    assert [(row["dataset"], row["language_pair"], row["human"]) for row in found] == [
        ("toy", "de-en", "z_mean"),
        ("toy", "zh-en", "z_mean"),
    ]
    expected = reliability(raters)
    assert (found[0]["raters"], found[0]["reliability"]) == pytest.approx((3, expected.icc_k))
    assert found[0]["ceiling"] == pytest.approx(expected.icc_k**0.5)
    assert found[1]["ceiling"] < found[0]["ceiling"], "fewer raters, a less reliable mean"


def test_without_raters_there_is_no_table():
    assert ceilings_table([finished().segments]) is None
