"""Which metric correlates best with human judgements: columns of scores, with intervals and tests of every pair."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.api.compared import MOST_JUDGED, SHOWN_ESTIMATES, Compared, Grouping, Level
from bmx_grid.api.frames import Columns, Roles, frame_table, number_column, roles_of, segment_sets
from bmx_grid.api.inputs import Function, drawn, keyed, listed
from bmx_grid.api.kinds import FrameKind
from bmx_grid.attribution.store import AttributionSet
from bmx_grid.core.configure import build, convert, load_option
from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.datasets.lines import Decimal
from bmx_grid.datasets.segments import clusters
from bmx_grid.datasets.tables import TableFile as File
from bmx_grid.evaluations.base import BASE, NOTHING, Evaluation, Finished, as_columns
from bmx_grid.evaluations.grid_options import GridOptions
from bmx_grid.evaluations.held_out import rated_of, terms_of
from bmx_grid.evaluations.level_rows import CorrelationRow
from bmx_grid.evaluations.levels import SystemLevel, segment_correlations, within_sources
from bmx_grid.evaluations.significance import ALONE, SignificanceEvaluation
from bmx_grid.evaluations.verdicts import Verdict, evidence_on, judged
from bmx_grid.measures.correlation import Kind, correlate
from bmx_grid.measures.grouped import within_groups
from bmx_grid.measures.kernel_ridge import scattered
from bmx_grid.measures.nuisance import log_words
from bmx_grid.measures.paired_tests import benjamini_hochberg, compare_sums, holm
from bmx_grid.measures.paired_tests import compare as significance
from bmx_grid.measures.resampling import bundled, codes, number_of
from bmx_grid.measures.systems import by_mean, mean
from bmx_grid.words.perturbation import Role

if TYPE_CHECKING:
    import pandas as pd

NEEDED: Mapping[str, tuple[str, ...]] = {"item": ("id", "system"), "system": ("system",), "none": (), "segment": ()}
FEWEST_RESAMPLES = 40  # of tests


def compare(
    frame: Any,
    metrics: str | Sequence[str],
    human: str | None = None,
    *,
    by: Grouping = "none",
    level: Level = "segment",
    statistic: Kind = "pearson",
    resamples: int = 1000,
    seed: int = 0,
    columns: Columns | None = None,
    language_pair: str | None = None,
    lengths: str | Sequence[str] = (),
    decimal: Decimal = ".",
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
        "system" (means of the systems' segments). statistic: "pearson", "spearman" or "kendall", which tests compare;
        resamples, seed: of intervals and tests. columns, language_pair, decimal: as for `grid`. lengths: columns of
        numbers of words, in place of those of the texts, that a verdict takes off.
    Raises ConfigError for unknown columns, DataError for values that are not scores.
    """
    choices = {"by": (by, Grouping), "level": (level, Level), "statistic": (statistic, Kind)}
    for name, (value, known) in {**choices, "decimal": (decimal, Decimal)}.items():
        convert(value, known, name)
    resamples, seed = drawn(resamples, seed, FEWEST_RESAMPLES)
    table, kind = (frame, FrameKind()) if isinstance(frame, File) else frame_table(frame)
    names = listed("metrics", metrics)
    counts = listed("lengths", lengths)
    needed = NEEDED[level if level == "system" else by]
    roles = _roles(table, names, human, counts, keyed("columns", columns), needed)
    scores = {name: _scores(table, name, decimal) for name in names}
    words = np.column_stack([number_column(table, name, decimal) for name in counts]) if counts else None
    settings = list(_settings(table, scores, words, roles, language_pair, decimal))
    how: dict[str, Any] = {"resamples": resamples, "seed": seed}
    frames = _frames(settings, by, level, statistic, how)
    n_clusters = len(set().union(*(setting.clusters for setting in settings)))
    has_lengths = all(setting.log_words is not None for setting in settings)
    compared = Compared(*frames, level, by, statistic, resamples, seed, roles, n_clusters, has_lengths)
    return compared.of_kind(kind)


@dataclass(frozen=True, eq=False)
class ScoredColumn(Finished):
    """A finished setting of a column of scores. log_words: float64[N, k], None if unknown; has_texts: its words too."""

    log_words: Floats | None = None
    has_texts: bool = False


def _frames(
    settings: Sequence[ScoredColumn], by: Grouping, level: Level, statistic: Kind, how: Mapping[str, Any]
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Correlations, tests and verdicts of settings at this level and grouping; how: resamples and seed."""
    import pandas as pd

    correlations = pd.concat([_correlations(setting, by, level, how) for setting in settings], ignore_index=True)
    grid = build(load_option("evaluation", "grid", how["seed"]), GridOptions, "grid")
    by_pairs = SignificanceEvaluation(grid=grid, tests=("perm_inputs",), statistics=(statistic,), **how)
    tests = _frame(by_pairs, settings)["tests"]
    verdicts = pd.DataFrame()
    if level == "segment" and by != "none":
        tests = pd.DataFrame(_grouped_tests(settings, by, statistic, how)).assign(level=level)
        tests = tests.assign(p_holm=holm(tests["p"]), p_bh=benjamini_hochberg(tests["p"])) if len(tests) else tests
    elif level == "segment":
        verdicts = pd.DataFrame(_verdicts(settings, statistic, how))
    tests = tests[tests["level"] == level].reset_index(drop=True)
    return correlations, tests, verdicts


def _correlations(setting: ScoredColumn, by: Grouping, level: Level, how: Mapping[str, Any]) -> pd.DataFrame:
    """A row for each statistic of a metric, as of correlations.parquet, at this level and grouping."""
    import pandas as pd

    rows: list[CorrelationRow] = []
    for human in setting.segments.judgements.aspects:
        if level == "system":
            rows += SystemLevel(setting, BASE, human, how).rows()
        else:
            (of_grouping,) = segment_correlations(
                setting, [BASE], setting.points[BASE][:, None], human, how, wanted=[by]
            )
            rows += of_grouping
            if by != "item" and setting.codes.named.any():
                rows += within_sources(setting, [BASE], setting.points[BASE][:, None], human, how)
    names = {"language_pair": setting.segments.language_pair, "metric": setting.metric_name}
    return pd.DataFrame({**names, **as_columns(CorrelationRow, rows)}).drop(columns="point")


def _roles(
    table: File,
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
    if human is not None and "score" in columns:
        raise ConfigError("human and the role score both name the human scores; give one of them.")
    given = columns if human is None else {**columns, "score": human}
    return roles_of(table, given, ("score", *needed), taken=[*metrics, *lengths])


def _scores(table: File, name: str, decimal: Decimal) -> Floats:
    """float64 of a metric's column; a warning says how many are missing. Raises DataError."""
    values = number_column(table, name, decimal)
    if missing := int(np.isnan(values).sum()):
        warnings.warn(
            f"{table.path}: {missing:,} of {len(values):,} segments have no score in column '{name}'; they are left "
            "out and counted.",
            stacklevel=3,
        )
    return values


def _settings(
    table: File,
    scores: Mapping[str, Floats],
    words: Floats | None,
    roles: Roles,
    language_pair: str | None,
    decimal: Decimal,
) -> Iterator[ScoredColumn]:
    """A finished setting of each language pair and column, sorted by the names of the metrics.

    Scores need no texts: a hypothesis that is not there is empty and never read, and in place of a source or reference
    is the id, so that segments of one id are one cluster. words: float64[rows, k] numbers of words, None for those of
    the texts: of the hypothesis, and of its reference or else its source, as metrics read them.
    """
    texts = {} if "hypothesis" in roles else {"hypothesis": [""] * len(table)}
    if not {"source", "reference"} & roles.keys():
        rows = [str(row + 1) for row in range(len(table))]
        ids = table.take(roles["id"])[roles["id"][0]] if "id" in roles else rows
        texts["source"] = ["" if name is None else name for name in ids]
    added = {f"({role})": values for role, values in texts.items()}

    def column(name: str) -> list[Any]:
        return added[name] if name in added else table.take([name])[name]

    used = dict.fromkeys(itertools.chain.from_iterable(roles.values()))  # a metric may be called as a role
    whole = File(table.path, [*used, *added], len(table), column, table.place)
    sets = segment_sets(whole, {**roles, **{role: (f"({role})",) for role in texts}}, language_pair, decimal)
    labels = _bundles(clusters([segments for segments, _ in sets]))
    truth: list[Role] = [role for role in ("reference", "source") if role in roles]
    reads: tuple[Role, ...] = (*truth[:1], "hypothesis")
    has_texts = "hypothesis" in roles
    for (segments, places), of_pair in zip(sets, labels, strict=True):
        items = segments.items(reads) if has_texts else ()
        of_texts = None if words is None else log_words(words[places])
        for name in sorted(scores):
            metric = Function(len, name, reads, "")  # that scores nothing: its scores are here
            base = AttributionSet(scores[name][places], {})
            setting = ScoredColumn(segments, name, ALONE, metric, None, items, base, of_pair, has_texts=has_texts)
            if of_texts is None and has_texts:
                of_texts = log_words(*(setting.word_counts(role) for role in reads))
            yield replace(setting, log_words=of_texts)


def _bundles(labels: Sequence[NDArray[np.object_]]) -> list[list[str]]:
    """The labels of clusters of each language pair, or of bundles of clusters where there are too many to be drawn."""
    of_clusters = codes(np.concatenate(labels))
    of_bundles = bundled(of_clusters)
    if of_bundles is of_clusters:
        return [of_pair.tolist() for of_pair in labels]
    names = np.array([str(bundle) for bundle in range(number_of(of_bundles))], dtype=np.object_)
    ends = np.cumsum([len(of_pair) for of_pair in labels])
    return [of_pair.tolist() for of_pair in np.split(names[of_bundles], ends[:-1])]


def _frame(evaluation: Evaluation, settings: Sequence[Finished]) -> dict[str, pd.DataFrame]:
    """The tables of an evaluation, with the language pair and the metric of each row."""
    import pandas as pd

    results = evaluation.evaluate(settings)
    frames: dict[str, list[pd.DataFrame]] = {table: [] for table in evaluation.ROWS}
    for setting, result in zip(settings, results, strict=True):
        names = {"language_pair": setting.segments.language_pair, "metric": setting.metric_name}
        for table, rows in evaluation.columns(result).items():
            frames[table].append(pd.DataFrame({**names, **rows}).drop(columns=["explainer", "point"], errors="ignore"))
    return {table: pd.concat(parts, ignore_index=True) for table, parts in frames.items()}


def _pairs(settings: Sequence[ScoredColumn]) -> Iterator[tuple[ScoredColumn, ScoredColumn]]:
    """Every two metrics of a language pair."""
    yield from ((left, right) for left, right in itertools.combinations(settings, 2) if left.pair == right.pair)


def _verdicts(settings: Sequence[ScoredColumn], kind: Kind, how: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row per two metrics, on the segments that both score; all are one family of tests."""
    names: list[dict[str, str]] = []
    evidence: list[Verdict] = []
    for left, right in _pairs(settings):
        used = _scored_by_both(left, right)
        human = left.segments.human_scores[used]
        of_left = correlate(kind, left.scores.base_scores[used], human)
        of_right = correlate(kind, right.scores.base_scores[used], human)
        better, other = (right, left) if of_right > of_left else (left, right)
        names.append({"language_pair": other.pair[1], "compared": better.metric_name, "against": other.metric_name})
        evidence.append(_evidence(better, other, used, kind, how))
    rows: list[dict[str, Any]] = []
    for pair, verdict in zip(names, judged(evidence), strict=True):
        row: dict[str, Any] = {**pair, "verdict": verdict.verdict, "because": verdict.because}
        for name in SHOWN_ESTIMATES:
            estimate = getattr(verdict, name)
            row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
        rows.append(row)
    return rows


def _scored_by_both(left: ScoredColumn, right: ScoredColumn) -> Flags:
    """bool[N] which segments are rated, scored by both metrics and of known length, where lengths are known at all."""
    scores = [left.segments.human_scores, left.scores.base_scores, right.scores.base_scores]
    used = np.asarray(np.isfinite(scores).all(axis=0))
    return used if left.log_words is None else used & np.isfinite(left.log_words).all(axis=1)


def _evidence(better: ScoredColumn, other: ScoredColumn, used: Flags, kind: Kind, how: Mapping[str, Any]) -> Verdict:
    """What speaks for the better metric on the used segments, the other one in the place of a metric alone."""
    of = other.codes
    read = _judged_rows(used, of.items)
    texts: list[list[tuple[str, ...]]] = []
    for role in other.worded if other.has_texts else ():
        texts.append([other.segmented.words(role, other.items[row].text(role)) for row in read])
    groups = [group[read] for group in other.segments.groups.values()]
    terms = terms_of(groups, texts, np.asarray(other.clusters)[read])
    rated = rated_of(
        kind,
        other.scores.base_scores[read],
        other.segments.human_scores[read],
        np.zeros((len(read), 1)) if other.log_words is None else other.log_words[read],
        of.clusters[read],
        of.items[read],
        terms,
        used[read],
        how["seed"],
    )
    evidence = evidence_on(kind, rated, better.scores.base_scores[read][used[read]], (), **how)
    # without words what is beyond the score alone is not what its name says
    return replace(evidence, beyond=NOTHING) if other.log_words is None else evidence


def _judged_rows(used: Flags, items: Ints) -> Ints:
    """The rows that a verdict reads: all, or of more than MOST_JUDGED those of so many, whole items, spread evenly.

    used: bool[N] which rows are judged; items: int64[N] codes.
    """
    if used.sum() <= MOST_JUDGED:
        return np.arange(len(used))
    sizes = np.bincount(items[used], minlength=number_of(items))
    order = scattered(len(sizes))
    before = np.cumsum(sizes[order]) - sizes[order]
    kept = np.zeros(len(sizes), dtype=np.bool_)
    kept[order[before < MOST_JUDGED]] = True
    return np.flatnonzero(used & kept[items])


def _grouped_tests(
    settings: Sequence[ScoredColumn], grouping: Grouping, statistic: Kind, how: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Tests of every two metrics by their correlation within items or systems, on the segments that both scored."""
    for left, right in _pairs(settings):
        of = left.codes
        human = left.segments.human_scores
        x, y = (np.where(of.named, setting.scores.base_scores, np.nan) for setting in (left, right))
        if grouping == "item":
            both = within_groups(statistic, np.stack([x, y], axis=1), human, of.items)
            _, first = np.unique(of.items, return_index=True)
            test = compare_sums(by_mean(both[0]), by_mean(both[1]), mean, of.clusters[first], **how)
        else:
            test = significance(x, y, human, of.clusters, group=of.systems, statistic=statistic, **how)
        names = {"language_pair": left.pair[1], "compared": left.metric_name, "against": right.metric_name}
        numbers = {name: getattr(test, name) for name in ("difference", "low", "high", "p", "n", "clusters")}
        yield {**names, "grouping": grouping, "statistic": statistic, **numbers, "test": "perm_inputs"}
