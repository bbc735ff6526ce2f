"""Means of large settings, made a range of p at a time: the same numbers, and never all of them at once."""

import numpy as np
import pytest

from bmx_grid.core.ragged import Ragged
from bmx_grid.measures import grid as grid_means
from bmx_grid.measures.aggregation import PowerMean
from bmx_grid.measures.grid import GridMeans, GridSpec, compute_grid
from bmx_grid.measures.grid_resampling import Sample, cross_fit, selection_adjusted

N, P = 60, tuple((np.arange(-30, 30) / 2).tolist())


def rows(seed: int) -> Ragged:
    rng = np.random.default_rng(seed)
    return Ragged.from_rows([rng.normal(size=size) for size in rng.integers(0, 9, N)])


BASE, HUMAN = (np.random.default_rng(seed).normal(size=N) for seed in (1, 2))
TRUTH, HYPOTHESIS = rows(3), rows(4)


@pytest.fixture
def by_columns(monkeypatch):
    """Settings count as large; returns the width of each range of p that is made."""
    made, real = [], PowerMean.of_packed

    def counted(self, packed, n, p):
        made.append(len(p))
        return real(self, packed, n, p)

    monkeypatch.setattr(grid_means, "WHOLE_CELLS", 0)
    monkeypatch.setattr(grid_means, "CELLS", 7 * N)
    monkeypatch.setattr(PowerMean, "of_packed", counted)
    return made


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_the_grid_is_the_same_and_each_mean_is_made_once(kind, request):
    spec = GridSpec(p=P, correlation=kind)
    whole = compute_grid(spec, BASE, TRUTH, HYPOTHESIS, HUMAN)
    made = request.getfixturevalue("by_columns")
    found = compute_grid(spec, BASE, TRUTH, HYPOTHESIS, HUMAN)
    np.testing.assert_allclose(found.correlation, whole.correlation, rtol=0, atol=1e-12)
    assert (found.best_p, found.best_w, found.n_undefined) == (whole.best_p, whole.best_w, whole.n_undefined)
    assert sum(made) == len(P) and max(made) <= 7


def positive() -> Ragged:
    made = rows(5)
    return Ragged(np.exp(made.values), made.offsets)


@pytest.mark.parametrize(
    "key",
    [
        pytest.param((slice(None), slice(3, 5)), id="a range"),
        pytest.param((slice(None), slice(5, 40)), id="wider than what is made at a time"),
        pytest.param((np.array([4, 4, 0]), slice(10, 12)), id="rows that repeat"),
        pytest.param((slice(None), 59), id="one p"),
        pytest.param((slice(None), slice(None)), id="all"),
    ],
)
def test_columns_are_read_as_of_an_array(key, by_columns):
    whole = PowerMean().aggregate(positive(), np.array(P))
    lazy = GridMeans(PowerMean(), positive(), np.array(P))
    for _ in range(2):
        np.testing.assert_allclose(lazy[key], whole[key], rtol=2e-14)


def test_what_is_read_from_left_to_right_is_made_in_ranges_of_one_width(by_columns):
    lazy = GridMeans(PowerMean(), positive(), np.array(P))
    for at in range(len(P)):
        lazy[:, at : at + 1]
    assert by_columns == [7] * 8 + [4]
    assert [(one.start, one.stop) for one in lazy.blocks()] == [(at, min(at + 7, 60)) for at in range(0, 60, 7)]


def test_small_settings_are_made_at_once(monkeypatch):
    monkeypatch.setattr(grid_means, "WHOLE_CELLS", N * len(P))
    assert [(one.start, one.stop) for one in GridMeans(PowerMean(), positive(), np.array(P)).blocks()] == [(0, 60)]
    assert len(list(GridMeans(PowerMean(), positive(), np.array((*P, 30.0))).blocks())) == 1
    monkeypatch.setattr(grid_means, "CELLS", 7 * N)
    assert len(list(GridMeans(PowerMean(), positive(), np.array((*P, 30.0))).blocks())) == 9


def sample(means) -> Sample:
    used = positive().lengths > 0
    return Sample.of(means, BASE[used], HUMAN[used], (0.0, 0.4), np.arange(N)[used] // 2)


def statistics(of: Sample) -> list[float]:
    return [*cross_fit(of).scores, *selection_adjusted(of, 20).null]


def test_resampling_gives_the_same_numbers(by_columns):
    made = positive()
    used = Ragged(made.values, np.unique(made.offsets))  # without the rows that have no words
    whole = PowerMean().aggregate(used, np.array(P))
    found = statistics(sample(GridMeans(PowerMean(), used, np.array(P))))
    np.testing.assert_allclose(found, statistics(sample(whole)), rtol=0, atol=1e-9)
    assert np.isfinite(found).all()
