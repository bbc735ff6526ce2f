"""Agreement among the best systems, and the difficulty of tokens, from small settings."""

import dataclasses
import math

import numpy as np
import pytest
from some_settings import table_rows

from bmx_grid.core.errors import UnavailableError
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.evaluations.base import ScoredSetting
from bmx_grid.guests.difficulty.difficulty import BINS, DifficultyEvaluation, bins_of
from bmx_grid.guests.difficulty.difficulty_bertscore import DifficultyBertScore
from bmx_grid.guests.difficulty.top_systems import AS_SCORED, ON_THESE, TopSystemsEvaluation
from bmx_grid.metrics.base import Metric
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.encoders import BertScore
from bmx_grid.metrics.words import Ter
from bmx_grid.words.attributions import AttributionSet

REFERENCES = ["The cat sat on the mat .", "A dog ran across the road .", "He paid 3.5 euros .", "Prices rose again ."]
HUMAN = {"B": 0.1, "A": 0.9, "D": -0.4, "C": 0.5}
BEST = ["A", "C", "B", "D"]
CHANGED = {"A": 0, "B": 2, "C": 1, "D": 3}  # words that a system gets wrong


def segment_set(human: dict[str, float] = HUMAN) -> SegmentSet:
    rows = []
    for system, wrong in CHANGED.items():
        for number, reference in enumerate(REFERENCES):
            words = reference.split(" ")
            words[1 : 1 + wrong] = ["nobody"] * wrong
            rows.append(Segment(str(number), " ".join(words), "s", reference, system))
    judged = Judgements({"da": np.full(len(rows), np.nan)}, systems={"da": human})
    return SegmentSet("toy", "de-en", tuple(rows), judged)


def finished(metric: Metric) -> ScoredSetting:
    segments = segment_set()
    metric = metric.fit(segments)
    items = segments.items(metric.reads)
    statistics = metric.statistics(items)
    scores = AttributionSet(metric.combine(statistics), {}, statistics)
    clusters = [segment.id for segment in segments.segments]
    return ScoredSetting(segments, "m", "none", metric, None, items, scores, clusters)


def by_cell(result):
    return {
        (row.systems, row.fitted, row.statistic): row
        for row in table_rows(TopSystemsEvaluation(), result, "top_systems")
    }


def test_values_and_ranks_among_the_best_systems_are_those_by_hand():
    tables = TopSystemsEvaluation(resamples=0).evaluate([finished(Ter())])[0]
    cells = by_cell(tables)
    assert {size for size, *_ in cells} == {3, 4} and {fitted for _, fitted, _ in cells} == {AS_SCORED}
    wrong = np.array([CHANGED[name] for name in BEST], dtype=float) * len(REFERENCES) / 23  # corpus TER: of 23 words
    for size in (3, 4):
        human = [HUMAN[name] for name in BEST[:size]]
        assert cells[size, AS_SCORED, "pearson"].value == pytest.approx(np.corrcoef(wrong[:size], human)[0, 1])
        assert cells[size, AS_SCORED, "kendall"].value == -1  # TER counts errors: its own sign
        assert cells[size, AS_SCORED, "pearson"].system_score == "corpus"
        assert cells[size, AS_SCORED, "pearson"].n_segments == size * len(REFERENCES)
    ranks = {row.system: row for row in tables["ranks"] if row.systems == 3}
    of_both = {name: (row.rank, row.human_rank) for name, row in ranks.items()}
    assert of_both == {"A": (1, 1), "C": (2, 2), "B": (3, 3)}
    assert ranks["C"].score == pytest.approx(wrong[1])


def test_a_fitted_metric_is_fitted_again_on_the_best_systems(tiny_model):
    settings = {"model": tiny_model("bert"), "layer": 2, "device": "cpu"}
    setting = finished(DifficultyBertScore(**settings, best=True))
    tables = TopSystemsEvaluation(resamples=0).evaluate([setting])[0]
    for size in (3, 4):
        rows = np.flatnonzero([segment.system in BEST[:size] for segment in setting.segments.segments])
        alone = DifficultyBertScore(**settings).fit(setting.segments.take(rows))
        for name in BEST[:size]:
            both = zip(setting.items, setting.segments.segments, strict=True)
            items = [item for item, segment in both if segment.system == name]
            expected = float(alone.combine(alone.statistics(items).sum(axis=0)))
            (row,) = [r for r in tables["ranks"] if (r.systems, r.fitted, r.system) == (size, ON_THESE, name)]
            assert row.score == pytest.approx(expected, abs=1e-6)
    assert {(row.systems, row.fitted) for row in tables["top_systems"]} == {
        (size, fitted) for size in (3, 4) for fitted in (AS_SCORED, ON_THESE)
    }
    of_all = [by_cell(tables)[4, fitted, "pearson"].value for fitted in (AS_SCORED, ON_THESE)]
    assert of_all[0] == pytest.approx(of_all[1], abs=1e-12)


def test_a_metric_that_is_fitted_once_or_on_systems_that_others_find_best_is_not_fitted_again(tiny_model):
    settings = {"model": tiny_model("bert"), "layer": 2, "device": "cpu"}
    once = TopSystemsEvaluation(resamples=0).evaluate([finished(DifficultyBertScore(**settings))])[0]
    assert {row.fitted for row in once["top_systems"]} == {AS_SCORED}
    turned = segment_set({name: -score for name, score in HUMAN.items()})
    setting = dataclasses.replace(finished(DifficultyBertScore(**settings, best=True)), segments=turned)
    rows = TopSystemsEvaluation(resamples=0).evaluate([setting])[0]["top_systems"]
    assert {(row.systems, row.fitted) for row in rows} == {(3, AS_SCORED), (4, AS_SCORED), (4, ON_THESE)}


def test_difficulties_and_the_hardest_words(tiny_model):
    metric = DifficultyBertScore(model=tiny_model("bert"), layer=2, device="cpu", best=True)
    setting = finished(metric)
    (tables,) = DifficultyEvaluation(sentences=1, top="top:50%").evaluate([setting])
    assert [row.systems for row in tables["difficulty"]] == [4] * 20 + [2] * 20
    for systems in (4, 2):
        of_systems = [row for row in tables["difficulty"] if row.systems == systems]
        assert sum(row.share for row in of_systems) == pytest.approx(1)
        assert {row.references for row in of_systems} == {4} and {row.zero for row in of_systems} == {0}
    difficulties = setting.metric.difficulty(REFERENCES)
    weights = np.concatenate([by_fit[0] for _, by_fit in difficulties])
    assert tables["difficulty"][0].tokens == len(weights)
    assert tables["difficulty"][0].mean == pytest.approx(weights.mean())
    assert tables["difficulty"][1].share == pytest.approx(((weights >= 0.05) & (weights < 0.1)).mean())
    hardest = max(range(4), key=lambda number: difficulties[number][1][0].mean())
    tokens, (of_all, of_best, *_) = difficulties[hardest]
    for systems, expected in ((4, of_all), (2, of_best)):
        words = [row for row in tables["difficult_words"] if row.systems == systems]
        assert {row.id for row in words} == {str(hardest)}
        assert [row.token for row in words] == tokens
        assert [row.difficulty for row in words] == pytest.approx(expected.tolist())
    assert of_all.tolist() != of_best.tolist(), "the case can tell"


def test_without_the_model_there_are_no_difficulties_and_it_is_said(tiny_model, monkeypatch):
    setting = finished(DifficultyBertScore(model=tiny_model("bert"), layer=2, device="cpu"))

    def absent(self):
        raise UnavailableError("the model is gone")

    monkeypatch.setattr(DifficultyBertScore, "check", absent)
    with pytest.warns(UserWarning, match="toy · de-en · m: no table of difficulty: the model is gone"):
        assert DifficultyEvaluation().evaluate([setting]) == [{}]


def noisy(
    metric: Metric, name: str, seed: int, *, turned: bool = False, segments: SegmentSet | None = None
) -> ScoredSetting:
    """A setting of other scores: what people say of a system with noise, of 30 items and 7 systems."""
    rng = np.random.default_rng(seed)
    human = {f"s{number}": number / 7 for number in range(7)}
    rows = tuple(Segment(str(item), "h", "s", f"r {item}", system) for system in human for item in range(30))
    judged = Judgements({"da": np.full(len(rows), np.nan)}, systems={"da": human})
    segments = segments or SegmentSet("toy", "de-en", rows, judged)
    scores = np.array([human[segment.system] for segment in segments.segments])
    scores = scores + (0.1 + seed) * rng.normal(size=len(segments))
    kept = AttributionSet(-scores if turned else scores, {}, None)
    clusters = [segment.id for segment in segments.segments]
    return ScoredSetting(segments, name, "none", metric, None, segments.items(metric.reads), kept, clusters)


def compared(*settings: ScoredSetting, resamples: int = 100) -> list:
    evaluation = TopSystemsEvaluation(resamples=resamples, system_score="mean")
    results = evaluation.evaluate(settings)
    return [table_rows(evaluation, result, "top_differences") for result in results]


def test_metrics_are_compared_among_the_best_systems():
    first, second, third = compared(*(noisy(Chrf(), name, seed) for seed, name in enumerate("abc")))
    assert {row.against for row in first} == {"b", "c"} and {row.against for row in second} == {"c"} and not third
    assert {(row.systems, row.statistic) for row in first} == {
        (size, statistic)
        for size in range(3, 8)
        for statistic in ("pearson", "spearman", "kendall", "pairwise_accuracy")
    }
    for row in (*first, *second):
        assert (row.low <= row.high) == (row.systems > 3), "three systems are hardly ever drawn all three"
        assert (row.fitted, row.against_fitted) == (AS_SCORED, AS_SCORED)

    def of_five(seed):
        """Pearson's r of one of the metrics alone among the best five systems."""
        evaluation = TopSystemsEvaluation(resamples=0, system_score="mean")
        return by_cell(evaluation.evaluate([noisy(Chrf(), "m", seed)])[0])[5, AS_SCORED, "pearson"].value

    against_c = {row.systems: row for row in first if (row.against, row.statistic) == ("c", "pearson")}
    assert against_c[5].difference == pytest.approx(of_five(0) - of_five(2))
    assert against_c[7].low <= against_c[7].difference <= against_c[7].high


def test_the_same_systems_and_segments_are_drawn_for_both():
    """Equal metrics do not differ in any resample, also where the lower scores of one of them are better."""
    (rows, _) = compared(noisy(Chrf(), "a", 1), noisy(Ter(), "b", 1, turned=True))
    rows = [row for row in rows if row.systems > 3]
    assert [(row.difference, row.low, row.high) for row in rows] == [pytest.approx((0, 0, 0), abs=1e-12)] * len(rows)


def test_metrics_of_other_segments_have_a_difference_and_no_interval():
    complete = noisy(Chrf(), "a", 1)
    lacking = noisy(Chrf(), "b", 1)
    scores = np.where(np.arange(len(complete.items)) == 3, np.nan, lacking.scores.base_scores)
    lacking = dataclasses.replace(lacking, scores=AttributionSet(scores, {}, None))
    (rows, _) = compared(complete, lacking)
    among = [row for row in rows if row.systems == 7]
    assert among and all(math.isfinite(row.difference) and math.isnan(row.low) for row in among)


def test_a_metric_fitted_on_the_systems_is_the_one_compared(tiny_model):
    settings = {"model": tiny_model("bert"), "layer": 2, "device": "cpu"}
    plain = dataclasses.replace(finished(BertScore(**settings)), metric_name="plain")
    fitted = dataclasses.replace(finished(DifficultyBertScore(**settings, best=True)), metric_name="da")
    none, rows = compared(plain, fitted, resamples=50)
    assert not none and {row.against for row in rows} == {"plain"}
    assert {(row.fitted, row.against_fitted) for row in rows} == {(ON_THESE, AS_SCORED)}


def test_bins_have_the_shares_of_words_and_the_ends_hold_what_lies_beyond():
    texts = [np.array([-0.2, 0.04, 0.05, 1.0]), np.zeros(3), np.array([1.2])]
    bins = bins_of(7, texts)
    assert [(row.low, row.high) for row in bins] == [(number / 20, (number + 1) / 20) for number in range(BINS)]
    assert [row.share for row in bins] == pytest.approx([5 / 8, 1 / 8, *[0] * 17, 2 / 8])
    (of_all,) = {(row.systems, row.tokens, row.mean, row.references, row.zero) for row in bins}
    assert of_all == (7, 8, pytest.approx(2.09 / 8), 3, 1)
