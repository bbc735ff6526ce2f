"""Kernel ridge regression of values on a few inputs, each segment predicted by a fit on others.

A learner flexible enough for joint effects of its inputs: steps, products, saturation. Several kernels and penalties
compete, and each target takes those that predict left-out segments best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.core.threads import one_blas_thread
from bmx_grid.measures.correlation import average_ranks
from bmx_grid.measures.scale import standard_deviation

Distance = Literal["each input", "city block", "straight", "squared"]
KernelChoice = tuple[Distance, float, float]  # distance and width of the kernel, penalty

# The mean of kernels of each input's ranks follows sums of steps of single inputs, which it finds in few segments.
# City-block distances of all ranks follow joint steps along inputs, straight ones steps in any direction; Gaussian
# kernels on standard deviations follow tails, which ranks compress.
KERNELS: tuple[tuple[Distance, float], ...] = (
    ("each input", 0.1),
    ("each input", 0.4),
    ("city block", 0.1),
    ("city block", 0.4),
    ("straight", 0.1),
    ("straight", 0.4),
    ("squared", 1.0),
    ("squared", 2.5),
)
RIDGES = (0.003, 0.03, 0.3, 3.0)  # added to the kernel's diagonal, which is 1
CHOOSING = 400  # segments on which kernel and penalty are chosen: the cost grows with the cube
LARGEST_FIT = 2000  # segments that are fitted together at most
FARTHEST = 4.0  # standard deviations: beyond, an outlier would be alone with its kernel
BETTER = 1e-9  # share of the error by which a choice must be better, so that rounding does not choose
GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, eq=False)
class Inputs:
    """float64[n, d] inputs as ranks from 0 to 1, and in standard deviations from the mean."""

    ranks: Floats
    standard: Floats

    @classmethod
    def of(cls, values: Floats) -> Inputs:
        """From float64[n, d]. A constant input tells nothing."""
        ranks = np.column_stack([average_ranks(column) for column in values.T])
        # a constant input has rounding for a deviation
        varies = np.ptp(values, axis=0) > 0
        sds = np.where(varies, standard_deviation(values), 1.0)
        standard = (values - values.mean(axis=0)) / sds
        return cls(ranks / len(values), np.clip(standard, -FARTHEST, FARTHEST))

    def take(self, rows: Ints) -> Inputs:
        """Those of some segments."""
        return Inputs(self.ranks[rows], self.standard[rows])

    def kernel(self, distance: Distance, width: float) -> Floats:
        """float64[n, n] how alike two segments are, 1 for equal inputs."""
        from scipy.spatial.distance import cdist

        if distance == "squared":
            squares = cdist(self.standard, self.standard, "sqeuclidean")
            scale = -2 * width**2
            return np.asarray(np.exp(squares / scale))
        if distance == "each input":
            varied = [ranks for ranks in self.ranks.T if np.ptp(ranks) > 0]
            if not varied:
                # a constant input, for which all segments are alike
                varied = [self.ranks[:, 0]]
            total = np.zeros((len(self.ranks), len(self.ranks)))
            for ranks in varied:
                distances = np.abs(np.subtract.outer(ranks, ranks))
                total += np.exp(distances / -width)
            return total / len(varied)
        metric = "cityblock" if distance == "city block" else "euclidean"
        distances = cdist(self.ranks, self.ranks, metric)
        return np.asarray(np.exp(distances / -width))


def out_of_part(values: Floats, targets: Floats, divisions: Sequence[Ints]) -> list[Floats]:
    """For each division of n segments into parts, float64[n, q] targets predicted from the other parts.

    values: float64[n, d] inputs; targets: float64[n, q], without an intercept: what is far from all others is predicted
    as 0. divisions: int64[n] each; the first one chooses kernel and penalty of each target. Of more than LARGEST_FIT
    segments each is predicted from those of a share of them.
    """
    import scipy.linalg  # noqa: F401 - its BLAS has threads of its own

    with one_blas_thread():
        return _out_of_part(values, targets, divisions)


def _out_of_part(values: Floats, targets: Floats, divisions: Sequence[Ints]) -> list[Floats]:
    """What `out_of_part` gives, on as many threads as there are."""
    inputs = Inputs.of(values)
    order = scattered(len(values))
    few = order[:CHOOSING]
    chosen = _choices(inputs.take(few), targets[few], divisions[0][few])
    predicted = [np.zeros_like(targets) for _ in divisions]
    shares = -(-len(values) // LARGEST_FIT)
    for share in range(shares):
        rows = np.sort(order[share::shares])
        inside = inputs.take(rows)
        # targets with one choice share its inverse
        for choice in dict.fromkeys(chosen):
            distance, width, penalty = choice
            columns = np.array([place for place, other in enumerate(chosen) if other == choice])
            block = np.ix_(rows, columns)
            known = targets[block]
            precision = _precision(inside.kernel(distance, width), penalty)
            for prediction, division in zip(predicted, divisions, strict=True):
                prediction[block] = known - _errors(precision, known, division[rows])
    return predicted


def scattered(n: int) -> Ints:
    """All n rows in an order of which each stretch is spread evenly over them, whatever period the rows have.

    The fractional parts of multiples of the golden ratio: nothing is drawn.
    """
    fractions = np.arange(n) * GOLDEN % 1.0
    return np.argsort(fractions, kind="stable")


def _choices(inputs: Inputs, targets: Floats, division: Ints) -> list[KernelChoice]:
    """For each target the kernel and penalty with the smallest squared error, even if no prediction were better.

    An effect that is too weak to be predicted yet is what an extrapolation from fits of two sizes has to see.
    """
    n_targets = targets.shape[1]
    least = np.full(n_targets, np.inf)
    first_kernel = KERNELS[0]
    chosen: list[KernelChoice] = [(*first_kernel, RIDGES[-1])] * n_targets
    for distance, width in KERNELS:
        kernel = inputs.kernel(distance, width)
        for penalty in RIDGES:
            precision = _precision(kernel, penalty)
            errors = _errors(precision, targets, division)
            squares = np.sum(errors**2, axis=0)
            smaller = squares < least * (1 - BETTER)
            for place in np.flatnonzero(smaller):
                least[place] = squares[place]
                chosen[place] = (distance, width, penalty)
    return chosen


def _precision(kernel: Floats, penalty: float) -> Floats:
    """float64[n, n] the inverse of the kernel with the penalty on its diagonal."""
    from scipy.linalg.lapack import dpotrf, dpotri

    penalised = kernel.copy()
    np.fill_diagonal(penalised, kernel.diagonal() + penalty)
    factor, failed = dpotrf(penalised.T, lower=True, overwrite_a=True)
    assert not failed, "a kernel with a penalty is positive definite"
    lower, _ = dpotri(factor, lower=True, overwrite_c=True)
    # LAPACK fills one triangle of the inverse: the other one is its mirror image
    mirrored = np.tril(lower, -1).T
    return np.asarray(np.tril(lower) + mirrored)


def _errors(precision: Floats, targets: Floats, division: Ints) -> Floats:
    """float64[n, q] targets minus their predictions from the other parts.

    All parts from one inverse P: the errors of part F are the solution of P_FF e = (P y)_F.
    """
    products = precision @ targets
    errors = np.empty_like(targets)
    for part in np.unique(division):
        rows = np.flatnonzero(division == part)
        among = precision[np.ix_(rows, rows)]
        errors[rows] = np.linalg.solve(among, products[rows])
    return errors
