"""Decisions of metrics: filters and choices, by hand and against scikit-learn."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import fbeta_score, precision_recall_fscore_support
from some_settings import finished, table_rows, translated

from bmx_grid.analysis.base import FACTORS, SweepTables
from bmx_grid.core.errors import ConfigError
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.evaluations.base import ScoredSetting
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.guests.decisions import good_decisions
from bmx_grid.guests.decisions.decisions import DecisionsEvaluation, best_threshold
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.words.attributions import AttributionSet

EVALUATION = DecisionsEvaluation(resamples=200)


def setting_of(human, base, boosted=None, systems=1):
    """Segments whose ids have so many systems each; every id is a cluster."""
    n = len(human)
    segments = tuple(
        Segment(str(row // systems), f"h{row}", source=f"s{row // systems}", reference="r", system=f"S{row % systems}")
        for row in range(n)
    )
    segment_set = SegmentSet("toy", "de-en", segments, Judgements({"da": np.array(human, dtype=float)}))
    points = {} if boosted is None else {"published": np.array(boosted, dtype=float)}
    metric = Chrf()
    items = segment_set.items(metric.reads)
    labels = [segment.source for segment in segments]
    scores = AttributionSet(np.array(base, dtype=float), {})
    return ScoredSetting(segment_set, "chrf", "erasure", metric, Erasure(), items, scores, labels, points)


def rows_of(setting, table, evaluation=EVALUATION):
    (result,) = evaluation.evaluate([setting])
    return {row.point: row for row in table_rows(evaluation, result, table)}


@pytest.mark.parametrize(
    ("scores", "truth", "beta", "threshold"),
    [
        pytest.param([0.9, 0.8, 0.3, 0.1], [1, 1, 0, 0], 1, 0.55, id="between good and bad"),
        pytest.param([0.9, 0.8, 0.3, 0.1], [1, 0, 0, 0], 1, 0.85, id="one good one"),
        pytest.param([0.9, 0.8, 0.3, 0.1], [0, 0, 0, 1], 1, -np.inf, id="the good one has the lowest score"),
        pytest.param([0.5, 0.5, 0.5, 0.1], [1, 0, 0, 0], 1, 0.3, id="equal scores are accepted together"),
        pytest.param([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], 1, 0.4, id="a wrong one less costs recall"),
        pytest.param([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0], 0.1, 0.85, id="precision counts most"),
        pytest.param([0.9, 0.1], [0, 0], 1, np.inf, id="nothing is good"),
    ],
)
def test_thresholds_by_hand(scores, truth, beta, threshold):
    assert best_threshold(np.array(scores), np.array(truth, dtype=bool), beta) == pytest.approx(threshold)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_no_threshold_has_a_higher_f(beta):
    """Scikit-learn's F at every cut."""
    rng = np.random.default_rng(4)
    truth = rng.random(60) < 0.4
    scores = np.round(truth + rng.normal(size=60), 1)
    found = best_threshold(scores, truth, beta)
    every = [fbeta_score(truth, scores >= cut, beta=beta) for cut in scores]
    assert fbeta_score(truth, scores >= found, beta=beta) == pytest.approx(max(every))


def test_a_perfect_filter_and_a_useless_one():
    human = np.tile([0.0, 1.0], 40)
    # The metric knows nothing: its scores are the number of the segment, the boost knows all.
    row = rows_of(setting_of(human, np.arange(80), boosted=human), "filtering")
    boosted = row["published"]
    assert (boosted.precision, boosted.recall, boosted.f) == (1, 1, 1)
    assert boosted.good == 1 and boosted.accepted == 0.5 and (boosted.n_good, boosted.n_segments) == (40, 80)
    assert boosted.f_of_all == pytest.approx(2 / 3), "precision of a half, recall of 1"
    assert boosted.gain == pytest.approx(1 - row["base"].f) and boosted.gain_low > 0.2
    assert np.isnan(row["base"].gain)


def test_measures_are_scikit_learns_at_thresholds_of_other_folds():
    rng = np.random.default_rng(0)
    human = rng.normal(size=100)
    scores = human + rng.normal(size=100)
    evaluation = dataclasses.replace(EVALUATION, good=0.3, folds=100, beta=2.0)
    row = rows_of(setting_of(human, scores), "filtering", evaluation)["base"]
    # As many folds as segments: each is left out once.
    truth = human >= 0.3
    called = []
    for left_out in range(100):
        others = np.arange(100) != left_out
        called.append(scores[left_out] >= best_threshold(scores[others], truth[others], 2.0))
    precision, recall, f, _ = precision_recall_fscore_support(truth, called, beta=2.0, average="binary")
    assert (row.precision, row.recall, row.f) == pytest.approx((precision, recall, f))
    assert row.precision_low < precision < row.precision_high
    assert row.f_of_all == pytest.approx(fbeta_score(truth, np.ones(100), beta=2.0))


def test_choices_by_hand():
    """Three sources of three outputs: right, one of two equally high scores, people score all alike; one unrated."""
    human = [1, 2, 3, 5, 5, 1, 4, 4, 4, 1, 2, np.nan]
    base = [1, 2, 3, 9, 1, 9, 1, 2, 3, 5, 1, 9]
    rows = rows_of(setting_of(human, base, boosted=[3, 2, 1, 1, 9, 0, 1, 2, 3, 1, 5, 9], systems=3), "reranking")
    alone = rows["base"]
    assert alone.precision == pytest.approx((1 + 0.5 + 0) / 3)
    assert alone.chance == pytest.approx((1 / 3 + 2 / 3 + 1 / 2) / 3)
    assert alone.regret == pytest.approx((0 + 2 + 1) / 3)
    assert (alone.n_sources, alone.n_undecided, alone.n_clusters) == (3, 1, 3)
    boosted = rows["published"]
    assert boosted.precision == pytest.approx(2 / 3) and boosted.gain == pytest.approx(2 / 3 - 0.5)
    assert boosted.regret == pytest.approx(2 / 3)


def test_a_metric_whose_low_scores_are_better_chooses_the_lowest():
    class Lower(Chrf):
        @property
        def higher_is_better(self):
            return False

    setting = dataclasses.replace(setting_of([1, 2] * 20, [2, 1] * 20, systems=2), metric=Lower())
    assert rows_of(setting, "reranking")["base"].precision == 1
    assert rows_of(setting, "filtering")["base"].f == 1


def test_real_scores_choose_better_than_chance():
    row = rows_of(translated(Chrf()), "reranking")["base"]
    assert row.precision_low > row.chance and row.n_sources == 20


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(lambda: setting_of([np.nan] * 6, range(6)), id="nobody rated"),
        pytest.param(lambda: setting_of([1] * 6, range(6)), id="all are good"),
        pytest.param(
            lambda: dataclasses.replace(setting_of([0, 1] * 3, range(6)), clusters=["a"] * 6), id="one cluster"
        ),
        pytest.param(lambda: finished(n=0), id="no segments"),
    ],
)
def test_where_there_is_nothing_to_decide_there_are_no_rows(setting):
    assert not rows_of(setting(), "filtering")
    assert not rows_of(setting(), "reranking")


def test_a_share_is_between_0_and_1():
    with pytest.raises(ConfigError, match="good_share"):
        DecisionsEvaluation(good_share=1.0)


def test_the_page_has_both_tables():
    frames = {"filtering": [], "reranking": []}
    for explainer in "ab":
        setting = setting_of([1, 2] * 20, [1, 2] * 20, boosted=[2, 1] * 20, systems=2)
        for name, rows in frames.items():
            names = dict(zip(FACTORS, ("toy", "de-en", "m", explainer), strict=True))
            rows += [{**names, **vars(row)} for row in rows_of(setting, name).values()]
    given = SweepTables({name: pd.DataFrame(rows) for name, rows in frames.items()})
    filtering, reranking = good_decisions.tables(good_decisions.compute(given))
    # The metric alone once for both explainers.
    assert len(filtering.rows) == len(reranking.rows) == 3
    assert "regret" in reranking.header and "f of all" in filtering.header
    assert not list(good_decisions.tables(good_decisions.compute(SweepTables({}))))
