"""TER against sacreBLEU: not close to it, equal to it."""

import numpy as np
import pytest
import sacrebleu
from nasty import PAIRS, random_text
from pairs import items, score

from bmx_grid.metrics.words import Ter

SETTINGS = [
    pytest.param({}, id="default"),
    pytest.param({"case_sensitive": True}, id="case-sensitive"),
    pytest.param({"normalized": True, "no_punct": True}, id="normalized-without-punctuation"),
    pytest.param({"normalized": True, "asian_support": True}, id="asian"),
]


def some_pairs():
    rng = np.random.Generator(np.random.PCG64(5))
    return [*(param.values for param in PAIRS), *((random_text(rng, 12), random_text(rng, 12)) for _ in range(40))]


@pytest.mark.parametrize("settings", SETTINGS)
def test_texts_score_as_sacrebleu_scores_them(settings):
    ter = sacrebleu.TER(**settings)
    expected = [ter.sentence_score(hypothesis, [reference]).score / 100 for reference, hypothesis in some_pairs()]
    assert score(Ter(**settings), some_pairs()).tolist() == expected


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_system_scores_as_sacrebleu_scores_a_corpus(settings):
    pairs = some_pairs()
    metric = Ter(**settings)
    corpus = sacrebleu.TER(**settings).corpus_score([pair[1] for pair in pairs], [[pair[0] for pair in pairs]])
    assert float(metric.combine(metric.statistics(items(pairs)).sum(axis=0))) == corpus.score / 100


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [
        pytest.param("a b c d", "a b c d", 0.0, id="equal"),
        pytest.param("a b c d", "a b x d", 0.25, id="one-word-replaced"),
        pytest.param("a b c d", "c d a b", 0.25, id="one-shift"),
        pytest.param("a b", "a b c d e f", 2.0, id="more-edits-than-words"),
        pytest.param("", "a b", 1.0, id="empty-reference"),
        pytest.param("", "", 0.0, id="both-empty"),
        pytest.param("a b", "", 1.0, id="empty-hypothesis"),
    ],
)
def test_it_counts_edits_per_reference_word(reference, hypothesis, expected):
    assert score(Ter(), [(reference, hypothesis)]).tolist() == [expected]


def test_signature_is_sacrebleus():
    assert (
        Ter().signature == f"TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:{sacrebleu.__version__}"
    )
