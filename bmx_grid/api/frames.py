"""A DataFrame of segments in, a sweep's tables out: your own data without files or configuration."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bmx_grid.api.given import keyed, listed
from bmx_grid.api.grouped import grouped_tests
from bmx_grid.api.roles import Columns, assigned, check_frame, check_numbers
from bmx_grid.api.sweeps import Run
from bmx_grid.api.written import Written
from bmx_grid.errors import ConfigError, DataError, unknown
from bmx_grid.measures.correlation import FEWEST, KINDS, Kind, correlate

if TYPE_CHECKING:
    import pandas as pd

    from bmx_grid.evaluations.verdicts import Evidence

LEVELS = ("segment", "system")
GROUPINGS = {None: "none", "none": "none", "item": "item", "system": "system"}


def grid(
    frame: pd.DataFrame,
    metric: str | Sequence[str] = "chrf",
    explainer: str | Sequence[str] = "erasure",
    *,
    columns: Columns | None = None,
    language_pair: str | None = None,
    output_dir: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    quiet: bool = True,
    **keys: Any,
) -> Run:
    """The p x w grid of a DataFrame's segments, with intervals, tests and placebos: a sweep over this frame.

    >>> found = grid(frame, metric="chrf", explainer="erasure")  # doctest: +SKIP
    >>> found.settings, found.tests, found.plot()  # doctest: +SKIP

    frame: one row per segment (and system), with columns for hypothesis, score (of people, higher is better), and
        source or reference; id, system, document and language_pair where there are. Usual names (src, ref, mt, DA, …)
        are recognised; columns: role -> column, for others. language_pair: of a frame without such a column.
    metric, explainer: names of options, one or several. settings, keys: as `run` takes them.
    output_dir: where the sweep is written, with its page and figures; without one, a temporary folder that lives as
        long as the result and has the tables only.
    Attributions are kept in cache_dir as those of any sweep. Nothing is logged to MLflow unless tracking="mlflow".
    Raises DataError for rows that cannot be used, and as `run`.
    """
    check_frame(frame)
    frame = frame.rename(columns=str)
    with Written(frame, output_dir) as written:
        roles = assigned(frame, keyed("columns", columns), ("hypothesis", "score"))
        _check_scores(frame, roles["score"])
        chosen = {"metric": listed("metric", metric), "explainer": listed("explainer", explainer)}
        given = {**chosen, "tracking": "none", **keys}
        told = {**written.dataset(roles, language_pair), **keyed("settings", settings)}
        return written.run(told, given, quiet)


@dataclass(frozen=True, eq=False)
class Compared:
    """Metrics beside each other: `correlations` with people, `tests` of every pair, `ranking`; `run` has the rest."""

    run: Run
    level: str
    grouping: str
    statistic: Kind
    resamples: int
    seed: int

    @property
    def correlations(self) -> pd.DataFrame:
        """Each metric's agreement with people, with its interval, at this level and grouping."""
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
        table = self.run.tests
        return table[table["level"] == self.level].reset_index(drop=True)

    @functools.cached_property
    def verdicts(self) -> pd.DataFrame:
        """Of every two metrics the better one over the other: gain, what it is beyond score and length, and a verdict.

        A metric may be another one's boosted scores: what a curve of the other's score and the numbers of words explain
        is not its own. All are one family of tests; at segment level without grouping.
        """
        import pandas as pd

        from bmx_grid.evaluations.verdicts import verdicts

        rows, evidence = [], []
        for pair, own in self.run.scores.groupby("language_pair", sort=False):
            of = {str(name): frame.reset_index(drop=True) for name, frame in own.groupby("metric", sort=False)}
            for one, other in itertools.combinations(of, 2):
                better, worse, found = _better(of, one, other, self.statistic, self.resamples, self.seed)
                rows.append({"language_pair": pair, "compared": better, "against": worse})
                evidence.append(found)
        made = []
        for row, found, verdict in zip(rows, evidence, verdicts(evidence), strict=True):
            estimates = {"gain": found.gain, "beyond": found.beyond, "within_source": found.within_source}
            numbers = {
                f"{name}{end}": getattr(of, key)
                for name, of in estimates.items()
                for end, key in (("", "value"), ("_low", "low"), ("_high", "high"))
            }
            made.append({**row, "verdict": verdict.label, **numbers, "because": verdict.because})
        return pd.DataFrame(made)

    @property
    def ranking(self) -> pd.DataFrame:
        """Ranks with clusters of metrics that no test tells apart, as the WMT metrics tasks print them; ungrouped."""
        table = self.run.table("ranking")
        return table[table["level"] == self.level].reset_index(drop=True)

    def __repr__(self) -> str:
        metrics = ", ".join(dict.fromkeys(self.correlations["metric"]))
        return f"Compared({metrics}: {self.level} level, grouping {self.grouping}, {self.statistic})"

    def _repr_html_(self) -> str:
        """What a notebook shows: agreement with people, the best metric first, then the tests of each pair."""
        from bmx_grid.analysis.tested import PREFERRED
        from bmx_grid.api.shown import of_columns, of_several, paragraphs, table_html

        found, tests = self.correlations, self.tests
        found = found[found["statistic"] == self.statistic].sort_values("value", ascending=False, kind="stable")
        pairs = [name for name in of_several(found, ("dataset", "language_pair", "metric")) if name != "metric"]
        grouped = ["n_systems", "n_groups"] if self.level == "system" or self.grouping != "none" else []
        columns = [*pairs, "metric", "value", "low", "high", "n_segments", *grouped]
        by = "" if self.grouping == "none" else f", by {self.grouping}"
        shown = paragraphs(f"{self.statistic} with {self._human}, {self.level} level{by}, and 95 % interval")
        shown += table_html(of_columns(found, columns))
        if not len(tests):
            return shown
        test = next((name for name in PREFERRED if (tests["test"] == name).any()), tests["test"].iloc[0])
        tests = tests[tests["test"] == test]
        columns = [*pairs, "compared", "against", "difference", "low", "high", "p", "p_holm"]
        return shown + paragraphs(f"differences, tested by {test}") + table_html(of_columns(tests, columns))

    @property
    def _human(self) -> str:
        found = self.correlations
        return str(found["human"].iloc[0]) if "human" in found and len(found) else "human scores"


def _better(
    of: Mapping[str, pd.DataFrame], one: str, other: str, kind: Kind, resamples: int, seed: int
) -> tuple[str, str, Evidence]:
    """The better of two metrics on the segments that both score, the other one, and the evidence for it."""
    from bmx_grid.evaluations.boost_verdicts import evidence_on
    from bmx_grid.evaluations.held_out import rated_of

    frame = of[one]
    human = frame["human"].to_numpy(np.float64)
    scores = {name: of[name]["base"].to_numpy(np.float64) for name in (one, other)}
    used = np.asarray(np.isfinite([human, *scores.values()]).all(axis=0))
    first, second = (correlate(kind, own[used], human[used]) for own in scores.values())
    better, worse = (other, one) if second > first else (one, other)
    counts = frame[[name for name in frame if str(name).startswith("words_")]].dropna(axis=1).to_numpy(np.float64)
    clusters, items = (frame[name].to_numpy(str) for name in ("cluster", "id"))
    rated = rated_of(kind, scores[worse], human, np.log(np.maximum(counts, 1)), clusters, items, used, seed)
    return better, worse, evidence_on(kind, rated, scores[better][used], (), resamples, seed)


def compare(
    frame: pd.DataFrame,
    metrics: Sequence[str],
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
    """Which metrics agree better with people: correlations, intervals and tests of columns of scores.

    >>> compare(frame, ["comet", "chrf"], human="mqm", by="item").tests  # doctest: +SKIP

    frame: one row per segment (and system): a column per metric, the human scores, and id, system, source, reference
        where there are: segments that share an id, a source or a reference are drawn and swapped together.
    metrics: columns of scores, higher is better. human: the column of human scores; without it, that of a usual name.
    by: grouping of segments: "item" (the systems of one id against each other), "system", or none. level: "segment" or
        "system" (means of the systems' segments). statistic: "pearson", "spearman" or "kendall", which tests compare;
        resamples, seed: of intervals and tests. columns, language_pair, output_dir: as for `grid`.
    Raises ConfigError for columns that there are not, DataError for values that are no scores.
    """
    if not isinstance(by, str | None) or by not in GROUPINGS:
        raise ConfigError("by: " + unknown("grouping", by, ("item", "system", "none")))
    if level not in LEVELS:
        raise ConfigError("level: " + unknown("level", level, LEVELS))
    if statistic not in KINDS:
        raise ConfigError("statistic: " + unknown("statistic", statistic, KINDS))
    check_frame(frame)
    frame = frame.rename(columns=str)
    names = listed("metrics", metrics)
    if not names:
        raise ConfigError("metrics: name at least one column of scores, as in compare(frame, ['comet', 'chrf']).")
    for name in names:
        if name not in frame.columns:
            raise ConfigError("metrics: " + unknown("column", name, [str(one) for one in frame.columns]))
    judged = [] if human is None else listed("human", human)
    for name in judged:
        if name in names:
            raise ConfigError(f"human: the column {name!r} is one of the metrics; name another with human.")
        if name not in frame.columns:
            raise ConfigError("human: " + unknown("column", name, [one for one in frame.columns if one not in names]))
    given_columns = {**keyed("columns", columns), **({"score": judged} if judged else {})}
    with Written(frame, output_dir) as written:
        roles = assigned(frame, given_columns, ("score",), taken=names)
        _check_scores(frame, (*roles["score"], *names))
        _check_groups(roles, by, level)
        texts = written.with_texts(roles)
        told = {
            **written.dataset(texts, language_pair),
            "metric.imported.files": {name: str(written.scores(name, texts)) for name in names},
            **{f"evaluation.{name}.resamples": resamples for name in ("levels", "significance")},
            "evaluation.significance.statistics": [statistic],
            "seed": seed,
            **keyed("settings", settings),
        }
        given = {
            "metric": ["imported"],
            "explainer": [],
            "evaluation": ["levels", "significance"],
            "tracking": "none",
            **keys,
        }
        return Compared(written.run(told, given, quiet), level, GROUPINGS[by], statistic, resamples, seed)


def _check_scores(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    if not len(frame):
        raise DataError("the frame has no rows.")
    for column in columns:
        check_numbers(frame, column, FEWEST)


def _check_groups(roles: Mapping[str, object], by: str | None, level: str) -> None:
    """Raise DataError where a grouping or level needs columns that the frame has not."""
    needs = {"item": ("id", "system"), "system": ("system",)}
    asked, value = ("level", level) if level == "system" else ("by", str(by))
    missing = [role for role in needs.get(value, ()) if role not in roles]
    if missing:
        raise DataError(
            f"{asked}={value!r} compares systems, and the frame has no column for {' and '.join(missing)}; name it: "
            f"columns={{'{missing[0]}': 'COLUMN'}}."
        )
