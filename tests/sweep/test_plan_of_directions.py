"""What a plan makes of metrics whose lower scores are better, systems rated as a whole, and readers that raise."""

import numpy as np
import pytest
from fakes import composed

from bmx_grid.core.configure import build
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.words import Ter
from bmx_grid.report.terminal_lines import cautions
from bmx_grid.sweep.plan import make_plan
from bmx_grid.sweep.settings import PlanOptions


def planned(folder, reader, metrics, *, explained):
    explainers = {"erasure": Erasure()} if explained else {}
    options = PlanOptions(data_dir=folder, cache_dir=folder, limit=3)
    return make_plan({reader.name: reader}, metrics, explainers, options)


@pytest.mark.parametrize("explained", [True, False], ids=["explained", "alone"])
def test_ter_has_settings_without_an_explainer_only(tmp_path, explained):
    reader = build(composed("dataset=[sample]")["dataset"]["sample"], DatasetReader, "dataset.sample")
    plan = planned(tmp_path, reader, {"ter": Ter(), "chrf": Chrf()}, explained=explained)
    assert {setting.metric_name for setting in plan.settings} == ({"chrf"} if explained else {"chrf", "ter"})
    left_out = [refused for refused in plan.left_out if "ter" in refused.label]
    assert bool(left_out) == explained
    assert all(refused.reason.startswith("ter is a metric whose lower scores are better") for refused in left_out)


class Whole(DatasetReader):
    """Systems that are rated as a whole."""

    PAIRS = ("de-en",)

    def needs(self, language_pair):
        return []

    def load_segments(self, data_dir, language_pair):
        segments = tuple(Segment(str(n), f"s{n}", f"r{n}", f"h{n}", system) for n in range(4) for system in "ab")
        judged = Judgements({"da": np.full(8, np.nan)}, systems={"da": {"a": 0.1, "b": 0.2}})
        return SegmentSet(self.name, language_pair, segments, judged, "here", all_systems=("a", "b"))


@pytest.mark.parametrize("explained", [False, True], ids=["the system level needs no rated segment", "a grid does"])
def test_systems_rated_as_a_whole_are_no_lack_of_ratings(tmp_path, explained):
    plan = planned(tmp_path, Whole(name="whole", language_pairs=("de-en",)), {"chrf": Chrf()}, explained=explained)
    assert plan.settings
    assert any("0 rated segments" in line for line in cautions(plan)) == explained


@pytest.mark.parametrize(
    "error", [ValueError("odd"), GeneratorExit(), SystemExit(3)], ids=lambda error: type(error).__name__
)
@pytest.mark.parametrize("where", ["pairs", "load_segments"])
def test_a_reader_of_ones_own_that_raises_fails_its_data_set_alone(tmp_path, error, where):
    class Raises(Whole):
        pass

    def raising(self, *arguments):
        raise error

    setattr(Raises, where, raising)
    plan = planned(tmp_path, Raises(name="mine", language_pairs=("de-en",)), {"chrf": Chrf()}, explained=False)
    (refused,) = plan.failures
    assert not plan.settings and refused.label.startswith("mine")
    assert refused.reason.startswith(type(error).__name__)
