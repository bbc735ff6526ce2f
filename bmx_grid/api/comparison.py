"""Columns of scores in, how well each metric correlates with human judgements out, with tests of every pair."""

from __future__ import annotations

import functools
import itertools
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from bmx_grid.analysis.base import Table
from bmx_grid.analysis.gains import ALPHA, PREFERRED
from bmx_grid.api.frames import NAME, frame_reader, segment_sets, swept_frame
from bmx_grid.api.inputs import Columns, Floats, FrameTable, check_columns, drawn, keyed, listed, numbers, roles_of
from bmx_grid.api.notebook import paragraphs, table_html, table_of
from bmx_grid.api.sweeps import Run
from bmx_grid.core.errors import ConfigError, DataError, unknown
from bmx_grid.core.identity import digest, identity, runtime
from bmx_grid.core.wording import counted, with_interval
from bmx_grid.datasets.segments import NO_PAIR
from bmx_grid.datasets.tables import Table as File
from bmx_grid.evaluations.verdicts import LEGEND
from bmx_grid.measures.correlation import FEWEST, KINDS, Kind, correlate
from bmx_grid.metrics.base import GivenScores, Metric
from bmx_grid.words.perturbation import Item, Role

if TYPE_CHECKING:
    import pandas as pd

    from bmx_grid.datasets.segments import SegmentSet
    from bmx_grid.evaluations.verdicts import Verdict

LEVELS = ("segment", "system")
GROUPINGS = ("item", "system", "none")
FEWEST_RESAMPLES = 40  # of tests
ESTIMATES = ("gain", "beyond", "within_source")
COMPARED = ("language_pair", "compared", "against")
UNDEFINED_IN_GROUPS = "n/a: a correlation within a group needs 3 rated segments; accuracy with ties (acc eq) needs 2."


@dataclass(frozen=True, kw_only=True)
class ColumnMetric(Metric):
    """A metric by its scores that are in memory: language pair -> float64 of its segments, in their order."""

    scores: Mapping[str, Floats] = runtime()
    content: str = identity()

    @property
    def reads(self) -> tuple[Role, ...]:
        return ("hypothesis",)

    @property
    def signature(self) -> str:
        return f"column|scores:{self.content}|version:{self.VERSION}"

    def given(self, segments: SegmentSet) -> GivenScores:
        """The scores of these segments, NaN where there is none."""
        return GivenScores(self.scores[segments.language_pair][: len(segments)])  # a limit takes the first

    def score(self, items: Sequence[Item]) -> NoReturn:
        raise ConfigError("a column of scores cannot score other texts; name a metric that scores texts.")


def column_metric(values: Floats, sets: Sequence[tuple[SegmentSet, list[int]]]) -> ColumnMetric:
    """The metric of a column: float64 of the rows of a frame, which the sets name."""
    scores = {segments.language_pair: values[rows] for segments, rows in sets}
    return ColumnMetric(scores=scores, content=digest(repr(values.tolist()))[:16])


@dataclass(frozen=True, eq=False)
class Compared:
    """Metrics in comparison: `correlations` with human judgements, `tests` of every pair, `verdicts`, `ranking`.

    run: the sweep behind it, with further tables. columns: role -> columns that play it.
    """

    run: Run
    level: str
    grouping: str
    statistic: Kind
    resamples: int
    seed: int
    columns: Mapping[str, tuple[str, ...]]

    @property
    def correlations(self) -> pd.DataFrame:
        """The correlation of each metric with human judgements, with its interval, at this level and grouping."""
        table = self._of_level("correlations")
        return table[(table["grouping"] == self.grouping) | (self.level == "system")].reset_index(drop=True)

    @functools.cached_property
    def tests(self) -> pd.DataFrame:
        """Every pair of metrics: difference with interval, p, and p adjusted for the number of pairs.

        Clusters of segments (or at system level whole systems) are swapped between the metrics (perm_inputs,
        perm_systems) and drawn with replacement for the interval.
        """
        if self.level == "segment" and self.grouping != "none":
            return grouped_tests(self._scores, self.grouping, self.statistic, self.resamples, self.seed)
        return self._of_level("tests")

    @functools.cached_property
    def verdicts(self) -> pd.DataFrame:
        """Of every two metrics the better one over the other: gain, the gain beyond score and length, a verdict.

        A metric may be another one's boosted scores: what a curve of the other's score and the numbers of words explain
        is not its own. All are one family of tests. No rows at system level, and with a grouping.
        """
        import pandas as pd

        from bmx_grid.evaluations.verdicts import judged

        if (self.level, self.grouping) != ("segment", "none"):
            return pd.DataFrame()
        known = [
            ((pair, *better), evidence)
            for (_, pair), left, right in _pairs_of_metrics(self._scores)
            for better, evidence in [_better(left, right, self.statistic, self.resamples, self.seed)]
        ]
        rows = []
        for (names, _), verdict in zip(known, judged([evidence for _, evidence in known]), strict=True):
            row = {**dict(zip(COMPARED, names, strict=True)), "verdict": verdict.label}
            for name in ESTIMATES:
                estimate = getattr(verdict, name)
                row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
            rows.append({**row, "because": verdict.because})
        return pd.DataFrame(rows)

    @property
    def ranking(self) -> pd.DataFrame:
        """Ranks with clusters of metrics that no test tells apart, as the WMT metrics tasks print them; ungrouped."""
        return self._of_level("ranking")

    @functools.cached_property
    def _scores(self) -> pd.DataFrame:
        """The table of scores, read once."""
        return self.run.scores

    def _of_level(self, name: str) -> pd.DataFrame:
        """The rows of this level; none where a single metric leaves nothing to compare."""
        import pandas as pd

        table = self.run.table(name) if name in self.run.names else pd.DataFrame({"level": []})
        return table[table["level"] == self.level].reset_index(drop=True)

    def tables(self) -> list[Table]:
        """What `summary` and `bmx-grid compare` print: correlations, differences, verdicts; those that have rows."""
        return [table for table in (self._agreement(), self._differences(), self._judged()) if table.rows]

    def summary(self, width: int | None = None) -> str:
        """The metrics, best first, with intervals; then the tests of each pair, and the verdicts."""
        from bmx_grid.report.table import as_text

        return "\n".join(as_text(table, width) for table in self.tables()).rstrip()

    def as_dict(self) -> dict[str, Any]:
        """All rows with all digits, as JSON holds them; None where a number is undefined or a language pair unknown."""
        settings = {key: getattr(self, key) for key in ("level", "grouping", "statistic", "resamples", "seed")}
        tables = {name: getattr(self, name) for name in ("correlations", "tests", "verdicts")}
        for name, table in tables.items():
            shown = table.drop(columns=["dataset", "explainer", "point"], errors="ignore").astype(object)
            settings[name] = shown.where(shown.notna() & (shown != NO_PAIR), None).to_dict("records")
        return settings

    def __repr__(self) -> str:
        metrics = ", ".join(dict.fromkeys(self.correlations["metric"]))
        return f"Compared({metrics}: {self.level} level, grouping {self.grouping}, {self.statistic})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the tables of `summary`, each with its title."""
        return "".join(paragraphs(table.title) + table_html(table) for table in self.tables())

    def _agreement(self) -> Table:
        frame, unit, names = self.correlations, f"{self.level}s", ["language_pair", "metric"]
        wide = frame.pivot(index=names, columns="statistic", values="value").reset_index()
        ranked = frame[frame["statistic"] == self.statistic].merge(wide, on=names)
        ranked = ranked.sort_values("value", ascending=False, kind="stable")
        ranked = ranked.sort_values("language_pair", kind="stable")
        others = [kind for kind in dict.fromkeys(frame["statistic"]) if kind != self.statistic]
        columns = {"value": (self.statistic, ".3f"), "low": ("low", ".3f"), "high": ("high", ".3f")}
        columns |= {kind: (kind.replace("_", " "), ".3f") for kind in others} | {f"n_{unit}": (unit, "")}
        grouped = "" if self.level == "system" or self.grouping == "none" else f", grouped by {self.grouping}"
        drawn = counted(self._scores["cluster"].nunique(), "cluster")
        notes = [
            f"Low, high: 95 % interval of {self.statistic}, by a bootstrap of {drawn} of segments (of one id, source, "
            f"reference or document), {self.resamples:,} resamples."
        ]
        notes += [UNDEFINED_IN_GROUPS] if grouped and ranked["value"].isna().all() else []
        title = f"Correlation with human judgements ({frame['human'].iloc[0]}), {self.level} level{grouped}"
        return table_of(ranked, title, names, columns, notes, "compared_agreement", in_groups=True)

    def _differences(self) -> Table:
        frame = self.tests
        if len(frame):
            frame = frame[frame["statistic"] == self.statistic]
            frame = frame[frame["test"] == next((test for test in PREFERRED if test in set(frame["test"])), "")]
        columns = {name: (name, "+.3f") for name in ("difference", "low", "high")}
        columns |= {"p": ("p", ".3g"), "p_holm": ("p holm", ".3g")}
        notes = [
            "p: two-sided, by swapping clusters of segments (or whole systems) between the metrics; p holm: adjusted "
            f"for all these tests. \u2020: at most {ALPHA:g}."
        ]
        title = f"Differences in {self.statistic} between metrics"
        return table_of(frame, title, COMPARED, columns, notes, "compared_differences")

    def _judged(self) -> Table:
        frame = self.verdicts
        for name in ESTIMATES if len(frame) else ():
            ends = frame[[name, f"{name}_low", f"{name}_high"]].to_numpy()
            frame = frame.assign(**{name: [with_interval(value, low, high, "+.3f") for value, low, high in ends]})
        columns = {"gain": ("gain", ""), "beyond": ("beyond score and length", "")}
        columns |= {"within_source": ("within source", ""), "verdict": ("verdict", "")}
        notes = [
            "Beyond score and length: with a smooth curve of the other metric's score and of the numbers of words "
            "fitted to these segments, for both. Within source: among the outputs for one source, where there are "
            "30 of them.",
            *(f"{label}: {LEGEND[label]}." for label in LEGEND if len(frame) and label in set(frame["verdict"])),
        ]
        title = "Is the better metric more than the other one's score and the length?"
        return table_of(frame, title, COMPARED, columns, notes, "compared_verdicts")


def compare(
    frame: pd.DataFrame | File,
    metrics: str | Sequence[str],
    human: str | None = None,
    *,
    by: Literal["item", "system", "none"] | None = None,
    level: Literal["segment", "system"] = "segment",
    statistic: Kind = "pearson",
    resamples: int = 1000,
    seed: int = 0,
    columns: Columns | None = None,
    language_pair: str | None = None,
    output_dir: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    quiet: bool = True,
    **keys: Any,
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
        resamples, seed: of intervals and tests. columns, language_pair, output_dir: as for `grid`.
    Raises ConfigError for unknown columns, DataError for values that are not scores.
    """
    grouping = by or "none"
    _check_choices(grouping, level, statistic)
    resamples, seed = drawn(resamples, seed, FEWEST_RESAMPLES)
    table = frame if isinstance(frame, File) else FrameTable(frame)
    names = listed("metrics", metrics)
    roles = _roles(table, names, human, keyed("columns", columns))
    _check_groups(roles, grouping, level)
    scores = {name: _scores(table, name) for name in names}
    sets = segment_sets(*_with_texts(table, roles), language_pair)
    config = {
        "cache_dir": str(Path(tempfile.gettempdir()) / "bmx_grid"),  # nothing is scored, so nothing is kept there
        "explainer": [],
        "evaluation": ["levels", "significance"],
        **{f"evaluation.{name}.resamples": resamples for name in ("levels", "significance")},
        "evaluation.significance.statistics": [statistic],
        "seed": seed,
        **keys,
        **keyed("settings", settings),
        "dataset": {NAME: frame_reader([segments for segments, _ in sets])},
        "metric": {name: column_metric(values, sets) for name, values in scores.items()},
    }
    return Compared(swept_frame(config, output_dir, quiet), level, grouping, statistic, resamples, seed, roles)


def _check_choices(grouping: object, level: object, statistic: object) -> None:
    choices = (("by", grouping, GROUPINGS), ("level", level, LEVELS), ("statistic", statistic, KINDS))
    for argument, value, known in choices:
        if not isinstance(value, str) or value not in known:
            raise ConfigError(f"{argument}: " + unknown("grouping" if argument == "by" else argument, value, known))


def _roles(
    table: File, metrics: Sequence[str], human: str | None, columns: Mapping[str, Any]
) -> dict[str, tuple[str, ...]]:
    """Role -> its columns. Raises ConfigError for metrics and human scores that cannot be used, DataError for none."""
    if not metrics:
        raise ConfigError("metrics: name at least one column of scores, as in compare(frame, ['comet', 'chrf']).")
    check_columns(table, "metrics", metrics)
    if human is None:
        return roles_of(table, columns, ("score",), taken=metrics)
    if human in metrics:
        raise ConfigError(f"human: the column {human!r} is one of the metrics; name another one with human.")
    if "score" in columns:
        raise ConfigError("human and the role score both name the human scores; give one of them.")
    check_columns(table, "human", [human])
    return roles_of(table, {**columns, "score": human}, ("score",), taken=metrics)


def _check_groups(roles: Mapping[str, object], grouping: str, level: str) -> None:
    """Raise DataError where a grouping or level needs columns that the frame does not have."""
    needed: dict[str, tuple[str, ...]] = {"item": ("id", "system"), "system": ("system",), "none": ()}
    argument, value = ("level", level) if level == "system" else ("by", grouping)
    missing = [role for role in needed[value] if role not in roles]
    if missing:
        raise DataError(
            f"{argument}={value!r} compares systems, and the frame has no column for {' and '.join(missing)}; name it: "
            f"columns={{'{missing[0]}': 'COLUMN'}}."
        )


def _scores(table: File, name: str) -> Floats:
    """float64 of a metric's column; a warning says how many are missing. Raises DataError."""
    values = numbers(table, name, FEWEST)
    if missing := int(np.isnan(values).sum()):
        warnings.warn(
            f"{table.path}: {missing:,} of {len(values):,} segments have no score in column '{name}'; they are left "
            "out and counted.",
            stacklevel=4,
        )
    return values


def _with_texts(table: File, roles: Mapping[str, tuple[str, ...]]) -> tuple[File, dict[str, tuple[str, ...]]]:
    """The table with texts, and its roles: scores need no texts.

    Without a hypothesis there is the number of the row, and without a source or reference the id, so that segments of
    one id are one cluster.
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
    return whole, {**roles, **{role: (f"({role})",) for role in texts}}


def _pairs_of_metrics(scores: pd.DataFrame) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame, pd.DataFrame]]:
    """Of every data set and language pair every two metrics, with the rows of both."""
    for names, rows in scores.groupby(["dataset", "language_pair"], sort=False):
        of_metric = [part.reset_index(drop=True) for _, part in rows.groupby("metric")]
        for left, right in itertools.combinations(of_metric, 2):
            yield tuple(names), left, right


def _better(
    left: pd.DataFrame, right: pd.DataFrame, kind: Kind, resamples: int, seed: int
) -> tuple[tuple[str, str], Verdict]:
    """The better of two metrics on the segments that both score, and the other one; the evidence for it."""
    from bmx_grid.evaluations.held_out import rated_of
    from bmx_grid.evaluations.verdicts import evidence_on

    human, *both = (part.to_numpy(np.float64) for part in (left["human"], left["base"], right["base"]))
    used = np.asarray(np.isfinite([human, *both]).all(axis=0))
    correlations = [correlate(kind, values[used], human[used]) for values in both]
    names = [str(frame["metric"].iloc[0]) for frame in (left, right)]
    if correlations[1] > correlations[0]:
        both, names = both[::-1], names[::-1]
    counts = left.filter(regex="^words_").dropna(axis=1).to_numpy(np.float64)
    clusters, items = (left[name].to_numpy(str) for name in ("cluster", "id"))
    words, systems = np.log(np.maximum(counts, 1)), np.zeros(len(human))  # to rank systems is what metrics are for
    rated = rated_of(kind, both[1], human, words, clusters, items, systems, used, seed)
    return (names[0], names[1]), evidence_on(kind, rated, both[0][used], (), resamples, seed)


def grouped_tests(scores: pd.DataFrame, grouping: str, statistic: Kind, resamples: int, seed: int) -> pd.DataFrame:
    """Tests of every pair of metrics of a table of scores by their correlation within items or within systems.

    One row per language pair and pair of metrics; segments count that both metrics scored. p_holm, p_bh: over all rows.
    """
    import pandas as pd

    from bmx_grid.measures.levels import within_groups
    from bmx_grid.measures.multiplicity import benjamini_hochberg, holm
    from bmx_grid.measures.resampling import codes
    from bmx_grid.measures.significance import compare as significance
    from bmx_grid.measures.significance import compare_sums
    from bmx_grid.measures.systems import by_mean, mean

    drawn_with: dict[str, Any] = {"resamples": resamples, "seed": seed}
    rows: list[dict[str, Any]] = []
    for (dataset, pair), left, right in _pairs_of_metrics(scores):
        x, y, human = (np.asarray(part, float) for part in (left["base"], right["base"], left["human"]))
        x = np.where(left["system"].notna().to_numpy(), x, np.nan)
        groups = codes(left["id" if grouping == "item" else "system"].astype(str))
        cluster = left["cluster"].to_numpy()
        if grouping == "item":
            both = within_groups(statistic, np.stack([x, y], axis=1), human, groups)
            _, first = np.unique(groups, return_index=True)
            test = compare_sums(by_mean(both[0]), by_mean(both[1]), mean, cluster[first], **drawn_with)
        else:
            test = significance(x, y, human, cluster, group=groups, statistic=statistic, **drawn_with)
        compared, against = (frame["metric"].iloc[0] for frame in (left, right))
        rows.append(
            {
                **{"dataset": dataset, "language_pair": pair, "compared": compared, "against": against},
                **{"level": "segment", "grouping": grouping, "statistic": statistic},
                **{name: getattr(test, name) for name in ("difference", "low", "high", "p", "n", "clusters")},
                **{"test": "perm_inputs", "alternative": "two-sided", **drawn_with},
            }
        )
    table = pd.DataFrame(rows)
    if rows:
        p = table["p"].to_numpy()
        table = table.assign(p_holm=holm(p), p_bh=benjamini_hochberg(p))
    return table
