"""One page for one analysis: report.html, which needs no other file and no network.

The answer stands first; everything else is folded, and made by the page's script when it is opened.
"""

from __future__ import annotations

import base64
import math
import re
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid._version import __version__
from bmx_grid.analysis import headline, verdicts
from bmx_grid.analysis.base import Cell, Column, Table
from bmx_grid.analysis.examples import RULE, WORD_RULE, Example, WordExample, strengths
from bmx_grid.analysis.gains import at_points
from bmx_grid.analysis.names import correlation_in_words, label, setting_in_words, written
from bmx_grid.analysis.questions import Analysis, signature
from bmx_grid.analysis.table import FACTORS, GridTable
from bmx_grid.core.storage import write_text
from bmx_grid.core.wording import MINUS, counted, factor_in_words, point_in_words, typeset, visible
from bmx_grid.report.figures.canvas import Drawing
from bmx_grid.report.terminal import MOST_ANSWERS

HERE = Path(__file__).parent
LEVELS = 32_767  # gains are kept as whole multiples of a setting's largest gain divided by this
UNDEFINED = -32_768
MOST_OPEN = 3  # tables of a page without an answer
VERDICTS = "verdicts"  # the table that has a part of its own
FIRST = "boosts"  # the figure beside the answer: the first of this name, or that begins with it
NUMBERS = (  # columns of the table of settings
    *FACTORS,
    Column("baseline", "metric alone", ".4f"),
    Column("best", form=".4f"),
    Column("gain", form="+.4f"),
    "plateau",
    Column("fixed", form=".4f"),
    Column("fixed_gain", "fixed gain", "+.5f", marked="survives"),
    Column("fixed_gain_low", "low", "+.5f"),
    Column("fixed_gain_high", "high", "+.5f"),
    Column("point", "best point"),
)


def write_report(
    analysis: Analysis,
    path: Path,
    *,
    figures: Sequence[tuple[Drawing, Path]],
    tables: Sequence[Table],
    examples: Sequence[Example] = (),
    word_examples: Sequence[WordExample] = (),
    facts: Sequence[tuple[str, str]] = (),
    date: str | None = None,
) -> None:
    """Write the page of an analysis to `path` in one step.

    figures: drawings with their SVG files, that of the boosts shown beside the answer; tables: brief ones with the
    counts. examples: segments with attributions; word_examples: segments where they are right or wrong by word tags;
    facts: further (name, words) on what was run; date: when, as it shall be shown.
    Raises StoreError when the page cannot be written.
    """
    answers = analysis.ask(verdicts.compute)["answers"]
    signed = signature(analysis)
    pictures = [_picture(drawing, file, signed) for drawing, file in figures]
    first = next((one for one in pictures if one["name"].startswith(FIRST)), None)
    _write(
        path,
        title=f"BMX analysis of {visible('/'.join(Path(analysis.table.origin).parts[-2:]))}",
        answers=[_answer(line) for line in answers],
        most_answers=MOST_ANSWERS,
        meaning=[_answer(line) for line in headline.answer(analysis)[len(answers) :]],
        figure=first,
        counts=[_with_minus(line) for line in analysis.ask(headline.compute)["headline"]],
        overview=[_table(one, signed) for one in tables if one.brief],
        verdicts=[_table(one, signed) for one in tables if one.stem == VERDICTS],
        tables=[_table(one, signed) for one in tables if not one.brief and one.stem != VERDICTS],
        settings=_table(_settings(analysis)),
        words=[
            ("words", "Words: the segments that move most", RULE, [_example(one) for one in examples]),
            ("right-and-wrong", "Words: right and wrong", WORD_RULE, [_word_example(one) for one in word_examples]),
        ],
        figures=[one for one in pictures if one is not first],
        introduction=_introduction(analysis),
        facts=[*_facts(analysis), *facts, *([("date", date)] if date is not None else [])],
        left_out=analysis.table.left_out,
        grids=heat_maps(analysis),
        signature=signed,
    )


def write_metrics_report(
    path: Path,
    *,
    title: str,
    introduction: Sequence[str],
    tables: Sequence[Table],
    figures: Sequence[tuple[Drawing, Path]] = (),
) -> None:
    """Write the page of a sweep of metrics alone: a few tables open, brief ones first. Raises StoreError."""
    shown = sorted((one for one in tables if not one.data), key=lambda one: not one.brief)
    _write(
        path,
        title=visible(title),
        answers=[("", line) for line in introduction],
        most_answers=MOST_ANSWERS,
        open_tables=[_table(one) for one in shown[:MOST_OPEN]],
        tables=[_table(one) for one in shown[MOST_OPEN:]],
        figures=[_picture(drawing, file, "") for drawing, file in figures],
    )


def _write(path: Path, **parts: Any) -> None:
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    style, script = ((HERE / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    template = environment.get_template("report.html.jinja")
    page = template.render(style=style, script=script, **parts)
    # Surrogates of broken input have no UTF-8: shown as the replacement character.
    write_text(path, page.encode("utf-8", "replace").decode("utf-8"))


def _answer(line: str) -> tuple[str, str]:
    """What a line is about, set in bold, and the rest of it."""
    about, colon, words = _with_minus(line).partition(": ")
    return (f"{about}{colon}", words) if colon else ("", about)


def _with_minus(sentence: str) -> str:
    """A sentence with true minus signs. Signatures, whose numbers no blank precedes, stay as they are, to be copied."""
    return re.sub(r"(?<=[ (\[])-(?=\d)", MINUS, sentence)


def _picture(drawing: Drawing, file: Path, signed: str) -> Mapping[str, str]:
    """A figure as an image in the page, without its signature: scripts in it never run there, it can load nothing."""
    source = f"data:image/svg+xml;base64,{base64.b64encode(file.read_bytes()).decode('ascii')}"
    caption = drawing.caption.removesuffix(signed)
    return {"name": drawing.stem, "title": drawing.title, "caption": caption, "source": source}


def _introduction(analysis: Analysis) -> list[str]:
    """What BMX, w and p are, which correlation is shown, and over how many segments."""
    p, w, basis = analysis.table.p.tolist(), analysis.table.w.tolist(), analysis.basis
    mean = "the power mean with exponent p (1 arithmetic, 0 geometric, −1 harmonic)"
    if basis.aggregation not in (None, "PowerMean"):
        mean = f"{basis.aggregation} with the parameter p"
    pairs = sorted({(one.dataset, one.language_pair) for one in analysis.table.settings})
    sizes = [basis.used[pair] for pair in pairs if pair in basis.used]
    over = "the table does not say how many"
    if len(sizes) == len(pairs):
        each = f"{min(sizes):,} to {max(sizes):,}" if min(sizes) < max(sizes) else f"{sizes[0]:,}"
        over = f"{each} segments per language pair, {sum(sizes):,} in {counted(len(pairs), 'language pair')}"
    return [
        "BMX boosts a metric with an explanation of its own scores. An explainer gives every word an attribution, its "
        f"contribution to the score s; M is {mean} of the attributions of a segment. The boosted metric is "
        "w · s + (1 − w) · M: w is the weight of the metric itself, and w = 1 is the metric alone.",
        f"Here p runs from {typeset(p[0])} to {typeset(p[-1])} ({counted(len(p), 'value')}) and w is "
        f"{', '.join(map(typeset, w))}. Every number is {correlation_in_words(basis.correlation)} with human scores, "
        f"segment by segment ({over}). A gain is that of the boosted metric minus that of the metric alone.",
    ]


def _facts(analysis: Analysis) -> list[tuple[str, str]]:
    table, options = analysis.table, analysis.options
    names = {factor: table.factor_levels(factor) for factor in ("dataset", "language_pair", "metric", "explainer")}
    p, w = table.p.tolist(), table.w.tolist()
    facts = [
        ("results", table.origin),
        ("settings", f"{len(table):,}, of which {len(analysis.real):,} are no controls (random metric or explainer)"),
        *((factor_in_words(one), f"{len(found)}: {', '.join(map(label, found))}") for one, found in names.items()),
        ("grid", f"{len(p):,} p from {typeset(p[0])} to {typeset(p[-1])}; w {', '.join(map(typeset, w))}"),
        ("correlations with w ≠ 1", f"{table.n_boosted:,}"),
        ("undefined correlations", f"{int(np.isnan(table.correlation[:, :, table.boosted]).sum()):,}"),
        ("words aggregated", "both sides" if table.side == "both" else "hypothesis"),
        ("(w, p) from", options.select_from.origin if options.select_from is not None else "this table"),
    ]
    if options.fixed:
        points = (f"{label(name)} {point_in_words(at.w, at.p, MINUS)}" for name, at in options.fixed.items())
        facts.append(("(w, p) given", "; ".join(points)))
    return [*facts, ("versions", f"bmx-grid {__version__}, Python {sys.version.split()[0]}")]


def _table(table: Table, signed: str = "") -> Mapping[str, Any]:
    """Cells are (text, whether it is bold); columns are numeric where no cell is a text. signed: the last note."""
    texts = [any(isinstance(cell.value, str) for cell in column) for column in zip(*table.rows, strict=True)]
    return {
        "title": table.title,
        "name": f"table-{table.stem}",
        "header": list(zip(table.header, texts or [True] * len(table.header), strict=True)),
        "groups": [[[(_shown(cell), cell.marked) for cell in row] for row in group] for group in table.groups],
        "notes": [_with_minus(note) for note in table.notes if note != signed],
    }


def _shown(cell: Cell) -> str:
    return visible(written(cell.shown)) if isinstance(cell.value, str) else cell.shown.replace("-", MINUS)


def _settings(analysis: Analysis) -> Table:
    """Every setting with its best and its fixed point, in the order of the heat maps."""
    settings = analysis.ask(at_points)
    settings = settings.assign(**{name: settings[name].map(label) for name in FACTORS})
    settings["point"] = [point_in_words(w, p, MINUS) for w, p in settings[["best_w", "best_p"]].to_numpy()]
    note = (
        "best: highest correlation of the grid with its gain, w and p, chosen on the segments it is judged on "
        "(in-sample); plateau: points with w ≠ 1 within 0.00001 of the highest of these; fixed: at the fixed (w, p) of "
        "the explainer; low, high: 95 % interval of the fixed gain, by a bootstrap of clusters of segments; in bold, a "
        "gain above 0 that survives Holm's correction. n/a: undefined, not tested, or a control."
    )
    return Table.of("settings", "Every setting", settings, NUMBERS, [note], names=4)


def _example(example: Example) -> Mapping[str, Any]:
    moved = example.score_rank - example.boosted_rank
    before, after = (abs(rank - example.human_rank) for rank in (example.score_rank, example.boosted_rank))
    where = "nearer to" if after < before else "farther from" if after > before else "as far as before from"
    scores = {
        "metric": (example.score, example.score_rank),
        "boosted": (example.boosted, example.boosted_rank),
        "human": (example.human, example.human_rank),
    }
    parts = (f"{name} {typeset(score, '.4g')} (rank {rank:g})" for name, (score, rank) in scores.items())
    return {
        "title": f"{setting_in_words(example.names)}: segment {visible(example.segment)}",
        "words": (
            f"{'Rises' if moved > 0 else 'Falls'} by {abs(moved):g} of {example.n} ranks at w = {typeset(example.w)}, "
            f"p = {typeset(example.p)}, {where} its rank by human score: {', '.join(parts)}."
        ),
        "sides": _sides(example),
    }


def _word_example(example: WordExample) -> Mapping[str, Any]:
    return {
        "title": f"{'Right' if example.right else 'Wrong'}: {setting_in_words(example.names)}: "
        f"segment {visible(example.segment)}",
        "words": (
            f"AUC {typeset(example.auc, '.2f')} (mean of the setting {typeset(example.mean_auc, '.2f')}): "
            f"{example.n_marked} of {example.n_words} words of the hypothesis are marked, and "
            f"{typeset(example.recall, '.0%')} of these are among the {example.n_marked} that are blamed most."
        ),
        "sides": _sides(example),
    }


def _sides(example: Example | WordExample) -> list[Mapping[str, Any]]:
    """The sides of an example: each word with its attribution, its strength in the segment, whether it is marked."""
    tagged = any(side.marked for side in example.sides)
    sides: list[Mapping[str, Any]] = []
    for side, shares in zip(example.sides, strengths(example.sides), strict=True):
        flags = side.marked or (False,) * len(side.words)
        words = [
            {
                "word": word or "␣",
                "kind": "up" if attribution > 0 else "down" if attribution < 0 else "none",
                "shown": typeset(attribution, "+.2g"),
                "strength": f"{float(share):.2f}",
                "marked": bad,
            }
            for word, attribution, share, bad in zip(side.words, side.attributions.tolist(), shares, flags, strict=True)
        ]
        name = side.name if side.marked or not tagged else f"{side.name} (no word tags)"
        sides.append({"name": name, "words": words})
    return sides


def heat_maps(analysis: Analysis) -> dict[str, Any]:
    """p, w and every setting of the table: names, baseline, best and fixed point, and its gains.

    The gains of w other than 1 are int16[W - 1, P], w slowest, in multiples of `step`; -32768 is undefined. They are
    exact to half a step: a largest gain or loss of 0.5 gives steps of 0.000015. Stored are the differences
    from one p to the next (modulo 65536), low bytes of all before high bytes of all, deflated, as base64: a quarter of
    the size. Points are [w, p, r], or null; alone: whether the best is the metric alone. first: the setting to show
    first, of those that are not controls the one that gains most.
    """
    table = analysis.table
    found = []
    settings = analysis.ask(at_points)
    for row, (setting, numbers) in enumerate(zip(table.settings, settings.to_dict("records"), strict=True)):
        gains, step = _quantised(table, row)
        found.append(
            {
                "names": list(setting),
                "label": setting_in_words(setting),
                "baseline": _finite(float(table.baseline[row])),
                "best": _map_point(numbers, "best"),
                "alone": math.isfinite(numbers["best"]) and not numbers["best_w"] < 1,
                "fixed": _map_point(numbers, "fixed"),
                "step": step,
                "gains": gains,
            }
        )
    first = int(settings["gain"].fillna(0.0).where(~settings["control"], -np.inf).argmax())
    return {"p": table.p.tolist(), "w": table.w.tolist(), "first": first, "settings": found}


def _quantised(table: GridTable, row: int) -> tuple[str, float]:
    gains = table.gains[row][:, table.boosted].T
    defined = np.isfinite(gains)
    largest = float(np.abs(gains[defined]).max(initial=0.0))
    step = largest / LEVELS if largest > 0 else 1.0
    whole = np.where(defined, np.rint(np.where(defined, gains, 0.0) / step), UNDEFINED).astype(np.int64)
    changes = np.diff(whole, axis=1, prepend=0).astype("<u2")  # wraps, and so does the sum that undoes it
    planes = changes.reshape(-1).view(np.uint8).reshape(-1, 2).T
    return base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode("ascii"), step


def _map_point(numbers: Mapping[Any, Any], name: str) -> list[float] | None:
    """w, p and correlation; None where there is none, and for the metric alone, which has no place on the map."""
    point = [float(numbers[f"{name}_w"]), float(numbers[f"{name}_p"]), float(numbers[name])]
    return point if point[0] != 1 and all(map(math.isfinite, point)) else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
