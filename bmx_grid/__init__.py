"""Boost machine-translation metrics with explainability, over whole grids of settings.

`python -m bmx_grid --help` is the command line; README.md shows it at work. `load` gives one boosted
metric for use in other programs. Importing the package loads no model library: each room imports what
it needs when it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bmx_grid._version import __version__

if TYPE_CHECKING:
    from bmx_grid.attribution.scorer import Scorer

__all__ = ["__version__", "load"]


def load(
    metric: str | Mapping[str, Any],
    explainer: str | Mapping[str, Any] | None = "lime",
    *,
    p: float | None = None,
    w: float | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Scorer:
    """A boosted metric that scores texts: s1 = w * s0 + (1 - w) * M_p of the explainer's attributions.

    >>> scorer = load("chrf", explainer="erasure", settings={"metric.lowercase": True})
    >>> scorer.reads
    ('reference', 'hypothesis')
    >>> scorer.score(["the cat sat"], ["a cat sat"]).shape
    (1,)

    metric, explainer: names of options (configs/metric, configs/explainer), or mappings with a `_target_`. With
        explainer=None texts are scored with the metric alone.
    p, w: the paper's medians of the explainer unless given.
    settings: further keys as `python -m bmx_grid score --set` takes them: "metric.KEY", "explainer.KEY", "seed",
        "side", "aggregation", "max_texts".
    Raises ConfigError for names, keys and values that cannot be used, UnavailableError when a model or library is
    unavailable.
    """
    from bmx_grid.attribution.scorer import make_scorer

    return make_scorer(metric, explainer, p, w, settings if settings is not None else {})
