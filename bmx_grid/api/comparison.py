"""Which metric correlates best with human judgements: columns of scores, with intervals and tests of every pair."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from bmx_grid.api.compared import Compared, Grouping, Level
from bmx_grid.api.compared_pairs import (
    ComparisonOptions,
    PairOfMetrics,
    Row,
    ScoredColumn,
    ScoredColumns,
    TestsOfColumns,
    better_first,
    in_order,
    metric_pairs,
    verdicts_of,
)
from bmx_grid.api.frames import NAME, Columns, frame_table, number_column, roles_of, segment_rows
from bmx_grid.api.inputs import Function, drawn, keyed, listed, one_name
from bmx_grid.api.kinds import PANDAS
from bmx_grid.attribution.store import AttributionSet
from bmx_grid.core.configure import build, convert, load_option
from bmx_grid.core.errors import ConfigError, DataError, unknown
from bmx_grid.core.ragged import Floats
from bmx_grid.datasets.lines import Decimal
from bmx_grid.datasets.segments import SegmentSet, clusters
from bmx_grid.datasets.table_file import TableFile
from bmx_grid.datasets.table_roles import Roles
from bmx_grid.datasets.table_values import is_gap
from bmx_grid.evaluations.base import BASE, ColumnValues, as_columns
from bmx_grid.evaluations.grid_options import GridOptions
from bmx_grid.evaluations.level_rows import CorrelationRow
from bmx_grid.evaluations.levels import OF_SYSTEMS, SystemLevel
from bmx_grid.evaluations.segment_level import CORRELATIONS, segment_correlations, within_sources
from bmx_grid.evaluations.significance import ALONE
from bmx_grid.measures.correlation import Coefficient
from bmx_grid.measures.drawn_units import Unit
from bmx_grid.measures.grouped import within_groups
from bmx_grid.measures.multiple_tests import benjamini_hochberg, holm
from bmx_grid.measures.nuisance import log_words
from bmx_grid.measures.paired_tests import Alternative, Comparison, compare_sums
from bmx_grid.measures.paired_tests import compare as significance
from bmx_grid.measures.resampling import CONFIDENCE, bundled, codes, number_of
from bmx_grid.measures.systems import by_mean, mean
from bmx_grid.words.perturbation import Role

if TYPE_CHECKING:
    import pandas as pd

# Of a level, or of segments by their grouping: roles without which it has no meaning.
NEEDED: Mapping[str, tuple[str, ...]] = {"item": ("id", "system"), "system": ("system",), "none": ()}
FEWEST_RESAMPLES = 40  # of tests
TEST: Final = "perm_inputs"  # clusters of segments are swapped between the metrics


def compare(
    frame: Any,
    metrics: str | Sequence[str],
    human: str | None = None,
    *,
    by: Grouping = "none",
    level: Level = "segment",
    statistic: Coefficient = "pearson",
    resamples: int = 1000,
    seed: int = 0,
    columns: Columns | None = None,
    language_pair: str | None = None,
    lengths: str | Sequence[str] = (),
    decimal: Decimal = ".",
    unit: Unit | None = None,
    alternative: Alternative = "two-sided",
    confidence: float = CONFIDENCE,
) -> Compared:
    """Which metric correlates best with human judgements: correlations, intervals and tests of columns of scores.

    >>> import bmx_grid as bmx
    >>> import pandas as pd
    >>> frame = pd.DataFrame({
    ...     "mqm": [-1.0, -5.0, 0.0, -2.0, -8.0, -3.0],
    ...     "comet": [0.8, 0.5, 0.9, 0.7, 0.3, 0.8],
    ...     "chrf": [51.0, 60.2, 72.1, 33.0, 41.5, 47.0],
    ... })
    >>> bmx.compare(frame, ["comet", "chrf"], human="mqm", resamples=100)
    Compared(chrf, comet: segment level, grouping none, pearson)

    frame: of any kind, as for `grid`, and the tables of the result are of its kind. One row per segment (and system): a
        column per metric, the human scores, and id, system, source, reference if there are any: segments that share an
        id, a source, a reference or a document are drawn and swapped together.
    metrics: columns of scores, higher is better. human: the column of human scores; without it, that of a usual name.
    by: grouping of segments: "item" (the systems of one id against each other), "system", or none. level: "segment" or
        "system" (means of the systems' segments). statistic: "pearson", "spearman", "kendall" (tau-b) or "kendall_c",
        which tests compare; resamples, seed: of intervals and tests. columns, language_pair, decimal: as for `grid`.
        lengths: columns of numbers of words, in place of those of the texts, that a verdict controls for. unit: what
        tests at system level swap between the metrics, and their intervals draw: "systems" (the default), or "inputs"
        (clusters of segments) or "both", with systems' scores made anew each time; Deutsch and others (2021) recommend
        "both". alternative: what p speaks of: that two metrics differ, or that the one named first is better
        ("greater") or worse ("less"). confidence: of the intervals of differences, 0.9 for 90 %.
    Raises ConfigError for unknown columns, DataError for values that are not scores.
    """
    convert(by, Grouping, "by")
    convert(level, Level, "level")
    convert(statistic, Coefficient, "statistic")
    convert(decimal, Decimal, "decimal")
    if unit is not None:
        convert(unit, Unit, "unit")
        if level != "system":
            raise ConfigError(f"unit: {unit!r} is of tests at system level. Add level='system', or leave unit out.")
    convert(alternative, Alternative, "alternative")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise ConfigError(f"confidence: expected a number between 0 and 1, got {confidence!r}. Write 0.9 for 90 %.")
    human = one_name("human", human, "the name of a column")
    language_pair = one_name("language_pair", language_pair)
    resamples, seed = drawn(resamples, seed, FEWEST_RESAMPLES)
    conclusion = (alternative, float(confidence))
    options = ComparisonOptions(by, level, statistic, resamples, seed, unit or "systems", *conclusion)
    table, kind = (frame, PANDAS) if isinstance(frame, TableFile) else frame_table(frame)
    names = listed("metrics", metrics)
    length_columns = listed("lengths", lengths)
    needed = NEEDED[level if level == "system" else by]
    roles = _roles(table, names, human, length_columns, keyed("columns", columns), needed)
    scores = {name: _scores(table, name, decimal) for name in names}
    words = None
    if length_columns:
        words = np.column_stack([number_column(table, name, decimal) for name in length_columns])
    for role in ("hypothesis", "rater"):
        if len(roles.get(role, ())) > 1:
            raise ConfigError(f"columns: {role}: metrics have one column each, so give one row per output and rater.")
    rows = segment_rows(*_with_texts(table, roles), language_pair, decimal)
    _check_repeated(table, rows.repeated, scores)
    sets = [(rows.segments(NAME, pair), rows_of_pair) for pair, rows_of_pair in rows.by_pair.items()]
    settings = list(_settings(sets, roles, scores, words))
    if alternative != "two-sided":
        # A side is that of the metric named first.
        settings.sort(key=lambda setting: names.index(setting.metric_name))
    frames = _frames(settings, options)
    clusters_of_all = set().union(*(setting.clusters for setting in settings))
    has_lengths = all(setting.log_words is not None for setting in settings)
    n_clusters = len(clusters_of_all)
    counts = (roles, n_clusters, has_lengths)
    compared = Compared(*frames, level, by, statistic, resamples, seed, *counts, *conclusion)
    return compared.of_kind(kind)


def _frames(settings: ScoredColumns, options: ComparisonOptions) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Correlations, tests and verdicts of settings at this level and grouping."""
    import pandas as pd

    correlations = pd.concat([_correlations(setting, options) for setting in settings], ignore_index=True)
    grid = build(load_option("evaluation", "grid", options.seed), GridOptions, "grid")
    # Built for tests within groups, too, which it has none of: it checks `resamples`.
    tests_of_pairs = TestsOfColumns(
        grid=grid, tests=(TEST,), statistics=(options.statistic,), unit=options.unit, **options.conclusion
    )
    if options.level == "segment" and options.by != "none":
        return correlations, _corrected(pd.DataFrame(_grouped_tests(settings, options)), options), pd.DataFrame()
    tests = _ungrouped_tests(settings, tests_of_pairs)
    # Metrics are tested at both levels.
    tests = tests[tests["level"] == options.level].reset_index(drop=True)
    verdicts = []
    if options.level == "segment":
        verdicts = verdicts_of(settings, options, _better_metrics(better_first(tests)))
    return correlations, in_order(tests, options), pd.DataFrame(verdicts)


def _corrected(tests: pd.DataFrame, options: ComparisonOptions) -> pd.DataFrame:
    """Tests with corrected p values, the better metric of each pair in front."""
    tests = tests.assign(level=options.level)
    if not len(tests):
        return tests
    p = tests["p"]
    return in_order(tests.assign(p_holm=holm(p), p_bh=benjamini_hochberg(p)), options)


def _better_metrics(tests: pd.DataFrame) -> dict[PairOfMetrics, str]:
    """The better metric of each pair whose difference is defined."""
    better = {}
    for row in tests.to_dict("records"):
        if not math.isnan(row["difference"]):
            pair_of_metrics = (row["language_pair"], frozenset((row["compared"], row["against"])))
            better[pair_of_metrics] = row["compared"]
    return better


def _correlations(setting: ScoredColumn, options: ComparisonOptions) -> pd.DataFrame:
    """A row for each statistic of a metric, as of correlations.parquet, at this level and grouping."""
    rows: list[CorrelationRow] = []
    draws = options.draws
    scores = setting.points[BASE][:, None]

    def shown(usual: Sequence[Any]) -> list[Any]:
        """The usual statistics, and the one that tests compare."""
        return list(dict.fromkeys([*usual, options.statistic]))

    for human in setting.segments.judgements.aspects:
        if options.level == "system":
            rows += SystemLevel(setting, BASE, human, draws, wanted=shown(OF_SYSTEMS)).rows()
            continue
        (rows_of_metric,) = segment_correlations(
            setting, [BASE], scores, human, draws, [options.by], shown(CORRELATIONS)
        )
        rows += rows_of_metric
        # Grouped by item, they are among these rows.
        if options.by != "item" and setting.codes.named.any():
            rows += within_sources(setting, [BASE], scores, human, draws)
    return _frame(setting, as_columns(CorrelationRow, rows)).drop(columns="point")


def _frame(setting: ScoredColumn, columns: ColumnValues) -> pd.DataFrame:
    """The columns of a setting's rows, after its language pair and metric."""
    import pandas as pd

    names = {"language_pair": setting.segments.language_pair, "metric": setting.metric_name}
    return pd.DataFrame({**names, **columns})


def _roles(
    table: TableFile,
    metrics: Sequence[str],
    human: str | None,
    lengths: Sequence[str],
    columns: Mapping[str, Any],
    needed: Sequence[str],
) -> Roles:
    """Role -> its columns. Raises ConfigError for metrics and human scores that cannot be used, DataError for none."""
    if not metrics:
        raise ConfigError("metrics: name at least one column of scores, as in compare(frame, ['comet', 'chrf']).")
    named = {"metrics": metrics, "human": [] if human is None else [human], "lengths": lengths}
    for argument, names in named.items():
        for name in names:
            if name not in table.names:
                raise ConfigError(f"{table.path}: {argument}: {unknown('column', name, table.names)}")
    if human in metrics:
        raise ConfigError(f"human: the column {human!r} is one of the metrics; name another one with human.")
    if human is not None:
        if "score" in columns:
            raise ConfigError("human and the role score both name the human scores; give one of them.")
        columns = {**columns, "score": human}
    return roles_of(table, columns, ("score", *needed), taken=[*metrics, *lengths])


def _scores(table: TableFile, name: str, decimal: Decimal) -> Floats:
    """float64 of a metric's column; a warning says how many are missing. Raises DataError."""
    values = number_column(table, name, decimal)
    missing = int(np.isnan(values).sum())
    if missing:
        warnings.warn(
            f"{table.path}: {missing:,} of {len(values):,} segments have no score in column '{name}'; they are left "
            "out and counted.",
            # Where `compare` is called.
            stacklevel=3,
        )
    return values


def _check_repeated(table: TableFile, repeated: Mapping[int, int], scores: Mapping[str, Floats]) -> None:
    """Raise DataError where a metric scores an output differently in the rows of its raters."""
    for name, values in scores.items():
        for row, first in repeated.items():
            if values[row] != values[first] and not np.isnan([values[row], values[first]]).all():
                raise DataError(
                    f"{table.where(row)}: the column {name!r} is {values[row]:g}, but {values[first]:g} in "
                    f"{table.place(first)}, the row of another rater of the output; a metric has one score per output."
                )


def _with_texts(table: TableFile, roles: Roles) -> tuple[TableFile, Roles]:
    """The table and its roles with columns for the texts that segments need, in place of those that are not there.

    Scores need no texts: a hypothesis that is not there is the row's number and never read, and in place of a source or
    reference is the id, so that segments of one id are one cluster.
    """
    texts = {}
    if "hypothesis" not in roles:
        # With ids the rows of one output have one text, as if it were there.
        texts["hypothesis"] = [""] * len(table) if "id" in roles else [str(row + 1) for row in range(len(table))]
    if "source" not in roles and "reference" not in roles:
        if "id" in roles:
            (id_column,) = roles["id"]
            ids = table.take([id_column])[id_column]
        else:
            ids = [str(row + 1) for row in range(len(table))]
        # As texts: what is no id is refused by the column that holds it.
        texts["source"] = ["" if is_gap(name) else str(name) for name in ids]
    added_roles = {role: (f"({role})",) for role in texts}
    added = {f"({role})": values for role, values in texts.items()}

    def column(name: str) -> list[Any]:
        return added[name] if name in added else table.take([name])[name]

    # A metric may be called as a role: only columns that play a role are in this table.
    used = dict.fromkeys(itertools.chain.from_iterable(roles.values()))
    completed = TableFile(table.path, [*used, *added], len(table), column, table.place)
    return completed, {**roles, **added_roles}


def _settings(
    sets: Sequence[tuple[SegmentSet, list[int]]], roles: Roles, scores: Mapping[str, Floats], words: Floats | None
) -> Iterator[ScoredColumn]:
    """A finished setting of each language pair and column, sorted by the names of the metrics.

    sets: segments with the numbers of their rows. scores: float64[rows] by metric. words: float64[rows, k] numbers of
    words, None for those of the texts: of the hypothesis, and of its reference or else its source, as metrics read
    them.
    """
    labels = _bundles(clusters([segments for segments, _ in sets]))
    truth: list[Role] = [role for role in ("reference", "source") if role in roles]
    reads: tuple[Role, ...] = (*truth[:1], "hypothesis")
    has_texts = "hypothesis" in roles
    for (segments, rows), labels_of_pair in zip(sets, labels, strict=True):
        items = segments.items(reads) if has_texts else ()
        log_lengths = None if words is None else log_words(words[rows])
        for name in sorted(scores):
            # It is never called: its scores are here.
            metric = Function(len, name, reads, "")
            base = AttributionSet(scores[name][rows], {})
            setting = ScoredColumn(
                segments, name, ALONE, metric, None, items, base, labels_of_pair, has_texts=has_texts
            )
            if log_lengths is None and has_texts:
                log_lengths = log_words(*(setting.word_counts(role) for role in reads))
            yield replace(setting, log_words=log_lengths)


def _bundles(labels: Sequence[NDArray[np.object_]]) -> list[list[str]]:
    """The labels of clusters of each language pair, or of bundles of clusters where there are too many to be drawn."""
    cluster_codes = codes(np.concatenate(labels))
    bundle_codes = bundled(cluster_codes)
    if bundle_codes is cluster_codes:
        return [pair_labels.tolist() for pair_labels in labels]
    bundles = range(number_of(bundle_codes))
    names = np.array(list(map(str, bundles)), dtype=np.object_)
    ends = np.cumsum([len(pair_labels) for pair_labels in labels])
    by_pair = np.split(names[bundle_codes], ends[:-1])
    return [pair_labels.tolist() for pair_labels in by_pair]


def _ungrouped_tests(settings: ScoredColumns, evaluation: TestsOfColumns) -> pd.DataFrame:
    """The tests of an evaluation, with the language pair and the metric of each row."""
    import pandas as pd

    frames = []
    for setting, result in zip(settings, evaluation.evaluate(settings), strict=True):
        columns = evaluation.columns(result)["tests"]
        frames.append(_frame(setting, columns).drop(columns=["explainer", "point"]))
    return pd.concat(frames, ignore_index=True)


def _grouped_tests(settings: ScoredColumns, options: ComparisonOptions) -> Iterator[Row]:
    """Tests of every two metrics by their correlation within items or systems, on the segments that both scored."""
    statistic = options.statistic
    conclusion = options.conclusion
    for left, right in metric_pairs(settings):
        segment_codes = left.codes
        human = left.segments.human_scores
        # Segments without a system are in no group.
        x = np.where(segment_codes.named, left.scores.base_scores, np.nan)
        y = np.where(segment_codes.named, right.scores.base_scores, np.nan)
        if options.by == "item":
            scores = np.stack([x, y], axis=1)
            x_items, y_items = within_groups(statistic, scores, human, segment_codes.items)
            _, first_rows = np.unique(segment_codes.items, return_index=True)
            labels = segment_codes.clusters[first_rows]
            test = compare_sums(by_mean(x_items), by_mean(y_items), mean, labels, **conclusion)
        else:
            groups = segment_codes.systems
            test = significance(x, y, human, segment_codes.clusters, group=groups, statistic=statistic, **conclusion)
        yield _test_row(test, left, right, options)


def _test_row(test: Comparison, left: ScoredColumn, right: ScoredColumn, options: ComparisonOptions) -> Row:
    """The row of a test of two metrics."""
    row: Row = {"language_pair": left.segments.language_pair}
    row |= {"compared": left.metric_name, "against": right.metric_name}
    row |= {"grouping": options.by, "statistic": options.statistic}
    for estimate in ("difference", "low", "high", "p", "n", "clusters"):
        row[estimate] = getattr(test, estimate)
    row["test"] = TEST
    return row
