"""bmx-grid compare: columns of scores beside each other, from a table; `bmx_grid.compare` on the command line."""

from __future__ import annotations

import argparse
import json
import math
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.tested import ALPHA, PREFERRED
from bmx_grid.api.frames import LEVELS, Compared
from bmx_grid.datasets.columns import ROLES, usual_columns
from bmx_grid.datasets.columns import listed as listed_columns
from bmx_grid.datasets.lines import parse_number
from bmx_grid.datasets.tables import MAX_BYTES, open_table
from bmx_grid.datasets.tables import Table as File
from bmx_grid.errors import BmxError, ConfigError, DataError, DataMissingError, unknown
from bmx_grid.evaluations.verdicts import LEGEND
from bmx_grid.measures.correlation import KINDS
from bmx_grid.report.table import as_text, wrapped, write_table
from bmx_grid.report.terminal import WIDEST
from bmx_grid.terminal import command
from bmx_grid.wording import counted, visible, with_interval

if TYPE_CHECKING:
    import pandas as pd

EPILOG = """The table (TSV, CSV, JSON Lines, Parquet) has one row per segment and system: a
column per metric, higher is better, one of human scores, and where there are
such, columns for id, system, source, reference and language pair: segments that
share an id, a source or a reference are drawn and swapped together. Usual names
(DA, seg_id, sys, lp, src, ref, ...) are recognised.

exit status: 0 done; 2 a mistake in the command or its table.

examples:
  bmx-grid compare scores.tsv --metrics comet chrf --human mqm --by item
  bmx-grid compare scores.tsv --metrics comet chrf --level system --json"""
UNDEFINED_IN_GROUPS = "n/a: a correlation within a group needs 3 rated segments; accuracy with ties (acc eq) needs 2."
ROW = re.compile(r"(?:(?<=the frame, )|(?<= used in ))row (\d+)")  # in messages
UNSCORED = "leave it empty where there is none"


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the columns; the exit status (see EPILOG)."""
    parsed = _parser().parse_args(arguments)

    def work() -> int:
        print(_run(parsed))
        return 0

    return command(work)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bmx-grid compare",
        description="Which metric agrees better with people: correlations with intervals, and\ntests of every pair.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("table", metavar="TABLE", help="the file")
    parser.add_argument("--metrics", nargs="+", metavar="COLUMN", help="columns of scores")
    parser.add_argument("--human", metavar="COLUMN", help="the column of human scores")
    parser.add_argument("--by", choices=("item", "system", "none"), default="none", help="grouping of segments")
    parser.add_argument("--level", choices=LEVELS, default="segment", help="default: segment")
    parser.add_argument("--statistic", choices=KINDS, default="pearson", help="what tests compare")
    parser.add_argument("--columns", nargs="+", default=[], metavar="ROLE=COLUMN", help=f"roles: {', '.join(ROLES)}")
    parser.add_argument("--separator", metavar="SIGN", help="of a CSV file, where it is no comma")
    parser.add_argument("--resamples", type=int, default=1000, help="of intervals and tests (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="of intervals and tests (default: 0)")
    parser.add_argument("--output", metavar="DIR", help="write the tables (txt, md, tex, csv) and all numbers there")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _run(parsed: argparse.Namespace) -> str:
    """The output. Raises BmxError for every mistake that the user can fix."""
    import bmx_grid

    path = Path(parsed.table).expanduser()
    if not path.is_file():
        raise DataMissingError(f"{parsed.table}: there is no such file (looked in {Path.cwd()}).")
    file = open_table(path, MAX_BYTES, parsed.separator, "--separator")
    metrics = parsed.metrics or []
    roles = _roles(file, metrics, parsed)
    if not metrics:
        raise ConfigError(_without_metrics(file, roles, parsed.table))
    out = None if parsed.output is None else Path(parsed.output).expanduser()
    with _told_of(file):
        found = bmx_grid.compare(
            _frame(file, metrics, roles),
            metrics,
            by=parsed.by,
            level=parsed.level,
            statistic=parsed.statistic,
            resamples=parsed.resamples,
            seed=parsed.seed,
            columns=roles,
            output_dir=out,
            analysis=out is not None,
            cache_dir=str(Path(tempfile.gettempdir()) / "bmx_grid"),  # nothing is scored, so nothing is kept there
        )
    tables = [one for one in (agreement(found), differences(found), judged(found)) if one.rows]
    if out is not None:
        for table in tables:
            write_table(table, out / "tables", "csv")
        print(f"written to {visible(str(out))}/", file=sys.stderr)
    read = _read(file, metrics, roles)
    if parsed.json:
        return json.dumps({"table": parsed.table, "read": read, **as_json(found)}, ensure_ascii=False, indent=1)
    width = min(shutil.get_terminal_size((80, 24)).columns, WIDEST)
    said = f"{visible(parsed.table)}: {counted(len(file), 'row')}; " + "; ".join(
        f"{kind} {visible(', '.join(names))}" for kind, names in read.items() if names
    )
    return "\n".join([wrapped(said, width, "  "), "", *(as_text(one, width) for one in tables)]).rstrip()


@contextmanager
def _told_of(file: File) -> Iterator[None]:
    """Mistakes in a frame as mistakes in the file that it was made of."""
    try:
        yield
    except BmxError as error:
        told = ROW.sub(lambda found: file.place(int(found[1]) - 1), str(error))
        raise type(error)(told.replace("the frame", visible(str(file.path)))) from error


def agreement(found: Compared) -> Table:
    """Each metric's agreement with people by language pair, best first: the chosen statistic with its interval."""
    rows = found.correlations
    others = [one for one in dict.fromkeys(rows["statistic"]) if one != found.statistic]
    groups: list[tuple[tuple[Cell, ...], ...]] = []
    for pair, own in rows.groupby("language_pair", sort=False):
        at = {(row["metric"], row["statistic"]): row for row in own.to_dict("records")}
        of_pair = [
            (
                *(Cell(str(pair)), Cell(metric)),
                *(Cell(at[metric, found.statistic][key], ".3f") for key in ("value", "low", "high")),
                *(Cell(at[metric, one]["value"], ".3f") for one in others),
                Cell(at[metric, found.statistic]["n_segments" if found.level == "segment" else "n_systems"]),
            )
            for metric in dict.fromkeys(own["metric"])
        ]
        groups.append(tuple(sorted(of_pair, key=lambda line: -_ranked(line))))
    lines = [line for group in groups for line in group]
    unit = "segments" if found.level == "segment" else "systems"
    grouped = "" if found.level == "system" or found.grouping == "none" else f", grouped by {found.grouping}"
    return Table(
        "compared_agreement",
        f"Agreement with people, {found.level} level{grouped}",
        ("pair", "metric", found.statistic, "low", "high", *(one.replace("_", " ") for one in others), unit),
        tuple(groups),
        (
            f"Low, high: 95 % interval of {found.statistic}, by a bootstrap of {found.resamples:,} resamples.",
            *([UNDEFINED_IN_GROUPS] if grouped and not any(math.isfinite(_ranked(line[:5])) for line in lines) else []),
        ),
        names=2,
    )


def _ranked(line: Sequence[Cell]) -> float:
    """The first of its numbers that is defined."""
    return next((one.value for one in line[2:] if isinstance(one.value, float) and math.isfinite(one.value)), -math.inf)


def differences(found: Compared) -> Table:
    """Every pair of metrics: the difference in the chosen statistic with its interval, p and p adjusted by Holm."""
    rows = found.tests
    if len(rows):
        rows = rows[rows["statistic"] == found.statistic]
        rows = rows[rows["test"] == next((one for one in PREFERRED if one in set(rows["test"])), "")]
    lines = [
        (
            *(Cell(str(row[key])) for key in ("language_pair", "compared", "against")),
            *(Cell(row[key], "+.3f") for key in ("difference", "low", "high")),
            *(Cell(row[key], ".3g", marked=key == "p_holm" and row[key] <= ALPHA) for key in ("p", "p_holm")),
        )
        for row in rows.to_dict("records")
    ]
    return Table(
        "compared_differences",
        f"Differences in {found.statistic} between metrics",
        ("pair", "metric", "against", "difference", "low", "high", "p", "p holm"),
        (tuple(lines),) if lines else (),
        (
            "p: two-sided, by swapping clusters of segments (or whole systems) between the metrics; p holm: adjusted "
            f"for all these tests. \u2020: at most {ALPHA:g}.",
        ),
        names=3,
    )


def judged(found: Compared) -> Table:
    """The better metric of each pair over the other: what is left beyond score and length, and the verdict."""
    rows = found.verdicts.to_dict("records") if found.level == "segment" and found.grouping == "none" else []
    lines = [
        (
            *(Cell(str(row[key])) for key in ("language_pair", "compared", "against")),
            *(Cell(row[key], "+.3f", words=_interval(row, key)) for key in ("gain", "beyond", "within_source")),
            Cell(row["verdict"]),
        )
        for row in rows
    ]
    meanings = [f"{label}: {LEGEND[label]}." for label in LEGEND if any(row["verdict"] == label for row in rows)]
    return Table(
        "compared_verdicts",
        "Is the better metric more than the other one's score and the length?",
        ("pair", "metric", "against", "gain", "beyond score and length", "within source", "verdict"),
        (tuple(lines),) if lines else (),
        (
            "Beyond score and length: with a smooth curve of the other metric's score and of the numbers of words "
            "fitted to these segments, for both. Within source: among the translations of one source, where there are "
            "30 of them. No attributions are known here: those of other segments stand beside a boost in a sweep, or "
            "in bmx_grid.boost(…).verdict.",
            *meanings,
        ),
        names=3,
    )


def _interval(row: Mapping[Any, Any], key: str) -> str:
    return with_interval(row[key], row[f"{key}_low"], row[f"{key}_high"], "+.3f")


def as_json(found: Compared) -> dict[str, Any]:
    """All rows with all digits; null where a number is undefined."""
    return {
        **{key: getattr(found, key) for key in ("level", "grouping", "statistic", "resamples", "seed")},
        "correlations": _plain(found.correlations),
        "tests": _plain(found.tests),
        "verdicts": _plain(found.verdicts) if found.level == "segment" and found.grouping == "none" else [],
    }


def _plain(table: pd.DataFrame) -> list[dict[str, Any]]:
    rows = table.drop(columns=["dataset", "explainer", "point"], errors="ignore").to_dict("records")
    return [
        {str(key): None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}
        for row in rows
    ]


def _roles(file: File, metrics: Sequence[str], parsed: argparse.Namespace) -> dict[str, str]:
    """Role -> its column: those given, else those of usual names. Raises ConfigError and DataError."""
    names, path = list(dict.fromkeys(file.names)), visible(str(file.path))
    found: dict[str, str] = {}
    for given in parsed.columns:
        role, equals, column = given.partition("=")
        if not equals or not column:
            raise ConfigError(f"--columns {given}: write ROLE=COLUMN, with one of {', '.join(ROLES)}.")
        if role not in ROLES:
            raise ConfigError("--columns: " + unknown("role", role, ROLES))
        found[role] = column
    found |= {} if parsed.human is None else {"score": parsed.human}
    for flag, asked in (("--metrics", metrics), ("--human", [parsed.human] * (parsed.human is not None))):
        for name in asked:
            if name not in names:
                raise ConfigError(f"{path}: {flag}: " + unknown("column", name, names))
    for role, column in found.items():
        if column not in names:
            raise ConfigError(f"{path}: the {role}: " + unknown("column", column, names))
    found |= usual_columns([name for name in names if name not in metrics], {role: (of,) for role, of in found.items()})
    if "score" not in found:
        raise DataError(
            f"{path}: no column of human scores is recognised; name it: --human COLUMN. The columns are "
            f"{listed_columns(names)}."
        )
    if found["score"] in metrics:
        raise ConfigError(f"--human: {found['score']} is one of --metrics; name another column.")
    return found


def _frame(file: File, metrics: Sequence[str], roles: Mapping[str, str]) -> pd.DataFrame:
    """The columns that are used: numbers as float64, NaN where there is none. Raises DataError naming the row."""
    import pandas as pd

    columns: dict[str, list[Any]] = file.take(dict.fromkeys([*metrics, *roles.values()]))
    for name in (*metrics, roles["score"]):
        columns[name] = [
            parse_number(value, f"{file.path}, {file.place(row)}", f"the score in column '{name}'", UNSCORED)
            for row, value in enumerate(columns[name])
        ]
    return pd.DataFrame(columns)


def _without_metrics(file: File, roles: Mapping[str, str], table: str) -> str:
    """What to write: the command with every column of numbers that plays no other part."""
    names = [name for name in dict.fromkeys(file.names) if name not in roles.values()]
    values = file.take([name for name in names if file.names.count(name) == 1])
    numbers = [name for name, own in values.items() if _is_number(own)]
    if not numbers:
        return f"{table}: --metrics COLUMN is missing, and no column but {roles['score']} holds numbers."
    ready = ["bmx-grid", "compare", table, "--metrics", *numbers, "--human", roles["score"]]
    return f"--metrics is missing: which columns are metrics? Those of numbers: {shlex.join(ready)}"


def _is_number(values: Sequence[Any]) -> bool:
    try:
        found = [parse_number(value, "", "", "") for value in values]
    except DataError:
        return False
    return any(math.isfinite(one) for one in found)


def _read(file: File, metrics: Sequence[str], roles: Mapping[str, str]) -> dict[str, list[str]]:
    """What each column was taken for."""
    of = {"human scores": [roles["score"]], "metrics": list(metrics)}
    of |= {role.replace("_", " "): [name] for role, name in roles.items() if role != "score"}
    used = {name for names in of.values() for name in names}
    return {**of, "unused": [name for name in dict.fromkeys(file.names) if name not in used]}
