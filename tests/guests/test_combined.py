"""A metric made of metrics: weights over a set, members that are files, explanations, and what is refused."""

import dataclasses
import json
import math
import uuid

import numpy as np
import pytest
from fakes import HashMetric
from pairs import explain, rated
from scipy import stats

from bmx_grid.core.configure import build
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import digest
from bmx_grid.core.storage import files_of, place, replacing
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.guests.datscore.combined import Combined, one_vs_rest
from bmx_grid.guests.datscore.kept_values import open_values
from bmx_grid.metrics.base import Metric
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.sentence_bleu import SentenceBleu
from bmx_grid.metrics.words import Ter
from bmx_grid.words.perturbation import Item

TEXTS = [
    ("The cat sat on the mat .", "A cat sat on the mat ."),
    ("The cat sat on the mat .", "The mat sat on the cat ."),
    ("He paid 3.5 euros for the book .", "He payed 3,5 euro for book ."),
    ("A dog ran across the road .", "Prices rose again ."),
    ("Prices rose again , the ministry said .", "Prices rose again , said the ministry ."),
]
pytestmark = pytest.mark.filterwarnings("ignore:combined:UserWarning")


ITEMS = [Item(truth, truth, hypothesis) for truth, hypothesis in TEXTS]
SEGMENTS = rated(ITEMS)


def columns_of(*metrics) -> np.ndarray:
    return np.column_stack([metric.score(ITEMS) * (1 if metric.higher_is_better else -1) for metric in metrics])


def test_scores_are_z_scores_weighted_by_agreement():
    metrics = SentenceBleu(), Chrf(), Ter()
    raw = columns_of(*metrics)
    fitted = Combined(metrics=("sentence_bleu", "chrf", "ter")).fit(SEGMENTS)
    standard = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    weights = one_vs_rest(standard, "abc")[0]
    assert fitted.part_weights().tolist() == pytest.approx(weights.tolist(), abs=1e-12)
    assert fitted.score(fitted.fitted_on).tolist() == pytest.approx((standard @ weights).tolist(), abs=1e-12)
    turned = dataclasses.replace(fitted, scale="raw").fitted_scores()
    assert turned[:, 2].tolist() == (-Ter().score(fitted.fitted_on)).tolist()


@pytest.mark.parametrize(
    ("weights", "expected"), [("equal", [0.5, 0.5]), ((2.0, -1.0), [2.0, -1.0])], ids=["equal", "given"]
)
def test_raw_scores_with_weights_of_ones_own_need_no_set(weights, expected):
    metric = Combined(metrics=("sentence_bleu", "chrf"), weights=weights, scale="raw")
    raw = columns_of(SentenceBleu(), Chrf())
    assert metric.score(ITEMS).tolist() == pytest.approx((raw @ np.array(expected)).tolist(), abs=1e-15)
    assert metric.fit(SEGMENTS).fingerprint() == metric.fingerprint()


def test_what_it_was_fitted_to_is_identity():
    metric = Combined(metrics=("sentence_bleu", "chrf"))
    on_five, on_four = metric.fit(SEGMENTS), metric.fit(rated(ITEMS[:4]))
    assert len({json.dumps(each.fingerprint()) for each in (metric, on_five, on_four)}) == 3
    assert on_five.set in on_five.signature
    assert metric.fit(rated(ITEMS)).fingerprint() == on_five.fingerprint()


def test_members_score_the_set_once_for_all_chunks_and_processes(tmp_path):
    log = tmp_path / "calls"
    members = (("one", HashMetric(1, str(log))), ("two", HashMetric(2, str(log))))
    metric = Combined(metrics=members, cache_dir=str(tmp_path / "cache")).fit(SEGMENTS)
    together = metric.score(metric.fitted_on)
    chunks = np.concatenate([metric.score([item]) for item in metric.fitted_on])
    assert together.tolist() == chunks.tolist()
    open_values.cache_clear()  # as another process
    assert metric.score(metric.fitted_on).tolist() == together.tolist()
    assert log.read_text().split() == ["5", "5"]
    metric.score([metric.fitted_on[0].replace_text("hypothesis", "another")] * 2)
    assert log.read_text().split() == ["5", "5", "1", "1"]  # a perturbation: once for each metric


def test_explanations_of_a_sum_are_the_sum_of_explanations():
    metric = Combined(metrics=("sentence_bleu", "chrf"), weights=(0.25, 0.75), scale="raw")
    (explanation,) = explain(metric, Erasure(), TEXTS[:1], 0)
    (bleu,) = explain(SentenceBleu(), Erasure(), TEXTS[:1], 0)
    (chrf,) = explain(Chrf(), Erasure(), TEXTS[:1], 0)
    for role, values in explanation.attributions.items():
        weighted = 0.25 * bleu.attributions[role] + 0.75 * chrf.attributions[role]
        assert values.tolist() == pytest.approx(weighted.tolist())


@pytest.fixture
def scores(tmp_path):
    path = tmp_path / "scores.tsv"
    rows = [f"{row}\t{score}" for row, score in enumerate((0.3, "nan", 0.1, 0.9, 0.5))]
    path.write_text("\n".join(["id\tscore", *rows]) + "\n")
    return path


def test_a_file_of_scores_is_a_member(scores):
    node = {"_target_": "bmx_grid.guests.datscore.combined.Combined", "weights": "equal", "scale": "raw"}
    node["metrics"] = ["chrf", {"imported": {"file": str(scores), "name": "mine", "language_pairs": ["de-en"]}}]
    template = build(node, Metric, "metric.combined")
    (metric,) = template.expand("combined", [SEGMENTS]).values()
    fitted = metric.fit(SEGMENTS)
    with pytest.warns(UserWarning, match="1 of 5 segments have no score"):
        scored = metric.fit(SEGMENTS).load_scores(SEGMENTS)
    assert fitted.part_names == ("chrf", "mine")
    expected = (Chrf().score(ITEMS) + np.array([0.3, np.nan, 0.1, 0.9, 0.5])) / 2
    assert scored.base_scores.tolist() == pytest.approx(expected.tolist(), nan_ok=True, abs=1e-15)


@pytest.mark.parametrize("where", ["store", "folder"])
def test_what_was_made_before_an_error_is_kept_and_a_damaged_file_is_made_again(tmp_path, monkeypatch, where):
    monkeypatch.setattr("bmx_grid.guests.datscore.kept_values.VALUES_OF_A_PART", 1)
    folder = str(tmp_path) if where == "folder" else f"memory://{uuid.uuid4().hex}"
    asked = []

    def make(contents):
        asked.extend(contents)
        if contents == ["c"] and asked.count("c") == 1:
            raise KeyboardInterrupt
        return [[ord(text), math.nan] for text in contents]

    def values(texts):
        open_values.cache_clear()  # as another process
        return open_values(folder, "parts", "{}").values(texts, "abc", make)

    with pytest.raises(KeyboardInterrupt):
        values("abc")
    kept_values = values("cadab")
    assert [first for first, _ in kept_values] == [99, 97, 100, 97, 98] and asked == list("abccd"), (
        "d is not to be kept"
    )
    (damaged, *rest) = files_of(place(folder) / "parts" / digest({})[:24], ".json")
    assert len(rest) == 2
    with replacing(damaged) as path:
        path.write_text("[[")
    with pytest.warns(UserWarning, match="is damaged; its values are computed again"):
        assert [first for first, _ in values("abc")] == [97, 98, 99]
    assert len(asked) == 6


A = np.array([1.0, 2.0, 3.0, 4.0])
B = np.array([1.0, 3.0, 2.0, 4.0])  # r with A: 0.8
C = np.array([2.0, 1.0, 4.0, 3.0])  # r with A: 0.6; with B: 0


@pytest.mark.parametrize(
    ("columns", "raw", "notes"),
    [
        pytest.param([A, B, C], [1.4, 0.8, 0.6], [], id="sums of correlations"),
        pytest.param([[*A, 9], [*B, np.nan], [*C, 1]], [1.4, 0.8, 0.6], [], id="a row without a score"),
        pytest.param([A], [1.0], [], id="a single column"),
        pytest.param([A, np.full(4, 0.1), B, C], [1.4, 0, 0.8, 0.6], ["b: the same score for all 4"], id="a constant"),
        pytest.param(
            [A, B, -A],
            [-0.2, 0.0, -1.8],
            ["correlate negatively", "would reverse the ranking"],
            id="a column that disagrees",
        ),
    ],
)
def test_weights_by_agreement_are_sums_of_correlations_by_hand(columns, raw, notes):
    weights, sentences = one_vs_rest(np.column_stack(columns), "abcd"[: len(columns)])
    np.testing.assert_allclose(weights, np.array(raw) / np.abs(raw).sum(), atol=1e-12)
    assert all(part in sentence for part, sentence in zip(notes, sentences, strict=True))


def test_weights_whose_sum_is_rounding_are_not_divided_by_it():
    """Two columns at right angles, and the one between the first and the opposite of the second: the sum is 0."""
    for seed in range(30):
        centred = stats.zscore(np.random.default_rng(seed).normal(size=(9, 2)))
        first, second = np.linalg.qr(centred)[0].T
        weights, notes = one_vs_rest(np.column_stack([first, second, first - second]), "abc")
        assert np.abs(weights).sum() == pytest.approx(1)
        assert any("would reverse the ranking" in note for note in notes)


@pytest.mark.parametrize(
    ("columns", "message"),
    [(np.ones((2, 2)), "at least 3 segments with all scores, and there are 2"), (np.ones((4, 2)), "do not correlate")],
)
def test_weights_that_are_undefined_are_refused(columns, message):
    with pytest.raises(ConfigError, match=message):
        one_vs_rest(columns, "ab")
