"""What is said before a sweep runs: which numbers will be undefined, and what to do."""

import numpy as np
import pytest

from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.judgements import Judgements
from bmx_grid.datasets.segments import Segment, SegmentSet
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.report.terminal import cautions
from bmx_grid.sweep.plan import make_plan

NAN = np.nan


def said(tmp_path, human, sources, pairs=("de-en",)):
    """The cautions of a metric alone on segments with these human scores and sources."""

    class Given(DatasetReader):
        def pairs(self, data_dir):
            return pairs

        def needs(self, language_pair):
            return []

        def read(self, data_dir, language_pair):
            segments = tuple(
                Segment(str(at), f"{language_pair} {source}", f"{language_pair} the same as {source}", f"h{at}")
                for at, source in enumerate(sources)
            )
            return SegmentSet(self.name, language_pair, segments, Judgements({"da": np.array(human, float)}), "here")

    plan = make_plan(
        {"toy": Given(name="toy")}, {"chrf": Chrf()}, {}, data_dir=tmp_path, cache_dir=tmp_path, limit=None, seed=0
    )
    assert len(plan.settings) == len(pairs)
    return cautions(plan)


@pytest.mark.parametrize(
    ("human", "sources", "expected"),
    [
        pytest.param([1, 2, 3, 4], "abcd", (), id="nothing to say"),
        pytest.param(
            [1, 2, NAN, NAN],
            "abcd",
            ("toy · de-en has 2 rated segments; a correlation needs 3, so that it is undefined there: raise limit",),
            id="two rated",
        ),
        pytest.param(
            [0.5, 0.5, 0.5, NAN],
            "abcd",
            ("all 3 human scores of toy · de-en are 0.5; a correlation with a constant is undefined (n/a): choose",),
            id="all alike",
        ),
        pytest.param(
            [1, 2, 3, 4],
            "aabb",
            ("segments of toy · de-en are 2 clusters (those that share a source, a reference or a document count ",),
            id="two clusters",
        ),
        pytest.param(
            [1, 2, 3, NAN],
            "aaab",
            ("the rated segments of toy · de-en are 1 cluster (",),
            id="an unrated segment is no cluster",
        ),
        pytest.param([7, 7, 7, 7], "aaaa", ("all 4 human scores", "are 1 cluster"), id="both"),
    ],
)
def test_what_will_be_undefined_is_said_once(tmp_path, human, sources, expected):
    found = said(tmp_path, human, sources)
    assert len(found) == len(expected)
    for line, part in zip(found, expected, strict=True):
        assert line.startswith("warning: ")
        assert part in line
        assert line.endswith(".")


def test_of_many_parts_five_are_named(tmp_path):
    pairs = ("cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en")
    (line,) = said(tmp_path, [3, 3, 3], "abc", pairs)
    assert "ru-en are 3 and 2 more; a correlation" in line
    assert "tr-en" not in line
