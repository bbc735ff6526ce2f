"""Values that a combination keeps on disk, a file for each part of its texts."""

from __future__ import annotations

import functools
import hashlib
import json
import warnings
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any

from bmx_grid.core.errors import StoreError
from bmx_grid.core.identity import digest
from bmx_grid.core.storage import Place, below, hold_lock, open_for_arrow, place, replacing
from bmx_grid.words.perturbation import Item

Make = Callable[[Any], Sequence[Any]]
FIRST_FIELDS = 4  # of an item, when values were first stored
VALUES_OF_A_PART = 256  # of a store


class Kept:
    """Cache a model's values by their input, in this process and in a folder that all processes share.

    Values are written in parts, a file each that is named by its contents and never changed, so that a killed run
    continues. Missing values are computed under a lock, so that workers do not compute one twice; the lock of an object
    store holds on one machine only.
    """

    def __init__(self, folder: Place | None) -> None:
        self._folder = folder
        self._values: dict[Hashable, Any] = {}

    def values(self, contents: Sequence[Any], lasting: Collection[Any], make: Make) -> list[Any]:
        """The value of each content, from the cache or computed; only values of contents in `lasting` are stored.

        Perturbed texts come by the million, and are not kept.
        Raises StoreError if values cannot be stored.
        """
        new = [content for content in dict.fromkeys(contents) if content not in self._values]
        new_lasting = [content for content in new if content in lasting]
        new_passing = [content for content in new if content not in lasting]
        for start in range(0, len(new_lasting), VALUES_OF_A_PART):
            part = new_lasting[start : start + VALUES_OF_A_PART]
            self._values |= zip(part, self._part(part, make), strict=True)
        passing_values = {}
        if new_passing:
            passing_values = dict(zip(new_passing, make(new_passing), strict=True))
        return [passing_values[content] if content in passing_values else self._values[content] for content in contents]

    def _part(self, contents: list[Any], make: Make) -> Any:
        """The values of some contents: from their file, or made and written to it."""
        if self._folder is None:
            return make(contents)
        file = self._folder / f"{digest(list(map(_named_fields, contents)))[:24]}.json"
        try:
            with hold_lock(self._folder):
                # Read under the lock: another process may have made the values while this one waited.
                values = _read_values(file)
                if values is None:
                    values = make(contents)
                    text = json.dumps(values)
                    checksum = _checksum(text)
                    with replacing(file) as path:
                        path.write_text(f"{checksum}\n{text}", encoding="utf-8")
        except OSError as error:
            raise StoreError(f"cannot use {file}: {error.strerror or error}. Choose another cache_dir.") from error
        return values


def _named_fields(content: Any) -> Any:
    """A content as the names of files have it: an item without the fields that came later, if they are empty."""
    if isinstance(content, Item) and not any(content[FIRST_FIELDS:]):
        return content[:FIRST_FIELDS]
    return content


def _read_values(file: Place) -> Any:
    """The values in a file; None if it is missing or damaged; warns of a damaged file."""
    try:
        with open_for_arrow(file) as source:
            content = source.read().decode(errors="replace")
    except FileNotFoundError:
        return None
    checksum, _, text = content.partition("\n")
    if checksum == _checksum(text):
        return json.loads(text)
    warnings.warn(f"{file} is damaged; its values are computed again.", stacklevel=2)
    return None


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@functools.lru_cache(maxsize=128)
def open_values(cache_dir: str | None, kind: str, identity: str) -> Kept:
    """The values of a kind ("translations") and an identity in canonical JSON; one store per process."""
    if cache_dir is None:
        return Kept(None)
    name = digest(json.loads(identity))[:24]
    return Kept(below(place(cache_dir), f"{kind}/{name}"))
