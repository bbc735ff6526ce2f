"""How hard the tokens of a ground truth are for the systems of a set, and the outputs it is computed from."""

from __future__ import annotations

import functools
import warnings
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal

import numpy as np

from bmx_grid.datasets.best_systems import how_many
from bmx_grid.errors import ConfigError, unknown
from bmx_grid.identity import digest
from bmx_grid.metrics.base import Floats
from bmx_grid.models.encoding import Ints
from bmx_grid.wording import counted, named
from bmx_grid.words.text import split_words

if TYPE_CHECKING:
    from bmx_grid.segments import SegmentSet


@dataclass(frozen=True, eq=False)
class SystemOutputs:
    """What S systems made of n segments; equal where the digest is.

    systems: their names, in alphabetical order. references: n. outputs: n rows of S texts, None for a system without
    one. others: n rows of what systems that are not fitted on made of the segment, to know it by.
    best_first: positions of the systems from the best to the worst by human score; empty where that is not asked for.
    digest: of all of it, the order of segments left out.
    """

    systems: tuple[str, ...]
    references: tuple[str, ...]
    outputs: tuple[tuple[str | None, ...], ...]
    others: tuple[tuple[str, ...], ...]
    best_first: tuple[int, ...]
    digest: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SystemOutputs) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def fingerprint(self) -> dict[str, object]:
        """The names of the systems, how many segments, and the digest of their texts."""
        return {"systems": list(self.systems), "segments": len(self.references), "digest": self.digest}

    @property
    def signature(self) -> str:
        """The same in words."""
        segments = counted(len(self.references), "segment")
        return f"{len(self.systems)} systems ({'+'.join(self.systems)}) on {segments}, {self.digest}"


def outputs_of(segments: SegmentSet, systems: str | Sequence[str], *, ranked: bool = False) -> SystemOutputs:
    """The outputs of the chosen systems of a set.

    systems: "all", "top:K" or "top:P%" by human score, or names. ranked: with their order by human score.
    Raises ConfigError for an unknown system, for systems that people did not score where the best are asked for or they
    are to be ranked, and where fewer than two systems are left. Warns of segments that fewer than two translated.
    """
    scores = _human(segments)
    chosen = _chosen(segments, scores, systems)
    if len(chosen) < 2:
        has = named(chosen) if chosen else "no named system"
        raise ConfigError(
            f"systems: the metric is fitted on the outputs of several systems for the same segments, and here there is "
            f"{has} in {segments.dataset} {segments.language_pair}; take a data set with several systems, or more of "
            "them."
        )
    at = {name: position for position, name in enumerate(chosen)}
    found: dict[tuple[str, str], tuple[list[str | None], list[str]]] = {}
    for segment in segments.segments:
        row, others = found.setdefault((segment.id, segment.reference or ""), ([None] * len(chosen), []))
        if segment.system in at:
            row[at[segment.system]] = segment.hypothesis
        else:
            others.append(segment.hypothesis)
    few = sum(len(row) - row.count(None) < 2 for row, _ in found.values())
    if few:
        warnings.warn(
            f"{few:,} of {counted(len(found), 'segment')} of {segments.dataset} {segments.language_pair} were "
            "translated by fewer than two of the systems that difficulty is fitted on; the difficulty of their tokens "
            "rests on one output, or on none (then it is 1).",
            stacklevel=2,
        )
    rows = [(reference, tuple(row), tuple(sorted(others))) for (_, reference), (row, others) in found.items()]
    best_first = tuple(at[name] for name in _best_first(segments, scores, chosen)) if ranked else ()
    told = digest([chosen, best_first, sorted(rows, key=repr)])[:16]
    references, outputs, others_of = zip(*rows, strict=True)
    return SystemOutputs(tuple(chosen), references, outputs, others_of, best_first, told)


def _human(segments: SegmentSet) -> dict[str, float]:
    """The primary human score of each system that has one, in the order of the set: published, or the mean."""
    judged = segments.judgements
    whole: Mapping[str, float] | None = judged.systems.get(judged.primary)
    if whole is not None:
        return {name: whole[name] for name in segments.systems if name in whole}
    of_system: dict[str, list[float]] = defaultdict(list)
    for segment, score in zip(segments.segments, judged.scores[judged.primary].tolist(), strict=True):
        if segment.system is not None and np.isfinite(score):
            of_system[segment.system].append(score)
    return {name: float(np.mean(of_system[name])) for name in segments.systems if name in of_system}


def _chosen(segments: SegmentSet, scores: Mapping[str, float], systems: str | Sequence[str]) -> list[str]:
    """The names of the systems, sorted."""
    if not isinstance(systems, str):
        for name in systems:
            if name not in segments.systems:
                raise ConfigError(f"systems: {unknown('system', name, segments.systems)}")
        return sorted(set(systems))
    if systems == "all":
        return sorted(segments.systems)
    best = _best_first(segments, scores, segments.systems)
    return sorted(best[: how_many(systems, len(best), "systems")])


def _best_first(segments: SegmentSet, scores: Mapping[str, float], systems: Sequence[str]) -> list[str]:
    """The systems from the best to the worst by human score; of equal ones that which the set has first."""
    lacking = [name for name in systems if name not in scores]
    if lacking:
        raise ConfigError(
            f"systems: people did not score {named(lacking)} in {segments.dataset} {segments.language_pair}, so that "
            "the best systems are not known; name those to be fitted on: systems=[A,B]."
        )
    return sorted((name for name in segments.systems if name in systems), key=lambda name: -scores[name])


class Places:
    """The segments that pairs of texts belong to.

    A pair belongs to the segments with its reference and its hypothesis, else to those with its reference. Where the
    reference is none of theirs, because it was perturbed, the pair belongs to the segments with its hypothesis; of
    several references, or of all where the hypothesis was perturbed as well, to that which shares most words with it
    (the shorter one of two, then the first in alphabetical order). None where no word is shared.
    """

    def __init__(self, outputs: SystemOutputs) -> None:
        self.references = outputs.references
        self._by_pair: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._by_reference: dict[str, list[int]] = defaultdict(list)
        self._by_output: dict[str, set[str]] = defaultdict(set)
        for row, reference in enumerate(outputs.references):
            self._by_reference[reference].append(row)
            for output in {*outputs.outputs[row], *outputs.others[row]} - {None}:
                assert output is not None
                self._by_pair[reference, output].append(row)
                self._by_output[output].add(reference)

    def knows(self, reference: str) -> bool:
        """Whether the reference is that of a segment."""
        return reference in self._by_reference

    def holds(self, pair: tuple[str, str]) -> bool:
        """Whether the pair is an output of a system with its reference."""
        return pair in self._by_pair

    def of(self, reference: str, hypothesis: str) -> tuple[int, ...]:
        """Positions of the segments of a pair, which have one reference in common; none where nothing is known."""
        rows = self._by_pair.get((reference, hypothesis)) or self._by_reference.get(reference)
        if rows is None:
            found = self._nearest(reference, self._by_output.get(hypothesis))
            rows = [] if found is None else self._by_pair.get((found, hypothesis)) or self._by_reference[found]
        return tuple(rows)

    def _nearest(self, reference: str, among: set[str] | None) -> str | None:
        if among is not None and len(among) == 1:
            return next(iter(among))
        shared: Counter[str] = Counter()
        for word, times in Counter(split_words(reference)).items():
            for one, count in self._with_word.get(word, ()):
                if among is None or one in among:
                    shared[one] += min(times, count)
        candidates = shared if among is None else among
        return min(candidates, key=lambda one: (-shared[one], len(one), one), default=None)

    @functools.cached_property
    def _with_word(self) -> dict[str, list[tuple[str, int]]]:
        """By word the references with it, and how often."""
        found: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for reference in self._by_reference:
            for word, count in Counter(split_words(reference)).items():
                found[word].append((reference, count))
        return found


ROUNDING = 1e-6  # of cosines of float32 vectors: a mean cosine this near to 1 is 1, a difficulty below it 0
Repeated = Literal["running", "mean"]


@dataclass(frozen=True, eq=False)
class Fit:
    """The weights of a reference of L tokens under F fits.

    tokens: int64[L]. weights: float64[F, L] of each place. of_type: float64[F] by token, as a hypothesis looks it up.
    """

    tokens: Ints
    weights: Floats
    of_type: Mapping[int, Floats]

    @classmethod
    def of(cls, tokens: Ints, weights: Floats, repeated: Repeated) -> Fit:
        """With the weights of types made of those of places."""
        return cls(tokens, weights, type_weights(tokens, weights, repeated))

    @classmethod
    def fitted(cls, tokens: Ints, similar: Sequence[Sequence[Floats]], baseline: float, repeated: Repeated) -> Fit:
        """Equation 2. similar: for each fit the best cosines float64[L] of each system; weights are 1 without any."""
        weights = np.ones((len(similar), len(tokens)))
        for at, of_systems in enumerate(similar):
            if of_systems:
                difficulty = 1 - np.mean(of_systems, axis=0)
                weights[at] = np.where(np.abs(difficulty) < ROUNDING, 0.0, difficulty) / (1 - baseline)
        return cls.of(tokens, weights, repeated)


def type_weights(tokens: Ints, weights: Floats, repeated: Repeated) -> dict[int, Floats]:
    """float64[F] the weight of each token from the weights float64[F, L] of its places.

    "running": the mean of what there is and the next place, from the first on; "mean": of all places.
    """
    places: dict[int, list[int]] = {}
    for at, token in enumerate(tokens.tolist()):
        places.setdefault(token, []).append(at)
    if repeated == "mean":
        return {token: weights[:, own].mean(axis=1) for token, own in places.items()}
    found = {}
    for token, own in places.items():
        value = weights[:, own[0]]
        for at in own[1:]:
            value = (value + weights[:, at]) / 2
        found[token] = value
    return found


def at_hypothesis(of_type: Mapping[int, Floats], tokens: Ints, fits: int) -> Floats:
    """float64[fits, M] weights of hypothesis tokens: those of the same token in the reference, else 1."""
    found = np.ones((fits, len(tokens)))
    for at, token in enumerate(tokens.tolist()):
        weight = of_type.get(token)
        if weight is not None:
            found[:, at] = weight[:fits]
    return found


def align(fit: Fit, tokens: Ints) -> Floats:
    """float64[F, L'] weights of the tokens of a perturbed reference.

    Tokens that the reference still has in its order keep the weight of their place; others have the weight of the same
    token in the reference, or 1.
    """
    found = at_hypothesis(fit.of_type, tokens, len(fit.weights))
    blocks = SequenceMatcher(None, fit.tokens.tolist(), tokens.tolist(), autojunk=False).get_matching_blocks()
    for ours, theirs, size in blocks:
        found[:, theirs : theirs + size] = fit.weights[:, ours : ours + size]
    return found
