"""Difficulty-aware BERTScore (Zhan, Liu, Wong and Chao, 2021): tokens that systems fail to translate weigh more."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import identity, runtime
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.core.wording import counted
from bmx_grid.guests.difficulty.system_outputs import SystemOutputs, outputs_of
from bmx_grid.metrics.base import GroundTruth, pairs_of
from bmx_grid.metrics.encoders import (
    BertScore,
    Pair,
    TokenVectors,
    bert_score_tokens,
    best_matches,
    for_token_pairs,
    special_ids,
)
from bmx_grid.words.perturbation import Item, split_words

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet

COSINE_ROUNDING = 1e-6  # of cosines of float32 vectors: a mean cosine this near to 1 is 1, a difficulty below it 0
Repeated = Literal["running", "mean"]
_OWN = 4  # columns of statistics before those of further fits


# Of a pair of texts, special tokens left out: float64[L] the best cosine of each token of the ground truth, 0 where the
# hypothesis has no token, and float64[M] the reverse; int64[L] and int64[M] tokens
Match = tuple[Floats, Floats, Ints, Ints]


def matches_of(metric: DifficultyBertScore, pairs: Sequence[Pair]) -> dict[Pair, Match]:
    """The matches of distinct pairs."""
    made: dict[Pair, Match] = {}
    loaded = metric._loaded()
    special = special_ids(loaded)
    match_specials = metric.specials == "matchable"

    def take(batch: Ints, truth: TokenVectors, hypothesis: TokenVectors) -> None:
        best = best_matches(truth, hypothesis, special, match_specials=match_specials)
        cosines, counted_tokens = ([side[part].cpu().numpy() for side in best] for part in (0, 1))
        ids = [side[2].cpu().numpy() for side in (truth, hypothesis)]
        for row, number in enumerate(batch.tolist()):
            used = [counts[row] for counts in counted_tokens]
            values = [side[row, keep].astype(np.float64) for side, keep in zip(cosines, used, strict=True)]
            tokens = [side[row, keep] for side, keep in zip(ids, used, strict=True)]
            if not all(map(len, tokens)):
                values = [np.zeros(len(side)) for side in tokens]
            made[pairs[number]] = (values[0], values[1], tokens[0], tokens[1])

    tokens = functools.partial(bert_score_tokens, loaded, max_length=metric.max_length)
    for_token_pairs(loaded, pairs, tokens, take, metric.batch_tokens)
    return made


@dataclass(frozen=True, eq=False)
class TokenWeights:
    """The weights of a reference of L tokens under F fits.

    tokens: int64[L]. weights: float64[F, L] of each place. repeated: how a token of several places is weighted.
    """

    tokens: Ints
    weights: Floats
    repeated: Repeated

    @functools.cached_property
    def of_type(self) -> dict[int, Floats]:
        """float64[F] by token, as a hypothesis looks it up.

        "running": the mean of what there is and the next place, from the first on; "mean": of all places.
        """
        weights: dict[int, Floats] = {}
        for token in dict.fromkeys(self.tokens.tolist()):
            places = self.weights[:, self.tokens == token].T
            if self.repeated == "mean":
                weights[token] = places.mean(axis=0)
            else:
                weights[token] = functools.reduce(lambda value, place: (value + place) / 2, places)
        return weights

    def at(self, tokens: Ints) -> Floats:
        """float64[F, M] weights of other tokens: those of the same token in the reference, else 1."""
        weights = np.ones((len(self.weights), len(tokens)))
        for place, token in enumerate(tokens.tolist()):
            weights[:, place] = self.of_type.get(token, 1.0)
        return weights

    def aligned(self, tokens: Ints) -> TokenWeights:
        """The weights of a perturbed reference.

        Tokens that the reference still has in its order keep the weight of their place; others have the weight of the
        same token in the reference, or 1.
        """
        if np.array_equal(tokens, self.tokens):
            return self
        weights = self.at(tokens)
        blocks = SequenceMatcher(None, self.tokens.tolist(), tokens.tolist(), autojunk=False).get_matching_blocks()
        for ours, theirs, size in blocks:
            weights[:, theirs : theirs + size] = self.weights[:, ours : ours + size]
        return TokenWeights(tokens, weights, self.repeated)


@dataclass(frozen=True, kw_only=True)
class DifficultyBertScore(BertScore):
    """BERTScore whose tokens are weighted by how difficult they are for a set of systems (equations 1 to 5).

    The difficulty of a reference token is 1 less the mean, over the systems, of its best cosine with a token of the
    system's output. Recall is the mean over reference tokens of difficulty times best cosine; precision the mean over
    hypothesis tokens, which have the weight of the same token in the reference, or 1 where it is not there. Both are
    divided by the number of tokens, not by the sum of weights. The score is their F, 0 where either is not above 0.

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
    the same hypothesis, or with most words in common (`_Prepared`); its tokens keep the weights of those
    they are aligned with, other tokens have the weight of the same token in that reference, or 1.
    Where a reference has no weight above rounding (1e-6; all systems said the same as the reference), recall and score
    are 0, and counted in the fourth statistic. Not fitted, all weights are 1, with a warning.
    """

    GONE: ClassVar[Mapping[str, Any]] = {"systems": "all"}

    ground_truth: GroundTruth = identity("reference")
    specials: Literal["matchable", "excluded"] = identity("matchable")
    repeated: Repeated = identity("running")
    baseline: float = identity(0.0, below=1)  # below the cosine of equal tokens
    best: bool = identity(False)
    outputs: SystemOutputs | None = runtime(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ground_truth != "reference":
            raise ConfigError(f"ground_truth={self.ground_truth}: it weighs tokens of references; leave it out.")

    @property
    def signature(self) -> str:
        on = "nothing"
        alone = dataclasses.replace(self, outputs=None)
        if self.outputs is not None:
            names = self.outputs.systems
            segments = counted(len(self.outputs.references), "segment")
            on = f"{len(names)} systems ({'+'.join(names)}) on {segments}, {self.outputs.digest}"
        return f"{super(DifficultyBertScore, alone).signature}|fitted_on:{on}"

    def fingerprint(self) -> dict[str, Any]:
        """Settings and model, and what it was fitted on."""
        if self.outputs is None:
            return super().fingerprint()
        systems = list(self.outputs.systems)
        segments = len(self.outputs.references)
        fitted_on = {"systems": systems, "segments": segments, "digest": self.outputs.digest}
        return super().fingerprint() | {"fitted_on": fitted_on}

    def fitted(self, segments: SegmentSet) -> DifficultyBertScore:
        """This metric with the outputs that it is fitted on; the weights are computed when they are first needed.

        Raises ConfigError for fewer than two systems, or where the best are not known.
        """
        return dataclasses.replace(self, outputs=outputs_of(segments, ranked=self.best))

    def score(self, items: Sequence[Item]) -> Floats:
        return self.combine(self.statistics(items))

    def statistics(self, items: Sequence[Item]) -> Floats:
        """float64[n, 4 + 2 S']: precision, recall, a 1, whether all weights of the reference are 0.

        With `best` then precision and recall as fitted on the best 2, 3, …, S of S systems (`columns_of_best`).
        """
        if self.outputs is None and items:
            warnings.warn(
                f"{type(self).__name__} is not fitted on system outputs: every token weighs 1, as in BERTScore. In a "
                "sweep it is fitted on the systems of the data set.",
                stacklevel=2,
            )
        prepared = _prepared(self)
        pairs = pairs_of(items, self.ground_truth)
        segments = [prepared.rows(*pair) for pair in pairs]
        known = prepared.matches(segments, pairs) if items else {}
        rows_of_statistics = np.empty((len(items), _OWN + 2 * len(self.columns_of_best())))
        for row, (pair, numbers) in enumerate(zip(pairs, segments, strict=True)):
            *cosines, truth_tokens, hypothesis_tokens = known[pair]
            fit = prepared.fit(numbers, truth_tokens, known)
            # Equal tokens have the cosine 1, before and after.
            scale = 1 - self.baseline
            truth, hypothesis = ((side - self.baseline) / scale for side in cosines)
            recall = _mean(fit.weights * truth)
            precision = _mean(fit.at(hypothesis_tokens) * hypothesis)
            rows_of_statistics[row, :_OWN] = precision[0], recall[0], 1.0, len(truth) > 0 and not fit.weights[0].any()
            rows_of_statistics[row, _OWN::2] = precision[1:]
            rows_of_statistics[row, _OWN + 1 :: 2] = recall[1:]
        return rows_of_statistics

    def combine(self, sums: Floats) -> Floats:
        """The F of mean precision and mean recall, as the authors score a system; NaN without segments.

        0 where either mean is not above 0: there is no harmonic mean of numbers that are not positive. The mean of
        segment scores, as BERTScore scores a system, is the column `mean` of systems.parquet.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            precision = sums[..., 0] / sums[..., 2]
            recall = sums[..., 1] / sums[..., 2]
            scores = np.where((precision > 0) & (recall > 0), 2 * precision * recall / (precision + recall), 0.0)
        return np.asarray(np.where(sums[..., 2] > 0, scores, np.nan), dtype=np.float64)

    def columns_of_best(self) -> Mapping[int, tuple[int, int]]:
        """By number of best systems fitted on: which statistics are precision and recall; empty without `best`."""
        if self.outputs is None or not self.best:
            return {}
        return {size: (2 * size, 2 * size + 1) for size in range(2, len(self.outputs.systems) + 1)}

    def statistics_of(self, statistics: Floats, precision: int, recall: int) -> Floats:
        """float64[n, 4] statistics under the fit of two columns of float64[n, k]; weights of 0 not counted."""
        ones = np.ones(len(statistics))
        return np.column_stack([statistics[:, precision], statistics[:, recall], ones, 0 * ones])

    def difficulty(self, references: Sequence[str]) -> list[tuple[list[str], Floats]]:
        """Tokens of each reference and their difficulties float64[F, tokens]: fitted, then with `best` on the best.

        Raises ConfigError for a reference that it was not fitted on.
        """
        if self.outputs is None:
            raise ConfigError("difficulty-aware BERTScore has not been fitted, so that nothing is known of difficulty.")
        prepared = _prepared(self)
        strange = [reference for reference in references if reference not in prepared.of_reference]
        if strange:
            raise ConfigError(f"difficulty-aware BERTScore was not fitted on the reference {strange[0][:80]!r}.")
        segments = [tuple(prepared.of_reference[reference]) for reference in references]
        known = prepared.matches(segments, [])
        names = self._loaded().tokenizer.convert_ids_to_tokens
        fits = [prepared.fitted(rows, known) for rows in segments]
        return [(list(names(fit.tokens.tolist())), fit.weights) for fit in fits]


def _mean(values: Floats) -> Floats:
    """float64[F] means of rows; 0 of none."""
    return np.asarray(values.sum(axis=1) / max(values.shape[1], 1))


class _Prepared:
    """What is known of the segments that a metric is fitted on, kept between calls.

    A pair of texts belongs to the segments with its reference and its hypothesis, else to those with its reference.
    Where the reference is none of theirs, because it was perturbed, the pair belongs to the segments with its
    hypothesis; of several references, or of all where the hypothesis was perturbed as well, to that which shares most
    words with it (the shorter one of two, then the first in alphabetical order). None where no word is shared.
    """

    def __init__(self, metric: DifficultyBertScore) -> None:
        self._metric, self._outputs = metric, metric.outputs or SystemOutputs("")
        self._matches: dict[Pair, Match] = {}
        self._fits: dict[tuple[int, ...], TokenWeights] = {}
        self._by_pair: dict[Pair, list[int]] = defaultdict(list)
        self.of_reference: dict[str, list[int]] = defaultdict(list)
        self._by_output: dict[str, set[str]] = defaultdict(set)
        for row, reference in enumerate(self._outputs.references):
            self.of_reference[reference].append(row)
            for _, output in dict.fromkeys(self._pairs(row)):
                self._by_pair[reference, output].append(row)
                self._by_output[output].add(reference)

    def rows(self, reference: str, hypothesis: str) -> tuple[int, ...]:
        """Positions of the segments of a pair, which have one reference in common; none where nothing is known."""
        if reference not in self.of_reference:
            known = self._by_output.get(hypothesis)
            shared = {other: (_words(reference) & _words(other)).total() for other in known or self.of_reference}
            candidates = [other for other, count in shared.items() if known or count]
            reference = min(candidates, key=lambda other: (-shared[other], len(other), other), default="")
        return tuple(self._by_pair.get((reference, hypothesis)) or self.of_reference.get(reference, []))

    def matches(self, segments: Iterable[Sequence[int]], pairs: Sequence[Pair]) -> dict[Pair, Match]:
        """The matches of pairs, and of those that weights of segments are made of; those of outputs are kept."""
        # Dictionaries in place of sets: the order of what is scored is that of the segments.
        rows = dict.fromkeys(row for numbers in segments for row in numbers if (row,) not in self._fits)
        wanted = dict.fromkeys([*(pair for row in rows for pair in self._pairs(row)), *pairs])
        made = matches_of(self._metric, [pair for pair in wanted if pair not in self._matches])
        self._matches |= {pair: match for pair, match in made.items() if pair in self._by_pair}
        return {pair: made[pair] if pair in made else self._matches[pair] for pair in wanted}

    def _pairs(self, row: int) -> list[Pair]:
        """The pairs that the weights of a segment are made of."""
        reference = self._outputs.references[row]
        outputs = self._outputs.outputs[row]
        return [(reference, text) for text in outputs if text is not None] or [(reference, reference)]

    def fit(self, rows: tuple[int, ...], tokens: Ints, known: Mapping[Pair, Match]) -> TokenWeights:
        """The weights of the tokens of a reference, perturbed perhaps, of these segments; 1 where there are none."""
        if not rows:
            n_fits = 1 + len(self._metric.columns_of_best())
            return TokenWeights(tokens, np.ones((n_fits, len(tokens))), self._metric.repeated)
        return self.fitted(rows, known).aligned(tokens)

    def fitted(self, rows: tuple[int, ...], known: Mapping[Pair, Match]) -> TokenWeights:
        """The weights of a segment, or the mean of those of segments with one reference: the score is linear in them.

        known: the `matches` of these segments.
        """
        if rows not in self._fits:
            if len(rows) > 1:
                fits = [self.fitted((row,), known) for row in rows]
                tokens = fits[0].tokens
                weights = np.mean([fit.weights for fit in fits], axis=0)
            else:
                tokens = known[self._pairs(rows[0])[0]][2]
                weights = self._weights(rows[0], len(tokens), known)
            self._fits[rows] = TokenWeights(tokens, weights, self._metric.repeated)
        return self._fits[rows]

    def _weights(self, row: int, length: int, known: Mapping[Pair, Match]) -> Floats:
        """Equation 2: float64[F, L] of all systems, then of the best ones; 1 without any output."""
        reference = self._outputs.references[row]
        outputs = self._outputs.outputs[row]
        best = self._outputs.best_first
        fits = [range(len(outputs)), *(sorted(best[:size]) for size in self._metric.columns_of_best())]
        weights = np.ones((len(fits), length))
        for number, systems in enumerate(fits):
            texts = [text for system in systems if (text := outputs[system]) is not None]
            if texts:
                difficulty = 1 - np.mean([known[reference, text][0] for text in texts], axis=0)
                kept = np.where(np.abs(difficulty) < COSINE_ROUNDING, 0.0, difficulty)
                weights[number] = kept / (1 - self._metric.baseline)
        return weights


_prepared = functools.lru_cache(maxsize=4)(_Prepared)


@functools.lru_cache(maxsize=2**14)
def _words(text: str) -> Counter[str]:
    return Counter(split_words(text))
