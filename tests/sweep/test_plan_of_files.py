"""Scores and explanations from files are not missing and are loaded; the store keeps only what is computed."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from bmx_grid.attribution.explain import explain_items
from bmx_grid.core.errors import ComponentError, UnavailableError
from bmx_grid.core.ragged import Ragged
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.sweep.judge import judge_setting
from bmx_grid.sweep.plan import make_plan
from bmx_grid.sweep.settings import PlanOptions
from bmx_grid.words.attributions import AttributionSet

SCORES = AttributionSet(np.array([1.0, np.nan, 3.0]), {}, systems={"A": 2.0})
ATTRIBUTIONS = Ragged.from_rows([np.array([0.1, -0.2]), np.array([np.nan]), np.array([0.3])])
SPOKEN_OF = (("the", "cat"), ("cat",), ("cat",))
WORDS = AttributionSet(
    np.full(3, np.nan), {"hypothesis": ATTRIBUTIONS}, attributed={"hypothesis": SPOKEN_OF}, refused={1: "not there"}
)


class Cats(DatasetReader):
    def needs(self, language_pair):
        return []

    def load_segments(self, data_dir, language_pair):
        segments = tuple(Segment(str(n), f"s{n}", f"a cat {n}", f"the cat {n}", "A") for n in range(3))
        return SegmentSet(self.name, language_pair, segments, Judgements({"da": np.arange(3.0)}), "here")


@dataclass(frozen=True)
class ScoresOfFile(Chrf):
    def load_scores(self, segments):
        return SCORES


@dataclass(frozen=True)
class WordsOfFile(Erasure):
    def load_attributions(self, segments, words):
        return self, WORDS


def planned(folder, metric, explainer):
    options = PlanOptions(data_dir=folder, cache_dir=folder)
    explainers = {} if explainer is None else {"words": explainer}
    return make_plan({"cats": Cats(name="cats", language_pairs=("de-en",))}, {"m": metric}, explainers, options)


@pytest.mark.parametrize(
    ("metric", "explainer", "missing", "roles", "n_unexplained"),
    [
        pytest.param(Chrf(), Erasure(), (0, 1, 2), ["reference", "hypothesis"], 0, id="nothing is from a file"),
        pytest.param(ScoresOfFile(), None, (), [], 0, id="scores"),
        pytest.param(Chrf(), WordsOfFile(), (0, 1, 2), ["hypothesis"], 1, id="words"),
        pytest.param(ScoresOfFile(), WordsOfFile(), (), ["hypothesis"], 1, id="both"),
    ],
)
def test_what_is_from_a_file_is_not_missing_and_is_loaded(tmp_path, metric, explainer, missing, roles, n_unexplained):
    (setting,) = planned(tmp_path, metric, explainer).settings
    assert setting.missing == missing
    expected = SCORES.base_scores
    if missing:
        rows = explain_items(metric, setting.to_ask, setting.items, 0)
        expected = [row.base_score for row in rows]
        setting.slot.add(rows)
        assert setting.slot.missing(setting.keys) == []
    loaded = setting.load().scores
    np.testing.assert_array_equal(loaded.base_scores, expected)
    assert (list(loaded.by_role), loaded.n_unexplained) == (roles, n_unexplained)
    assert dict(loaded.attributed) == ({"hypothesis": SPOKEN_OF} if isinstance(explainer, WordsOfFile) else {})
    assert dict(loaded.systems) == ({} if missing else {"A": 2.0})
    assert list(tmp_path.rglob("*.parquet")) == ([] if not missing else list(setting.slot.parts.iterdir()))


def test_scores_of_whole_systems_only_are_no_fault_of_a_metric(tmp_path):
    (setting,) = planned(tmp_path, ScoresOfFile(), None).settings
    nothing = AttributionSet(np.full(3, np.nan), {}, systems={"A": 2.0})
    result = judge_setting(replace(setting, scores_of_file=nothing), {}, None)
    assert result.finished.scores is nothing
    setting.slot.add([replace(row, base_score=np.nan) for row in explain_items(Chrf(), None, setting.items, 0)])
    with pytest.raises(UnavailableError, match="m has no score for any of 3 segments"):
        judge_setting(replace(setting, scores_of_file=None), {}, None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (replace(SCORES, base_scores=np.zeros(2)), "expected 3 real numbers, got 2"),
        (replace(SCORES, systems={"A": None}), "expected 1 real numbers, got values of type object"),
    ],
    ids=["a score is missing", "a system has none"],
)
def test_scores_of_another_number_fail(tmp_path, monkeypatch, given, message):
    monkeypatch.setattr(ScoresOfFile, "load_scores", lambda self, segments: given)
    (failed,) = planned(tmp_path, ScoresOfFile(), None).failures
    assert failed.label == "cats · de-en · m" and message in failed.reason and isinstance(failed.error, ComponentError)
