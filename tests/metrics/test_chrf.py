"""chrF and chrF++ against sacreBLEU: not close to it, equal to it."""

import numpy as np
import pytest
import sacrebleu
from nasty import PAIRS, random_text, requests_of
from pairs import items, pairs_of, score

from bmx_grid.metrics.chrf import Chrf

SETTINGS = [
    pytest.param({}, id="chrF2"),
    pytest.param({"word_order": 2}, id="chrF2++"),
    pytest.param({"word_order": 1, "beta": 1, "lowercase": True}, id="chrF1+-lowercase"),
    pytest.param({"char_order": 1, "beta": 3}, id="chrF3-single-characters"),
    pytest.param({"char_order": 0, "word_order": 1, "beta": 1}, id="chrF1+-words-alone"),
]


def oracle(settings: dict, pairs) -> list[float]:
    chrf = sacrebleu.CHRF(**settings)
    return [chrf.sentence_score(hypothesis, [reference]).score / 100 for reference, hypothesis in pairs]


@pytest.mark.parametrize("settings", SETTINGS)
def test_texts_score_as_sacrebleu_scores_them(settings):
    rng = np.random.Generator(np.random.PCG64(7))
    pairs = [param.values for param in PAIRS]
    pairs += [(random_text(rng, 12), random_text(rng, 12)) for _ in range(60)]
    assert score(Chrf(**settings), pairs).tolist() == oracle(settings, pairs)


@pytest.mark.parametrize("settings", SETTINGS)
def test_masks_score_as_sacrebleu_scores_the_written_texts(settings):
    rng = np.random.Generator(np.random.PCG64(11))
    pairs = [*(param.values for param in PAIRS), (random_text(rng, 14), random_text(rng, 14))]
    requests = [request for pair in pairs for request in requests_of(*pair)][::3]
    for request, scores in zip(requests, Chrf(**settings).score_masked(requests), strict=True):
        assert scores.tolist() == oracle(settings, pairs_of(request)), request


def test_real_segments_score_as_sacrebleu_scores_them_and_correlate_as_expected(wmt17):
    for pair, expected in zip(wmt17, (0.5121, 0.5159, 0.6638, 0.5103, 0.5884, 0.6017, 0.5872), strict=True):
        pairs = list(zip(pair.texts("reference"), pair.texts("hypothesis"), strict=True))
        scores = score(Chrf(), pairs)
        assert scores[::40].tolist() == oracle({}, pairs[::40])
        assert np.corrcoef(scores, pair.human_scores)[0, 1] == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({}, "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:", id="chrF2"),
        pytest.param({"word_order": 2}, "chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:", id="chrF2++"),
    ],
)
def test_signature_is_sacrebleus(settings, expected):
    assert Chrf(**settings).signature == expected + sacrebleu.__version__


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_score_of_a_system_is_sacrebleus_corpus_score(settings):
    rng = np.random.Generator(np.random.PCG64(5))
    pairs = [param.values for param in PAIRS] + [(random_text(rng, 12), random_text(rng, 12)) for _ in range(40)]
    references, hypotheses = zip(*pairs, strict=True)
    expected = sacrebleu.CHRF(**settings).corpus_score(list(hypotheses), [list(references)]).score / 100
    found = Chrf(**settings).combine(Chrf(**settings).statistics(items(pairs)).sum(axis=0))
    assert float(found) == pytest.approx(expected, abs=1e-15)
