"""A question: one file that computes a conclusion from results, and the tables that show it.

A question is a module (or any object) with two functions:

    compute(tables) -> {key: value}  numbers, texts, rows, frames, by keys that no other question uses, or an object
                                     with such fields; `tables` (`SweepTables`) holds the results table, how it is
                                     analysed, the other tables of the sweep, tables.frame(name, class), and the
                                     answers to other functions: tables.compute_once(f). The index of a frame are
                                     keys inside
    tables(result) -> [Table]        what people read of it; no tables if there is nothing to show

All outputs follow from both: the keys are those of analysis.json, the tables are written as text, Markdown, LaTeX and
CSV, shown on the page and in the terminal, and are DataFrames by `Table.frame()`.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, cast

import numpy as np

from bmx_grid.core.ragged import Flags, Floats
from bmx_grid.core.renamed import old_names
from bmx_grid.core.wording import factor_in_words, format_interval, number, setting_label
from bmx_grid.evaluations.stored_tables import Tables
from bmx_grid.evaluations.verdicts import Verdict
from bmx_grid.measures.grid import Point
from bmx_grid.sweep.tables import SettingsRow

if TYPE_CHECKING:
    import pandas as pd

Result = TypeVar("Result")
CellValue = str | int | float | None

FACTORS = ("dataset", "language_pair", "metric", "explainer")
PAIR = list(FACTORS[:2])  # settings that share both share their segments and human scores
CONTROL = "random"  # the random metric and the random explainer
CONTROLS = (CONTROL, "shuffled")  # names of metrics and explainers that are shown apart, and never selected from


class SettingKey(NamedTuple):
    """What identifies the rows of a table: data set x language pair x metric x explainer."""

    dataset: str
    language_pair: str
    metric: str
    explainer: str

    @property
    def label(self) -> str:
        """ "data set · language pair · metric · explainer"."""
        return setting_label(*self)

    @property
    def cluster(self) -> str:
        """Data set and language pair: settings that share both share their segments and human scores."""
        return setting_label(*self[:2])

    @property
    def control(self) -> bool:
        """Whether its metric or explainer is one of CONTROLS."""
        return self.metric in CONTROLS or self.explainer in CONTROLS


@dataclass(frozen=True, eq=False)
class GridTable:
    """S settings over one grid of P powers and W weights, sorted by data set, explainer, metric, language pair.

    p: float64[P] and w: float64[W], ascending, without repeats; 1 is among w.
    correlation: float64[S, P, W], NaN where undefined.
    side: whose words were aggregated, "both" or "hypothesis".
    left_out: ignored contents of the table, a clause each; origin: the file, for messages.
    """

    settings: tuple[SettingKey, ...]
    p: Floats
    w: Floats
    correlation: Floats
    side: str
    left_out: tuple[str, ...] = ()
    origin: str = "the table"

    def __len__(self) -> int:
        return len(self.settings)

    @cached_property
    def baseline(self) -> Floats:
        """float64[S] correlation of the baseline, from the first defined row with w = 1; NaN without one."""
        alone = self.correlation[:, :, self.w == 1][:, :, 0]
        # Rows with w = 1 are one number at every p; some tables leave it undefined at a few.
        first = np.argmax(~np.isnan(alone), axis=1)
        rows = np.arange(len(alone))
        return np.asarray(alone[rows, first], dtype=np.float64)

    @cached_property
    def is_boosted(self) -> Flags:
        """bool[W] which weights are not the baseline."""
        return np.asarray(self.w != 1)

    @cached_property
    def gains(self) -> Floats:
        """float64[S, P, W] correlation above the baseline of the setting."""
        return np.asarray(self.correlation - self.baseline[:, None, None], dtype=np.float64)

    @property
    def n_boosted(self) -> int:
        """Correlations with w other than 1."""
        return len(self) * len(self.p) * int(self.is_boosted.sum())

    @cached_property
    def non_controls(self) -> GridTable:
        """The settings that are not controls."""
        return self.take(~self.names["control"].to_numpy())

    def take(self, keep: Flags) -> GridTable:
        """The settings where `keep`, bool[S], is true."""
        settings = tuple(self.settings[row] for row in np.flatnonzero(keep))
        return replace(self, settings=settings, correlation=self.correlation[keep])

    @cached_property
    def names(self) -> pd.DataFrame:
        """The names of the settings, whether each is a control, and its cluster; a row each, in their order."""
        import pandas as pd

        frame = pd.DataFrame(self.settings, columns=[*FACTORS], dtype=object)
        frame["control"] = np.array([setting.control for setting in self.settings], dtype=np.bool_)
        frame["cluster"] = [setting.cluster for setting in self.settings]
        return frame

    def factor_levels(self, factor: str) -> list[str]:
        """The names of a factor that occur, sorted."""
        return sorted({getattr(setting, factor) for setting in self.settings})


NO_SETTINGS = GridTable((), np.zeros(1), np.ones(1), np.empty((0, 1, 1)), "both")


@dataclass(frozen=True, eq=False)
class SweepTables:
    """Tables of a sweep, its grids among them, and how they are analysed.

    frames: the other tables, by name, all that questions about metrics without an explainer read: files, Arrow tables
    or frames. Empty for a results table without its sweep: a question that needs one reports why it has no answer.
    `frame` has one with the columns of its class.
    table: the grids of all settings; none of metrics without an explainer.
    select_from: the table whose medians are evaluated; None for the analysed table itself.
    fixed: (p, w) by explainer; they take precedence over medians.
    seed: of the bootstrap of clusters, data set x language pair, behind intervals across settings.
    """

    frames: Mapping[str, pd.DataFrame]
    table: GridTable = NO_SETTINGS
    select_from: GridTable | None = None
    fixed: Mapping[str, Point] = field(default_factory=dict)
    seed: int = 0
    _answers: dict[Callable[..., Any], Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        # Callers may give plain frames; `frame` needs what checks them against their classes. The class is frozen.
        if not isinstance(self.frames, Tables):
            object.__setattr__(self, "frames", Tables(self.frames))

    def frame(self, table: str, row: type) -> pd.DataFrame:
        """A table with the columns of the class that wrote it; without rows if it is missing. Raises DataError."""
        assert isinstance(self.frames, Tables)
        return self.frames.checked_table(table, row)

    def compute_once(self, compute: Callable[[Self], Result]) -> Result:
        """The result of a function of `self`, computed once."""
        # Questions use each other's answers: each is computed once, in any order.
        if compute not in self._answers:
            self._answers[compute] = compute(self)
        return cast(Result, self._answers[compute])

    def ask(self, compute: Callable[[Self], Result]) -> Result:
        """The name of `compute_once` in an earlier version."""
        message = "SweepTables.ask is called compute_once now. The next release does not have the old name."
        warnings.warn(message, FutureWarning, stacklevel=2)
        return self.compute_once(compute)

    @cached_property
    def settings(self) -> pd.DataFrame:
        """One row per setting with its facts besides the grid; empty for a results table without its sweep."""
        return self.frame("settings", SettingsRow)

    @cached_property
    def correlation(self) -> str | None:
        """The correlation that all settings share. None if they differ or it is not known."""
        # Of metrics without an explainer nothing may rest on a correlation: its name is empty.
        return _only(set(self.settings["correlation"])) or None

    @cached_property
    def aggregation(self) -> str | None:
        """The aggregation that all settings share. None if they differ or it is not known."""
        return _only(set(self.settings["aggregation"])) or None

    @cached_property
    def constructed_datasets(self) -> tuple[str, ...]:
        """The data sets whose segments were made up, sorted."""
        made_up = self.settings[self.settings["constructed"]]
        return tuple(sorted(set(made_up["dataset"])))

    @property
    def has_verdicts(self) -> bool:
        """Whether boosts have verdicts: counts of settings that gain would be a second answer."""
        return not self.frame("verdicts", Verdict).empty

    @property
    def non_controls(self) -> GridTable:
        """The settings that are not controls."""
        return self.table.non_controls


def _only(names: set[str]) -> str | None:
    return next(iter(names)) if len(names) == 1 else None


@dataclass(frozen=True)
class Cell:
    """A name, a count or a number; NaN is undefined, None is no value at all.

    form: how a number is shown (a format specification); CSV and DataFrames always hold it in full. words: shown in
    place of the value.
    marked: a gain that survives the correction for the number of tests; set in bold, in plain text with a †.
    """

    value: CellValue
    form: str = ""
    words: str | None = None
    marked: bool = False

    @property
    def display_text(self) -> str:
        """The value as it is shown."""
        if self.words is not None:
            return self.words
        if isinstance(self.value, str):
            return self.value
        return number(self.value, self.form)


@dataclass(frozen=True)
class Column:
    """A column of a frame as a table shows it.

    header: its name in the table, "" for its own (of a factor in words); form: of its numbers; ends: the columns of its
    interval; marked: a column of flags for bold type.
    """

    name: str
    header: str = ""
    form: str = ""
    ends: tuple[str, str] | None = None
    marked: str = ""

    def cell(self, row: Mapping[Any, Any]) -> Cell:
        """The cell of a row."""
        value = row[self.name]
        # NumPy's types are no cell values.
        if hasattr(value, "item"):
            value = value.item()
        # Cells hold no flags: one counts 1 or 0.
        if isinstance(value, bool):
            value = int(value)
        words: str | None = None
        if self.ends is not None:
            low, high = self.ends
            words = format_interval(value, row[low], row[high], self.form)
        marked = bool(self.marked and row[self.marked])
        return Cell(value, self.form, words, marked)


@dataclass(frozen=True)
class Table:
    """stem: its file name without suffix; title: its topic; header: one name per column, all different.

    groups: rows with as many cells as the header; a line is drawn between groups. notes: sentences below it. names: how
    many columns from the left are names, not numbers. brief: shown in the terminal, too.
    data: too long to read; written as CSV only. droppable: headers of columns that a narrow terminal may lack, in the
    order in which they go.
    """

    stem: str
    title: str
    header: tuple[str, ...]
    groups: tuple[tuple[tuple[Cell, ...], ...], ...]
    notes: tuple[str, ...]
    names: int = 1
    brief: bool = False
    data: bool = False
    droppable: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.header)) < len(self.header):
            names = ", ".join(self.header)
            raise ValueError(f"{self.stem}: repeated column name: {names}")
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"{self.stem}: {len(row)} cells for {len(self.header)} columns")

    @classmethod
    def from_rows(
        cls,
        stem: str,
        title: str,
        rows: pd.DataFrame | Sequence[Mapping[Any, Any]],
        columns: Sequence[Any],
        notes: Sequence[str] = (),
        *,
        by: Sequence[str] = (),
        names: int = 1,
        brief: bool = False,
        data: bool = False,
    ) -> Table:
        """A table of columns of a frame, or of values of mappings, each a Column or its name.

        by: those whose values are the groups.
        """
        shown = [name if isinstance(name, Column) else Column(name) for name in columns]
        group_by = [Column(name) for name in by]
        records = rows if isinstance(rows, Sequence) else rows.to_dict("records")
        by_group: dict[tuple[Any, ...], list[tuple[Cell, ...]]] = {}
        for row in records:
            group = tuple(column.cell(row).value for column in group_by)
            cells = tuple(column.cell(row) for column in shown)
            by_group.setdefault(group, []).append(cells)
        header = tuple(column.header or factor_in_words(column.name) for column in shown)
        groups = tuple(map(tuple, by_group.values()))
        return cls(stem, title, header, groups, tuple(notes), names, brief, data)

    @property
    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """All rows, without the lines between groups."""
        return tuple(itertools.chain.from_iterable(self.groups))

    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame of values, not of texts; undefined and absent numbers are NaN."""
        import pandas as pd

        columns = {}
        for place, name in enumerate(self.header):
            columns[name] = [row[place].value for row in self.rows]
        return pd.DataFrame(columns)


@dataclass(frozen=True, eq=False)
class Scatter:
    """A figure of points for the page, one point per setting or other compared thing.

    stem: its file name without suffix; title, caption: as of a table and its notes; x_label, y_label: what its axes
    measure; points: by the name of a group float64[n] of either axis, in which NaN is not drawn.
    """

    stem: str
    title: str
    caption: str
    x_label: str
    y_label: str
    points: Mapping[str, tuple[Floats, Floats]]


def each_row(frame: pd.DataFrame) -> Iterator[Any]:
    """The rows of a frame, with the columns as attributes, `Index` among them."""
    # Of any type: the table knows the contents of a column, pandas does not.
    return iter(frame.itertuples())


def first_row(frame: pd.DataFrame) -> Any:
    """The first of the rows, as `each_row` gives it."""
    return next(each_row(frame))


def each_group(frame: pd.DataFrame, *by: str, sort: bool = False) -> Iterator[tuple[Any, pd.DataFrame]]:
    """The rows that share these names: the name, or of several a tuple, and the rows; the first first, or sorted."""
    names: Any = by[0] if len(by) == 1 else list(by)
    return iter(frame.groupby(names, sort=sort))


def pivot_estimates(rows: pd.DataFrame, by: list[str], column: str) -> pd.DataFrame:
    """One row per combination of the columns `by`, in the order of occurrence, with the estimates of its rows.

    Of each name in `column`, sorted, the value, then the lower ends of all as NAME_low, then the upper ones as
    NAME_high; NaN without one. rows: with the columns value, low and high; of several of one name the first counts.
    """
    once = rows.drop_duplicates([*by, column])
    wide = once.pivot(index=by, columns=column, values=["value", "low", "high"])
    parts_and_names: Any = wide.columns
    wide.columns = [name if part == "value" else f"{name}_{part}" for part, name in parts_and_names]
    return rows[by].drop_duplicates(ignore_index=True).join(wide, on=by)


__getattr__ = old_names(__name__, {"Given": "SweepTables"})
