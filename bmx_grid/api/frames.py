"""A DataFrame of segments in, a sweep's tables out: your own data without files or configuration."""

from __future__ import annotations

import functools
import itertools
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bmx_grid.api.sweeps import Run, run
from bmx_grid.datasets.columns import ROLES, SEVERAL, usual_columns
from bmx_grid.errors import BmxError, ConfigError, DataError, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from bmx_grid.measures.correlation import Kind

PAIR = "source-target"  # of a frame that does not say which languages it is of
NAME = "frame"
GROUPINGS = {None: "none", "none": "none", "item": "item", "system": "system"}
Columns = Mapping[str, str | Sequence[str]]


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
    output_dir: where the sweep is written; without one, a temporary folder that lives as long as the result.
    Attributions are kept in cache_dir as those of any sweep. Nothing is logged to MLflow unless tracking="mlflow".
    Raises DataError for rows that cannot be used, and as `run`.
    """
    with _Written(frame, output_dir) as written:
        roles = assigned(frame, columns or {}, ("hypothesis", "score"))
        given = {"metric": _listed(metric), "explainer": _listed(explainer), "tracking": "none", **keys}
        told = {**written.dataset(roles, language_pair), **(settings or {})}
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

    @property
    def ranking(self) -> pd.DataFrame:
        """Ranks with clusters of metrics that no test tells apart, as the WMT metrics tasks print them; ungrouped."""
        table = self.run.table("ranking")
        return table[table["level"] == self.level].reset_index(drop=True)

    def _repr_html_(self) -> str:
        shown: str = self.correlations.to_html(index=False, max_rows=20, float_format="{:.4f}".format, escape=True)
        return shown


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
    if by not in GROUPINGS:
        raise ConfigError("by: " + unknown("grouping", str(by), ("item", "system", "none")))
    if level not in ("segment", "system"):
        raise ConfigError("level: " + unknown("level", str(level), ("segment", "system")))
    names = _listed(metrics)
    for name in names:
        if name not in frame.columns:
            raise ConfigError("metrics: " + unknown("column", name, [str(one) for one in frame.columns]))
    given_columns = {**(columns or {}), **({} if human is None else {"score": human})}
    with _Written(frame, output_dir) as written:
        roles = assigned(frame, given_columns, ("score",), taken=names)
        if roles["score"][0] in names:
            raise ConfigError(
                f"human: the column {roles['score'][0]!r} is one of the metrics; name another with human."
            )
        texts = written.with_texts(roles)
        for role in ("id", "system"):  # scores find their segments by these
            if role in roles:
                texts.setdefault(role, roles[role])
        files = {name: str(written.path) for name in names}
        columns_of = {role: (names_of[0] if names_of else None) for role, names_of in roles.items()}
        told = {
            **written.dataset(texts, language_pair),
            "metric.imported.files": files,
            **{f"metric.imported.columns.{role}": columns_of.get(role) for role in ("id", "system", "language_pair")},
            **{f"evaluation.{name}.resamples": resamples for name in ("levels", "significance")},
            "evaluation.significance.statistics": [statistic],
            "seed": seed,
            **(settings or {}),
        }
        given = {
            "metric": ["imported"],
            "explainer": [],
            "evaluation": ["levels", "significance"],
            "tracking": "none",
            **keys,
        }
        return Compared(written.run(told, given, quiet), level, GROUPINGS[by], statistic, resamples, seed)


def grouped_tests(scores: pd.DataFrame, grouping: str, statistic: Kind, resamples: int, seed: int) -> pd.DataFrame:
    """Tests of every pair of metrics of a table of scores by their agreement within items or within systems.

    One row per language pair and pair of metrics; segments count that both metrics scored. p_holm, p_bh: over all rows.
    """
    import numpy as np
    import pandas as pd

    from bmx_grid.measures.levels import within_groups
    from bmx_grid.measures.multiplicity import benjamini_hochberg, holm
    from bmx_grid.measures.resampling import codes
    from bmx_grid.measures.significance import compare as compared
    from bmx_grid.measures.significance import compare_means

    rows: list[dict[str, Any]] = []
    for (dataset, pair), own in scores.groupby(["dataset", "language_pair"], sort=False):
        of = {name: part.reset_index(drop=True) for name, part in own.groupby("metric", sort=True)}
        for left, right in itertools.combinations(of, 2):
            one = of[left]
            x, y, human = (np.asarray(part, float) for part in (one["base"], of[right]["base"], one["human"]))
            known = one["system"].notna().to_numpy()
            x = np.where(known, x, np.nan)
            groups = codes(one["id" if grouping == "item" else "system"].astype(str))
            cluster = one["cluster"].to_numpy()

            def within(s: Any, h: Any, systems: Any, _: Any) -> float:
                return float(np.nanmean(within_groups(statistic, s[:, None], h, systems)))

            if grouping == "item":
                both = within_groups(statistic, np.stack([x, y], axis=1), human, groups)
                first = np.full(len(both.T), 0)
                first[groups[::-1]] = np.arange(len(groups))[::-1]
                found = compare_means(both[0], both[1], cluster[first], resamples=resamples, seed=seed)
            else:
                found = compared(x, y, human, cluster, system=groups, statistic=within, resamples=resamples, seed=seed)
            rows.append(
                {
                    **{"dataset": dataset, "language_pair": pair, "compared": left, "against": right},
                    **{"level": "segment", "grouping": grouping, "statistic": statistic},
                    **{"difference": found.difference, "low": found.low, "high": found.high},
                    **{"test": "perm_inputs", "alternative": "two-sided", "p": found.p},
                    **{"n": found.n, "clusters": found.clusters, "resamples": resamples, "seed": seed},
                }
            )
    table = pd.DataFrame(rows)
    if len(table):
        at = table.columns.get_loc("p")
        for place, (name, adjust) in enumerate((("p_holm", holm), ("p_bh", benjamini_hochberg)), start=1):
            table.insert(int(at) + place, name, adjust(table["p"].to_numpy()))  # type: ignore[arg-type]
    return table


def assigned(
    frame: pd.DataFrame, columns: Columns, needed: Sequence[str], taken: Sequence[str] = ()
) -> dict[str, tuple[str, ...]]:
    """Role -> its columns: those given, else the one of the role's own or of a usual name.

    taken: columns that play another part. Raises ConfigError for a role or column that there is not, DataError for
    needed roles without a column, all in one sentence.
    """
    names = [str(name) for name in frame.columns if str(name) not in taken]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"the frame has two columns '{twice}'; give each a name of its own.")
    found: dict[str, tuple[str, ...]] = {}
    for role, own in columns.items():
        if role not in ROLES:
            raise ConfigError("columns: " + unknown("role", role, ROLES))
        found[role] = (own,) if isinstance(own, str) else tuple(own)
        if len(found[role]) != 1 and role not in SEVERAL:
            raise ConfigError(f"columns: only {' and '.join(SEVERAL)} may have several columns, not {role}.")
        for name in found[role]:
            if name not in names:
                raise ConfigError(f"columns: {role}: " + unknown("column", name, names))
    found |= {role: (name,) for role, name in usual_columns(names, found).items()}
    missing = [role for role in needed if role not in found]
    if "hypothesis" in needed and not {"source", "reference"} & found.keys():
        missing.append("source or reference")
    if missing:
        raise DataError(
            f"the frame has no column for {', '.join(missing)}; its columns are {', '.join(names) or 'none'}. Name "
            f"them: columns={{'{missing[0].split()[0]}': 'COLUMN'}}."
        )
    return found


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


class _Written:
    """A frame as a file, for the length of a block; messages then speak of the frame."""

    def __init__(self, frame: pd.DataFrame, output_dir: str | Path | None) -> None:
        self.frame, self.output_dir = frame, output_dir

    def __enter__(self) -> _Written:
        self.folder = tempfile.TemporaryDirectory(prefix="bmx_grid-")
        self.path = Path(self.folder.name) / "frame.parquet"
        return self

    def __exit__(self, *_: object) -> None:
        if self.output_dir is not None:
            self.folder.cleanup()
        else:
            self.path.unlink(missing_ok=True)

    def with_texts(self, roles: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """These roles, with a hypothesis and a source for a frame that has none: scores need no texts.

        A source made up is the id, so that segments of one id are one cluster.
        """
        found = dict(roles)
        made: dict[str, Any] = {}
        number = [str(row) for row in range(1, len(self.frame) + 1)]
        ids = self.frame[roles["id"][0]].astype(str) if "id" in roles else number
        if "id" not in roles:
            made["id"], found["id"] = number, ("id",)
        if "hypothesis" not in roles:
            made[" hypothesis"], found["hypothesis"] = number, (" hypothesis",)
        if not {"source", "reference"} & found.keys():
            made[" source"], found["source"] = ids, (" source",)
        self.frame = self.frame.assign(**made)
        return found

    def dataset(self, roles: Mapping[str, tuple[str, ...]], language_pair: str | None) -> dict[str, Any]:
        """The keys of the data set."""
        keys: dict[str, Any] = {
            "dataset.tabular.name": NAME,
            "dataset.tabular.path": str(self.path),
            **{
                f"dataset.tabular.columns.{role}": (list(own) if len(own) > 1 else own[0])
                for role, own in roles.items()
            },
        }
        if "language_pair" not in roles:
            keys["dataset.tabular.language_pairs"] = [language_pair or PAIR]
        elif language_pair is not None:
            raise ConfigError(
                f"language_pair={language_pair!r}: the frame has a column for it, "
                f"{roles['language_pair'][0]!r}; leave one out."
            )
        return keys

    def run(self, told: Mapping[str, Any], given: Mapping[str, Any], quiet: bool) -> Run:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not len(self.frame):
            raise DataError("the frame has no rows.")
        try:
            pq.write_table(pa.Table.from_pandas(self.frame, preserve_index=False), self.path)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise DataError(
                f"the frame cannot be used ({' '.join(str(error).split())[:200]}); give each column values of one type."
            ) from error
        out = Path(self.folder.name) / "out" if self.output_dir is None else Path(self.output_dir)
        with self._told():
            found = run(
                None, settings={"name": NAME, "dataset": ["tabular"], **told}, quiet=quiet, output_dir=out, **given
            )
        return Run(found.folder, found.n_failed, self.folder if self.output_dir is None else None)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except BmxError as error:
            text = str(error).replace(str(self.path), "the frame").replace("dataset.tabular.columns.", "columns: ")
            raise type(error)(text) from error
