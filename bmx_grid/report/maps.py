"""Heat maps for pages: the gain at every point of a grid as a small image, p stretched around 0, with points marked.

They need no script. A page's script shows the gain of the point under the cursor, from `pack_gains`.
"""

from __future__ import annotations

import base64
import io
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis.base import FACTORS, each_row
from bmx_grid.analysis.gains import settings_at_points
from bmx_grid.analysis.questions import Analysis
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import MINUS, display_name, escape_unprintable, point_in_words, setting_label, typeset_number
from bmx_grid.evaluations.boost_evidence import ELSEWHERE, PUBLISHED
from bmx_grid.evaluations.grid_surface import PointRow
from bmx_grid.report.canvas import BEST

if TYPE_CHECKING:
    import pandas as pd

UP, DOWN, UNDEFINED = (0, 96, 168), (222, 120, 0), (128, 128, 128)  # red, green, blue: as in page.css
LEAST, MOST = 0.01, 0.05  # limits of the gain at full colour, against noise and single large gains
COLUMNS = 120  # pixels across
TICKS = (-100, -30, -10, -3, -1, 0, 1, 3, 10, 30, 100)  # powers
APART = 0.09  # of the width, between the numbers below a map
BESIDE = 0.5  # of an infinite power, from the largest finite one
UNITS = 10_000  # per gain of 1: a page shows four decimals
NO_GAIN = -32_768


@dataclass(frozen=True, eq=False)
class MapScale:
    """The places of a grid's points on its maps. p: float64[P]; w: float64[W]; largest: the gain to be seen."""

    p: Floats
    w: Floats
    largest: float

    @property
    def limit(self) -> float:
        """The gain of full colour. NaN is not above LEAST."""
        return min(max(LEAST, self.largest), MOST)

    @cached_property
    def places(self) -> Floats:
        """float64[P] from 0, at the left, to 1: evenly in arsinh(p), which is p near 0 and its logarithm far away."""
        places = np.arcsinh(self.p)
        finite = places[np.isfinite(places)]
        places = places.clip(finite.min(initial=0) - BESIDE, finite.max(initial=0) + BESIDE)
        width = places[-1] - places[0]
        return np.asarray((places - places[0]) / width if width > 0 else places * 0 + 0.5)

    @cached_property
    def columns(self) -> Any:
        """int64[COLUMNS] the power that each column of pixels shows, which is the nearest."""
        middles = (self.places[1:] + self.places[:-1]) / 2
        return np.searchsorted(middles, (np.arange(COLUMNS) + 0.5) / COLUMNS)

    @property
    def powers(self) -> list[tuple[float, str]]:
        """Places of the ends and of round powers, with their numbers; none hides another."""
        wanted = [int(np.abs(self.p - tick).argmin()) for tick in TICKS if self.p[0] < tick < self.p[-1]]
        shown = [0, len(self.p) - 1]
        for power in wanted:
            if np.abs(self.places[shown] - self.places[power]).min() > APART:
                shown.append(power)
        return [(float(self.places[power]), typeset_number(self.p[power])) for power in sorted(set(shown))]

    def place(self, w: float, p: float) -> tuple[float, float] | None:
        """The place of a point, across and from the top; None for the baseline, and outside the grid."""
        row = np.flatnonzero(self.w == w)
        power = np.flatnonzero(self.p == p)
        if w == 1 or not len(row) or not len(power):
            return None
        return float(self.places[power[0]]), 1 - (int(row[0]) + 0.5) / len(self.w)

    def pixels(self, gains: Floats) -> Any:
        """uint8[W, COLUMNS, 4] the colours of gains float64[P, W], w upwards; small ones let the paper through."""
        shown = gains[self.columns].T[::-1]
        defined = np.isfinite(shown)
        colour = np.where(shown[..., None] > 0, UP, DOWN)
        colour = np.where(defined[..., None], colour, UNDEFINED)
        share = np.where(defined, np.minimum(np.abs(shown) / self.limit, 1.0), 1.0)
        opacity = np.rint(255 * share)[..., None]
        return np.concatenate([colour, opacity], axis=-1).astype(np.uint8)


def png(pixels: Any) -> str:
    """An image as base64."""
    from matplotlib.image import imsave

    file = io.BytesIO()
    imsave(file, pixels, format="png")
    return base64.b64encode(file.getvalue()).decode("ascii")


def scale_of(analysis: Analysis) -> MapScale:
    """One scale for the maps of all settings. A control gains by chance: it does not count."""
    settings = analysis.compute_once(settings_at_points)
    largest = settings["gain"].mask(settings["control"]).max()
    return MapScale(analysis.table.p, analysis.table.w, float(largest))


def map_of(scale: MapScale, name: str, gains: Floats, baseline: float, best: Any, points: Mapping[str, Any]) -> Any:
    """A grid on a page: name, numbers, pixels, and the kinds and places of its marks.

    gains: float64[P, W]; best: w, p and correlation; points: w and p of the point "published" and of the one chosen
    "elsewhere", if defined.
    """
    places = {BEST: scale.place(*best[:2])}
    places |= {kind: scale.place(*point) for kind, point in points.items()}
    point = point_in_words(*best[:2]).replace("-", MINUS)
    return {
        "name": escape_unprintable(name),
        "words": f"baseline {typeset_number(baseline, '.3f')}, best {typeset_number(best[2], '.3f')} ({point})",
        "pixels": scale.pixels(gains),
        "marks": [(kind, place) for kind, place in places.items() if place is not None],
    }


def points_elsewhere(analysis: Analysis) -> pd.DataFrame:
    """The point of each setting that was chosen on other language pairs, by its names; w = 1 is not one."""
    points = analysis.frame("points", PointRow)
    is_chosen = (points["point"] == ELSEWHERE) & (points["w"] < 1)
    return points[is_chosen].drop_duplicates([*FACTORS]).set_index([*FACTORS])


def maps_of(analysis: Analysis, scale: MapScale) -> Iterator[dict[str, Any]]:
    """The maps of all settings, controls last, with their rows in the table; what all share is no part of a name."""
    table = analysis.table
    settings = analysis.compute_once(settings_at_points)
    differing = [place for place, factor in enumerate(FACTORS) if len(table.factor_levels(factor)) > 1] or [3]
    chosen = points_elsewhere(analysis)
    for setting in each_row(settings.sort_values("control", kind="stable")):
        names = table.settings[setting.Index]
        marked = {PUBLISHED: (setting.fixed_w, setting.fixed_p)}
        if names in chosen.index:
            marked[ELSEWHERE] = (chosen.at[names, "w"], chosen.at[names, "p"])
        name = setting_label(*[display_name(names[place]) for place in differing])
        best = (setting.best_w, setting.best_p, setting.best)
        parts = map_of(scale, name, table.gains[setting.Index], setting.baseline, best, marked)
        yield {**parts, "row": setting.Index}


def pack_gains(analysis: Analysis, scale: MapScale) -> dict[str, Any]:
    """Data from which the page's script shows gains of points: p and w as texts, columns, and a row for each setting.

    settings: the baseline, and the gains int16[W, P] in UNITS, NO_GAIN if undefined, deflated, as base64.
    """
    units = np.nan_to_num(np.rint(analysis.table.gains * UNITS), nan=NO_GAIN)
    gains = units.transpose(0, 2, 1).astype("<i2")
    settings = []
    for baseline, gains_of_setting in zip(analysis.table.baseline.tolist(), gains, strict=True):
        deflated = zlib.compress(gains_of_setting.tobytes(), 9)
        # JSON has no NaN.
        settings.append([baseline if math.isfinite(baseline) else None, base64.b64encode(deflated).decode("ascii")])
    return {
        "p": list(map(typeset_number, analysis.table.p.tolist())),
        "w": list(map(typeset_number, analysis.table.w.tolist())),
        "columns": scale.columns.tolist(),
        "settings": settings,
    }
