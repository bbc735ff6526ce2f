"""usage: bmx-grid analyse PATH [PATH ...] [KEY=VALUE ...]

Print the conclusions and main tables of finished sweeps. Files are written only
below output_dir.

  PATH                  the output folder of a sweep, or a table of
                        correlations: any Parquet or CSV file with the columns
                        dataset, language_pair, metric, explainer, side, w, p,
                        correlation. Several sweeps are compared two by
                        two: their gains, and the difference of the gains
                        with its interval
  format=FORMAT         every table as latex, markdown, csv or text, or json:
                        all numbers; on standard output, or below output_dir
  output_dir=DIR        write DIR/tables/NAME.tex (.md, .csv, .txt) or
                        DIR/analysis.json; without format report.html and
                        figures/
  figures=all           below output_dir also the figures of the BMX paper, and
                        one of each setting; page, the default: report.html's
  figures.format=[svg,png,pdf]
                        their formats; by default svg
  select.from=PATH      give gains at the median best points of another table,
                        which shares no setting with this one
  fixed.EXPLAINER.w=W   give gains of an explainer at this point (the nearest of
  fixed.EXPLAINER.p=P   the grid), not the published one; both are needed
  correlation=KIND      for several sweeps with different correlations:
                        pearson, spearman or kendall
  questions=[MODULE]    your own questions: modules with `compute` and
                        `tables`; their packages must be listed in
                        BMX_ALLOWED_PACKAGES

exit status: 0 done; 2 a mistake in the command or in the table.

examples:
  bmx-grid analyse outputs/quickstart
  bmx-grid analyse outputs/quickstart format=latex output_dir=paper
  bmx-grid analyse outputs/a outputs/b
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from bmx_grid.analysis.base import Table
from bmx_grid.analysis.finished import FigureOptions, facts_of, figure_options, load_results, read_config
from bmx_grid.analysis.load import load_table
from bmx_grid.analysis.questions import Analysis, drop_failing_questions, load_questions, signature
from bmx_grid.api.compose import parse_one
from bmx_grid.core.configure import convert, folder_path
from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.storage import expand_home, is_there, write_text
from bmx_grid.core.terminal import command, working
from bmx_grid.core.wording import escape_unprintable, pluralize
from bmx_grid.measures.correlation import Kind
from bmx_grid.measures.grid import Point, check_points
from bmx_grid.report.table import FORMATS, as_text, sentences, table_file, terminal_width, write_table
from bmx_grid.sweep.folder import CONFIG, TABLES, OutputFolder

Format = Literal["latex", "markdown", "csv", "text", "json"]
Values = dict[str, str]  # KEY -> VALUE
OF_FIGURES = ("figures", "figures.format")
OF_SEVERAL = ("format", "output_dir", "correlation")
KEYS = (*OF_SEVERAL, *OF_FIGURES, "select.from", "fixed.EXPLAINER.w", "fixed.EXPLAINER.p", "questions")


def _split(arguments: Sequence[str]) -> tuple[list[Path], Values]:
    """The paths, and KEY -> VALUE. Raises ConfigError naming the argument."""
    paths = []
    values = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if key.startswith("-") and not is_there(argument):
            message = unknown("option", key, ["--help"])
            raise ConfigError(f"{message} Keys have no dashes: {key.lstrip('-') or 'KEY'}=VALUE.")
        is_key = key in KEYS or key.startswith("fixed.")
        # The name of a file may hold a =.
        if not equals or (not is_key and is_there(argument)):
            paths.append(expand_home(argument))
        elif not is_key:
            raise ConfigError(f"{unknown('key', key, KEYS)} Paths are written as they are: analyse PATH.")
        elif not value or key in values:
            known = ", ".join(KEYS)
            raise ConfigError(f"'{argument}' is not KEY=VALUE, or {key} is repeated; keys: {known}.")
        else:
            values[key] = value
    if not paths:
        raise ConfigError("PATH is missing: the output folder of a sweep, or a table of correlations.")
    return paths, values


def _parse_fixed_points(values: Values, known: Sequence[str]) -> dict[str, Point]:
    """Read the points set by `fixed.EXPLAINER`, by explainer.

    known: the explainers of the table. Raises ConfigError that names the argument.
    """
    points: dict[str, dict[str, Any]] = {}
    for key, text in values.items():
        if key.startswith("fixed."):
            explainer, _, coordinate = key.removeprefix("fixed.").rpartition(".")
            point = points.setdefault(explainer, {})
            point[coordinate] = parse_one(f"{key}={text}").value()
    for explainer in points:
        if explainer not in known:
            raise ConfigError(unknown("explainer", explainer, known))
    fixed: dict[str, Point] = convert(points, dict[str, Point], "fixed")
    check_points(fixed, "fixed")
    return fixed


def _figures(values: Values) -> FigureOptions:
    """Which figures are written, and how. Raises ConfigError naming the key."""
    options: dict[str, Any] = {"which": values.get("figures", "page")}
    if "figures.format" in values:
        options["format"] = _split_names("figures.format", values["figures.format"])
    return figure_options(options)


def _split_names(key: str, text: str) -> list[str]:
    """The names in a value: a list as in a sweep, [A,B], or names with commas between them."""
    if text.startswith("["):
        return list(convert(parse_one(f"{key}={text}").value(), tuple[str, ...], key))
    return list(filter(None, text.split(",")))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    return command(lambda: _main(sys.argv[1:] if arguments is None else arguments))


def _main(arguments: Sequence[str]) -> int:
    asks_for_help = "-h" in arguments or "--help" in arguments
    if asks_for_help or not arguments:
        print(str(__doc__).rstrip())
        return 0 if arguments else 2
    paths, values = _split(arguments)
    form = convert(values.get("format"), Format | None, "format")
    folder = None
    if "output_dir" in values:
        folder = folder_path(values["output_dir"], "output_dir")
    if len(paths) == 1:
        _analyse(paths[0], values, form, folder)
        return 0
    for key in values:
        if key not in OF_SEVERAL:
            raise ConfigError(f"{key}: several sweeps are compared with {', '.join(OF_SEVERAL)} only; leave it out.")
    from bmx_grid.analysis.side_by_side import compare_sweeps, table_of

    correlation = convert(values.get("correlation"), Kind | None, "correlation")
    table = table_of(compare_sweeps(paths, correlation=correlation))
    _give(form, folder, [table])
    return 0


def _analyse(path: Path, values: Values, form: Format | None, folder: Path | None) -> None:
    """Analyse one sweep, or one table of correlations."""
    if "correlation" in values:
        raise ConfigError("correlation: a finished sweep has its own; give a second sweep to compare both in another.")
    figures = _figures(values)
    if not values.keys().isdisjoint(OF_FIGURES) and (folder is None or form is not None):
        raise ConfigError("figures are written below output_dir, with report.html: give output_dir=DIR, no format.")
    modules = _split_names("questions", values.get("questions", ""))
    load_questions(modules)  # imported before anything is read
    results = load_results(path)
    fixed = _parse_fixed_points(values, results.table.factor_levels("explainer"))
    select_from = None
    if "select.from" in values:
        select_from = load_table(expand_home(values["select.from"]))
    analysis = results.analyse(questions=modules, select_from=select_from, fixed=fixed)
    analysis, refused = drop_failing_questions(analysis)
    for sentence in refused:
        warnings.warn(sentence, stacklevel=2)
    if form is not None:
        _give(form, folder, analysis.tables(), analysis)
        return
    print(_summary(analysis))
    if folder is not None:
        from bmx_grid.report.analysis_files import write_analysis

        claim = OutputFolder(folder).claim
        facts = facts_of(read_config(path / CONFIG)) if (path / CONFIG).is_file() else []
        with working("figures and report"):
            files = write_analysis(analysis, folder, claim, facts=facts, figures=figures)
        places = set()
        for file in files:
            # Of figures their folder, not every one.
            places.add(file if file.parent == folder else file.parent)
        _say_written(sorted(places))


def _summary(analysis: Analysis) -> str:
    """Format the folders read, the answer and the short tables for the terminal."""
    from bmx_grid.analysis import headline
    from bmx_grid.report.answer import answer_text, colour_verdicts

    table = analysis.table
    n_settings = pluralize(len(table), "setting")
    n_real = pluralize(len(analysis.non_controls), "setting")
    boosted = f"{table.n_boosted:,} correlations with w other than 1"
    read = [f"{table.origin}: {n_settings}, {boosted}; {n_real} without the random metric and explainer"]
    if not len(table):
        read = [f"{table.origin}: {pluralize(len(analysis.settings), 'setting')} without a grid"]
    read += [f"left out: {name}" for name in table.left_out]
    counts = analysis.compute_once(headline.compute)["headline"]
    signed = analysis.compute_once(signature)
    answer = answer_text(analysis, terminal_width()) or sentences(headline.summary_lines(analysis))
    parts = [sentences(read), colour_verdicts(answer), sentences(counts)]
    for shown in analysis.tables():
        if shown.brief:
            # The signature is for files.
            notes = tuple(note for note in shown.notes if note != signed)
            unsigned = replace(shown, notes=notes)
            parts.append(as_text(unsigned, terminal_width()).rstrip())
    return "\n\n".join(filter(None, parts))


def _give(form: Format | None, folder: Path | None, tables: Sequence[Table], analysis: Analysis | None = None) -> None:
    """Print or write the tables in `form`; without a format, print them for the terminal."""
    from bmx_grid.analysis.questions import table_json, to_json

    if form == "json":
        text = table_json(tables) if analysis is None else to_json(analysis)
        if folder is None:
            print(text, end="")
            return
        file = folder / "analysis.json"
        OutputFolder(folder).claim([file])
        write_text(file, text)
        _say_written([file])
    elif folder is not None:
        ending = form or "text"
        place = folder / TABLES
        OutputFolder(folder).claim(table_file(table, place, ending) for table in tables)
        _say_written([write_table(table, place, ending) for table in tables])
    else:
        write = partial(as_text, width=terminal_width()) if form is None else FORMATS[form]
        # Tables of data are too long to read.
        shown = [table for table in tables if form == "csv" or not table.data]
        print("\n".join(map(write, shown)), end="")


def _say_written(paths: Sequence[Path]) -> None:
    lines = "\n         ".join(escape_unprintable(str(path)) for path in paths)
    print(f"\nwritten: {lines}")


if __name__ == "__main__":
    sys.exit(main())
