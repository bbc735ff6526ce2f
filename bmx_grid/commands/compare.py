"""Compare metrics by their correlation with human scores: correlations with
intervals, and a test of every pair.

The table (TSV, CSV, JSON Lines, Parquet) has one row per segment and system,
one column per metric (higher is better) and one of human scores. Optional
columns: id, system, source, reference, document, language pair. Segments that
share an id, source, reference or document are resampled together. Common names
(DA, seg_id, sys, lp, src, ref, ...) are recognised.

The verdict on two metrics is whether the better one adds information to the
score of the other one and to the numbers of words. These come from the
hypothesis and its reference (or source), or from the columns of --lengths. If
both are missing, no verdict is "helps".

exit status: 0 done; 2 a mistake in the command or its table.

examples:
  bmx-grid compare scores.tsv --metrics comet chrf --human mqm --by item
  bmx-grid compare scores.tsv --metrics comet chrf --level system --unit both
  bmx-grid compare scores.tsv --metrics comet chrf --alternative greater --json
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import get_args

from bmx_grid.api.compared import Grouping, Level
from bmx_grid.api.comparison import compare
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.storage import expand_home
from bmx_grid.core.terminal import command, parser
from bmx_grid.core.wording import escape_unprintable, pluralize
from bmx_grid.datasets.column_roles import COLUMN_ROLES, named_roles
from bmx_grid.datasets.column_roles import first_few as columns_listed
from bmx_grid.datasets.segments import NO_PAIR
from bmx_grid.datasets.table_file import Reading
from bmx_grid.datasets.tables import open_table
from bmx_grid.measures.correlation import COEFFICIENTS
from bmx_grid.measures.correlations_of_resamples import Unit
from bmx_grid.measures.paired_tests import Alternative
from bmx_grid.measures.resampling import CONFIDENCE
from bmx_grid.report.answer import colour_verdicts
from bmx_grid.report.table import terminal_width, wrap_to_terminal


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the columns of a file; the exit status (see above)."""
    cli = parser("compare", __doc__)
    add = cli.add_argument
    add("table", metavar="TABLE", help="a file with columns of scores (below)")
    add("--metrics", nargs="+", metavar="COLUMN", help="the columns of the metrics' scores (required)")
    add("--human", metavar="COLUMN", help="the column of human scores, if its name is not recognised")
    groupings = "the mean of the correlations within items, or within systems; none (default): all segments together"
    add("--by", choices=get_args(Grouping), default="none", help=groupings)
    levels = "correlate the scores of segments (default), or the systems' means"
    add("--level", choices=get_args(Level), default="segment", help=levels)
    statistics = "the correlation that tests compare (default: pearson); kendall is tau-b"
    add("--statistic", choices=COEFFICIENTS, default="pearson", help=statistics)
    units = "the unit of tests and intervals at system level: whole systems (default), inputs (clusters), both"
    add("--unit", choices=get_args(Unit), help=units)
    sides = "one-sided tests: that the metric named first is better (greater), or worse (less)"
    add("--alternative", choices=get_args(Alternative), default="two-sided", help=sides)
    add("--confidence", type=float, default=CONFIDENCE, help="of the intervals of differences (default: 0.95)")
    roles = f"columns whose names are not recognised, by role: {', '.join(COLUMN_ROLES)}"
    add("--columns", nargs="+", default=[], metavar="ROLE=COLUMN", help=roles)
    add("--lengths", nargs="+", default=[], metavar="COLUMN", help="columns with numbers of words")
    pair = "the language pair of a table without such a column, as de-en"
    add("--language-pair", metavar="LP", help=pair)
    add("--decimal", default=".", metavar="SIGN", help="the decimal sign of numbers: . (default) or ,")
    encoding = "the encoding of a text file without a byte-order mark, as cp1252 (default: UTF-8)"
    add("--encoding", metavar="NAME", help=encoding)
    add("--skip-rows", type=int, default=0, metavar="N", help="lines above the column names (default: 0)")
    add("--resamples", type=int, default=1000, help="draws for intervals and tests (default: 1000)")
    add("--seed", type=int, default=0, help="of every random draw (default: 0)")
    add("--json", action="store_true", help="print JSON")
    parsed = cli.parse_args(arguments)
    return command(lambda: print(_comparison_text(parsed)))


def _comparison_text(parsed: Namespace) -> str:
    """Compare the metrics and format the result. Raises BmxError for every mistake that the user can fix."""
    if parsed.skip_rows < 0:
        raise ConfigError(f"--skip-rows={parsed.skip_rows}: give a whole number, 0 or more.")
    reading = Reading(parsed.encoding, parsed.skip_rows, "--{}=")
    table = open_table(expand_home(parsed.table), reading)
    columns = named_roles(parsed.columns)
    if not parsed.metrics:
        raise ConfigError(f"--metrics is missing: which of the columns are metrics? {columns_listed(table.names)}.")
    # All other options are arguments of `compare`, under the same names.
    arguments = vars(parsed).copy()
    for name in ("table", "columns", "json", "encoding", "skip_rows"):
        del arguments[name]
    compared = compare(table, columns=columns, **arguments)
    roles = dict(compared.columns)
    read = {"human scores": list(roles.pop("score")), "metrics": parsed.metrics, "lengths": parsed.lengths}
    for role, names in roles.items():
        read[role.replace("_", " ")] = list(names)
    used = set().union(*read.values())
    read["unused"] = [name for name in dict.fromkeys(table.names) if name not in used]
    if parsed.json:
        values = {"table": parsed.table, "read": read, **arguments}
        for name in ("correlations", "tests", "verdicts"):
            frame = getattr(compared, name).replace({"language_pair": {NO_PAIR: None}})
            # By way of pandas' own JSON, in which NaN is null.
            records = frame.to_json(orient="records", double_precision=15)
            values[name] = json.loads(records)
        return json.dumps(values, ensure_ascii=False, indent=1)
    parts = []
    for label, names in read.items():
        if names:
            listed = ", ".join(names)
            parts.append(f"{label}: {escape_unprintable(listed)}")
    columns_read = "; ".join(parts)
    head = wrap_to_terminal(f"{escape_unprintable(parsed.table)}: {pluralize(len(table), 'row')}; {columns_read}")
    return f"{head}\n\n{colour_verdicts(compared.summary(terminal_width()))}"


if __name__ == "__main__":
    sys.exit(main())
