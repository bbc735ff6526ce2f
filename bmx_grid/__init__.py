"""Boost machine-translation metrics with explainability, over whole grids of settings.

`python -m bmx_grid --help` is the command line; README.md shows it at work. For notebooks and other programs:

| name | result |
|---|---|
| `run` | a sweep, as the command line runs it: a `Run`, with its tables as DataFrames |
| `Run` | a finished sweep, opened by its folder |
| `runs` | the settings of all sweeps below a folder, as a DataFrame |
| `grid` | the p x w grid of a DataFrame's segments, also of a metric that is a function: a `Run` |
| `compare` | how well metrics correlate with human judgements, from a DataFrame of their scores: a `Compared` |
| `boost` | scores and attributions as arrays, boosted: a `Boosted` |
| `analyse` | finished sweeps in comparison, as a DataFrame |
| `load` | a `Scorer`: a metric, boosted or not, that scores texts, and explains its scores (`Scored`) |

Importing the package loads no model library: each room imports what it needs when it is used.
"""

from __future__ import annotations

from bmx_grid._version import __version__

# As in typing, whose import, with those below, takes longer than the rest of this module: until the command line
# answers Ctrl-C, it prints a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import EllipsisType
    from typing import Any

    from bmx_grid.api.arrays import Boosted as Boosted
    from bmx_grid.api.arrays import boost as boost
    from bmx_grid.api.compared import Compared as Compared
    from bmx_grid.api.comparison import compare as compare
    from bmx_grid.api.frames import grid as grid
    from bmx_grid.api.run_results import Run as Run
    from bmx_grid.api.run_results import Words as Words
    from bmx_grid.api.sweeps import analyse as analyse
    from bmx_grid.api.sweeps import run as run
    from bmx_grid.api.sweeps import runs as runs
    from bmx_grid.attribution.scored import Scored as Scored
    from bmx_grid.attribution.scorer import Scorer as Scorer
    from bmx_grid.boosts.recipe import Recipe
    from bmx_grid.core.errors import BmxError as BmxError
    from bmx_grid.explainers.base import Explainer
    from bmx_grid.metrics.base import Metric

PLACES = {
    **dict.fromkeys(("boost", "Boosted"), "bmx_grid.api.arrays"),
    **{"compare": "bmx_grid.api.comparison", "Compared": "bmx_grid.api.compared"},
    **dict.fromkeys(("Run", "Words"), "bmx_grid.api.run_results"),
    **dict.fromkeys(("run", "runs", "analyse"), "bmx_grid.api.sweeps"),
    **{"Scorer": "bmx_grid.attribution.scorer", "Scored": "bmx_grid.attribution.scored"},
    **{"grid": "bmx_grid.api.frames", "BmxError": "bmx_grid.core.errors"},
}
__all__ = ["__version__", "load", *PLACES]


def __getattr__(name: str) -> Any:
    """The names above, imported when they are first used: the command line does not need them."""
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(PLACES[name]), name)


def __dir__() -> list[str]:
    """The public names only: what is imported above for itself is nobody else's."""
    return sorted(__all__)


def load(
    metric: str | Metric | Callable[..., Any] | Mapping[str, Any] | None = None,
    explainer: str | Explainer | Mapping[str, Any] | EllipsisType | None = ...,
    *,
    p: float | None = None,
    w: float | None = None,
    settings: Mapping[str, Any] | None = None,
    recipe: str | Path | Recipe | None = None,
    language_pair: str | None = None,
) -> Scorer:
    """A metric that scores texts: boosted by a recipe, by p and w, or alone.

    >>> import bmx_grid as bmx
    >>> scorer = bmx.load("chrf", explainer="erasure", settings={"metric.lowercase": True})
    >>> scorer.reads
    ('reference', 'hypothesis')
    >>> scorer.score(["a cat sat"], references=["the cat sat"]).round(3)
    array([0.536])
    >>> scored = scorer.explain(["a cat sat"], references=["the cat sat"])
    >>> scored.explanations[0].attributions["hypothesis"].round(3)
    array([-0.022,  0.297,  0.297])

    metric, explainer: names of options (configs/metric, configs/explainer), objects, or mappings with a `_target_`; a
        metric may be a function, as in `grid`. Scores of BLEU, chrF and TER are sacreBLEU's divided by 100, as in the
        paper; `bmx-grid score` prints them from 0 to 100. The explainer is lime unless given; with explainer=None there
        are no attributions. With a recipe neither has to be given; if they are, they have to be those of the recipe.
    p, w: s1 = w * s0 + (1 - w) * M_p of the explainer's attributions. If one is given, the other is the paper's median
        for the explainer. Without both, and without a recipe, the score is that of the metric alone: what the paper's
        medians gain is hardly more than length explains (docs/boosts.md); `explain` shows attributions all the same.
    settings: further keys as `python -m bmx_grid score --set` takes them: "metric.KEY", "explainer.KEY", "seed",
        "max_texts", and with p or w "side", "aggregation".
    recipe: a file that a sweep wrote, the name of an embedded one, or a `Recipe`.
    language_pair: of the texts ("de-en"), for metrics that need to know it: a judge whose prompt names the languages,
        translation models.
    Raises ConfigError for names, keys and values that cannot be used, or that are not those of the recipe, DataError
    for a file that is no recipe, UnavailableError when a model or library is unavailable.
    """
    from bmx_grid.api.inputs import function_metric, keyed, recipe_of
    from bmx_grid.attribution.scorer import make_scorer

    if callable(metric) and not isinstance(metric, type):
        metric = function_metric(metric)
    return make_scorer(metric, explainer, p, w, keyed("settings", settings), recipe_of(recipe), language_pair)
