"""Verdicts on given scores: of `boost` at a point, and of `compare`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import bmx_grid as bmx
from bmx_grid.core.errors import ConfigError
from bmx_grid.evaluations.verdicts import LEGEND

N = 300


def segments(seed: int = 0):
    """Scores, human scores that are a curve of them with a quality that they miss, that quality, and word counts."""
    rng = np.random.default_rng(seed)
    score, quality, noise = rng.normal(size=(3, N))
    return score, np.exp(0.8 * score) + quality + noise, quality, rng.integers(5, 40, size=N)


def rows(level, words, seed=1):
    rng = np.random.default_rng(seed)
    return [level[row] * np.exp(0.1 * rng.normal(size=words[row])) for row in range(N)]


@pytest.mark.parametrize(
    ("knows", "labels"),
    [
        pytest.param("curve", ("open", "confounded"), id="the-curve-of-the-score-only"),
        pytest.param("quality", ("helps",), id="what-the-metric-misses"),
        pytest.param("opposite", ("hurts",), id="the-opposite-of-it"),
    ],
)
def test_a_point_is_judged_beside_score_and_length(knows, labels):
    score, human, quality, words = segments()
    level = {"curve": np.exp(0.8 * score), "quality": np.exp(0.8 * quality), "opposite": np.exp(-0.8 * quality)}[knows]
    verdict = bmx.boost(score, rows(level, words), human, p=1, w=0.5, resamples=200).verdict
    assert verdict.label in labels, verdict.because


def test_the_level_of_each_system_is_controlled_for_if_they_are_named():
    rng, system = np.random.default_rng(3), np.arange(N) % 6
    score, noise = rng.normal(size=(2, N))
    level = np.linspace(-1.5, 1.5, 6)[system]  # people and attributions order six systems alike
    arguments = score, rows(np.exp(0.4 * level), rng.integers(5, 40, size=N)), score + level + noise
    verdicts = {
        named: bmx.boost(*arguments, p=1, w=0.3, systems=system if named else None, resamples=200).verdict
        for named in (True, False)
    }
    assert verdicts[False].label == "helps"
    assert verdicts[True].label in ("open", "confounded"), verdicts[True].because
    assert verdicts[True].gain.value == verdicts[False].gain.value


def test_a_point_without_human_scores_or_a_grid_has_no_verdict():
    score, human, quality, words = segments()
    attributions = rows(np.exp(quality), words)
    with pytest.raises(ConfigError, match="human"):
        _ = bmx.boost(score, attributions, p=1, w=0.5).verdict
    with pytest.raises(ConfigError, match="p and w"):
        _ = bmx.boost(score, attributions, human).verdict


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    score, human, quality, words = segments(5)
    texts = [f"s{row}" + " x" * count for row, count in enumerate(words)]
    columns = {"source": texts, "hypothesis": texts, "mqm": human, "alone": score, "curve": np.exp(0.8 * score)}
    return pd.DataFrame({"id": range(N), **columns, "better": score + quality})


def test_compare_says_what_of_a_lead_is_the_other_ones_score(table):
    verdicts = bmx.compare(table, ["alone", "curve", "better"], human="mqm").verdicts.set_index(["compared", "against"])
    of_curve = verdicts.loc[("curve", "alone"), "verdict"]
    assert of_curve in ("open", "confounded")
    assert verdicts.loc[("better", "alone"), "verdict"] == "helps"
    assert (verdicts["gain"] >= 0).all()
    for name in ("gain", "partial_r"):
        assert (verdicts[f"{name}_low"] <= verdicts[name]).all() and (verdicts[name] <= verdicts[f"{name}_high"]).all()
    rng = np.random.default_rng(6)
    slightly = table["alone"] + 0.045 * (table["better"] - table["alone"]) + 0.2 * rng.normal(size=N)
    near = table["alone"] + 0.05 * rng.normal(size=N)
    several = table.assign(slightly=slightly, near=near)
    family = bmx.compare(several, ["alone", "near", "slightly"], human="mqm").verdicts
    # Its interval leaves 0 out; in a family of three that is not enough.
    row = family.set_index(["compared", "against"]).loc[("slightly", "alone")]
    assert row["gain_low"] > 0 and row["verdict"] == "informative"
    assert "not significant after the correction for 3 verdicts" in row["because"]
    shown = " ".join(bmx.compare(table, ["alone", "curve"], human="mqm").summary().split())
    assert f"{of_curve}: {LEGEND[of_curve]}." in shown
    assert "Partial r: the correlation of the metric with the human scores when the other one's score" in shown


@pytest.fixture(scope="module")
def longer() -> pd.DataFrame:
    """A metric, and the same minus the logarithm of the number of words, which people dislike."""
    rng = np.random.default_rng(2)
    score, noise = rng.normal(size=(2, N))
    words = rng.integers(5, 40, size=N)
    human = score - np.log(words) + noise
    return pd.DataFrame({"mqm": human, "a": score, "b": score - np.log(words), "n_words": words})


@pytest.mark.parametrize(
    ("options", "is_controlled"),
    [
        pytest.param({}, False, id="no-texts"),
        pytest.param({"lengths": "n_words"}, True, id="a-column-of-lengths"),
        pytest.param({"columns": {"hypothesis": "mt"}}, True, id="texts"),
    ],
)
def test_a_lead_of_length_alone_never_helps(longer, options, is_controlled):
    texts = [" ".join("x" * words) for words in longer["n_words"]]
    frame = longer.assign(mt=texts) if "columns" in options else longer
    result = bmx.compare(frame, ["a", "b"], human="mqm", resamples=200, **options)
    (row,) = result.verdicts.to_dict("records")
    assert (row["compared"], row["verdict"] == "helps") == ("b", False), row["because"]
    assert row["gain_low"] > 0.02 and np.isfinite(row["partial_r"]) == is_controlled
    summary = " ".join(result.summary().split())
    assert ("Length is not controlled for, as the table has neither" in summary) != is_controlled
    assert "attributions of other segments" not in summary
    undefined = longer.assign(n_words=longer["n_words"].where(longer.index >= 20))
    assert len(bmx.compare(undefined, ["a", "b"], human="mqm", lengths="n_words", resamples=40).verdicts)


def test_lengths_are_columns_of_numbers(longer):
    with pytest.raises(ConfigError, match="lengths: unknown column 'words'"):
        bmx.compare(longer, ["a", "b"], human="mqm", lengths="words")
