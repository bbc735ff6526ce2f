"""Kernels of what may explain human scores: score, lengths, texts and named groups.

A kernel is the similarity of every two segments; `kernel_ridge` predicts scores by it. Several compete (MIXTURES).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.measures.correlation import average_ranks, standard_deviation
from bmx_grid.measures.ordered import compile_kernel

FARTHEST = 4.0  # standard deviations: an outlier beyond would share its kernel with no other segment
# Prior variances of linear effects: of score and lengths (as good as unpenalised), and of text statistics.
VAGUE = 100.0
LINEAR = 0.3
# Of the level and slope of each named group: chosen like kernel and penalty, as groups may be small and uninformative.
GROUPED = (0.3, 0.03, 3.0)
# Widths, in shares of all segments, of kernels of one input, and of all inputs of score and length together.
NARROW, TEXT_WIDTH = 0.2, 0.3
FINE, JOINT, WIDE = 0.15, 0.4, 0.8
# How much the inputs that predict the first target count above the others.
SHARPNESS = 4
# Mixtures: weights of single inputs, all inputs jointly (city block, squared, fine), and texts times score and length.
MIXTURES = (
    {"single": 1.0},
    {"single": 0.5, "joint": 0.5},
    {"single": 0.5, "smooth": 0.5},
    {"single": 0.3, "fine": 0.7},
    {"single": 0.3, "joint": 0.3, "texts": 0.4},
    {"single": 0.2, "smooth": 0.3, "texts": 0.5},
)


@dataclass(frozen=True, eq=False)
class Nuisance:
    """Confounders of n segments: properties that may explain human scores and are no explanations.

    core: float64[n, 1 + k], the score and the log words of each text that the metric reads; their joint effects are
    taken off. texts: float64[n, t] statistics of all texts; one by one, and together with the core. groups: int64[n]
    codes of each kind of named groups (systems, raters, domains): a level and a slope on the score for each group.
    strata: int64[n] codes of sources or documents within which scores are compared; None to compare all segments.
    metrics: float64[n, m] scores of other metrics, one by one.
    """

    core: Floats
    texts: Floats
    groups: tuple[Ints, ...] = ()
    strata: Ints | None = None
    metrics: Floats | None = None

    def take(self, rows: Ints) -> Nuisance:
        """The nuisance of some segments; of all in their order itself, as it may be large."""
        if np.array_equal(rows, np.arange(len(self.core))):
            return self
        groups = tuple(group[rows] for group in self.groups)
        strata = None if self.strata is None else self.strata[rows]
        metrics = None if self.metrics is None else self.metrics[rows]
        return Nuisance(self.core[rows], self.texts[rows], groups, strata, metrics)

    def subtract_means(self, values: Floats) -> Floats:
        """Float64[n, q] values less the mean of their stratum."""
        if self.strata is None:
            return values
        sizes = np.bincount(self.strata)
        means = [np.bincount(self.strata, column) / np.maximum(sizes, 1) for column in values.T]
        return np.asarray(values - np.column_stack(means)[self.strata])


class Kernels:
    """Kernels float64[n, n] of one nuisance; weights: of single inputs, found on some of the segments."""

    def __init__(self, nuisance: Nuisance, weights: dict[str, Floats] | None = None) -> None:
        self.nuisance = nuisance
        self.weights = weights
        self.standard = _standard(nuisance.core)
        score, *lengths = self.standard.T
        # Steps along sums and differences are no steps along the inputs themselves.
        sums = [score + length for length in lengths]
        differences = [score - length for length in lengths]
        directions = [*self.standard.T, *sums, *differences]
        if nuisance.metrics is not None:
            directions.extend(nuisance.metrics.T)
        self.core_inputs = [_ranks(direction) for direction in directions]
        self.text_inputs = [_ranks(column) for column in nuisance.texts.T]

    @cached_property
    def single(self) -> Floats:
        """A sum of effects of single inputs: half of it of score and lengths, half of texts."""
        kernel = self._sum("core", self.core_inputs, NARROW)
        if self.text_inputs:
            kernel += self._sum("single texts", self.text_inputs, TEXT_WIDTH)
            kernel /= 2
        return kernel

    @cached_property
    def joint(self) -> Floats:
        return self._laplace(JOINT)

    @cached_property
    def fine(self) -> Floats:
        return self._laplace(FINE)

    @cached_property
    def wide(self) -> Floats:
        return self._laplace(WIDE)

    @cached_property
    def smooth(self) -> Floats:
        return _exp_of_distances(self.standard, "sqeuclidean", 2)

    @cached_property
    def texts(self) -> Floats:
        """Effects of single text statistics that depend on score and length."""
        if not self.text_inputs:
            return self.joint
        kernel = self._sum("texts", self.text_inputs, TEXT_WIDTH)
        kernel *= self.joint
        return kernel

    @cached_property
    def vague(self) -> Floats:
        """Columns float64[n, k] whose linear effects are as good as unpenalised."""
        columns = [np.ones(len(self.standard)), *self.standard.T]
        if self.nuisance.metrics is not None:
            columns.extend(_standard(self.nuisance.metrics).T)
        return np.column_stack(columns)

    @cached_property
    def linear(self) -> Floats:
        """Linear effects."""
        core = self.vague
        bent = np.column_stack([self.standard[:, 0] ** 2 / 2, _standard(self.nuisance.texts)])
        kernel: Floats = VAGUE * core @ core.T
        kernel += LINEAR * bent @ bent.T
        return kernel

    @cached_property
    def groups(self) -> Floats:
        """Levels and slopes of named groups."""
        score = self.standard[:, 0]
        products = 1 + np.outer(score, score)
        kernel = np.zeros_like(products)
        for group in self.nuisance.groups:
            kernel += np.where(group[:, None] == group, products, 0.0)
        return kernel

    def mixture(self, place: int, grouped: float = GROUPED[0]) -> Floats:
        """The kernel of this place in MIXTURES, with linear effects and groups, within strata."""
        weighted = [(getattr(self, name), weight) for name, weight in MIXTURES[place].items()]
        kernel = self.linear.copy()
        if self.nuisance.groups:
            kernel += grouped * self.groups
        # One array for all products: each new one would be handed over by the system page by page.
        product = np.empty_like(kernel)
        for part, weight in weighted:
            kernel += np.multiply(part, weight, out=product)
        if self.nuisance.strata is not None:
            compile_kernel(_centre)(kernel, self.nuisance.strata, np.bincount(self.nuisance.strata))
        return kernel

    def weigh(self, target: Floats) -> dict[str, Floats]:
        """How much each single input counts, by how much of float64[n] its kernel explains (kernel alignment).

        Cortes, Mohri and Rostamizadeh 2012, "Algorithms for Learning Kernels Based on Centered Alignment", JMLR 13.
        Half of the weight is spread evenly.
        """
        apart = np.ones_like(self.wide)
        return {
            "core": _alignment_weights(self.core_inputs, NARROW, apart, target),
            "single texts": _alignment_weights(self.text_inputs, TEXT_WIDTH, apart, target),
            "texts": _alignment_weights(self.text_inputs, TEXT_WIDTH, self.wide, target),
        }

    def _laplace(self, width: float) -> Floats:
        """The kernel of all inputs of score and length together, by the distance of their ranks."""
        ranks = np.column_stack([_ranks(column) for column in self.nuisance.core.T])
        return _exp_of_distances(ranks, "cityblock", width)

    def _sum(self, name: str, inputs: Sequence[Floats], width: float) -> Floats:
        """The kernels of single inputs, float64[n] ranks each, added with the weights of this name; else alike.

        name: a key of what `weigh` returns. width: of each kernel.
        """
        weights = np.full(len(inputs), 1 / len(inputs)) if self.weights is None else self.weights[name]
        rising = np.exp(np.array(inputs) / width)
        total: Floats = compile_kernel(_sum_of_laplace)(rising, 1 / rising, weights)
        return total


def _exp_of_distances(points: Floats, kind: Literal["cityblock", "sqeuclidean"], width: float) -> Floats:
    """float64[n, n] exp(-distance / width) of float64[n, d] points."""
    from scipy.spatial.distance import cdist

    values: Floats = cdist(points, points, kind)
    values /= -width
    return np.exp(values, out=values)


# Laplace kernels of single inputs, exp(-|a - b| / width) of ranks a and b, are computed as the smaller of
# exp(a / width) / exp(b / width) and its inverse: a third of the time of n^2 exponentials. Compiled: written as array
# operations, every matrix would pass through memory several times.


def _sum_of_laplace(rising: Floats, falling: Floats, weights: Floats) -> Floats:
    """float64[n, n] the weighted sum of the Laplace kernels of k inputs.

    rising, falling: float64[k, n] exponentials of their ranks, and the inverses.
    """
    k, n = rising.shape
    total = np.zeros((n, n))
    for i in range(n):
        for place in range(k):
            weight = weights[place]
            up = rising[place, i]
            down = falling[place, i]
            for j in range(i + 1):
                total[i, j] += weight * min(up * falling[place, j], down * rising[place, j])
    for i in range(n):
        for j in range(i):
            total[j, i] = total[i, j]
    return total


def _alignments(rising: Floats, falling: Floats, factor: Floats, target: Floats) -> Floats:
    """float64[k] centred alignments of the Laplace kernels of k inputs, each times float64[n, n], with a target.

    rising, falling: as in `_sum_of_laplace`. 0 of a kernel that is constant.
    """
    k, n = rising.shape
    alignments = np.zeros(k)
    for place in range(k):
        sums = np.zeros(n)
        squares = 0.0
        explained = 0.0
        for i in range(n):
            up = rising[place, i]
            down = falling[place, i]
            row_sum = 0.0
            row_squares = 0.0
            row_explained = 0.0
            for j in range(i):
                value = factor[i, j] * min(up * falling[place, j], down * rising[place, j])
                sums[j] += value
                row_sum += value
                row_squares += value * value
                row_explained += value * target[j]
            of_itself = factor[i, i] * up * down
            sums[i] += row_sum + of_itself
            squares += 2 * row_squares + of_itself * of_itself
            explained += target[i] * (2 * row_explained + of_itself * target[i])
        centred = squares - 2 * np.sum(sums**2) / n + (np.sum(sums) / n) ** 2
        if centred > 0:
            alignments[place] = explained / np.sqrt(centred)
    return alignments


def _alignment_weights(inputs: Sequence[Floats], width: float, factor: Floats, target: Floats) -> Floats:
    """float64[k] weights of k inputs with sum 1: half of it spread evenly, half by alignment with a target.

    inputs: float64[n] ranks each. width: of their Laplace kernels, each multiplied by float64[n, n] factor.
    """
    even = np.full(len(inputs), 1 / max(len(inputs), 1))
    if not inputs:
        return even
    rising = np.exp(np.array(inputs) / width)
    alignments = compile_kernel(_alignments)(rising, 1 / rising, factor, target).clip(min=0.0)
    highest = alignments.max()
    if highest == 0:
        return even
    sharp = (alignments / highest) ** SHARPNESS
    return np.asarray((even + sharp / sharp.sum()) / 2)


def _centre(kernel: Floats, strata: Ints, sizes: Ints) -> None:
    """Subtract from float64[n, n] in place the means over the columns and then over the rows of each stratum.

    strata: int64[n] codes; sizes: int64[k] segments of each.
    """
    n = len(kernel)
    means = np.empty(len(sizes))
    means_of_columns = np.zeros((len(sizes), n))
    for i in range(n):
        means[:] = 0.0
        for j in range(n):
            means[strata[j]] += kernel[i, j] / sizes[strata[j]]
        of_column = means_of_columns[strata[i]]
        for j in range(n):
            kernel[i, j] -= means[strata[j]]
            of_column[j] += kernel[i, j] / sizes[strata[i]]
    for i in range(n):
        of_column = means_of_columns[strata[i]]
        for j in range(n):
            kernel[i, j] -= of_column[j]


def _ranks(values: Floats) -> Floats:
    """float64[n] average ranks, in shares of n."""
    return average_ranks(values) / len(values)


def standardise(values: Floats) -> Floats:
    """float64[n, d] in standard deviations from the mean, of any scale; a constant column is 0."""
    # a constant column has rounding for a deviation
    varies = np.ptp(values, axis=0) > 0
    deviations = np.where(varies, standard_deviation(values), 1.0)
    return np.asarray(np.where(varies, values - values.mean(axis=0), 0.0) / deviations)


def _standard(values: Floats) -> Floats:
    """float64[n, d] in standard deviations from the mean, outliers drawn in."""
    return np.clip(standardise(values), -FARTHEST, FARTHEST)
