"""Results made up for tests of what is done with results: smooth curves, a new fingerprint for every content."""

import dataclasses

import numpy as np

from bmx_grid.identity import digest
from bmx_grid.measures.grid import GridResult
from bmx_grid.sweep.results import SettingResult

P = tuple((np.arange(-30, 30) / 10).tolist())
W = (0.0, 0.4, 1.0)


def make_result(seed=0, dataset="toy", language_pair="de-en", metric="chrf", explainer="lime", p=P, w=W):
    """A result whose curves depend on the seed; the column w = 1 is flat, as it must be."""
    rng = np.random.default_rng(seed)
    shape = rng.normal(size=(1, len(w))) * np.tanh(np.array(p))[:, None] * (1 - np.array(w)) * 0.1
    correlation = 0.5 + shape
    row, column = np.unravel_index(np.argmax(correlation), correlation.shape)
    grid = GridResult(
        correlation=correlation,
        baseline=0.5,
        best=float(correlation[row, column]),
        best_p=p[row],
        best_w=w[column],
        plateau=1,
        n_segments=40,
        n_rated=39,
        n_used=38,
        n_undefined=0,
        share_shifted=0.25,
        length_control=-0.1,
    )
    return SettingResult(
        dataset=dataset,
        language_pair=language_pair,
        metric=metric,
        explainer=explainer,
        grid=grid,
        p=p,
        w=w,
        side="both",
        correlation="pearson",
        aggregation="PowerMean",
        fixed_p=-1.4,
        fixed_w=0.4,
        fixed=float(np.interp(-1.4, p, correlation[:, w.index(0.4)])) if 0.4 in w else float("nan"),
        signature=f"{metric}|version:1 || {explainer} || seed:{seed}",
        parameters={"metric.type": "Chrf", "explainer.num_samples": 100, "explainer.batched": True, "seed": seed},
        fingerprint=digest([seed, dataset, language_pair, metric, explainer, str(p), str(w)]),
        seconds=1.5,
        n_texts=800,
        cached=False,
    )


def with_grid(result, **changes):
    """The result with other values in its grid."""
    return dataclasses.replace(result, grid=dataclasses.replace(result.grid, **changes))
