"""Made-up used segments of a setting, for the tests of resampled grids."""

import numpy as np

W = np.array([0.0, 0.4, 0.8, 1.0])


def segments(n=60, p=7, seed=0, added=0.0, clusters=None):
    """means [n, p], base, human [n] and clusters: human = base + `added` times what the means add + noise.

    clusters: how many, of unequal size, with errors that their segments share; every segment its own without.
    """
    rng = np.random.default_rng(seed)
    cluster = np.arange(n) if clusters is None else np.sort(rng.integers(0, clusters, n) ** 2 // clusters)
    base = rng.normal(size=n)[cluster] + 0.2 * rng.normal(size=n)
    beyond = rng.normal(size=n)[cluster] + 0.2 * rng.normal(size=n)
    means = 0.5 + 0.2 * base[:, None] + beyond[:, None] * np.linspace(0.05, 0.4, p) + 0.1 * rng.normal(size=(n, p))
    error = rng.normal(size=n)
    if clusters is not None:
        error = rng.normal(size=n)[cluster] + 0.3 * error
    return means, base, 0.5 * base + added * beyond + error, cluster
