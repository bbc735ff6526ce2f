"""The last move of a plan: what the store holds of each setting, for every seed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bmx_grid.attribution.explain import explanation_identity
from bmx_grid.attribution.store import slot_of
from bmx_grid.sweep.combine import Fallen, tried
from bmx_grid.sweep.count import Texted
from bmx_grid.sweep.read import Read
from bmx_grid.sweep.settings import ALONE, PlanOptions, Setting


def look_up(candidates: Sequence[Texted | Fallen], read: Read, options: PlanOptions) -> list[Setting | Fallen]:
    """The setting of each candidate, and one for each further seed where the explainer is random."""
    seeds = tuple(dict.fromkeys((options.seed, *options.seeds)))
    found: list[Setting | Fallen] = []
    for counted in candidates:
        if isinstance(counted, Fallen):
            found.append(counted)
            continue
        one = counted.candidate
        is_random = one.explainer is not None and one.explainer.stochastic
        for seed in seeds if is_random else seeds[:1]:
            step = partial(_setting, counted, read.clusters[one.pair], seed, options)
            names = (one.metric_name, one.explainer_name)
            found.append(tried(step, one.segments, *names, absent="no explanations"))
    return found


def _setting(counted: Texted, clusters: Sequence[str], seed: int, options: PlanOptions) -> Setting:
    """One setting, with what the store lacks of it. Raises StoreError."""
    one = counted.candidate
    texts = counted.texts
    # Where nothing is asked of an explainer the metric's scores alone are kept, as those of the metric alone.
    kept_name = ALONE if one.to_ask is None else one.explainer_name
    identity = explanation_identity(one.metric, one.to_ask, seed, one.words)
    reads = one.metric.reads
    explained = () if one.to_ask is None else one.to_ask.roles(reads)
    stored = slot_of(options.cache_dir, (one.metric_name, kept_name), identity, one.pair, reads, explained)
    slot = one.filling.of(stored)
    return Setting(
        segments=one.segments,
        metric_name=one.metric_name,
        explainer_name=one.explainer_name,
        metric=one.metric,
        explainer=one.explainer,
        items=texts.items,
        keys=texts.keys,
        words=one.words,
        clusters=clusters,
        seed=seed,
        repeated_with=None if seed == options.seed else seed,
        slot=slot,
        missing=tuple(slot.missing(texts.keys)),
        n_texts_of_all=counted.n_texts,
    )
