"""What `compare` returns: its tables as frames, and as they are printed."""

from __future__ import annotations

import functools
import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from bmx_grid.analysis.base import Column, Table
from bmx_grid.analysis.points import ALPHA
from bmx_grid.api.kinds import PANDAS, FrameKind
from bmx_grid.core.wording import P_VALUE, escape_unprintable, join_names, leads_in_words, number, pluralize
from bmx_grid.datasets.column_roles import Roles
from bmx_grid.datasets.segments import NO_PAIR
from bmx_grid.evaluations.segment_level import PDP
from bmx_grid.evaluations.verdicts import LEGEND, legend
from bmx_grid.measures.correlation import FEWEST, Coefficient
from bmx_grid.measures.paired_tests import Alternative
from bmx_grid.report.table import COUNT, WIDTH, tables_as_text, wrap_text

if TYPE_CHECKING:
    import pandas as pd

Level = Literal["segment", "system"]
Grouping = Literal["item", "system", "none"]
# Segments that a verdict rests on: what learns from them takes a second for each 2,000.
MOST_JUDGED = 16_000
SAME = 1e-9  # two numbers that differ by rounding only
PARTIAL = (
    "Partial r: the correlation of the metric with the human scores when the other one's score, the numbers of words, "
    "text statistics if the table has texts, and named systems, raters and domains are controlled for."
)
NO_LENGTHS = (
    "Length is not controlled for, as the table has neither texts nor a column of lengths. Name one: --lengths COLUMN. "
    'Without it partial r is unknown, and no verdict is "helps".'
)
# The unit that each permutation test exchanges.
SWAPPED = {
    "perm_inputs": "clusters of segments",
    "perm_systems": "whole systems",
    "perm_both": "clusters of segments and systems",
}
SIDES = {
    "two-sided": "two-sided",
    "greater": "one-sided, that the metric named first is better",
    "less": "one-sided, that the metric named first is worse",
}
# Agreement of human scores with a metric, in addition to correlations.
AGREEMENT = {
    "pdp": "pdp: Pearson's r of the differences between outputs for one source (DiIanni and Deutsch 2025).",
    "acc_eq": "acc eq: share of pairs of segments that the metric orders as people do, or ties as they do; the "
    "threshold for ties of scores is calibrated on these data (Deutsch et al. 2023).",
    "pairwise_accuracy": "Pairwise accuracy: share of pairs of systems that the metric orders as people do.",
    "spa": "spa: soft pairwise accuracy, which also compares how certain both are of the order (Thompson et al. 2024).",
}


@dataclass(frozen=True, eq=False)
class Compared:
    """Metrics compared by `compare`: correlations, tests and verdicts as tables.

    Attributes:
        correlations: One row per metric and statistic: `value` with its 95 % interval `low`, `high`.
        tests: One row per pair of metrics, the better one first: `difference` with `low`, `high`, `p` and `p_holm`
            (adjusted for the number of pairs). One-sided tests keep the order of the metrics. `n` counts segments that
            people and both metrics scored, `clusters` the clusters of segments, or systems, that are swapped. Pairs
            without a difference have no row.
        verdicts: One row per pair of metrics: `gain` of the better one, its partial correlation `partial_r` after
            controlling for the other score and the lengths, and `verdict`. Empty at system level and with a grouping.
        level: `"segment"` or `"system"`.
        grouping: `"item"`, `"system"` or `"none"`.
        statistic: Correlation that the tests compare.
        resamples: Number of bootstrap resamples and permutations.
        seed: Seed of all random draws.
        columns: Dictionary from role to column names.
        n_clusters: Number of clusters of segments.
        has_lengths: False if the lengths are unknown: `partial_r` is then NaN, and no verdict is "helps".
        alternative: Alternative hypothesis of the tests.
        confidence: Level of the intervals of differences.

    Example:
        >>> import bmx_grid as bmx
        >>> frame = {"human": [1, 2, 3, 4, 5, 6], "a": [1, 2, 3, 4, 6, 5], "b": [2, 1, 4, 3, 6, 5]}
        >>> compared = bmx.compare(frame, ["a", "b"], human="human", resamples=100)
        >>> compared.statistic, compared.n_clusters, compared.has_lengths
        ('pearson', 6, False)
    """

    correlations: pd.DataFrame
    tests: pd.DataFrame
    verdicts: pd.DataFrame
    level: Level
    grouping: Grouping
    statistic: Coefficient
    resamples: int
    seed: int
    columns: Roles
    n_clusters: int
    has_lengths: bool
    alternative: Alternative
    confidence: float

    def tables(self) -> list[Table]:
        """List the tables that `summary` and `bmx-grid compare` print.

        Returns:
            list[Table]: Correlations, best metric first, then differences between metrics.

        Example:
            >>> import bmx_grid as bmx
            >>> frame = {"human": [1, 2, 3, 4, 5, 6], "a": [1, 2, 3, 4, 6, 5], "b": [2, 1, 4, 3, 6, 5]}
            >>> bmx.compare(frame, ["a", "b"], human="human", resamples=100).tables()[0].title
            'Correlation with human judgements (human), segment level'
        """
        tables = [self._agreement()]
        better_first = _as_tests(self.verdicts)
        differences = f"Differences in {self.statistic} between metrics"
        if self.alternative != "two-sided":
            # Their tests have the metric named first in front, verdicts the better one.
            if len(self.tests):
                title = f"{differences}, the one named first minus the other"
                tables.append(self._differences("tests", title, self.tests))
            if len(better_first):
                title = "Verdicts, of two-sided tests, the better metric first"
                tables.append(self._differences("verdicts", title, better_first.drop(columns="difference")))
            return tables
        if len(self.tests):
            better_first = _join_verdicts(self.tests, better_first)
        if len(better_first):
            title = f"{differences}, the better one minus the other"
            tables.append(self._differences("differences", title, better_first))
        return tables

    def _agreement(self) -> Table:
        """A row per metric, best first: its correlation with the interval, and the other statistics."""
        names = ["language_pair", "metric"]
        unit = f"{self.level}s"
        rows = self.correlations
        # A pdp that no metric has gets no column: it needs several outputs for one source.
        known = rows[rows["value"].notna() | (rows["statistic"] != PDP)]
        others = [kind for kind in dict.fromkeys(known["statistic"]) if kind != self.statistic]
        wide = rows.pivot(index=names, columns="statistic", values="value").reset_index()
        frame = rows[rows["statistic"] == self.statistic].merge(wide, on=names)
        frame = frame.sort_values(["language_pair", "value"], ascending=[True, False], kind="stable")
        columns = [
            *self._pair,
            Column("metric"),
            Column("value", f"{self.statistic} [95 % CI]", ".3f", ("low", "high")),
            *(Column(kind, kind.replace("_", " "), ".3f") for kind in others),
            Column(f"n_{unit}", unit, COUNT),
        ]
        notes = []
        if not self._has_common_segments:
            if self.level == "system":
                columns.append(Column("n_segments", "segments", COUNT))
            notes.append("A correlation is of the segments that its metric has, a difference of those that both have.")
        systems = "systems and of " if self.level == "system" else ""
        notes.append(
            f"95 % CI of correlations: by a bootstrap of {systems}{pluralize(self.n_clusters, 'cluster')} of segments "
            f"(of one id, source, reference or document), {self.resamples:,} resamples."
        )
        notes += [AGREEMENT[kind] for kind in others if kind in AGREEMENT]
        if frame["value"].isna().any():
            # An item has a segment of each system.
            per_group = "system" if self.level == "segment" and self.grouping == "item" else self.level
            notes.append(f"n/a: a correlation needs {FEWEST} {per_group}s that differ in metric and human scores.")
        grouped = f", grouped by {self.grouping}"
        if self.level == "system" or self.grouping == "none":
            grouped = ""
        human = frame["human"].iloc[0]
        title = self._title_with_pair(f"Correlation with human judgements ({human}), {self.level} level{grouped}")
        n_names = len(self._pair) + 1
        return Table.from_rows("agreement", title, frame, columns, notes, by=["language_pair"], names=n_names)

    def _differences(self, stem: str, title: str, pairs: pd.DataFrame) -> Table:
        """A row per two metrics: the difference with its interval, tests and verdict; of verdicts alone no difference.

        pairs: columns of `tests` and of `_as_tests`.
        """
        names = [Column("compared", "metric"), Column("against"), *self._pair]
        numbers = []
        notes = []
        if "difference" in pairs:
            header = f"difference [{100 * self.confidence:g} % CI]"
            numbers.append(Column("difference", header, "+.3f", ("low", "high")))
        if "p" in pairs:
            numbers += [Column("p", "p", P_VALUE), Column("p_holm", "p (Holm)", P_VALUE, marked="is_marked")]
            pairs = pairs.assign(is_marked=pairs["p_holm"] <= ALPHA)
            swapped = SWAPPED[self.tests["test"].iloc[0]]
            notes.append(
                f"{100 * self.confidence:g} % CI of differences: by a bootstrap of {swapped}. p: "
                f"{SIDES[self.alternative]}, by swapping {swapped} between the metrics; p (Holm): corrected for all "
                f"these tests. \u2020: at most {ALPHA:g}."
            )
        if "verdict" in pairs:
            names.insert(0, Column("verdict"))
            if pairs["partial_r"].notna().any():
                numbers.append(Column("partial_r", "partial r [95 % CI]", "+.3f", ("partial_r_low", "partial_r_high")))
            notes.append(PARTIAL if self.has_lengths else NO_LENGTHS)
            if self.correlations["n_segments"].max() > MOST_JUDGED:
                notes.append(
                    f"Verdicts of more than {MOST_JUDGED:,} segments rest on so many: whole items, spread evenly."
                )
            notes += legend(set(pairs["verdict"]))
        if "n" in pairs and not self._has_common_segments:
            numbers.append(Column("n", "segments", COUNT))
        table = Table.from_rows(stem, self._title_with_pair(title), pairs, [*names, *numbers], notes, names=len(names))
        return replace(table, droppable=tuple(column.header for column in numbers[1:]))

    def of_kind(self, kind: FrameKind) -> Compared:
        """Convert the tables to another type of frame.

        Args:
            kind: Type of the frames: pandas, polars, Arrow or a dictionary of lists. `compare` keeps the type of its
                input.

        Returns:
            Compared: The same comparison. It prints the same text.

        Example:
            >>> import bmx_grid as bmx
            >>> import pandas as pd
            >>> from bmx_grid.api.kinds import FrameKind
            >>> frame = {"human": [1, 2, 3, 4, 5, 6], "a": [1, 2, 3, 4, 6, 5]}
            >>> compared = bmx.compare(pd.DataFrame(frame), ["a"], human="human", resamples=100)
            >>> compared.of_kind(FrameKind(dict)).correlations["metric"][0]
            'a'
        """
        if kind == PANDAS:
            return self
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("correlations", "tests", "verdicts"):
            values[name] = kind.frame(values[name])
        return _ConvertedComparison(**values, in_pandas=self)

    @property
    def _known_rows(self) -> pd.DataFrame:
        """The correlations that tests compare, without those that are undefined."""
        rows = self.correlations
        return rows[(rows["statistic"] == self.statistic) & rows["value"].notna()]

    @functools.cached_property
    def _has_common_segments(self) -> bool:
        """Whether each difference is one of two `correlations`, as if all are of the same segments and groups."""
        values = self._known_rows.set_index(["language_pair", "metric"])["value"]
        n_pairs = sum(math.comb(n_metrics, 2) for n_metrics in values.groupby("language_pair").size())
        if len(self.tests) < n_pairs:
            return False
        compared, against = (
            values.reindex(list(zip(self.tests["language_pair"], self.tests[name], strict=True))).to_numpy()
            for name in ("compared", "against")
        )
        return np.allclose(compared - against, self.tests["difference"], rtol=0, atol=SAME)

    def _best_on_common_segments(self) -> pd.DataFrame:
        """The `metric` of each language pair that is better than every other one in their test, if there is one."""
        tests = self.tests[self.tests["difference"] != 0]
        better = tests["compared"].where(tests["difference"] > 0, tests["against"])
        wins = tests.assign(metric=better).groupby(["language_pair", "metric"], as_index=False).size()
        n_others = self._known_rows.groupby("language_pair").size() - 1
        return wins[wins["size"] == wins["language_pair"].map(n_others)]

    @property
    def _pair(self) -> list[Column]:
        """The column of the language pair, if there are several."""
        several = self.correlations["language_pair"].nunique() > 1
        return [Column("language_pair", "pair")] if several else []

    def _title_with_pair(self, title: str) -> str:
        """A title, with the language pair if there is one."""
        pair, *others = self.correlations["language_pair"].unique()
        if others or pair == NO_PAIR:
            return title
        return f"{pair}: {title[0].lower()}{title[1:]}"

    def _conclusion(self) -> str:
        """Which metric correlates best, and which differences are significant, in a sentence or two."""
        rows = self._known_rows
        best = rows.sort_values("value", ascending=False, kind="stable").drop_duplicates("language_pair")
        if best.empty:
            return "No metric has a correlation with the human scores."
        several = len(best) > 1
        if rows["metric"].nunique() == 1:
            reach = number(rows["value"].min(), ".3f")
            if several:
                reach = f"{reach} to {number(rows['value'].max(), '.3f')}, over {len(best)} language pairs"
            return f"{rows['metric'].iloc[0]} correlates with the human scores at {reach}."
        where = ""
        if not self._has_common_segments:
            where = " on common segments"
            best = self._best_on_common_segments()
            if best.empty:
                return f"No metric correlates best{where}. {self._significant()}"
        if several:
            counts = best["metric"].value_counts()
            parts = [f"{metric} in {count}" for metric, count in counts.items()]
            return f"Best in {pluralize(len(best), 'language pair')}{where}: {join_names(parts)}. {self._significant()}"
        if where:
            names = best["metric"].tolist()
            return f"{join_names(names)} correlates best{where}. {self._describe_leads(names)}"
        highest = best["value"].iloc[0]
        names = list(rows["metric"][rows["value"] == highest])
        verb = "correlates" if len(names) == 1 else "correlate"
        return f"{join_names(names)} {verb} best ({number(highest, '.3f')}). {self._describe_leads(names)}"

    def _describe_reversed(self) -> str:
        """Which metrics are probably error rates; "" if none is."""
        rows = self.correlations
        is_negative = (rows["statistic"] == self.statistic) & (rows["high"] < 0)
        names = list(dict.fromkeys(rows.loc[is_negative, "metric"]))
        if not names:
            return ""
        verb = "correlates" if len(names) == 1 else "correlate"
        return (
            f" {join_names(names)} {verb} negatively with the human scores. Higher must be better: if lower is, "
            "multiply the column by -1 and compare again."
        )

    def _significant(self) -> str:
        """How many differences are significant."""
        n_tests = len(self.tests)
        count = int((self.tests["p_holm"] <= ALPHA).sum())
        if n_tests == 0:
            return ""
        question = "" if self.alternative == "two-sided" else f", {SIDES[self.alternative]}"
        tests = f"{pluralize(n_tests, 'test')}{question}"
        if count == 0:
            return f"No difference is significant after Holm's correction ({tests})."
        return f"Significant after Holm's correction: {count} of {tests}."

    def _describe_leads(self, best: Sequence[str]) -> str:
        """The metrics over which the lead of the best one is significant; for several the number of differences."""
        leads = self.tests[self.tests["compared"] == best[0]]
        if self.alternative != "two-sided" or leads.empty or len(best) > 1:
            return self._significant()
        is_significant = leads["p_holm"] <= ALPHA
        return leads_in_words(dict(zip(leads["against"], is_significant.tolist(), strict=True)))

    def summary(self, width: int | None = None) -> str:
        """Format the comparison as text, as `bmx-grid compare` prints it.

        Args:
            width: Characters per line. A wider table is split into blocks of columns. Default: no limit for tables.

        Returns:
            str: The conclusion, correlations with intervals, best metric first, then the differences of each pair.

        Example:
            >>> import bmx_grid as bmx
            >>> frame = {"human": [1, 2, 3, 4, 5, 6], "a": [1, 2, 3, 4, 6, 5], "b": [2, 1, 4, 3, 6, 5]}
            >>> text = bmx.compare(frame, ["a", "b"], human="human", resamples=100).summary(width=80)
            >>> "Correlation with human judgements" in text
            True
        """
        conclusion = wrap_text(f"{self._conclusion()}{self._describe_reversed()}", width or WIDTH)
        return f"{conclusion}\n\n{tables_as_text(self.tables(), width)}".rstrip()

    def __repr__(self) -> str:
        metrics = ", ".join(map(escape_unprintable, dict.fromkeys(self.correlations["metric"])))
        return f"Compared({metrics}: {self.level} level, grouping {self.grouping}, {self.statistic})"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"


@dataclass(frozen=True, eq=False, repr=False)
class _ConvertedComparison(Compared):
    """Convert the frames to another library than pandas."""

    in_pandas: Compared

    def tables(self) -> list[Table]:
        return self.in_pandas.tables()

    def summary(self, width: int | None = None) -> str:
        return self.in_pandas.summary(width)

    def __repr__(self) -> str:
        return repr(self.in_pandas)


def _as_tests(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Verdicts with the columns of tests, what helps first."""
    if verdicts.empty:
        return verdicts
    return _sort_by_verdict(verdicts.rename(columns={"gain": "difference", "gain_low": "low", "gain_high": "high"}))


def _join_verdicts(tests: pd.DataFrame, verdicts: pd.DataFrame) -> pd.DataFrame:
    """Tests with their verdicts, if they have any, what helps first; both have the better metric in front."""
    if verdicts.empty:
        return tests
    names = ["language_pair", "compared", "against"]
    return _sort_by_verdict(tests.merge(verdicts.drop(columns=["difference", "low", "high"]), on=names, how="outer"))


def _sort_by_verdict(pairs: pd.DataFrame) -> pd.DataFrame:
    rank = pairs["verdict"].map([*LEGEND].index)
    order = pairs.assign(rank=rank, largest=-pairs["difference"]).sort_values(["rank", "largest"], kind="stable")
    return pairs.loc[order.index]
