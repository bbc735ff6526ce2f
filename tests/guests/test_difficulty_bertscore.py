"""Difficulty-aware BERTScore against plain loops over the equations of the paper, and what it promises beside them."""

import pickle

import numpy as np
import pytest
from neural import MINILM, embedded
from plain_difficulty import Plain, corpus, f_score

from bmx_grid.core.errors import ConfigError
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.guests.difficulty import difficulty_bertscore
from bmx_grid.guests.difficulty.difficulty_bertscore import DifficultyBertScore
from bmx_grid.metrics.encoders import BertScore
from bmx_grid.words.perturbation import Item

REFERENCE = "The cat sat on the mat ."
SEGMENTS = [
    (REFERENCE, {"A": "A cat sat on the mat .", "B": "The dog sat on the mat .", "C": "On the mat sat a cat ."}),
    (
        "A dog ran across the road , and nobody saw it .",  # a token that stands twice, one that stands three times
        {"A": "A dog ran over a road , nobody saw it .", "B": "", "C": "Nobody saw the dog , and it ran ."},
    ),
    (
        "the mat the cat the dog the book",
        {"A": "the cat the book", "B": "a mat a cat a dog a book", "C": "the the the the"},
    ),
    ("He paid 3.5 euros .", {"A": "He paid 3.5 euros .", "B": "He paid 3.5 euros .", "C": "Er zahlte 3,5 Euro ."}),
]
HUMAN = {"A": 0.3, "B": -0.1, "C": 0.2}
SYSTEMS = list(HUMAN)


def segment_set(segments=SEGMENTS, systems=SYSTEMS, human=HUMAN) -> SegmentSet:
    """System by system, as WMT's files are."""
    rows = [
        Segment(str(number), outputs[system], source="s", reference=reference, system=system)
        for system in systems
        for number, (reference, outputs) in enumerate(segments)
        if system in outputs
    ]
    judged = Judgements({"da": np.full(len(rows), np.nan)}, systems={"da": human})
    return SegmentSet("toy", "de-en", tuple(rows), judged)


def metric(folder, **settings) -> DifficultyBertScore:
    return DifficultyBertScore(**{"model": folder, "layer": 2, "device": "cpu", **settings})


def items_of(system, segments=SEGMENTS) -> list[Item]:
    return [Item(reference=reference, hypothesis=outputs[system]) for reference, outputs in segments]


@pytest.mark.parametrize(
    ("name", "settings", "plainly"),
    [
        pytest.param("bert", {}, {}, id="as the authors"),
        pytest.param("xlm_roberta", {"specials": "excluded"}, {"matchable": False}, id="specials excluded"),
        pytest.param("bert", {"repeated": "mean"}, {"running": False}, id="mean of repeated"),
        pytest.param("bert", {"baseline": 0.3}, {"baseline": 0.3}, id="rescaled"),
    ],
)
def test_equals_plain_loops_over_the_equations(tiny_model, name, settings, plainly):
    fitted = metric(tiny_model(name), **settings).fit(segment_set())
    plain = Plain(tiny_model(name), 2, SEGMENTS, **plainly)
    for system, expected in plain.of_systems(SYSTEMS, SYSTEMS).items():
        statistics = fitted.statistics(items_of(system))
        assert statistics[:, :2] == pytest.approx(np.array(expected), abs=1e-6)
        assert fitted.score(items_of(system)).tolist() == pytest.approx([f_score(*pair) for pair in expected], abs=1e-6)
        assert fitted.combine(statistics.sum(axis=0)) == pytest.approx(corpus(expected), abs=1e-6)


def test_scores_depend_neither_on_the_batch_nor_on_the_order_of_systems(tiny_model):
    folder = tiny_model("bert")
    everything = [item for system in SYSTEMS for item in items_of(system)]
    expected = metric(folder).fit(segment_set()).score(everything)
    for order, batch_tokens in ((SYSTEMS[::-1], 1), (["B", "A", "C"], 40)):
        difficulty_bertscore._prepared.cache_clear()
        fitted = metric(folder, batch_tokens=batch_tokens).fit(segment_set(systems=order))
        alone = np.concatenate([fitted.score([item]) for item in everything[::-1]])[::-1]
        assert alone.tolist() == pytest.approx(expected.tolist(), abs=1e-6)
        assert fitted.fingerprint() == metric(folder).fit(segment_set()).fingerprint()


def test_each_text_is_embedded_once(tiny_model, monkeypatch):
    texts = embedded(monkeypatch)
    difficulty_bertscore._prepared.cache_clear()
    fitted = metric(tiny_model("bert")).fit(segment_set())
    for system in SYSTEMS:
        fitted.score(items_of(system))
    distinct = {text for reference, outputs in SEGMENTS for text in (reference, *outputs.values())}
    assert len(texts) == len(set(texts)) == len(distinct)


def test_what_it_was_fitted_on_is_its_identity(tiny_model):
    alone = metric(tiny_model("bert"))
    fits = {
        "unfitted": alone,
        "all": alone.fit(segment_set()),
        "two": alone.fit(segment_set(systems=["A", "B"])),
        "other segments": alone.fit(segment_set(SEGMENTS[:2])),
    }
    signatures = {fit.signature for fit in fits.values()}
    assert len(signatures) == len({str(fit.fingerprint()) for fit in fits.values()}) == len(fits)
    assert "fitted_on:nothing" in fits["unfitted"].signature
    assert "fitted_on:3 systems (A+B+C) on 4 segments, " in fits["all"].signature
    shuffled = segment_set()
    assert alone.fit(shuffled.take(np.arange(len(shuffled))[::-1])) == fits["all"]
    assert pickle.loads(pickle.dumps(fits["all"])) == fits["all"]


def test_unfitted_it_is_bert_score_and_says_so(tiny_model):
    folder = tiny_model("bert")
    with pytest.warns(UserWarning, match="not fitted"):
        scores = metric(folder).score(items_of("C"))
    assert scores.tolist() == pytest.approx(
        BertScore(model=folder, layer=2, ground_truth="reference").score(items_of("C")).tolist(), abs=1e-6
    )


def test_where_all_systems_say_the_same_as_the_reference_the_score_is_0_and_counted(tiny_model):
    segments = [(REFERENCE, {"A": REFERENCE, "B": REFERENCE})]
    fitted = metric(tiny_model("bert")).fit(segment_set(segments, ["A", "B"]))
    assert fitted.statistics(items_of("A", segments)).tolist() == [[0.0, 0.0, 1.0, 1.0]]
    of_another = fitted.statistics([Item(reference=REFERENCE, hypothesis="A dog .")])
    assert of_another[0, 1] == 0 and of_another[0, 3] == 1 and fitted.combine(of_another).tolist() == [0.0]


@pytest.mark.parametrize("hypothesis", [SEGMENTS[2][1]["A"], "unknown words"], ids=["known", "perturbed"])
@pytest.mark.parametrize(
    ("reference", "places"),
    [
        ("mat the cat the dog the book", [1, 2, 3, 4, 5, 6, 7]),  # a word is gone: the others keep their weights
        ("the mat the cat dog the book", [0, 1, 2, 3, 5, 6, 7]),
        ("the mat book", [0, 1, 7]),
    ],
)
def test_a_perturbed_reference_keeps_the_weights_of_its_segment(tiny_model, reference, places, hypothesis):
    folder = tiny_model("bert")
    fitted = metric(folder).fit(segment_set())
    plain = Plain(folder, 2, SEGMENTS)
    original, outputs = SEGMENTS[2]
    weights = np.array(plain.difficulties(original, list(outputs.values())))[places]
    similar = plain.best(reference, hypothesis)
    assert len(similar) == len(places)
    of_type = plain.weights([token for token, _ in similar], weights)
    precision_of = plain.best(hypothesis, reference)
    expected = [
        np.mean([of_type.get(token, 1.0) * similarity for token, similarity in precision_of]),
        np.mean([weight * similarity for weight, (_, similarity) in zip(weights, similar, strict=True)]),
    ]
    statistics = fitted.statistics([Item(reference=reference, hypothesis=hypothesis)])[0, :2]
    assert statistics.tolist() == pytest.approx(expected, abs=1e-6)


def test_a_reference_of_two_segments_has_the_weights_of_the_segment_of_the_pair(tiny_model):
    folder = tiny_model("bert")
    segments = [
        (REFERENCE, {"A": "A cat sat .", "B": "The dog sat on the mat ."}),
        (REFERENCE, {"A": "On the mat .", "B": "The dog sat on the mat ."}),
    ]
    fitted = metric(folder).fit(segment_set(segments, ["A", "B"]))
    expected = Plain(folder, 2, segments).of_systems(["A", "B"], ["A", "B"])
    for system in ("A", "B"):
        sums = fitted.statistics(items_of(system, segments)).sum(axis=0)
        assert fitted.combine(sums) == pytest.approx(corpus(expected[system]), abs=1e-6)


def test_statistics_as_fitted_on_the_best_systems(tiny_model):
    folder = tiny_model("bert")
    fitted = metric(folder, best=True).fit(segment_set())
    assert fitted.columns_of_best() == {2: (4, 5), 3: (6, 7)}
    for best, (precision, recall) in zip((["A", "C"], SYSTEMS), fitted.columns_of_best().values(), strict=True):
        alone = metric(folder).fit(segment_set(systems=best))
        statistics = fitted.statistics(items_of("B"))
        expected = alone.statistics(items_of("B"))[:, :2]
        assert statistics[:, [precision, recall]] == pytest.approx(expected, abs=1e-6)


def test_what_it_cannot_be_fitted_on_is_said():
    with pytest.raises(ConfigError, match="several systems.*but toy de-en has A"):
        metric(MINILM).fit(segment_set(systems=["A"]))
    with pytest.raises(ConfigError, match="people did not score B, C"):
        metric(MINILM, best=True).fit(segment_set(human={"A": 1.0}))


def test_a_segment_of_one_output_is_warned_of(tiny_model):
    segments = [*SEGMENTS[:2], ("the road", {"A": "a road"})]
    with pytest.warns(UserWarning, match="1 of 3 segments.*fewer than two"):
        fitted = metric(tiny_model("bert")).fit(segment_set(segments))
    assert np.isfinite(fitted.score(items_of("A", segments))).all()
