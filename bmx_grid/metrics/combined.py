"""Weighted sums of parts, by default weighted by their agreement: directions of a translation model, or metrics."""

from __future__ import annotations

import dataclasses
import math
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np

from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import canonical_json, digest, identity, runtime
from bmx_grid.measures.one_vs_rest import one_vs_rest, weighted
from bmx_grid.metrics.base import Cost, Floats, GivenScores, Metric
from bmx_grid.models.kept import Value, kept, key_of
from bmx_grid.words.perturbation import ROLES, Item, Role

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet

KEY = "metric.combined"
ByRule = Literal["one_vs_rest", "equal"]
Member = tuple[str, Metric]


@dataclass(frozen=True, kw_only=True)
class Mixed(Metric):
    """A weighted sum of the scores of k parts.

    weights: one_vs_rest, by agreement with the other parts over the set it is fitted to (`measures.one_vs_rest`);
        equal, 1/k each; or k numbers, as they are.
    cache_dir: where what parts made is kept; None for this process only.
    set, fitted_on: the set it is fitted to, as a digest (identity) and as items; made by `fitted`.
    """

    weights: tuple[float, ...] | ByRule = identity("one_vs_rest")
    cache_dir: str | None = runtime(None)
    set: str = identity("", later=True)
    fitted_on: tuple[Item, ...] = runtime(())

    @property
    @abstractmethod
    def part_names(self) -> tuple[str, ...]:
        """The names of the k parts."""

    @abstractmethod
    def part_scores(self, items: Sequence[Item]) -> Floats:
        """float64[n, k] scores of the parts, higher is better, as they are summed."""

    @property
    def looks_at_a_set(self) -> bool:
        """Whether it has to be fitted before it scores."""
        return self.weights == "one_vs_rest"

    def check_weights(self, count: int, where: str) -> None:
        """Raise ConfigError for weights that are not one finite number for each of `count` parts."""
        if isinstance(self.weights, str):
            return
        if len(self.weights) != count or not all(map(math.isfinite, self.weights)) or not any(self.weights):
            raise ConfigError(
                f"{where}.weights={list(self.weights)}: expected one_vs_rest, equal, or {count} finite numbers, not "
                f"all 0, one each for {', '.join(self.part_names)}."
            )

    def fitted(self, segments: SegmentSet) -> Self:
        found = cast(Self, super().fitted(segments))
        items = tuple(segments.items(self.reads, all_references=self.reads_all_references))
        texts = [[*item.texts().values(), *item.further_references] for item in items]
        name = digest(texts)[:16] if self.looks_at_a_set else ""
        return dataclasses.replace(found, set=name, fitted_on=items)

    def part_weights(self) -> Floats:
        """float64[k]. Raises ConfigError where it has to be fitted and is not, or where weights are undefined."""
        names = self.part_names
        if self.weights != "one_vs_rest":
            return np.full(len(names), 1 / len(names)) if self.weights == "equal" else np.array(self.weights)
        self.check_fitted()
        found = one_vs_rest(self.fitted_scores(), names)
        for note in found.notes:
            warnings.warn(f"{type(self).__name__.lower()} (set {self.set}): {note}.", stacklevel=2)
        return found.weights

    def fitted_scores(self) -> Floats:
        """float64[N, k] scores of the parts for the set it is fitted to."""
        return self.part_scores(self.fitted_on)

    def check_fitted(self) -> None:
        if self.looks_at_a_set and not self.fitted_on:
            raise ConfigError(
                f"{type(self).__name__.lower()} is fitted to a whole test set, and has seen none: use it in a sweep, "
                "or choose settings that need none (weights=equal, or numbers)."
            )

    def score(self, items: Sequence[Item]) -> Floats:
        if not items:
            return np.empty(0)
        weights = self.part_weights()  # first: it makes and keeps the parts of the whole set
        return weighted(self.part_scores(items), weights)


@dataclass(frozen=True, kw_only=True)
class Combined(Mixed):
    """sum of weight x score over metrics, each turned so that higher is better.

    metrics: names of options; {NAME: {key: value}} for an option with other settings, or with `_target_` among them
        for a metric of any class. One that is a file of scores makes the combination one: it has no explainer. An
        option that stands for several metrics stands for all of them.
    scale: z puts each metric's scores on mean 0 and standard deviation 1 over the set it is fitted to; raw leaves them.
        A metric that is constant there has z scores of 0.
    seed: of metrics that are named by their option and draw something.

    The scores of metrics on the set are kept in `cache_dir`, so that weights cost nothing. A system's score is the
    mean of its segments.
    """

    metrics: tuple[Any, ...] = identity()
    scale: Literal["z", "raw"] = identity("z")
    seed: int = runtime(0)
    given_parts: Mapping[str, tuple[float, ...]] | None = runtime(None)

    def __post_init__(self) -> None:
        if not self.metrics:
            raise ConfigError(f"{KEY}.metrics is empty: name at least one metric, as {KEY}.metrics=[chrf].")
        members = tuple(_member(one, row, self.seed) for row, one in enumerate(self.metrics))
        names = [name for name, _ in members]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ConfigError(f"{KEY}.metrics: there are two metrics '{twice}'; give one of them another `name`.")
        object.__setattr__(self, "metrics", members)
        self.check_weights(len(members), KEY)

    @property
    def reads(self) -> tuple[Role, ...]:
        read = {role for _, metric in self.metrics for role in metric.reads}
        return tuple(role for role in ROLES if role in read)

    @property
    def cost(self) -> Cost:
        return "model" if any(metric.cost == "model" for _, metric in self.metrics) else "light"

    @property
    def reads_all_references(self) -> bool:
        return any(metric.reads_all_references for _, metric in self.metrics)

    @property
    def signature(self) -> str:
        inner = ", ".join(f"{name}=({metric.signature})" for name, metric in self.metrics)
        fitted = f"|set:{self.set}" if self.set else ""
        weights = self.weights if isinstance(self.weights, str) else list(self.weights)
        return f"combined|weights:{weights}|scale:{self.scale}{fitted}|metrics:[{inner}]|version:{self.VERSION}"

    @property
    def part_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.metrics)

    @property
    def looks_at_a_set(self) -> bool:
        return super().looks_at_a_set or self.scale == "z"

    def fingerprint(self) -> dict[str, Any]:
        return super().fingerprint() | {"metrics": [metric.fingerprint() for _, metric in self.metrics]}

    def check(self) -> None:
        for _, metric in self.metrics:
            metric.check()

    def members(self, name: str, sets: Sequence[SegmentSet]) -> Mapping[str, Metric]:
        found = [pair for own, metric in self.metrics for pair in metric.members(own, sets).items()]
        return {name: dataclasses.replace(self, metrics=tuple(found))}

    def fitted(self, segments: SegmentSet) -> Self:
        members = tuple((name, metric.fitted(segments)) for name, metric in self.metrics)
        files = {name: given for name, metric in members if (given := metric.given(segments)) is not None}
        scores = {name: tuple(given.segments.tolist()) for name, given in files.items()}  # higher is better
        return dataclasses.replace(super().fitted(segments), metrics=members, given_parts=scores or None)

    def given(self, segments: SegmentSet) -> GivenScores | None:
        """Where a metric is a file of scores: those of the combination, NaN where a metric that counts has none."""
        return GivenScores(weighted(self.fitted_scores(), self.part_weights())) if self.given_parts else None

    def count_texts(self, item: Item, copies: int = 1) -> int:
        """The texts of all metrics."""
        return sum(metric.count_texts(_read(item, metric), copies) for _, metric in self.metrics)

    def part_scores(self, items: Sequence[Item]) -> Floats:
        """float64[n, k] scores of the metrics, higher is better, on their scale."""
        return self._scaled(np.stack([self._scores_of(metric, items) for _, metric in self.metrics], axis=1))

    def fitted_scores(self) -> Floats:
        """float64[N, k] scores of the metrics for the set it is fitted to."""
        return self._scaled(self._whole())

    def _scaled(self, raw: Floats) -> Floats:
        if self.scale == "raw":
            return raw
        self.check_fitted()
        whole = self._whole()
        used = whole[np.isfinite(whole).all(axis=1)]
        if not len(used):
            raise ConfigError(f"{KEY}: no segment has a score of every metric; leave out metrics, or write scale=raw.")
        sds = used.std(axis=0)
        varies = np.ptp(used, axis=0) > 0
        return np.asarray(np.where(varies, (raw - used.mean(axis=0)) / np.where(varies, sds, 1.0), 0.0))

    def _whole(self) -> Floats:
        """float64[N, k] of the set, higher is better; from the files, else scored, each distinct text once."""
        files = self.given_parts or {}
        columns = [
            np.array(files[name]) if name in files else self._scores_of(metric, self.fitted_on)
            for name, metric in self.metrics
        ]
        return np.stack(columns, axis=1)

    def _scores_of(self, metric: Metric, items: Sequence[Item]) -> Floats:
        read = [_read(item, metric) for item in items]
        keys = [key_of(*item.texts().values(), *item.further_references) for item in read]
        whole = frozenset(self.fitted_on)
        keep = {key for key, item in zip(keys, items, strict=True) if item in whole}

        def make(contents: list[Item]) -> list[Value]:
            return [(score,) for score in metric.score(contents).tolist()]

        store = kept(self.cache_dir, "parts", canonical_json({"metric": metric.fingerprint()}))
        scores = np.array([value[0] for value in store.values(keys, read, keep, make)], dtype=np.float64)
        return scores if metric.higher_is_better else -scores


def _read(item: Item, metric: Metric) -> Item:
    """The item with only the texts that a metric reads."""
    further = item.further_references if metric.reads_all_references else ()
    return Item(**{role: item.text(role) for role in metric.reads}, further_references=further)


def _member(given: Any, row: int, seed: int) -> Member:
    """The name and the metric that an entry of `metrics` stands for."""
    where = f"{KEY}.metrics[{row}]"
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Metric):
        return given
    if isinstance(given, str):
        return given, build(load_option("metric", given, seed), Metric, where)
    if isinstance(given, Mapping) and len(given) == 1:
        ((name, own),) = given.items()
        if isinstance(own, Mapping):
            node = {**({} if "_target_" in own else load_option("metric", str(name), seed)), **own}
            return str(own.get("name", name)), build(node, Metric, where)
    raise ConfigError(f"{where}: expected the name of an option, or {{NAME: {{key: value}}}}, got {given!r}.")
