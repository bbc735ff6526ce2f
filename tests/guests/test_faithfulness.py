"""Faithfulness: by hand, of explainers that know the truth, and through a sweep with its store."""

import dataclasses
import itertools
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import some_frames
from some_settings import finished, table_rows

from bmx_grid.analysis.base import FACTORS, SweepTables
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Ragged
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet, clusters
from bmx_grid.evaluations.base import ScoredSetting
from bmx_grid.explainers.base import Explainer
from bmx_grid.guests.faithfulness import faithful_explanations
from bmx_grid.guests.faithfulness.faithfulness import MEASURES, ORDERS, FaithfulnessEvaluation
from bmx_grid.metrics.base import Metric
from bmx_grid.report.table import as_text
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.perturbation import Plan
from bmx_grid.words.segmentation import PairWords


@dataclass(frozen=True)
class Digits(Metric):
    """The sum of the digits in a hypothesis, in tenths: what a word is worth stands in it."""

    @property
    def reads(self):
        return ("hypothesis",)

    @property
    def signature(self):
        return "digits"

    def score(self, items):
        return np.array([sum(map(int, re.findall(r"\d", item.hypothesis))) / 10 for item in items])


@dataclass(frozen=True)
class Planted(Explainer):
    """Attributes to each word what it is worth, times `sign`."""

    sign: int = identity(1)

    def plan(self, words, rng):
        worth = [int(word[-1]) / 10 for word in words]
        return Plan(words, keep=np.empty((0, len(words)), dtype=bool), design=np.array(worth))

    def attribute(self, plan, scores):
        return self.sign * plan.design

    def count_texts(self, n_words):
        return 0


def setting_of(texts, attributions, words=None):
    """A setting of hypotheses with these attributions, each a cluster of its own."""
    segments = tuple(Segment(str(row), text, source=f"s{row}") for row, text in enumerate(texts))
    segment_set = SegmentSet("toy", "de-en", segments, Judgements({"da": np.arange(float(len(texts)))}))
    metric = Digits()
    items = segment_set.items(metric.reads)
    scores = AttributionSet(metric.score(items), {"hypothesis": Ragged.from_rows(attributions)})
    labels = clusters([segment_set])[0].tolist()
    segmented = {} if words is None else {"segmented": words}
    return ScoredSetting(segment_set, "digits", "planted", metric, Planted(), items, scores, labels, **segmented)


def evaluated(evaluation, setting):
    """The result with the texts scored, as a sweep does."""
    scores = setting.metric.score(evaluation.texts(setting))
    with_scores = dataclasses.replace(setting, further={evaluation.key: scores})
    (result,) = evaluation.evaluate_scope([with_scores])
    return result


def values(evaluation, result):
    return {row.measure: row.value for row in table_rows(evaluation, result, "faithfulness")}


def test_three_words_by_hand():
    """Words worth .5, .3 and .1, removed one after the other: what is lost can be written down."""
    evaluation = FaithfulnessEvaluation(steps=3, orders=600, resamples=0)
    setting = setting_of(["b3 a5 c1"], [[0.3, 0.5, 0.1]])
    texts = [item.hypothesis for item in evaluation.texts(setting)]
    assert texts[:4] == ["b3 c1", "c1", "b3 a5", "a5"], "highest first, then lowest first"
    assert len(texts) == evaluation.count_texts([3]) == 2 * 602
    result = evaluated(evaluation, setting)
    found = values(evaluation, result)
    assert found["comprehensiveness"] == pytest.approx((0.5 + 0.8) / 2)
    assert found["sufficiency"] == pytest.approx((0.1 + 0.4) / 2)
    # Of all six orders the mean loss is .3, then .6; of 600 random ones it is that within 4 standard errors.
    every_order = list(itertools.permutations([0.5, 0.3, 0.1]))
    by_hand = np.mean([(order[0] + (order[0] + order[1])) / 2 for order in every_order])
    assert by_hand == pytest.approx(0.45)
    assert found["random_removal"] == pytest.approx(by_hand, abs=0.03)
    assert found["deletion"] == pytest.approx(found["comprehensiveness"] - found["random_removal"])
    assert found["insertion"] == pytest.approx(found["random_removal"] - found["sufficiency"])
    assert found["faithfulness"] == pytest.approx(0.4 / found["random_removal"])
    curves = table_rows(evaluation, result, "faithfulness_curves")
    highest = [row.lost for row in curves if row.order == "highest first"]
    np.testing.assert_allclose(highest, [0.5, 0.8])
    assert [row.removed for row in curves if row.order == "random"] == pytest.approx([1 / 3, 2 / 3])


def test_an_area_is_the_mean_of_its_curve_and_segments_have_their_own():
    evaluation = FaithfulnessEvaluation(resamples=0)
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{digit}" for digit in rng.integers(0, 9, size)) for size in (2, 3, 5, 8, 13, 40)]
    setting = setting_of(texts, [rng.random(len(text.split())) for text in texts])
    result = evaluated(evaluation, setting)
    found = values(evaluation, result)
    curves = pd.DataFrame([vars(row) for row in table_rows(evaluation, result, "faithfulness_curves")])
    for order, measure in zip(ORDERS, MEASURES, strict=False):
        assert found[measure] == pytest.approx(curves.lost[curves.order == order].mean())
        assert found[measure] == pytest.approx(evaluation.segment_columns(result)[measure].mean())


@pytest.mark.parametrize(
    ("steps", "n_words", "sizes"),
    [
        pytest.param(10, 1, [], id="one word has no order"),
        pytest.param(10, 2, [1] * 9, id="never all words, never none"),
        pytest.param(10, 5, [1, 1, 2, 2, 3, 3, 4, 4, 4], id="halves upward"),
        pytest.param(10, 20, [2, 4, 6, 8, 10, 12, 14, 16, 18], id="tenths"),
        pytest.param(2, 7, [4], id="half of seven"),
    ],
)
def test_so_many_words_are_removed(steps, n_words, sizes):
    evaluation = FaithfulnessEvaluation(steps=steps)
    assert evaluation._sizes(n_words).tolist() == sizes
    assert evaluation.count_texts([n_words]) == len(set(sizes)) * 7


def planted(sign, n=60):
    rng = np.random.default_rng(5)
    digits = [rng.integers(0, 9, 4 + row % 12) for row in range(n)]
    attributions = [sign * row / 10 for row in digits]
    if sign == 0:
        attributions = [rng.random(len(row)) for row in digits]
    return setting_of([" ".join(f"w{digit}" for digit in row) for row in digits], attributions)


def test_the_truth_is_faithful_the_reverse_is_its_opposite_and_chance_is_neither():
    evaluation = FaithfulnessEvaluation(resamples=400)
    (truth, reverse, chance) = (
        {row.measure: row for row in table_rows(evaluation, evaluated(evaluation, planted(sign)), "faithfulness")}
        for sign in (1, -1, 0)
    )
    assert truth["deletion"].low > 0 and truth["insertion"].low > 0 and truth["faithfulness"].low > 0.5
    assert reverse["deletion"].high < 0 and reverse["insertion"].high < 0
    # Equal digits are removed in a random order, which changes nothing: their words are worth the same.
    assert reverse["faithfulness"].value == pytest.approx(-truth["faithfulness"].value)
    assert reverse["random_removal"].value == truth["random_removal"].value, "the same random orders for all explainers"
    assert chance["faithfulness"].low < 0 < chance["faithfulness"].high


def test_a_segment_has_the_same_texts_alone():
    evaluation = FaithfulnessEvaluation()
    texts = ["a1 b2 c3 d4", "e5 f6 g7 h8 i9"]
    attributions = [[0.1, 0.2, 0.2, 0.4], [0.1] * 5]
    both = evaluation.texts(setting_of(texts, attributions))
    alone = evaluation.texts(setting_of(texts[1:], attributions[1:]))
    assert list(both)[-len(alone) :] == list(alone)
    other_seed = FaithfulnessEvaluation(seed=1).texts(setting_of(texts[1:], attributions[1:]))
    assert set(other_seed) != set(alone)


def test_what_has_no_order_is_left_out_and_counted():
    """One word, no words, an attribution that is not known, and an explanation of other words."""
    evaluation = FaithfulnessEvaluation(steps=2, orders=1, resamples=0)
    attributions = [[0.1, 0.2], [0.3], [], [0.1, np.nan], [0.1], [0.5, 0.2, 0.1]]
    setting = setting_of(["a1 b2", "c3", "", "d4 e5", "f6 g7", "h8 i9 j1"], attributions)
    assert len(evaluation.texts(setting)) == 2 * 3
    result = evaluated(evaluation, setting)
    rows = table_rows(evaluation, result, "faithfulness")
    assert {(row.n_segments, row.n_left_out) for row in rows} == {(2, 4)}
    lost = evaluation.segment_columns(result)["comprehensiveness"]
    np.testing.assert_array_equal(np.isnan(lost), [False, True, True, True, True, False])


def test_texts_without_spaces_keep_their_gaps():
    words = PairWords("unicode", "characters")
    setting = setting_of(["猫1犬2 鳥3"], [[0.1] * len(words.words("hypothesis", "猫1犬2 鳥3"))], words)
    texts = {item.hypothesis for item in FaithfulnessEvaluation(steps=2, orders=1).texts(setting)}
    assert all(set(text) <= set("猫1犬2 鳥3") for text in texts)
    assert not any("  " in text or "1 2" in text for text in texts), "no space where the text has none"


def test_a_score_that_rises_as_words_are_removed_has_no_share():
    class Falling(Digits):
        def score(self, items):
            return -super().score(items)

    setting = dataclasses.replace(planted(1), metric=Falling())
    setting = dataclasses.replace(
        setting, scores=dataclasses.replace(setting.scores, base_scores=setting.metric.score(setting.items))
    )
    evaluation = FaithfulnessEvaluation(resamples=40)
    found = values(evaluation, evaluated(evaluation, setting))
    assert np.isnan(found["faithfulness"]) and found["random_removal"] < 0 and np.isfinite(found["deletion"])


def test_without_scores_of_texts_there_are_no_rows():
    evaluation = FaithfulnessEvaluation()
    (result,) = evaluation.evaluate_scope([finished()])
    assert not table_rows(evaluation, result, "faithfulness") and not evaluation.segment_columns(result)
    assert "no explainer" in evaluation.inapplicable(2, 0, [])


def row_of(pair, explainer, measure, value):
    names = dict(zip(FACTORS, ("toy", pair, "m", explainer), strict=True))
    return {**names, "measure": measure, "value": value, "low": value, "high": value, "n_segments": 9, "n_left_out": 0}


def test_the_table_has_the_most_faithful_explainer_first():
    pairs = ["de-en", "fi-en", "lv-en"]
    shares = {"b": [0.1, 0.2, 0.3], "a": [0.9, 1.0, 1.1]}
    rows = []
    for explainer, of_pairs in shares.items():
        for pair, share in zip(pairs, of_pairs, strict=True):
            rows += [row_of(pair, explainer, name, share) for name in MEASURES]
    result = faithful_explanations.compute(SweepTables({"faithfulness": pd.DataFrame(rows)}))
    means, by_setting = faithful_explanations.tables(result)
    frame = means.frame()
    assert frame["explainer"].tolist() == ["a", "b"] and frame["faithfulness"].tolist() == pytest.approx([1.0, 0.2])
    assert len(by_setting.rows) == 6
    assert re.search(r"explainer +faithfulness\n", as_text(means, 40)), "the narrowest terminal shows the main measure"
    assert not list(faithful_explanations.figures(result)), "without gains there is nothing to compare"
    # A sentence and a figure need gains: here those of verdicts, which fall as faithfulness rises.
    falling = []
    for explainer, of_pairs in shares.items():
        for pair, share in zip(pairs, of_pairs, strict=True):
            names = dict(zip(FACTORS, ("toy", pair, "m", explainer), strict=True))
            falling.append({**names, "gain": -share, "pairs": 1})
    verdicts = some_frames.verdicts(*falling)
    with_gains = faithful_explanations.compute(SweepTables({"faithfulness": pd.DataFrame(rows), "verdicts": verdicts}))
    relation = with_gains["faithfulness_relation"]
    assert (relation.n, relation.clusters, relation.rho) == (6, 3, pytest.approx(-1))
    (figure,) = faithful_explanations.figures(with_gains)
    assert figure.y_label == "held-out gain" and set(figure.points) == {"a", "b"}
    assert "over 6 settings in 3 language pairs" in figure.caption
    nothing = faithful_explanations.compute(SweepTables({}))
    assert not list(faithful_explanations.tables(nothing))
