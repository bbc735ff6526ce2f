"""Scores with the effect of score, lengths, texts and named groups taken off, by kernel ridge regression.

A learner that follows steps, products and saturation of its inputs. Several kernels and penalties compete, and each
target takes the pair that predicts left-out segments best. Each segment is predicted without the segments that depend
on it: for kernel methods the residuals of a left-out part F are (P_FF)^-1 (P y)_F, from one inverse P of kernel plus
penalty (Rasmussen and Williams 2006, "Gaussian Processes for Machine Learning", eq. 5.12).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.core.threads import one_blas_thread
from bmx_grid.measures.correlation import average_ranks, standard_deviation
from bmx_grid.measures.ordered import compile_kernel

Parts = NDArray[np.uint8]  # of a division: a byte each, as divisions are many and segments may be
CHOOSING = 400  # segments on which kernel and penalty are chosen: the cost grows with the cube
LARGEST_FIT = 2000  # segments that are fitted together at most
N_PARTS = 4  # of a division: from each part the segments of the others are predicted
RIDGES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # variance of the noise, of targets with variance 1
BETTER = 1e-9  # share of the error by which a choice must be better, so that rounding does not choose
FARTHEST = 4.0  # standard deviations: an outlier beyond would share its kernel with no other segment
GOLDEN = (5**0.5 - 1) / 2
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


@dataclass(frozen=True)
class KernelChoice:
    """A kernel by its place in MIXTURES, the prior variance of groups, and the penalty."""

    mixture: int
    grouped: float
    ridge: float


def residuals(
    nuisance: Nuisance, targets: Floats, clusters: Ints, divisions: Sequence[Parts]
) -> Iterator[tuple[Ints, Floats]]:
    """Yield for each block of segments its rows int64[m] and the residuals float64[1 + d (N_PARTS - 1), m, q].

    First those of predictions from all other clusters of the block; then for each of d divisions those of predictions
    from each part that a segment is not in. targets: float64[n, q]; the first one weighs the inputs for all.
    clusters: int64[n] codes of segments that depend on each other, which stay in one block; strata lie inside them.
    divisions: d times uint8[n], the part of each segment, from 0 to N_PARTS - 1; clusters lie inside them. Of more
    than LARGEST_FIT segments each is predicted from those of its block.
    """
    import scipy.linalg  # noqa: F401 - its BLAS has threads of its own

    for rows in _blocks(clusters, LARGEST_FIT):
        with one_blas_thread():
            inside = nuisance.take(rows)
            values = inside.subtract_means(targets[rows])
            few = next(_blocks(clusters[rows], CHOOSING))
            choices, kernels = _choose(inside.take(few), values[few])
            # Kernels of all segments would be the same ones.
            if len(few) < len(rows):
                kernels = _Kernels(inside, kernels.weights)
            parts = [division[rows] for division in divisions]
            errors = np.empty((1 + len(divisions) * (N_PARTS - 1), len(rows), targets.shape[1]))
            for choice in dict.fromkeys(choices):
                columns = [place for place, other in enumerate(choices) if other == choice]
                kernel = kernels.mixture(choice.mixture, choice.grouped)
                wanted = values[:, columns]
                errors[0][:, columns] = _errors_without_cluster(kernel, choice.ridge, wanted, clusters[rows])
                errors[1:, :, columns] = _errors_from_parts(kernel, choice.ridge, wanted, parts)
        yield rows, errors


def scatter_rows(n: int) -> Ints:
    """All n rows in an order whose every stretch is spread evenly over them, whatever period the rows have.

    The order is that of the fractional parts of multiples of the golden ratio; no random number is drawn.
    """
    fractions = np.arange(n) * GOLDEN % 1.0
    return np.argsort(fractions, kind="stable")


def _blocks(clusters: Ints, most: int) -> Iterator[Ints]:
    """Rows of whole clusters, of about `most` segments at most and as many blocks as that needs, spread evenly."""
    _, of_row, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    n_blocks = -(-len(clusters) // most)
    order = scatter_rows(len(sizes))
    before = np.cumsum(sizes[order]) - sizes[order]
    block = np.empty(len(sizes), dtype=np.int64)
    block[order] = before * n_blocks // len(clusters)
    for number in range(n_blocks):
        yield np.flatnonzero(block[of_row] == number)


class _Kernels:
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
        return np.asarray(VAGUE * core @ core.T + LINEAR * bent @ bent.T)

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
        within = self.nuisance.subtract_means
        kernel = within(within(kernel).T) if self.nuisance.strata is not None else kernel
        return np.asarray(kernel)

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


def _choose(nuisance: Nuisance, targets: Floats) -> tuple[list[KernelChoice], _Kernels]:
    """Per column of float64[n, q] targets the kernel and penalty with the smallest squared error of left-out segments.

    Then the kernels, with the weights of single inputs, decided by the first target.
    """
    kernels = _Kernels(nuisance)
    core = nuisance.subtract_means(kernels.vague)
    linear, *_ = np.linalg.lstsq(core, targets[:, 0], rcond=None)
    kernels.weights = kernels.weigh(targets[:, 0] - core @ linear)
    choices = [KernelChoice(0, GROUPED[0], RIDGES[-1])] * targets.shape[1]
    least = np.full(targets.shape[1], np.inf)

    def judge(mixture: int, grouped: float, places: Sequence[int]) -> None:
        """Choose this kernel for those targets at these places that it predicts better, with the best penalty."""
        squares = _left_out_squares(kernels.mixture(mixture, grouped), targets, nuisance.strata)
        for ridge, squares_of_ridge in zip(RIDGES, squares, strict=True):
            for place in places:
                if squares_of_ridge[place] < least[place] * (1 - BETTER):
                    least[place] = squares_of_ridge[place]
                    choices[place] = KernelChoice(mixture, grouped, ridge)

    for mixture in range(len(MIXTURES)):
        judge(mixture, GROUPED[0], range(len(choices)))
    if nuisance.groups:
        mixtures = [choice.mixture for choice in choices]
        for mixture in sorted(set(mixtures)):
            # Other targets are not used: a boost must not depend on other boosts.
            own = [place for place, chosen in enumerate(mixtures) if chosen == mixture]
            for grouped in GROUPED[1:]:
                judge(mixture, grouped, own)
    return choices, kernels


def _left_out_squares(kernel: Floats, targets: Floats, strata: Ints | None) -> list[Floats]:
    """For each penalty float64[q] the squared errors of left-out segments, of float64[n, q] targets."""
    # Within strata the mean of each is known: it does not predict a left-out segment.
    sizes = np.full(len(targets), np.inf)
    if strata is not None:
        sizes = np.bincount(strata)[strata].astype(np.float64)
    judged = sizes > 1
    variances, vectors = np.linalg.eigh(kernel)
    squared = vectors**2
    projected = vectors.T @ targets
    squares = []
    for ridge in RIDGES:
        precisions = 1 / (variances.clip(0) + ridge)
        diagonal = squared @ precisions - 1 / (sizes * ridge)
        errors = (vectors @ (precisions[:, None] * projected))[judged] / diagonal[judged, None]
        squares.append(np.sum(errors**2, axis=0))
    return squares


def _errors_without_cluster(kernel: Floats, penalty: float, targets: Floats, clusters: Ints) -> Floats:
    """float64[n, q] targets less their predictions from all other clusters."""
    from scipy.linalg.lapack import dposv, dpotrf, dtrtri

    penalised = kernel.copy()
    np.fill_diagonal(penalised, kernel.diagonal() + penalty)
    factor, failed = dpotrf(penalised.T, lower=True, overwrite_a=True)
    assert not failed, "a kernel with a penalty is positive definite"
    # The inverse is root.T @ root, of which only parts are needed.
    root, _ = dtrtri(factor, lower=True, overwrite_c=True)
    products = root.T @ (root @ targets)
    errors = np.asarray(products / np.einsum("ij,ij->j", root, root)[:, None])
    together = np.flatnonzero(np.bincount(clusters)[clusters] > 1)
    order = together[np.argsort(clusters[together], kind="stable")]
    starts = np.flatnonzero(np.diff(clusters[order])) + 1
    for rows in np.split(order, starts) if len(order) else ():
        columns = root.T[rows, rows[0] :]  # rows ascend, and the root is a lower triangle
        _, errors[rows], failed = dposv(columns @ columns.T, products[rows])
        assert not failed, "a part of a positive definite matrix is positive definite"
    return errors


def _errors_from_parts(kernel: Floats, penalty: float, targets: Floats, divisions: Sequence[Parts]) -> Floats:
    """float64[d (N_PARTS - 1), n, q] targets less their predictions from each part of d divisions they are not in."""
    from scipy.linalg.lapack import dposv

    n, q = targets.shape
    upper_part = compile_kernel(_upper_part)
    weights = np.zeros((len(divisions), N_PARTS, q, n))
    for weights_of_division, division in zip(weights, divisions, strict=True):
        for part in range(N_PARTS):
            rows = np.flatnonzero(division == part)
            if not len(rows):  # it predicts 0
                continue
            # The transpose of an array in C order is solved in place.
            inside = upper_part(kernel, rows, penalty).T
            _, solved, failed = dposv(inside, targets[rows], lower=True, overwrite_a=True)
            assert not failed, "a kernel with a penalty is positive definite"
            weights_of_division[part][:, rows] = solved.T
    predicted = (weights.reshape(-1, n) @ kernel).reshape(weights.shape)
    errors = np.empty((len(divisions), N_PARTS - 1, n, q))
    for number, division in enumerate(divisions):
        for step in range(1, N_PARTS):
            other_part = (division + step) % N_PARTS
            errors[number, step - 1] = targets - predicted[number, other_part, :, np.arange(n)]
    return errors.reshape(-1, n, q)


def _upper_part(kernel: Floats, rows: Ints, penalty: float) -> Floats:
    """float64[m, m] the upper triangle of these m rows and columns, with the penalty on the diagonal.

    Compiled: numpy takes as long to gather the part as LAPACK to factor it. What lies below the diagonal is not set.
    """
    m = len(rows)
    part = np.empty((m, m))
    for i in range(m):
        row = kernel[rows[i]]
        for j in range(i, m):
            part[i, j] = row[rows[j]]
        part[i, i] += penalty
    return part


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
