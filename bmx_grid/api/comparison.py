"""Which metric correlates best with human judgements: columns of scores, with intervals and tests of every pair."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.api.compared import Compared, Grouping, Level
from bmx_grid.api.compared_pairs import (
    ComparisonOptions,
    ScoredColumn,
    compare_pairs,
    metric_pairs,
    progress_total,
    tests_of_pairs,
    verdicts_of_pairs,
)
from bmx_grid.api.frames import (
    NAME,
    Columns,
    add_missing_texts,
    frame_rows,
    frame_table,
    number_column,
    roles_of,
)
from bmx_grid.api.inputs import Function, as_dict, as_name_list, check_resampling, one_name
from bmx_grid.api.kinds import PANDAS
from bmx_grid.core.configure import convert
from bmx_grid.core.errors import ConfigError, DataError, unknown
from bmx_grid.core.ragged import Floats
from bmx_grid.core.terminal import Progress
from bmx_grid.core.threads import one_blas_thread
from bmx_grid.core.wording import pluralize
from bmx_grid.datasets.column_roles import Roles
from bmx_grid.datasets.lines import Decimal
from bmx_grid.datasets.segments import SegmentSet, clusters
from bmx_grid.datasets.table_file import TableFile
from bmx_grid.evaluations.base import BASE, as_columns
from bmx_grid.evaluations.level_rows import CorrelationRow
from bmx_grid.evaluations.levels import OF_SYSTEMS, SystemLevel
from bmx_grid.evaluations.segment_level import CORRELATIONS, correlate_within_sources, segment_correlations
from bmx_grid.evaluations.significance import ALONE
from bmx_grid.measures.correlation import Coefficient
from bmx_grid.measures.correlations_of_resamples import Unit
from bmx_grid.measures.paired_tests import Alternative
from bmx_grid.measures.resampling import CELLS, CONFIDENCE, bundle_clusters, codes, fitting, number_of, ranges
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.perturbation import Role
from bmx_grid.words.segmentation import log_words

if TYPE_CHECKING:
    import pandas as pd

# Of a level, or of segments by their grouping: roles without which it has no meaning.
NEEDED: Mapping[str, tuple[str, ...]] = {"item": ("id", "system"), "system": ("system",), "none": ()}
FEWEST_RESAMPLES = 40  # of tests
MANY_METRICS = 10  # from which on the progress of their correlations is shown
TOGETHER = 50  # metrics at most that are correlated together, between two steps of the progress


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
    """Compare metrics by their correlation with human scores.

    Correlations have bootstrap intervals; every pair of metrics is tested by permutation.

    Args:
        frame: Table as in `grid`, one row per segment and system, with one column of scores per metric. Texts are
            optional. Segments that share an id, source, reference or document are resampled and swapped together.
        metrics: Columns of metric scores, higher is better.
        human: Column of human scores. Default: a column with a common name, such as score, DA or mqm.
        by: `"none"` pools all segments; `"item"` averages the correlations within ids, across systems; `"system"`
            averages the correlations within systems, across segments.
        level: `"segment"`, or `"system"` for the mean scores of systems.
        statistic: Correlation that the tests compare: `"pearson"`, `"spearman"`, `"kendall"` (tau-b) or
            `"kendall_tau_c"`.
        resamples: Number of bootstrap resamples and permutations, at least 40.
        seed: Seed of all random draws.
        columns: Dictionary from role to column name, as in `grid`.
        language_pair: Language pair of a frame without such a column.
        lengths: Columns with numbers of words; the verdict controls for them instead of the lengths of the texts.
        decimal: Decimal sign of scores that are texts, `"."` or `","`.
        unit: Unit that is swapped and resampled at system level: `"systems"` (default), `"inputs"` (clusters of
            segments) or `"both"`, which Deutsch, Dror and Roth (2021) recommend.
        alternative: Alternative hypothesis of the tests: `"two-sided"`, `"greater"` (the metric named first is better)
            or `"less"`.
        confidence: Level of the intervals of differences. Default: 0.95 for 95 %.

    Returns:
        Compared: `correlations`, `tests` and, at segment level without grouping, `verdicts`, as tables of the type of
            `frame`.

    Raises:
        ConfigError: A column does not exist, or an argument is invalid.
        DataError: A value is not a score, a column has fewer than 3 scores, or a required column is missing.

    Example:
        >>> import bmx_grid as bmx
        >>> import pandas as pd
        >>> frame = pd.DataFrame({
        ...     "mqm": [-1.0, -5.0, 0.0, -2.0, -8.0, -3.0],
        ...     "comet": [0.8, 0.5, 0.9, 0.7, 0.3, 0.8],
        ...     "chrf": [51.0, 60.2, 72.1, 33.0, 41.5, 47.0],
        ... })
        >>> compared = bmx.compare(frame, ["comet", "chrf"], human="mqm", resamples=100)
        >>> compared
        Compared(chrf, comet: segment level, grouping none, pearson)
        >>> compared.tests[["compared", "against", "difference"]].round(3)
          compared against  difference
        0    comet    chrf       0.595
    """
    options = _checked_options(by, level, statistic, unit, resamples, seed, alternative, confidence)
    table, kind = (frame, PANDAS) if isinstance(frame, TableFile) else frame_table(frame)
    needed = NEEDED[level if level == "system" else by]
    roles, settings = _read_columns(table, metrics, human, lengths, columns, language_pair, decimal, needed)
    if not options.is_two_sided:
        settings = _as_named(settings, as_name_list("metrics", metrics))
    pairs = list(metric_pairs(settings))
    shown = progress_total(len(pairs))
    with one_blas_thread():
        with Progress(shown, "testing", "pairs of metrics") as progress:
            differences = compare_pairs(pairs, options, progress.advance, **options.draws)
        tests = tests_of_pairs(pairs, differences, options)
        n_untested = len(pairs) - len(tests)
        if n_untested:
            warnings.warn(
                f"{table.path}: no test of {n_untested:,} of {pluralize(len(pairs), 'pair')} of metrics: one of the "
                "two has no correlation on the segments that both scored.",
                stacklevel=2,
            )
        with Progress(shown, "verdicts", "pairs of metrics") as progress:
            verdicts = verdicts_of_pairs(pairs, differences, options, progress.advance)
        frames = (_correlations(settings, options), tests, verdicts)
    n_clusters = len(set().union(*(setting.clusters for setting in settings)))
    has_lengths = all(setting.log_words is not None for setting in settings)
    draws = (options.resamples, options.seed)
    conclusion = (options.alternative, options.confidence)
    compared = Compared(*frames, level, by, statistic, *draws, roles, n_clusters, has_lengths, *conclusion)
    return compared.of_kind(kind)


def _checked_options(
    by: Grouping,
    level: Level,
    statistic: Coefficient,
    unit: Unit | None,
    resamples: int,
    seed: int,
    alternative: Alternative,
    confidence: float,
) -> ComparisonOptions:
    """Check arguments of `compare`. Raises ConfigError."""
    convert(by, Grouping, "by")
    convert(level, Level, "level")
    convert(statistic, Coefficient, "statistic")
    if unit is not None:
        convert(unit, Unit, "unit")
        if level != "system":
            raise ConfigError(f"unit: {unit!r} is of tests at system level. Add level='system', or leave unit out.")
    convert(alternative, Alternative, "alternative")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise ConfigError(f"confidence: expected a number between 0 and 1, got {confidence!r}. Write 0.9 for 90 %.")
    resamples, seed = check_resampling(resamples, seed, FEWEST_RESAMPLES)
    return ComparisonOptions(by, level, statistic, resamples, seed, unit or "systems", alternative, float(confidence))


def _as_named(settings: Sequence[ScoredColumn], names: Sequence[str]) -> list[ScoredColumn]:
    """Settings in the order of the metrics' names, those of a language pair one after the other."""
    pairs = list(dict.fromkeys(setting.pair for setting in settings))
    return sorted(settings, key=lambda setting: (pairs.index(setting.pair), names.index(setting.metric_name)))


def _correlations(settings: Sequence[ScoredColumn], options: ComparisonOptions) -> pd.DataFrame:
    """A row for each metric and statistic, as of correlations.parquet, at this level and grouping."""
    import pandas as pd

    rows_of_metrics: list[list[CorrelationRow]] = [[] for _ in settings]
    # Metrics with scores of the same segments share pairs of segments and draws.
    alike: dict[tuple[Any, bytes], list[int]] = {}
    for place, setting in enumerate(settings):
        scored = np.isfinite(setting.scores.base_scores)
        alike.setdefault((setting.pair, scored.tobytes()), []).append(place)
    shown = len(settings) if len(settings) >= MANY_METRICS else 0
    with Progress(shown, "correlations", "metrics") as progress:
        for places in alike.values():
            n_segments = len(settings[places[0]].scores.base_scores)
            # The projection of each correlation on all segments is one array.
            n_together = min(TOGETHER, fitting(CELLS, len(CORRELATIONS) * n_segments))
            for part in ranges(len(places), n_together):
                some = places[part]
                rows_of_part = _correlation_rows([settings[place] for place in some], options)
                for place, rows in zip(some, rows_of_part, strict=True):
                    rows_of_metrics[place] = rows
                progress.advance(len(some))
    frames = []
    for setting, rows in zip(settings, rows_of_metrics, strict=True):
        names = {"language_pair": setting.segments.language_pair, "metric": setting.metric_name}
        frames.append(pd.DataFrame({**names, **as_columns(CorrelationRow, rows)}).drop(columns="point"))
    return pd.concat(frames, ignore_index=True)


def _correlation_rows(settings: Sequence[ScoredColumn], options: ComparisonOptions) -> list[list[CorrelationRow]]:
    """For each of several metrics with scores of the same segments, a row for each statistic."""
    first = settings[0]
    rows_of_metrics: list[list[CorrelationRow]] = [[] for _ in settings]
    draws = options.draws
    points = [BASE] * len(settings)
    scores = np.column_stack([setting.scores.base_scores for setting in settings])

    def add_tested_statistic(usual: Sequence[Any]) -> list[Any]:
        """The usual statistics, and the one that tests compare."""
        return list(dict.fromkeys([*usual, options.statistic]))

    def add_rows(rows_by_metric: Iterable[Iterable[CorrelationRow]]) -> None:
        for rows, further in zip(rows_of_metrics, rows_by_metric, strict=True):
            rows += further

    for human in first.segments.judgements.aspects:
        if options.level == "system":
            wanted = add_tested_statistic(OF_SYSTEMS)
            add_rows(SystemLevel(setting, BASE, human, draws, wanted=wanted).rows() for setting in settings)
            continue
        statistics = add_tested_statistic(CORRELATIONS)
        add_rows(segment_correlations(first, points, scores, human, draws, [options.by], statistics))
        # Grouped by item, they are among these rows.
        if options.by != "item" and first.codes.named.any():
            within = correlate_within_sources(first, points, scores, human, draws)
            add_rows([row] for row in within)
    return rows_of_metrics


def _read_columns(
    table: TableFile,
    metrics: str | Sequence[str],
    human: str | None,
    lengths: str | Sequence[str],
    columns: Columns | None,
    language_pair: str | None,
    decimal: Decimal,
    needed: Sequence[str],
) -> tuple[Roles, list[ScoredColumn]]:
    """The columns by role, and a setting of each language pair and metric; other arguments are those of `compare`.

    needed: roles without which the comparison has no meaning. Raises ConfigError for unknown columns, DataError for
    values that are not scores.
    """
    convert(decimal, Decimal, "decimal")
    human = one_name("human", human, "the name of a column")
    language_pair = one_name("language_pair", language_pair)
    names = as_name_list("metrics", metrics)
    length_columns = as_name_list("lengths", lengths)
    roles = _roles(table, names, human, length_columns, as_dict("columns", columns), needed)
    scores = {name: _scores(table, name, decimal) for name in names}
    words = None
    if length_columns:
        words = np.column_stack([number_column(table, name, decimal) for name in length_columns])
    for role in ("hypothesis", "rater"):
        if len(roles.get(role, ())) > 1:
            raise ConfigError(f"columns: {role}: metrics have one column each, so give one row per output and rater.")
    rows = frame_rows(*add_missing_texts(table, roles), language_pair, decimal)
    _check_repeated(table, rows.repeated, scores)
    sets = [(rows.segments(NAME, pair), rows_of_pair) for pair, rows_of_pair in rows.by_pair.items()]
    return roles, list(_settings(sets, roles, scores, words))


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
            raise ConfigError("human and the role score both name the human scores; leave one out.")
        columns = {**columns, "score": human}
    return roles_of(table, columns, ("score", *needed), taken=[*metrics, *lengths])


def _scores(table: TableFile, name: str, decimal: Decimal) -> Floats:
    """float64 of a metric's column. Warns of missing scores; raises DataError."""
    values = number_column(table, name, decimal)
    missing = int(np.isnan(values).sum())
    if missing:
        warnings.warn(
            f"{table.path}: {missing:,} of {len(values):,} segments have no score in column '{name}'; these are "
            "ignored.",
            # Where `compare` is called.
            stacklevel=4,
        )
    return values


def _check_repeated(table: TableFile, repeated: Mapping[int, int], scores: Mapping[str, Floats]) -> None:
    """Raise DataError if a metric scores an output differently in the rows of its raters."""
    for name, values in scores.items():
        for row, first in repeated.items():
            if values[row] != values[first] and not np.isnan([values[row], values[first]]).all():
                raise DataError(
                    f"{table.where(row)}: the column {name!r} is {values[row]:g}, but {values[first]:g} in "
                    f"{table.place(first)}, the row of another rater of the output; a metric has one score per output."
                )


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
            # It is never called: it holds scores.
            metric = Function(len, name, reads, "")
            base = AttributionSet(scores[name][rows], {})
            setting = ScoredColumn(
                segments, name, ALONE, metric, None, items, base, labels_of_pair, has_texts=has_texts
            )
            if log_lengths is None and has_texts:
                log_lengths = log_words(*(setting.word_counts(role) for role in reads))
            yield replace(setting, log_words=log_lengths)


def _bundles(labels: Sequence[NDArray[np.object_]]) -> list[list[str]]:
    """The labels of clusters of each language pair, or of bundles of clusters if there are too many to be drawn."""
    cluster_codes = codes(np.concatenate(labels))
    bundle_codes = bundle_clusters(cluster_codes)
    if bundle_codes is cluster_codes:
        return [pair_labels.tolist() for pair_labels in labels]
    bundles = range(number_of(bundle_codes))
    names = np.array(list(map(str, bundles)), dtype=np.object_)
    ends = np.cumsum([len(pair_labels) for pair_labels in labels])
    by_pair = np.split(names[bundle_codes], ends[:-1])
    return [pair_labels.tolist() for pair_labels in by_pair]
