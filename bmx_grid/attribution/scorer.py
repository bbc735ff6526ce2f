"""A metric ready for texts, boosted or not: what `bmx_grid.load` returns and `python -m bmx_grid score` runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bmx_grid.attribution.boosted import BoostedMetric, boosted_by, count_within
from bmx_grid.attribution.contracts import check_pair_of_languages, combined, statistics_of, warn_of_languages
from bmx_grid.attribution.explain import Explanation, drawn_with, explain_items, in_parts, texts_at_once
from bmx_grid.attribution.scored import Scored
from bmx_grid.attribution.texts import Texts, items_of, texts_by_position
from bmx_grid.boosts.recipe import Identity, Recipe
from bmx_grid.core.configure import build, check_seed, convert, load_option, options
from bmx_grid.core.errors import (
    BmxError,
    ConfigError,
    ExplainError,
    UnavailableError,
    component_errors,
    shown,
    unknown,
)
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import option_named
from bmx_grid.explainers.base import Explainer
from bmx_grid.measures.systems import by_mean, mean
from bmx_grid.metrics.base import Metric
from bmx_grid.words.perturbation import Item, Role

OPTION_PARTS = ("metric", "explainer", "aggregation")  # settings that may be the name of an option
OF_THE_MEAN = ("p", "w", "side", "aggregation")  # settings of the boost by p and w
DEFAULT_EXPLAINER = "lime"
TEXTS_AT_ONCE = 5_000  # enough to fill batches, few enough for the progress display to move
Option = Any  # a name, a mapping with a `_target_`, or an object; None for none, ... for the usual explainer
Report = Callable[[int], None]


@dataclass(frozen=True)
class Scorer:
    """Scores texts with a metric, boosted or not. Build it with `bmx_grid.load`.

    metric: what is explained, where there is an explainer. seed: of the explainer's draws. max_texts: the most texts
    for one segment. boost: what is applied to scores and attributions: by p and w, or a recipe; None for no boost.
    Raises ConfigError for a negative seed or a max_texts below 1.
    """

    metric: Metric
    explainer: Explainer | None = None
    seed: int = 0
    max_texts: int = 100_000
    boost: BoostedMetric | Recipe | None = None

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.max_texts < 1:
            raise ConfigError(f"max_texts: expected a number at least 1, got {self.max_texts}.")

    @property
    def reads(self) -> tuple[Role, ...]:
        """The roles that `score` takes texts of, such as ("reference", "hypothesis")."""
        return self.metric.reads

    @property
    def recipe(self) -> Recipe | None:
        """The recipe that is applied, if one is."""
        return self.boost if isinstance(self.boost, Recipe) else None

    @property
    def unexplained(self) -> Scorer:
        """One with the same scores, without attributions beside those that are not boosted."""
        return Scorer(self.metric) if self.boost is None else self

    @property
    def signature(self) -> str:
        """The settings behind a score, in one line that travels with every number."""
        recipe = self.recipe
        if recipe is not None:
            return f"{recipe.signature}|name:{recipe.name}|seed:{drawn_with(self.explainer, self.seed)}"
        boosted_or_not = self.boost or self.metric
        return boosted_or_not.signature

    @property
    def explanation_signature(self) -> str | None:
        """The settings behind attributions that are shown beside scores of the metric alone; else None."""
        if self.explainer is None or self.boost is not None:
            return None
        return f"{self.explainer.signature}|seed:{drawn_with(self.explainer, self.seed)}"

    @property
    def has_statistics(self) -> bool:
        """Whether the score of a system is made of statistics of its segments; else it is the mean of their scores."""
        return self.boost is None and self.metric.has_statistics

    def torch_metric(self, **options: Any) -> Any:
        """This scorer as a metric of torchmetrics: `update(hypotheses, references)` of each batch, then `compute()`.

        options: of `torchmetrics.Metric`. Raises UnavailableError where torchmetrics is not installed.
        """
        try:
            from bmx_grid.attribution.torch_metric import SystemScore
        except ModuleNotFoundError as error:
            raise UnavailableError("torchmetrics is not installed: `pip install torchmetrics`.") from error
        return SystemScore(self, **options)

    def __call__(
        self,
        hypotheses: Texts,
        *further: Texts,
        references: Texts | None = None,
        sources: Texts | None = None,
    ) -> Floats:
        """`score`."""
        return self.score(hypotheses, *further, references=references, sources=sources)

    def items(
        self,
        hypotheses: Texts,
        *further: Texts,
        references: Texts | None = None,
        sources: Texts | None = None,
    ) -> list[Item]:
        """The segments as the metric reads them. Raises as `score` does."""
        texts: dict[Role, Texts | None] = {"hypothesis": hypotheses, "reference": references, "source": sources}
        if further:
            is_named = references is not None or sources is not None
            texts = texts_by_position(self.reads, (hypotheses, *further), is_named=is_named)
        return items_of(self.reads, texts, all_references=self.metric.reads_all_references)

    def score(
        self,
        hypotheses: Texts,
        *further: Texts,
        references: Texts | None = None,
        sources: Texts | None = None,
        progress: Report | None = None,
    ) -> Floats:
        """float64[N] scores of N segments; `metric.higher_is_better` says their direction (lower is better for TER).

        A segment without words keeps the score of the metric.

        Args:
            hypotheses: a list of N texts.
            references, sources: a list of N texts for each role that the metric reads (`reads`). A metric with
                references="all" also takes a list of references for each segment.
            progress: gets the number of texts of each finished part.
        Raises:
            DataError: a list is missing, not read, or differs in length; lists by position are not those that it reads.
            ExplainError: the explainer cannot explain a segment.
        """
        explained = self.unexplained.explain(
            hypotheses, *further, references=references, sources=sources, progress=progress
        )
        return explained.scores

    def corpus_score(
        self,
        hypotheses: Texts,
        *further: Texts,
        references: Texts | None = None,
        sources: Texts | None = None,
    ) -> float:
        """The score of a system's N segments together: of BLEU, chrF and TER sacreBLEU's corpus score, divided by 100.

        Of a metric without statistics, and of a boosted one, the mean of the segments. NaN without segments.
        Takes texts as `score` does, and raises the same.
        """
        rows = self.statistics(hypotheses, *further, references=references, sources=sources)
        return self.combine(rows.sum(axis=0)) if len(rows) else math.nan

    def statistics(
        self,
        hypotheses: Texts,
        *further: Texts,
        references: Texts | None = None,
        sources: Texts | None = None,
    ) -> Floats:
        """float64[N, k] rows, whose sum `combine` makes the score of a system: counts, or the score and a 1."""
        if self.has_statistics:
            items = self.items(hypotheses, *further, references=references, sources=sources)
            return statistics_of(self.metric, items)
        return by_mean(self.score(hypotheses, *further, references=references, sources=sources))

    def combine(self, sums: Floats) -> float:
        """The score of a system from float64[k], the sum of the rows of `statistics`."""
        if self.has_statistics:
            return float(combined(self.metric, sums))
        return float(mean(sums))

    def count_texts(
        self,
        hypotheses: Texts,
        *further: Texts,
        references: Texts | None = None,
        sources: Texts | None = None,
    ) -> int:
        """The most texts that `explain` asks the metric for, as `score` does where it boosts.

        Raises as `explain` does, and scores nothing.
        """
        items = self.items(hypotheses, *further, references=references, sources=sources)
        return sum(self._sizes(items).values())

    def explain(
        self,
        hypotheses: Texts,
        *further: Texts,
        references: Texts | None = None,
        sources: Texts | None = None,
        progress: Report | None = None,
    ) -> Scored:
        """`score`, with base scores and attributions; `progress` gets the number of texts of each finished part."""
        if progress is not None and not callable(progress):
            raise ConfigError(f"progress: expected a function of a number of texts, got {shown(progress, 60)}.")
        items = self.items(hypotheses, *further, references=references, sources=sources)
        sizes = self._sizes(items)
        by_item: dict[Item, Explanation] = {}
        at_once = texts_at_once(self.metric, TEXTS_AT_ONCE)
        with component_errors():
            # Parts bound what is in memory; equal items are one.
            for part, n_texts in in_parts(sizes.items(), at_once):
                explained = explain_items(self.metric, self.explainer, part, self.seed)
                by_item |= zip(part, explained, strict=True)
                # a boost says itself which item has no finite score
                are_finite = all(math.isfinite(explanation.base_score) for explanation in explained)
                if self.boost is None and not are_finite:
                    raise BmxError(f"{self.metric.signature}: a score is not finite.")
                if progress is not None:
                    progress(n_texts)
            explanations = [by_item[item] for item in items]
            base = np.array([explanation.base_score for explanation in explanations], dtype=np.float64)
            unboosted: Sequence[int] = ()
            scores = base
            if isinstance(self.boost, Recipe):
                scores, rows = boosted_by(self.boost.boost, self.boost.fitted(), self.metric, explanations)
                unboosted = rows.tolist()
            elif self.boost is not None:
                scores = self.boost.boost(explanations)
        return Scored(scores, base, () if self.explainer is None else explanations, tuple(unboosted))

    def _sizes(self, items: Sequence[Item]) -> dict[Item, int]:
        """The distinct items, and how many texts each needs."""
        sizes: dict[Item, int] = {}
        for number, item in enumerate(items, start=1):
            if item in sizes:
                continue
            try:
                sizes[item] = count_within(self.metric, self.explainer, item, self.max_texts)
            except ExplainError as error:
                raise ExplainError(f"segment {number}: {error}") from error
        return sizes


def make_scorer(
    metric: Option,
    explainer: Option,
    p: float | None,
    w: float | None,
    settings: Mapping[str, Any],
    recipe: Recipe | None = None,
    language_pair: str | None = None,
) -> Scorer:
    """A scorer from names of options (see `bmx_grid.load`); with a recipe, metric and explainer need no name.

    explainer: None for none, ... for that of the recipe, or the default one. language_pair: of the texts, for metrics
    that need to know it.

    Raises ConfigError for names, keys and values that cannot be used, or that are not those of the recipe;
    UnavailableError for a metric or an explainer that is unavailable here.
    """
    by_point = p is not None or w is not None
    if isinstance(metric, str):
        metric = option_named(metric, options("metric"))
    if isinstance(explainer, str):
        explainer = option_named(explainer, options("explainer"))
    _check_arguments(metric, explainer, settings, recipe, by_point=by_point)
    default_seed = 0
    if recipe is not None and recipe.seed is not None:
        default_seed = recipe.seed
    seed = convert(settings.get("seed", default_seed), int, "seed")
    node = _metric_and_explainer(metric, explainer, recipe)
    node["seed"] = seed
    cls: Any = Scorer
    if by_point:
        cls = BoostedMetric
        node["aggregation"] = "power_mean"
        node |= _point(node["explainer"], p, w)
    for key, value in settings.items():
        # the seed is set already: options are read with it
        if key != "seed":
            _set(node, key, value, seed)
    if node["explainer"] is None:
        del node["explainer"]
    target = f"{cls.__module__}.{cls.__qualname__}"
    built = build({**node, "_target_": target}, cls, "settings")
    if language_pair is not None:
        check_pair_of_languages(language_pair)
        built = replace(built, metric=built.metric.of_languages(language_pair))
        warn_of_languages([(_name_of(metric, type(built.metric).__name__), built.metric, language_pair)])
    if recipe is not None:
        metric_name = _name_of(metric, recipe.metric.name)
        explainer_name = _name_of(explainer, recipe.explainer.name)
        recipe.check(
            Identity.of("metric", metric_name, built.metric, built.metric.signature),
            Identity.of("explainer", explainer_name, built.explainer, built.explainer.signature),
        )
    with component_errors():
        built.metric.check()
        if built.explainer is not None:
            built.explainer.check()
    boost = built if by_point else recipe
    return Scorer(built.metric, built.explainer, built.seed, built.max_texts, boost)


def _metric_and_explainer(metric: Option, explainer: Option, recipe: Recipe | None) -> dict[str, Any]:
    """The options as they are named; where they are not, those of the recipe, or the default explainer."""
    node: dict[str, Any] = {"metric": metric, "explainer": explainer}
    if recipe is None:
        if explainer is ...:
            node["explainer"] = DEFAULT_EXPLAINER
        return node
    # What is named takes the place of the recipe's, which it must be: `make_scorer` compares them.
    if metric is None or metric is ...:
        node["metric"] = recipe.metric.node("metric")
    if explainer is ...:
        node["explainer"] = recipe.explainer.node("explainer")
    return node


def _check_arguments(
    metric: Option, explainer: Option, settings: Mapping[str, Any], recipe: Recipe | None, *, by_point: bool
) -> None:
    """Raise ConfigError for arguments that do not go together."""
    if recipe is None and metric is None:
        raise ConfigError("no metric is named: name one, or a recipe.")
    if recipe is not None and explainer is None:
        name = recipe.explainer.name
        raise ConfigError(f"the recipe {recipe.name} needs its explainer, {name}: do not set the explainer to none.")
    if recipe is not None and by_point:
        raise ConfigError(
            f"p and w are a boost of their own, and so is the recipe {recipe.name}: leave out one of them."
        )
    if recipe is not None and recipe.of_files:
        raise ConfigError(
            f"the recipe {recipe.name} is for scores or explanations made elsewhere, and new texts have none: judge it "
            "in a sweep, with boost=[recipe]."
        )
    if by_point and explainer is None:
        raise ConfigError("p and w belong to an explainer, and there is none: name one, or leave them out.")
    for key in settings:
        if key.partition(".")[0] in OF_THE_MEAN and not by_point:
            raise ConfigError(f"'{key}' belongs to a boost by p and w, which there is not: give both, or leave it out.")


def _name_of(option: Option, default: str) -> str:
    """The name of an option, or of the class that it names; the default for an object, for none and for `...`."""
    if isinstance(option, Mapping):
        return str(option.get("_target_", "")).rpartition(".")[2]
    return option if isinstance(option, str) else default


def _point(explainer: Option, p: float | None, w: float | None) -> dict[str, float | None]:
    """p and w as given, else the paper's medians of the explainer."""
    medians: Mapping[str, float] = {}
    if isinstance(explainer, str):
        # an unknown name is answered with the list of known ones
        load_option("explainer", explainer)
        medians = load_option("grid", "paper")["fixed"].get(explainer, {})
    point = {
        "p": medians.get("p") if p is None else p,
        "w": medians.get("w") if w is None else w,
    }
    missing = [name for name, value in point.items() if value is None]
    if missing:
        raise ConfigError(f"the paper has no p and w for the explainer {explainer!r}: give {' and '.join(missing)}.")
    return point


def _set(node: dict[str, Any], key: str, value: Any, seed: int) -> None:
    """Set a dotted key, opening parts that are given by name. Raises ConfigError for a key that leads nowhere."""
    *parents, last = key.split(".")
    for parent in parents:
        below = node.get(parent)
        if isinstance(below, str) and parent in OPTION_PARTS:
            below = load_option(parent, below, seed)
        if not isinstance(below, Mapping):
            known = [name for name, part in node.items() if name in OPTION_PARTS or isinstance(part, Mapping)]
            raise ConfigError(f"{key}: {unknown('part', parent, known)}")
        # A copy: what an option holds stays as it is.
        node[parent] = node = dict(below)
    node[last] = value
