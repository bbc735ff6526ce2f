"""python -m bmx_grid analyse: a results table -> selection, evaluation, regression, densities."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bmx_grid.analysis.basis import basis_beside
from bmx_grid.analysis.frames import frames_beside
from bmx_grid.analysis.given import Options, Point, Tie
from bmx_grid.analysis.load import load_table
from bmx_grid.analysis.questions import Questions, with_others
from bmx_grid.analysis.run import analyse
from bmx_grid.configure import convert, folder_path
from bmx_grid.errors import ConfigError, DataError, unknown
from bmx_grid.report.analysis_files import write_analysis
from bmx_grid.report.summary import WIDEST, summary
from bmx_grid.terminal import command
from bmx_grid.wording import visible

HELP = """usage: bmx-grid analyse results=PATH [KEY=VALUE ...]

Selection of (p, w), evaluation, regression and densities of a results table:
the grid.parquet of a sweep, or any Parquet or CSV file of the columns dataset,
language_pair, metric, explainer, side, w, p, correlation. What the sweep tested
(tests.parquet, selection.parquet, ...) is read from beside its grid.parquet.

  results=PATH          the table, or the output folder of a sweep, or of a
                        multirun, whose sweeps are set beside each other;
                        [PATH,PATH,...]: several sweeps beside each other: gains
                        of both, and their difference with its interval
  output_dir=DIR        where analysis.json, tables/, figures/ and report.html
                        are written (default: the folder of the table)
  figures=true|false    draw the figures (default: true)
  report=true|false     write report.html, one page with everything (default:
                        true)
  tie=first|mildest     how ties between best points are broken: the first, p
                        ascending and w fastest (the paper's rule, the default),
                        or of those within 1e-5 the one with the largest w, then
                        p nearest 1; with mildest, settings that nothing
                        improves are left out
  select.from=PATH      evaluate at the medians of another table, which shares
                        no setting with this one
  fixed.EXPLAINER.w=W   evaluate an explainer at this point, the nearest of the
  fixed.EXPLAINER.p=P   grid; both w and p are needed
  questions=MODULE,...  further questions: modules with `compute` and `tables`,
                        of packages that BMX_ALLOWED_PACKAGES names
  side=both|hypothesis  which side, if the table holds both
  tracking=none         the only value: sweeps track their own analysis

exit status: 0 done; 2 a mistake in the command or in the table.

examples:
  bmx-grid analyse results=outputs/quickstart output_dir=analysis
  bmx-grid analyse results=[outputs/a,outputs/b]"""

POINT = ("fixed.EXPLAINER.w", "fixed.EXPLAINER.p")
KEYS = ("results", "output_dir", "figures", "report", "tie", "select.from", *POINT, "questions", "side", "tracking")


@dataclass(frozen=True)
class Arguments:
    """The checked arguments."""

    results: Path
    output_dir: Path
    options: Options
    questions: Questions
    side: str | None
    figures: bool
    report: bool

    @classmethod
    def parse(cls, arguments: Sequence[str]) -> Arguments:
        """Raises ConfigError naming the argument, DataError for the table of select.from."""
        given: dict[str, str] = {}
        for argument in arguments:
            key, equals, value = argument.partition("=")
            if not equals or not value:
                raise ConfigError(f"'{argument}' is not KEY=VALUE; keys: {', '.join(KEYS)}.")
            if key in given:
                raise ConfigError(f"{key} is given twice: '{given[key]}' and '{value}'.")
            given[key] = value
        points = _points({key: given.pop(key) for key in list(given) if key.startswith("fixed.")})
        for key in given:
            if key not in KEYS:
                raise ConfigError(unknown("key", key, KEYS))
        if "results" not in given:
            raise ConfigError("results=PATH is missing: the results table to analyse, or the output folder of a sweep.")
        if given.get("tracking", "none") != "none":
            raise ConfigError(f"tracking={given['tracking']}: only none; sweeps track their own analysis.")
        results, side = Path(given["results"]).expanduser(), given.get("side")
        folder = given.get("output_dir", str(results if results.is_dir() else results.parent))
        source = given.get("select.from")
        options = Options(
            tie=convert(given.get("tie", "first"), Tie, "tie"),
            select_from=None if source is None else load_table(Path(source).expanduser(), side),
            fixed=points,
        )
        figures, report = (_flag(key, given.get(key, "true")) for key in ("figures", "report"))
        questions = with_others(name for name in given.get("questions", "").split(",") if name)
        return cls(results, folder_path(folder, "output_dir"), options, questions, side, figures, report)


def _flag(key: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ConfigError(f"{key}={text}: expected true or false.")
    return text.lower() == "true"


def _points(given: dict[str, str]) -> dict[str, Point]:
    numbers: dict[str, dict[str, float]] = {}
    for key, text in given.items():
        explainer, _, name = key.removeprefix("fixed.").rpartition(".")
        if not explainer or name not in ("p", "w"):
            raise ConfigError(f"{key}={text}: expected fixed.EXPLAINER.p=… or fixed.EXPLAINER.w=….")
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if math.isnan(value):
            raise ConfigError(f"{key}={text}: expected a number.")
        if name == "w" and not 0 <= value <= 1:
            raise ConfigError(f"{key}={text}: w is the share of the metric itself; write a number from 0 to 1.")
        numbers.setdefault(explainer, {})[name] = value
    for explainer, point in numbers.items():
        if set(point) != {"p", "w"}:
            raise ConfigError(f"fixed.{explainer}: give both p and w, not {' and '.join(point)} only.")
    return {explainer: Point(**point) for explainer, point in numbers.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    return command(lambda: _main(sys.argv[1:] if arguments is None else list(arguments)))


def _main(given: list[str]) -> int:
    if not given or {"-h", "--help"} & set(given):
        print(HELP)
        return 0 if given else 2
    several = _several(given)
    if several is not None:
        return several
    parsed = Arguments.parse(given)
    table = load_table(parsed.results, parsed.side)
    for name in parsed.options.fixed:
        if name not in table.factor_levels("explainer"):
            raise ConfigError(unknown("explainer", name, table.factor_levels("explainer")))
    basis = basis_beside(table)
    options = replace(parsed.options, segments=basis.segments or None)
    analysis = analyse(table, options, parsed.questions, frames_beside(table))
    files = write_analysis(analysis, parsed.output_dir, basis=basis, figures=parsed.figures, report=parsed.report)
    print(summary(analysis))
    told = [str(path) for path in files if path.parent == parsed.output_dir]
    for kind in ("tables", "figures"):
        stems = {path.stem for path in files if path.parent == parsed.output_dir / kind}
        told += [f"{parsed.output_dir / kind}/: {len(stems)} {kind}"] if stems else []
    print("\nwritten: " + "\n         ".join(map(visible, told)))
    return 0


def _several(given: Sequence[str]) -> int | None:
    """Set sweeps beside each other, where several are given, or a multirun; None where there is one."""
    results = next((one.partition("=")[2] for one in given if one.startswith("results=")), "")
    from bmx_grid.commands.gathered import as_shown, gathered_table, read_gathered

    listed = results.startswith("[") and results.endswith("]")
    path = Path(results).expanduser()
    jobs = None if listed or not results else read_gathered(path)
    if not listed and jobs is None:
        return None
    from bmx_grid.analysis.side_by_side import side_by_side
    from bmx_grid.report.table import as_text, write_tables

    folders = [Path(name.strip()).expanduser() for name in results[1:-1].split(",") if name.strip()]
    folders = folders if jobs is None else [job.folder for job in jobs]
    others = [one for one in given if not one.startswith(("results=", "output_dir="))]
    if others:
        raise ConfigError(f"{others[0]}: sweeps beside each other take results=[A,B] and output_dir=DIR only.")
    out = next((Path(one.partition("=")[2]).expanduser() for one in given if one.startswith("output_dir=")), None)
    width = shutil.get_terminal_size((WIDEST, 24)).columns
    tables = []
    if jobs is not None:
        tables.append(gathered_table(jobs, path if path.is_dir() else path.parent))
        print(as_text(as_shown(tables[0]), width), end="")
    if jobs is None or (out is not None and len(jobs) > 1):
        try:
            tables.append(side_by_side(folders).table())
        except (ConfigError, DataError) as error:
            if jobs is None:
                raise
            print(f"\nnot set beside each other: {error}")  # jobs may differ in metric or data
    if jobs is None:
        print(as_text(tables[0], width), end="")
    elif out is None:
        print("\neach pair of sweeps, setting by setting: add output_dir=DIR")
    if out is not None:
        files = write_tables(tables, out)
        print("\nwritten: " + ", ".join(visible(str(path)) for path in files))
    return 0


if __name__ == "__main__":
    sys.exit(main())
