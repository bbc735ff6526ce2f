"""Several references: sacreBLEU and bert-score as oracles, and the way from a table's columns to a signature."""

import dataclasses

import numpy as np
import pytest
import sacrebleu
from bert_scores import bert_scorer
from neural import MINILM, MINILM_FOLDER
from pairs import rated

from bmx_grid.attribution.explain import explain_items
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.encoders import BertScore, SentenceEmbedding
from bmx_grid.metrics.sentence_bleu import SentenceBleu
from bmx_grid.metrics.words import Rouge, Ter, Wer, WordMatch
from bmx_grid.words.perturbation import Item

WORDS = ["a", "b", "c", "d", "ab", "abc", "the", "cat", "sat", ".", ",", "mat"]
LIGHT = [
    SentenceBleu(references="all"),
    Chrf(references="all"),
    Chrf(references="all", word_order=2),
    Ter(references="all"),
    Wer(references="all"),
    Wer(references="all", ordered=False),
    WordMatch(references="all"),
    WordMatch(references="all", measure="recall"),
]


def drawn(seed: int, count: int) -> list[Item]:
    """40 items with `count` references each, some of which the hypothesis repeats, some empty."""
    rng = np.random.default_rng(seed)

    def text() -> str:
        return " ".join(rng.choice(WORDS, size=rng.integers(1, 12)))

    items = []
    for row in range(40):
        references = [text() for _ in range(count)]
        hypothesis = " ".join([*references[-1].split()[:3], text()])
        if count > 1 and row % 8 == 0:
            references[1] = ""
        items.append(Item(reference=references[0], hypothesis=hypothesis, further_references=tuple(references[1:])))
    return items


PAPER = sacrebleu.BLEU(effective_order=True, smooth_method="add-k", smooth_value=1)
EXP = {"smooth_method": "exp", "tokenize": "intl", "effective_order": False}


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("metric", "library"),
    [
        pytest.param(SentenceBleu(), PAPER, id="bleu"),
        pytest.param(SentenceBleu(**EXP), sacrebleu.BLEU(tokenize="intl"), id="bleu-exp-intl"),
        pytest.param(Chrf(), sacrebleu.CHRF(), id="chrf"),
        pytest.param(Chrf(word_order=2, lowercase=True), sacrebleu.CHRF(word_order=2, lowercase=True), id="chrf++"),
        pytest.param(Ter(), sacrebleu.TER(), id="ter"),
        pytest.param(Ter(normalized=True), sacrebleu.TER(normalized=True), id="ter-normalized"),
    ],
)
def test_equal_to_sacrebleu_for_sentences_and_corpora(metric, library, count):
    metric, items = dataclasses.replace(metric, references="all"), drawn(count, count)
    references = [[item.reference, *item.further_references] for item in items]
    expected = [
        library.sentence_score(item.hypothesis, of_item).score / 100
        for item, of_item in zip(items, references, strict=True)
    ]
    assert metric.score(items).tolist() == expected
    corpus = library.corpus_score(
        [item.hypothesis for item in items], [list(column) for column in zip(*references, strict=True)]
    )
    assert metric.combine(metric.statistics(items).sum(axis=0)) == pytest.approx(corpus.score / 100, abs=1e-14)


@pytest.mark.parametrize("metric", LIGHT, ids=lambda metric: metric.signature.partition("|")[0])
def test_alone_in_any_batch_and_in_any_order_of_references(metric):
    items = drawn(3, 3)
    together = metric.score(items)
    assert together.tolist() == [metric.score([item])[0] for item in items]
    turned = [
        item._replace(reference=further[-1], further_references=(*further[:-1], item.reference))
        for item in items
        for further in [item.further_references]
    ]
    assert metric.score(turned).tolist() == pytest.approx(together.tolist(), abs=1e-15)
    mixed = [items[0], items[1]._replace(further_references=())]
    assert metric.score(mixed)[1] == metric.score(mixed[1:])[0]


@pytest.mark.parametrize(
    ("metric", "reference", "further", "hypothesis", "expected"),
    [
        pytest.param(Wer(), "a b c d", ("a x",), "a b", 0.5, id="wer-first-of-equal-rates"),
        pytest.param(Wer(), "a b c d", ("a b c",), "a b", 1 / 3, id="wer-lowest-rate"),
        pytest.param(Wer(ordered=False), "c b a x", ("b a",), "a b", 0.0, id="per"),
        pytest.param(WordMatch(), "x y", ("a b c",), "a b", 0.8, id="f1-of-the-best"),
        pytest.param(WordMatch(measure="recall"), "a b c d", ("x", "a"), "a b", 1.0, id="recall-of-the-best"),
        pytest.param(Rouge(), "a dog", ("the cat", "no"), "the cat", 1.0, id="rouge-of-the-best"),
    ],
)
def test_scores_with_several_references_are_those_by_hand(metric, reference, further, hypothesis, expected):
    item = Item(reference=reference, hypothesis=hypothesis, further_references=further)
    assert dataclasses.replace(metric, references="all").score([item])[0] == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("explained", [SentenceBleu, Chrf], ids=lambda kind: kind.__name__)
def test_explainers_perturb_the_first_reference_and_the_hypothesis_against_all(explained):
    metric = explained(references="all")
    item = Item(reference="the cat sat", hypothesis="a cat sat here", further_references=("a cat is here", "b c"))
    (explanation,) = explain_items(metric, Erasure(), [item], 0)
    assert explanation.base_score == metric.score([item])[0]
    for role in ("hypothesis", "reference"):
        plan = Erasure().plan(tuple(item.text(role).split()), np.random.default_rng(0))
        scores = metric.score([item.replace_text(role, text) for text in plan.render()])
        assert explanation.attributions[role].tolist() == Erasure().attribute(plan, scores).tolist()
    (single,) = explain_items(explained(), Erasure(), [item._replace(further_references=())], 0)
    assert explanation.attributions["hypothesis"].tolist() != single.attributions["hypothesis"].tolist()


@pytest.mark.parametrize(
    ("further", "nrefs"),
    [
        pytest.param([("b",), ("c",)], "2", id="two-each"),
        pytest.param([("b",), ("c", "d")], "var", id="different-numbers"),
        pytest.param([(), ("c",)], "var", id="some-have-one"),
        pytest.param([(), ()], "1", id="none-further"),
    ],
)
def test_the_signature_says_how_many(further, nrefs):
    segments = rated([Item("s", "a cat", "the cat", texts) for texts in further])
    fitted = SentenceBleu(references="all").fit(segments)
    assert f"|nrefs:{nrefs}|" in fitted.signature
    assert (fitted.fingerprint() == SentenceBleu().fingerprint()) == (nrefs == "1")
    assert SentenceBleu().fit(segments) == SentenceBleu()


def test_metrics_on_embeddings_take_the_best_reference():
    pytest.importorskip("bert_score")
    items = [
        Item(reference="A dog", hypothesis="The cat sat .", further_references=("The dog sat .", "Prices rose")),
        Item(reference="The mat", hypothesis="a mat", further_references=("one mat", "a dog")),
        Item(reference="He paid", hypothesis="a dog"),
    ]
    references = [[item.reference, *item.further_references] for item in items]
    library = bert_scorer(MINILM_FOLDER, num_layers=6, batch_size=1)
    (_, _, expected) = library.score([item.hypothesis for item in items], references)
    settings = {"model": MINILM, "ground_truth": "reference", "references": "all"}
    assert BertScore(layer=6, **settings).score(items).tolist() == pytest.approx(expected.tolist(), abs=1e-5)
    embedded = SentenceEmbedding(**settings)
    each = [
        [embedded.score([item._replace(reference=text, further_references=())])[0] for text in texts]
        for item, texts in zip(items, references, strict=True)
    ]
    assert embedded.score(items).tolist() == pytest.approx([max(scores) for scores in each], abs=1e-6)
    assert embedded.fit(rated(items[:1])).signature.endswith("|nrefs:3")
