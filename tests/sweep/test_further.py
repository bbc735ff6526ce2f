"""Texts that evaluations want scored: counted before the sweep, scored once, kept in the store."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
import pytest
from fakes import BrokenMetric, HashMetric

from bmx_grid.core.errors import ConfigError
from bmx_grid.datasets.tabular import Sample
from bmx_grid.evaluations.base import Evaluation
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.explainers.random import Random
from bmx_grid.guests.faithfulness.faithfulness import FaithfulnessEvaluation
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.random_scores import RandomMetric
from bmx_grid.report.terminal_lines import announcement, plan_table
from bmx_grid.sweep.executors.local import Loky, Sequential
from bmx_grid.sweep.further import add_further_texts, score_further
from bmx_grid.sweep.judge import SettingResult, judge_sweep
from bmx_grid.sweep.plan import make_plan
from bmx_grid.sweep.scoring import run_plan
from bmx_grid.sweep.settings import PlanOptions

LIMIT = 6
FAITHFULNESS = FaithfulnessEvaluation(steps=4, orders=2, resamples=40)
EVALUATIONS = {"faithfulness": FAITHFULNESS}
EXPLAINERS = {"erasure": Erasure(sides="hypothesis"), "random": Random(sides="hypothesis")}


@dataclasses.dataclass(frozen=True)
class Row:
    n: int


class Breaking(Evaluation):
    """Wants the first segment with a word that a metric in this test cannot read."""

    ROWS: ClassVar = {"breaking": Row}

    def count_texts(self, n_words):
        return 1

    def texts(self, setting):
        return [setting.items[0].replace_text("hypothesis", "unreadable")]

    def evaluate_scope(self, settings):
        return [{"breaking": [Row(len(settings[0].further.get(self.key, ())))]}]


class Picky(HashMetric):
    def score(self, items):
        if any(item.hypothesis == "unreadable" for item in items):
            raise ValueError("unreadable")
        return super().score(items)


@pytest.fixture
def swept(tmp_path):
    """Plans and runs a sweep in one folder; what came of it, and how many texts the second phase scored."""

    def sweep(metrics, evaluations=EVALUATIONS, executor=None, explainers=EXPLAINERS):
        executor = executor or Sequential(chunk_texts=20)
        scope = PlanOptions(data_dir=tmp_path, cache_dir=tmp_path / "cache", limit=LIMIT)
        data = {"sample": Sample(name="sample", language_pairs=("de-en",))}
        plan = add_further_texts(make_plan(data, metrics, explainers, scope), evaluations, scope.cache_dir)
        options = {"executor": executor, "stop_on_error": False, "progress": lambda n_texts: None}
        ended = [result for result in run_plan(plan, evaluations, **options) if isinstance(result, SettingResult)]
        scored: list[int] = []
        ended, failed = score_further(
            ended, plan, evaluations, scope.cache_dir, executor=executor, progress=scored.append
        )
        results, not_judged = judge_sweep(ended, evaluations)
        return plan, results, [*failed, *not_judged], sum(scored)

    return sweep


def test_no_more_texts_are_scored_than_the_plan_said_and_none_twice(swept):
    plan, results, failed, n_scored = swept({"chrf": Chrf()})
    assert not failed and len(results) == 2
    (of_erasure, of_random) = plan.further
    assert (
        of_erasure.n_texts
        == of_random.n_texts
        == FAITHFULNESS.count_texts(
            [len(segment.hypothesis.split(" ")) for segment in plan.settings[0].segments.segments]
        )
    )
    # Random removal is the same for both explainers: half of what both have.
    assert 0 < n_scored <= plan.n_further * 6 / 8
    lines, _ = announcement("name", plan, ())
    assert f"evaluation faithfulness: at most {plan.n_further:,} further texts to score" in lines
    assert f"evaluation faithfulness: at most {plan.n_further:,} further texts" in plan_table(
        plan, EVALUATIONS, None, {}
    )
    assert plan.costs() == {"chrf": f"{plan.n_texts + plan.n_further:,}"}
    again, results_again, _, n_again = swept({"chrf": Chrf()})
    assert again.n_further == n_again == 0
    for first, second in zip(results, results_again, strict=True):
        columns = [FAITHFULNESS.columns(result.evaluated["faithfulness"])["faithfulness"] for result in (first, second)]
        assert columns[0]["value"] == columns[1]["value"] and len(columns[0]["value"]) == 6


def test_scores_are_those_of_the_metric_alone(swept):
    _, results, _, _ = swept({"chrf": Chrf()})
    for result in results:
        expected = Chrf().score(FAITHFULNESS.texts(result.finished))
        np.testing.assert_allclose(result.finished.further["faithfulness"], expected, atol=1e-12)


def test_other_processes_score_the_same(swept, tmp_path):
    _, here, _, _ = swept({"chrf": Chrf()})
    for part in (tmp_path / "cache").rglob("*.parquet"):
        part.unlink()
    _, there, failed, n_scored = swept({"chrf": Chrf()}, executor=Loky(n_jobs=2, devices=(), chunk_texts=50))
    assert not failed and n_scored > 50
    for left, right in zip(here, there, strict=True):
        np.testing.assert_array_equal(left.finished.further["faithfulness"], right.finished.further["faithfulness"])


def test_one_metric_that_fails_leaves_the_others(swept):
    both = {"breaking": Breaking(), **EVALUATIONS}
    _, results, failed, _ = swept({"picky": Picky(), "hash": HashMetric(salt=1)}, both)
    (reason,) = failed
    assert "picky" in reason.label and "further texts" in reason.label and "unreadable" in reason.reason
    rows = {result.metric: result.evaluated["breaking"]["breaking"][0].n for result in results}
    assert rows == {"picky": 0, "hash": 1}
    faithful = {result.metric: bool(result.evaluated["faithfulness"]) for result in results}
    assert faithful == {"picky": False, "hash": True}


def test_what_was_scored_before_a_failure_is_kept(swept):
    """The fifth call of the metric, in the second phase, fails: the chunks before it are in the store."""
    calls: list[int] = []

    class Failing(HashMetric):
        def score(self, items):
            calls.append(len(items))
            if len(calls) == 5:
                raise ValueError("out of memory")
            return super().score(items)

    only_random = {"random": EXPLAINERS["random"]}
    first, _, failed, n_before = swept({"failing": Failing()}, explainers=only_random)
    assert len(failed) == 1 and 0 < n_before < first.n_further
    second, _, failed, n_after = swept({"failing": Failing()}, explainers=only_random)
    assert not failed and n_after == second.n_further > 0
    # Texts that segments share are counted once where they are known.
    assert n_before + n_after <= first.n_further


def test_metrics_alone_and_failed_settings_want_nothing(swept):
    plan, results, failed, n_scored = swept({"chrf": Chrf()}, explainers={})
    assert plan.n_further == n_scored == 0 and not failed and len(results) == 1
    plan, results, failed, n_scored = swept({"broken": BrokenMetric(), "random": RandomMetric()})
    assert {result.metric for result in results} == {"random"} and not failed


def test_what_they_cost_counts_before_anything_is_scored(swept):
    class Costly(HashMetric):
        def budget(self, n_texts, n_characters):
            if n_texts > 50:
                raise ConfigError(f"{n_texts} texts are too many")
            return ""

    with pytest.raises(ConfigError, match="texts are too many"):
        swept({"costly": Costly()}, explainers={"random": EXPLAINERS["random"]})
    _, results, _, _ = swept({"costly": Costly()}, {}, explainers={"random": EXPLAINERS["random"]})
    assert len(results) == 1
