"""One page for one analysis: report.html, which needs no other file and no network."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid._version import __version__
from bmx_grid.analysis import headline, settings, shown
from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.basis import UNKNOWN, Basis
from bmx_grid.analysis.examples import RULE, Example, Side, strengths
from bmx_grid.analysis.names import label, setting_in_words, written
from bmx_grid.analysis.run import Analysis
from bmx_grid.analysis.signature import signature
from bmx_grid.analysis.word_examples import RULE as WORD_RULE
from bmx_grid.analysis.word_examples import WordExample
from bmx_grid.report.page.heat_map import heat_maps
from bmx_grid.report.page.introduction import introduction
from bmx_grid.report.page.pictures import Picture, inline
from bmx_grid.storage.files import write_text
from bmx_grid.wording import METRIC_ALONE, MINUS, factor_in_words, point_in_words, typeset, visible

VERSION = 9  # raise when the page changes, so that older pages are written again
HERE = Path(__file__).parent
LIBRARIES = ("numpy", "pyarrow", "scikit-learn", "matplotlib")
BOOSTS = "boosts"  # figure of them
FIRST = ("verdicts",)  # tables before all others
NAMES = ("data set", "language pair", "metric", "explainer")
NUMBERS = ("metric alone", "best", "gain", "w", "p", "plateau", "fixed", "fixed gain", "low", "high", "transfer gain")


FIXED_GAIN = NUMBERS.index("fixed gain")


def write_report(
    analysis: Analysis,
    path: Path,
    *,
    figures: Sequence[Picture],
    tables: Sequence[Table],
    examples: Sequence[Example] = (),
    word_examples: Sequence[WordExample] = (),
    facts: Sequence[tuple[str, str]] = (),
    date: str | None = None,
    fingerprint: str = "",
    basis: Basis = UNKNOWN,
) -> None:
    """Write the page of an analysis to `path` in one step.

    figures and tables are shown in their order, brief tables with the headline, boosts with what is established;
    examples: segments with attributions; word_examples: segments where they are right or wrong by word tags;
    facts: what else is to be said of what was run, as (name, words); date: when, as it shall be shown.
    fingerprint: what `is_current` is asked for later. basis: which correlation and how many segments.
    Raises StoreError when a figure cannot be read or the page cannot be written.
    """
    drawn = [(one, inline(one.file, f"figure{at}")) for at, one in enumerate(figures)]
    page = _template("report.html.jinja").render(
        style=(HERE / "report.css").read_text(encoding="utf-8"),
        script=(HERE / "report.js").read_text(encoding="utf-8"),
        stamp=_stamp(fingerprint),
        title=f"BMX analysis of {visible(_folder(analysis.table.origin))}",
        introduction=introduction(analysis, basis),
        facts=[*_facts(analysis), *facts, *([("date", date)] if date is not None else [])],
        left_out=[str(one) for one in analysis.table.left_out],
        established=[_set(one) for one in analysis.ask(headline.compute).leads],
        established_figures=[shown for shown in drawn if _of_boosts(shown[0])],
        established_tables=[_table(one) for one in tables if one.stem in FIRST],
        headline=[_set(one) for one in analysis.ask(headline.compute).counts],
        overview=[_table(one) for one in tables if one.brief and one.stem not in FIRST],
        grids=heat_maps(analysis),
        columns=(*NAMES, *NUMBERS),
        n_names=len(NAMES),
        settings=_settings(analysis),
        left_out_factor=factor_in_words(analysis.ask(settings.compute).transfer_factor or "dataset"),
        rule=RULE,
        examples=[_example(one) for one in examples],
        word_rule=WORD_RULE,
        word_examples=[_word_example(one) for one in word_examples],
        figures=[shown for shown in drawn if not _of_boosts(shown[0])],
        tables=[_table(one) for one in tables if not one.brief and one.stem not in FIRST],
        anchor=anchor,
    )
    _write(page, path)


def write_metrics_report(
    path: Path, *, title: str, introduction: Sequence[str], tables: Sequence[Table], fingerprint: str = ""
) -> None:
    """Write the page of a sweep of metrics alone, its tables; arguments and errors as for `write_report`."""
    page = _template("metrics.html.jinja").render(
        style=(HERE / "report.css").read_text(encoding="utf-8"),
        stamp=_stamp(fingerprint),
        title=visible(title),
        introduction=list(introduction),
        tables=[_table(one) for one in tables if not one.data],
    )
    _write(page, path)


def _of_boosts(picture: Picture) -> bool:
    """Whether a picture shows what boosts gain, on all metrics or on one."""
    return picture.file.stem == BOOSTS or picture.file.stem.startswith(f"{BOOSTS}_")


def _template(name: str) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)


def _write(page: str, path: Path) -> None:
    # Surrogates of broken input have no UTF-8: shown as the replacement character.
    write_text(path, page.encode("utf-8", "replace").decode("utf-8"))


def is_current(path: Path, fingerprint: str) -> bool:
    """Whether `path` is a page written by this code with this fingerprint."""
    try:
        with path.open(encoding="utf-8") as file:
            return f'content="{_stamp(fingerprint)}"' in file.read(1000)
    except (OSError, UnicodeDecodeError):  # absent, or of another program: writing reports what is wrong
        return False


def anchor(title: str) -> str:
    """A name for links to a heading."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "part"


def _stamp(fingerprint: str) -> str:
    return f"bmx-grid {__version__} page {VERSION} {fingerprint}".strip()


def _folder(origin: str) -> str:
    """The last two parts of a path: the folders differ, the files in them have the same names."""
    return "/".join(Path(origin).parts[-2:])


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
        ("rule among equal best points", options.tie),
        ("(w, p) from", options.select_from.origin if options.select_from is not None else "this table"),
    ]
    if options.fixed:
        facts.append(
            (
                "(w, p) given",
                "; ".join(f"{label(name)} {point_in_words(at.w, at.p, MINUS)}" for name, at in options.fixed.items()),
            )
        )
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
    """Cells are text without marks; columns are numeric where no cell is a text."""
    rows = [[(_shown(cell), cell.marked) for cell in row] for row in table.rows]
    texts = [any(isinstance(cell.value, str) for cell in column) for column in zip(*table.rows, strict=True)]
    return {
        "title": table.title,
        "name": anchor(table.stem),
        "header": table.header,
        "rows": rows,
        "last": {sum(map(len, table.groups[: at + 1])) for at in range(len(table.groups))},
        "numeric": [not text for text in texts] or [False] * len(table.header),
        "notes": [_set(note) for note in table.notes],
    }


def _set(sentence: str) -> str:
    """A sentence with true minus signs. Signatures, whose numbers no blank precedes, stay as they are, to be copied."""
    return re.sub(r"(?<=[ (\[])-(?=\d)", MINUS, sentence)


def _shown(cell: Cell) -> str:
    return visible(written(cell.shown)) if isinstance(cell.value, str) else cell.shown.replace("-", MINUS)


def _settings(analysis: Analysis) -> list[tuple[tuple[str, ...], str, list[tuple[str, float | None, bool]]]]:
    """For each setting its names, its option names to search, and its numbers: as shown, as sorted, whether marked.

    Where the metric alone is best, w says so and p is empty: a p means nothing there.
    """
    table = analysis.table
    numbers = analysis.ask(settings.compute)
    fixed, left_out = numbers.fixed - table.baseline, numbers.transfer_gain
    found = []
    for row, setting in enumerate(table.settings):
        best = shown.best_of(analysis, row)
        w, p = (math.nan, math.nan) if best.point is None else (best.point.w, best.point.p)
        cells = [
            (typeset(table.baseline[row], ".4f"), table.baseline[row]),
            (typeset(best.correlation, ".4f"), best.correlation),
            (typeset(best.gain, "+.4f"), best.gain),
            (METRIC_ALONE if best.is_alone else typeset(w), 1.0 if best.is_alone else w),
            ("" if best.is_alone else typeset(p), p),
            (f"{best.plateau:,}", float(best.plateau)),
            (typeset(fixed[row] + table.baseline[row], ".4f"), fixed[row] + table.baseline[row]),
            (typeset(fixed[row], "+.5f"), fixed[row]),
            (typeset(numbers.low[row], "+.5f"), numbers.low[row]),
            (typeset(numbers.high[row], "+.5f"), numbers.high[row]),
            (typeset(left_out[row], "+.5f"), left_out[row]),
        ]
        marked = FIXED_GAIN if numbers.survives[row] else -1
        kept = [
            (text, float(one) if math.isfinite(one) else None, at == marked) for at, (text, one) in enumerate(cells)
        ]
        found.append((tuple(map(label, setting)), visible(" ".join(setting)), kept))
    return found


def _example(example: Example) -> Mapping[str, Any]:
    moved = example.score_rank - example.boosted_rank
    before, after = (abs(rank - example.human_rank) for rank in (example.score_rank, example.boosted_rank))
    told = "nearer to" if after < before else "farther from" if after > before else "as far as before from"
    return {
        "title": f"{setting_in_words(example.names)}: segment {visible(example.segment)}",
        "told": (
            f"{'Rises' if moved > 0 else 'Falls'} by {_ranks(abs(moved))} of {example.n} at w = {typeset(example.w)}, "
            f"p = {typeset(example.p)}, {told} its rank by human score: metric {typeset(example.score, '.4f')} (rank "
            f"{example.score_rank:g}), boosted {typeset(example.boosted, '.4f')} (rank {example.boosted_rank:g}), "
            f"human {typeset(example.human, '.4g')} (rank {example.human_rank:g})."
        ),
        **_sides(example),
    }


def _sides(example: Example | WordExample) -> Mapping[str, Any]:
    """The sides of an example, and whether people tagged the words of one of them."""
    return {
        "sides": [_side(side, strong) for side, strong in zip(example.sides, strengths(example.sides), strict=True)],
        "tagged": any(side.marked for side in example.sides),
    }


def _word_example(example: WordExample) -> Mapping[str, Any]:
    found = "Right" if example.right else "Wrong"
    return {
        "title": f"{found}: {setting_in_words(example.names)}: segment {visible(example.segment)}",
        "told": (
            f"AUC {typeset(example.auc, '.2f')} (mean of the setting {typeset(example.mean_auc, '.2f')}): "
            f"{example.n_marked} of {example.n_words} words of the hypothesis are marked, and "
            f"{typeset(example.recall, '.0%')} of these are among the {example.n_marked} that are blamed most."
        ),
        **_sides(example),
    }


def _ranks(count: float) -> str:
    return f"{count:g} rank" if count == 1 else f"{count:g} ranks"


def _side(side: Side, strength: Sequence[float] | np.ndarray[Any, Any]) -> Mapping[str, Any]:
    words = []
    flags = side.marked or (False,) * len(side.words)
    for word, attribution, strong, bad in zip(side.words, side.attributions.tolist(), strength, flags, strict=True):
        kind = "up" if attribution > 0 else "down" if attribution < 0 else "none"
        told = typeset(attribution, "+.2g")
        shown = {"shown": told, "strength": f"{float(strong):.2f}", "marked": bad}
        words.append({"word": word or "␣", "kind": kind, **shown})
    return {"name": side.name, "words": words, "tagged": bool(side.marked)}
