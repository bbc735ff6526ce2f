"""Columns of scores in, how well each metric correlates with human judgements out, with tests of every pair."""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from bmx_grid.analysis.base import Table
from bmx_grid.analysis.tested import ALPHA, PREFERRED
from bmx_grid.api.frames import NAME, frame_reader, segment_sets, swept_frame
from bmx_grid.api.inputs import Columns, Floats, FrameTable, check_columns, drawn, keyed, listed, numbers, roles_of
from bmx_grid.api.notebook import paragraphs, table_html, table_of
from bmx_grid.api.sweeps import Run
from bmx_grid.datasets.tables import Table as File
from bmx_grid.errors import ConfigError, DataError, unknown
from bmx_grid.evaluations.verdicts import LEGEND
from bmx_grid.identity import digest, identity, runtime
from bmx_grid.measures.correlation import FEWEST, KINDS, Kind, correlate
from bmx_grid.metrics.base import GivenScores, Metric
from bmx_grid.segments import NO_PAIR
from bmx_grid.wording import with_interval
from bmx_grid.words.perturbation import Item, Role

if TYPE_CHECKING:
    import pandas as pd

    from bmx_grid.evaluations.verdicts import Evidence
    from bmx_grid.segments import SegmentSet

LEVELS = ("segment", "system")
GROUPINGS = ("item", "system", "none")
FEWEST_RESAMPLES = 40  # of tests
ESTIMATES = ("gain", "beyond", "within_source")
COMPARED = ("language_pair", "compared", "against")
UNDEFINED_IN_GROUPS = "n/a: a correlation within a group needs 3 rated segments; accuracy with ties (acc eq) needs 2."


@dataclass(frozen=True, kw_only=True)
class Column(Metric):
    """A metric by its scores of segments that are in memory: language pair, id, system -> score."""

    scores: Mapping[tuple[str, str, str | None], float] = runtime()
    content: str = identity()

    @property
    def reads(self) -> tuple[Role, ...]:
        return ("hypothesis",)

    @property
    def signature(self) -> str:
        return f"column|scores:{self.content}|version:{self.VERSION}"

    def given(self, segments: SegmentSet) -> GivenScores:
        """The scores of these segments, NaN where there is none."""
        pair = segments.language_pair
        return GivenScores(np.array([self.scores[pair, one.id, one.system] for one in segments.segments], np.float64))

    def score(self, items: Sequence[Item]) -> NoReturn:
        raise ConfigError("a column of scores cannot score other texts; name a metric that scores texts.")


def column_metric(values: Floats, sets: Sequence[tuple[SegmentSet, list[int]]]) -> Column:
    """The metric of a column: float64 of the rows of a frame, which the sets name."""
    scores = {
        (segments.language_pair, one.id, one.system): float(values[row])
        for segments, rows in sets
        for one, row in zip(segments.segments, rows, strict=True)
    }
    return Column(scores=scores, content=digest(repr(values.tolist()))[:16])


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
        table = self.run.correlations
        rows = table["level"] == self.level
        if self.level == "segment":
            rows &= table["grouping"] == self.grouping
        return table[rows].reset_index(drop=True)

    @functools.cached_property
    def tests(self) -> pd.DataFrame:
        """Every pair of metrics: difference with interval, p, and p adjusted for the number of pairs.

        Clusters of segments (or at system level whole systems) are swapped between the metrics (perm_inputs,
        perm_systems) and drawn with replacement for the interval.
        """
        if self.level == "segment" and self.grouping != "none":
            return grouped_tests(self.run.scores, self.grouping, self.statistic, self.resamples, self.seed)
        return self._of_level("tests")

    @functools.cached_property
    def verdicts(self) -> pd.DataFrame:
        """Of every two metrics the better one over the other: gain, the gain beyond score and length, a verdict.

        A metric may be another one's boosted scores: what a curve of the other's score and the numbers of words explain
        is not its own. All are one family of tests. No rows at system level, and with a grouping.
        """
        import pandas as pd

        from bmx_grid.evaluations.verdicts import verdicts

        rows, evidence = [], []
        for pair, of, names in _pairs_of_metrics(self.run.scores) if self._is_judged else ():
            better, worse, known = _better(of, *names, self.statistic, self.resamples, self.seed)
            rows.append({"language_pair": pair[1], "compared": better, "against": worse})
            evidence.append(known)
        for row, known, verdict in zip(rows, evidence, verdicts(evidence), strict=True):
            row["verdict"] = verdict.label
            for name in ESTIMATES:
                estimate = getattr(known, name)
                row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
            row["because"] = verdict.because
        return pd.DataFrame(rows)

    @property
    def ranking(self) -> pd.DataFrame:
        """Ranks with clusters of metrics that no test tells apart, as the WMT metrics tasks print them; ungrouped."""
        return self._of_level("ranking")

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
        return {
            **{key: getattr(self, key) for key in ("level", "grouping", "statistic", "resamples", "seed")},
            **{name: _records(getattr(self, name)) for name in ("correlations", "tests", "verdicts")},
        }

    def __repr__(self) -> str:
        metrics = ", ".join(dict.fromkeys(self.correlations["metric"]))
        return f"Compared({metrics}: {self.level} level, grouping {self.grouping}, {self.statistic})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the tables of `summary`, each with its title."""
        return "".join(paragraphs(table.title) + table_html(table) for table in self.tables())

    @property
    def _is_judged(self) -> bool:
        return self.level == "segment" and self.grouping == "none"

    def _agreement(self) -> Table:
        import pandas as pd

        frame, unit = self.correlations, "segments" if self.level == "segment" else "systems"
        names = ["language_pair", "metric"]
        others = [kind for kind in dict.fromkeys(frame["statistic"]) if kind != self.statistic]
        wide = frame.pivot(index=names, columns="statistic", values="value").reset_index()
        chosen = frame[frame["statistic"] == self.statistic].merge(wide, on=names)
        parts = [part for _, part in chosen.groupby("language_pair", sort=False)]
        ranked = pd.concat([part.sort_values("value", ascending=False, kind="stable") for part in parts])
        columns = {"value": (self.statistic, ".3f"), "low": ("low", ".3f"), "high": ("high", ".3f")}
        columns |= {kind: (kind.replace("_", " "), ".3f") for kind in others}
        grouped = "" if self.level == "system" or self.grouping == "none" else f", grouped by {self.grouping}"
        notes = [f"Low, high: 95 % interval of {self.statistic}, by a bootstrap of {self.resamples:,} resamples."]
        notes += [UNDEFINED_IN_GROUPS] if grouped and ranked["value"].isna().all() else []
        title = f"Correlation with human judgements ({frame['human'].iloc[0]}), {self.level} level{grouped}"
        columns |= {f"n_{unit}": (unit, "")}
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
            "fitted to these segments, for both. Within source: among the translations of one source, where there are "
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
        if there are any: segments that share an id, a source or a reference are drawn and swapped together.
    metrics: columns of scores, higher is better. human: the column of human scores; without it, that of a usual name.
    by: grouping of segments: "item" (the systems of one id against each other), "system", or none. level: "segment" or
        "system" (means of the systems' segments). statistic: "pearson", "spearman" or "kendall", which tests compare;
        resamples, seed: of intervals and tests. columns, language_pair, output_dir: as for `grid`.
    Raises ConfigError for unknown columns, DataError for values that are not scores.
    """
    _check_choices(by or "none", level, statistic)
    resamples, seed = drawn(resamples, seed, FEWEST_RESAMPLES)
    table = frame if isinstance(frame, File) else FrameTable(frame)
    names, given = listed("metrics", metrics), keyed("columns", columns)
    if not names:
        raise ConfigError("metrics: name at least one column of scores, as in compare(frame, ['comet', 'chrf']).")
    check_columns(table, "metrics", names)
    if human is not None:
        given["score"] = _human(table, human, names, given)
    roles = roles_of(table, given, ("score",), taken=names)
    _check_groups(roles, by, level)
    used_columns = table.take(dict.fromkeys([*names, *(name for own in roles.values() for name in own)]))
    of_metrics = _like(table, {name: used_columns[name] for name in names})
    scores = {name: numbers(of_metrics, name, FEWEST) for name in names}
    sets = segment_sets(*_with_texts(table, roles, used_columns), language_pair)
    _warn_of_gaps(table, scores)
    run = swept_frame(
        {
            "explainer": [],
            "evaluation": ["levels", "significance"],
            **{f"evaluation.{name}.resamples": resamples for name in ("levels", "significance")},
            "evaluation.significance.statistics": [statistic],
            "seed": seed,
            **keys,
            **keyed("settings", settings),
            "dataset": {NAME: frame_reader([segments for segments, _ in sets])},
            "metric": {name: column_metric(values, sets) for name, values in scores.items()},
        },
        output_dir,
        quiet,
    )
    return Compared(run, level, by or "none", statistic, resamples, seed, roles)


def _check_choices(grouping: str, level: str, statistic: str) -> None:
    """Raise ConfigError with what is known for a grouping, level or statistic that does not exist."""
    choices = (("by", "grouping", grouping, GROUPINGS), ("level", "level", level, LEVELS))
    for argument, kind, value, known in (*choices, ("statistic", "statistic", statistic, KINDS)):
        if not isinstance(value, str) or value not in known:
            raise ConfigError(f"{argument}: " + unknown(kind, value, known))


def _with_texts(
    table: File, roles: dict[str, tuple[str, ...]], columns: Mapping[str, list[Any]]
) -> tuple[File, dict[str, tuple[str, ...]]]:
    """The columns of the roles as a table with texts, and its roles: scores need no texts.

    Without a hypothesis there is the number of the row, and without a source or reference the id, so that segments of
    one id are one cluster.
    """
    number = [str(row + 1) for row in range(len(table))]
    made = {"hypothesis": number} if "hypothesis" not in roles else {}
    if not {"source", "reference"} & roles.keys():
        ids = columns[roles["id"][0]] if "id" in roles else number
        made["source"] = ["" if name is None else name for name in ids]
    used = {name: columns[name] for names in roles.values() for name in names}
    used |= {f"({role})": values for role, values in made.items()}
    return _like(table, used), {**roles, **{role: (f"({role})",) for role in made}}


def _like(table: File, columns: Mapping[str, list[Any]]) -> File:
    """A table of these columns, whose rows are in the places of those of another one."""
    import pandas as pd

    made = FrameTable(pd.DataFrame(dict(columns), dtype=object))
    made.path, made.place = table.path, table.place
    return made


def _human(table: File, human: str, metrics: Sequence[str], given: Mapping[str, Any]) -> str:
    """The column of human scores. Raises ConfigError for one that is unknown, a metric, or given twice."""
    if human in metrics:
        raise ConfigError(f"human: the column {human!r} is one of the metrics; name another one with human.")
    if "score" in given:
        raise ConfigError("human and columns['score'] both name the human scores; give one of them.")
    check_columns(table, "human", [human])
    return human


def _warn_of_gaps(table: File, scores: Mapping[str, Floats]) -> None:
    for name, values in scores.items():
        if np.isnan(values).any():
            warnings.warn(
                f"{table.path}: {int(np.isnan(values).sum()):,} of {len(values):,} segments have no score in column "
                f"'{name}'; they are left out and counted.",
                stacklevel=3,
            )


def _check_groups(roles: Mapping[str, object], by: str | None, level: str) -> None:
    """Raise DataError where a grouping or level needs columns that the frame does not have."""
    needs = {"item": ("id", "system"), "system": ("system",)}
    argument, value = ("level", level) if level == "system" else ("by", str(by))
    missing = [role for role in needs.get(value, ()) if role not in roles]
    if missing:
        raise DataError(
            f"{argument}={value!r} compares systems, and the frame has no column for {' and '.join(missing)}; name it: "
            f"columns={{'{missing[0]}': 'COLUMN'}}."
        )


def _pairs_of_metrics(
    scores: pd.DataFrame, *, sort: bool = False
) -> Iterator[tuple[tuple[Any, ...], dict[str, pd.DataFrame], tuple[str, str]]]:
    """Of every data set and language pair every two metrics, with the rows of all metrics by name."""
    for names, rows in scores.groupby(["dataset", "language_pair"], sort=False):
        of = {str(name): own.reset_index(drop=True) for name, own in rows.groupby("metric", sort=sort)}
        for pair in itertools.combinations(of, 2):
            yield tuple(names), of, pair


def _better(
    of: Mapping[str, pd.DataFrame], first: str, second: str, kind: Kind, resamples: int, seed: int
) -> tuple[str, str, Evidence]:
    """The better of two metrics on the segments that both score, the other one, and the evidence for it."""
    from bmx_grid.evaluations.held_out import rated_of
    from bmx_grid.evaluations.verdicts import evidence_on

    frame = of[first]
    human = frame["human"].to_numpy(np.float64)
    scores = {name: of[name]["base"].to_numpy(np.float64) for name in (first, second)}
    used = np.asarray(np.isfinite([human, *scores.values()]).all(axis=0))
    correlations = [correlate(kind, values[used], human[used]) for values in scores.values()]
    better, worse = (second, first) if correlations[1] > correlations[0] else (first, second)
    counts = frame[[name for name in frame if str(name).startswith("words_")]].dropna(axis=1).to_numpy(np.float64)
    clusters, items = (frame[name].to_numpy(str) for name in ("cluster", "id"))
    rated = rated_of(kind, scores[worse], human, np.log(np.maximum(counts, 1)), clusters, items, used, seed)
    return better, worse, evidence_on(kind, rated, scores[better][used], (), resamples, seed)


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
    for (dataset, pair), of, (left, right) in _pairs_of_metrics(scores, sort=True):
        frame = of[left]
        x, y, human = (np.asarray(part, float) for part in (frame["base"], of[right]["base"], frame["human"]))
        x = np.where(frame["system"].notna().to_numpy(), x, np.nan)
        groups = codes(frame["id" if grouping == "item" else "system"].astype(str))
        cluster = frame["cluster"].to_numpy()
        if grouping == "item":
            both = within_groups(statistic, np.stack([x, y], axis=1), human, groups)
            _, first = np.unique(groups, return_index=True)
            test = compare_sums(by_mean(both[0]), by_mean(both[1]), mean, cluster[first], **drawn_with)
        else:
            test = significance(x, y, human, cluster, group=groups, statistic=statistic, **drawn_with)
        rows.append(
            {
                **{"dataset": dataset, "language_pair": pair, "compared": left, "against": right},
                **{"level": "segment", "grouping": grouping, "statistic": statistic},
                **{"difference": test.difference, "low": test.low, "high": test.high},
                **{"test": "perm_inputs", "alternative": "two-sided", "p": test.p},
                **{"p_holm": math.nan, "p_bh": math.nan},
                **{"n": test.n, "clusters": test.clusters, **drawn_with},
            }
        )
    table = pd.DataFrame(rows)
    for name, adjust in (("p_holm", holm), ("p_bh", benjamini_hochberg)) if rows else ():
        table[name] = adjust(table["p"].to_numpy())
    return table


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    rows = table.drop(columns=["dataset", "explainer", "point"], errors="ignore").to_dict("records")
    return [
        {
            str(key): None if value == NO_PAIR or (isinstance(value, float) and math.isnan(value)) else value
            for key, value in row.items()
        }
        for row in rows
    ]
