"""One page for one analysis: report.html, which needs no other file and no network."""

from __future__ import annotations

import base64
import math
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid._version import __version__
from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.run import Analysis
from bmx_grid.analysis.signature import signature
from bmx_grid.errors import StoreError
from bmx_grid.files import write_text
from bmx_grid.report.page.examples import RULE, Example, Side, strengths
from bmx_grid.report.page.headline import controls, headline, held_out_factor, number, overview, signed, spelled, value
from bmx_grid.report.page.heat_map import fixed_correlations, heat_maps
from bmx_grid.report.page.pictures import Picture

VERSION = 1  # raise when the page changes, so that older pages are written again
HERE = Path(__file__).parent
LIBRARIES = ("numpy", "pyarrow", "scikit-learn", "matplotlib")
KINDS = {".png": "image/png", ".svg": "image/svg+xml"}
NAMES = ("data set", "language pair", "metric", "explainer")
NUMBERS = ("baseline", "best", "gain", "w", "p", "plateau", "fixed", "fixed gain", "held-out gain")


def write_report(
    analysis: Analysis,
    path: Path,
    *,
    figures: Sequence[Picture],
    tables: Sequence[Table],
    examples: Sequence[Example] = (),
    facts: Sequence[tuple[str, str]] = (),
    date: str | None = None,
    fingerprint: str = "",
) -> None:
    """Write the page of an analysis to `path` in one step.

    figures and tables are shown in their order; examples: segments with attributions; facts: what else is to be
    said of what was run, as (name, words); date: when, as it shall be shown.
    fingerprint: what `is_current` is asked for later.
    Raises StoreError when a figure cannot be read or the page cannot be written.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    page = environment.get_template("report.html.jinja").render(
        style=(HERE / "report.css").read_text(encoding="utf-8"),
        script=(HERE / "report.js").read_text(encoding="utf-8"),
        stamp=_stamp(fingerprint),
        title=f"BMX analysis of {_short(analysis.table.origin)}",
        facts=[*_facts(analysis), *facts, *([("date", date)] if date is not None else [])],
        left_out=[str(one) for one in analysis.table.left_out],
        headline=headline(analysis),
        overview=[_table(one) for one in (overview(analysis), controls(analysis)) if one is not None],
        grids=heat_maps(analysis),
        columns=(*NAMES, *NUMBERS),
        n_names=len(NAMES),
        settings=_settings(analysis),
        held_out=spelled(held_out_factor(analysis) or "dataset"),
        rule=RULE,
        examples=[_example(one) for one in examples],
        figures=[(one, _embedded(one.file)) for one in figures],
        tables=[_table(one) for one in tables],
        anchor=anchor,
    )
    # Surrogates of broken input have no UTF-8: shown as the replacement character.
    write_text(path, page.encode("utf-8", "replace").decode("utf-8"))


def is_current(path: Path, fingerprint: str) -> bool:
    """Whether `path` is a page written by this code with this fingerprint."""
    try:
        with path.open(encoding="utf-8") as file:
            return f'content="{_stamp(fingerprint)}"' in file.read(1000)
    except (OSError, UnicodeDecodeError):  # not there, or not ours: writing says what is wrong
        return False


def anchor(title: str) -> str:
    """A name for links to a heading."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "part"


def _stamp(fingerprint: str) -> str:
    return f"bmx-grid {__version__} page {VERSION} {fingerprint}".strip()


def _short(origin: str) -> str:
    """The last two parts of a path: folders of results are named by what they hold, their files all alike."""
    return "/".join(Path(origin).parts[-2:])


def _facts(analysis: Analysis) -> list[tuple[str, str]]:
    table, options = analysis.table, analysis.options
    names = {factor: table.factor_levels(factor) for factor in ("dataset", "language_pair", "metric", "explainer")}
    p, w = table.p, table.w
    facts = [
        ("results", table.origin),
        ("settings", f"{len(table):,}, of which {len(analysis.real):,} are no controls (random metric or explainer)"),
        *((spelled(factor), f"{len(found)}: {', '.join(found)}") for factor, found in names.items()),
        ("grid", f"{len(p):,} p from {value(p[0])} to {value(p[-1])}; w {', '.join(value(one) for one in w)}"),
        ("correlations with w ≠ 1", f"{table.n_boosted:,}"),
        ("undefined correlations", f"{int(np.isnan(table.correlation[:, :, table.boosted]).sum()):,}"),
        ("words aggregated", "both sides" if table.side == "both" else "hypothesis"),
        ("rule among equal best points", options.tie),
        ("(w, p) from", options.select_from.origin if options.select_from is not None else "this table"),
    ]
    if options.fixed:
        given = (f"{name} ({value(point.w)}, {value(point.p)})" for name, point in options.fixed.items())
        facts.append(("(w, p) given", ", ".join(given)))
    return [*facts, ("signature", signature(analysis)), ("versions", ", ".join(_versions()))]


def _versions() -> list[str]:
    found = [f"bmx-grid {__version__}", f"Python {sys.version.split()[0]}"]
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:  # installed under another name; the page loses a version, not a number
            continue
    return found


def _table(table: Table) -> Mapping[str, Any]:
    """Cells are text, and marks, of which there are none; columns are numeric where no cell is a text."""
    rows = [[(_shown(cell), False, False) for cell in row] for row in table.rows]
    texts = [any(isinstance(cell.value, str) for cell in column) for column in zip(*table.rows, strict=True)]
    return {
        "title": table.title,
        "name": anchor(table.stem),
        "header": table.header,
        "rows": rows,
        "last": {sum(map(len, table.groups[: at + 1])) for at in range(len(table.groups))},
        "numeric": [not text for text in texts] or [False] * len(table.header),
        "notes": table.notes,
    }


def _shown(cell: Cell) -> str:
    return cell.shown if isinstance(cell.value, str) else cell.shown.replace("-", "−")


def _settings(analysis: Analysis) -> list[tuple[tuple[str, ...], list[tuple[str, float | None]]]]:
    """For each setting its names, and its numbers as they are shown and as they are sorted."""
    table, best = analysis.table, analysis.best
    fixed = fixed_correlations(analysis)
    held = np.full(len(table), np.nan)
    for explainer, one in analysis.leave_one_out[held_out_factor(analysis) or "dataset"].items():
        held[~table.is_control & table.where(explainer=explainer)] = one.gain
    found = []
    for row, setting in enumerate(table.settings):
        numbers = [
            (number(table.baseline[row], 4), table.baseline[row]),
            (number(best.correlation[row], 4), best.correlation[row]),
            (signed(best.gain[row], 4), best.gain[row]),
            (value(best.w[row]), best.w[row]),
            (value(best.p[row]), best.p[row]),
            (f"{best.plateau[row]:,}", float(best.plateau[row])),
            (number(fixed[row], 4), fixed[row]),
            (signed(fixed[row] - table.baseline[row], 5), fixed[row] - table.baseline[row]),
            (signed(held[row], 5), held[row]),
        ]
        found.append((tuple(setting), [(text, float(one) if math.isfinite(one) else None) for text, one in numbers]))
    return found


def _example(example: Example) -> Mapping[str, Any]:
    moved = example.score_rank - example.boosted_rank
    before, after = (abs(rank - example.human_rank) for rank in (example.score_rank, example.boosted_rank))
    told = "nearer to" if after < before else "farther from" if after > before else "as far as before from"
    return {
        "title": f"{' · '.join(example.names)}: segment {example.segment}",
        "told": (
            f"{'Rises' if moved > 0 else 'Falls'} by {_ranks(abs(moved))} of {example.n} at w = {value(example.w)}, "
            f"p = {value(example.p)}, {told} its rank by human score: metric {number(example.score, 4)} (rank "
            f"{example.score_rank:g}), boosted {number(example.boosted, 4)} (rank {example.boosted_rank:g}), human "
            f"{example.human:.4g} (rank {example.human_rank:g})."
        ),
        "sides": [
            _side(side, strength) for side, strength in zip(example.sides, strengths(example.sides), strict=True)
        ],
    }


def _ranks(count: float) -> str:
    return f"{count:g} rank" if count == 1 else f"{count:g} ranks"


def _side(side: Side, strength: Sequence[float] | np.ndarray[Any, Any]) -> Mapping[str, Any]:
    words = []
    for word, attribution, strong in zip(side.words, side.attributions.tolist(), strength, strict=True):
        kind = "up" if attribution > 0 else "down" if attribution < 0 else "none"
        shown = f"{attribution:+.2g}".replace("-", "−") if math.isfinite(attribution) else "n/a"
        words.append({"word": word or "␣", "kind": kind, "shown": shown, "strength": f"{float(strong):.2f}"})
    return {"name": side.name, "words": words}


def _embedded(file: Path) -> str:
    """A figure as a data address. Raises StoreError when it is not there or of another kind."""
    if file.suffix not in KINDS:
        raise StoreError(f"{file}: a page shows figures of the kinds {', '.join(KINDS)}, not '{file.suffix}'.")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise StoreError(f"cannot read the figure {file}: {error.strerror}. Draw it again.") from error
    return f"data:{KINDS[file.suffix]};base64,{base64.b64encode(content).decode('ascii')}"
