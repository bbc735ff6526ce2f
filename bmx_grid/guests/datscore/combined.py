"""Weighted sums of parts, by default weighted by their agreement: directions of a translation model, or metrics."""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np

from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import canonical_json, digest, identity, runtime
from bmx_grid.core.ragged import Floats
from bmx_grid.guests.datscore.kept_values import open_values
from bmx_grid.measures.aggregation import weighted_sum
from bmx_grid.measures.correlation import FEWEST, correlate, standard_deviation
from bmx_grid.metrics.base import Cost, Metric
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.perturbation import ROLES, Item, Role

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet

KEY = "metric.combined"  # its key, for messages


@dataclass(frozen=True, kw_only=True)
class Mixed(Metric):
    """A weighted sum of the scores of k parts.

    weights: one_vs_rest, by agreement with the other parts over the set it is fitted to (`one_vs_rest`);
        equal, 1/k each; or k numbers, as they are.
    cache_dir: where what parts made is kept; None for this process only.
    set, fitted_on: the set it is fitted to, as a digest (identity) and as items; made by `fit`.
    """

    has_side_effects: ClassVar[bool] = True

    weights: tuple[float, ...] | Literal["one_vs_rest", "equal"] = identity("one_vs_rest")
    cache_dir: str | None = runtime(None)
    set: str = identity("", added_later=True)
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

    def check_weights(self, where: str) -> None:
        """Raise ConfigError for numbers that are not one for each part, are not all finite, or are all 0.

        where: the key in the message. Weights with a name are not looked at.
        """
        weights = self.weights
        if isinstance(weights, str):
            return
        names = self.part_names
        usable = np.isfinite(weights).all() and any(weights)
        if len(weights) != len(names) or not usable:
            raise ConfigError(
                f"{where}.weights={list(weights)}: expected one_vs_rest, equal, or {len(names)} finite numbers, not "
                f"all 0, one each for {', '.join(names)}."
            )

    def fit(self, segments: SegmentSet) -> Self:
        items = self.items(segments)
        name = ""
        if self.looks_at_a_set:
            texts = [[*item.texts().values(), *chain.from_iterable(item.further)] for item in items]
            name = digest(texts)[:16]
        fitted = cast(Self, super().fit(segments))
        return dataclasses.replace(fitted, set=name, fitted_on=items)

    def part_weights(self) -> Floats:
        """float64[k]. Raises ConfigError if it has to be fitted and is not, or where weights are undefined."""
        names = self.part_names
        if self.weights == "equal":
            return np.full(len(names), 1 / len(names))
        if self.weights != "one_vs_rest":
            return np.array(self.weights)
        weights, notes = one_vs_rest(self.fitted_scores(), names)
        name = type(self).__name__.lower()
        for note in notes:
            warnings.warn(f"{name} (set {self.set}): {note}.", stacklevel=2)
        return weights

    def fitted_scores(self) -> Floats:
        """float64[N, k] scores of the parts for the set it is fitted to."""
        self.check_fitted()
        return self.part_scores(self.fitted_on)

    def check_fitted(self) -> None:
        """Raise ConfigError if it was fitted to no set."""
        if not self.fitted_on:
            raise ConfigError(
                f"{type(self).__name__.lower()} is fitted to a whole test set, and has seen none: use it in a sweep, "
                "or choose settings that need none (weights=equal, or numbers)."
            )

    def score(self, items: Sequence[Item]) -> Floats:
        if not items:
            return np.empty(0)
        # Weights first: they need the scores of the whole set, which are then known for these items.
        weights = self.part_weights()
        return weighted_sums(self.part_scores(items), weights)


@dataclass(frozen=True, kw_only=True)
class Combined(Mixed):
    """sum of weight x score over metrics, each turned so that higher is better.

    metrics: names of options; {NAME: {key: value}} for an option with other settings, or with `_target_`
        for a metric of any class. One that is a file of scores makes the combination one: it has no explainer. An
        option with several metrics contributes all.
    scale: z puts each metric's scores on mean 0 and standard deviation 1 over the set it is fitted to; raw leaves them.
        A metric that is constant on this set has z scores of 0.
    seed: of metrics that are named by their option and draw something.

    The scores of metrics on the set are kept in `cache_dir`, so that weights cost nothing. A system's score is the mean
    of its segments.
    """

    metrics: tuple[Any, ...] = identity()
    scale: Literal["z", "raw"] = identity("z")
    seed: int = runtime(0)
    given_scores: tuple[tuple[str, tuple[float, ...]], ...] = runtime(())  # of files, by name

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.metrics:
            raise ConfigError(f"{KEY}.metrics is empty: name at least one metric, as {KEY}.metrics=[chrf].")
        members = tuple(_member(entry, row, self.seed) for row, entry in enumerate(self.metrics))
        object.__setattr__(self, "metrics", members)
        for name, count in Counter(self.part_names).items():
            if count > 1:
                raise ConfigError(f"{KEY}.metrics: two metrics have the name '{name}'; give one another `name`.")
        self.check_weights(KEY)

    @property
    def reads(self) -> tuple[Role, ...]:
        roles = set(chain.from_iterable(metric.reads for _, metric in self.metrics))
        return tuple(role for role in ROLES if role in roles)

    @property
    def cost(self) -> Cost:
        return "model" if any(metric.cost == "model" for _, metric in self.metrics) else "light"

    @property
    def reads_all_references(self) -> bool:
        return any(metric.reads_all_references for _, metric in self.metrics)

    @property
    def reads_further(self) -> Mapping[str, int]:
        most: dict[str, int] = {}
        for _, metric in self.metrics:
            for name, number in metric.reads_further.items():
                most[name] = max(number, most.get(name, 0))
        return most

    @property
    def signature(self) -> str:
        members = ", ".join(f"{name}=({metric.signature})" for name, metric in self.metrics)
        fitted = f"|set:{self.set}" if self.set else ""
        weights = self.weights if isinstance(self.weights, str) else list(self.weights)
        return f"combined|weights:{weights}|scale:{self.scale}{fitted}|metrics:[{members}]|version:{self.VERSION}"

    @property
    def part_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.metrics)

    @property
    def looks_at_a_set(self) -> bool:
        return super().looks_at_a_set or self.scale == "z"

    def fingerprint(self) -> dict[str, Any]:
        fingerprints = [metric.fingerprint() for _, metric in self.metrics]
        return super().fingerprint() | {"metrics": fingerprints}

    def pretrained_models(self) -> tuple[tuple[str, str | None], ...]:
        models = [metric.pretrained_models() for _, metric in self.metrics]
        return tuple(chain.from_iterable(models))

    def known_languages(self, role: Role) -> frozenset[str] | None:
        known = None
        for _, metric in self.metrics:
            languages = metric.known_languages(role) if role in metric.reads else None
            if languages is not None:
                known = languages if known is None else known & languages
        return known

    def check(self) -> None:
        for _, metric in self.metrics:
            metric.check()

    def expand(self, name: str, sets: Sequence[SegmentSet]) -> Mapping[str, Metric]:
        members: list[tuple[str, Metric]] = []
        for option, metric in self.metrics:
            members += metric.expand(option, sets).items()
        return {name: dataclasses.replace(self, metrics=tuple(members))}

    def fit(self, segments: SegmentSet) -> Self:
        members = []
        scores_of_files = []
        for name, metric in self.metrics:
            member = metric.fit(segments)
            members.append((name, member))
            given = member.load_scores(segments)
            if given is not None:
                scores_of_files.append((name, tuple(given.base_scores.tolist())))
        fitted = super().fit(segments)
        return dataclasses.replace(fitted, metrics=tuple(members), given_scores=tuple(scores_of_files))

    def set_languages(self, language_pair: str) -> Self:
        members = tuple((name, metric.set_languages(language_pair)) for name, metric in self.metrics)
        return dataclasses.replace(self, metrics=members)

    def load_scores(self, segments: SegmentSet) -> AttributionSet | None:
        """Scores of a combination with imported metrics; NaN if a metric that counts has none."""
        if not self.given_scores:
            return None
        return AttributionSet(weighted_sums(self.fitted_scores(), self.part_weights()), {})

    def count_texts(self, item: Item, copies: int = 1) -> int:
        """The most texts that all metrics together need for `copies` versions of `item`."""
        count = 0
        for _, metric in self.metrics:
            count += metric.count_texts(_read_by(metric, item), copies)
        return count

    def part_scores(self, items: Sequence[Item]) -> Floats:
        """float64[n, k] scores of the metrics, higher is better, on their scale."""
        columns = [self._scores_of(metric, items) for _, metric in self.metrics]
        return self._rescale(np.stack(columns, axis=1))

    def fitted_scores(self) -> Floats:
        """float64[N, k] scores of the metrics for the set it is fitted to."""
        return self._rescale(self._whole())

    def _rescale(self, raw: Floats) -> Floats:
        if self.scale == "raw":
            return raw
        whole = self._whole()
        used = whole[np.isfinite(whole).all(axis=1)]
        if not len(used):
            raise ConfigError(f"{KEY}: no segment has a score of every metric; leave out metrics, or write scale=raw.")
        # The range shows whether a column varies: rounding can leave a constant one a standard deviation above 0.
        varies = np.ptp(used, axis=0) > 0
        sds = np.where(varies, standard_deviation(used), 1.0)
        z_scores = (raw - used.mean(axis=0)) / sds
        return np.asarray(np.where(varies, z_scores, 0.0))

    def _whole(self) -> Floats:
        """float64[N, k] of the set, higher is better; from the files, else scored, each distinct text once."""
        self.check_fitted()
        files = dict(self.given_scores)
        columns = []
        for name, metric in self.metrics:
            if name in files:
                columns.append(np.array(files[name]))
            else:
                columns.append(self._scores_of(metric, self.fitted_on))
        return np.stack(columns, axis=1)

    def _scores_of(self, metric: Metric, items: Sequence[Item]) -> Floats:
        """float64[n] scores of a metric, higher is better; those of the set are kept."""

        def score(contents: Sequence[Item]) -> list[float]:
            scores: list[float] = metric.score(contents).tolist()
            return scores

        # Without the texts that the metric ignores, segments that differ only in these are scored once.
        read = [_read_by(metric, item) for item in items]
        whole = {_read_by(metric, item) for item in self.fitted_on}
        store = open_values(self.cache_dir, "parts", canonical_json({"metric": metric.fingerprint()}))
        scores = np.array(store.values(read, whole, score), dtype=np.float64)
        return scores if metric.higher_is_better else -scores


def _read_by(metric: Metric, item: Item) -> Item:
    """The item with only the texts that a metric reads."""
    return item.only(metric.reads, metric.reads_further)


def _member(entry: Any, row: int, seed: int) -> tuple[str, Metric]:
    """The name and the metric that an entry of `metrics` represents."""
    where = f"{KEY}.metrics[{row}]"
    if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[1], Metric):
        return entry
    if isinstance(entry, str):
        entry = {entry: {}}
    if isinstance(entry, Mapping) and len(entry) == 1:
        ((option, settings),) = entry.items()
        if isinstance(settings, Mapping):
            node = dict(settings)
            if "_target_" not in settings:
                node = {**load_option("metric", str(option), seed), **settings}
            name = settings.get("name", option)
            return str(name), build(node, Metric, where)
    raise ConfigError(f"{where}: expected the name of an option, or {{NAME: {{key: value}}}}, got {entry!r}.")


LEAST_SUM = 1e-9  # of the sum of absolute weights: a sum below is rounding


def one_vs_rest(columns: Floats, names: Sequence[str]) -> tuple[Floats, list[str]]:
    """float64[k] weights by agreement of float64[n, k] scores, and a sentence for each correction.

    Each column counts by its correlation with all the others: w_i = sum over j != i of Pearson's r of columns i and j
    (DATScore, eq. 3). The paper does not define the scale of the weights; this function divides by their sum. If that
    is not above 0 (dividing by it would reverse the ranking) they are divided by the sum of their absolute values
    instead. Correlations below 0 stay as they are. Rows with a NaN are left out. A constant column has weight 0 and is
    left out of the others' sums. One column has weight 1.
    Raises ConfigError with fewer than 3 rows, or if no weight differs from 0.
    """
    used = columns[np.isfinite(columns).all(axis=1)]
    n_segments = len(used)
    count = columns.shape[1]
    if count == 1:
        return np.ones(1), []
    if n_segments < FEWEST:
        raise ConfigError(
            f"weights=one_vs_rest needs correlations over at least {FEWEST} segments with all scores, and there are "
            f"{n_segments}: evaluate more segments, or write weights=equal."
        )
    # NaN on the diagonal and of a constant column, which `nansum` leaves out.
    correlations = np.full((count, count), np.nan)
    for row, column in itertools.combinations(range(count), 2):
        correlation = correlate("pearson", used[:, row], used[:, column])
        correlations[row, column] = correlation
        correlations[column, row] = correlation
    weights = np.nansum(correlations, axis=1)
    total = float(weights.sum())
    size = float(np.abs(weights).sum())
    if not size > 0:
        raise ConfigError(
            f"weights=one_vs_rest: the scores {', '.join(names)} do not correlate with each other at all, so that no "
            "weight differs from 0; write weights=equal."
        )
    notes = []
    constant = []
    negative = []
    for part, name in enumerate(names):
        if not np.ptp(used[:, part]) > 0:
            constant.append(name)
        if weights[part] < 0:
            negative.append(f"{name} ({weights[part]:.3f})")
    if constant:
        constants = ", ".join(constant)
        notes.append(f"{constants}: the same score for all {n_segments} segments, so no correlation: weight 0")
    if negative:
        notes.append(f"correlate negatively with the rest, and count so: {', '.join(negative)}")
    if total > LEAST_SUM * size:
        return weights / total, notes
    notes.append(
        f"the weights sum to {total:.3f}; dividing by that would reverse the ranking, so they are divided by the sum "
        "of their absolute values"
    )
    return weights / size, notes


def weighted_sums(columns: Floats, weights: Floats) -> Floats:
    """float64[n] sums of weight x score of float64[n, k] columns; columns of weight 0 are ignored, even NaN."""
    used = weights != 0
    nothing = np.zeros(len(columns))
    return weighted_sum(nothing, 0.0, columns[:, used], weights[used].tolist())
