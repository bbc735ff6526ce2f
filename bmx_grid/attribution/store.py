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
from bmx_grid.attribution.stored_tables import STATISTICS, in_order, list_of, numbers, ragged, table_of, texts_of
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
    statistics: float64[N, k] of a metric that has its own; None without.
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
        positions: dict[str, int] = {}
        for position, key in enumerate(keys):
            positions.setdefault(key, position)
        for table in self._tables():
            for key in table.column("key").to_pylist():
                positions.pop(key, None)
        return list(positions.values())

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
        whole = self._chunk(sorted({key for table in tables for key in table.column("key").to_pylist()}))
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
        import pyarrow as pa
        import pyarrow.compute as pc

        asked, texts = texts_of(keys), list(self.reads)
        kept = [table_of([], self.reads, self.explained).drop_columns(texts)]
        for table in self._tables():
            kept.append(table.filter(pc.is_in(table.column("key"), value_set=asked)).drop_columns(texts))
        rows = pa.concat_tables(kept, promote_options="default").combine_chunks()
        places = pc.index_in(asked, value_set=rows.column("key").combine_chunks())
        if places.null_count:
            raise StoreError(
                f"{self.path} lacks {places.null_count} of {len(keys)} explanations; run the command again, with a "
                "cache_dir that all machines share where workers run on several."
            )
        rows = rows.take(places)
        base = numbers(rows.column("base_score").combine_chunks()).copy()
        by_role = {role: ragged(rows, list_of(role)) for role in (self.reads if self.explained else ())}
        if STATISTICS not in rows.column_names:
            return AttributionSet(base, by_role)
        return AttributionSet(base, by_role, ragged(rows, STATISTICS).values.reshape(len(keys), -1))

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
