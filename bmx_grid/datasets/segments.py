"""Segments, and sets of them with their human judgements, checked on the way in."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.core.errors import DataError
from bmx_grid.core.identity import digest
from bmx_grid.core.ragged import Floats
from bmx_grid.core.storage import check_name
from bmx_grid.words.perturbation import Item, Role
from bmx_grid.words.tags import TextSide, WordTags

NO_PAIR = "none"  # the language pair of segments that name none
GROUPS = ("system", "rater", "domain")  # whose levels are no explanation of a gain
LARGEST = 1e150  # of a score: float64 has no room for the square of one that is farther from 0


@dataclass(frozen=True, eq=False)
class Judgements:
    """Human scores of N segments by aspect, higher is better; NaN for unrated segments.

    scores: aspect (`da`, `mqm`, `z_mean`, a column of the user's file) -> float64[N]. The first aspect is the
        primary one, which metrics are correlated with unless another is asked for.
    raters: aspect -> float64[N, R], the R individual ratings that the aspect's score was made from, in the
        published order; NaN where a segment has fewer. A column is one person only where the publisher says so.
    systems: aspect -> system -> published human score of the whole system, where it is no mean of segment scores; an
        aspect that was published for systems only has NaN for every segment. A part of the segments keeps them all.

    tags: role -> published tags of the words of that side, of all N segments.

    Raises DataError for no aspect, an unnamed one, arrays of other shapes, raters or systems of an unknown aspect, tags
    of another number of segments, or a score beyond 1e150.
    """

    scores: Mapping[str, Floats]
    raters: Mapping[str, Floats] = field(default_factory=dict)
    systems: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    tags: Mapping[TextSide, WordTags] = field(default_factory=dict)

    def __post_init__(self) -> None:
        scores: dict[str, Floats] = {name: np.asarray(a, np.float64) for name, a in self.scores.items()}
        raters: dict[str, Floats] = {name: np.asarray(a, np.float64) for name, a in self.raters.items()}
        if not scores or not all(scores):
            raise DataError("judgements need at least one human score, and every human score needs a name.")
        count = scores[next(iter(scores))].size
        for kind, arrays, dimensions in (("human score", scores, 1), ("raters", raters, 2)):
            for name, values in arrays.items():
                if values.ndim != dimensions or len(values) != count:
                    raise DataError(f"the {kind} '{name}' has the shape {values.shape}, expected {count} rows.")
                beyond = np.argwhere(np.abs(values) > LARGEST)
                if len(beyond):
                    raise DataError(
                        f"the human score '{name}' of segment number {beyond[0][0] + 1} is "
                        f"{values[tuple(beyond[0])]:g}; write a number within ±{LARGEST:g}, or leave it empty for a "
                        "segment that was not rated."
                    )
        for name in (*raters, *self.systems):
            if name not in scores:
                raise DataError(
                    f"there are raters or systems' scores of '{name}', but the human scores are {', '.join(scores)}."
                )
        for side, tags in self.tags.items():
            if len(tags) != count:
                raise DataError(f"there are word tags of {len(tags)} {side} texts, but {count} human scores.")
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "raters", raters)

    def __len__(self) -> int:
        return self.scores[self.primary].size

    @property
    def primary(self) -> str:
        """The name of the first aspect."""
        return next(iter(self.scores))

    @property
    def aspects(self) -> tuple[str, ...]:
        """The names of all aspects, the primary one first."""
        return tuple(self.scores)

    def take(self, rows: ArrayLike) -> Judgements:
        """The judgements of these rows: indices, in their order, or a bool mask over the N segments."""
        chosen = np.asarray(rows)
        if chosen.size == 0 and chosen.dtype != np.bool_:
            chosen = chosen.astype(np.intp)
        return Judgements(
            {name: values[chosen] for name, values in self.scores.items()},
            {name: values[chosen] for name, values in self.raters.items()},
            self.systems,
            {side: tags.take(np.arange(len(self))[chosen].tolist()) for side, tags in self.tags.items()},
        )

    def fingerprint(self) -> dict[str, object]:
        """Names, shapes and SHA-256 of all values, in order; all NaN count as one. Systems and tags if any."""
        prints: dict[str, object] = {}
        for kind, arrays in (("scores", self.scores), ("raters", self.raters)):
            prints[kind] = [[name, list(values.shape), _digest(values)] for name, values in arrays.items()]
        if self.systems:
            prints["systems"] = {name: dict(of_systems) for name, of_systems in self.systems.items()}
        if self.tags:
            prints["tags"] = {side: tags.fingerprint() for side, tags in self.tags.items()}
        return prints


def _digest(values: Floats) -> str:
    same = np.where(np.isnan(values), np.nan, values)  # the bits of NaN vary with how it arose
    return hashlib.sha256(same.astype("<f8").tobytes()).hexdigest()


@dataclass(frozen=True, slots=True)
class Segment:
    """One text of one system, a translation or a summary, known by (id, system): several systems may have the same id.

    source, reference: None where the data set has none. further_references: beside the first, where metrics read all.
    domain, rater: of the text, and who judged it; None where the data set does not name them.
    Human scores are kept apart, so that no judgement can enter an explanation.
    """

    id: str
    hypothesis: str
    source: str | None = None
    reference: str | None = None
    system: str | None = None
    document: str | None = None
    further_references: tuple[str, ...] = ()
    domain: str | None = None
    rater: str | None = None

    @property
    def name(self) -> str:
        """Id and system as messages and tables write them: `12`, or `12:online-B`."""
        return self.id if self.system is None else f"{self.id}:{self.system}"


def numbered(hypotheses: Sequence[str], sources: Sequence[str]) -> tuple[Segment, ...]:
    """Segments of lines, whose ids are the lines' numbers from 0. Raises ValueError for other numbers of them."""
    return tuple(Segment(str(row), *texts) for row, texts in enumerate(zip(hypotheses, sources, strict=True)))


@dataclass(frozen=True, eq=False)
class SegmentSet:
    """N segments of one language pair of one data set, with their human judgements.

    origin: the file the rows came from, for messages.
    all_ids, all_systems: of the whole test set that this may be a part of (`limit`, systems left out), the ids in the
        order of its sources: what score files made elsewhere are written for. By default those of these segments.
    constructed: whether texts or scores were made up, so that nothing follows from them.
    Raises DataError for names that cannot be part of file names, other numbers of judgements than of segments, or
    an (id, system) that occurs twice.
    """

    dataset: str
    language_pair: str
    segments: tuple[Segment, ...]
    judgements: Judgements
    origin: str = ""
    all_ids: tuple[str, ...] = ()
    all_systems: tuple[str, ...] = ()
    constructed: bool = False

    def __post_init__(self) -> None:
        where = self.origin or f"{self.dataset} {self.language_pair}"
        check_name("data set", self.dataset, where)
        check_name("language pair", self.language_pair, where)
        if len(self.segments) != len(self.judgements):
            raise DataError(f"{where}: {len(self.segments)} segments but {len(self.judgements)} human scores.")
        seen: dict[tuple[str, str | None], int] = {}
        for row, segment in enumerate(self.segments, start=1):
            first = seen.setdefault((segment.id, segment.system), row)
            if first != row:
                raise DataError(f"{where}: segments {first} and {row} are both '{segment.name}'; {REPEATED}")
        object.__setattr__(self, "all_ids", self.all_ids or tuple(dict.fromkeys(s.id for s in self.segments)))
        object.__setattr__(self, "all_systems", self.all_systems or self.systems)

    def __len__(self) -> int:
        return len(self.segments)

    @property
    def human_scores(self) -> Floats:
        """float64[N], the primary human score, higher is better; NaN for unrated segments."""
        return self.judgements.scores[self.judgements.primary]

    @property
    def rated(self) -> int:
        """The number of segments that have a primary human score."""
        return int(np.isfinite(self.human_scores).sum())

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems, in order of first appearance; empty where the data set names none."""
        return tuple(dict.fromkeys(s.system for s in self.segments if s.system is not None))

    @property
    def groups(self) -> dict[str, NDArray[np.str_]]:
        """N names each of the system, rater and domain of a segment, "" for none; of those that the data set names."""
        groups: dict[str, NDArray[np.str_]] = {}
        for kind in GROUPS:
            names = np.array([getattr(segment, kind) or "" for segment in self.segments], dtype=np.str_)
            if names.astype(np.bool_).any():
                groups[kind] = names
        return groups

    def has(self, role: str) -> bool:
        """Whether every segment has the text of this role ("source", "reference" or "hypothesis")."""
        return all(getattr(segment, role) is not None for segment in self.segments)

    def texts(self, role: str) -> list[str]:
        """The N texts of a role. Raises DataError naming the first segment without one; ask `has` first."""
        texts = [getattr(segment, role) for segment in self.segments]
        if None in texts:
            first = self.segments[texts.index(None)].name
            raise DataError(f"{self.dataset} {self.language_pair}: segment '{first}' has no {role}.")
        return texts

    def items(self, reads: Sequence[Role], *, all_references: bool = False) -> tuple[Item, ...]:
        """The N items of a metric that reads these roles. Raises DataError as `texts` does.

        all_references: with the further references of each segment.
        """
        texts = [self.texts(role) for role in reads]
        return tuple(
            Item(
                **dict(zip(reads, row, strict=True)),
                further_references=segment.further_references if all_references else (),
            )
            for segment, *row in zip(self.segments, *texts, strict=True)
        )

    def empty_texts(self) -> list[str]:
        """Names of segments with an empty source, reference or hypothesis: kept and scored, but worth a warning."""
        return [s.name for s in self.segments if "" in (s.source, s.reference, s.hypothesis)]

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> SegmentSet:
        """The segments at these indices, in their order, with their judgements."""
        return replace(self, segments=tuple(self.segments[row] for row in rows), judgements=self.judgements.take(rows))

    def head(self, limit: int | None) -> SegmentSet:
        """The first `limit` ids in order of appearance (all for None), each with all its systems; in the same order."""
        if limit is None:
            return self
        kept = set(list(dict.fromkeys(segment.id for segment in self.segments))[:limit])
        rows = [row for row, segment in enumerate(self.segments) if segment.id in kept]
        return self if len(rows) == len(self) else self.take(rows)

    def fingerprint(self) -> str:
        """SHA-256 of texts, ids, systems, documents and judgements, in order; domains and raters are names only."""
        return self._digest

    @cached_property  # every setting on these segments asks for it
    def _digest(self) -> str:
        rows = [
            (s.id, s.system, s.document, s.source, s.reference, s.further_references, s.hypothesis)
            for s in self.segments
        ]
        return digest([self.dataset, self.language_pair, rows, self.judgements.fingerprint()])


REPEATED = "every segment needs an id of its own, or one per system where several systems have the same segment."


def clusters(sets: Sequence[SegmentSet]) -> list[NDArray[np.object_]]:
    """Labels of segments that are not independent of each other, across all language pairs given.

    Segments belong together when they share a source, a reference (the exact text; all references count) or, within a
    language pair, a document, whose segments have a topic and mostly a rater in common; also through others: labels are
    the connected components. A repeated pair of source and hypothesis shares its source. A text that stands in several
    documents, such as "Thank you.", does not link them, nor does a document that all segments are of. Empty and absent
    texts and documents link nothing; a segment without any text but its hypothesis is a cluster of its own.

    Returns one array of N labels per set, in the given order. A label is 12 hexadecimal digits of the SHA-256 of the
    smallest text of its cluster, so it does not depend on the order of sets or segments.
    """
    numbers: dict[tuple[str, ...], int] = {}  # of the texts, the nodes of the graph
    firsts: list[list[int]] = []  # per set and segment its first text
    parents: list[int] = []  # of each text another of its component; a root is its own
    for of_pair in sets:
        firsts.append([])
        several = len({segment.document for segment in of_pair.segments}) > 1
        repeated = _in_several_documents(of_pair)
        for segment in of_pair.segments:
            linking: list[tuple[str, ...]] = [text for text in _texts_of(segment) if text not in repeated]
            if several and segment.document:  # one that is named for each system apart is still the same by its ids
                names = {"document": segment.document, "id": segment.id}
                linking += [(kind, of_pair.dataset, of_pair.language_pair, name) for kind, name in names.items()]
            alone = ("", of_pair.dataset, of_pair.language_pair, segment.id, str(segment.system))
            first, *others = [numbers.setdefault(key, len(numbers)) for key in linking or [alone]]
            firsts[-1].append(first)
            parents += range(len(parents), len(numbers))
            for other in others:
                parents[_root(parents, other)] = _root(parents, first)
    smallest: dict[int, tuple[str, ...]] = {}
    for key in sorted(numbers, reverse=True):  # the smallest text of a component is written last
        smallest[_root(parents, numbers[key])] = key
    labels = {root: hashlib.sha256("\0".join(key).encode()).hexdigest()[:12] for root, key in smallest.items()}
    # objects, so that a million segments share the texts of their labels
    of_sets = []
    for texts in firsts:
        of_segments = [labels[_root(parents, first)] for first in texts]
        of_sets.append(np.array(of_segments, dtype=np.object_))
    return of_sets


def _root(parents: list[int], text: int) -> int:
    """The root of a text's component. The way there is shortened, so that the next search is quick."""
    while parents[text] != text:
        parents[text] = parents[parents[text]]
        text = parents[text]
    return text


def _in_several_documents(of: SegmentSet) -> set[tuple[str, str]]:
    """The texts that segments of different documents share."""
    documents: dict[tuple[str, str], set[str]] = {}
    for segment in of.segments:
        for text in _texts_of(segment) if segment.document else ():
            documents.setdefault(text, set()).add(str(segment.document))
    return {text for text, names in documents.items() if len(names) > 1}


def _texts_of(segment: Segment) -> list[tuple[str, str]]:
    """Role and text of its source and references that are not empty."""
    references = (segment.reference, *segment.further_references)
    texts = [("source", segment.source), *(("reference", text) for text in references)]
    return [(role, text) for role, text in texts if text]
