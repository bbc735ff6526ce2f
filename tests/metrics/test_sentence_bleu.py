"""Sentence BLEU against sacreBLEU: not close to it, equal to it."""

import dataclasses
import logging
import sys

import numpy as np
import pytest
import sacrebleu
from nasty import PAIRS, masked, random_text, requests_of, short_texts
from pairs import items, pairs_of, request_of, score

from bmx_grid.core.configure import build
from bmx_grid.core.errors import ConfigError, UnavailableError
from bmx_grid.metrics import sentence_bleu
from bmx_grid.metrics.base import Metric
from bmx_grid.metrics.sentence_bleu import SentenceBleu
from bmx_grid.words.perturbation import Plan

SETTINGS = [
    pytest.param({}, id="paper"),
    pytest.param({"smooth_value": 0.3, "lowercase": True}, id="add-0.3-lowercase"),
    pytest.param({"smooth_method": "exp"}, id="exp"),
    pytest.param({"smooth_method": "exp", "effective_order": False}, id="exp-all-orders"),
    pytest.param({"smooth_method": "floor", "effective_order": False}, id="floor-all-orders"),
    pytest.param({"smooth_method": "floor", "smooth_value": 0.01}, id="floor-0.01"),
    pytest.param({"smooth_method": "none"}, id="unsmoothed"),
    pytest.param({"smooth_method": "none", "effective_order": False}, id="unsmoothed-all-orders"),
    pytest.param({"tokenize": "none"}, id="untokenised"),
    pytest.param({"tokenize": "char", "lowercase": True}, id="characters-lowercase"),
]
AS_WHOLE = [pytest.param({"tokenize": "intl"}, id="intl"), pytest.param({"tokenize": "zh"}, id="zh")]


@pytest.fixture(autouse=True)
def _quiet_library():
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)  # it advises against all orders, pair by pair


def oracle(settings: dict, pairs) -> list[float]:
    made = SentenceBleu(**settings).library_settings()
    made["use_effective_order"] = made.pop("effective_order")
    return [sacrebleu.sentence_bleu(hypothesis, [reference], **made).score / 100 for reference, hypothesis in pairs]


@pytest.mark.parametrize("settings", SETTINGS + AS_WHOLE)
def test_texts_score_as_sacrebleu_scores_them(settings):
    rng = np.random.Generator(np.random.PCG64(7))
    pairs = [param.values for param in PAIRS]
    pairs += [(random_text(rng, 12), random_text(rng, 12)) for _ in range(100)]
    assert score(SentenceBleu(**settings), pairs).tolist() == oracle(settings, pairs)


@pytest.mark.parametrize(("reference", "hypothesis"), PAIRS)
def test_masks_score_as_sacrebleu_scores_the_written_texts(reference, hypothesis):
    assert_as_the_oracle(requests_of(reference, hypothesis))


def assert_as_the_oracle(requests, **settings):
    for request, scores in zip(requests, SentenceBleu(**settings).score_masked(requests), strict=True):
        assert scores.tolist() == oracle(settings, pairs_of(request)), request


def numbered(count: int, step: int = 1) -> str:
    return " ".join(f"w{number}" for number in range(0, count * step, step))


BITS = [  # where masks can be counted as bits of 64 tokens, and where not
    pytest.param("a a a a a b a b a b", "a a b a b", "UNKWORDZ", id="ngrams-clipped-in-every-order"),
    pytest.param("a a b", "a a a b b", "UNKWORDZ", id="fixed-side-holds-more"),
    pytest.param(numbered(63), numbered(63), "UNKWORDZ", id="63-tokens"),
    pytest.param(numbered(64), numbered(64), "UNKWORDZ", id="64-tokens"),
    pytest.param(" ".join(["a b"] * 32), " ".join(["a b"] * 20), "UNKWORDZ", id="64-tokens-clipped"),
    pytest.param(numbered(65), numbered(65), "UNKWORDZ", id="65-tokens"),
    pytest.param(numbered(20), numbered(130), "UNKWORDZ", id="130-tokens-on-the-fixed-side"),
    pytest.param(numbered(2000), numbered(2000), "UNKWORDZ", id="more-counts-than-64-bits-number"),
    pytest.param("so 5,3-7. isn't (it)", "so 5,3-7. is (it)", "UNKWORDZ", id="words-of-several-tokens"),
    pytest.param("a b c d", "a b c d", "two words", id="stand-in-of-two-tokens"),
    pytest.param("a UNKWORDZ b a", "a b c", "UNKWORDZ", id="stand-in-on-the-masked-side"),
    pytest.param("a b c", "a UNKWORDZ b c", "UNKWORDZ", id="stand-in-on-the-fixed-side"),
    pytest.param("a b c", "a words b c", "two words", id="half-of-the-stand-in-on-the-fixed-side"),
    pytest.param("a  b c", "a b c", "UNKWORDZ", id="empty-word"),
    pytest.param("a <skipped> b c", "a b c", "UNKWORDZ", id="word-without-tokens"),
    pytest.param("a b c", "a b c", "<skipped>", id="stand-in-without-tokens"),
    pytest.param("a b\n c", "a b c", "UNKWORDZ", id="line-feed"),
]


@pytest.mark.parametrize("side", ["ground_truth", "hypothesis"])
@pytest.mark.parametrize(("text", "other", "stand_in"), BITS)
def test_masks_counted_as_bits_score_as_written_texts(text, other, stand_in, side):
    request = masked(text, other, side, stand_in)
    some = np.concatenate([request.plan.keep[:12], request.plan.keep[-6:]])
    assert_as_the_oracle([dataclasses.replace(request, plan=dataclasses.replace(request.plan, keep=some))])


@pytest.mark.parametrize("stand_in", ["UNKWORDZ", "", None])
def test_where_nothing_is_hidden_it_does_not_matter_what_would_stand_there(stand_in):
    plan = Plan(("a", "", "b,", "b", "UNKWORDZ", "c"), keep=np.ones((2, 6), bool), replacement=stand_in)
    assert_as_the_oracle([request_of(plan, "hypothesis", "UNKWORDZ b")])


@pytest.mark.parametrize("vocabulary", [1, 2, 4, 30])
def test_masks_of_all_kinds_are_scored_together(vocabulary):
    rng = np.random.Generator(np.random.PCG64(17))
    requests = []
    for seed in range(20):
        text, other = (" ".join(map(str, rng.integers(vocabulary, size=rng.integers(1, 70)))) for _ in range(2))
        side = ("ground_truth", "hypothesis")[seed % 2]
        requests.append(masked(text, other, side, ("UNKWORDZ", "")[seed % 5 == 0], seed))
    assert_as_the_oracle(requests)


@pytest.mark.parametrize("settings", SETTINGS)
def test_masks_of_random_texts_score_as_sacrebleu_scores_them(settings):
    rng = np.random.Generator(np.random.PCG64(11))
    requests = []
    for side, stand_in in [
        ("hypothesis", "UNKWORDZ"),
        ("ground_truth", None),
        ("hypothesis", ""),
        ("ground_truth", ","),
    ]:
        requests += [masked(random_text(rng, 14), random_text(rng, 14), side, stand_in, seed) for seed in range(4)]
    assert_as_the_oracle(requests, **settings)


@pytest.mark.parametrize("name", sentence_bleu._BY_WORD)
def test_tokens_of_a_text_are_the_tokens_of_its_words(name):
    rng = np.random.Generator(np.random.PCG64(3))
    tokenizer, library = sentence_bleu._tokenizer(name, False), sentence_bleu._library_tokenizer(name)
    texts = short_texts(" .,-5a&\N{NO-BREAK SPACE}", 4) + [random_text(rng, 15) for _ in range(500)]
    for text in texts:
        assert tokenizer.text(text) == tuple(library(text.rstrip()).split()), repr(text)


def test_13a_leaves_letters_and_digits_of_all_scripts_together():
    word = "".join(character for character in map(chr, range(sys.maxunicode + 1)) if character.isalnum())
    assert sentence_bleu._library_tokenizer("13a")(word).split() == [word]
    assert sentence_bleu._tokenizer("13a", False).word(word) == (word,)


@pytest.mark.parametrize("settings", AS_WHOLE)
def test_tokenizers_that_look_at_the_ends_of_a_text_have_no_short_cut(settings):
    tokenizer = sentence_bleu._library_tokenizer(settings["tokenize"])
    assert tokenizer("5.").split() + tokenizer("a").split() != tokenizer("5. a").split()
    assert SentenceBleu(**settings).score_masked([masked("a b", "a b", "hypothesis", None)]) is None


def test_requests_with_written_texts_without_texts_and_without_words():
    written = request_of(Plan(("a", "b"), texts=["a b", "", "b"]), "hypothesis", "a b")
    nothing = request_of(Plan(("a",), keep=np.empty((0, 1), bool)), "ground_truth", "a")
    wordless = request_of(Plan((), keep=np.empty((2, 0), bool), replacement="UNKWORDZ"), "hypothesis", "a b")
    for requests in ([written, nothing, wordless], [nothing], [wordless, nothing], []):
        found = SentenceBleu().score_masked(requests)
        assert [scores.tolist() for scores in found] == [oracle({}, pairs_of(request)) for request in requests]


def test_real_segments_score_as_sacrebleu_scores_them_and_correlate_as_published_sentbleu_does(wmt17):
    for pair, expected in zip(wmt17, (0.4305, 0.4159, 0.5631, 0.3806, 0.4729, 0.5464, 0.5146), strict=True):
        pairs = list(zip(pair.texts("reference"), pair.texts("hypothesis"), strict=True))
        scores = score(SentenceBleu(), pairs)
        assert scores[::20].tolist() == oracle({}, pairs[::20])
        assert np.corrcoef(scores, pair.human_scores)[0, 1] == pytest.approx(expected, abs=5e-5)
        assert_as_the_oracle([masked(*text, "ground_truth", "UNKWORDZ") for text in pairs[::80]])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({}, "BLEU|nrefs:1|case:mixed|eff:yes|tok:13a|smooth:add-k[1.00]|version:", id="paper"),
        pytest.param(
            {"tokenize": "intl", "smooth_method": "exp", "lowercase": True, "effective_order": False},
            "BLEU|nrefs:1|case:lc|eff:no|tok:intl|smooth:exp|version:",
            id="sacrebleu-corpus-defaults",
        ),
    ],
)
def test_signature_is_sacrebleus(settings, expected):
    assert SentenceBleu(**settings).signature == expected + sacrebleu.__version__


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param({"smooth_value": 0.0}, "smooth_value=0: .*smooth_method=none", id="zero"),
        pytest.param({"smooth_value": -1.0}, "smooth_value=-1: .*above 0", id="negative"),
        pytest.param({"smooth_value": float("nan")}, "smooth_value=nan: .*above 0", id="nan"),
        pytest.param({"smooth_method": "exp", "smooth_value": 1.0}, "takes no value", id="value-without-use"),
        pytest.param({"tokenize": "13b"}, "tokenize: unknown value '13b'. Did you mean '13a'", id="tokenizer"),
        pytest.param({"smooth_method": "add-one"}, "unknown value 'add-one'", id="smoothing"),
    ],
)
def test_values_that_cannot_be_are_refused_with_the_way_out(settings, message):
    with pytest.raises(ConfigError, match=message):
        build({"_target_": "bmx_grid.metrics.sentence_bleu.SentenceBleu", **settings}, Metric, "metric.sentence_bleu")


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_a_tokenizer_without_its_libraries_says_how_to_get_them(monkeypatch, language):
    module = pytest.importorskip(f"sacrebleu.tokenizers.tokenizer_{language}_mecab")
    monkeypatch.setattr(module, "MeCab", None, raising=False)
    sentence_bleu._library_tokenizer.cache_clear()
    metric = SentenceBleu(tokenize=f"{language}-mecab")
    for ask in (metric.check, lambda: metric.signature, lambda: score(metric, [("a", "a")])):
        with pytest.raises(UnavailableError, match=rf"pip install 'sacrebleu\[{language}\]'"):
            ask()


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_score_of_a_system_is_sacrebleus_corpus_score(settings):
    rng = np.random.Generator(np.random.PCG64(5))
    pairs = [param.values for param in PAIRS] + [(random_text(rng, 12), random_text(rng, 12)) for _ in range(40)]
    references, hypotheses = zip(*pairs, strict=True)
    metric = SentenceBleu(**settings)
    bleu = sacrebleu.BLEU(**metric.library_settings())
    expected = bleu.corpus_score(list(hypotheses), [list(references)]).score / 100
    assert float(metric.combine(metric.statistics(items(pairs)).sum(axis=0))) == pytest.approx(expected, abs=1e-15)
