"""The slots of many settings in one cache: what all settings of a metric and an explainer share is found once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from bmx_grid.attribution.explain import explanation_identity
from bmx_grid.attribution.store import Slot, folder_name
from bmx_grid.explainers.base import Explainer
from bmx_grid.identity import canonical_json
from bmx_grid.metrics.base import Metric
from bmx_grid.storage.addresses import Place, names_in
from bmx_grid.words.perturbation import Role
from bmx_grid.words.segmentation import PairWords


class Places:
    """Slots below one cache folder. Identities are made, and folders listed, once for each metric and explainer."""

    def __init__(self, cache_dir: Place) -> None:
        self._root = cache_dir / "attributions"
        self._folders: dict[Hashable, tuple[Place, str, Any]] = {}
        self._listed: dict[Place, frozenset[str]] = {}

    def slot(
        self,
        metric: Metric,
        kept: tuple[str, str, Explainer | None],
        words: PairWords,
        where: tuple[str, str, tuple[Role, ...]],
        seed: int,
    ) -> Slot:
        """The place of a setting's explanations with a seed.

        kept: names of metric and explainer, and the explainer. where: data set, language pair and the roles that are
        read.
        """
        *names, explainer = kept
        asked = (*names, id(metric), id(explainer), words, seed)
        if asked not in self._folders:
            identity = explanation_identity(metric, explainer, seed, words)
            folder = self._root / folder_name((names[0], names[1]), identity)
            # the parts are kept with it, so that no other one gets their id
            self._folders[asked] = folder, canonical_json(identity), (metric, explainer)
        folder, known, _ = self._folders[asked]
        dataset, language_pair, reads = where
        return Slot(folder / f"{dataset}.{language_pair}.parquet", known, reads, explainer is not None)

    def missing(self, slot: Slot, keys: Sequence[str], distinct: tuple[int, ...]) -> tuple[int, ...]:
        """`Slot.missing`; distinct: the positions of the distinct keys, which all are where nothing is kept yet.

        Raises StoreError.
        """
        return tuple(slot.missing(keys)) if self._has(slot) else distinct

    def _has(self, slot: Slot) -> bool:
        folder = slot.path.parent
        if folder not in self._listed:
            self._listed[folder] = names_in(folder)
        return not self._listed[folder].isdisjoint((slot.path.name, slot.parts.name))


def distinct(keys: Sequence[str]) -> tuple[int, ...]:
    """The positions where each of the keys stands first."""
    first: Mapping[str, int] = {key: row for row, key in zip(range(len(keys) - 1, -1, -1), reversed(keys), strict=True)}
    return tuple(sorted(first.values()))
