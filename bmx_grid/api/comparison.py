"""Which metric correlates best with human judgements: columns of scores, with intervals and tests of every pair."""

from __future__ import annotations

import html
import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.analysis.base import Column, Table
from bmx_grid.analysis.gains import ALPHA
from bmx_grid.api.frames import Columns, Roles, frame_table, numbers, roles_of, segment_sets
from bmx_grid.api.inputs import Function, drawn, keyed, listed
from bmx_grid.attribution.store import AttributionSet
from bmx_grid.core.configure import build, convert, load_option
from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.core.wording import P_VALUE, counted
from bmx_grid.datasets.lines import Decimal
from bmx_grid.datasets.segments import NO_PAIR, clusters
from bmx_grid.datasets.tables import Table as File
from bmx_grid.evaluations.base import BASE, NOTHING, Evaluation, Finished, as_columns
from bmx_grid.evaluations.grid_options import GridOptions
from bmx_grid.evaluations.held_out import rated_of, terms_of
from bmx_grid.evaluations.levels import CorrelationRow, SystemLevel, segment_correlations
from bmx_grid.evaluations.significance import ALONE, SignificanceEvaluation
from bmx_grid.evaluations.verdicts import CAUSE_NOT_SHOWN, HELPS, LEGEND, evidence_on, judged
from bmx_grid.measures.correlation import FEWEST, Kind, correlate
from bmx_grid.measures.kernel_ridge import scattered
from bmx_grid.measures.levels import within_groups
from bmx_grid.measures.nuisance import log_words
from bmx_grid.measures.resampling import bundled, codes, number_of
from bmx_grid.measures.significance import benjamini_hochberg, compare_sums, holm
from bmx_grid.measures.significance import compare as significance
from bmx_grid.measures.systems import by_mean, mean
from bmx_grid.report.table import as_text
from bmx_grid.words.perturbation import Role

if TYPE_CHECKING:
    import pandas as pd

Level = Literal["segment", "system"]
Grouping = Literal["item", "system", "none"]
NEEDED: Mapping[str, tuple[str, ...]] = {"item": ("id", "system"), "system": ("system",), "none": (), "segment": ()}
SHOWN_ESTIMATES = ("gain", "beyond", "within_source")
FEWEST_RESAMPLES = 40  # of tests
MOST_JUDGED = 16_000  # segments that a verdict rests on: what learns from them takes a second for each 2,000
BEYOND = (
    "Beyond score, length and text: what the metric adds to all that the other one's score and the numbers of words "
    "jointly, the texts where there are any, and named systems, raters and domains tell of the human scores."
)
MEANINGS = {  # of the verdicts that speak of explanations elsewhere
    **LEGEND,
    HELPS: "an established gain, also over the other one's score and length",
    CAUSE_NOT_SHOWN: "an established gain, but not shown to be more than the other one's score, length and text give",
}
AGREEMENT = {  # how people agree with a metric, beside correlations
    "acc_eq": "acc eq: share of pairs of segments that the metric orders as people do, or ties where they do; what "
    "counts as a tie of scores is calibrated on these data (Deutsch et al. 2023).",
    "pairwise_accuracy": "Pairwise accuracy: share of pairs of systems that the metric orders as people do.",
    "spa": "spa: soft pairwise accuracy, which also asks how sure both are of the order (Thompson et al. 2024).",
}
NO_LENGTHS = (
    "Length is not taken off, as the table has neither texts nor a column of lengths (lengths, --lengths): what of a "
    "gain is beyond it is not known, and no metric is said to help."
)


@dataclass(frozen=True, eq=False)
class Compared:
    """Metrics in comparison.

    correlations: of each metric with human judgements, with its interval, at this level and grouping. tests: every pair
    of metrics: difference with interval, p, and p adjusted for the number of pairs; clusters of segments (or at system
    level whole systems) are swapped between the metrics and drawn with replacement for the interval.
    verdicts: of every two metrics the better one over the other: gain, the gain beyond a curve of the other's score and
    the numbers of words, and a verdict as of a boost; none at system level and with a grouping. Without numbers of
    words the gain beyond is NaN, and nothing helps.
    columns: role -> columns that play it. n_clusters: of segments. has_lengths: whether numbers of words are known.
    """

    correlations: pd.DataFrame
    tests: pd.DataFrame
    verdicts: pd.DataFrame
    level: Level
    grouping: Grouping
    statistic: Kind
    resamples: int
    seed: int
    columns: Roles
    n_clusters: int
    has_lengths: bool

    def tables(self) -> list[Table]:
        """What `summary` and `bmx-grid compare` print: correlations, best first, differences and verdicts."""
        pair = [] if set(self.correlations["language_pair"]) == {NO_PAIR} else [Column("language_pair", "pair")]
        names, unit = ["language_pair", "metric"], f"{self.level}s"
        wide = self.correlations.pivot(index=names, columns="statistic", values="value").reset_index()
        frame = self.correlations[self.correlations["statistic"] == self.statistic].merge(wide, on=names)
        frame = frame.sort_values(["language_pair", "value"], ascending=[True, False], kind="stable")
        others = [kind for kind in dict.fromkeys(self.correlations["statistic"]) if kind != self.statistic]
        columns = [Column("value", self.statistic, ".3f"), Column("low", "low", ".3f"), Column("high", "high", ".3f")]
        columns += [Column(kind, kind.replace("_", " "), ".3f") for kind in others] + [Column(f"n_{unit}", unit)]
        grouped = "" if self.level == "system" or self.grouping == "none" else f", grouped by {self.grouping}"
        notes = [
            f"Low, high: 95 % interval of {self.statistic}, by a bootstrap of {counted(self.n_clusters, 'cluster')} of "
            f"segments (of one id, source, reference or document), {self.resamples:,} resamples."
        ]
        notes += [AGREEMENT[kind] for kind in others if kind in AGREEMENT]
        if frame["value"].isna().any():
            per_group = "system" if self.level == "segment" and self.grouping == "item" else unit.removesuffix("s")
            notes.append(f"n/a: a correlation needs {FEWEST} {per_group}s that differ in metric and human scores.")
        title = f"Correlation with human judgements ({frame['human'].iloc[0]}), {self.level} level{grouped}"
        shown = [*pair, Column("metric"), *columns]
        tables = [Table.of("agreement", title, frame, shown, notes, by=["language_pair"], names=len(pair) + 1)]
        if len(self.tests):
            columns = [Column(name, name, "+.3f") for name in ("difference", "low", "high")]
            columns += [Column("p", "p", P_VALUE), Column("p_holm", "p holm", P_VALUE, marked="is_marked")]
            notes = [
                "p: two-sided, by swapping clusters of segments (or whole systems) between the metrics; p holm: "
                f"adjusted for all these tests. \u2020: at most {ALPHA:g}."
            ]
            title = f"Differences in {self.statistic} between metrics"
            shown = [*pair, Column("compared", "metric"), Column("against"), *columns]
            marked = self.tests.assign(is_marked=self.tests["p_holm"] <= ALPHA)
            tables.append(Table.of("differences", title, marked, shown, notes, names=len(pair) + 2))
        if len(self.verdicts):
            parts = [(name, name.replace("_", " "), (f"{name}_low", f"{name}_high")) for name in SHOWN_ESTIMATES]
            known = [part for part in parts if part[0] == "gain" or self.verdicts[part[0]].notna().any()]
            columns = [Column(name, header, "+.3f", ends) for name, header, ends in known]
            labels = set(self.verdicts["verdict"])
            notes = [BEYOND if self.has_lengths else NO_LENGTHS]
            if self.correlations["n_segments"].max() > MOST_JUDGED:
                notes.append(
                    f"Verdicts of more than {MOST_JUDGED:,} segments rest on so many: whole items, spread evenly."
                )
            notes += [f"{label}: {meaning}." for label, meaning in MEANINGS.items() if label in labels]
            title = "Does the better metric add anything to the other one's score and the length?"
            shown = [*pair, Column("compared", "metric"), Column("against"), *columns, Column("verdict")]
            tables.append(Table.of("verdicts", title, self.verdicts, shown, notes, names=len(pair) + 2))
        return tables

    def summary(self, width: int | None = None) -> str:
        """The metrics, best first, with intervals; then the tests of each pair."""
        return "\n".join(as_text(table, width) for table in self.tables()).rstrip()

    def __repr__(self) -> str:
        metrics = ", ".join(dict.fromkeys(self.correlations["metric"]))
        return f"Compared({metrics}: {self.level} level, grouping {self.grouping}, {self.statistic})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the tables of `summary`."""
        return f"<pre>{html.escape(self.summary())}</pre>"


def compare(
    frame: pd.DataFrame | File,
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

    frame: one row per segment (and system): a column per metric, the human scores, and id, system, source, reference
        if there are any: segments that share an id, a source, a reference or a document are drawn and swapped together.
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
    table = frame if isinstance(frame, File) else frame_table(frame)
    names, counts = listed("metrics", metrics), listed("lengths", lengths)
    needed = NEEDED[level if level == "system" else by]
    roles = _roles(table, names, human, counts, keyed("columns", columns), needed)
    scores = {name: _scores(table, name, decimal) for name in names}
    words = np.column_stack([numbers(table, name, decimal) for name in counts]) if counts else None
    settings = list(_settings(table, scores, words, roles, language_pair, decimal))
    how: dict[str, Any] = {"resamples": resamples, "seed": seed}
    frames = _frames(settings, by, level, statistic, how)
    n_clusters = len({label for setting in settings for label in setting.clusters})
    has_lengths = all(setting.log_words is not None for setting in settings)
    return Compared(*frames, level, by, statistic, resamples, seed, roles, n_clusters, has_lengths)


@dataclass(frozen=True, eq=False)
class Scored(Finished):
    """A finished setting of a column of scores. log_words: float64[N, k], None if unknown; has_texts: its words too."""

    log_words: Floats | None = None
    has_texts: bool = False


def _frames(
    settings: Sequence[Scored], by: Grouping, level: Level, statistic: Kind, how: Mapping[str, Any]
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Correlations, tests and verdicts of settings at this level and grouping; how: resamples and seed."""
    import pandas as pd

    correlations = pd.concat([_correlations(setting, by, level, how) for setting in settings], ignore_index=True)
    grid = build(load_option("evaluation", "grid", how["seed"]), GridOptions, "grid")
    by_pairs = SignificanceEvaluation(grid=grid, tests=("perm_inputs",), statistics=(statistic,), **how)
    tests, verdicts = _frame(by_pairs, settings)["tests"], pd.DataFrame()
    if level == "segment" and by != "none":
        tests = pd.DataFrame(_grouped_tests(settings, by, statistic, how)).assign(level=level)
        tests = tests.assign(p_holm=holm(tests["p"]), p_bh=benjamini_hochberg(tests["p"])) if len(tests) else tests
    elif level == "segment":
        verdicts = pd.DataFrame(_verdicts(settings, statistic, how))
    tests = tests[tests["level"] == level].reset_index(drop=True)
    return correlations, tests, verdicts


def _correlations(setting: Scored, by: Grouping, level: Level, how: Mapping[str, Any]) -> pd.DataFrame:
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
    values = numbers(table, name, decimal)
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
) -> Iterator[Scored]:
    """A finished setting of each language pair and column, sorted by the names of the metrics.

    Scores need no texts: without a hypothesis there is the number of the row, and without a source or reference the id,
    so that segments of one id are one cluster. words: float64[rows, k] numbers of words, None for those of the texts:
    of the hypothesis, and of its reference or else its source, as metrics read them.
    """
    rows = [str(row + 1) for row in range(len(table))]
    texts = {} if "hypothesis" in roles else {"hypothesis": rows}
    if not {"source", "reference"} & roles.keys():
        ids = table.take(roles["id"])[roles["id"][0]] if "id" in roles else rows
        texts["source"] = ["" if name is None else name for name in ids]
    added = {f"({role})": values for role, values in texts.items()}

    def column(name: str) -> list[Any]:
        return added[name] if name in added else table.take([name])[name]

    used = dict.fromkeys(name for names in roles.values() for name in names)  # a metric may be called as a role
    whole = File(table.path, [*used, *added], len(table), column, table.place)
    sets = segment_sets(whole, {**roles, **{role: (f"({role})",) for role in texts}}, language_pair, decimal)
    labels = _bundles(clusters([segments for segments, _ in sets]))
    truth: list[Role] = [role for role in ("reference", "source") if role in roles]
    reads: tuple[Role, ...] = (*truth[:1], "hypothesis")
    for (segments, places), label in zip(sets, labels, strict=True):
        items, of_texts = segments.items(reads), None if words is None else log_words(words[places])
        has_texts = "hypothesis" in roles
        for name in sorted(scores):
            metric = Function(len, name, reads, "")  # that scores nothing: its scores are here
            base = AttributionSet(scores[name][places], {})
            setting = Scored(segments, name, ALONE, metric, None, items, base, label.tolist(), has_texts=has_texts)
            if of_texts is None and has_texts:
                of_texts = log_words(*(setting.word_counts(role) for role in reads))
            yield replace(setting, log_words=of_texts)


def _bundles(labels: Sequence[NDArray[np.str_]]) -> list[NDArray[Any]]:
    """The labels of clusters of each language pair, or of bundles of clusters where there are too many to be drawn."""
    of_all = np.concatenate(labels)
    bundles = bundled(codes(of_all))
    if number_of(bundles) == len(np.unique(of_all)):
        return list(labels)
    ends = np.cumsum([len(of_pair) for of_pair in labels])
    return np.split(bundles.astype(np.str_), ends[:-1])


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


def _pairs(settings: Sequence[Scored]) -> Iterator[tuple[Scored, Scored]]:
    """Every two metrics of a language pair."""
    yield from ((left, right) for left, right in itertools.combinations(settings, 2) if left.pair == right.pair)


def _verdicts(settings: Sequence[Scored], kind: Kind, how: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row per two metrics, on the segments that both score; all are one family of tests."""
    names, evidence = [], []
    for both in _pairs(settings):
        human, of, words = both[0].segments.human_scores, both[0].codes, both[0].log_words
        used = np.asarray(np.isfinite([human, *(setting.scores.base_scores for setting in both)]).all(axis=0))
        if words is not None:
            used &= np.isfinite(words).all(axis=1)
        reached = [correlate(kind, setting.scores.base_scores[used], human[used]) for setting in both]
        better, other = both[::-1] if reached[1] > reached[0] else both
        taken_off = np.zeros((len(human), 1)) if words is None else words
        read = _judged_rows(used, of.items)
        texts: list[list[tuple[str, ...]]] = []
        for role in other.worded if other.has_texts else ():
            texts.append([other.segmented.words(role, other.items[row].text(role)) for row in read])
        groups = [group[read] for group in other.segments.groups.values()]
        terms = terms_of(groups, texts, np.asarray(other.clusters)[read])
        of_both = other.scores.base_scores[read], human[read], taken_off[read]
        rated = rated_of(kind, *of_both, of.clusters[read], of.items[read], terms, used[read], how["seed"])
        names.append({"language_pair": other.pair[1], "compared": better.metric_name, "against": other.metric_name})
        known = evidence_on(kind, rated, better.scores.base_scores[read][used[read]], (), **how)
        # without words what is beyond the score alone is not what its name says
        evidence.append(replace(known, beyond=NOTHING) if words is None else known)
    rows: list[dict[str, Any]] = []
    for pair, verdict in zip(names, judged(evidence), strict=True):
        rows.append({**pair, "verdict": verdict.verdict, "because": verdict.because})
        for name in SHOWN_ESTIMATES:
            estimate = getattr(verdict, name)
            rows[-1] |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return rows


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
    settings: Sequence[Scored], grouping: Grouping, statistic: Kind, how: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Tests of every two metrics by their correlation within items or systems, on the segments that both scored."""
    for left, right in _pairs(settings):
        of, human = left.codes, left.segments.human_scores
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
