"""What `compare` returns: its tables as frames, and as they are printed."""

from __future__ import annotations

import html
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

from bmx_grid.analysis.base import Column, Table
from bmx_grid.analysis.points import ALPHA
from bmx_grid.api.kinds import PANDAS, FrameKind
from bmx_grid.core.wording import P_VALUE, counted, visible
from bmx_grid.datasets.column_roles import Roles
from bmx_grid.datasets.segments import NO_PAIR
from bmx_grid.evaluations.segment_level import PDP
from bmx_grid.evaluations.verdicts import legend
from bmx_grid.measures.correlation import FEWEST, Coefficient
from bmx_grid.measures.paired_tests import Alternative
from bmx_grid.report.table import as_text

if TYPE_CHECKING:
    import pandas as pd

Level = Literal["segment", "system"]
Grouping = Literal["item", "system", "none"]
# Segments that a verdict rests on: what learns from them takes a second for each 2,000.
MOST_JUDGED = 16_000
SHOWN_ESTIMATES = ("gain", "partial_r")
PARTIAL = (
    "Partial r: the correlation of the metric with the human scores when the other one's score, the numbers of words, "
    "text statistics where there are texts, and named systems, raters and domains are controlled for."
)
NO_LENGTHS = (
    "Length is not controlled for, as the table has neither texts nor a column of lengths. Name one: --lengths COLUMN. "
    "Without it no partial r is known, and no metric is said to help."
)
# What each permutation test exchanges.
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
# How people agree with a metric, beside correlations.
AGREEMENT = {
    "pdp": "pdp: Pearson's r of the differences between outputs for one source (DiIanni and Deutsch 2025).",
    "acc_eq": "acc eq: share of pairs of segments that the metric orders as people do, or ties where they do; what "
    "counts as a tie of scores is calibrated on these data (Deutsch et al. 2023).",
    "pairwise_accuracy": "Pairwise accuracy: share of pairs of systems that the metric orders as people do.",
    "spa": "spa: soft pairwise accuracy, which also asks how sure both are of the order (Thompson et al. 2024).",
}


TWO_METRICS = (Column("compared", "metric"), Column("against"))


@dataclass(frozen=True, eq=False)
class Compared:
    """Metrics compared by `compare`: correlations, tests and verdicts as tables.

    Attributes:
        correlations: One row per metric and statistic: `value` with its 95 % interval `low`, `high`.
        tests: One row per pair of metrics, the better one first: `difference` with `low`, `high`, `p` and `p_holm`
            (adjusted for the number of pairs). One-sided tests keep the order of the metrics.
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
        if len(self.tests):
            tables.append(self._differences())
        if len(self.verdicts):
            tables.append(self._verdicts())
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
            Column("value", self.statistic, ".3f"),
            Column("low", "low", ".3f"),
            Column("high", "high", ".3f"),
            *(Column(kind, kind.replace("_", " "), ".3f") for kind in others),
            Column(f"n_{unit}", unit),
        ]
        notes = [
            f"Low, high: 95 % interval of {self.statistic}, by a bootstrap of {counted(self.n_clusters, 'cluster')} of "
            f"segments (of one id, source, reference or document), {self.resamples:,} resamples."
        ]
        notes += [AGREEMENT[kind] for kind in others if kind in AGREEMENT]
        if frame["value"].isna().any():
            # An item has a segment of each system.
            per_group = "system" if self.level == "segment" and self.grouping == "item" else self.level
            notes.append(f"n/a: a correlation needs {FEWEST} {per_group}s that differ in metric and human scores.")
        grouped = f", grouped by {self.grouping}"
        if self.level == "system" or self.grouping == "none":
            grouped = ""
        human = frame["human"].iloc[0]
        title = self._titled(f"Correlation with human judgements ({human}), {self.level} level{grouped}")
        n_names = len(self._pair) + 1
        return Table.of("agreement", title, frame, columns, notes, by=["language_pair"], names=n_names)

    def _differences(self) -> Table:
        """A row per two metrics: the difference with its interval, and the p value of the test."""
        columns = [
            *self._pair,
            *TWO_METRICS,
            *(Column(name, name, "+.3f") for name in ("difference", "low", "high")),
            Column("p", "p", P_VALUE),
            Column("p_holm", "p holm", P_VALUE, marked="is_marked"),
        ]
        swapped = SWAPPED[self.tests["test"].iloc[0]]
        note = (
            f"Low, high: {100 * self.confidence:g} % interval. p: {SIDES[self.alternative]}, by swapping {swapped} "
            f"between the metrics; p holm: adjusted for all these tests. \u2020: at most {ALPHA:g}."
        )
        title = self._titled(f"Differences in {self.statistic} between metrics")
        marked = self.tests.assign(is_marked=self.tests["p_holm"] <= ALPHA)
        n_names = len(self._pair) + 2
        return Table.of("differences", title, marked, columns, [note], names=n_names)

    def _verdicts(self) -> Table:
        """A row per two metrics: whether the better one adds anything, with those estimates that are known."""
        estimates = []
        for name in SHOWN_ESTIMATES:
            if name == "gain" or self.verdicts[name].notna().any():
                interval = (f"{name}_low", f"{name}_high")
                estimates.append(Column(name, name.replace("_", " "), "+.3f", interval))
        notes = [PARTIAL if self.has_lengths else NO_LENGTHS]
        if self.correlations["n_segments"].max() > MOST_JUDGED:
            notes.append(f"Verdicts of more than {MOST_JUDGED:,} segments rest on so many: whole items, spread evenly.")
        labels = set(self.verdicts["verdict"])
        notes += legend(labels)
        title = self._titled("Does the better metric add anything to the other one's score and the length?")
        columns = [*self._pair, *TWO_METRICS, *estimates, Column("verdict")]
        n_names = len(self._pair) + 2
        return Table.of("verdicts", title, self.verdicts, columns, notes, names=n_names)

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
        return _OfKind(**values, in_pandas=self)

    @property
    def _pair(self) -> list[Column]:
        """The column of the language pair, where there are several."""
        several = self.correlations["language_pair"].nunique() > 1
        return [Column("language_pair", "pair")] if several else []

    def _titled(self, title: str) -> str:
        """A title, with the language pair where there is one."""
        pair, *others = self.correlations["language_pair"].unique()
        if others or pair == NO_PAIR:
            return title
        return f"{pair}: {title[0].lower()}{title[1:]}"

    def summary(self, width: int | None = None) -> str:
        """Format the comparison as text, as `bmx-grid compare` prints it.

        Args:
            width: Characters per line. A wider table is split into blocks of columns. Default: no limit for tables.

        Returns:
            str: Correlations, best metric first, with intervals, then the tests of each pair.

        Example:
            >>> import bmx_grid as bmx
            >>> frame = {"human": [1, 2, 3, 4, 5, 6], "a": [1, 2, 3, 4, 6, 5], "b": [2, 1, 4, 3, 6, 5]}
            >>> text = bmx.compare(frame, ["a", "b"], human="human", resamples=100).summary(width=80)
            >>> "Correlation with human judgements" in text
            True
        """
        return "\n".join(as_text(table, width) for table in self.tables()).rstrip()

    def __repr__(self) -> str:
        metrics = ", ".join(map(visible, dict.fromkeys(self.correlations["metric"])))
        return f"Compared({metrics}: {self.level} level, grouping {self.grouping}, {self.statistic})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the tables of `summary`."""
        return f"<pre>{html.escape(self.summary())}</pre>"


@dataclass(frozen=True, eq=False, repr=False)
class _OfKind(Compared):
    """With frames that are not of pandas."""

    in_pandas: Compared

    def tables(self) -> list[Table]:
        return self.in_pandas.tables()

    def __repr__(self) -> str:
        return repr(self.in_pandas)
