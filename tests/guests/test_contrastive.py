"""Accuracy on pairs of outputs by phenomenon: by hand, and on the made-up ACES."""

import dataclasses
import warnings

import numpy as np
import pandas as pd
import pytest
from fakes import ROOT
from scipy.stats import binomtest
from some_settings import finished, table_rows

from bmx_grid.analysis.base import FACTORS, SweepTables
from bmx_grid.core.ragged import Ragged
from bmx_grid.datasets.aces import Aces
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet, clusters
from bmx_grid.evaluations.base import ScoredSetting
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.guests.contrastive import phenomena
from bmx_grid.guests.contrastive.aces_score import CATEGORY
from bmx_grid.guests.contrastive.contrastive import ALL, ContrastiveEvaluation, wilson
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.words.attributions import AttributionSet

EVALUATION = ContrastiveEvaluation(resamples=200)


def aces(pair, base=None, boosted=None, attributions=None):
    """A setting of the made-up ACES; base: of good and incorrect in turn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        segments = Aces(name="aces").load_segments(ROOT / "tests" / "layouts", pair)
    metric = Chrf()
    items = segments.items(metric.reads)
    scores = metric.score(items) if base is None else np.array(base, dtype=float)
    by_role = {} if attributions is None else {"hypothesis": Ragged.from_rows(attributions(segments))}
    points = {} if boosted is None else {"published": np.array(boosted, dtype=float)}
    labels = clusters([segments])[0].tolist()
    return ScoredSetting(
        segments, "chrf", "erasure", metric, Erasure(), items, AttributionSet(scores, by_role), labels, points
    )


def of_phenomena(names, scores):
    """A setting with a pair of outputs for each phenomenon; scores: of good and incorrect in turn."""
    segments = []
    for row, name in enumerate(names):
        for system in ("good", "incorrect"):
            segments.append(Segment(str(row), f"{system} {row}", f"s{row}", f"r{row}", system, domain=name))
    human = Judgements({"good": np.tile([1.0, 0.0], len(names))})
    segment_set = SegmentSet("aces", "de-en", tuple(segments), human)
    metric = Chrf()
    items = segment_set.items(metric.reads)
    labels = clusters([segment_set])[0].tolist()
    attributed = AttributionSet(np.array(scores, dtype=float), {})
    return ScoredSetting(segment_set, "chrf", "erasure", metric, Erasure(), items, attributed, labels, {})


def aces_rows_of(*settings, resamples=200):
    evaluation = ContrastiveEvaluation(resamples=resamples)
    rows = []
    for result in evaluation.evaluate(list(settings)):
        rows += table_rows(evaluation, result, "aces_score")
    return {row.category: row for row in rows if row.point == "base"}


def rows_of(*settings, evaluation=EVALUATION):
    rows = []
    for result in evaluation.evaluate(list(settings)):
        rows += table_rows(evaluation, result, "contrastive")
    return {(row.language_pair, row.phenomenon, row.point): row for row in rows}


def test_by_hand():
    """Six pairs: right, right, tie, wrong, right, undefined."""
    base = [2, 1, 5, 3, 1, 1, 0, 4, 9, 8, np.nan, 1]
    rows = rows_of(aces("de-en", base, boosted=[2, 1, 5, 3, 2, 1, 5, 4, 9, 8, 3, 1]))
    alone = rows["de-en", ALL, "base"]
    assert (alone.accuracy, alone.n_pairs, alone.ties, alone.n_undefined) == (0.6, 5, 1, 1)
    assert (alone.accuracy_low, alone.accuracy_high) == pytest.approx(
        tuple(binomtest(3, 5).proportion_ci(method="wilson"))
    )
    assert np.isnan(alone.gain)
    boosted = rows["de-en", ALL, "published"]
    assert boosted.accuracy == 1 and boosted.gain == pytest.approx(0.4) and boosted.gain_low <= 0.4 <= boosted.gain_high
    # Third and fifth pair: a tie is wrong.
    antonyms = rows["de-en", "antonym-replacement", "base"]
    assert (antonyms.accuracy, antonyms.n_pairs, antonyms.ties) == (0.5, 2, 1)
    assert rows["de-en", "hallucination-number-level-1", "base"].n_undefined == 1


@pytest.mark.parametrize(("right", "n"), [(0, 7), (3, 7), (7, 7), (80, 100)])
def test_intervals_of_shares_are_wilsons(right, n):
    assert wilson(right / n, n) == pytest.approx(tuple(binomtest(right, n).proportion_ci(method="wilson")), abs=1e-12)


def test_a_cluster_counts_once_however_many_pairs_it_has():
    setting = aces("de-en", [1, 0] * 6)
    shared = dataclasses.replace(setting, clusters=["a"] * 6 + ["b"] * 6)
    row = rows_of(shared)["de-en", ALL, "base"]
    assert (row.accuracy, row.n_pairs, row.n_clusters) == (1, 6, 2)
    assert row.accuracy_low == pytest.approx(binomtest(2, 2).proportion_ci(method="wilson").low)


def test_language_pairs_are_taken_together_too():
    rows = rows_of(aces("de-en", [1, 0] * 6), aces("en-de", [0, 1] * 4))
    assert {key[0] for key in rows} == {ALL, "de-en", "en-de"}
    both = rows[ALL, ALL, "base"]
    assert (both.accuracy, both.n_pairs) == (0.6, 10)
    # One addition in each, right and wrong.
    assert rows[ALL, "addition", "base"].accuracy == 0.5


def test_chrf_prefers_what_is_nearer_to_the_reference():
    """Of the omission the good translation is the reference itself."""
    rows = rows_of(aces("de-en"))
    assert rows["de-en", "omission", "base"].accuracy == 1


def test_a_metric_whose_low_scores_are_better_is_right_with_the_lower_one():
    class Lower(Chrf):
        @property
        def higher_is_better(self):
            return False

    setting = dataclasses.replace(aces("de-en", [0, 1] * 6), metric=Lower())
    assert rows_of(setting)["de-en", ALL, "base"].accuracy == 1


@pytest.mark.parametrize(("sign", "auc"), [(-1, 1.0), (1, 0.0), (0, 0.5)])
def test_wrong_words_are_found_by_the_lowest_attributions(sign, auc):
    def attributions(segments):
        labels = segments.judgements.tags["hypothesis"].labels
        texts = segments.texts("hypothesis")
        rows = []
        for bad, text in zip(labels.rows(), texts, strict=True):
            # An annotation of another text has no tags.
            rows.append(sign * bad.astype(float) if len(bad) else np.zeros(len(text.split(" "))))
        return rows

    row = rows_of(aces("de-en", attributions=attributions))["de-en", ALL, "base"]
    assert (row.auc, row.n_tagged) == (auc, 4)


def publishers_score(names, right):
    """As aces/cli/evaluate.py of EdinburghNLP/ACES computes it: tau of each phenomenon, means, and their sum."""
    frame = pd.DataFrame({"phenomenon": names, "right": right})
    tau = frame.groupby("phenomenon")["right"].apply(lambda values: (values.sum() - (~values).sum()) / len(values))
    mean = tau.groupby(lambda name: CATEGORY[name]).mean()
    fives = ["addition", "omission", "mistranslation", "overtranslation", "undertranslation"]
    ones = ["untranslated", "do not translate", "real-world knowledge", "wrong language"]
    return 5 * mean[fives].sum() + mean[ones].sum() + 0.1 * mean["punctuation"], mean


@pytest.mark.parametrize(("scores", "expected"), [([1, 0], 29.1), ([0, 1], -29.1), ([1, 1], -29.1)])
def test_aces_score_is_from_minus_29_1_to_29_1_and_ties_are_wrong(scores, expected):
    assert len(CATEGORY) == 68, "phenomena in the paper"
    # Several pairs of each, so that hardly any resample lacks a category.
    names = list(CATEGORY) * 8
    rows = aces_rows_of(of_phenomena(names, scores * len(names)))
    assert rows["ACES-Score"].tau == pytest.approx(expected) and rows["ACES-Score"].n_phenomena == 68
    assert (rows["ACES-Score"].low, rows["ACES-Score"].high) == pytest.approx((expected, expected))


def test_aces_score_is_the_publishers():
    rng = np.random.default_rng(3)
    names = [*CATEGORY, *rng.choice(list(CATEGORY), 400)]
    scores = rng.integers(0, 4, 2 * len(names))
    rows = aces_rows_of(of_phenomena(names, scores))
    expected, of_categories = publishers_score(names, scores[::2] > scores[1::2])
    score = rows["ACES-Score"]
    assert score.tau == pytest.approx(expected) and score.low < expected < score.high and score.n_pairs == 468
    assert {name: row.tau for name, row in rows.items() if name in of_categories} == pytest.approx(dict(of_categories))
    weighted = sum(row.weight * row.tau for name, row in rows.items() if name != "ACES-Score")
    assert weighted == pytest.approx(score.tau)


def test_aces_score_is_undefined_without_a_category_and_missing_without_aces():
    rows = aces_rows_of(aces("de-en", [1, 0] * 6), aces("en-de", [1, 0] * 4))
    assert np.isnan(rows["ACES-Score"].tau) and np.isnan(rows["punctuation"].tau)
    assert (rows["addition"].tau, rows["addition"].n_pairs, rows["addition"].language_pair) == (1.0, 2, ALL)
    assert not aces_rows_of(of_phenomena(["addition", "news"], [1, 0, 1, 0]))


def test_data_without_a_better_output_have_no_rows():
    segments = finished().segments.take([0])
    assert "no data set has such a pair" in EVALUATION.inapplicable(1, 0, [segments])
    assert EVALUATION.inapplicable(1, 0, [aces("de-en").segments]) == ""


def test_the_page_has_metrics_side_by_side_and_boosts():
    rows = []
    for metric in ("m1", "m2"):
        for row in rows_of(aces("de-en", [1, 0] * 6, boosted=[1, 0] * 6)).values():
            names = dict(zip(FACTORS, ("aces", row.language_pair, metric, "erasure"), strict=True))
            rows.append({**vars(row), **names})
    tables = list(phenomena.tables(phenomena.compute(SweepTables({"contrastive": pd.DataFrame(rows)}))))
    assert [table.stem for table in tables] == ["contrastive_aces", "contrastive_boosts"]
    assert tables[0].header[1:3] == ("m1", "m2") and len(tables[0].rows) == 1 + 4
    assert not list(phenomena.tables(phenomena.compute(SweepTables({}))))


def test_the_page_has_the_aces_score_of_each_metric():
    rows = []
    names = ("aces", "de-en", "m1", "erasure")
    contrasts = rows_of(of_phenomena(list(CATEGORY), [1, 0] * 68)).values()
    for row in aces_rows_of(of_phenomena(list(CATEGORY), [1, 0] * 68)).values():
        rows.append({**vars(row), **dict(zip(FACTORS, names, strict=True))})
    frames = {
        "contrastive": pd.DataFrame([{**vars(row), **dict(zip(FACTORS, names, strict=True))} for row in contrasts]),
        "aces_score": pd.DataFrame(rows),
    }
    _, table = phenomena.tables(phenomena.compute(SweepTables(frames)))
    assert table.header == ("category", "m1", "weight")
    frame = table.frame()
    assert frame["category"].tolist()[:2] == ["ACES-Score", "addition"]
    assert frame["m1"].tolist()[0] == pytest.approx(29.1)
