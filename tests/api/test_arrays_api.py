"""Arrays in: boosted scores, their gain with its interval, the grid, and rows that do not fit."""

import numpy as np
import pytest
import scipy.stats

import bmx_grid as bmx
from bmx_grid.core.errors import BmxError
from bmx_grid.core.wording import number

RNG = np.random.default_rng(0)
N = 30
BASE = RNG.normal(size=N)
ROWS = [RNG.random(int(RNG.integers(1, 6))) + 0.1 for _ in range(N)]
TRUTH = [RNG.random(3) + 0.1 for _ in range(N)]
HUMAN = BASE + RNG.normal(size=N)


@pytest.mark.parametrize("p", [1.0, -2.0, 3.0])
def test_the_boost_is_the_papers_equation(p):
    scores = bmx.boost(BASE, ROWS, p=p, w=0.4).scores
    means = [np.mean((row + 1e-9) ** p) ** (1 / p) for row in ROWS]
    assert scores == pytest.approx(0.4 * BASE + 0.6 * np.array(means), abs=1e-7)


def test_gain_and_grid_are_those_of_the_scores():
    human = HUMAN.copy()
    human[3] = np.nan
    boosted = bmx.boost(BASE, ROWS, human, p=1, w=0.4, resamples=100)
    known = np.isfinite(human)
    r = scipy.stats.pearsonr(boosted.scores[known], human[known])[0]
    alone = scipy.stats.pearsonr(BASE[known], human[known])[0]
    assert boosted.gain.difference == pytest.approx(r - alone, abs=1e-12)
    assert boosted.gain.low <= boosted.gain.difference <= boosted.gain.high and boosted.gain.n == N - 1
    assert number(boosted.gain.difference, "+.4f") in boosted._repr_html_()
    assert f"pearson {number(r, '.4f')}, baseline {number(alone, '.4f')}" in boosted.summary()
    assert boosted.verdict.n == N - 1
    assert boosted.grid.loc[1.0, 0.4] == pytest.approx(r, abs=1e-12)
    assert boosted.grid.loc[-30.0, 1.0] == pytest.approx(alone, abs=1e-12)
    assert boosted.result.n_used == N - 1


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_means_that_differ_by_rounding_tie_in_grid_gain_and_verdict(kind):
    rng = np.random.default_rng(0)
    base, human = rng.random(40), rng.integers(0, 5, size=40).astype(float)
    rows = [rng.integers(0, 2, size=rng.integers(1, 13)).astype(float) for _ in base]
    boosted = bmx.boost(base, rows, human, p=-1, w=0, correlation=kind, resamples=20)
    of_grid = boosted.grid.loc[-1.0, 0.0] - boosted.grid.loc[-1.0, 1.0]
    assert [boosted.gain.difference, boosted.verdict.gain.value] == pytest.approx([of_grid] * 2, abs=1e-12)


def test_a_gain_is_of_the_correlation_and_draws_of_the_seed_that_are_asked_for():
    of_seeds = [
        bmx.boost(BASE, ROWS, HUMAN, p=1, w=0.4, correlation="kendall", resamples=99, seed=seed) for seed in (0, 1)
    ]
    assert of_seeds[0].gain.x == pytest.approx(scipy.stats.kendalltau(of_seeds[0].scores, HUMAN)[0])
    assert of_seeds[0].gain.low != of_seeds[1].gain.low


def test_undefined_attributions_are_nan_counted_and_left_out():
    rows = [*ROWS]
    rows[2], rows[7] = np.array([0.1, np.nan]), np.array([])
    base = BASE.copy()
    base[9] = np.nan  # known to be undefined
    rows[9] = np.array([])
    with pytest.warns(UserWarning, match=rf"^attributions: 2 of {N} segments have .* \(first: row 2\)"):
        boosted = bmx.boost(base, rows, HUMAN, p=1, w=0.5)
    assert np.flatnonzero(np.isnan(boosted.scores)).tolist() == [2, 7, 9]
    assert boosted.gain.n == N - 3


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: bmx.boost(BASE, ROWS[:-1], p=1, w=0.5), "29 rows for 30 scores"),
        (lambda: bmx.boost(BASE, [["x"], *ROWS[1:]], p=1, w=0.5), "row 0: could not convert"),
        (lambda: bmx.boost(BASE, ROWS, HUMAN[:3], p=1, w=0.5), "human has the shape"),
        (lambda: bmx.boost(BASE, ROWS, np.full(N, np.nan)), "0 rated segments"),
        (lambda: bmx.boost(BASE, ROWS, p=1), "give both"),
        (lambda: bmx.boost(BASE, ROWS), "give p and w"),
        (lambda: bmx.boost(BASE, {"ground_truth": TRUTH}, p=1, w=0.5), "sides ground_truth; give hypothesis"),
        (lambda: bmx.boost(BASE, ROWS, HUMAN, p=1, w=0.5, clusters=[1, 2]), "30 labels"),
        (lambda: bmx.boost(BASE + 1j, ROWS, p=1, w=0.5), "scores: complex128 are no real numbers"),
        (lambda: bmx.boost(BASE, ROWS, [*HUMAN[:-1], np.inf]), "human: number 29 is beyond"),
        (lambda: bmx.boost(BASE, ROWS, p=1, w=0.5, side=None), "unknown side 'None'"),
        (lambda: bmx.boost(BASE, ROWS, HUMAN, p=1, w=0.5, clusters=[None, *range(N - 1)]), "none may be missing"),
        (
            lambda: bmx.boost(BASE, ROWS, HUMAN, p=1, w=0.5, clusters=np.array([{} for _ in range(N)])),
            "clusters: unhashable type.*30 labels",
        ),
        (lambda: bmx.boost(BASE, ROWS, HUMAN, p=1, w=0.5, resamples=0), "resamples must lie between 1 and 1,000,000"),
    ],
)
def test_what_does_not_fit_is_said(ask, message):
    with pytest.raises(BmxError, match=message):
        ask()


def test_clusters_may_be_named_by_texts_and_numbers():
    labels = [row // 3 for row in range(N)]
    mixed = [f"doc {label}" if label % 2 else label for label in labels]
    asked = (labels, np.array(mixed, dtype=object))
    boosted = [bmx.boost(BASE, ROWS, HUMAN, p=1, w=0.5, clusters=clusters, resamples=50) for clusters in asked]
    gains = [of_clusters.gain for of_clusters in boosted]
    assert (
        boosted[0].verdict.clusters == gains[0].clusters == gains[1].clusters == N // 3
        and gains[0].difference == gains[1].difference
    )


def test_a_grid_is_said_to_be_chosen_on_its_segments():
    boosted = bmx.boost(BASE, ROWS, HUMAN)
    assert repr(boosted) == "Boosted(30 segments without a point, 30 rated)"
    assert "chosen on these segments" in boosted.summary()


def test_explanations_go_in_as_they_are():
    references, hypotheses = ["the cat sat", "he went home", "it rains"], ["a cat sat", "he goes home", "it rained"]
    explained = bmx.load("chrf", "erasure").explain(hypotheses, references=references)
    sides = [
        [explanation.attributions[side] for explanation in explained.explanations]
        for side in ("reference", "hypothesis")
    ]
    direct = bmx.boost(explained.base, explained.explanations, p=-1, w=0.4).scores
    by_rows = bmx.boost(explained.base, {"ground_truth": sides[0], "hypothesis": sides[1]}, p=-1, w=0.4).scores
    assert direct.tolist() == by_rows.tolist()
    one_sided = bmx.boost(explained.base, explained.explanations, p=1, w=0.0, side="hypothesis").scores
    assert one_sided == pytest.approx([row.mean() if min(row) > 0 else row.mean() - min(row) for row in sides[1]])
    expected = bmx.load("chrf", "erasure", p=-1, w=0.4).score(hypotheses, references=references)
    assert direct == pytest.approx(expected, abs=1e-12)
