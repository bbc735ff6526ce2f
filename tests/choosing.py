"""An evaluation that chooses boosts, for tests of the recipes that a sweep writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bmx_grid.boosts.base import Boost, Part
from bmx_grid.boosts.recipe import ChosenOn, HeldOut
from bmx_grid.core.configure import build, load_option
from bmx_grid.core.identity import identity
from bmx_grid.evaluations.base import OF_SETS, Evaluation, Finished


@dataclass(frozen=True)
class Row:
    n: int


@dataclass(frozen=True)
class Found:
    """chosen: in the first setting of a metric and an explainer."""

    chosen: tuple[dict[str, Any], ...] = ()
    choosing: tuple[Row, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Choosing(Evaluation):
    """Fits boosts on all segments of a metric and an explainer. gain, verdict: what it claims."""

    ROWS: ClassVar[Mapping[str, type]] = {"choosing": Row}
    SCOPE: ClassVar[tuple[str, ...]] = OF_SETS

    boosts: tuple[str, ...] = identity(("share_negative",))
    gain: float = identity(0.03)
    verdict: str = identity("helps")

    def of_scope(self, settings: Sequence[Finished]) -> list[Found]:
        chosen = filter(None, (self._chosen(name, settings) for name in self.boosts))
        return [Found(tuple(chosen)), *(Found() for _ in settings[1:])]

    def _chosen(self, name: str, settings: Sequence[Finished]) -> dict[str, Any] | None:
        boost = build(load_option("boost", name), Boost, name)
        parts, on = [], []
        for one in settings:
            base, human = one.scores.base_scores, one.segments.human_scores
            features = boost.features(one.scores.ground_truth, one.scores.hypothesis)
            used = np.isfinite(human) & np.isfinite(features).all(axis=1)
            _, clusters = np.unique(np.array(one.clusters)[used], return_inverse=True)
            parts.append(Part(base[used], features[used], human[used], clusters))
            on.append(ChosenOn(*one.names[:2], int(used.sum()), len(set(clusters)), one.segments.judgements.primary))
        how = "nowhere: this is a test"
        gain = HeldOut.of(self.gain, self.gain - 0.01, self.gain + 0.01, how)
        fitted = boost.fit("pearson", parts)
        if fitted.abstains:
            return None
        return {
            "boost_name": name,
            "boost": boost,
            "constants": fitted.constants(),
            "chosen_on": tuple(on),
            "gain": gain,
            "beyond": HeldOut(None, None, None, how),
            "verdict": self.verdict,
        }
