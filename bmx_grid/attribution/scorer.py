"""A metric ready for texts, boosted or not: what `bmx_grid.load` returns and `python -m bmx_grid score` runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bmx_grid.attribution.boosted import BoostedMetric, apply_boost, count_within
from bmx_grid.attribution.contracts import check_pair_of_languages, combine_statistics, statistics_of, warn_of_languages
from bmx_grid.attribution.explain import Explanation, effective_seed, explain_items, split_into_parts, texts_at_once
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
    quote_value,
    unknown,
)
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import find_option
from bmx_grid.explainers.base import Explainer
from bmx_grid.measures.systems import mean, mean_terms
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
    """A metric that scores and explains texts, optionally boosted.

    Build it with `load`.

    Attributes:
        metric: The metric.
        explainer: The explainer, or None.
        seed: Seed of the random draws of the explainer.
        max_texts: Highest number of texts scored for one segment.
        boost: Boost of the scores: at a point (p, w), or a recipe; None for the unboosted metric.

    Raises:
        ConfigError: `seed` is negative, or `max_texts` is below 1.

    Example:
        >>> import bmx_grid as bmx
        >>> scorer = bmx.load("chrf", explainer=None)
        >>> scorer.signature.split("|")[0]
        'chrF2'
        >>> scorer.score(["a cat sat", "he went home"], references=["the cat sat", "he went home"]).round(3)
        array([0.536, 1.   ])
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
        """Roles of the texts that `score` reads, such as `("reference", "hypothesis")`."""
        return self.metric.reads

    @property
    def recipe(self) -> Recipe | None:
        """The recipe, or None without one."""
        return self.boost if isinstance(self.boost, Recipe) else None

    @property
    def scores_only(self) -> Scorer:
        """A scorer with the same scores, explained only if the boost requires it."""
        return Scorer(self.metric) if self.boost is None else self

    @property
    def signature(self) -> str:
        """Settings behind a score, in one line. Report it with every score."""
        recipe = self.recipe
        if recipe is not None:
            return f"{recipe.signature}|name:{recipe.name}|seed:{effective_seed(self.explainer, self.seed)}"
        boosted_or_not = self.boost or self.metric
        return boosted_or_not.signature

    @property
    def explanation_signature(self) -> str | None:
        """Settings behind the attributions of an unboosted metric, or None."""
        if self.explainer is None or self.boost is not None:
            return None
        return f"{self.explainer.signature}|seed:{effective_seed(self.explainer, self.seed)}"

    @property
    def has_statistics(self) -> bool:
        """True if `corpus_score` sums statistics; false if it averages scores."""
        return self.boost is None and self.metric.has_statistics

    def torch_metric(self, **options: Any) -> Any:
        """Wrap this scorer as a metric of torchmetrics.

        Args:
            **options: Options of `torchmetrics.Metric`.

        Returns:
            torchmetrics.Metric: Call `update(hypotheses, references)` for each batch, then `compute()` for the corpus
                score.

        Raises:
            UnavailableError: torchmetrics is not installed.

        Example:
            >>> import bmx_grid as bmx
            >>> metric = bmx.load("chrf", explainer=None).torch_metric()
            >>> metric.update(["a cat sat"], ["the cat sat"])
            >>> round(float(metric.compute()), 3)
            0.536
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
        """Score segments, as `score` does.

        Args:
            hypotheses: N texts.
            *further: Lists in the order of release 0.2; deprecated. Use `references` and `sources`.
            references: N texts, if the metric reads references. With `references="all"`, a text may be a list of texts.
            sources: N texts, if the metric reads sources.

        Returns:
            float64[N]: Scores.

        Raises:
            DataError: A list is missing or not read by the metric, or the lists differ in length.

        Example:
            >>> import bmx_grid as bmx
            >>> scorer = bmx.load("chrf", explainer=None)
            >>> scorer(["a cat sat"], references=["the cat sat"]).round(3)
            array([0.536])
        """
        return self.score(hypotheses, *further, references=references, sources=sources)

    def items(
        self,
        hypotheses: Texts,
        *further: Texts,
        references: Texts | None = None,
        sources: Texts | None = None,
    ) -> list[Item]:
        """Build the items that the metric scores, one per segment.

        Args:
            hypotheses: N texts.
            *further: Lists in the order of release 0.2; deprecated. Use `references` and `sources`.
            references: N texts, if the metric reads references. With `references="all"`, a text may be a list of texts.
            sources: N texts, if the metric reads sources.

        Returns:
            list[Item]: The texts of each segment by role.

        Raises:
            DataError: A list is missing or not read by the metric, or the lists differ in length.

        Example:
            >>> import bmx_grid as bmx
            >>> [item] = bmx.load("chrf", explainer=None).items(["a cat sat"], references=["the cat sat"])
            >>> item.hypothesis
            'a cat sat'
        """
        texts: dict[Role, Texts | None] = {"hypothesis": hypotheses, "reference": references, "source": sources}
        if further:
            is_named = references is not None or sources is not None
            texts = texts_by_position(self.reads, (hypotheses, *further), is_named=is_named)
        for name in self.metric.reads_further.keys() - {"further_references"}:
            raise ConfigError(
                f"{type(self.metric).__name__} reads the {name} of a segment, which lists of texts do not have: leave "
                f"out {name}, or run a sweep of data with documents."
            )
        return items_of(self.reads, texts, all_references=self.metric.reads_all_references)

    def score(
        self,
        hypotheses: Texts,
        *further: Texts,
        references: Texts | None = None,
        sources: Texts | None = None,
        progress: Report | None = None,
    ) -> Floats:
        """Score segments.

        Args:
            hypotheses: N texts.
            *further: Lists in the order of release 0.2; deprecated. Use `references` and `sources`.
            references: N texts, if the metric reads references. With `references="all"`, a text may be a list of texts.
            sources: N texts, if the metric reads sources.
            progress: Function that receives the number of texts of each finished part.

        Returns:
            float64[N]: Scores in the units of the metric. Higher is better unless `metric.higher_is_better` is false
                (TER). A segment without words keeps the unboosted score.

        Raises:
            ConfigError: `progress` is not a function.
            DataError: A list is missing or not read by the metric, or the lists differ in length.
            ExplainError: The boost needs attributions, and the explainer cannot explain a segment.

        Example:
            >>> import bmx_grid as bmx
            >>> scorer = bmx.load("chrf", explainer=None)
            >>> scorer.score(["a cat sat", "he went home"], references=["the cat sat", "he went home"]).round(3)
            array([0.536, 1.   ])
        """
        explained = self.scores_only.explain(
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
        """Score N segments of one system together.

        Args:
            hypotheses: N texts.
            *further: Lists in the order of release 0.2; deprecated. Use `references` and `sources`.
            references: N texts, if the metric reads references. With `references="all"`, a text may be a list of texts.
            sources: N texts, if the metric reads sources.

        Returns:
            float: For unboosted BLEU, chrF and TER: sacreBLEU's corpus score divided by 100. For other metrics and
                boosts: the mean of the segment scores. NaN without segments.

        Raises:
            DataError: A list is missing or not read by the metric, or the lists differ in length.
            ExplainError: The boost needs attributions, and the explainer cannot explain a segment.

        Example:
            >>> import bmx_grid as bmx
            >>> scorer = bmx.load("chrf", explainer=None)
            >>> round(scorer.corpus_score(["a cat sat", "home"], references=["the cat sat", "he went home"]), 3)
            0.376
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
        """Compute sufficient statistics per segment, for corpus scores and resampling.

        Args:
            hypotheses: N texts.
            *further: Lists in the order of release 0.2; deprecated. Use `references` and `sources`.
            references: N texts, if the metric reads references. With `references="all"`, a text may be a list of texts.
            sources: N texts, if the metric reads sources.

        Returns:
            float64[N, k]: One row per segment. `combine` turns a sum of rows into a corpus score. Metrics without
                statistics have the columns score and 1.

        Raises:
            DataError: A list is missing or not read by the metric, or the lists differ in length.
            ExplainError: The boost needs attributions, and the explainer cannot explain a segment.

        Example:
            >>> import bmx_grid as bmx
            >>> scorer = bmx.load("chrf", explainer=None)
            >>> rows = scorer.statistics(["a cat sat", "home"], references=["the cat sat", "he went home"])
            >>> round(scorer.combine(rows.sum(axis=0)), 3)
            0.376
        """
        if self.has_statistics:
            items = self.items(hypotheses, *further, references=references, sources=sources)
            return statistics_of(self.metric, items)
        return mean_terms(self.score(hypotheses, *further, references=references, sources=sources))

    def combine(self, sums: Floats) -> float:
        """Compute a corpus score from summed statistics.

        Args:
            sums: float64[k], sum of rows of `statistics`.

        Returns:
            float: The score of the corpus, as `corpus_score` returns it.

        Example:
            >>> import numpy as np
            >>> import bmx_grid as bmx
            >>> scorer = bmx.load("chrf", explainer="erasure", p=1, w=0.5)
            >>> round(scorer.combine(np.array([1.2, 3.0])), 3)  # boosted: the mean of 3 scores with sum 1.2
            0.4
        """
        if self.has_statistics:
            return float(combine_statistics(self.metric, sums))
        return float(mean(sums))

    def count_texts(
        self,
        hypotheses: Texts,
        *further: Texts,
        references: Texts | None = None,
        sources: Texts | None = None,
    ) -> int:
        """Count the texts that `explain` would score, without scoring them.

        Args:
            hypotheses: N texts.
            *further: Lists in the order of release 0.2; deprecated. Use `references` and `sources`.
            references: N texts, if the metric reads references. With `references="all"`, a text may be a list of texts.
            sources: N texts, if the metric reads sources.

        Returns:
            int: Upper limit of the number of texts, perturbed ones included.

        Raises:
            DataError: A list is missing or not read by the metric, or the lists differ in length.
            ExplainError: The explainer cannot explain a segment.

        Example:
            >>> import bmx_grid as bmx
            >>> bmx.load("chrf", "erasure").count_texts(["a cat sat"], references=["the cat sat"])
            9
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
        """Score segments and explain the scores by word attributions.

        Args:
            hypotheses: N texts.
            *further: Lists in the order of release 0.2; deprecated. Use `references` and `sources`.
            references: N texts, if the metric reads references. With `references="all"`, a text may be a list of texts.
            sources: N texts, if the metric reads sources.
            progress: Function that receives the number of texts of each finished part.

        Returns:
            Scored: Scores, base scores, and N explanations with the attributions of each word.

        Raises:
            ConfigError: `progress` is not a function.
            DataError: A list is missing or not read by the metric, or the lists differ in length.
            ExplainError: The explainer cannot explain a segment.

        Example:
            >>> import bmx_grid as bmx
            >>> scored = bmx.load("chrf", "erasure").explain(["a cat sat"], references=["the cat sat"])
            >>> scored.explanations[0].attributions["hypothesis"].round(3)
            array([-0.022,  0.297,  0.297])
        """
        if progress is not None and not callable(progress):
            raise ConfigError(f"progress: expected a function of a number of texts, got {quote_value(progress, 60)}.")
        items = self.items(hypotheses, *further, references=references, sources=sources)
        sizes = self._sizes(items)
        by_item: dict[Item, Explanation] = {}
        at_once = texts_at_once(self.metric, TEXTS_AT_ONCE)
        with component_errors():
            # Parts bound the memory; equal items are one.
            for part, n_texts in split_into_parts(sizes.items(), at_once):
                explained = explain_items(self.metric, self.explainer, part, self.seed)
                by_item |= zip(part, explained, strict=True)
                # a boost names the item without a finite score itself
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
                scores, rows = apply_boost(self.boost.boost, self.boost.fitted_boost(), self.metric, explanations)
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
    UnavailableError for a metric or an explainer that is unavailable.
    """
    by_point = p is not None or w is not None
    if isinstance(metric, str):
        metric = find_option(metric, options("metric"))
    if isinstance(explainer, str):
        explainer = find_option(explainer, options("explainer"))
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
        built = replace(built, metric=built.metric.set_languages(language_pair))
        warn_of_languages([(_name_of(metric, type(built.metric).__name__), built.metric, language_pair)])
    if recipe is not None:
        metric_name = _name_of(metric, recipe.metric.name)
        explainer_name = _name_of(explainer, recipe.explainer.name)
        recipe.check(
            Identity.from_part("metric", metric_name, built.metric, built.metric.signature),
            Identity.from_part("explainer", explainer_name, built.explainer, built.explainer.signature),
        )
    with component_errors():
        built.metric.check()
        if built.explainer is not None:
            built.explainer.check()
    boost = built if by_point else recipe
    return Scorer(built.metric, built.explainer, built.seed, built.max_texts, boost)


def _metric_and_explainer(metric: Option, explainer: Option, recipe: Recipe | None) -> dict[str, Any]:
    """The named options; by default those of the recipe, or the default explainer."""
    node: dict[str, Any] = {"metric": metric, "explainer": explainer}
    if recipe is None:
        if explainer is ...:
            node["explainer"] = DEFAULT_EXPLAINER
        return node
    # Named options replace the recipe's and must be equal to them: `make_scorer` compares them.
    if metric is None or metric is ...:
        node["metric"] = recipe.metric.node("metric")
    if explainer is ...:
        node["explainer"] = recipe.explainer.node("explainer")
    return node


def _check_arguments(
    metric: Option, explainer: Option, settings: Mapping[str, Any], recipe: Recipe | None, *, by_point: bool
) -> None:
    if recipe is None and metric is None:
        raise ConfigError("metric is required. Set metric=NAME, or recipe=NAME.")
    if recipe is not None and explainer is None:
        name = recipe.explainer.name
        raise ConfigError(f"the recipe {recipe.name} needs its explainer, {name}: do not set the explainer to none.")
    if recipe is not None and by_point:
        raise ConfigError(f"recipe '{recipe.name}' cannot be combined with p and w. Remove the recipe, or p and w.")
    if recipe is not None and recipe.uses_files:
        raise ConfigError(
            f"the recipe {recipe.name} is for scores or explanations from files, which new texts lack: judge it "
            "in a sweep, with boost=[recipe]."
        )
    if by_point and explainer is None:
        raise ConfigError("p and w require an explainer. Set explainer, or remove p and w.")
    for key in settings:
        if key.partition(".")[0] in OF_THE_MEAN and not by_point:
            raise ConfigError(f"'{key}' requires p and w. Set both, or remove '{key}'.")


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
        # A copy: the option's own values must not change.
        node[parent] = node = dict(below)
    node[last] = value
