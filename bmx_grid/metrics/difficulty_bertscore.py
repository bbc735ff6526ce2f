"""Difficulty-aware BERTScore (Zhan, Liu, Wong and Chao, 2021): tokens that systems fail to translate weigh more."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bmx_grid.datasets.best_systems import how_many
from bmx_grid.errors import ConfigError
from bmx_grid.identity import identity, runtime
from bmx_grid.metrics._difficulty import (
    Fit,
    Places,
    Repeated,
    SystemOutputs,
    align,
    at_hypothesis,
    outputs_of,
    type_weights,
)
from bmx_grid.metrics._matching import Match, Pair, matches_of
from bmx_grid.metrics.base import Floats, GroundTruth, pairs_of
from bmx_grid.metrics.bertscore import BertScore
from bmx_grid.words.perturbation import Item

if TYPE_CHECKING:
    from bmx_grid.segments import SegmentSet

MANY = 10_000  # systems, of which any share that is not 0 % is more than one
_OWN = 4  # columns of statistics before those of further fits


@dataclass(frozen=True, kw_only=True)
class DifficultyBertScore(BertScore):
    """BERTScore whose tokens are weighted by how difficult they are for a set of systems (equations 1 to 5).

    The difficulty of a reference token is 1 less the mean, over the systems, of its best cosine with a token of the
    system's output. Recall is the mean over reference tokens of difficulty times best cosine; precision the mean over
    hypothesis tokens, which have the weight of the same token in the reference, or 1 where it is not there. Both are
    divided by the number of tokens, not by the sum of weights. The score is their F, 0 where either is not above 0.

    systems: whose outputs it is fitted on: "all" of the set, "top:6" or "top:30%" by human score, or names. Outputs of
        other systems are scored with the same weights.
    specials: whether the begin and the end of a text may be the best match of a token of the other text ("matchable",
        as in the authors' code) or not ("excluded"). They are not scored themselves, and have no weight.
    repeated: the weight of a token that stands several times in a reference, as a hypothesis looks it up: averaged
        pair by pair from the first on ("running", as in the authors' code; from three on it depends on their order),
        or the mean. Recall has the weight of each place.
    baseline: cosines c count as (c - baseline) / (1 - baseline), the authors' rescaling; 0 for cosines as they are.
    best: whether its statistics also hold precision and recall fitted on the best 2, 3, … of the systems by human
        score, for the evaluation `top_systems`. The score does not depend on it.

    A text without tokens has cosine 0 with any other: precision and recall are 0, and to fit on it makes all tokens
    more difficult. A reference that differs from those fitted on (explainers perturb it) belongs to the segment with
    the same hypothesis, or with most words in common (`_system_outputs.Places`); its tokens keep the weights of those
    they are aligned with, other tokens have the weight of the same token in that reference, or 1.
    Where a reference has no weight above rounding (1e-6; all systems said the same as the reference), recall and score
    are 0, and counted in the fourth statistic. Not fitted, all weights are 1, with a warning.
    """

    ground_truth: GroundTruth = identity("reference")
    systems: str | tuple[str, ...] = identity("all")
    specials: Literal["matchable", "excluded"] = identity("matchable")
    repeated: Repeated = identity("running")
    baseline: float = identity(0.0)
    best: bool = identity(False)
    outputs: SystemOutputs | None = runtime(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ground_truth != "reference":
            raise ConfigError(f"ground_truth={self.ground_truth}: it weighs tokens of references; leave it out.")
        if not self.baseline < 1:
            raise ConfigError(f"baseline={self.baseline}: must be below 1, the cosine of equal tokens.")
        if not isinstance(self.systems, str):
            object.__setattr__(self, "systems", tuple(self.systems))
        elif how_many(self.systems, MANY, "systems") < 2:  # refused once, not for each language pair
            raise ConfigError(f"systems={self.systems}: difficulty is what several systems have; write top:2 at least.")

    @property
    def signature(self) -> str:
        on = "nothing" if self.outputs is None else self.outputs.signature
        alone = dataclasses.replace(self, outputs=None)
        return f"{super(DifficultyBertScore, alone).signature}|fitted_on:{on}"

    def fingerprint(self) -> dict[str, Any]:
        """Settings and model, and what it was fitted on."""
        found = super().fingerprint()
        return found if self.outputs is None else {**found, "fitted_on": self.outputs.fingerprint()}

    def fitted(self, segments: SegmentSet) -> DifficultyBertScore:
        """This metric with the outputs that it is fitted on; the weights are computed when they are first needed.

        Raises ConfigError for unknown systems, fewer than two, or where the best are not known.
        """
        return dataclasses.replace(self, outputs=outputs_of(segments, self.systems, ranked=self.best))

    def score(self, items: Sequence[Item]) -> Floats:
        return self.combine(self._precisions_and_recalls(items, further=False))

    def statistics(self, items: Sequence[Item]) -> Floats:
        """float64[n, 4 + 2 S']: precision, recall, a 1, whether all weights of the reference are 0.

        With `best` then precision and recall as fitted on the best 2, 3, …, S of S systems (`columns_of_best`).
        """
        return self._precisions_and_recalls(items, further=self.best)

    def combine(self, sums: Floats) -> Floats:
        """The F of mean precision and mean recall, as the authors score a system; NaN without segments.

        The mean of segment scores, as BERTScore scores a system, is the column `mean` of systems.parquet.
        """
        return f_of_means(sums[..., 0], sums[..., 1], sums[..., 2])

    def columns_of_best(self) -> Mapping[int, tuple[int, int]]:
        """By number of best systems fitted on: which statistics are precision and recall; empty without `best`."""
        if self.outputs is None or not self.best:
            return {}
        sizes = range(2, len(self.outputs.systems) + 1)
        return {size: (_OWN + 2 * at, _OWN + 2 * at + 1) for at, size in enumerate(sizes)}

    def statistics_of(self, statistics: Floats, precision: int, recall: int) -> Floats:
        """float64[n, 4] statistics under the fit of two columns of float64[n, k]; weights of 0 not counted."""
        ones = np.ones(len(statistics))
        return np.column_stack([statistics[:, precision], statistics[:, recall], ones, 0 * ones])

    def difficulty(self, references: Sequence[str]) -> list[tuple[list[str], Floats]]:
        """Tokens of each reference and their difficulties float64[F, tokens]: fitted, then with `best` on the best.

        Raises ConfigError for a reference that it was not fitted on.
        """
        prepared = _prepared(self)
        if prepared is None:
            raise ConfigError("difficulty-aware BERTScore has not been fitted, so that nothing is known of difficulty.")
        strange = [one for one in references if not prepared.places.knows(one)]
        if strange:
            raise ConfigError(f"difficulty-aware BERTScore was not fitted on the reference {strange[0][:80]!r}.")
        where = [prepared.places.of(reference, "") for reference in references]
        known = self._matched([pair for rows in where for row in rows for pair in prepared.pairs(row)])
        found = []
        for rows in where:
            fits = [prepared.fit(row, known) for row in rows]
            tokens = self._loaded().tokenizer.convert_ids_to_tokens(fits[0].tokens.tolist())
            found.append((list(tokens), np.mean([fit.weights for fit in fits], axis=0)))
        return found

    def _matched(self, pairs: Sequence[Pair], passing: Sequence[Pair] = ()) -> Mapping[Pair, Match]:
        """Matches of all pairs; those of `pairs` are kept, as further items need them."""
        matchable = self.specials == "matchable"
        return matches_of(self._loaded(), pairs, passing, self.max_length, self.batch_tokens, match_specials=matchable)

    def _precisions_and_recalls(self, items: Sequence[Item], *, further: bool) -> Floats:
        """float64[n, 4 + 2 S'], as `statistics`; without the further fits if they are not asked for."""
        prepared = _prepared(self)
        if prepared is None and items:
            warnings.warn(
                f"{type(self).__name__} is not fitted on system outputs: every token weighs 1, as in BERTScore. In a "
                "sweep it is fitted on the systems of the data set.",
                stacklevel=3,
            )
        pairs = pairs_of(items, self.ground_truth)
        where = [() if prepared is None else prepared.places.of(*pair) for pair in pairs]
        needed = {pair: None for rows in where for row in rows for pair in (prepared.pairs(row) if prepared else ())}
        again = [pair for pair in pairs if prepared is not None and prepared.places.holds(pair)]
        known = self._matched([*needed, *again], pairs) if items else {}
        fits = 1 if prepared is None or not further else 1 + len(self.columns_of_best())
        found = np.empty((len(items), _OWN + 2 * (fits - 1)))
        for at, (pair, rows) in enumerate(zip(pairs, where, strict=True)):
            match = known[pair]
            of_type: Mapping[int, Floats]
            if prepared is None or not rows:
                weights = np.ones((1, len(match.truth)))
                of_type = type_weights(match.truth_tokens, weights, self.repeated)
            else:
                fit = prepared.fit_of(rows, known)
                aligned = pair[0] == prepared.places.references[rows[0]]
                weights = fit.weights if aligned else align(fit, match.truth_tokens)
                of_type = fit.of_type if aligned else type_weights(match.truth_tokens, weights, self.repeated)
            weights = weights[:fits]
            scale = 1 - self.baseline
            truth, hypothesis = ((best - self.baseline) / scale for best in (match.truth, match.hypothesis))
            recall = _mean(weights * truth)
            precision = _mean(at_hypothesis(of_type, match.hypothesis_tokens, len(weights)) * hypothesis)
            found[at, :_OWN] = precision[0], recall[0], 1.0, len(match.truth) > 0 and not weights[0].any()
            found[at, _OWN::2], found[at, _OWN + 1 :: 2] = precision[1:], recall[1:]
        return found


def f_of_means(precisions: Floats, recalls: Floats, counts: Floats) -> Floats:
    """F of mean precision and mean recall from their sums over `counts` segments; NaN without segments.

    0 where either mean is not above 0: there is no harmonic mean of numbers that are not positive.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        precision, recall = precisions / counts, recalls / counts
        found = np.where((precision > 0) & (recall > 0), 2 * precision * recall / (precision + recall), 0.0)
    return np.asarray(np.where(counts > 0, found, np.nan), dtype=np.float64)


def _mean(values: Floats) -> Floats:
    """float64[F] means of rows; 0 of none."""
    return np.asarray(values.sum(axis=1) / max(values.shape[1], 1))


class _Prepared:
    """What is known of the segments that a metric is fitted on, kept between calls."""

    def __init__(self, metric: DifficultyBertScore, outputs: SystemOutputs) -> None:
        self.metric, self.outputs, self.places = metric, outputs, Places(outputs)
        self._fits: dict[tuple[int, ...], Fit] = {}

    def pairs(self, row: int) -> list[Pair]:
        """The pairs that the weights of a segment are made of; none once they are known."""
        if (row,) in self._fits:
            return []
        reference = self.outputs.references[row]
        return [(reference, output) for output in self.outputs.outputs[row] if output is not None]

    def fit(self, row: int, known: Mapping[Pair, Match]) -> Fit:
        """The weights of one segment. known: the matches of its `pairs`."""
        if (row,) not in self._fits:
            self._fits[row,] = self._fit(row, known)
        return self._fits[row,]

    def fit_of(self, rows: tuple[int, ...], known: Mapping[Pair, Match]) -> Fit:
        """The mean weights of segments with the same reference: precision and recall are linear in them."""
        if len(rows) == 1:
            return self.fit(rows[0], known)
        if rows not in self._fits:
            fits = [self.fit(row, known) for row in rows]
            weights = np.mean([fit.weights for fit in fits], axis=0)
            self._fits[rows] = Fit.of(fits[0].tokens, weights, self.metric.repeated)
        return self._fits[rows]

    def _fit(self, row: int, known: Mapping[Pair, Match]) -> Fit:
        reference = self.outputs.references[row]
        of_system = [None if output is None else known[reference, output] for output in self.outputs.outputs[row]]
        tokens = next(match.truth_tokens for match in of_system if match is not None)
        chosen: list[Sequence[int]] = [range(len(of_system))]
        best = self.outputs.best_first
        chosen += [sorted(best[:size]) for size in self.metric.columns_of_best()]
        similar = [[match.truth for at in some if (match := of_system[at]) is not None] for some in chosen]
        return Fit.fitted(tokens, similar, self.metric.baseline, self.metric.repeated)


@lru_cache(maxsize=4)
def _prepared_of(metric: DifficultyBertScore, outputs: SystemOutputs) -> _Prepared:
    return _Prepared(metric, outputs)


def _prepared(metric: DifficultyBertScore) -> _Prepared | None:
    return None if metric.outputs is None else _prepared_of(metric, metric.outputs)
