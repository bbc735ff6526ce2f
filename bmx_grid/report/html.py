"""One page for one analysis: report.html, which needs no other file, no network and no script.

The answer, the heat maps and three segments are seen first; the rest is folded. The script adds sorting and filters.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid._version import __version__
from bmx_grid.analysis import answers, headline
from bmx_grid.analysis.base import FACTORS, PAIR, Cell, Table, each_group, each_row
from bmx_grid.analysis.examples import RULE, Example
from bmx_grid.analysis.finished import NAME
from bmx_grid.analysis.paper_numbers import compare_with_paper, describe_shifted_points
from bmx_grid.analysis.points import chosen_points, describe_in_sample_gains, evaluation_point_name, points_in_words
from bmx_grid.analysis.questions import Analysis, signature
from bmx_grid.analysis.verdict_table import verdict_table
from bmx_grid.core.pages import coloured_sides, environment, printable, render_in_notebook
from bmx_grid.core.storage import write_text
from bmx_grid.core.wording import (
    MINUS,
    display_name,
    escape_unprintable,
    factor_in_words,
    join_names,
    label,
    pluralize,
    setting_in_words,
    setting_label,
    typeset_number,
)
from bmx_grid.evaluations.verdicts import TOO_LITTLE
from bmx_grid.report.answer import title_of_question
from bmx_grid.report.canvas import Drawing, correlation_of
from bmx_grid.report.maps import LEAST, maps_of, pack_gains, png, scale_of
from bmx_grid.sweep.settings import ALONE

if TYPE_CHECKING:
    import pandas as pd

HERE = Path(__file__).parent / "page"
MOST_OPEN = 3  # tables of a page without verdicts
MOST_MAPS = 40  # that are not folded


def write_report(
    analysis: Analysis,
    path: Path,
    *,
    figures: Sequence[tuple[Drawing, bytes]],
    tables: Sequence[Table],
    examples: Sequence[Example] = (),
    facts: Sequence[tuple[str, str]] = (),
) -> None:
    """Write the page of an analysis to `path` in one step.

    figures: drawings as SVG; tables: those to read; examples: segments with attributions; facts: further (name, words)
    on the run. Brief tables are open, of our own questions in the place of verdicts.
    Raises StoreError when the page cannot be written.
    """
    answer = analysis.compute_once(answers.compute)
    caveats = headline.describe_constructed_data(analysis)
    leads = list(filter(None, [answer["conclusion"]]))
    # The sentences after the conclusion explain the verdicts.
    notes = headline.summary_lines(analysis)[len(leads) + len(answer["answers"]) :]
    if not analysis.has_verdicts:
        # A table has the gains of explainers, so only the last line remains: the next step.
        leads = [*analysis.compute_once(headline.compute)["headline"], *answer["answers"][-1:]]
    brief = {table.stem for table in tables if table.brief}
    if analysis.has_verdicts:
        # Verdicts represent the brief tables of the built-in questions, not those of other packages.
        brief &= {table.stem for table in analysis.tables_of(analysis.further_questions)}
    # The sort is stable: among the brief ones, and among the others, the order stays.
    shown = sorted(tables, key=lambda table: table.stem not in brief)
    n_open = len(brief) if len(analysis.table) or analysis.has_verdicts else MOST_OPEN
    signature_line = ""
    parts: dict[str, Any] = {}
    if len(analysis.table):
        signature_line = analysis.compute_once(signature)
        scale = scale_of(analysis)
        parts = {
            "maps": list(maps_of(analysis, scale)),
            "most_maps": MOST_MAPS,
            "scale": scale,
            "point": evaluation_point_name(analysis),
            "grids": pack_gains(analysis, scale),
            "points": points_in_words(analysis.compute_once(chosen_points)),
            "in_sample": analysis.compute_once(describe_in_sample_gains),
            "facts": [*_facts(analysis), *facts, ("signature of the table", signature_line)],
        }
    template = page_templates().get_template("report.html.jinja")
    page = template.render(
        analysis=analysis,
        title=escape_unprintable(dict(facts).get(NAME) or Path(analysis.table.origin).name),
        leads=[*leads, *caveats],
        context=_context(analysis),
        **_verdict_values(analysis),
        notes=[line for line in notes if line not in caveats],
        numbers=[*compare_with_paper(analysis), *describe_shifted_points(analysis)],
        open_tables=shown[:n_open],
        tables=shown[n_open:],
        signature=signature_line,
        rule=RULE,
        examples=list(_group_by_setting(examples)),
        # Inside the page, which is one file. Scripts in an image never run, and it can load nothing.
        figures=[(drawing, base64.b64encode(svg).decode("ascii")) for drawing, svg in figures],
        **parts,
    )
    write_text(path, printable(page))


def answer_in_notebook(analysis: Analysis | None, *, remarks: Sequence[str], table: str, footer: str) -> str:
    """Render an analysis in a notebook: its conclusion, and the tables of verdicts of the page.

    remarks: further sentences; table: HTML in the place of verdicts. Without an analysis only these are shown.
    """
    leads = list(remarks)
    verdicts: dict[str, Any] = {}
    if analysis is not None and analysis.has_verdicts:
        leads = [
            analysis.compute_once(answers.compute)["conclusion"],
            *headline.describe_constructed_data(analysis),
            *leads,
        ]
        verdicts = _verdict_values(analysis)
    return render_in_notebook("answer.jinja", HERE, leads=leads, table=table, footer=footer, **verdicts)


def page_templates() -> Any:
    """The templates of pages."""
    templates = environment(HERE)
    templates.filters |= {"cell": _cell_text, "columns": _columns, "png": png}
    return templates


def _context(analysis: Analysis) -> str:
    """Data and settings in a line."""
    # A results table without a sweep has no table of settings; without a grid any table names the scored texts.
    # Only those up to the first with rows are read.
    frames = chain((analysis.settings, analysis.table.names), analysis.frames.values())
    names = next(frame for frame in frames if len(frame))
    datasets = join_names([display_name(name) for name in dict.fromkeys(names["dataset"])])
    explainers = [display_name(name) for name in dict.fromkeys(names["explainer"]) if name != ALONE]
    pairs = pluralize(len(names.drop_duplicates(PAIR)), "language pair")
    parts = [
        datasets,
        pairs,
        pluralize(names["metric"].nunique(), "metric"),
        join_names(explainers) or "without an explainer",
    ]
    if analysis.correlation:
        parts.append(correlation_of(analysis))
    return escape_unprintable(setting_label(*parts))


def _verdict_values(analysis: Analysis) -> dict[str, Any]:
    """The values of the template of verdicts."""
    verdicts = verdict_table(analysis)
    return {
        "verdicts": list(_questions(verdicts)),
        "limit": _limit(verdicts),
        "correlation": correlation_of(analysis),
    }


def _questions(verdicts: pd.DataFrame) -> Iterator[tuple[str, str, list[Any]]]:
    """The name, title and verdicts of each question, from `verdict_table`."""
    for question, rows in each_group(verdicts, "question"):
        yield question, title_of_question(question, rows), list(each_row(rows))


def _limit(verdicts: pd.DataFrame) -> float:
    """The gain at the right end of the drawn intervals: the largest that is drawn."""
    drawn = verdicts[["gain_low", "gain_high", "length_gain", "reassigned_gain"]]
    # A very wide interval is cut: the other ones would be too small to see.
    drawn = drawn[verdicts["verdict"] != TOO_LITTLE]
    return float(max(LEAST, drawn.abs().max().max()))  # LEAST if nothing is drawn


def _facts(analysis: Analysis) -> list[tuple[str, str]]:
    """Describe the analysed data as (name, words); a name can occur twice."""
    table = analysis.table
    facts = [("results", table.origin)]
    facts += [(factor_in_words(factor), ", ".join(map(label, table.factor_levels(factor)))) for factor in FACTORS]
    sizes = analysis.settings.drop_duplicates(PAIR)
    if len(sizes):
        names = [f"{display_name(row.dataset)} {row.language_pair} {row.n_used:,}" for row in each_row(sizes)]
        facts.append(("segments", ", ".join(names)))
    facts += [("left out", part) for part in table.left_out]
    # What follows the version of Python is its compiler.
    return [*facts, ("versions", f"bmx-grid {__version__}, Python {sys.version.split()[0]}")]


def _columns(table: Table) -> Iterator[dict[str, Any]]:
    """The columns of a table: place, name, whether it holds texts, and whether all rows are equal, which is shown once.

    The first column names the rows, and a table of one row shows all.
    """
    for place, name in enumerate(table.header):
        cells = [row[place] for row in table.rows]
        shown = {(_cell_text(cell), cell.marked) for cell in cells}
        # A column of texts and of numbers is aligned as texts. So is one without rows.
        is_text = not cells or any(isinstance(cell.value, str) for cell in cells)
        yield {"place": place, "name": name, "text": is_text, "alike": place > 0 and len(shown) == 1 < len(cells)}


def _cell_text(cell: Cell) -> str:
    """The words of a cell: names as the field writes them, numbers with true minus signs."""
    if isinstance(cell.value, str):
        return escape_unprintable(display_name(cell.display_text))
    return cell.display_text.replace("-", MINUS)


def _group_by_setting(examples: Sequence[Example]) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Group the examples by setting and boost."""
    for (names, w, p), group in groupby(examples, attrgetter("names", "w", "p")):
        boost = f"w {typeset_number(w)}, p {typeset_number(p)}"
        yield setting_label(setting_in_words(names), boost), list(map(example_parts, group))


def example_parts(example: Example) -> Mapping[str, Any]:
    """A segment with its words; the template adds the change of its rank."""
    sides = [(side.role, side.words, side.attributions, side.marked) for side in example.sides]
    return {"example": example, "sides": coloured_sides(sides)}
