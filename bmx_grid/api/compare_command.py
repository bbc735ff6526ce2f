"""Which metric correlates best with human judgements: correlations with
intervals, and tests of every pair.

The table (TSV, CSV, JSON Lines, Parquet) has one row per segment and system: a
column per metric, higher is better, one of human scores, and where there are
any, columns for id, system, source, reference, document and language pair:
segments that share an id, source, reference or document are drawn and swapped
together. Usual names
(DA, seg_id, sys, lp, src, ref, ...) are recognised.

exit status: 0 done; 2 a mistake in the command or its table.

examples:
  bmx-grid compare scores.tsv --metrics comet chrf --human mqm --by item
  bmx-grid compare scores.tsv --metrics comet chrf --level system --json
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from bmx_grid.api.comparison import GROUPINGS, LEVELS, compare
from bmx_grid.core.configure import folder_path
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.terminal import command, parser
from bmx_grid.core.wording import counted, visible
from bmx_grid.datasets.columns import ROLES, listed, named_roles
from bmx_grid.datasets.tables import open_table
from bmx_grid.measures.correlation import KINDS
from bmx_grid.report.table import write_table
from bmx_grid.report.terminal import fitted, terminal_width


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the columns; the exit status (see above)."""
    parsed = _parser().parse_args(arguments)
    return command(lambda: print(_run(parsed)))


def _parser() -> argparse.ArgumentParser:
    made = parser("compare", __doc__)
    made.add_argument("table", metavar="TABLE", help="the file")
    made.add_argument("--metrics", nargs="+", metavar="COLUMN", help="columns of scores")
    made.add_argument("--human", metavar="COLUMN", help="the column of human scores")
    made.add_argument("--by", choices=GROUPINGS, default="none", help="grouping of segments")
    made.add_argument("--level", choices=LEVELS, default="segment", help="default: segment")
    made.add_argument("--statistic", choices=KINDS, default="pearson", help="what tests compare")
    made.add_argument("--columns", nargs="+", default=[], metavar="ROLE=COLUMN", help=f"roles: {', '.join(ROLES)}")
    made.add_argument("--language-pair", metavar="LP", help="of a table without a column for it")
    made.add_argument("--resamples", type=int, default=1000, help="of intervals and tests (default: 1000)")
    made.add_argument("--seed", type=int, default=0, help="of intervals and tests (default: 0)")
    made.add_argument("--output", metavar="DIR", help="write the tables (CSV) and all numbers there")
    made.add_argument("--json", action="store_true", help="print JSON")
    return made


def _run(parsed: argparse.Namespace) -> str:
    """The output. Raises BmxError for every mistake that the user can fix."""
    table, columns = open_table(Path(parsed.table).expanduser()), named_roles(parsed.columns)
    if not parsed.metrics:
        raise ConfigError(f"--metrics is missing: which of the columns are metrics? {listed(table.names)}.")
    folder = None if parsed.output is None else folder_path(parsed.output, "--output")
    arguments = {name: getattr(parsed, name) for name in ("by", "level", "statistic", "resamples", "seed")}
    pair = parsed.language_pair
    compared = compare(
        table, parsed.metrics, parsed.human, columns=columns, language_pair=pair, output_dir=folder, **arguments
    )
    if folder is not None:
        for shown in compared.tables():
            write_table(shown, folder / "tables", "csv")
        print(f"written to {visible(str(folder))}/", file=sys.stderr)
    roles = {role.replace("_", " "): list(names) for role, names in compared.columns.items()}
    read = {"human scores": roles.pop("score"), "metrics": parsed.metrics, **roles}
    read["unused"] = [name for name in dict.fromkeys(table.names) if not any(name in names for names in read.values())]
    if parsed.json:
        return json.dumps({"table": parsed.table, "read": read, **compared.as_dict()}, ensure_ascii=False, indent=1)
    parts = [f"{kind} {visible(', '.join(names))}" for kind, names in read.items() if names]
    head = fitted(f"{visible(parsed.table)}: {counted(len(table), 'row')}; {'; '.join(parts)}")
    return f"{head}\n\n{compared.summary(terminal_width())}"
