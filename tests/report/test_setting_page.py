"""The page of one setting, as MLflow's artifacts show it."""

import base64
import io
import re

import numpy as np
import pytest
from matplotlib.image import imread
from some_results import make_result, with_grid, without_point

from bmx_grid.report import setting_page as page_of
from bmx_grid.report.maps import COLUMNS, DOWN, UNDEFINED, UP
from bmx_grid.report.setting_page import setting_page


@pytest.fixture(autouse=True)
def no_examples(monkeypatch):
    """Segments with their words need a store; the page of a sweep tests them."""
    monkeypatch.setattr(page_of, "movers", lambda result: [])


def pixels(page):
    """int[W, COLUMNS, 4] of the page's picture."""
    (text,) = re.findall(r"data:image/png;base64,([^\"]+)", page)
    return np.rint(imread(io.BytesIO(base64.b64decode(text))) * 255).astype(int)


def test_each_point_has_its_colour_by_its_gain():
    result = make_result()
    correlation = np.full_like(result.grid.correlation, 0.5)
    correlation[0, 0], correlation[-1, 1], correlation[1, 0], correlation[-1, 0] = 0.7, 0.3, np.nan, 0.5025
    result = with_grid(result, correlation=correlation, best=0.7, best_p=-3.0, best_w=0.0)
    page = setting_page(result)
    shown = pixels(page)
    assert shown.shape == (3, COLUMNS, 4)
    # w = 0 is the lowest row, the smallest p on the left; gains from 0.05 on have the full colour.
    assert tuple(shown[2, 0]) == (*UP, 255) and tuple(shown[1, -1]) == (*DOWN, 255)
    assert (*UNDEFINED, 255) in set(map(tuple, shown[2, :6]))
    assert tuple(shown[2, -1]) == (*UP, 13), "a twentieth of it is nearly transparent: 0.05 x 255"
    assert (shown[0, :, 3] == 0).all(), "the metric alone gains nothing"
    assert "baseline 0.500, best 0.700 (w 0, p −3)" in page and "+0.05" in page


def test_names_are_escaped_and_nothing_is_loaded():
    page = setting_page(make_result(dataset="<script>alert(1)</script>"))
    assert "<script" not in page and "://" not in page


def test_without_a_grid_there_is_no_page():
    nothing = with_grid(without_point(make_result()), correlation=np.empty((0, 1)))
    assert setting_page(nothing) == ""
