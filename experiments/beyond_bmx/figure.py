"""Draw docs/boosts.png from the table of WMT17 in README.md beside this file.

python experiments/beyond_bmx/figure.py [OUTPUT.png]

Each row is a boost by Erasure, chosen on the other language pairs. Left: its gain over the metric alone; right: its
partial correlation with the human scores; 95 % intervals, Pearson's r. The mark is the verdict.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))  # so that a checkout needs no installation

from bmx_grid.core.errors import BmxError, DataError, unknown  # noqa: E402
from bmx_grid.core.wording import label  # noqa: E402
from bmx_grid.evaluations.verdicts import (  # noqa: E402
    CONFOUNDED,
    HELPS,
    HURTS,
    INFORMATIVE,
    NO_GAIN,
    OPEN,
    REDUNDANT,
    TOO_LITTLE,
)
from bmx_grid.report.canvas import (  # noqa: E402
    BLUE,
    FAINT,
    INK,
    ORANGE,
    PAGE,
    PAPER,
    canvas,
    legend_above,
    name_rows,
    no_change_line,
    style,
    thin_grid,
)

BOOSTS = {"power_mean_grid": "the paper's power mean", "learned": "learned (ridge)"}
FRAMES = {"gain": "gain in r over the metric alone", "partial r": "partial r, given score, length and text"}
# How a verdict is marked: filled, half filled or hollow (in the colour of the paper, which hides the line below).
MARKS: dict[str, dict[str, Any]] = {
    HELPS: {"markerfacecolor": BLUE},
    INFORMATIVE: {"markerfacecolor": BLUE, "fillstyle": "left", "markerfacecoloralt": PAPER},
    REDUNDANT: {"markerfacecolor": BLUE, "fillstyle": "bottom", "markerfacecoloralt": PAPER},
    OPEN: {"markerfacecolor": FAINT},
    CONFOUNDED: {"markerfacecolor": FAINT, "fillstyle": "left", "markerfacecoloralt": PAPER},
    HURTS: {"markerfacecolor": ORANGE},
    NO_GAIN: {"markerfacecolor": PAPER},
    TOO_LITTLE: {"markerfacecolor": PAPER, "markeredgecolor": FAINT},
}
INTERVAL = re.compile(r"(\S+) \[(\S+), (\S+)\]")


@dataclass(frozen=True)
class Row:
    """A boost of a metric. numbers: by the names of FRAMES the estimate with the ends of its interval."""

    metric: str
    boost: str
    verdict: str
    numbers: dict[str, tuple[float, ...]]


def main(arguments: list[str]) -> int:
    """Draw the figure; the exit status."""
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(arguments[0]) if arguments else ROOT / "docs" / "boosts.png"
    try:
        rows = list(read(HERE / "README.md"))
        with style():
            draw(rows).savefig(path, dpi=160, metadata={"Software": None})
    except BmxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(path)
    return 0


def read(page: Path) -> Iterator[Row]:
    """The rows of BOOSTS in the first table below "## WMT17", of each the largest gain first. Raises DataError."""
    section = page.read_text(encoding="utf-8").partition("\n## WMT17\n")[2]
    lines = [line for line in section.partition("\n\n| metric | length |")[0].splitlines() if line.startswith("| ")]
    if not lines:
        raise DataError(f'{page}: no table below "## WMT17".')
    header, *body = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    rows = []
    for cells in body:
        row = dict(zip(header, cells, strict=True))
        numbers = {name: _interval(row[name]) for name in FRAMES}
        rows.append(Row(row["metric"], row["boost"], row["verdict"], numbers))
    rows.sort(key=lambda row: -row.numbers["gain"][0])
    for boost in BOOSTS:
        yield from (row for row in rows if row.boost == boost)


def _interval(text: str) -> tuple[float, ...]:
    found = INTERVAL.fullmatch(text.replace("−", "-"))
    if found is None:
        raise DataError(f"README.md: '{text}' is no number with an interval, such as +0.01 [-0.01, +0.03].")
    return tuple(float(part) for part in found.groups())


def draw(rows: list[Row]) -> Any:
    """A line per row in two frames of one scale, with a legend of the verdicts."""
    figure, frames = canvas(PAGE, 0.75 + 0.22 * len(rows), columns=2)
    for axes, name in zip(frames, FRAMES, strict=True):
        for place, row in enumerate(rows):
            value, low, high = row.numbers[name]
            axes.plot([low, high], [-place, -place], color=BLUE, linewidth=1.3, zorder=2)
            axes.plot([value], [-place], zorder=3, linestyle="none", **_mark(row.verdict))
        name_rows(axes, [f"{label(row.metric)}, {BOOSTS[row.boost]}" for row in rows])
        axes.tick_params(axis="y", labelleft=name == "gain")
        axes.axhline(0.5 - len(rows) / len(BOOSTS), color=FAINT, linewidth=0.8)
        axes.set_xlabel(FRAMES[name])
        thin_grid(axes, "x")
        no_change_line(axes)
    found = {row.verdict for row in rows}
    shown = [verdict for verdict in MARKS if verdict in found]
    for verdict in shown:
        frames[0].plot([], [], linestyle="none", label=verdict, **_mark(verdict))
    legend_above(figure, ncols=len(shown), columnspacing=1.4)
    return figure


def _mark(verdict: str) -> dict[str, Any]:
    """How a verdict looks. Raises DataError for one that has no mark."""
    if verdict not in MARKS:
        raise DataError(unknown("verdict", verdict, MARKS))
    return {"marker": "o", "markersize": 6, "markeredgecolor": INK, "markeredgewidth": 0.7, **MARKS[verdict]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
