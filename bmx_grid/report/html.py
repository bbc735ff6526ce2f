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
from bmx_grid.analysis.base import FACTORS, Cell, GridTable, Table, each_row
from bmx_grid.analysis.examples import RULE, Example, strengths
from bmx_grid.analysis.gains import at_points
from bmx_grid.analysis.points import chosen_points, in_sample_in_words, points_in_words
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
from bmx_grid.sweep.settings import ALONE

HERE = Path(__file__).parent / "page"
LEVELS = 32_767  # gains are kept as whole multiples of a setting's largest gain divided by this
NO_GAIN_HERE = -32_768
MOST_OPEN = 3  # tables of a page without an answer
# What a verdict rests on first of all. The other columns stand in a table below, so that each table fits the page.
FIRST_COLUMNS = ("verdict", "gain", "partial r", "p gain (Holm)", "p partial (Holm)", "segments")
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
    answers_of_boosts = analysis.ask(answers.compute)["answers"]
    signature_line = analysis.ask(signature)
    # The sentences after the answers say what these mean.
    meaning = headline.answer(analysis)[len(answers_of_boosts) :]
    open_figure = None
    folded_figures = []
    for drawing, file in figures:
        if drawing.stem == OPEN_FIGURE:
            open_figure = _picture(drawing, file)
        else:
            folded_figures.append(_picture(drawing, file))
    overview = []
    verdicts = []
    settings = None
    others = []
    for table in tables:
        if table.stem == "verdicts":
            verdicts += [_page_table(part, signature_line) for part in _parts_of_verdicts(table)]
        elif table.stem == "settings":
            settings = _page_table(table, signature_line)
        elif table.brief:
            overview.append(_page_table(table, signature_line))
        else:
            others.append(_page_table(table, signature_line))
    origin = Path(analysis.table.origin)
    origin_end = "/".join(origin.parts[-2:])
    _write(
        path,
        title=f"BMX analysis of {visible(origin_end)}",
        answers=[_answer(line) for line in answers_of_boosts],
        meaning=[_answer(line) for line in meaning],
        figure=open_figure,
        counts=[_with_minus(line) for line in analysis.ask(headline.compute)["headline"]],
        overview=overview,
        verdicts=verdicts,
        settings=settings,
        tables=others,
        rule=RULE,
        examples=[example_parts(example) for example in examples],
        figures=folded_figures,
        introduction=_introduction(analysis),
        facts=[*_facts(analysis), *facts, ("signature of the table", signature_line)],
        grids=heat_maps(analysis),
    )


def write_metrics_report(
    analysis: Analysis, path: Path, *, tables: Sequence[Table], figures: Sequence[tuple[Drawing, Path]] = ()
) -> None:
    """Write the page of a sweep without a grid: a few tables open, brief ones first, and figures with their files.

    Raises StoreError.
    """
    answers_of_boosts = analysis.ask(answers.compute)["answers"]
    meaning = headline.answer(analysis)[len(answers_of_boosts) :]
    pictures = [_picture(drawing, file) for drawing, file in figures]
    verdicts = []
    shown = []
    for table in tables:
        if table.stem == "verdicts":
            verdicts += [_page_table(part) for part in _parts_of_verdicts(table)]
        elif not table.data:
            shown.append(table)
    # The sort is stable: among the brief ones, and among the others, the order stays.
    shown.sort(key=lambda table: not table.brief)
    title, introduction = _metrics_in_words(analysis)
    _write(
        path,
        title=visible(title),
        answers=[*map(_answer, answers_of_boosts), ("", introduction), *(("", line) for line in meaning)],
        open_tables=[_page_table(table) for table in shown[:MOST_OPEN]],
        verdicts=verdicts,
        tables=[_page_table(table) for table in shown[MOST_OPEN:]],
        figure=pictures[0] if pictures else None,
        figures=pictures[1:],
    )


def _metrics_in_words(analysis: Analysis) -> tuple[str, str]:
    """The title of a page without a grid, and a sentence on what was evaluated."""
    # Any of the tables names the data sets and metrics.
    frame = analysis.frames.get("settings", next(iter(analysis.frames.values())))
    datasets = ", ".join(sorted(set(frame["dataset"])))
    n_metrics = counted(frame["metric"].nunique(), "metric")
    explainers = sorted(set(frame["explainer"]) - {ALONE})
    beside = (
        f"explained by {named(list(map(written, explainers)))}, without a grid"
        if explainers
        else "without an explainer"
    )
    return f"Metrics on {datasets}", f"{n_metrics} on {datasets}, {beside}."


def environment() -> Any:
    """The templates of pages."""
    from jinja2 import Environment, FileSystemLoader

    # Names come from data: everything that is not marked as safe is escaped.
    templates = Environment(loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    templates.filters["typeset"] = typeset
    return templates


def printable(page: str) -> str:
    """The page with surrogates of broken input, which have no UTF-8, as the replacement character."""
    return page.encode("utf-8", "replace").decode("utf-8")


def _write(path: Path, **parts: Any) -> None:
    style = (HERE / "report.css").read_text(encoding="utf-8")
    script = (HERE / "report.js").read_text(encoding="utf-8")
    template = environment().get_template("report.html.jinja")
    page = template.render(style=style, script=script, most_answers=MOST_ANSWERS, **parts)
    write_text(path, printable(page))


def _answer(line: str) -> tuple[str, str]:
    """What a line is about, set in bold, and the rest of it."""
    about, colon, words = _with_minus(line).partition(": ")
    if not colon:
        return "", about
    return f"{about}{colon}", words


def _with_minus(sentence: str) -> str:
    """A sentence with true minus signs. Signatures, whose numbers no blank precedes, stay as they are, to be copied."""
    return re.sub(r"(?<=[ (\[])-(?=\d)", MINUS, sentence)


def _picture(drawing: Drawing, file: Path) -> Mapping[str, str]:
    """A figure as an image in the page: scripts in it never run there, it can load nothing."""
    # Inside the page, which is one file that can be sent and opened without a server.
    content = base64.b64encode(file.read_bytes()).decode("ascii")
    return {
        "name": drawing.stem,
        "title": drawing.title,
        "caption": drawing.caption,
        "source": f"data:image/svg+xml;base64,{content}",
    }


def _introduction(analysis: Analysis) -> list[str]:
    """What BMX, w and p are, and which correlation is shown."""
    p = analysis.table.p.tolist()
    w = analysis.table.w.tolist()
    aggregation = analysis.aggregation
    mean = "the power mean with exponent p (1 arithmetic, 0 geometric, −1 harmonic)"
    if aggregation not in (None, "PowerMean"):
        mean = f"{aggregation} with the parameter p"
    sides = "both sides" if analysis.table.side == "both" else "the hypothesis"
    n_powers = counted(len(p), "value")
    weights = ", ".join(map(typeset, w))
    points = points_in_words(analysis.ask(chosen_points))
    in_sample = analysis.ask(in_sample_in_words)
    return [
        "BMX boosts a metric with an explanation of its own scores. An explainer gives every word an attribution, its "
        f"contribution to the score s; M is {mean} of the attributions of {sides} of a segment. The boosted metric is "
        "w · s + (1 − w) · M: w is the weight of the metric itself, and w = 1 is the metric alone.",
        f"Here p runs from {typeset(p[0])} to {typeset(p[-1])} ({n_powers}) and w is {weights}. "
        f"Every number is {correlation_of(analysis)} with human scores, segment by segment. "
        "A gain is that of the boosted metric minus that of the metric alone, on segments that the boost was "
        "not chosen on; others are named: the gain at a point, the in-sample best.",
        *filter(None, [in_sample]),
        _with_minus(points),
    ]


def _facts(analysis: Analysis) -> list[tuple[str, str]]:
    """What was analysed, as (name, words), names not always different."""
    table = analysis.table
    facts = [("results", table.origin)]
    for factor in FACTORS:
        levels = table.factor_levels(factor)
        facts.append((factor_in_words(factor), ", ".join(map(label, levels))))
    for part in table.left_out:
        facts.append(("left out", part))
    python = sys.version.split()[0]  # what follows is the compiler
    facts.append(("versions", f"bmx-grid {__version__}, Python {python}"))
    return facts


def _page_table(table: Table, signature_line: str = "") -> Mapping[str, Any]:
    """What the template shows of a table: cells are (text, whether it is bold), the header (name, whether texts).

    signature_line: the note that is left out, because the page has it once, at its end.
    """
    # A column of texts and of numbers is aligned as texts. So is every column of a table without rows.
    are_texts = [not table.rows] * len(table.header)
    for row in table.rows:
        for column, cell in enumerate(row):
            are_texts[column] |= isinstance(cell.value, str)
    groups = []
    for group in table.groups:
        rows = []
        for row in group:
            rows.append([(_shown(cell), cell.marked) for cell in row])
        groups.append(rows)
    return {
        "title": table.title,
        "name": f"table-{table.stem}",
        "header": list(zip(table.header, are_texts, strict=True)),
        "groups": groups,
        "notes": [_with_minus(note) for note in table.notes if note != signature_line],
    }


def _parts_of_verdicts(table: Table) -> Iterator[Table]:
    """The table of verdicts as several that fit a page: one for each kind of point, and what else was computed."""
    # What a boost is called: the columns before its verdict.
    boost = table.header[: table.header.index("verdict")]
    first_columns = (*boost, *FIRST_COLUMNS)
    chosen_on = table.header.index("chosen on")
    for place, group in enumerate(table.groups):
        # A dict keeps the order of the rows, and each kind of point once.
        points = dict.fromkeys(row[chosen_on].shown for row in group)
        title = f"Chosen on {named(list(points))}"
        if any(point.startswith(PUBLISHED) for point in points):
            in_sample = [point.removeprefix(PUBLISHED) for point in points]
            title = f"At the fixed points (grid.fixed){''.join(in_sample)}"
        # The first keeps the name of the table, so that links to it stay.
        stem = table.stem
        if place > 0:
            stem = f"{table.stem}-{place + 1}"
        part = replace(table, stem=stem, title=title, groups=(group,), notes=())
        yield part.with_columns(first_columns)
    others = []
    for name in table.header:
        # Columns without any number would only make the table wider.
        if name not in (*first_columns, "chosen on") and _has_values(table, name):
            others.append(name)
    rest = table.with_columns((*boost, "chosen on", *others))
    stem = f"{table.stem}-beside"
    title = "What gains without an explanation, and what else the verdicts rest on"
    yield replace(rest, stem=stem, title=title)


def _has_values(table: Table, header: str) -> bool:
    """Whether a column holds anything but undefined numbers."""
    place = table.header.index(header)
    for row in table.rows:
        value = row[place].value
        # NaN alone differs from itself. Texts do not, and isnan would refuse them.
        if value is not None and value == value:
            return True
    return False


def _shown(cell: Cell) -> str:
    """The words of a cell: names as the field writes them, numbers with true minus signs."""
    if isinstance(cell.value, str):
        return visible(written(cell.shown))
    return cell.shown.replace("-", MINUS)


def example_parts(example: Example) -> Mapping[str, Any]:
    """A segment with its words, and a sentence on how far boosting moved it in the ranking."""
    # Rank 1 is the best: who rises gets a lower number.
    moved = example.metric.rank - example.boosted.rank
    direction = "Rises" if moved > 0 else "Falls"
    before = abs(example.metric.rank - example.human.rank)
    after = abs(example.boosted.rank - example.human.rank)
    where = "as far as before from"
    if after != before:
        where = "nearer to" if after < before else "farther from"
    ranked = []
    for name in ("metric", "boosted", "human"):
        scored = getattr(example, name)
        score = typeset(scored.score, ".4g")
        ranked.append(f"{name} {score} (rank {scored.rank:g})")
    shares = strengths([side.attributions for side in example.sides])
    sides = []
    for side, shares_of_side in zip(example.sides, shares, strict=True):
        words = zip(side.words, side.attributions.tolist(), shares_of_side, side.marked, strict=True)
        sides.append({"name": side.role, "words": words})
    setting = setting_in_words(example.names)
    point = f"w = {typeset(example.w)}, p = {typeset(example.p)}"
    return {
        "title": f"{setting}: segment {visible(example.segment)}",
        "words": (
            f"{direction} by {abs(moved):g} of {example.n} ranks at {point}, "
            f"{where} its rank by human score: {', '.join(ranked)}."
        ),
        "sides": sides,
    }


def heat_maps(analysis: Analysis) -> dict[str, Any]:
    """What the page's script draws heat maps from: p, w, the settings, and which of them to show first.

    Of each setting: names, baseline (null if undefined), and the best and the fixed point as [w, p, r] (null if it has
    no place on the map); alone: whether the metric alone is best; step and gains: see `_quantised`. first: of the
    settings that are not controls the one that gains most.
    """
    grid_table = analysis.table
    settings = analysis.ask(at_points)
    maps = []
    for row, (names, setting) in enumerate(zip(grid_table.settings, each_row(settings), strict=True)):
        gains, step = _quantised(grid_table, row)
        # JSON has no NaN.
        baseline = setting.baseline if math.isfinite(setting.baseline) else None
        best = _map_point(setting.best_w, setting.best_p, setting.best)
        fixed = _map_point(setting.fixed_w, setting.fixed_p, setting.fixed)
        alone = math.isfinite(setting.best) and not setting.best_w < 1
        maps.append(
            {
                "names": list(names),
                "label": setting_in_words(names),
                "baseline": baseline,
                "best": best,
                "alone": alone,
                "fixed": fixed,
                "step": step,
                "gains": gains,
            }
        )
    # A control gains by chance: it is not what a reader should see first.
    gains_of_settings = np.where(settings["control"], -np.inf, np.nan_to_num(settings["gain"]))
    first = int(gains_of_settings.argmax())
    return {
        "p": list(map(_power, grid_table.p.tolist())),
        "w": grid_table.w.tolist(),
        "first": first,
        "settings": maps,
    }


def _quantised(grid_table: GridTable, row: int) -> tuple[str, float]:
    """The gains of one setting in few bytes, and the step that they are multiples of.

    Gains at w other than 1 are int16[W - 1, P], w slowest; NO_GAIN_HERE is undefined. They are exact to half a step: a
    largest gain or loss of 0.5 gives steps of 0.000015. Stored are the differences from one p to the next (modulo
    65536), low bytes of all before high bytes of all, deflated, as base64: a quarter of the size.
    """
    gains_of_setting = grid_table.gains[row]
    gains = gains_of_setting[:, grid_table.boosted].T
    defined = np.isfinite(gains)
    sizes = np.abs(gains[defined])
    largest = float(sizes.max(initial=0.0))
    # By setting: small gains of one are not rounded by the large ones of another.
    step = largest / LEVELS if largest > 0 else 1.0
    # NaN has no integer: it is replaced before the cast.
    finite_gains = np.where(defined, gains, 0.0)
    steps = np.rint(finite_gains / step)
    levels = np.where(defined, steps, NO_GAIN_HERE).astype(np.int64)
    changes = np.diff(levels, axis=1, prepend=0)
    changes = changes.astype("<u2")  # wraps, and so does the sum that undoes it
    # Neighbours on a smooth curve differ little: their high bytes are nearly all alike, which deflates well.
    low_and_high = changes.reshape(-1).view(np.uint8).reshape(-1, 2)
    low_then_high = low_and_high.T.tobytes()
    packed = zlib.compress(low_then_high, 9)
    return base64.b64encode(packed).decode("ascii"), step


def _map_point(w: float, p: float, correlation: float) -> list[float | str] | None:
    """w, p and correlation; None where there is none, and for the metric alone, which has no place on the map."""
    if w == 1 or np.isnan([w, p, correlation]).any():
        return None
    return [w, _power(p), correlation]


def _power(p: float) -> float | str:
    """A power for JSON, which has no infinite numbers: those are texts that JavaScript reads as numbers."""
    if math.isinf(p):
        return "Infinity" if p > 0 else "-Infinity"
    return p
