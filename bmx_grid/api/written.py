"""A DataFrame as the file that a sweep reads, and the sweep's messages in words of the call."""

from __future__ import annotations

import io
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from bmx_grid.api.given import path
from bmx_grid.api.sweeps import Run, run
from bmx_grid.errors import BmxError, ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

PAIR = "source-target"  # of a frame that does not say which languages it is of
NAME = "frame"
FOUND_BY = ("id", "system", "language_pair")  # the segment that a score is of
CALLED = {"dataset.tabular.columns.": "columns: ", "evaluation.levels.resamples": "resamples"}  # keys of a sweep


class Written:
    """A frame as a file, for the length of a block; messages then speak of the frame."""

    def __init__(self, frame: pd.DataFrame, output_dir: str | Path | None) -> None:
        self.frame, self.output_dir = frame, None if output_dir is None else path("output_dir", output_dir)

    def __enter__(self) -> Written:
        self.folder = tempfile.TemporaryDirectory(prefix="bmx_grid-")
        self.path = Path(self.folder.name) / "frame.parquet"
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self.output_dir is not None or kind is not None:
            self.folder.cleanup()

    def with_texts(self, roles: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """These roles, with a hypothesis and a source for a frame that has none: scores need no texts.

        A source made up is the id, so that segments of one id are one cluster.
        """
        found = dict(roles)
        made: dict[str, Any] = {}
        number = [str(row) for row in range(1, len(self.frame) + 1)]
        if "id" not in roles:
            made["id"], found["id"] = number, ("id",)
        elif (without := self.frame[roles["id"][0]].isna().to_numpy()).any():
            raise DataError(
                f"the frame, row {without.argmax() + 1}: the column {roles['id'][0]!r} holds no id; give every segment "
                "one, or leave the column out."
            )
        ids = self.frame[roles["id"][0]].astype(str) if "id" in roles else number
        if "hypothesis" not in roles:
            made[" hypothesis"], found["hypothesis"] = number, (" hypothesis",)
        if not {"source", "reference"} & found.keys():
            made[" source"], found["source"] = ids, (" source",)
        self.frame = self.frame.assign(**made)
        return found

    def scores(self, metric: str, roles: Mapping[str, tuple[str, ...]]) -> Path:
        """A file of a metric's scores and what they are found by, whatever the frame calls its columns."""
        import pandas as pd

        found = {"score": self.frame[metric]}
        found |= {role: self.frame[roles[role][0]] for role in FOUND_BY if role in roles}
        path = self.path.with_name(f"metric-{len(list(self.path.parent.iterdir()))}.parquet")
        _write(pd.DataFrame(found), path)
        return path

    def dataset(self, roles: Mapping[str, tuple[str, ...]], language_pair: str | None) -> dict[str, Any]:
        """The keys of the data set."""
        self._used = list(dict.fromkeys(name for own in roles.values() for name in own))
        keys: dict[str, Any] = {
            "dataset.tabular.name": NAME,
            "dataset.tabular.path": str(self.path),
            **{
                f"dataset.tabular.columns.{role}": (list(own) if len(own) > 1 else own[0])
                for role, own in roles.items()
            },
        }
        if "language_pair" not in roles:
            keys["dataset.tabular.language_pairs"] = [language_pair or PAIR]
        elif language_pair is not None:
            raise ConfigError(
                f"language_pair={language_pair!r}: the frame has a column for it, "
                f"{roles['language_pair'][0]!r}; leave one out."
            )
        return keys

    def run(self, told: Mapping[str, Any], given: Mapping[str, Any], quiet: bool) -> Run:
        # Other columns would be taken for roles by their names, and may hold what no file can.
        _write(self.frame[self._used], self.path)
        out = Path(self.folder.name) / "out" if self.output_dir is None else self.output_dir
        if self.output_dir is None:  # nobody looks for a page there, and it takes twice as long as the rest
            given = {"analysis": False, **given}
        with self._told(), redirect_stderr(_Saying(sys.stderr, self._in_words)):
            found = run(
                None, settings={"name": NAME, "dataset": ["tabular"], **told}, quiet=quiet, output_dir=out, **given
            )
        return Run(found.folder, found.n_failed, self.folder if self.output_dir is None else None)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except BmxError as error:
            raise type(error)(self._in_words(str(error))) from error

    def _in_words(self, text: str) -> str:
        """Messages of a sweep, in words of this call."""
        for there, here in CALLED.items():
            text = text.replace(there, here)
        return re.sub(re.escape(self.folder.name) + r"/[\w-]+\.parquet", "the frame", text)


def _write(frame: pd.DataFrame, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(
            f"the frame cannot be used ({' '.join(str(error).split())[:200]}); give each column values of one type."
        ) from error


class _Saying(io.TextIOBase):
    """A stream whose texts are put in other words."""

    def __init__(self, stream: IO[str], reworded: Callable[[str], str]) -> None:
        self._stream, self._reworded = stream, reworded

    def write(self, text: str) -> int:
        self._stream.write(self._reworded(text))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()
