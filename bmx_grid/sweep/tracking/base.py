"""The contract of a tracker: it watches a sweep from outside, and a sweep never depends on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bmx_grid.segments import SegmentSet
    from bmx_grid.sweep.results import SettingResult
    from bmx_grid.sweep.settings import Refused

Status = Literal["finished", "failed", "killed"]


@dataclass
class Tracker:
    """Watches a sweep: start, reads, then log for every result, then analysis and headline, then finish.

    This one tracks nothing. After `start` no method raises for a store that is lost or does not answer: it warns
    once, in one line, keeps the reason in `failure`, and lets the sweep go on.

    failure: why tracking was given up, None while all is well.
    """

    failure: str | None = field(default=None, init=False)

    def is_complete(self, name: str, config: str, output_dir: Path, settings: Mapping[str, str]) -> bool:
        """Whether a finished run of this sweep is tracked with all of `settings`, so that nothing is left to do.

        settings: fingerprint by label of every result (`SettingResult.label`, `.fingerprint`); the other arguments are
        those of `start`, which must not have been called before. Quick and without side effects. False also means
        "cannot tell quickly": the sweep is then tracked as any other, and what is there is found.
        """
        return False

    def start(self, name: str, config: str, output_dir: Path) -> None:
        """Open the sweep called `name`; `config` is its whole configuration as YAML, without passwords.

        Raises BmxError when the store refuses or cannot be written: nothing has been computed yet. A store that
        cannot be reached, or does not answer in time, is given up with a warning instead.
        """

    def reads(self, sets: Iterable[SegmentSet]) -> None:
        """The segments that the sweep reads, of each language pair of each data set; repeated ones count once."""

    def log(self, result: SettingResult) -> None:
        """Record a result, with every correlation of its grid."""

    def analysis(self, numbers: Mapping[str, float], files: Sequence[Path]) -> None:
        """What the analysis found: the median selection and the regression as numbers, all of it as files.

        Files below `tables/` or `figures/` keep that folder. Undefined numbers are left out.
        """

    def headline(
        self, numbers: Mapping[str, float], note: str, files: Sequence[Path] = (), answers: Sequence[str] = ()
    ) -> None:
        """About ten numbers about the whole sweep, a summary in Markdown for a person, and the sweep's own files.

        These are its tables, and its recipes, which keep their folder. Undefined numbers (NaN) and files that do not
        exist are left out. answers: the sentences that answer the sweep's question, as plain text.
        """

    def finish(self, status: Status, failed: Sequence[Refused]) -> None:
        """Close the sweep; settings whose recording was interrupted are closed with it.

        status: "finished" (also when settings failed: `failed` names them), "failed" when an error ended the sweep,
        "killed" when a person or the system ended it.
        """

    def where(self) -> str:
        """How to look at the runs, a line break first, for the end of a sweep's output; or nothing."""
        return ""


def ending(error: BaseException | None) -> Status:
    """The status of a sweep that `error` ended: "killed" for Ctrl-C, a signal or an exit, "failed" for other errors."""
    if error is None:
        return "finished"
    return "failed" if isinstance(error, Exception) else "killed"
