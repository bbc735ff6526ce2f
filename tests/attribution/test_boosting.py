"""The boosted metric: one iteration equals the grid's point, two equal one applied by hand, no text is scored twice."""

from dataclasses import replace

import numpy as np
import pytest
from fakes import HashMetric
from pairs import explain, items_for, score

from bmx_grid.attribution.boosted import BoostedMetric
from bmx_grid.attribution.explain import count_texts
from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import BmxError, ConfigError, ExplainError
from bmx_grid.core.identity import canonical_json
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.explainers.lime import Lime
from bmx_grid.explainers.random import Random
from bmx_grid.metrics.base import Metric
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.sentence_bleu import SentenceBleu
from bmx_grid.metrics.words import Ter
from bmx_grid.words.perturbation import Item
from bmx_grid.words.segmentation import split_words

PAIRS = [
    ("The cat sat on the mat .", "A cat sat on the mat ."),
    ("He paid 3.5 euros , not 5,3 .", "He payed 3,5 euros."),
    ("one", "one"),
    ("", "words against an empty ground truth"),
    ("words against an empty hypothesis", ""),
    ("two  spaces and a a repeated word", "two  spaces a a"),
]
WORDLESS = ("", "")
FIRST = Item(source=PAIRS[0][0], hypothesis=PAIRS[0][1])
LOWER = {"_target_": "bmx_grid.metrics.chrf.Chrf", "lowercase": True}
BOOSTED_BLEU = BoostedMetric(SentenceBleu(), Erasure(), -0.3, 0.6)


def two_iterations(base: Metric, **settings) -> BoostedMetric:
    first = BoostedMetric(base, Erasure(), -0.3, 0.6)
    return BoostedMetric(first, Erasure(), **{"p": -0.3, "w": 0.6} | settings)


def power_mean(values: list[float], p: float) -> float:
    """Section 3.4 as it is written."""
    low = min(values)
    positive = [value + (abs(low) + 1e-9 if low <= 0 else 1e-9) for value in values]
    return float(np.mean(np.array(positive) ** p) ** (1 / p))


def erasure_by_hand(score, pair: tuple[str, str]) -> list[float]:
    """The fall of `score` for each word of both sides, in plain Python."""
    falls = []
    for index in (0, 1):
        words = list(split_words(pair[index]))
        for position in range(len(words)):
            erased = list(pair)
            erased[index] = " ".join([*words[:position], "", *words[position + 1 :]])
            falls.append(score(pair) - score((erased[0], erased[1])))
    return falls


def iterate_by_hand(score, p: float, w: float):
    """Algorithm 1: from a score function to the score function of the next iteration."""
    return lambda pair: w * score(pair) + (1 - w) * power_mean(erasure_by_hand(score, pair), p)


@pytest.mark.parametrize(("base", "iterations"), [(Chrf(), 1), (SentenceBleu(), 2)], ids=["chrf", "bleu"])
def test_iterations_are_algorithm_1_written_out(base, iterations):
    boosted, by_hand = base, lambda pair: float(score(base, [pair])[0])
    for p, w in [(-0.3, 0.6), (1.5, 0.2)][:iterations]:
        boosted, by_hand = BoostedMetric(boosted, Erasure(), p, w), iterate_by_hand(by_hand, p, w)
    assert score(boosted, PAIRS).tolist() == pytest.approx([by_hand(pair) for pair in PAIRS], abs=1e-12)


@pytest.mark.parametrize(
    "metric",
    [
        pytest.param(BoostedMetric(SentenceBleu(), Lime(num_samples=30), -1.4, 0.4), id="lime x bleu"),
        pytest.param(BoostedMetric(Chrf(), Erasure(), 0.0, 0.0, side="hypothesis"), id="hypothesis only"),
        pytest.param(two_iterations(SentenceBleu()), id="two iterations"),
    ],
)
def test_a_pair_scores_the_same_bits_alone_in_any_order_and_in_any_part(metric):
    together = score(metric, [*PAIRS, WORDLESS])
    assert score(metric, [WORDLESS, *PAIRS[::-1]])[::-1].tobytes() == together.tobytes()
    assert np.concatenate([score(metric, [pair]) for pair in [*PAIRS, WORDLESS]]).tobytes() == together.tobytes()
    largest = max(metric.count_texts(item) for item in items_for(metric, PAIRS))
    assert score(replace(metric, max_texts=largest), [*PAIRS, WORDLESS]).tobytes() == together.tobytes()


def test_two_iterations_of_erasure_on_15_words_score_121_texts_not_241(tmp_path):
    pair = (" ".join("abcdefg"), " ".join("hijklmno"))
    for name, ask in (
        ("nested", lambda base: score(two_iterations(base), [pair])),
        ("by a sweep", lambda base: explain(BoostedMetric(base, Erasure(), -0.3, 0.6), Erasure(), [pair], seed=0)),
    ):
        ask(HashMetric(log=str(tmp_path / name)))
        assert sum(map(int, (tmp_path / name).read_text().split())) == 1 + 15 + 15 * 14 // 2 == 121


@pytest.mark.parametrize(
    ("call", "number"),
    [
        pytest.param(lambda metric: score(metric, [PAIRS[2], PAIRS[0]]), "289 texts", id="scored"),
        pytest.param(lambda metric: count_texts(metric, Erasure(), FIRST), "4,913 texts", id="planned by a sweep"),
    ],
)
def test_too_many_texts_are_refused_with_their_number_before_anything_is_scored(call, number, tmp_path):
    metric = two_iterations(HashMetric(log=str(tmp_path / "calls")), max_texts=288)
    with pytest.raises(ExplainError, match=f"{number} would be scored for this segment, above max_texts = 288"):
        call(metric)
    assert not (tmp_path / "calls").exists()
    score(replace(metric, max_texts=289), [PAIRS[0]])
    assert sum(map(int, (tmp_path / "calls").read_text().split())) <= 17 * 17, "what is announced is not exceeded"


def test_without_words_the_metric_keeps_its_own_score_and_one_that_is_not_finite_is_named():
    for side, pair in (("both", WORDLESS), ("hypothesis", ("a b", ""))):
        boosted = BoostedMetric(HashMetric(), Erasure(), -0.3, 0.6, side=side)
        assert score(boosted, [pair]).tolist() == score(HashMetric(), [pair]).tolist()
    assert boosted.score([]).shape == (0,)

    class Infinite(HashMetric):
        def score(self, pairs):
            return np.full(len(pairs), np.inf)

    with pytest.raises(BmxError, match="source 'one' and hypothesis 'one' have a score"), np.errstate(all="ignore"):
        score(BoostedMetric(Infinite(), Erasure(), -0.3, 0.6), [("one", "one")])
    with pytest.raises(ConfigError, match="Ter: lower scores are better"):
        BoostedMetric(Ter(), Erasure(), 1.0, 0.5)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        pytest.param({"p": -0.4}, False, id="p"),
        pytest.param({"w": 0.5}, False, id="w"),
        pytest.param({"side": "hypothesis"}, False, id="side"),
        pytest.param({"metric": HashMetric(salt=1)}, False, id="a setting of the metric"),
        pytest.param({"explainer": Erasure("single_space")}, False, id="a setting of the explainer"),
        pytest.param({"seed": 1}, True, id="seed where nothing is drawn"),
        pytest.param({"max_texts": 5}, True, id="max_texts"),
        pytest.param({"metric": HashMetric(log="x")}, True, id="a runtime field of the metric"),
    ],
)
def test_what_changes_the_identity(change, same):
    plain = BoostedMetric(HashMetric(), Erasure(), -0.3, 0.6)
    assert (canonical_json(plain.fingerprint()) == canonical_json(replace(plain, **change).fingerprint())) is same


def test_the_seed_is_identity_where_something_is_drawn_and_one_number_is_one_identity_however_it_is_written():
    drawing = BoostedMetric(HashMetric(), Random(), -0.3, 0.6)
    assert drawing.fingerprint() != replace(drawing, seed=1).fingerprint()
    assert not np.array_equal(score(drawing, PAIRS), score(replace(drawing, seed=1), PAIRS))
    of_int, written, minus = (BoostedMetric(HashMetric(), Erasure(), p, 0) for p in (0, 0.0, -0.0))
    assert of_int.fingerprint() == written.fingerprint() == minus.fingerprint()
    assert canonical_json(replace(of_int, p=float("-inf")).fingerprint())


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param({}, (SentenceBleu(), Erasure()), id="the paper's appendix E"),
        pytest.param({"metric": LOWER, "explainer": "lime"}, (Chrf(lowercase=True), Lime()), id="by mapping and name"),
        pytest.param({"metric": "boosted"}, (BOOSTED_BLEU, Erasure()), id="nested"),
    ],
)
def test_the_yaml_names_its_parts(parts, expected):
    boosted = build({**load_option("metric", "boosted", 0), **parts}, Metric, "metric.boosted")
    expected = BoostedMetric(*expected, -0.3, 0.6)
    assert boosted.fingerprint() == expected.fingerprint()
    assert boosted.reads == ("reference", "hypothesis")
    assert boosted.signature == expected.signature


def test_a_part_given_by_name_draws_from_the_seed_of_what_it_belongs_to():
    boosted = build({**load_option("metric", "boosted", 7), "metric": "random"}, BoostedMetric, "metric.boosted")
    assert boosted.metric.settings()["seed"] == 7
    assert boosted.reads == ("source", "hypothesis")
