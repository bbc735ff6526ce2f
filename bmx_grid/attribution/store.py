"""The attribution store: explained items in Parquet, keyed by their content.

    cache_dir/attributions/<metric>-<explainer>-<hash of their identity>/
        <data set>.<language pair>.parts/      finished chunks, and what was merged of them, a file each

A key is the content of an item, so files do not depend on the order of segments, on chunks or on workers, a subset
finds its rows among those of the whole, and the whole goes on where a subset stopped. Every file carries digests of its
rows and settings; rows that do not agree with their digest count as missing, and are computed again.

Files are never changed, in a folder and in an object store alike, so that no lock is needed: a file is named by the
keys of its rows, so that who writes the same rows writes the same file, and it is removed only after another one with
all of its rows has been written: whatever processes do meanwhile, no row is lost. Earlier versions kept one file of the
whole beside the folder; it is read, and merged like the others.

For each role that the metric reads, a file has one column of texts and one of attributions; for a metric that has
statistics of its own, one column of these (`stored_tables`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.attribution import stored_tables
from bmx_grid.attribution.explain import Explanation
from bmx_grid.attribution.stored_tables import (
    STATISTICS,
    as_keys,
    in_order,
    keys_of,
    list_of,
    numbers,
    ragged,
    table_of,
)
from bmx_grid.core.errors import StoreError
from bmx_grid.core.identity import canonical_json, digest
from bmx_grid.core.ragged import Ragged, concatenate_rows
from bmx_grid.core.storage import Place, listed, remove, remove_abandoned
from bmx_grid.words.perturbation import Role

ATTEMPTS = 100  # listings of a folder whose files other processes replace meanwhile


@dataclass(frozen=True, eq=False)
class AttributionSet:
    """Explanations of N items as arrays: base score float64[N], and N rows of attributions by role (ragged).

    Without an explainer there are no roles.
    statistics: float64[N, k] of a metric that has its own, NaN for items stored before statistics were; None without.
    """

    base_scores: NDArray[np.float64]
    by_role: Mapping[Role, Ragged]
    statistics: NDArray[np.float64] | None = None

    @property
    def hypothesis(self) -> Ragged:
        """N rows of attributions of the hypothesis; empty ones where there are none."""
        return self.by_role.get("hypothesis", self._none())

    @property
    def ground_truth(self) -> Ragged:
        """N rows of attributions of all that was read beside the hypothesis, one text after the other."""
        rows = [found for role, found in self.by_role.items() if role != "hypothesis"]
        return functools.reduce(concatenate_rows, rows) if rows else self._none()

    @property
    def n_unexplained(self) -> int:
        """How many items have an undefined attribution."""
        texts = [
            np.repeat(np.arange(len(found)), found.lengths)[np.isnan(found.values)] for found in self.by_role.values()
        ]
        return len(np.unique(np.concatenate(texts))) if texts else 0

    def _none(self) -> Ragged:
        return Ragged(np.empty(0), np.zeros(len(self.base_scores) + 1, dtype=np.int64))


@dataclass(frozen=True)
class Slot:
    """The place of one setting's explanations: a folder of finished chunks, some of them large.

    path: of the one file that earlier versions wrote.
    reads: the roles whose texts are kept; explained: whether they have attributions.
    """

    path: Place
    identity: str
    reads: tuple[Role, ...]
    explained: bool

    @property
    def parts(self) -> Place:
        """The folder of finished chunks."""
        return self.path.with_suffix(".parts")

    def missing(self, keys: Sequence[str]) -> list[int]:
        """Positions of the distinct `keys` that are in no file."""
        asked, first = np.unique(as_keys(keys), return_index=True)
        known = np.zeros(len(asked), dtype=np.bool_)
        for table in self._tables():
            known |= _among(asked, keys_of(table))
        return [int(position) for position in np.sort(first[~known])]

    def add(self, explanations: Sequence[Explanation]) -> None:
        """Write one finished chunk. Raises StoreError."""
        rows = sorted(explanations, key=lambda one: one.key)
        self._write(self._chunk([row.key for row in rows]), in_order([table_of(rows, self.reads, self.explained)]))

    def merge(self) -> None:
        """Write a file with the rows of all others, then remove these. Raises StoreError."""
        if isinstance(self.parts, Path):
            remove_abandoned(self.parts)
        taken = self._files()
        if len(taken) < 2:
            return
        tables = [table for file in taken for table in self._read(file)]
        if not tables:
            return
        keys = np.unique(np.concatenate([keys_of(table) for table in tables]))
        whole = self._chunk(np.char.decode(keys, "ascii").tolist())
        self._write(whole, in_order(tables))
        try:
            for file in taken:
                if file != whole:
                    remove(file)
        except OSError as error:
            raise StoreError(
                f"cannot remove what was merged in {self.parts}: {error.strerror or error}. Fix the folder's "
                "permissions, or choose another cache_dir."
            ) from error

    def load(self, keys: Sequence[str]) -> AttributionSet:
        """The explanations of `keys`, in that order (a key may repeat).

        Raises StoreError when one is missing; ask `missing` and `merge` first.
        """
        found = _Columns(keys, self.reads if self.explained else ())
        for table in self._tables():
            found.take(table)
        if found.absent:
            raise StoreError(
                f"{self.path} lacks {found.absent} of {len(keys)} explanations; run the command again, with a "
                "cache_dir that all machines share where workers run on several."
            )
        return found.in_order()

    def _chunk(self, keys: Sequence[str]) -> Place:
        """The chunk of these keys, which are sorted."""
        return self.parts / f"{digest(list(keys))[:24]}.parquet"

    def _files(self) -> list[Place]:
        """All files with rows, that of the whole from an earlier version last."""
        older = [self.path] if isinstance(self.path, Path) and self.path.is_file() else []
        return [*listed(self.parts, ".parquet"), *older]

    def _tables(self) -> Iterator[Any]:
        """All rows that are kept, in tables; some may be there twice."""
        seen: set[Place] = set()
        for _ in range(ATTEMPTS):
            gone = 0
            for file in self._files():
                if file in seen:
                    continue
                try:
                    yield from stored_tables.read(file, self.identity, self.reads)
                    seen.add(file)
                except FileNotFoundError:  # another process has made one of it and others: listed next time
                    gone += 1
            if not gone:
                return
        raise StoreError(f"{self.parts}: its files change faster than they are read; run the command again.")

    def _read(self, path: Place) -> Iterator[Any]:
        """The tables of a file; none where there is none."""
        with suppress(FileNotFoundError):
            yield from stored_tables.read(path, self.identity, self.reads)

    def _write(self, path: Place, tables: Any) -> None:
        stored_tables.write(path, tables, self.identity)


class _Columns:
    """The numbers of the rows that are asked for, gathered from one table after the other."""

    def __init__(self, keys: Sequence[str], roles: Sequence[Role]) -> None:
        self._distinct, self._place = np.unique(as_keys(keys), return_inverse=True)
        self._row = np.full(len(self._distinct), -1, dtype=np.int64)  # of each distinct key, among those gathered
        self._rows = 0
        self._roles = roles
        self._base: list[NDArray[np.float64]] = []
        self._lists: dict[str, list[Ragged]] = {role: [] for role in roles}
        self._statistics: list[Ragged] = []  # of no values where there are none

    @property
    def absent(self) -> int:
        """How many of the keys have no row."""
        return int((self._row[self._place] < 0).sum())

    def take(self, table: Any) -> None:
        """Take the rows that are asked for and not there yet."""
        keys = keys_of(table)
        at = np.searchsorted(self._distinct, keys)
        wanted = at < len(self._distinct)
        wanted[wanted] = (self._distinct[at[wanted]] == keys[wanted]) & (self._row[at[wanted]] < 0)
        rows = np.flatnonzero(wanted)
        if not len(rows):
            return
        self._row[at[rows]] = np.arange(self._rows, self._rows + len(rows))
        self._rows += len(rows)
        self._base.append(numbers(table.column("base_score").combine_chunks())[rows])
        for role in self._roles:
            self._lists[role].append(_gather(ragged(table, list_of(role)), rows))
        none = Ragged(np.empty(0), np.zeros(len(keys) + 1, dtype=np.int64))
        statistics = ragged(table, STATISTICS) if STATISTICS in table.column_names else none
        self._statistics.append(_gather(statistics, rows))

    def in_order(self) -> AttributionSet:
        """All that was asked for, in its order; lets go of what was gathered."""
        rows = self._row[self._place]
        base = np.concatenate([*self._base, np.empty(0)])[rows]
        by_role = {role: _gather(_joined(self._lists.pop(role)), rows) for role in self._roles}
        statistics = _joined(self._statistics) if self._statistics else Ragged(np.empty(0), np.zeros(1, dtype=np.int64))
        if not len(statistics.values):
            return AttributionSet(base, by_role)
        full = np.full((len(statistics), int(statistics.lengths.max())), np.nan)
        full[statistics.lengths > 0] = statistics.values.reshape(-1, full.shape[1])
        return AttributionSet(base, by_role, full[rows])


def slot_of(
    cache_dir: Place,
    names: tuple[str, str],
    identity: Mapping[str, Any],
    where: tuple[str, str],
    reads: tuple[Role, ...],
) -> Slot:
    """The slot of a (metric, explainer) pair of `names` and `identity`; where: data set and language pair.

    reads: the roles that the metric reads. An identity whose explainer is None keeps base scores only.
    """
    folder = f"{names[0]}-{names[1]}-{digest(identity)[:12]}"
    path = cache_dir / "attributions" / folder / f"{'.'.join(where)}.parquet"
    return Slot(path, canonical_json(identity), reads, identity["explainer"] is not None)


def _among(asked: NDArray[np.bytes_], keys: NDArray[np.bytes_]) -> NDArray[np.bool_]:
    """bool[N] which of the ascending `asked` are among `keys`."""
    found = np.zeros(len(asked), dtype=np.bool_)
    if len(asked):
        at = np.searchsorted(asked, keys).clip(max=len(asked) - 1)
        found[at[asked[at] == keys]] = True
    return found


def _joined(parts: list[Ragged]) -> Ragged:
    """The rows of several ragged arrays, whose values begin at 0."""
    if len(parts) == 1:
        (only,) = parts
        return only
    ends = np.cumsum([len(one.values) for one in parts])
    offsets = [one.offsets[1:] + end - len(one.values) for one, end in zip(parts, ends, strict=True)]
    return Ragged(
        np.concatenate([np.empty(0), *(one.values for one in parts)]),
        np.concatenate([np.zeros(1, dtype=np.int64), *offsets]),
    )


def _gather(rows: Ragged, order: NDArray[np.intp]) -> Ragged:
    lengths = rows.lengths[order]
    offsets = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    index = np.arange(offsets[-1]) + np.repeat(rows.offsets[:-1][order] - offsets[:-1], lengths)
    return Ragged(rows.values[index], offsets)
