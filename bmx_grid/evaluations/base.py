"""The interface of evaluations: from finished settings to the rows of tables."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from functools import cache, cached_property
from typing import Annotated, Any, ClassVar, Literal, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.identity import Component
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.core.renamed import old_names
from bmx_grid.core.wording import format_interval
from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.explainers.base import Explainer
from bmx_grid.measures.grid import GridInputs, GridSpec, grid_inputs
from bmx_grid.measures.resampling import codes, number_of
from bmx_grid.metrics.base import Metric
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.perturbation import ROLES, Item, Role
from bmx_grid.words.segmentation import WHITESPACE, PairWords, share_words
from bmx_grid.words.tags import Rows

ColumnKind = Literal["text", "number", "count", "flag"]
ColumnValues = Mapping[str, Sequence[Any] | NDArray[Any]]
NAMES = ("dataset", "language_pair", "metric", "explainer")  # the first columns of every table of settings
# Names that settings share which are evaluated together.
OF_PAIR = NAMES[:2]  # metrics of one language pair
OF_METRIC = NAMES[:3]  # explainers of one metric and pair
OF_PAIRS = ("dataset", *NAMES[2:])  # language pairs of a data set, of one metric and explainer
OF_SETS = NAMES[2:]  # all language pairs and data sets of one metric and explainer
BASE = "base"  # the point of the baseline
SettingNames = tuple[str, str, str, str]  # data set, language pair, metric, explainer


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval, such as a gain; NaN where undefined.

    A field of a row that is one makes three columns, with _low and _high, one that is `Measured` the columns low and
    high, and one that is `Tested` p, too.

    p: two-sided, of 0, by Student's t of the value over its standard error.
    """

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan

    @property
    def significant(self) -> bool:
        """Whether the interval lies above 0."""
        return self.low > 0

    def __str__(self) -> str:
        return format_interval(self.value, self.low, self.high)

    def __format__(self, form: str) -> str:
        return format_interval(self.value, self.low, self.high, form) if form else str(self)


NOTHING = Estimate()
Measured = Annotated[Estimate, "the subject of a row"]
Tested = Annotated[Estimate, "the subject of a row, with its p value"]


@dataclass(frozen=True, kw_only=True)
class SettingRow:
    """A row of a table; a sweep writes the names of its setting before its own columns.

    KEY: columns that distinguish the rows of one setting; by default all columns. LATER: numbers that older tables
    lack.
    """

    KEY: ClassVar[tuple[str, ...] | None] = None
    LATER: ClassVar[tuple[str, ...]] = ()

    # made by `str`: a default in the class would become that of a row's field of this name
    dataset: str = field(default_factory=str)
    language_pair: str = field(default_factory=str)
    metric: str = field(default_factory=str)
    explainer: str = field(default_factory=str)

    @property
    def setting_names(self) -> SettingNames:
        """Data set, language pair, metric, explainer."""
        return self.dataset, self.language_pair, self.metric, self.explainer

    @property
    def pair(self) -> tuple[str, str]:
        """Data set and language pair."""
        return self.dataset, self.language_pair

    @property
    def metric_alone(self) -> tuple[str, str, str]:
        """Data set, language pair and metric, whatever the explainer."""
        return self.dataset, self.language_pair, self.metric


class SegmentCodes:
    """The item, system, cluster and document of N segments; int64[N] numbers from 0.

    named: bool[N] whether a segment names its system; names: of the systems, in the order of their numbers. A segment
    without a document is a document of its own.
    """

    def __init__(self, segments: SegmentSet, clusters: Sequence[str]) -> None:
        # Numbers need a name for every segment; `named` marks the unnamed segments.
        systems = [segment.system or "" for segment in segments.segments]
        named = [segment.system is not None for segment in segments.segments]
        # No id of a document begins with this character: the names cannot meet.
        documents = [segment.document or f"\0{segment.id}" for segment in segments.segments]
        self.named = np.array(named, dtype=np.bool_)
        self.names: list[str] = sorted(set(systems))
        self.items = codes([segment.id for segment in segments.segments])
        self.systems = codes(systems)
        self.clusters = codes(list(clusters))
        self.documents = codes(documents)

    def array_by_system(self, scores: Mapping[str, float]) -> Floats:
        """float64[systems] from scores by the name of a system; NaN if missing."""
        return np.array([scores.get(system, math.nan) for system in self.names], dtype=np.float64)

    def table(self, scores: Floats) -> Floats:
        """float64[items, systems] from float64[N] scores of segments; NaN if missing."""
        by_item = np.full((number_of(self.items), len(self.names)), np.nan)
        by_item[self.items[self.named], self.systems[self.named]] = scores[self.named]
        return by_item


@dataclass(frozen=True, eq=False)
class Combination:
    """Data set x language pair x metric x explainer, with the objects behind the names.

    explainer: None for the baseline. items: N, the texts that the metric reads.
    """

    segments: SegmentSet
    metric_name: str
    explainer_name: str
    metric: Metric
    explainer: Explainer | None
    items: tuple[Item, ...]

    @property
    def names(self) -> SettingNames:
        """Data set, language pair, metric, explainer."""
        return (*self.pair, self.metric_name, self.explainer_name)

    @property
    def pair(self) -> tuple[str, str]:
        """Data set and language pair."""
        return self.segments.dataset, self.segments.language_pair


@dataclass(frozen=True, eq=False)
class ScoredSetting(Combination):
    """A finished setting: N segments with human scores, metric scores and attributions.

    scores: float64[N] of the baseline, and the attributions by role (no roles without an explainer). clusters: N
    labels; segments of one label share a source, a reference or a document, texts also across the language pairs of a
    data set, and are drawn together.
    surface: its grid (`grid_surface.GridOfSetting`), computed as the setting ended; None in a sweep without a grid.
    segmented: how the texts are segmented.
    others: float64[N] scores of other metrics of the sweep on the same segments, by name, for those that average them.
    averages: the best of their averages, kept for all settings that choose among them (`boosts.controls`).
    further: float64[K] scores of the texts that an evaluation wants scored (`Evaluation.texts`), by its key. boosted:
    float64[N] boosted scores by the name of their point, as the evaluations before this one declared them
    (`Evaluation.points`); NaN for a segment without one. gains: over the baseline at these points, in the correlation
    of the grid, as the evaluations before this one estimated them (`Evaluation.gains`).
    """

    scores: AttributionSet
    clusters: Sequence[str]
    boosted: Mapping[str, Floats] = field(default_factory=dict)
    gains: Mapping[str, Estimate] = field(default_factory=dict)
    surface: Any = None
    segmented: PairWords = WHITESPACE
    others: Mapping[str, Floats] = field(default_factory=dict)
    averages: dict[str, Any] = field(default_factory=dict)
    further: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def points(self) -> Mapping[str, Floats]:
        """float64[N] scores by point: the baseline as "base", then those of `boosted`."""
        return {BASE: self.scores.base_scores, **self.boosted}

    @property
    def direction(self) -> float:
        """1 for a metric whose higher scores are better, else -1."""
        return 1.0 if self.metric.higher_is_better else -1.0

    @cached_property
    def codes(self) -> SegmentCodes:
        """The item, system and cluster of its segments."""
        return SegmentCodes(self.segments, self.clusters)

    @property
    def text_roles(self) -> tuple[Role, ...]:
        """The roles of texts that are read or explained, in the order of ROLES: those that `words` knows."""
        return tuple(role for role in ROLES if role in self.metric.reads or role in self.scores.attributed)

    def words(self, role: Role) -> Rows:
        """N rows of the words of a text that have attributions.

        Imported explanations may lack some words; these are left out.
        """
        return share_words(self._rows(role))

    def segment_words(self, role: Role) -> Rows:
        """N rows of the words of a text of the segments, whether or not the metric reads it."""
        return self.segmented.rows(role, self.segments.texts(role))

    def word_counts(self, role: Role) -> Ints:
        """int64[N] the number of words of each row of `words`, without holding the words."""
        return np.fromiter(map(len, self._rows(role)), dtype=np.int64, count=len(self.items))

    def _rows(self, role: Role) -> Iterable[tuple[str, ...]]:
        # Imported explanations may lack words; attributions were carried over to the other ones.
        if role in self.scores.attributed:
            return self.scores.attributed[role]
        return (self.segmented.words(role, item.text(role)) for item in self.items)

    def inputs(self, spec: GridSpec) -> GridInputs:
        """The used segments and their means for every p (`measures.grid.segment_means`).

        Raises DataError when attributions are too large to be shifted.
        """
        scores = self.scores
        return grid_inputs(spec, scores.base_scores, scores.ground_truth, scores.hypothesis, self.segments.human_scores)

    def add_points(self, boosted: Mapping[str, Floats]) -> ScoredSetting:
        """The same setting with these further points."""
        return replace(self, boosted={**self.boosted, **boosted})

    def add_gains(self, gains: Mapping[str, Estimate]) -> ScoredSetting:
        """The same setting with these further gains at points."""
        return replace(self, gains={**self.gains, **gains})


# Applies a function to every item of a list, in this process or in others.
MapFunction = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


def map_sequential(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Apply a function to each item in this process."""
    return [function(item) for item in items]


def group_by_names(settings: Sequence[ScoredSetting], names: Sequence[str]) -> list[list[int]]:
    """The places of settings that share these of NAMES."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for place, setting in enumerate(settings):
        value_of = dict(zip(NAMES, setting.names, strict=True))
        shared = tuple(value_of[name] for name in names)
        groups.setdefault(shared, []).append(place)
    return list(groups.values())


@dataclass(frozen=True)
class Evaluation(Component):
    """Evaluates finished settings. The rows of all settings of a sweep make its tables.

    It reads stored scores and attributions only: a cached sweep is evaluated anew without a metric call. Results depend
    on the settings and on the identity fields of the evaluation, and on nothing else.

    ROWS: the tables, each with the class of its rows, whose fields are the columns after NAMES, which questions read if
    it is a `SettingRow`. A field named as one of NAMES replaces it, for rows about something else than their setting.
    SCOPE: settings with equal values of these names are evaluated together; by default each setting is a scope.
    QUESTIONS: modules of questions for its tables, in addition to those of the analysis. SECONDS: estimated, per
    segment on one core, with 1,000 resamples if it has a field `resamples`.
    """

    RENAMED: ClassVar[Mapping[str, str]] = {"of_scope": "evaluate_scope"}
    ROWS: ClassVar[Mapping[str, type]]
    SCOPE: ClassVar[tuple[str, ...]] = NAMES
    QUESTIONS: ClassVar[tuple[str, ...]] = ()
    SECONDS: ClassVar[float] = 0.0

    @property
    def reads_ground_truth(self) -> bool:
        """Whether it needs attributions of words of the source or reference."""
        return False

    @property
    def key(self) -> str:
        """The name of its results: that of its first table."""
        return next(iter(self.ROWS))

    @abstractmethod
    def evaluate_scope(self, settings: Sequence[ScoredSetting]) -> Sequence[Any]:
        """Return a result of any type per setting of one scope, for `rows` and the report.

        Undefined numbers are NaN, and counted. It may run in another process.
        """

    def evaluate(self, settings: Sequence[ScoredSetting], map_function: MapFunction = map_sequential) -> list[Any]:
        """Return a result per setting of a finished sweep; results that need several scopes are added in this method.

        settings: without those that failed. map_function: applies a function to every item of a list, in worker
        processes if that is quicker; its arguments must be picklable.
        """
        groups = group_by_names(settings, self.SCOPE)
        scopes = []
        for places in groups:
            scopes.append([settings[place] for place in places])
        # Scopes group the settings; results return to the order of the settings.
        results: list[Any] = [None] * len(settings)
        for places, results_of_scope in zip(groups, map_function(self.evaluate_scope, scopes), strict=True):
            for place, result in zip(places, results_of_scope, strict=True):
                results[place] = result
        return results

    def rows(self, result: Any) -> Mapping[str, Sequence[Any] | ColumnValues]:
        """The rows of a result by table; columns in place of thousands of rows.

        They are its fields named as the tables. Of a mapping they are the values; a table that is no key has no rows.
        """
        if isinstance(result, Mapping):
            return {table: result.get(table, ()) for table in self.ROWS}
        return {table: getattr(result, table) for table in self.ROWS}

    def columns(self, result: Any) -> dict[str, ColumnValues]:
        """The rows of a result as columns, by table. Raises ValueError if they are not those of ROWS."""
        rows = self.rows(result)
        return {table: as_columns(row, rows[table]) for table, row in self.ROWS.items()}

    def count_texts(self, n_words: Sequence[int]) -> int:
        """The most texts that `texts` has of an explained setting whose hypotheses have so many words; 0 by default."""
        return 0

    def texts(self, setting: ScoredSetting) -> Sequence[Item]:
        """K further texts that the metric scores once a setting is explained; none by default.

        It does not score them: the sweep does, keeps their scores in the store, and hands them over as
        `ScoredSetting.further`, in this order. A setting whose texts were not scored lacks them.
        """
        return ()

    def points(self, result: Any) -> Mapping[str, Floats]:
        """Boosted scores float64[N] by the name of their point, for the evaluations that follow; none by default."""
        return {}

    def gains(self, result: Any) -> Mapping[str, Estimate]:
        """Gains over the baseline at declared points, for the evaluations that follow; none by default."""
        return {}

    def segment_columns(self, result: Any) -> ColumnValues:
        """Columns with a value per segment (N) for the table of scores; none by default."""
        return {}

    def inapplicable(self, n_metrics: int, n_explainers: int, sets: Sequence[SegmentSet]) -> str:
        """Why it has no rows for so many metrics and explainers on these sets, as a clause; "" if it has."""
        return ""

    def cost(self, n_segments: int) -> float:
        """Estimated seconds that a setting of this many segments takes on one core."""
        # Work besides the resamples counts as a hundred resamples.
        return n_segments * self.SECONDS * max(getattr(self, "resamples", 1000), 100) / 1000


__getattr__ = old_names(__name__, {"Finished": "ScoredSetting"})
MOST_RESAMPLES = 1_000_000
COLUMN_KINDS: dict[Any, ColumnKind] = {str: "text", float: "number", float | None: "number", int: "count", bool: "flag"}
FieldColumns = tuple[Any, tuple[str, ...]]  # the type of a field of a row, and the columns it makes


@cache
def fields_of(row: type) -> Mapping[str, FieldColumns]:
    """The type of each field of a class of rows, and the columns it makes; without the names of the setting."""
    hints = get_type_hints(row, include_extras=True)
    columns: dict[str, FieldColumns] = {}
    for field_ in fields(row):
        name = field_.name
        # A row may name another language pair than its setting's: its own field of this name is a column.
        if field_ is SettingRow.__dataclass_fields__.get(name):
            continue
        # Labels are stored as texts; readers check their values.
        hint = str if get_origin(hints[name]) is Literal else hints[name]
        ends: tuple[str, ...] = ()
        if hint in (Measured, Tested):
            ends = ("low", "high", "p") if hint == Tested else ("low", "high")
        elif hint not in COLUMN_KINDS:
            ends = (f"{name}_low", f"{name}_high")
        columns[name] = (hint, (name, *ends))
    return columns


def columns_of(row: type) -> dict[str, ColumnKind]:
    """Map the columns of a class of rows, in the order of its fields, to their kinds."""
    columns: dict[str, ColumnKind] = {}
    for hint, names in fields_of(row).values():
        # An estimate and the ends of its interval are numbers.
        columns |= dict.fromkeys(names, COLUMN_KINDS.get(hint, "number"))
    return columns


def as_columns(row: type, rows: Sequence[Any] | ColumnValues) -> ColumnValues:
    """The columns of some rows. Raises ValueError if they are not the fields of `row`, or of unequal length."""
    declared = columns_of(row)
    if not isinstance(rows, Mapping):
        columns: dict[str, list[Any]] = {name: [] for name in declared}
        for name, (hint, names) in fields_of(row).items():
            for row_object in rows:
                value = getattr(row_object, name)
                # None is an estimate that is not known.
                cells = (value,) if hint in COLUMN_KINDS else astuple(value or NOTHING)[: len(names)]
                for column, cell in zip(names, cells, strict=True):
                    columns[column].append(cell)
        return columns
    if list(rows) != list(declared):
        raise ValueError(f"the columns of {row.__name__} are {', '.join(declared)}, not {', '.join(rows) or 'none'}.")
    # Arrow's own error would not name the table.
    if len({len(column) for column in rows.values()}) > 1:
        raise ValueError(f"columns of {row.__name__} differ in length.")
    return rows
