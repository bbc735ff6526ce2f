"""A DataFrame of segments in, a sweep's tables out: your own data without files or configuration."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.api.inputs import as_dict, as_name_list, one_name, path
from bmx_grid.api.kinds import FrameKind, frame_kind, plain_values
from bmx_grid.api.run_results import Run
from bmx_grid.api.sweeps import run_keys
from bmx_grid.core.configure import convert
from bmx_grid.core.errors import ConfigError, DataError
from bmx_grid.core.identity import digest, identity, runtime
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import escape_unprintable
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.column_roles import Roles, roles_of_table
from bmx_grid.datasets.lines import Decimal, parse_numbers
from bmx_grid.datasets.nested import field_names, field_value
from bmx_grid.datasets.segments import NO_PAIR, SegmentSet
from bmx_grid.datasets.table_file import TableFile, is_gap
from bmx_grid.datasets.tabular import TableRows, table_rows
from bmx_grid.measures.correlation import FEWEST
from bmx_grid.words.perturbation import INVISIBLE

if TYPE_CHECKING:
    from bmx_grid.attribution.scorer import Scorer
    from bmx_grid.explainers.base import Explainer
    from bmx_grid.metrics.base import Metric

    AMetric = str | Metric | Scorer | Callable[..., Any]

Columns = Mapping[str, str | Sequence[str]]
NAME = "frame"
FRAME = "the frame"  # what messages call it, in place of a path


@dataclass(frozen=True, kw_only=True)
class Frame(DatasetReader):
    """A data set that is in memory: its sets of segments by language pair."""

    name: str = runtime(NAME)
    sets: Mapping[str, SegmentSet] = runtime()
    content: str = identity()

    def load_segments(self, data_dir: Path, language_pair: str) -> SegmentSet:
        return self.sets[language_pair]


def frame_table(frame: Any) -> tuple[TableFile, FrameKind]:
    """A frame of any kind as a user's table, so that its rows are read like those of a file, and its kind.

    Raises ConfigError for anything that is no frame, DataError for one without rows.
    """
    in_pandas, kind = frame_kind(frame)
    if not len(in_pandas):
        raise DataError("the frame has no rows.")
    names = [str(name).strip(INVISIBLE) for name in in_pandas.columns]
    renamed = in_pandas.set_axis(names, axis=1)
    # A column of dictionaries becomes a column per field, as in a file.
    objects = {}
    for number, name in enumerate(names):
        values = renamed.iloc[:, number]
        if values.dtype == object and any(isinstance(value, Mapping) for value in values):
            objects[name] = plain_values(values)
    fields = []
    for name in names:
        records = [{name: value} for value in objects.get(name, ())]
        inner = dict.fromkeys(itertools.chain.from_iterable(map(field_names, records)))
        fields += [field for field in inner if field != name] or [name]

    def column(name: str) -> list[Any]:
        if name in names:
            return plain_values(renamed[name])
        (top,) = [top for top in objects if name.startswith(f"{top}.")]
        return [field_value({top: value}, name, None) for value in objects[top]]

    places = range(1, len(renamed) + 1)
    return TableFile(Path(FRAME), fields, column, places, objects=list(objects)), kind


def _is_file(table: TableFile) -> bool:
    """Whether a table was read from a file, by the command line: then messages name its flags."""
    return str(table.path) != FRAME


def roles_of(table: TableFile, columns: Columns | None, needed: Sequence[str], taken: Sequence[str] = ()) -> Roles:
    """Role -> its columns, as `roles_of_table` finds them; taken: columns that play another part."""
    chosen = {}
    for role, names in as_dict("columns", columns).items():
        chosen[role] = as_name_list(f"columns: {role}", names)
    way_out = "--columns {}=COLUMN" if _is_file(table) else "columns={{'{}': 'COLUMN'}}"
    return roles_of_table(table, chosen, needed, way_out, taken=taken).roles


def number_column(table: TableFile, name: str, decimal: Decimal = ".") -> Floats:
    """float64 of a column, NaN for gaps. decimal: the decimal sign of numbers that are texts.

    Raises DataError naming the row of anything else, and for too few numbers.
    """
    score_in_words = f"the score in column '{name}'"
    way_out = "leave it empty if unknown"
    comma_option = "--decimal=," if _is_file(table) else "decimal=','"

    def where(row: int) -> str:
        return escape_unprintable(table.where(row))

    values = table.take([name])[name]
    numbers = np.array(parse_numbers(values, where, score_in_words, way_out, decimal, comma_option))
    count = np.isfinite(numbers).sum()
    if count < FEWEST:
        raise DataError(f"the column {name!r} of {table.path} has {count} numbers; a correlation needs {FEWEST}.")
    return numbers


def frame_rows(table: TableFile, roles: Roles, language_pair: str | None, decimal: Decimal = ".") -> TableRows:
    """The segments of a table by language pair, in order of appearance.

    roles: role -> columns. decimal: as for `number_column`. Raises DataError that names the first unusable row,
    ConfigError for a language pair from two places.
    """
    pairs: tuple[str, ...] = ()
    if "language_pair" not in roles:
        pairs = (str(language_pair or NO_PAIR),)
    elif language_pair is not None:
        (column,) = roles["language_pair"]
        raise ConfigError(f"language_pair: {table.path} already has a column {column!r}; leave language_pair out.")
    # Only its errors are needed: `table_rows` accepts a column with too few numbers.
    for name in roles.get("score", ()):
        number_column(table, name, decimal)
    return table_rows(table, roles, pairs, str(table.path), decimal)


def add_missing_texts(table: TableFile, roles: Roles) -> tuple[TableFile, Roles]:
    """Add columns for missing texts that segments need; return the table and its roles.

    Scores need no texts: a hypothesis that is missing is the row's number and never read, and in place of a source or
    reference is the id, so that segments of one id are one cluster.
    """
    texts = {}
    if "hypothesis" not in roles:
        # With ids the rows of one output share a text, like those of a table with texts.
        texts["hypothesis"] = [""] * len(table) if "id" in roles else [str(row + 1) for row in range(len(table))]
    if "source" not in roles and "reference" not in roles:
        if "id" in roles:
            (id_column,) = roles["id"]
            ids = table.take([id_column])[id_column]
        else:
            ids = [str(row + 1) for row in range(len(table))]
        # As texts: the column that holds an invalid id refuses it.
        texts["source"] = ["" if is_gap(name) else str(name) for name in ids]
    added_roles = {role: (f"({role})",) for role in texts}
    added = {f"({role})": values for role, values in texts.items()}

    def column(name: str) -> list[Any]:
        return added[name] if name in added else table.take([name])[name]

    # A metric may be called as a role: only columns that play a role are in this table.
    used = dict.fromkeys(itertools.chain.from_iterable(roles.values()))
    completed = TableFile(table.path, [*used, *added], column, table.places, table.unit)
    return completed, {**roles, **added_roles}


def grid(
    frame: Any,
    metric: AMetric | Sequence[AMetric] | Mapping[str, AMetric] = "chrf",
    explainer: str | Explainer | Sequence[str | Explainer] = "erasure",
    *,
    columns: Columns | None = None,
    language_pair: str | None = None,
    decimal: Decimal = ".",
    output_dir: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    quiet: bool = True,
    **keys: Any,
) -> Run:
    """Compute the p x w grid of metrics on the segments of a data frame.

    Runs a sweep over the frame, with intervals, tests and control boosts. Attributions are kept in the cache, except
    for metrics that are functions. Results are not logged to MLflow unless you set `tracking="mlflow"`.

    Args:
        frame: pandas or polars DataFrame, Arrow table or dictionary of lists, one row per segment and system. Required
            columns: hypothesis, human score (higher is better), and source or reference. Optional: id, system, document
            and language_pair. Common names (src, ref, mt, DA, ...) are recognised.
        metric: Option name, function, object such as `bmx_grid.load("chrf")`, a list, or a dictionary by name. The
            parameter names of a function declare its input: `f(hypotheses, references)`, `f(hypotheses, sources)` or
            all three. It receives lists of N strings and returns N scores, higher is better.
        explainer: Option name, `Explainer` object, or a list.
        columns: Dictionary from role to column name, for columns with other names: `{"score": "quality"}`.
        language_pair: Language pair of a frame without such a column, such as `"de-en"`.
        decimal: Decimal sign of scores that are texts, `"."` or `","`.
        output_dir: Folder for tables, figures and page. Without a folder, only tables are written, and deleted with the
            result.
        settings: Dictionary of keys that contain dots, as in `run`.
        quiet: If true, print no summary.
        **keys: Further groups and top-level keys, as in `run`.

    Returns:
        Run: The finished sweep. Its tables have the type of `frame`.

    Raises:
        ConfigError: `frame` is not a table, or an argument, key or name is invalid.
        DataError: A column is missing, a row cannot be used, or no setting could run.

    Example:
        >>> import bmx_grid as bmx
        >>> import pandas as pd
        >>> frame = pd.DataFrame({
        ...     "ref": ["the cat sat on the mat", "he went home", "it rains in spring", "we have no time"],
        ...     "mt": ["a cat sat on a mat", "he walks home", "it rains", "we do not have time"],
        ...     "DA": [0.8, 0.1, -0.9, 0.5],
        ... })
        >>> def overlap(hypotheses, references):
        ...     return [len({*h.split()} & {*r.split()}) / len(r.split()) for h, r in zip(hypotheses, references)]
        >>> run = bmx.grid(frame, metric=overlap, explainer="erasure", settings={"grid.p.step": 5})
        >>> run.settings[["metric", "explainer", "n_used"]]
            metric explainer  n_used
        0  overlap   erasure       4
    """
    table, kind = frame_table(frame)
    roles = roles_of(table, columns, ("hypothesis", "score"))
    decimal = convert(decimal, Decimal, "decimal")
    language_pair = one_name("language_pair", language_pair)
    sets = {}
    rows = frame_rows(table, roles, language_pair, decimal)
    for pair in rows.by_pair:
        sets[pair] = rows.segments(NAME, pair)
    # What identifies the data set: a frame has no file.
    content = digest([segments.fingerprint() for segments in sets.values()])
    reader = Frame(sets=sets, language_pairs=tuple(sets), content=content[:16])
    values = {"tracking": "none", "name": NAME, **keys, **as_dict("settings", settings)}
    values |= {"metric": metric, "explainer": explainer, "dataset": {NAME: reader}}
    if output_dir is not None:
        values["output_dir"] = path("output_dir", output_dir)
    return run_keys(values, quiet=quiet, temporary=output_dir is None, kind=kind)
