"""The p x w grids of many resamples of one setting: weights per cluster times moments per cluster.

Pearson's r of w * base + (1 - w) * M_p with the human scores needs six sums over the segments. Resampling clusters
weights the clusters' sums, so that the grids of all resamples are a few matrix products. Means are centred at their
median: where few segments carry nearly all variance (w = 0, p < 0), a resample without them keeps its digits. The
rank correlations have no such sums; their grids are computed one resample at a time, about a thousand times slower.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.measures.aggregation import PRECISION
from bmx_grid.measures.correlation import Kind, check_kind, correlate, correlate_grid
from bmx_grid.measures.grid import GridMeans
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, codes, fitting, number_of, pair_columns, ranges

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WHOLE = slice(None)
LOST = 1e-7  # share of a second moment that must be left as variance, to trust moments
ROUNDED = 1e3  # a spread of so many times the rounding of the means is looked at again
MOMENT_CELLS = 2**23  # segments x moments handled at a time: 64 MiB; few columns at a time are slow to gather
FEW = 16  # segments of a cluster up to which sums go segment by segment; the same digits, several times as fast
BLEND_CELLS = 2**15  # p x resamples blended at a time: 256 KiB stay in a processor's cache
WEIGHT_CELLS = 2**27  # resamples x clusters handled at a time: 1 GiB; moments are computed anew for each lot


@dataclass(frozen=True, eq=False)
class Sample:
    """The used segments of one setting. Made by `of`, which checks what is given.

    means: float64[N, P] aggregated attributions, perhaps made as they are read (`GridMeans`); base, human: float64[N];
    w: float64[W + 1 or W] weights of the base score, ascending, with 1 ("do not boost") among them; cluster: int[N]
    codes; clusters: their number. precision: the relative error of the means.
    """

    means: Floats | GridMeans
    base: Floats
    human: Floats
    w: Floats
    cluster: Ints
    clusters: int
    kind: Kind
    precision: float

    @classmethod
    def of(
        cls,
        means: ArrayLike | GridMeans,
        base: ArrayLike,
        human: ArrayLike,
        w: ArrayLike,
        cluster: ArrayLike,
        *,
        kind: Kind = "pearson",
        precision: float = PRECISION,
    ) -> Sample:
        """From the arrays of the used segments (`grid.grid_inputs`) and N cluster labels of any type.

        Raises ValueError for shapes that do not agree, numbers that are not finite, or w that is not ascending in
        [0, 1], and ConfigError for an unknown kind.
        """
        check_kind(kind)
        means = means if isinstance(means, GridMeans) else np.asarray(means, dtype=np.float64)
        base, human, w = (np.asarray(a, dtype=np.float64) for a in (base, human, w))
        labels = np.asarray(cluster)
        fit = len(means.shape) == 2 and means.shape[1] > 0 and base.shape == human.shape == labels.shape
        if not fit or base.shape != means.shape[:1]:
            shapes = ", ".join(str(shape) for shape in (means.shape, base.shape, human.shape, labels.shape))
            raise ValueError(
                f"means [N, P] of at least one p, base [N], human [N] and clusters [N] are needed, not shapes {shapes}"
            )
        finite = isinstance(means, GridMeans) or np.isfinite(means.sum(axis=0)).all()  # means of positive numbers are
        if not (np.isfinite(base).all() and np.isfinite(human).all() and finite):
            raise ValueError("only segments with finite scores, judgements and means can be resampled")
        if w.ndim != 1 or not len(w) or not (np.diff(w) > 0).all() or w[0] < 0 or w[-1] > 1:
            raise ValueError(f"w must be ascending numbers in [0, 1], not {w.tolist()}")
        unit = codes(labels)
        return cls(means, base, human, np.union1d(w, [1.0]), unit, number_of(unit), kind, precision)

    @cached_property
    def correlation(self) -> Floats:
        """float64[P, W] the grid of all segments, w = 1 included."""
        return self.correlation_with(self.human)

    def correlation_with(self, human: Floats, rows: Ints | None = None) -> Floats:
        """float64[P, W] the grid with other human scores float64[N]; rows: of these segments, a segment may repeat."""
        which: Any = slice(None) if rows is None else rows
        found = [
            correlate_grid(self.kind, self.means[which, block], self.base[which], human[which], self.w, self.precision)
            for block in self.blocks()
        ]
        return np.concatenate(found)

    def blocks(self) -> Iterator[slice]:
        """Ranges of p whose means are there together."""
        return self.means.blocks() if isinstance(self.means, GridMeans) else iter((slice(0, self.means.shape[1]),))

    @cached_property
    def baseline(self) -> float:
        """The correlation of the base score."""
        return correlate(self.kind, self.base, self.human)

    @property
    def enough(self) -> bool:
        """Whether there is something to resample: three clusters and a defined baseline."""
        return self.clusters >= FEWEST_CLUSTERS and not np.isnan(self.baseline)

    @cached_property
    def order(self) -> Ints:
        """Segments by cluster."""
        return np.argsort(self.cluster, kind="stable")

    @cached_property
    def starts(self) -> Ints:
        """Where each cluster begins in `order`."""
        return np.searchsorted(self.cluster[self.order], np.arange(self.clusters))

    def by_cluster(self, columns: Floats) -> Floats:
        """float64[C, K] the sums of float64[N, K] over the segments of each cluster."""
        sizes = np.diff(self.starts, append=len(self.order))
        if sizes.max(initial=0) > FEW:
            return np.add.reduceat(columns[self.order], self.starts, axis=0)
        found = columns[self.order[self.starts]]
        for place in range(1, int(sizes.max(initial=0))):  # most clusters have one segment: the rest is added to it
            larger = sizes > place
            found[larger] += columns[self.order[self.starts[larger] + place]]
        return found

    def column_blocks(self, columns: slice = WHOLE) -> Iterator[slice]:
        """Ranges of p handled at a time."""
        first, last, _ = columns.indices(self.means.shape[1])
        for part in ranges(last - first, fitting(MOMENT_CELLS, 4 * len(self.base))):
            yield slice(first + part.start, first + part.stop)


def grids(sample: Sample, weights: Floats, columns: slice = WHOLE) -> tuple[Floats, Floats]:
    """float64[W, P, R] grids of R resamples and float64[R] their baselines, NaN where undefined.

    weights: float64[R, C] how often each cluster counts, whole numbers of at least 0. The column w = 1 holds the
    baselines. columns: which of the p.
    """
    if sample.kind != "pearson":
        return _grids_one_by_one(sample, weights, columns)
    block = ranges(len(weights), fitting(WEIGHT_CELLS, sample.clusters))
    pieces = [_pearson_grids(sample, weights[some], columns) for some in block]
    return np.concatenate([grid for grid, _ in pieces], axis=2), np.concatenate([alone for _, alone in pieces])


def _pearson_grids(sample: Sample, weights: Floats, columns: slice) -> tuple[Floats, Floats]:
    common = _Common(sample, weights)
    result = np.empty((len(sample.w), len(range(*columns.indices(sample.means.shape[1]))), len(weights)))
    first = columns.indices(sample.means.shape[1])[0]
    for some in sample.column_blocks(columns):
        moments, floor = _moments(sample, some, common, weights)
        place_of = slice(some.start - first, some.stop - first)
        for place, w in enumerate(sample.w.tolist()):
            out = result[place, place_of]
            if w == 1:
                out[:] = common.baseline
                continue
            for part in ranges(len(floor), fitting(BLEND_CELLS, len(weights))):
                _blend(w, [moment[part] for moment in moments], floor[part], common, out[part])
            lost = np.isnan(out)
            if lost.any():
                _again(sample, some, w, weights, lost, out)
    return result, common.baseline


class _Common:
    """What all p share. base, human: float64[N] less their means, over the standard deviation of the base score.

    Of each of R resamples: size; base_mean; base_square, base_variance; human_mean, human_variance (NaN where its
    digits are lost); crossed, the covariance of the two; baseline.
    """

    def __init__(self, sample: Sample, weights: Floats) -> None:
        self.scale = float(sample.base.std()) or 1.0
        self.base = base = (sample.base - sample.base.mean()) / self.scale
        self.human = human = (sample.human - sample.human.mean()) / (float(sample.human.std()) or 1.0)
        sums = weights @ sample.by_cluster(pair_columns(base, human))
        self.size = sums[:, 0]
        with np.errstate(invalid="ignore", divide="ignore"):
            _, self.base_mean, self.human_mean, self.base_square, human_square, crossed = (sums / sums[:, :1]).T
            self.base_variance = self.base_square - self.base_mean**2
            self.human_variance = human_square - self.human_mean**2
            self.crossed = crossed - self.base_mean * self.human_mean
            self.human_variance[~(self.human_variance > LOST * human_square)] = np.nan
            safe = np.where(self.base_variance > LOST * self.base_square, self.base_variance, np.nan)
            self.baseline = np.clip(self.crossed / np.sqrt(safe * self.human_variance), -1.0, 1.0)
        for row in np.flatnonzero(np.isnan(self.baseline)):
            rows = _rows(sample, weights[row])
            self.baseline[row] = correlate("pearson", sample.base[rows], sample.human[rows])


def _moments(sample: Sample, columns: slice, common: _Common, weights: Floats) -> tuple[list[Floats], Floats]:
    """Of K columns and R resamples, float64[K, R]: square, variance, and covariance with base and human score.

    And float64[K] the variance below which rounding of the means shows.
    """
    means = sample.means[:, columns] / common.scale
    floor = (ROUNDED * sample.precision * np.abs(means).max(axis=0)) ** 2
    means -= np.median(means, axis=0)
    parts = []
    for factor in (None, means, common.base[:, None], common.human[:, None]):
        terms = sample.by_cluster(means if factor is None else means * factor)
        with np.errstate(invalid="ignore"):  # of a resample without segments nothing is defined
            parts.append((terms.T @ weights.T) / common.size)
    mean, square, with_base, with_human = parts
    with_base -= mean * common.base_mean
    with_human -= mean * common.human_mean
    variance = square - np.square(mean, out=mean)
    return [square, variance, with_base, with_human], floor


def _blend(w: float, moments: list[Floats], floor: Floats, common: _Common, out: Floats) -> None:
    """Fill float64[K, R] with the correlations at w; NaN where the variance has lost its digits."""
    rest, (square, own_variance, with_base, with_human) = 1 - w, moments
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = rest**2 * own_variance
        enough = rest**2 * square
        if w != 0:
            variance += w**2 * common.base_variance + 2 * w * rest * with_base
            enough += w**2 * common.base_square
        enough *= LOST
        np.maximum(enough, rest**2 * floor[:, None], out=enough)
        variance[~(variance > enough)] = np.nan
        variance *= common.human_variance
        np.multiply(rest, with_human, out=out)
        if w != 0:
            out += w * common.crossed
        out /= np.sqrt(variance, out=variance)
    np.clip(out, -1.0, 1.0, out=out)


def _again(sample: Sample, columns: slice, w: float, weights: Floats, lost: NDArray[np.bool_], out: Floats) -> None:
    """Recompute what is lost, bool[K, R], from the resampled segments themselves."""
    means = sample.means[:, columns]
    for resample in np.flatnonzero(lost.any(axis=0)):
        at, rows = np.flatnonzero(lost[:, resample]), _rows(sample, weights[resample])
        chosen = means[np.ix_(rows, at)]
        found = correlate_grid(
            "pearson", chosen, sample.base[rows], sample.human[rows], np.array([w]), sample.precision
        )
        out[at, resample] = found[:, 0]


def _grids_one_by_one(sample: Sample, weights: Floats, columns: slice) -> tuple[Floats, Floats]:
    resamples = [_rows(sample, row) for row in weights]
    found = [sample.correlation_with(sample.human, rows).T[:, columns] for rows in resamples]
    return np.stack(found, axis=2), np.array(
        [correlate(sample.kind, sample.base[rows], sample.human[rows]) for rows in resamples]
    )


def _rows(sample: Sample, weights: Floats) -> Ints:
    """The segments of a resample, each as often as it counts."""
    return np.repeat(np.arange(len(sample.base)), weights[sample.cluster].astype(np.int64))
