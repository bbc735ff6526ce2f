"""Which metric correlates best with human judgements: correlations with
intervals, and tests of every pair.

The table (TSV, CSV, JSON Lines, Parquet) has one row per segment and system: a
column per metric, higher is better, one of human scores, and where there are
any, columns for id, system, source, reference and language pair: segments that
share an id, a source or a reference are drawn and swapped together. Usual names
(DA, seg_id, sys, lp, src, ref, ...) are recognised.

exit status: 0 done; 2 a mistake in the command or its table.

examples:
  bmx-grid compare scores.tsv --metrics comet chrf --human mqm --by item
  bmx-grid compare scores.tsv --metrics comet chrf --level system --json
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bmx_grid.api.comparison import GROUPINGS, LEVELS, compare
from bmx_grid.configure import folder_path
from bmx_grid.datasets.columns import ROLES, usual_columns
from bmx_grid.datasets.lines import parse_number
from bmx_grid.datasets.tables import MAX_BYTES, Table, open_table
from bmx_grid.errors import ConfigError, DataError, DataMissingError
from bmx_grid.measures.correlation import KINDS
from bmx_grid.report.table import wrapped, write_table
from bmx_grid.report.terminal import WIDEST
from bmx_grid.terminal import command
from bmx_grid.wording import counted, visible


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the columns; the exit status (see above)."""
    parsed = _parser().parse_args(arguments)

    def work() -> int:
        print(_run(parsed))
        return 0

    return command(work)


def _parser() -> argparse.ArgumentParser:
    description, _, epilog = str(__doc__).partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="bmx-grid compare",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("table", metavar="TABLE", help="the file")
    parser.add_argument("--metrics", nargs="+", metavar="COLUMN", help="columns of scores")
    parser.add_argument("--human", metavar="COLUMN", help="the column of human scores")
    parser.add_argument("--by", choices=GROUPINGS, default="none", help="grouping of segments")
    parser.add_argument("--level", choices=LEVELS, default="segment", help="default: segment")
    parser.add_argument("--statistic", choices=KINDS, default="pearson", help="what tests compare")
    parser.add_argument("--columns", nargs="+", default=[], metavar="ROLE=COLUMN", help=f"roles: {', '.join(ROLES)}")
    parser.add_argument("--language-pair", metavar="LP", help="of a table without a column for it")
    parser.add_argument("--separator", metavar="SIGN", help="of a CSV file, if it is not the comma")
    parser.add_argument("--resamples", type=int, default=1000, help="of intervals and tests (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="of intervals and tests (default: 0)")
    parser.add_argument("--output", metavar="DIR", help="write the tables (CSV) and all numbers there")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _run(parsed: argparse.Namespace) -> str:
    """The output. Raises BmxError for every mistake that the user can fix."""
    path = Path(parsed.table).expanduser()
    if not path.is_file():
        raise DataMissingError(f"{parsed.table}: there is no such file (looked in {Path.cwd()}).")
    table = open_table(path, MAX_BYTES, separator_of(path, parsed.separator), "--separator")
    columns = _columns(parsed.columns)
    if parsed.human is not None and "score" in columns:
        raise ConfigError("--human and --columns score= both name the human scores; give one of them.")
    if not parsed.metrics:
        raise ConfigError(_without_metrics(table, parsed.human or columns.get("score"), parsed.table))
    out = None if parsed.output is None else folder_path(parsed.output, "--output")
    asked = ("by", "level", "statistic", "resamples", "seed", "language_pair")
    compared = compare(
        table,
        parsed.metrics,
        parsed.human,
        columns=columns,
        output_dir=out,
        analysis=out is not None,
        cache_dir=str(Path(tempfile.gettempdir()) / "bmx_grid"),  # nothing is scored, so nothing is kept there
        **{name: getattr(parsed, name) for name in asked},
    )
    if out is not None:
        for shown in compared.tables():
            write_table(shown, out / "tables", "csv")
        print(f"written to {visible(str(out))}/", file=sys.stderr)
    read = {"human scores": list(compared.columns["score"]), "metrics": parsed.metrics}
    read |= {role.replace("_", " "): list(names) for role, names in compared.columns.items() if role != "score"}
    read["unused"] = [name for name in dict.fromkeys(table.names) if not any(name in names for names in read.values())]
    if parsed.json:
        found = {"table": parsed.table, "read": read, **compared.as_dict()}
        return json.dumps(found, ensure_ascii=False, indent=1)
    width = min(shutil.get_terminal_size((80, 24)).columns, WIDEST)
    head = f"{visible(parsed.table)}: {counted(len(table), 'row')}; " + "; ".join(
        f"{kind} {visible(', '.join(names))}" for kind, names in read.items() if names
    )
    return f"{wrapped(head, width, '  ')}\n\n{compared.summary(width)}"


def _columns(arguments: Sequence[str]) -> dict[str, str]:
    """Role -> column. Raises ConfigError."""
    columns: dict[str, str] = {}
    for argument in arguments:
        role, _, column = argument.partition("=")
        if not column:
            raise ConfigError(f"--columns {argument}: write ROLE=COLUMN, with one of {', '.join(ROLES)}.")
        if role in columns:
            raise ConfigError(f"--columns: the {role} is given twice; name one column.")
        columns[role] = column
    return columns


def separator_of(path: Path, separator: str | None) -> str | None:
    """The separator of a CSV file. Raises ConfigError for more than one character, and for a file of another kind."""
    if separator is None:
        return None
    if len(separator) != 1 or separator in '\r\n" ':
        raise ConfigError(f"--separator {separator!r}: give one character, such as ';'.")
    if not path.name.lower().removesuffix(".gz").endswith(".csv"):
        raise ConfigError(f"--separator is for CSV files, and {visible(path.name)} is none; leave it out.")
    return separator


def _without_metrics(table: Table, human: str | None, name: str) -> str:
    """What to write: the command with every column of numbers that plays no other part."""
    names = [column for column in dict.fromkeys(table.names) if table.names.count(column) == 1]
    roles = usual_columns(names, {} if human is None else {"score": (human,)})
    human = roles.pop("score", human) or "COLUMN"
    values = table.take([column for column in names if column not in (human, *roles.values())])
    numbers = [column for column, own in values.items() if _is_number(own)]
    if not numbers:
        return f"{name}: --metrics COLUMN is missing, and no column but {human} holds numbers."
    ready = ["bmx-grid", "compare", name, "--metrics", *numbers, "--human", human]
    return f"--metrics is missing: which columns are metrics? Those of numbers: {shlex.join(ready)}"


def _is_number(values: Sequence[Any]) -> bool:
    try:
        return any(math.isfinite(parse_number(value, "", "", "")) for value in values)
    except DataError:
        return False
