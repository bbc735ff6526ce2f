"""Results made up for tests of what is done with results: smooth curves, a new fingerprint for every content."""

import dataclasses

import numpy as np
from some_settings import finished

from bmx_grid.core.identity import digest
from bmx_grid.evaluations.grid_surface import GridEvaluation, GridOfSetting, PointRow
from bmx_grid.measures.grid import GridResult, GridSpec, PowerRange
from bmx_grid.sweep.judge import SettingResult, Spent
from bmx_grid.sweep.tables import evaluation_tables

FINISHED = finished(40, human=[np.nan, *range(39)])
GRID = GridEvaluation(p=PowerRange(-3, 3, 0.1), w=(0.0, 0.4, 1.0), fixed={})
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
    reached = float(np.interp(-1.4, p, correlation[:, w.index(0.4)])) if 0.4 in w else float("nan")
    published = PointRow("published", 0.4, -1.4, 0.5, reached, reached - 0.5)
    of_setting = GridOfSetting(
        spec=GridSpec(p=p, w=w),
        grid=grid,
        shifted=np.zeros(40, dtype=bool),
        boosted={"published": np.full(40, np.nan)},
        points=(published,),
    )
    return SettingResult(
        dataset=dataset,
        language_pair=language_pair,
        metric=metric,
        explainer=explainer,
        evaluated={"grid": of_setting},
        correlation="pearson",
        scores={"id": [str(row) for row in range(40)], "base": np.arange(40.0)},
        finished=FINISHED,
        signature=f"{metric}|version:1 || {explainer} || seed:{seed}",
        parameters={"metric.type": "Chrf", "explainer.num_samples": 100, "explainer.batched": True, "seed": seed},
        fingerprint=digest([seed, dataset, language_pair, metric, explainer, str(p), str(w)]),
        spent=Spent(1.5, 800),
        cached=False,
    )


def with_grid(result, **changes):
    """The result with other values in its grid."""
    of_setting = result.evaluated["grid"]
    return with_evaluated(result, grid=dataclasses.replace(of_setting.grid, **changes))


def with_evaluated(result, **changes):
    """The result with other values beside its grid."""
    of_setting = dataclasses.replace(result.evaluated["grid"], **changes)
    return dataclasses.replace(result, evaluated={"grid": of_setting})


def without_point(result):
    """The result without a published point."""
    return with_evaluated(result, boosted={}, points=())


def over(result, p):
    """The result over other powers, as many as it has."""
    of_setting = result.evaluated["grid"]
    return with_evaluated(result, spec=dataclasses.replace(of_setting.spec, p=p))


def grid_table(results):
    """All grid points of results as one table."""
    return evaluation_tables(GRID, results)["grid"]
