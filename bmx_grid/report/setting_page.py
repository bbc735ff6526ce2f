"""The page of one setting: the heat map of its grid, and two segments with the attributions of their words."""

from __future__ import annotations

import base64
import io

import numpy as np

from bmx_grid.analysis.examples import movers
from bmx_grid.core.wording import setting_in_words, typeset
from bmx_grid.report.html import HERE, environment, example_parts, printable
from bmx_grid.sweep.judge import SettingResult
from bmx_grid.sweep.settings import Setting

UP, DOWN, UNDEFINED = (0, 96, 168), (222, 120, 0), (128, 128, 128)  # red, green, blue: as in report.css
LEAST = 0.01  # full colour stands for at least this gain, so that noise does not fill the map


def setting_page(result: SettingResult, setting: Setting) -> str:
    """The page as HTML, which needs no other file and no network; "" without a grid."""
    if result.spec is None or not result.has_grid:
        return ""
    image, largest = _map(result)
    powers, weights = result.spec.p, result.spec.w
    caption = (
        f"Gain in {result.correlation} at each point, in-sample: p from {typeset(powers[0])} (left) to "
        f"{typeset(powers[-1])}, w from {typeset(weights[0])} (bottom) to {typeset(weights[-1])}. Blue gains, orange "
        f"loses, full colour is {typeset(largest, '.4f')}. Metric alone {typeset(result.grid.baseline, '.4f')}."
    )
    template = environment().get_template("setting.html.jinja")
    page = template.render(
        title=setting_in_words(result.names),
        style=(HERE / "report.css").read_text(encoding="utf-8"),
        map=image,
        caption=caption,
        examples=[example_parts(example) for example in movers(result, setting)],
    )
    return printable(page)


def _map(result: SettingResult) -> tuple[str, float]:
    """A PNG with one pixel for each point, as base64, and the gain that full colour stands for."""
    from matplotlib.image import imsave

    gains = result.grid.correlation.T[::-1] - result.grid.baseline
    defined = np.isfinite(gains)
    largest = max(LEAST, float(np.abs(gains[defined]).max(initial=0.0))) if defined.any() else LEAST
    share = np.where(defined, np.minimum(np.abs(gains) / largest, 1.0), 1.0)[..., None]
    colour = np.where(gains[..., None] > 0, UP, DOWN)
    colour = np.where(defined[..., None], colour, UNDEFINED)
    pixels = np.rint(255 + share * (colour - 255)).astype(np.uint8)
    file = io.BytesIO()
    imsave(file, pixels, format="png")
    return base64.b64encode(file.getvalue()).decode("ascii"), largest
