"""The page of one setting, as MLflow's artifacts show it."""

import base64
import io
import re
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.image import imread
from some_results import make_result, with_grid, without_point

from bmx_grid.report import setting_page as page_of
from bmx_grid.report.setting_page import DOWN, UNDEFINED, UP, setting_page


@pytest.fixture(autouse=True)
def no_examples(monkeypatch):
    """Segments with their words need a store; the page of a sweep tests them."""
    monkeypatch.setattr(page_of, "movers", lambda result, setting: [])


def pixels(page):
    """uint8[W, P, 3] of the page's picture."""
    (text,) = re.findall(r"data:image/png;base64,([^\"]+)", page)
    return np.rint(imread(io.BytesIO(base64.b64decode(text)))[..., :3] * 255).astype(int)


def test_each_point_is_a_pixel_by_its_gain():
    result = make_result()
    correlation = np.full_like(result.grid.correlation, 0.5)
    correlation[0, 0], correlation[-1, 1], correlation[3, 0] = 0.7, 0.3, np.nan
    result = with_grid(result, correlation=correlation)
    page = setting_page(result, SimpleNamespace())
    shown = pixels(page)
    assert shown.shape == (3, 60, 3)
    # w = 0 is the lowest row, the smallest p on the left; the largest gain and loss have the full colour.
    assert tuple(shown[2, 0]) == UP and tuple(shown[1, -1]) == DOWN and tuple(shown[2, 3]) == UNDEFINED
    assert (shown[0] == 255).all(), "the metric alone gains nothing"
    assert "full colour is 0.2000" in page and "Metric alone 0.5000" in page
    assert "p from −3 (left) to 2.9, w from 0 (bottom) to 1" in page


def test_names_are_escaped_and_nothing_is_loaded():
    page = setting_page(make_result(dataset="<script>alert(1)</script>"), SimpleNamespace())
    assert "<script" not in page and "://" not in page


def test_without_a_grid_there_is_no_page():
    nothing = with_grid(without_point(make_result()), correlation=np.empty((0, 1)))
    assert setting_page(nothing, SimpleNamespace()) == ""
