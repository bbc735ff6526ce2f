"""Difficulty-aware BERTScore (Zhan, Liu, Wong and Chao, 2021): tokens that systems fail to translate weigh more."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import digest, identity, runtime
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.core.wording import pluralize
from bmx_grid.guests.difficulty.system_outputs import SystemOutputs, outputs_of
from bmx_grid.guests.difficulty.token_weights import Match, Repeated, TokenWeights, mean_of_rows
from bmx_grid.metrics.base import GroundTruth, text_pairs
from bmx_grid.metrics.encoders import (
    BertScore,
    Pair,
    TokenVectors,
    bert_score_tokens,
    best_matches,
    process_token_pairs,
    special_ids,
)
from bmx_grid.words.perturbation import Item
from bmx_grid.words.segmentation import split_words

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet

COSINE_ROUNDING = 1e-6  # of cosines of float32 vectors: a mean cosine this near to 1 is 1, a difficulty below it 0
_OWN = 4  # columns of statistics before those of further fits


def matches_of(metric: DifficultyBertScore, pairs: Sequence[Pair]) -> dict[Pair, Match]:
    """The matches of distinct pairs."""
    matches: dict[Pair, Match] = {}
    loaded = metric._load_model()
    special = special_ids(loaded)
    match_specials = metric.specials == "matchable"

    def add_matches(batch: Ints, truth: TokenVectors, hypothesis: TokenVectors) -> None:
        """Put the matches of a batch, positions in `pairs`, into `matches`."""
        best = best_matches(truth, hypothesis, special, match_specials=match_specials)
        # Per side, for the whole batch: from the device once, not row by row.
        cosines = [side_cosines.cpu().numpy() for side_cosines, _ in best]
        is_counted = [side_counted.cpu().numpy() for _, side_counted in best]
        ids = [vectors[2].cpu().numpy() for vectors in (truth, hypothesis)]
        for row, number in enumerate(batch.tolist()):
            best_cosines = []
            tokens = []
            for side in range(2):
                counted_places = is_counted[side][row]
                best_cosines.append(cosines[side][row, counted_places].astype(np.float64))
                tokens.append(ids[side][row, counted_places])
            # `best_matches` gives -2, or a match with a special token, if the other text has no token.
            if not all(map(len, tokens)):
                best_cosines = [np.zeros(len(side_tokens)) for side_tokens in tokens]
            pair = pairs[number]
            matches[pair] = Match(*best_cosines, *tokens)

    to_tokens = functools.partial(bert_score_tokens, loaded, max_length=metric.max_length)
    process_token_pairs(loaded, pairs, to_tokens, add_matches, metric.batch_tokens)
    return matches


@dataclass(frozen=True, kw_only=True)
class DifficultyBertScore(BertScore):
    """BERTScore whose tokens are weighted by how difficult they are for a set of systems (equations 1 to 5).

    The difficulty of a reference token is 1 less the mean, over the systems, of its best cosine with a token of the
    system's output. Recall is the mean over reference tokens of difficulty times best cosine; precision the mean over
    hypothesis tokens, which have the weight of the same token in the reference, or 1 if it is missing. Both are divided
    by the number of tokens, not by the sum of weights. The score is their F, 0 where either is not above 0.

    specials: whether the begin and the end of a text may be the best match of a token of the other text ("matchable",
        as in the authors' code) or not ("excluded"). They are not scored themselves, and have no weight.
    repeated: the weight of a token that occurs several times in a reference, as a hypothesis looks it up: averaged
        pair by pair from the first on ("running", as in the authors' code; from three on it depends on their order),
        or the mean. Recall has the weight of each place.
    baseline: cosines c count as (c - baseline) / (1 - baseline), the authors' rescaling; 0 for cosines as they are.
    best: whether its statistics also hold precision and recall fitted on the best 2, 3, … of the systems by human
        score, for the evaluation `top_systems`. The score does not depend on it.

    A text without tokens has cosine 0 with any other: precision and recall are 0, and to fit on it makes all tokens
    more difficult. A reference that differs from those fitted on (explainers perturb it) belongs to the segment with
    the same hypothesis, or with most words in common (`_Prepared`); its tokens keep the weights of those
    they are aligned with, other tokens have the weight of the same token in that reference, or 1.
    If a reference has no weight above rounding (1e-6; all systems equal the reference), recall and score are 0, and
    counted in the fourth statistic. Not fitted, all weights are 1, with a warning.
    """

    REMOVED_FIELDS: ClassVar[Mapping[str, Any]] = {"systems": "all"}

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
        if self.idf:
            raise ConfigError("idf=true: tokens weigh by their difficulty; leave idf out.")

    @property
    def signature(self) -> str:
        fitted_on = "nothing"
        if self.outputs is not None:
            names = self.outputs.systems
            segments = pluralize(len(self.outputs.references), "segment")
            fitted_on = f"{len(names)} systems ({'+'.join(names)}) on {segments}, {self.outputs.digest}"
        # Of the unfitted metric: its fingerprint has the fitted data in full.
        unfitted = dataclasses.replace(self, outputs=None)
        signature = super(DifficultyBertScore, unfitted).signature
        return f"{signature}|fitted_on:{fitted_on}"

    def fingerprint(self) -> dict[str, Any]:
        """Settings, model, and the data it was fitted on."""
        fingerprint = super().fingerprint()
        if self.outputs is not None:
            fingerprint["fitted_on"] = {
                "systems": list(self.outputs.systems),
                "segments": len(self.outputs.references),
                "digest": self.outputs.digest,
            }
        return fingerprint

    def fit(self, segments: SegmentSet) -> DifficultyBertScore:
        """This metric with the outputs that it is fitted on; the weights are computed when they are first needed.

        Raises ConfigError for fewer than two systems, or if the best are not known.
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
        prepared = _prepared(self, digest(self.fingerprint()))
        pairs = text_pairs(items, self.ground_truth)
        segments = [prepared.rows(*pair) for pair in pairs]
        matches: Mapping[Pair, Match] = {}
        if items:
            matches = prepared.matches(segments, pairs)
        n_columns = _OWN + 2 * len(self.columns_of_best())
        statistics = np.empty((len(items), n_columns))
        scale = 1 - self.baseline
        for item, pair in enumerate(pairs):
            match = matches[pair]
            fit = prepared.fit(segments[item], match.truth_tokens, matches)
            # Equal tokens have the cosine 1, before and after.
            truth = (match.truth_cosines - self.baseline) / scale
            hypothesis = (match.hypothesis_cosines - self.baseline) / scale
            recall = mean_of_rows(fit.weights * truth)
            precision = mean_of_rows(fit.look_up(match.hypothesis_tokens) * hypothesis)
            all_are_zero = len(truth) > 0 and not fit.weights[0].any()
            statistics[item, :_OWN] = precision[0], recall[0], 1.0, all_are_zero
            statistics[item, _OWN::2] = precision[1:]
            statistics[item, _OWN + 1 :: 2] = recall[1:]
        return statistics

    def combine(self, sums: Floats) -> Floats:
        """The F of mean precision and mean recall, as the authors score a system; NaN without segments.

        sums: float64[..., k] sums of `statistics` over segments. 0 if either mean is not above 0: the harmonic mean
        needs positive numbers. The mean of segment scores, as BERTScore scores a system, is the column `mean` of
        systems.parquet.
        """
        n_segments = sums[..., 2]
        # Both branches of `where` are computed: if they divide by 0, the other branch is taken.
        with np.errstate(invalid="ignore", divide="ignore"):
            precision = sums[..., 0] / n_segments
            recall = sums[..., 1] / n_segments
            harmonic = 2 * precision * recall / (precision + recall)
        are_positive = (precision > 0) & (recall > 0)
        scores = np.where(are_positive, harmonic, 0.0)
        return np.asarray(np.where(n_segments > 0, scores, np.nan), dtype=np.float64)

    def columns_of_best(self) -> Mapping[int, tuple[int, int]]:
        """The places of precision and recall among the statistics, by number of best systems; empty without `best`."""
        if self.outputs is None or not self.best:
            return {}
        n_systems = len(self.outputs.systems)
        columns = {}
        for size in range(2, n_systems + 1):
            # Those of the best 2 are behind the four of the fit on all: 4 and 5.
            columns[size] = (2 * size, 2 * size + 1)
        return columns

    def statistics_of(self, statistics: Floats, precision: int, recall: int) -> Floats:
        """float64[n, 4] statistics under the fit of two columns of float64[n, k]; weights of 0 not counted."""
        ones = np.ones(len(statistics))
        return np.column_stack([statistics[:, precision], statistics[:, recall], ones, 0 * ones])

    def difficulty(self, references: Sequence[str]) -> list[tuple[list[str], Floats]]:
        """Tokens of each reference, and their difficulties float64[F, tokens] under the F fits.

        The first fit is on all systems; with `best` follow those on the best 2, 3, … (`columns_of_best`). Runs the
        model for references whose weights are not known yet. Raises ConfigError if it was not fitted at all, and for a
        reference that it was not fitted on.
        """
        if self.outputs is None:
            raise ConfigError("difficulty-aware BERTScore is not fitted, so difficulty is unknown; use it in a sweep.")
        prepared = _prepared(self, digest(self.fingerprint()))
        for reference in references:
            # The dictionary has defaults: to look up an unknown reference would add it.
            if reference not in prepared.of_reference:
                raise ConfigError(f"difficulty-aware BERTScore was not fitted on the reference {reference[:80]!r}.")
        segments = [tuple(prepared.of_reference[reference]) for reference in references]
        matches = prepared.matches(segments, [])
        tokenizer = self._load_model().tokenizer
        difficulties = []
        for rows in segments:
            fit = prepared.segment_weights(rows, matches)
            tokens = tokenizer.convert_ids_to_tokens(fit.tokens.tolist())
            difficulties.append((list(tokens), fit.weights))
        return difficulties


class _Prepared:
    """Matches and weights of the segments that a metric is fitted on, kept between calls.

    A pair of texts belongs to the segments with its reference and its hypothesis, else to those with its reference. If
    the reference is not one of theirs, because it was perturbed, the pair belongs to the segments with its hypothesis;
    of several references, or of all if the hypothesis was perturbed, too, to that which shares most words with it (the
    shorter one of two, then the first in alphabetical order). None if no word is shared.

    fingerprint: of the metric, by which this is kept: the model's folder may be overwritten.
    """

    def __init__(self, metric: DifficultyBertScore, fingerprint: str) -> None:
        self._metric = metric
        self._outputs = metric.outputs or SystemOutputs("")
        self._matches: dict[Pair, Match] = {}
        self._fits: dict[tuple[int, ...], TokenWeights] = {}
        self._by_pair: dict[Pair, list[int]] = defaultdict(list)
        self.of_reference: dict[str, list[int]] = defaultdict(list)
        self._by_output: dict[str, set[str]] = defaultdict(set)
        for row, reference in enumerate(self._outputs.references):
            self.of_reference[reference].append(row)
            # Systems may have the same output; the segment counts once for it.
            for pair in dict.fromkeys(self._pairs(row)):
                self._by_pair[pair].append(row)
                self._by_output[pair[1]].add(reference)

    def rows(self, reference: str, hypothesis: str) -> tuple[int, ...]:
        """Positions of the segments of a pair, which have one reference in common; none if nothing is known."""
        if reference not in self.of_reference:
            reference = self._closest_reference(reference, self._by_output.get(hypothesis))
        rows = self._by_pair.get((reference, hypothesis))
        if not rows:
            rows = self.of_reference.get(reference, [])
        return tuple(rows)

    def _closest_reference(self, perturbed: str, references: Collection[str] | None) -> str:
        """The reference that shares most words with a perturbed one; "" if none shares any.

        references: the candidates, those with its hypothesis; None if that was perturbed, too.
        """
        words = _words(perturbed)
        ranked = []
        for reference in references or self.of_reference:
            shared = (words & _words(reference)).total()
            if references or shared:
                ranked.append((-shared, len(reference), reference))
        return min(ranked)[-1] if ranked else ""

    def matches(self, segments: Iterable[Sequence[int]], pairs: Sequence[Pair]) -> dict[Pair, Match]:
        """Match pairs, and the pairs behind the weights of segments; matches of outputs are kept."""
        # Dictionaries in place of sets: texts are scored in the order of the segments.
        wanted: dict[Pair, None] = {}
        for row in dict.fromkeys(itertools.chain.from_iterable(segments)):
            if (row,) not in self._fits:
                wanted |= dict.fromkeys(self._pairs(row))
        wanted |= dict.fromkeys(pairs)
        unknown = [pair for pair in wanted if pair not in self._matches]
        new = matches_of(self._metric, unknown)
        for pair, match in new.items():
            # Pairs with perturbed texts come by the million, and are not kept.
            if pair in self._by_pair:
                self._matches[pair] = match
        return {pair: new[pair] if pair in new else self._matches[pair] for pair in wanted}

    def _pairs(self, row: int) -> list[Pair]:
        """The pairs that the weights of a segment are made of."""
        reference = self._outputs.references[row]
        pairs = [(reference, text) for text in self._outputs.outputs[row] if text is not None]
        # Without any output, the pair of the reference with itself has its tokens.
        return pairs or [(reference, reference)]

    def fit(self, rows: tuple[int, ...], tokens: Ints, matches: Mapping[Pair, Match]) -> TokenWeights:
        """The weights of the tokens of a reference, possibly perturbed, of the segments `rows`; 1 if missing."""
        if not rows:
            n_fits = 1 + len(self._metric.columns_of_best())
            ones = np.ones((n_fits, len(tokens)))
            return TokenWeights(tokens, ones, self._metric.repeated)
        return self.segment_weights(rows, matches).align(tokens)

    def segment_weights(self, rows: tuple[int, ...], matches: Mapping[Pair, Match]) -> TokenWeights:
        """The weights of a segment, or their mean over segments with one reference: the score is linear in the weights.

        matches: of the segments, from `matches`.
        """
        if rows in self._fits:
            return self._fits[rows]
        if len(rows) > 1:
            fits = [self.segment_weights((row,), matches) for row in rows]
            tokens = fits[0].tokens
            weights = np.mean([fit.weights for fit in fits], axis=0)
        else:
            first_pair = self._pairs(rows[0])[0]
            tokens = matches[first_pair].truth_tokens
            weights = self._weights(rows[0], len(tokens), matches)
        fit = TokenWeights(tokens, weights, self._metric.repeated)
        self._fits[rows] = fit
        return fit

    def _weights(self, row: int, length: int, matches: Mapping[Pair, Match]) -> Floats:
        """Equation 2: float64[F, L] of all systems, then of the best ones; 1 without any output."""
        reference = self._outputs.references[row]
        outputs = self._outputs.outputs[row]
        best_first = self._outputs.best_first
        fits: list[Sequence[int]] = [range(len(outputs))]
        for size in self._metric.columns_of_best():
            # Sorted, so that the fit on the best S of S systems adds up in the order of the fit on all.
            fits.append(sorted(best_first[:size]))
        weights = np.ones((len(fits), length))
        for number, systems in enumerate(fits):
            cosines = []
            for system in systems:
                text = outputs[system]
                if text is not None:
                    cosines.append(matches[reference, text].truth_cosines)
            if cosines:
                difficulty = 1 - np.mean(cosines, axis=0)
                difficulty = np.where(np.abs(difficulty) < COSINE_ROUNDING, 0.0, difficulty)
                weights[number] = difficulty / (1 - self._metric.baseline)
        return weights


_prepared = functools.lru_cache(maxsize=4)(_Prepared)


@functools.lru_cache(maxsize=2**14)
def _words(text: str) -> Counter[str]:
    return Counter(split_words(text))
