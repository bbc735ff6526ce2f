"""The figures of docs/gallery, from a finished sweep of quickstart.

python docs/site/gallery.py outputs/quickstart [FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import bmx_grid as bmx
from bmx_grid.report.analysis_files import further_figures, page_figures
from bmx_grid.report.canvas import save

GALLERY = Path(__file__).parents[1] / "gallery"
STEMS = ("boosts", "gains_with_intervals_lime", "best_w_and_p_by_explainer")
DPI = 160


def draw(run: bmx.Run, folder: Path) -> None:
    """Write every figure of the gallery to a folder."""
    for drawing in (*page_figures(run.analysis), *further_figures(run.analysis)):
        if drawing.stem in STEMS:
            save(drawing, folder)
    run.plot("de-en", "chrf", "lime").savefig(folder / "curve.png", dpi=DPI)
    run.plot(metric="chrf", kind="heatmap").savefig(folder / "maps.png", dpi=DPI)


def main(arguments: Sequence[str]) -> None:
    """Draw the gallery of the sweep that the arguments name."""
    sweep, *target = map(Path, arguments)
    draw(bmx.Run(sweep), target[0] if target else GALLERY)


if __name__ == "__main__":
    main(sys.argv[1:])
