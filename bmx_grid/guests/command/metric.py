"""A metric of another environment: a program that scores texts, in a process of its own."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from bmx_grid.core.errors import ConfigError, UnavailableError, quote_value
from bmx_grid.core.identity import identity, runtime
from bmx_grid.core.ragged import Floats
from bmx_grid.guests.command.program import Command, describe_program, read_declaration, score_rows
from bmx_grid.metrics.base import Cost, MultiReferenceMetric
from bmx_grid.models.files import PACKAGE, model_path
from bmx_grid.models.loading import assigned_device
from bmx_grid.words.perturbation import ROLES, Item, Role

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet


@dataclass(frozen=True, kw_only=True)
class CommandMetric(MultiReferenceMetric):
    """A program that reads texts and writes scores, by the protocol of `bmx_grid.guests.command.program`.

    command: the program and its arguments; a word `package:NAME/FILE` is a file of an installed package. Only the user
        may give it, on the command line or in Python: a file may not (`core.file_keys`).
    name: of the metric in tables; None for the name that the program reports.
    texts: the roles that it reads, of source, reference and hypothesis; references: the first, or all.
    higher_is_better: whether a higher score is a better one.
    batch_size: texts of a batch. timeout: the longest wait for a score in seconds, the first one after loading a model.
    device: the value of BMX_DEVICE in the program's environment; auto for that of the worker, if it has one.

    The identity of the metric is the program's declaration: its name, its version and its model. Raises ConfigError for
    a command without words and for roles without the hypothesis.
    """

    cost: ClassVar[Cost] = "model"
    is_held_by_tests: ClassVar[bool] = False

    command: tuple[str, ...] = runtime(())
    name: str | None = runtime(None)
    texts: tuple[Role, ...] = identity(("source", "hypothesis"))
    higher_is_better: bool = identity(True)  # type: ignore[misc]
    declared: str = identity("")
    batch_size: int = runtime(64, least=1)
    timeout: float = runtime(600.0, above=0, most=86_400)
    device: str = runtime("auto")

    def __post_init__(self) -> None:
        super().__post_init__()
        if "hypothesis" not in self.texts:
            raise ConfigError(f"texts: {quote_value(list(self.texts))} lacks the hypothesis, which every metric reads.")

    @property
    def reads(self) -> tuple[Role, ...]:
        return tuple(role for role in ROLES if role in self.texts)

    @property
    def signature(self) -> str:
        reads = "+".join(self.reads)
        return f"{self.declared or 'command'}|reads:{reads}|nrefs:{self.nrefs}"

    def check(self) -> None:
        """Raise UnavailableError if the program cannot be started or writes no declaration."""
        read_declaration(self._full_command, self.timeout)

    def fit(self, segments: SegmentSet) -> Self:
        """This metric with its program's declaration as identity, if the program is available (see `check`)."""
        fitted = super().fit(segments)
        try:
            said = read_declaration(self._full_command, self.timeout)
        except UnavailableError:
            return fitted
        return dataclasses.replace(fitted, declared=describe_program(said))

    def expand(self, name: str, sets: Sequence[SegmentSet]) -> Mapping[str, Self]:
        """This metric by its own name, or by the one that its program gives."""
        if self.name is not None:
            return {self.name: self}
        try:
            return {read_declaration(self._full_command, self.timeout)["name"]: self}
        except UnavailableError:
            return {name: self}

    def score(self, items: Sequence[Item]) -> Floats:
        """float64[n] scores of the program; undefined ones, which it writes as nan, are refused as any metric's.

        Raises UnavailableError if the program cannot be started or ends again and again, and ComponentError for output
        that is no number.
        """
        if not items:
            return np.empty(0)
        rows = [self._row(item) for item in items]
        scores = score_rows(self._full_command, rows, self.batch_size, self.timeout, self.declared)
        return np.array(scores, dtype=np.float64)

    def _row(self, item: Item) -> str:
        """A line of JSON for the program, from an item."""
        row: dict[str, str | list[str]] = {}
        for role in self.reads:
            if role == "reference":
                row["references"] = self.references_of(item)
            else:
                row[role] = item.text(role)
        return json.dumps(row, ensure_ascii=False)

    @property
    def _full_command(self) -> Command:
        """The words of the command line with paths of packages, and the device."""
        if not self.command:
            raise UnavailableError(
                "no command is named: write 'metric.command.command=[ENVIRONMENT/bin/python,METRIC.py]'."
            )
        words = []
        for word in self.command:
            words.append(str(model_path(word)) if word.startswith(PACKAGE) else word)
        device = assigned_device() if self.device == "auto" else self.device
        return Command(tuple(words), device)
