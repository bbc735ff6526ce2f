"""Boost machine-translation metrics with explainability, over whole grids of settings.

`bmx-grid --help` lists the commands; README.md shows one at work. The Python interface:

| name | purpose |
|---|---|
| `run` | run a sweep and return its results, a `Run` |
| `Run`, `Words` | open a finished sweep by its folder; its tables, figures and word attributions |
| `runs` | read the settings of all sweeps below a folder into one frame |
| `grid` | compute the p x w grid of metrics on the segments of a data frame |
| `compare`, `Compared` | compare metrics by their correlation with human scores |
| `boost`, `Boosted` | blend word attributions into scores, as arrays |
| `analyse` | compare the gains of finished sweeps |
| `load`, `Scorer`, `Scored` | build a scorer that scores and explains texts |
| `BmxError` | base class of all errors that a user can fix |

Importing the package loads no model library; each module imports its libraries at first use.
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
    """Build a scorer: a metric that scores and explains texts, optionally boosted.

    The boosted score is s1 = w * s0 + (1 - w) * M_p of the attributions (paper, section 2.1). Without p, w and recipe,
    the scorer returns the unboosted metric, because the paper's medians hardly gain more than text length explains;
    `Scorer.explain` still returns attributions.

    Args:
        metric: Option name (`configs/metric`), `Metric` object, function as in `grid`, or mapping with a `_target_`.
            Optional with a recipe; if set, it must be the recipe's metric.
        explainer: Option name (`configs/explainer`), `Explainer` object, or mapping with a `_target_`. `None` disables
            attributions. Default: the recipe's explainer, or `"lime"` without a recipe.
        p: Power of the mean M_p. If you set only one of p and w, the other is the paper's median for the explainer.
        w: Weight of the metric, from 0 to 1. 1 is the unboosted metric.
        settings: Dictionary of further keys: `"metric.KEY"`, `"explainer.KEY"`, `"seed"` and `"max_texts"`; with p or w
            also `"side"` and `"aggregation"`.
        recipe: JSON file that a sweep wrote, name of an embedded recipe, or `Recipe`. Excludes p and w.
        language_pair: Language pair of the texts, such as `"de-en"`, for metrics whose prompt or model names languages.

    Returns:
        Scorer: A scorer for lists of texts. BLEU, chrF and TER are sacreBLEU's scores divided by 100, as in the paper.

    Raises:
        ConfigError: A name, key or value is invalid, or contradicts the recipe.
        DataError: The recipe file is missing, or is not a recipe.
        UnavailableError: A model or an optional library is not installed.

    Example:
        >>> import bmx_grid as bmx
        >>> scorer = bmx.load("chrf", explainer="erasure", settings={"metric.lowercase": True})
        >>> scorer.reads
        ('reference', 'hypothesis')
        >>> scorer.score(["a cat sat"], references=["the cat sat"]).round(3)
        array([0.536])
        >>> scored = scorer.explain(["a cat sat"], references=["the cat sat"])
        >>> scored.explanations[0].attributions["hypothesis"].round(3)
        array([-0.022,  0.297,  0.297])
    """
    from bmx_grid.api.inputs import as_dict, function_metric, recipe_of
    from bmx_grid.attribution.scorer import make_scorer

    if callable(metric) and not isinstance(metric, type):
        metric = function_metric(metric)
    return make_scorer(metric, explainer, p, w, as_dict("settings", settings), recipe_of(recipe), language_pair)
