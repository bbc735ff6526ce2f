"""One page for one analysis: report.html, which needs no other file and no network.

The answer stands first; everything else is folded, and made by the page's script when it is opened.
"""

from __future__ import annotations

import base64
import math
import re
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid._version import __version__
from bmx_grid.analysis import answers, headline
from bmx_grid.analysis.base import FACTORS, Cell, GridTable, Table
from bmx_grid.analysis.examples import RULE, Example, strengths
from bmx_grid.analysis.gains import at_points
from bmx_grid.analysis.points import chosen_points, points_in_words
from bmx_grid.analysis.questions import Analysis, signature
from bmx_grid.core.storage import write_text
from bmx_grid.core.wording import (
    MINUS,
    counted,
    factor_in_words,
    label,
    named,
    setting_in_words,
    typeset,
    visible,
    written,
)
from bmx_grid.evaluations.boost_evidence import PUBLISHED
from bmx_grid.report.canvas import Drawing, correlation_of
from bmx_grid.report.terminal_lines import MOST_ANSWERS

HERE = Path(__file__).parent / "page"
LEVELS = 32_767  # gains are kept as whole multiples of a setting's largest gain divided by this
NO_GAIN_HERE = -32_768
MOST_OPEN = 3  # tables of a page without an answer
OWN_PARTS = ("verdicts", "settings")  # tables that have a part of their own
# What a verdict rests on first of all. The other columns stand in a table below, so that each table fits the page.
FIRST_COLUMNS = ("verdict", "gain", "beyond score, length and text", "over reassigned", "p (Holm)", "segments")
OPEN_FIGURE = "boosts"  # the figure beside the answer


def write_report(
    analysis: Analysis,
    path: Path,
    *,
    figures: Sequence[tuple[Drawing, Path]],
    tables: Sequence[Table],
    examples: Sequence[Example] = (),
    facts: Sequence[tuple[str, str]] = (),
) -> None:
    """Write the page of an analysis to `path` in one step.

    figures: drawings with their SVG files, that of the boosts shown beside the answer; tables: brief ones with the
    counts. examples: segments with attributions; facts: further (name, words) on what was run.
    Raises StoreError when the page cannot be written.
    """
    of_boosts = analysis.ask(answers.compute).answers
    signed = analysis.ask(signature)
    pictures = [_picture(drawing, file) for drawing, file in figures]
    first = next((picture for picture in pictures if picture["name"] == OPEN_FIGURE), None)
    parts = {table.stem: _table(table, signed) for table in tables}
    parts_of_verdicts: list[Table] = []
    for table in tables:
        if table.stem == "verdicts":
            parts_of_verdicts += _parts_of_verdicts(table)
    _write(
        path,
        title=f"BMX analysis of {visible('/'.join(Path(analysis.table.origin).parts[-2:]))}",
        answers=[_answer(line) for line in of_boosts],
        meaning=[_answer(line) for line in headline.answer(analysis)[len(of_boosts) :]],
        figure=first,
        counts=[_with_minus(line) for line in analysis.ask(headline.compute).headline],
        overview=[parts[table.stem] for table in tables if table.brief],
        verdicts=[_table(part, signed) for part in parts_of_verdicts],
        settings=parts.get("settings"),
        tables=[parts[table.stem] for table in tables if not table.brief and table.stem not in OWN_PARTS],
        rule=RULE,
        examples=[_example(example) for example in examples],
        figures=[picture for picture in pictures if picture is not first],
        introduction=_introduction(analysis),
        facts=[*_facts(analysis), *facts, ("signature of the table", signed)],
        grids=heat_maps(analysis),
    )


def write_metrics_report(
    path: Path,
    *,
    title: str,
    introduction: Sequence[str],
    tables: Sequence[Table],
    figures: Sequence[tuple[Drawing, Path]] = (),
) -> None:
    """Write the page of a sweep of metrics alone: a few tables open, brief ones first, and figures with their files.

    Raises StoreError.
    """
    pictures = [_picture(drawing, file) for drawing, file in figures]
    shown = sorted((table for table in tables if not table.data), key=lambda table: not table.brief)
    _write(
        path,
        title=visible(title),
        answers=[("", line) for line in introduction],
        open_tables=[_table(table) for table in shown[:MOST_OPEN]],
        tables=[_table(table) for table in shown[MOST_OPEN:]],
        figure=pictures[0] if pictures else None,
        figures=pictures[1:],
    )


def _write(path: Path, **parts: Any) -> None:
    from jinja2 import Environment, FileSystemLoader

    # Names come from data: everything that is not marked as safe is escaped.
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    style = (HERE / "report.css").read_text(encoding="utf-8")
    script = (HERE / "report.js").read_text(encoding="utf-8")
    environment.filters["typeset"] = typeset
    template = environment.get_template("report.html.jinja")
    page = template.render(style=style, script=script, most_answers=MOST_ANSWERS, **parts)
    # Surrogates of broken input have no UTF-8: shown as the replacement character.
    write_text(path, page.encode("utf-8", "replace").decode("utf-8"))


def _answer(line: str) -> tuple[str, str]:
    """What a line is about, set in bold, and the rest of it."""
    about, colon, words = _with_minus(line).partition(": ")
    return (f"{about}{colon}", words) if colon else ("", about)


def _with_minus(sentence: str) -> str:
    """A sentence with true minus signs. Signatures, whose numbers no blank precedes, stay as they are, to be copied."""
    return re.sub(r"(?<=[ (\[])-(?=\d)", MINUS, sentence)


def _picture(drawing: Drawing, file: Path) -> Mapping[str, str]:
    """A figure as an image in the page: scripts in it never run there, it can load nothing."""
    # Inside the page, which is one file that can be sent and opened without a server.
    source = f"data:image/svg+xml;base64,{base64.b64encode(file.read_bytes()).decode('ascii')}"
    return {"name": drawing.stem, "title": drawing.title, "caption": drawing.caption, "source": source}


def _introduction(analysis: Analysis) -> list[str]:
    """What BMX, w and p are, and which correlation is shown."""
    p = analysis.table.p.tolist()
    w = analysis.table.w.tolist()
    aggregation = analysis.aggregation
    mean = "the power mean with exponent p (1 arithmetic, 0 geometric, −1 harmonic)"
    if aggregation not in (None, "PowerMean"):
        mean = f"{aggregation} with the parameter p"
    sides = "both sides" if analysis.table.side == "both" else "the hypothesis"
    return [
        "BMX boosts a metric with an explanation of its own scores. An explainer gives every word an attribution, its "
        f"contribution to the score s; M is {mean} of the attributions of {sides} of a segment. The boosted metric is "
        "w · s + (1 − w) · M: w is the weight of the metric itself, and w = 1 is the metric alone.",
        f"Here p runs from {typeset(p[0])} to {typeset(p[-1])} ({counted(len(p), 'value')}) and w is "
        f"{', '.join(map(typeset, w))}. Every number is {correlation_of(analysis)} with human scores, segment by "
        "segment. A gain is that of the boosted metric minus that of the metric alone, on segments that the boost was "
        "not chosen on; others are named: the gain at a point, the in-sample best.",
        _with_minus(points_in_words(analysis.ask(chosen_points))),
    ]


def _facts(analysis: Analysis) -> list[tuple[str, str]]:
    table = analysis.table
    return [
        ("results", table.origin),
        *((factor_in_words(factor), ", ".join(map(label, table.factor_levels(factor)))) for factor in FACTORS),
        *(("left out", part) for part in table.left_out),
        ("versions", f"bmx-grid {__version__}, Python {sys.version.split()[0]}"),
    ]


def _table(table: Table, signed: str = "") -> Mapping[str, Any]:
    """Cells are (text, whether it is bold); columns are numeric where no cell is a text. signed: the last note."""
    are_texts = [not table.rows] * len(table.header)
    for row in table.rows:
        for column, cell in enumerate(row):
            are_texts[column] |= isinstance(cell.value, str)
    return {
        "title": table.title,
        "name": f"table-{table.stem}",
        "header": list(zip(table.header, are_texts, strict=True)),
        "groups": [list(map(_shown_row, group)) for group in table.groups],
        "notes": [_with_minus(note) for note in table.notes if note != signed],
    }


def _parts_of_verdicts(table: Table) -> Iterator[Table]:
    """The table of verdicts as several that fit a page: one for each kind of point, and what else was computed."""
    boost = table.header[: table.header.index("verdict")]
    chosen_on = table.header.index("chosen on")
    # The first keeps the name of the table, so that links to it stay.
    for place, group in enumerate(table.groups):
        points = dict.fromkeys(row[chosen_on].shown for row in group)
        title = "At the fixed points (grid.fixed)" if PUBLISHED in points else f"Chosen on {named(list(points))}"
        part = replace(table, title=title, groups=(group,), notes=()).with_columns((*boost, *FIRST_COLUMNS))
        yield replace(part, stem=part.stem if place == 0 else f"{part.stem}-{place + 1}")
    others = [name for name in table.header if name not in (*boost, *FIRST_COLUMNS, "chosen on") and _has(table, name)]
    beside = table.with_columns((*boost, "chosen on", *others))
    title = "What gains without an explanation, and what else the verdicts rest on"
    yield replace(beside, stem=f"{table.stem}-beside", title=title)


def _has(table: Table, header: str) -> bool:
    """Whether a column holds anything but undefined numbers."""
    place = table.header.index(header)
    values = [row[place].value for row in table.rows]
    return any(value is not None and value == value for value in values)


def _shown_row(row: Sequence[Cell]) -> list[tuple[str, bool]]:
    return [(_shown(cell), cell.marked) for cell in row]


def _shown(cell: Cell) -> str:
    return visible(written(cell.shown)) if isinstance(cell.value, str) else cell.shown.replace("-", MINUS)


def _example(example: Example) -> Mapping[str, Any]:
    moved = example.metric.rank - example.boosted.rank
    before = abs(example.metric.rank - example.human.rank)
    after = abs(example.boosted.rank - example.human.rank)
    where = "as far as before from"
    if after != before:
        where = "nearer to" if after < before else "farther from"
    scores = {"metric": example.metric, "boosted": example.boosted, "human": example.human}
    ranked = [f"{name} {typeset(scored.score, '.4g')} (rank {scored.rank:g})" for name, scored in scores.items()]
    shares = strengths([side.attributions for side in example.sides])
    sides = []
    for side, shares_of_side in zip(example.sides, shares, strict=True):
        words = zip(side.words, side.attributions.tolist(), shares_of_side, side.marked, strict=True)
        sides.append({"name": side.role, "words": words})
    return {
        "title": f"{setting_in_words(example.names)}: segment {visible(example.segment)}",
        "words": (
            f"{'Rises' if moved > 0 else 'Falls'} by {abs(moved):g} of {example.n} ranks at w = "
            f"{typeset(example.w)}, p = {typeset(example.p)}, {where} its rank by human score: {', '.join(ranked)}."
        ),
        "sides": sides,
    }


def heat_maps(analysis: Analysis) -> dict[str, Any]:
    """p, w and every setting of the table: names, baseline, best and fixed point, and its gains.

    The gains of w other than 1 are int16[W - 1, P], w slowest, in multiples of `step`; -32768 is undefined. They are
    exact to half a step: a largest gain or loss of 0.5 gives steps of 0.000015. Stored are the differences
    from one p to the next (modulo 65536), low bytes of all before high bytes of all, deflated, as base64: a quarter of
    the size. Points are [w, p, r], or null; alone: whether the best is the metric alone. first: the setting to show
    first, of those that are not controls the one that gains most.
    """
    table = analysis.table
    settings = analysis.ask(at_points)
    grids = []
    for row, (names, setting) in enumerate(zip(table.settings, settings, strict=True)):
        gains, step = _quantised(table, row)
        grids.append(
            {
                "names": list(names),
                "label": setting_in_words(names),
                "baseline": setting.baseline if math.isfinite(setting.baseline) else None,
                "best": _map_point(setting.best_w, setting.best_p, setting.best),
                "alone": math.isfinite(setting.best) and not setting.best_w < 1,
                "fixed": _map_point(setting.fixed_w, setting.fixed_p, setting.fixed),
                "step": step,
                "gains": gains,
            }
        )
    # A control gains by chance: it is not what a reader should see first.
    largest = [-math.inf if setting.control else np.nan_to_num(setting.gain) for setting in settings]
    first = largest.index(max(largest))
    return {"p": table.p.tolist(), "w": table.w.tolist(), "first": first, "settings": grids}


def _quantised(table: GridTable, row: int) -> tuple[str, float]:
    gains = table.gains[row][:, table.boosted].T
    defined = np.isfinite(gains)
    largest = float(np.abs(gains[defined]).max(initial=0.0))
    # By setting: small gains of one are not rounded by the large ones of another.
    step = largest / LEVELS if largest > 0 else 1.0
    whole = np.where(defined, np.rint(np.where(defined, gains, 0.0) / step), NO_GAIN_HERE).astype(np.int64)
    changes = np.diff(whole, axis=1, prepend=0).astype("<u2")  # wraps, and so does the sum that undoes it
    planes = changes.reshape(-1).view(np.uint8).reshape(-1, 2).T
    return base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode("ascii"), step


def _map_point(*point: float) -> list[float] | None:
    """w, p and correlation; None where there is none, and for the metric alone, which has no place on the map."""
    return list(point) if point[0] != 1 and all(map(math.isfinite, point)) else None
