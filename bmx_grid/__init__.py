"""Boost machine-translation metrics with explainability, over whole grids of settings.

`python -m bmx_grid --help` is the command line; README.md shows it at work. For notebooks and other programs:

| name | what it does |
|---|---|
| `run` | a sweep, as the command line runs it; its tables as DataFrames. `Run(FOLDER)` opens a finished one |
| `grid` | the p x w grid of a DataFrame's segments |
| `compare` | metrics beside each other, from a DataFrame of their scores: correlations, intervals, tests |
| `annotators` | how far annotators agree, from a DataFrame of their scores: kappa, alpha, z-scores |
| `boost` | scores and attributions as arrays, boosted |
| `analyse` | finished sweeps beside each other |
| `load` | one metric, boosted or not, that scores texts |

Importing the package loads no model library: each room imports what it needs when it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from bmx_grid._version import __version__

if TYPE_CHECKING:
    from bmx_grid.api.annotators import annotators
    from bmx_grid.api.arrays import boost
    from bmx_grid.api.frames import compare, grid
    from bmx_grid.api.sweeps import Run, analyse, run
    from bmx_grid.attribution.scorer import Scorer
    from bmx_grid.boosts.recipe import Recipe

__all__ = ["Run", "__version__", "analyse", "annotators", "boost", "compare", "grid", "load", "run"]
SWEEPS, FRAMES, ARRAYS = "bmx_grid.api.sweeps", "bmx_grid.api.frames", "bmx_grid.api.arrays"
PLACES = {
    **{"run": SWEEPS, "Run": SWEEPS, "analyse": SWEEPS, "grid": FRAMES, "compare": FRAMES, "boost": ARRAYS},
    "annotators": "bmx_grid.api.annotators",
}


def __getattr__(name: str) -> Any:
    """The names above, imported when they are first used: the command line does not need them."""
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *PLACES})


def load(
    metric: str | Mapping[str, Any] | None = None,
    explainer: str | Mapping[str, Any] | EllipsisType | None = ...,
    *,
    p: float | None = None,
    w: float | None = None,
    settings: Mapping[str, Any] | None = None,
    recipe: str | Path | Recipe | None = None,
) -> Scorer:
    """A metric that scores texts: boosted by a recipe, by p and w, or alone.

    >>> scorer = load("chrf", explainer="erasure", p=-0.3, settings={"metric.lowercase": True})
    >>> scorer.reads
    ('reference', 'hypothesis')
    >>> scorer.score(["the cat sat"], ["a cat sat"]).shape
    (1,)

    metric, explainer: names of options (configs/metric, configs/explainer), or mappings with a `_target_`. The
        explainer is lime unless given; with explainer=None there are no attributions. Neither has to be given with a
        recipe; if they are, they have to be those that it was chosen for.
    p, w: s1 = w * s0 + (1 - w) * M_p of the explainer's attributions. If one is given, the other is the paper's median
        for the explainer. Without both, and without a recipe, the score is that of the metric alone: what the paper's
        medians gain is hardly more than length explains (docs/boosts.md); `explain` shows attributions all the same.
    settings: further keys as `python -m bmx_grid score --set` takes them: "metric.KEY", "explainer.KEY", "seed",
        "max_texts", and with p or w "side", "aggregation".
    recipe: a file that a sweep wrote, the name of an embedded one, or a `Recipe`.
    Raises ConfigError for names, keys and values that cannot be used, or that are not those of the recipe, DataError
    for a file that is no recipe, UnavailableError when a model or library is unavailable.
    """
    from bmx_grid.api.given import keyed, recipe_of
    from bmx_grid.attribution.scorer import make_scorer

    found: Recipe | None = None
    if recipe is not None:
        from bmx_grid.errors import ConfigError

        found = recipe_of(recipe)
        if explainer is None:
            raise ConfigError(f"the recipe {found.name} needs its explainer, {found.explainer.name}: leave out None.")
    if isinstance(explainer, EllipsisType):
        explainer = "lime" if found is None else None
    return make_scorer(metric, explainer, p, w, keyed("settings", settings), found)
