"""The last move of a plan: how many texts each candidate needs, and what the store lacks of them, for every seed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from bmx_grid.attribution.explain import count_texts, explanation_identity, item_key, word_counts
from bmx_grid.attribution.store import slot_of
from bmx_grid.core.errors import ExplainError
from bmx_grid.core.wording import counted
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.sweep.combine import Candidate, Fallen, each
from bmx_grid.sweep.read import Read
from bmx_grid.sweep.settings import ALONE, PlanOptions, Setting
from bmx_grid.words.perturbation import Item


@dataclass(frozen=True, eq=False)
class Texts:
    """What is read of N segments: the items, their keys in the store, and how many words each of their texts has.

    sizes: of N items; none where nothing is explained.
    """

    items: tuple[Item, ...]
    keys: tuple[str, ...]
    sizes: tuple[tuple[int, ...], ...] = ()


def prepare(
    candidates: Sequence[Candidate | Fallen], read: Read, options: PlanOptions
) -> tuple[list[Setting], list[Fallen]]:
    """The settings of the candidates, one for each seed where the explainer is random; and all that has fallen.

    A candidate of whose segments none can be explained falls; for some of them, there is a warning. These keep the
    metric's score, and take no part where attributions are needed.
    """
    known: dict[tuple[object, ...], Texts] = {}  # metrics that read the same share what is read
    settings: list[Setting] = []
    fallen: list[Fallen] = []
    for prepared in each(partial(_settings_of, known=known, read=read, options=options), candidates):
        if isinstance(prepared, Fallen):
            fallen.append(prepared)
        else:
            settings += prepared
    return settings, fallen


def _settings_of(
    candidate: Candidate, known: dict[tuple[object, ...], Texts], read: Read, options: PlanOptions
) -> list[Setting]:
    """The settings of a candidate. known: the texts of candidates that read the same.

    Raises ExplainError where the metric refuses a text, and where no segment can be explained; StoreError.
    """
    texts = _texts_of(candidate, known)
    n_texts, refused = _n_texts(candidate, texts)
    refused |= candidate.filling.refused
    if len(refused) == len(candidate.segments) > 0:
        raise ExplainError(_refusals(candidate.segments, refused))
    if refused:
        warnings.warn(f"{candidate.label}: not explained: {_refusals(candidate.segments, refused)}", stacklevel=2)
    is_random = candidate.explainer is not None and candidate.explainer.stochastic
    further = options.seeds if is_random else ()
    seeds = dict.fromkeys((options.seed, *further))
    clusters = read.clusters[candidate.pair]
    return [_setting(candidate, texts, n_texts, clusters, seed, options) for seed in seeds]


def _texts_of(candidate: Candidate, known: dict[tuple[object, ...], Texts]) -> Texts:
    """What the metric reads of the segments, made once for all metrics that read the same."""
    metric = candidate.metric
    key = (*candidate.pair, metric.reads, metric.reads_all_references)
    if key not in known:
        items = candidate.segments.items(metric.reads, all_references=metric.reads_all_references)
        known[key] = Texts(items, tuple(map(item_key, items)))
    texts = known[key]
    if candidate.to_ask is not None and not texts.sizes:
        # Words are counted for the first candidate that is explained: a metric alone needs none.
        sizes = tuple(word_counts(item, candidate.words) for item in texts.items)
        texts = known[key] = Texts(texts.items, texts.keys, sizes)
    return texts


def _n_texts(candidate: Candidate, texts: Texts) -> tuple[tuple[int, ...], dict[int, str]]:
    """How many texts each item needs, and why the explainer refuses some. Raises ExplainError where the metric does."""
    counts: list[int] = []
    refused: dict[int, str] = {}
    for position, item in enumerate(texts.items):
        try:
            sizes = None if candidate.to_ask is None else texts.sizes[position]
            counts.append(count_texts(candidate.metric, candidate.to_ask, item, words=candidate.words, sizes=sizes))
        except ExplainError as error:
            if candidate.to_ask is None:  # the metric itself refuses: there is no score either
                raise
            counts.append(1)  # its own text, for the metric's score
            refused[position] = str(error)
    return tuple(counts), refused


def _refusals(segments: SegmentSet, refused: Mapping[int, str]) -> str:
    """The first segment that cannot be explained, why, and how many there are."""
    position, reason = next(iter(refused.items()))
    sentence = f"segment '{segments.segments[position].id}': {reason}"
    if len(refused) == 1:
        return sentence
    others = counted(len(refused) - 1, "more segment")
    return f"{sentence} ({others} likewise)"


def _setting(
    candidate: Candidate,
    texts: Texts,
    n_texts: tuple[int, ...],
    clusters: Sequence[str],
    seed: int,
    options: PlanOptions,
) -> Setting:
    """The setting of a candidate and a seed, with what the store lacks of it. Raises StoreError."""
    explainer = candidate.to_ask
    # Where nothing is asked of an explainer the metric's scores alone are kept, as those of the metric alone.
    kept_name = ALONE if explainer is None else candidate.explainer_name
    identity = explanation_identity(candidate.metric, explainer, seed, candidate.words)
    reads = candidate.metric.reads
    explained = () if explainer is None else explainer.roles(reads)
    names = (candidate.metric_name, kept_name)
    slot = candidate.filling.of(slot_of(options.cache_dir, names, identity, candidate.pair, reads, explained))
    return Setting(
        segments=candidate.segments,
        metric_name=candidate.metric_name,
        explainer_name=candidate.explainer_name,
        metric=candidate.metric,
        explainer=candidate.explainer,
        items=texts.items,
        keys=texts.keys,
        words=candidate.words,
        clusters=clusters,
        seed=seed,
        repeated_with=None if seed == options.seed else seed,
        slot=slot,
        missing=tuple(slot.missing(texts.keys)),
        n_texts_of_all=n_texts,
    )
