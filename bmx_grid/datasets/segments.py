"""Segments, and sets of segments with their human judgements, checked when they are made."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bmx_grid.core.errors import DataError
from bmx_grid.core.identity import digest
from bmx_grid.core.ragged import Floats
from bmx_grid.core.storage import check_name
from bmx_grid.datasets.further_texts import FURTHER_TEXTS
from bmx_grid.words.perturbation import Item, Role
from bmx_grid.words.tags import WordTags

# The language pair of segments that name none.
NO_PAIR = "none"
# Whose levels are no explanation of a gain.
GROUPS = ("system", "rater", "domain")
# Of a score: float64 has no room for the square of one that is farther from 0.
LARGEST = 1e150
REPEATED = (
    "every segment needs an id of its own, or one per system if several systems have the same segment; ratings of "
    "one output need a column rater."
)
# What segments share: a role and a text, or a kind, the data set, the language pair and a name.
SharedKey = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Judgements:
    """Human scores of N segments by aspect, higher is better; NaN for unrated segments.

    scores: aspect (`da`, `mqm`, `z_mean`, a column of the user's file) -> float64[N]. The first aspect is the
        primary one, which metrics are correlated with by default.
    raters: aspect -> float64[N, R], the R individual ratings that the aspect's score was made from, in the
        published order; NaN if a segment has fewer. A column is one person only if the publisher documents it.
    systems: aspect -> system -> published human score of the whole system, if it is no mean of segment scores; an
        aspect that was published for systems only has NaN for every segment. A part of the segments keeps them all.
    of_systems: the aspect that judges systems, if it is not the primary one.
    tags: role -> published tags of the words of that side, of all N segments.

    Raises DataError for no aspect, an unnamed one, arrays of other shapes, raters or systems of an unknown aspect, tags
    of another number of segments, or a score beyond 1e150.
    """

    scores: Mapping[str, Floats]
    raters: Mapping[str, Floats] = field(default_factory=dict)
    systems: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    tags: Mapping[Role, WordTags] = field(default_factory=dict)
    of_systems: str | None = None

    def __post_init__(self) -> None:
        scores = _as_arrays(self.scores)
        raters = _as_arrays(self.raters)
        if not scores or not all(scores):
            raise DataError("judgements need at least one human score, and every human score needs a name.")
        first = next(iter(scores))
        count = scores[first].size
        for name, values in scores.items():
            _check_values("human score", name, values, count, dimensions=1)
        for name, values in raters.items():
            _check_values("raters", name, values, count, dimensions=2)
        for name in (*raters, *self.systems, self.primary_of_systems):
            if name not in scores:
                raise DataError(
                    f"there are raters or systems' scores of '{name}', but the human scores are {', '.join(scores)}."
                )
        for side, tags in self.tags.items():
            if len(tags) != count:
                raise DataError(f"there are word tags of {len(tags)} {side} texts, but {count} human scores.")
        # The class is frozen, but lists that it was made of become arrays.
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "raters", raters)

    def __len__(self) -> int:
        return self.scores[self.primary].size

    @property
    def primary(self) -> str:
        """The name of the first aspect."""
        return next(iter(self.scores))

    @property
    def primary_of_systems(self) -> str:
        """The name of the aspect that systems are judged by."""
        return self.of_systems or self.primary

    @property
    def aspects(self) -> tuple[str, ...]:
        """The names of all aspects, the primary one first."""
        return tuple(self.scores)

    def take(self, rows: ArrayLike) -> Judgements:
        """The judgements of rows: indices, in their order, or a bool mask over the N segments."""
        chosen = np.asarray(rows)
        # An empty list becomes an array of floats, which are no indices.
        if chosen.size == 0 and chosen.dtype != np.bool_:
            chosen = chosen.astype(np.intp)
        scores = {name: values[chosen] for name, values in self.scores.items()}
        raters = {name: values[chosen] for name, values in self.raters.items()}
        # Tags are taken by indices: a mask becomes those of its rows.
        indices = np.arange(len(self))[chosen].tolist()
        tags = {side: side_tags.take(indices) for side, side_tags in self.tags.items()}
        return Judgements(scores, raters, self.systems, tags, self.of_systems)

    def fingerprint(self) -> dict[str, object]:
        """Names, shapes and SHA-256 of all values, in order; all NaN count as one. Systems and tags if any."""
        prints: dict[str, object] = {"scores": _prints(self.scores), "raters": _prints(self.raters)}
        # Only if any, so that sets without them keep their fingerprints.
        if self.systems:
            prints["systems"] = {name: dict(by_system) for name, by_system in self.systems.items()}
        if self.tags:
            prints["tags"] = {side: tags.fingerprint() for side, tags in self.tags.items()}
        if self.of_systems is not None:
            prints["of_systems"] = self.of_systems
        return prints


def _prints(arrays: Mapping[str, Floats]) -> list[list[object]]:
    """Name, shape and SHA-256 of each array."""
    prints: list[list[object]] = []
    for name, values in arrays.items():
        # The bits of NaN vary with how it arose, and the order of bytes with the machine.
        same = np.where(np.isnan(values), np.nan, values).astype("<f8").tobytes()
        prints.append([name, list(values.shape), hashlib.sha256(same).hexdigest()])
    return prints


def _as_arrays(columns: Mapping[str, ArrayLike]) -> dict[str, Floats]:
    return {name: np.asarray(values, np.float64) for name, values in columns.items()}


def _check_values(kind: str, name: str, values: Floats, count: int, dimensions: int) -> None:
    """Raise DataError for an array of another shape than `count` rows, or a score beyond LARGEST."""
    if values.ndim != dimensions or len(values) != count:
        raise DataError(f"the {kind} '{name}' has the shape {values.shape}, expected {count} rows.")
    beyond = np.argwhere(np.abs(values) > LARGEST)
    if len(beyond):
        first = tuple(beyond[0])
        raise DataError(
            f"the human score '{name}' of segment number {first[0] + 1} is {values[first]:g}; write a number within "
            f"±{LARGEST:g}, or leave it empty for a segment that was not rated."
        )


@dataclass(frozen=True, slots=True)
class Segment:
    """One text of one system, a translation or a summary, known by (id, system): several systems may have the same id.

    source, reference: None if the data set has none. further_references: after the first, for metrics that read all.
    domain, rater: of the text, and its judge; None if the data set does not name them.
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
        if self.system is None:
            return self.id
        return f"{self.id}:{self.system}"


@dataclass(frozen=True, eq=False)
class SegmentSet:
    """N segments of one language pair of one data set, with their human judgements.

    origin: the file the rows came from, for messages.
    all_ids, all_systems: of the whole test set that this may be a part of (`limit`, systems left out), the ids in the
        order of its sources, as external score files have them. By default those of the segments.
    all_outputs: id and system of each segment of that test set, if it has several per id.
    constructed: whether texts or scores were made up, so that nothing follows from them.
    references: the names of the references, the one that metrics read first; none if the data set does not name them.
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
    all_outputs: tuple[tuple[str, str | None], ...] = ()
    constructed: bool = False
    references: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        where = self.origin or self.name
        check_name("data set", self.dataset, where)
        check_name("language pair", self.language_pair, where)
        if len(self.segments) != len(self.judgements):
            raise DataError(f"{where}: {len(self.segments)} segments but {len(self.judgements)} human scores.")
        row_of: dict[tuple[str, str | None], int] = {}
        for row, segment in enumerate(self.segments, start=1):
            first = row_of.setdefault((segment.id, segment.system), row)
            if first != row:
                raise DataError(f"{where}: segments {first} and {row} are both '{segment.name}'; {REPEATED}")
        ids = tuple(dict.fromkeys(segment.id for segment in self.segments))
        # The class is frozen, but the defaults of these fields depend on the segments.
        object.__setattr__(self, "all_ids", self.all_ids or ids)
        object.__setattr__(self, "all_systems", self.all_systems or self.systems)
        if len(row_of) > len(ids) and not self.all_outputs:
            object.__setattr__(self, "all_outputs", tuple(row_of))

    def __len__(self) -> int:
        return len(self.segments)

    @property
    def name(self) -> str:
        """Data set and language pair as messages write them."""
        return f"{self.dataset} {self.language_pair}"

    @property
    def human_scores(self) -> Floats:
        """float64[N], the primary human score, higher is better; NaN for unrated segments."""
        return self.judgements.scores[self.judgements.primary]

    @property
    def n_rated(self) -> int:
        """The number of segments that have a primary human score."""
        return int(np.isfinite(self.human_scores).sum())

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems, in order of first appearance; empty if the data set names none."""
        return tuple(dict.fromkeys(segment.system for segment in self.segments if segment.system is not None))

    @property
    def groups(self) -> dict[str, NDArray[np.str_]]:
        """N systems, raters and domains of segments, "" for none; only the kinds that the data set names."""
        groups: dict[str, NDArray[np.str_]] = {}
        for kind in GROUPS:
            names = [getattr(segment, kind) or "" for segment in self.segments]
            if any(names):
                groups[kind] = np.array(names, dtype=np.str_)
        return groups

    def has(self, role: str) -> bool:
        """Whether every segment has the text of this role ("source", "reference" or "hypothesis")."""
        return all(getattr(segment, role) is not None for segment in self.segments)

    def texts(self, role: str) -> list[str]:
        """The N texts of a role. Raises DataError naming the first segment without one; call `has` first."""
        texts = [getattr(segment, role) for segment in self.segments]
        if None in texts:
            first = self.segments[texts.index(None)]
            raise DataError(f"{self.name}: segment '{first.name}' has no {role}.")
        return texts

    def items(self, reads: Sequence[Role], further: Mapping[str, int] | None = None) -> tuple[Item, ...]:
        """The N items of a metric that reads these roles. Raises DataError as `texts` does.

        further: how many further texts, by field of items, as `Metric.reads_further`.
        """
        columns: dict[str, Sequence[Any]] = {role: self.texts(role) for role in reads}
        for name, most in (further or {}).items():
            columns[name] = FURTHER_TEXTS[name](self.segments, most)
        return tuple(Item(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))

    def empty_texts(self) -> list[str]:
        """Names of segments with an empty source, reference or hypothesis: kept and scored, but worth a warning."""
        names = []
        for segment in self.segments:
            if "" in (segment.source, segment.reference, segment.hypothesis):
                names.append(segment.name)
        return names

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> SegmentSet:
        """The segments at these indices, in their order, with their judgements."""
        segments = tuple(self.segments[row] for row in rows)
        return replace(self, segments=segments, judgements=self.judgements.take(rows))

    def head(self, limit: int | None) -> SegmentSet:
        """The first `limit` ids in order of appearance (all for None), with all their systems; in the same order."""
        if limit is None:
            return self
        ids = dict.fromkeys(segment.id for segment in self.segments)
        kept = set(list(ids)[:limit])
        rows = [row for row, segment in enumerate(self.segments) if segment.id in kept]
        # The same object if nothing is left out: its digest is computed once.
        return self if len(rows) == len(self) else self.take(rows)

    def fingerprint(self) -> str:
        """SHA-256 of texts, ids, systems, documents and judgements, in order; domains and raters are names only."""
        return self._digest

    # Every setting on these segments needs it.
    @cached_property
    def _digest(self) -> str:
        rows = []
        for segment in self.segments:
            texts = (segment.source, segment.reference, segment.further_references, segment.hypothesis)
            rows.append((segment.id, segment.system, segment.document, *texts))
        return digest([self.dataset, self.language_pair, rows, self.judgements.fingerprint()])


def clusters(sets: Sequence[SegmentSet]) -> list[NDArray[np.object_]]:
    """Labels of segments that are not independent of each other, across all language pairs of `sets`.

    Segments belong together when they share a source, a reference (the exact text; all references count) or, within a
    language pair, a document, whose segments have a topic and mostly a rater in common; also through others: labels are
    the connected components. A repeated pair of source and hypothesis shares its source. A text that occurs in several
    documents, such as "Thank you.", does not link them, nor does a document that all segments are of. Empty and absent
    texts and documents link nothing; a segment without any text but its hypothesis is a cluster of its own.

    Returns one array of N labels per set, in their order. A label is 12 hexadecimal digits of the SHA-256 of the
    smallest text of its cluster, so it does not depend on the order of sets or segments.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # The keys of texts and documents are the nodes of a graph, and each segment links its own.
    numbers: dict[SharedKey, int] = {}
    # Per set and segment the number of its first key.
    firsts: list[list[int]] = []
    links: list[tuple[int, int]] = []
    for segments in sets:
        first_of_segment = []
        for keys in _keys_of_segments(segments):
            first, *others = [numbers.setdefault(key, len(numbers)) for key in keys]
            first_of_segment.append(first)
            links += [(first, other) for other in others]
        firsts.append(first_of_segment)
    ends = np.array(links, dtype=np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(links)), ends), shape=(len(numbers), len(numbers)))
    component_of = connected_components(graph, directed=False)[1].tolist()
    smallest: dict[int, SharedKey] = {}
    # From the largest key to the smallest, which is written last.
    for key in sorted(numbers, reverse=True):
        smallest[component_of[numbers[key]]] = key
    labels = {}
    for component, key in smallest.items():
        labels[component] = hashlib.sha256("\0".join(key).encode()).hexdigest()[:12]
    labels_of_sets = []
    for first_of_segment in firsts:
        labels_of_segments = [labels[component_of[first]] for first in first_of_segment]
        # Objects, so that a million segments share the texts of their labels.
        labels_of_sets.append(np.array(labels_of_segments, dtype=np.object_))
    return labels_of_sets


def _keys_of_segments(segments: SegmentSet) -> Iterator[list[SharedKey]]:
    """The keys that each segment shares with segments it depends on, at least one."""
    # A document that all segments are of would make them one cluster.
    has_documents = len({segment.document for segment in segments.segments}) > 1
    repeated = _texts_across_documents(segments)
    pair = (segments.dataset, segments.language_pair)
    for segment in segments.segments:
        keys: list[SharedKey] = [text for text in _texts_of(segment) if text not in repeated]
        if has_documents and segment.document:
            keys.append(("document", *pair, segment.document))
            # A document that is named for each system apart is still the same by its ids.
            keys.append(("id", *pair, segment.id))
        if not keys:
            keys.append(("", *pair, segment.id, str(segment.system)))
        yield keys


def _texts_across_documents(segments: SegmentSet) -> set[tuple[str, str]]:
    """The texts that segments of different documents share."""
    documents: dict[tuple[str, str], set[str]] = {}
    for segment in segments.segments:
        if segment.document:
            for text in _texts_of(segment):
                documents.setdefault(text, set()).add(segment.document)
    return {text for text, names in documents.items() if len(names) > 1}


def _texts_of(segment: Segment) -> list[tuple[str, str]]:
    texts = []
    if segment.source:
        texts.append(("source", segment.source))
    for reference in (segment.reference, *segment.further_references):
        if reference:
            texts.append(("reference", reference))
    return texts
