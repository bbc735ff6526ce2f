"""Accuracy on pairs of outputs by phenomenon: by hand, and on the made-up ACES."""

import dataclasses
import warnings

import numpy as np
import pandas as pd
import pytest
from fakes import ROOT
from scipy.stats import binomtest
from some_settings import finished, table_rows

from bmx_grid.analysis.base import FACTORS, Given
from bmx_grid.core.ragged import Ragged
from bmx_grid.datasets.aces import Aces
from bmx_grid.datasets.segments import clusters
from bmx_grid.evaluations.base import Finished
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.guests.contrastive import phenomena
from bmx_grid.guests.contrastive.contrastive import ALL, ContrastiveEvaluation, wilson
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.words.attributions import AttributionSet

EVALUATION = ContrastiveEvaluation(resamples=200)


def aces(pair, base=None, boosted=None, attributions=None):
    """A setting of the made-up ACES; base: of good and incorrect in turn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        segments = Aces(name="aces").read(ROOT / "tests" / "layouts", pair)
    metric = Chrf()
    items = segments.items(metric.reads)
    scores = metric.score(items) if base is None else np.array(base, dtype=float)
    by_role = {} if attributions is None else {"hypothesis": Ragged.from_rows(attributions(segments))}
    points = {} if boosted is None else {"published": np.array(boosted, dtype=float)}
    labels = clusters([segments])[0].tolist()
    return Finished(
        segments, "chrf", "erasure", metric, Erasure(), items, AttributionSet(scores, by_role), labels, points
    )


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
    tables = list(phenomena.tables(phenomena.compute(Given({"contrastive": pd.DataFrame(rows)}))))
    assert [table.stem for table in tables] == ["contrastive_aces", "contrastive_boosts"]
    assert tables[0].header[1:3] == ("m1", "m2") and len(tables[0].rows) == 1 + 4
    assert not list(phenomena.tables(phenomena.compute(Given({}))))
