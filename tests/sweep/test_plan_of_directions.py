"""Metrics whose lower scores are better are evaluated alone, and left out of settings with an explainer."""

import pytest
from fakes import composed

from bmx_grid.configure import build
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.ter import Ter
from bmx_grid.sweep.plan import make_plan


@pytest.mark.parametrize("explained", [True, False], ids=["explained", "alone"])
def test_ter_has_settings_without_an_explainer_only(tmp_path, explained):
    reader = build(composed("dataset=[sample]")["dataset"]["sample"], DatasetReader, "dataset.sample")
    plan = make_plan(
        {"sample": reader},
        {"ter": Ter(), "chrf": Chrf()},
        {"erasure": Erasure()} if explained else {},
        data_dir=tmp_path,
        cache_dir=tmp_path,
        limit=3,
        seed=0,
    )
    named = {planned.setting.metric_name for planned in plan.settings}
    assert named == ({"chrf"} if explained else {"chrf", "ter"})
    left_out = [one for one in plan.left_out if "ter" in one.label]
    assert bool(left_out) == explained
    assert all("is a metric whose lower scores are better" in one.reason for one in left_out)
