"""Scores with the effect of score, lengths, texts and named groups taken off, by kernel ridge regression.

A learner that follows steps, products and saturation of its inputs. Several kernels and penalties compete, and each
target takes the pair that predicts left-out segments best. Each segment is predicted without the segments that depend
on it: for kernel methods the residuals of a left-out part F are (P_FF)^-1 (P y)_F, from one inverse P of kernel plus
penalty (Rasmussen and Williams 2006, "Gaussian Processes for Machine Learning", eq. 5.12).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.core.threads import one_blas_thread
from bmx_grid.measures.kernels import GROUPED, MIXTURES, Kernels, Nuisance
from bmx_grid.measures.ordered import compile_kernel

Parts = NDArray[np.uint8]  # of a division: a byte each, as divisions are many and segments may be
CHOOSING = 400  # segments on which kernel and penalty are chosen: the cost grows with the cube
LARGEST_FIT = 2000  # segments that are fitted together at most
N_PARTS = 4  # of a division: from each part the segments of the others are predicted
RIDGES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # variance of the noise, of targets with variance 1
BETTER = 1e-9  # share of the error by which a choice must be better, so that rounding does not choose
GOLDEN = (5**0.5 - 1) / 2


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
                kernels = Kernels(inside, kernels.weights)
            parts = [division[rows] for division in divisions]
            errors = np.empty((1 + len(divisions) * (N_PARTS - 1), len(rows), targets.shape[1]))
            for choice in dict.fromkeys(choices):
                columns = [place for place, other in enumerate(choices) if other == choice]
                kernel = kernels.mixture(choice.mixture, choice.grouped)
                wanted = values[:, columns]
                errors[0][:, columns] = _errors_without_cluster(kernel, choice.ridge, wanted, clusters[rows])
                errors[1:, :, columns] = _errors_from_parts(kernel, choice.ridge, wanted, parts)
                del kernel  # before the next one is made
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


def _choose(nuisance: Nuisance, targets: Floats) -> tuple[list[KernelChoice], Kernels]:
    """Per column of float64[n, q] targets the kernel and penalty with the smallest squared error of left-out segments.

    Then the kernels, with the weights of single inputs, decided by the first target.
    """
    kernels = Kernels(nuisance)
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
