"""Metrics whose lower scores are better are evaluated alone, and left out of settings with an explainer."""

import numpy as np
import pytest
from fakes import composed

from bmx_grid.core.configure import build
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.judgements import Judgements
from bmx_grid.datasets.segments import Segment, SegmentSet
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.words import Ter
from bmx_grid.report.terminal import cautions
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
    named = {setting.metric_name for setting in plan.settings}
    assert named == ({"chrf"} if explained else {"chrf", "ter"})
    left_out = [one for one in plan.left_out if "ter" in one.label]
    assert bool(left_out) == explained
    assert all(one.reason.startswith("ter is a metric whose lower scores are better") for one in left_out)


@pytest.mark.parametrize(
    ("explained", "warned"),
    [
        pytest.param(False, False, id="the system level needs no rated segment"),
        pytest.param(True, True, id="a grid needs them"),
    ],
)
def test_systems_rated_as_a_whole_are_no_lack_of_ratings(tmp_path, explained, warned):
    class Whole(DatasetReader):
        PAIRS = ("de-en",)

        def needs(self, language_pair):
            return []

        def read(self, data_dir, language_pair):
            segments = tuple(
                Segment(str(at), f"s{at}", f"r{at}", f"h{at}", system) for at in range(4) for system in "ab"
            )
            judged = Judgements({"da": np.full(8, np.nan)}, systems={"da": {"a": 0.1, "b": 0.2}})
            return SegmentSet(self.name, language_pair, segments, judged, "here", all_systems=("a", "b"))

    plan = make_plan(
        {"whole": Whole(name="whole", language_pairs=("de-en",))},
        {"chrf": Chrf()},
        {"erasure": Erasure()} if explained else {},
        data_dir=tmp_path,
        cache_dir=tmp_path,
        limit=None,
        seed=0,
    )
    assert plan.settings
    assert any("0 rated segments" in line for line in cautions(plan)) == warned
