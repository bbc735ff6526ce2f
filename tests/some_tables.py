"""Results tables made up for tests: known curves on a small grid, as Arrow tables and as arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from bmx_grid.analysis.load import from_arrow

P = np.arange(-20, 20) / 10  # -2.0 … 1.9
W = np.array([0.0, 0.5, 1.0])


def rows(surfaces, p=P, w=W, side="both"):
    """A table with the rows of each setting: surfaces maps (data set, pair, metric, explainer) to float[P, W]."""
    columns = {
        name: [] for name in ("dataset", "language_pair", "metric", "explainer", "side", "w", "p", "correlation")
    }
    for names, surface in surfaces.items():
        size = len(p) * len(w)
        for column, name in zip(("dataset", "language_pair", "metric", "explainer"), names, strict=True):
            columns[column] += [name] * size
        columns["side"] += [side] * size
        columns["w"] += np.tile(w, len(p)).tolist()
        columns["p"] += np.repeat(p, len(w)).tolist()
        columns["correlation"] += np.asarray(surface, dtype=float).ravel().tolist()
    return pa.table(columns)


def flat(baseline=0.5, other=0.4):
    """A surface that nothing improves: `other` for every w below 1."""
    surface = np.full((len(P), len(W)), other)
    surface[:, -1] = baseline
    return surface


def peaked(p, w=0.5, gain=0.1, baseline=0.5):
    """A surface with one highest point at (p, w), `gain` above the baseline, falling by 0.01 for each step of p."""
    surface = flat(baseline, baseline - 0.2)
    column = int(np.flatnonzero(w == W)[0])
    surface[:, column] = baseline + gain - 0.1 * np.abs(P - p)
    return surface


def table(surfaces, **options):
    return from_arrow(rows(surfaces, **options))


def lime(surfaces):
    """A table of one data set with a setting of LIME for each surface, language pairs a, b, c, …"""
    return table({("d", "abcdefghij"[number], "m", "lime"): surface for number, surface in enumerate(surfaces)})


def random_surfaces(seed, datasets=("d1", "d2", "d3"), pairs=("a", "b"), metrics=("m1", "m2"), explainers=("lime",)):
    """Smooth, made-up surfaces for every combination; w = 1 constant."""
    rng = np.random.default_rng(seed)
    surfaces = {}
    for names in np.array(np.meshgrid(datasets, pairs, metrics, explainers)).reshape(4, -1).T:
        baseline = rng.uniform(0.2, 0.8)
        shape = rng.normal(size=(1, len(W))) * np.tanh(P + rng.normal())[:, None] * 0.05 + rng.normal() * 0.02
        surfaces[tuple(names.tolist())] = baseline + shape * (1 - W)
    return surfaces
