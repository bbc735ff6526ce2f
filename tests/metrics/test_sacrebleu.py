"""Sentence BLEU, chrF and TER against sacreBLEU: not close to it, equal to it."""

import dataclasses
import itertools
import logging
import re

import numpy as np
import pytest
import sacrebleu
import sentencepiece
from pairs import items, pairs_of, request_of, score
from real_data import read

import bmx_grid
from bmx_grid.core.errors import UnavailableError
from bmx_grid.metrics import sentence_bleu
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.sentence_bleu import SentenceBleu
from bmx_grid.metrics.words import Ter
from bmx_grid.words.perturbation import Plan
from bmx_grid.words.segmentation import split_words

PAPER = SentenceBleu()
LIBRARY = {SentenceBleu: sacrebleu.BLEU, Chrf: sacrebleu.CHRF, Ter: sacrebleu.TER}
MASKED = [
    pytest.param(SentenceBleu(), id="BLEU"),
    pytest.param(SentenceBleu(smooth_value=0.3, lowercase=True), id="BLEU add-0.3-lowercase"),
    pytest.param(SentenceBleu(smooth_method="exp", effective_order=False), id="BLEU exp-all-orders"),
    pytest.param(SentenceBleu(smooth_method="floor", smooth_value=0.01), id="BLEU floor-0.01"),
    pytest.param(SentenceBleu(smooth_method="none", effective_order=False), id="BLEU unsmoothed-all-orders"),
    pytest.param(SentenceBleu(tokenize="none"), id="BLEU untokenised"),
    pytest.param(SentenceBleu(tokenize="char", lowercase=True), id="BLEU characters-lowercase"),
    pytest.param(Chrf(), id="chrF2"),
    pytest.param(Chrf(word_order=2), id="chrF2++"),
    pytest.param(Chrf(word_order=1, beta=1, lowercase=True), id="chrF1+-lowercase"),
    pytest.param(Chrf(char_order=1, beta=3), id="chrF3-single-characters"),
    pytest.param(Chrf(char_order=0, word_order=1, beta=1), id="chrF1+-words-alone"),
]
WRITTEN = [
    pytest.param(SentenceBleu(tokenize="intl"), id="BLEU intl"),
    pytest.param(SentenceBleu(tokenize="zh"), id="BLEU zh"),
    pytest.param(Ter(), id="TER"),
    pytest.param(Ter(normalized=True), id="TER normalized"),
    pytest.param(Ter(normalized=True, no_punct=True), id="TER normalized-without-punctuation"),
    pytest.param(Ter(normalized=True, asian_support=True), id="TER asian"),
]

# What tokenizers, entity tables and white space have rules for, and letters that are more than one character.
PIECES = (
    *(".", ",", "-", "'", '"', "&", "<", ">", "/", "@", "5", "12"),
    *("a", "the", "A", "É", "Σ", "ΟΔΟΣ", "İ", "ß", "漢", "。"),
    *("&quot;", "&amp;", "&amp;amp;", "&apos;", "&lt;", "quot;", "<skipped>", "<skip", "ped>", "UNKWORDZ", "_", "~"),
    *("\N{NO-BREAK SPACE}", "\N{IDEOGRAPHIC SPACE}", "\N{LINE SEPARATOR}", "\x85", "\x1c", "\t", "\r", "\n", "-\n"),
    *("\N{ZERO WIDTH SPACE}", "\N{SOFT HYPHEN}", "\N{COMBINING ACUTE ACCENT}", "\N{GRINNING FACE}", "\ufeff"),
)
PAIRS = [
    ("the cat sat on the mat .", "a cat sat on the mat ."),
    ("paid 5,3 and 3.5 -- 1-2 a.-b .5 5. ,", "paid 5,3 or 3.5 - 1-2 a.-b .5 5."),
    ("say &quot; it &amp;amp; that &apos;s", "say \" it &amp; that 's"),
    ("a\N{NO-BREAK SPACE}b c\N{NO-BREAK SPACE}", "a b c"),
    ("ΟΔΟΣ. ΣΑΣ İstanbul", "οδος . σας istanbul"),
    ("one <skipped> two", "one two <skipped>three"),
    ("so  many   spaces ", " so many  spaces"),
    ("lines-\njoined and\nsplit -\n", "linesjoined and split"),
    ("the the the the the", "the the the"),
    ("UNKWORDZ is a word UNKWORDZ here", "UNKWORDZ is a word here"),
    ("word", "word"),
    ("word", "other"),
    ("", "against nothing"),
    ("against nothing", ""),
    ("", ""),
    ("   ", " "),
    ("漢字 の 文。 5 . 3", "漢字 文。 5.3"),
    # Tercom's normalisation separates more when it is applied again, as sacreBLEU does to references.
    ("It is cheaper than Arthur's, of course.", "It is cheap compared with Arthur's, of course."),
    ("It is cheaper than Arthur's, of course.", "It is cheaper than Arthur's, of course."),
    ("Only .,5 of it", "Only .,5 of that"),
    ("&amp;lt; is less", "&lt; is less"),
]
STAND_INS = ("UNKWORDZ", "", None, "the", "5", ".", "two words", "-\n")


@pytest.fixture(autouse=True)
def _quiet_library():
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)  # it advises against all orders, pair by pair


def library(metric):
    return LIBRARY[type(metric)](**metric.library_settings())


def oracle(metric, pairs) -> list[float]:
    scorer = library(metric)
    return [scorer.sentence_score(hypothesis, [reference]).score / 100 for reference, hypothesis in pairs]


def assert_as_the_oracle(requests, metric=PAPER):
    for request, scores in zip(requests, metric.score_masked(requests), strict=True):
        assert scores.tolist() == oracle(metric, pairs_of(request)), request


def random_text(rng, n_pieces):
    """Pieces with spaces thrown in between."""
    return "".join(rng.choice([*PIECES, *[" "] * len(PIECES)]) for _ in range(n_pieces))


def some_pairs(seed, count):
    rng = np.random.Generator(np.random.PCG64(seed))
    return [*PAIRS, *((random_text(rng, 12), random_text(rng, 12)) for _ in range(count))]


def masked(text, other, side, replacement, seed=0):
    """All words, none of them, each one gone, and some random masks."""
    words = split_words(text)
    rng = np.random.Generator(np.random.PCG64(seed))
    n = len(words)
    keep = np.concatenate([np.ones((1, n)), np.zeros((1, n)), 1 - np.eye(n), rng.random((6, n)) < 0.7]).astype(bool)
    return request_of(Plan(words, keep=keep, replacement=replacement), side, other)


@pytest.mark.parametrize("metric", [*MASKED, *WRITTEN])
def test_texts_and_systems_score_as_sacrebleu_scores_them(metric):
    pairs = some_pairs(7, 60)
    assert score(metric, pairs).tolist() == oracle(metric, pairs)
    references, hypotheses = zip(*pairs, strict=True)
    expected = library(metric).corpus_score(list(hypotheses), [list(references)]).score / 100
    corpus = metric.combine(metric.statistics(items(pairs)).sum(axis=0))
    assert float(corpus) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("metric", MASKED)
def test_masks_score_as_sacrebleu_scores_the_written_texts(metric):
    requests = [
        masked(*texts, stand_in)
        for reference, hypothesis in some_pairs(11, 2)
        for texts in ((reference, hypothesis, "ground_truth"), (hypothesis, reference, "hypothesis"))
        for stand_in in STAND_INS
    ]
    assert_as_the_oracle(requests if metric == PAPER else requests[::3], metric)


def numbered(count):
    return " ".join(f"w{number}" for number in range(count))


BITS = [  # where masks can be counted as bits of 64 tokens, and where not
    pytest.param("a a a a a b a b a b", "a a b a b", "UNKWORDZ", id="ngrams-clipped-in-every-order"),
    pytest.param("a a b", "a a a b b", "UNKWORDZ", id="fixed-side-holds-more"),
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


@pytest.mark.parametrize("vocabulary", [1, 4, 30])
def test_masks_of_all_kinds_are_scored_together(vocabulary):
    rng = np.random.Generator(np.random.PCG64(17))
    requests = []
    for seed in range(20):
        text, other = (" ".join(map(str, rng.integers(vocabulary, size=rng.integers(1, 70)))) for _ in range(2))
        side = ("ground_truth", "hypothesis")[seed % 2]
        requests.append(masked(text, other, side, ("UNKWORDZ", "")[seed % 5 == 0], seed))
    assert_as_the_oracle(requests)


def test_requests_with_written_texts_without_texts_and_without_words():
    written = request_of(Plan(("a", "b"), texts=["a b", "", "b"]), "hypothesis", "a b")
    nothing = request_of(Plan(("a",), keep=np.empty((0, 1), bool)), "ground_truth", "a")
    wordless = request_of(Plan((), keep=np.empty((2, 0), bool), replacement="UNKWORDZ"), "hypothesis", "a b")
    for requests in ([written, nothing, wordless], [nothing], [wordless, nothing], []):
        assert_as_the_oracle(requests)


@pytest.mark.parametrize(
    ("metric", "correlations"),
    [
        pytest.param(SentenceBleu(), (0.4305, 0.4159, 0.5631, 0.3806, 0.4729, 0.5464, 0.5146), id="published sentBLEU"),
        pytest.param(Chrf(), (0.5121, 0.5159, 0.6638, 0.5103, 0.5884, 0.6017, 0.5872), id="chrF"),
    ],
)
def test_real_segments_score_as_sacrebleu_scores_them_and_correlate_as_expected(data_dir, metric, correlations):
    for language, expected in zip(("cs", "de", "fi", "lv", "ru", "tr", "zh"), correlations, strict=True):
        segments = read(data_dir, "wmt17", f"{language}-en", unescape=False)  # as the correlations were measured
        pairs = list(zip(segments.texts("reference"), segments.texts("hypothesis"), strict=True))
        scores = score(metric, pairs)
        assert scores[::40].tolist() == oracle(metric, pairs[::40])
        assert np.corrcoef(scores, segments.human_scores)[0, 1] == pytest.approx(expected, abs=5e-5)
        assert_as_the_oracle([masked(*text, "ground_truth", "UNKWORDZ") for text in pairs[::80]][:6], metric)


OTHERS = {"tokenize": "intl", "smooth_method": "exp", "lowercase": True, "effective_order": False}


@pytest.mark.parametrize("method", ["add-k", "exp", "floor", "none"])
def test_a_smoothing_method_alone_has_its_own_value(method):
    """Of a text without matches in higher orders, where smoothing decides the score; sacreBLEU's floor is 0.1."""
    scorer = bmx_grid.load("sentence_bleu", explainer=None, settings={"metric.smooth_method": method})
    pairs = [("the cat sat on the mat", "a dog sat on that rug"), ("the cat sat", "the dog")]
    references, hypotheses = map(list, zip(*pairs, strict=True))
    default = sacrebleu.BLEU(smooth_method=method, effective_order=True)
    expected = [default.sentence_score(hypothesis, [reference]).score / 100 for reference, hypothesis in pairs]
    assert scorer.score(hypotheses, references=references).tolist() == expected


def test_only_normalised_ter_has_another_identity():
    """Its references are normalised twice since version 2; other results did not change."""
    versions = {}
    for normalized, asian in itertools.product([False, True], repeat=2):
        metric = Ter(normalized=normalized, asian_support=asian)
        versions[normalized, asian] = metric.fingerprint()["version"]
    assert versions == {(False, False): 1, (False, True): 1, (True, False): 2, (True, True): 2}


SIGNATURES = [
    (SentenceBleu(), "BLEU|nrefs:1|case:mixed|eff:yes|tok:13a|smooth:add-k[1.00]"),
    (SentenceBleu(**OTHERS), "BLEU|nrefs:1|case:lc|eff:no|tok:intl|smooth:exp"),
    (Chrf(), "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no"),
    (Chrf(word_order=2), "chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no"),
    (Ter(), "TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no"),
]


@pytest.mark.parametrize(("metric", "expected"), SIGNATURES, ids=[text.partition("|")[0] for _, text in SIGNATURES])
def test_signature_is_sacrebleus(metric, expected):
    assert metric.signature == f"{expected}|version:{sacrebleu.__version__}"


@pytest.mark.parametrize("name", sentence_bleu._BY_WORD)
def test_tokens_of_a_text_are_the_tokens_of_its_words(name):
    rng = np.random.Generator(np.random.PCG64(3))
    tokenizer, library = sentence_bleu._tokenizer(name, False), sentence_bleu._library_tokenizer(name)
    signs = " .,-5a&\N{NO-BREAK SPACE}"
    short = ["".join(text) for length in range(5) for text in itertools.product(signs, repeat=length)]
    for text in [*short, *(random_text(rng, 15) for _ in range(500))]:
        assert tokenizer.text(text) == tuple(library(text.rstrip()).split()), repr(text)


@pytest.mark.parametrize("tokenize", ["intl", "zh"])
def test_tokenizers_that_look_at_the_ends_of_a_text_have_no_short_cut(tokenize):
    tokenizer = sentence_bleu._library_tokenizer(tokenize)
    assert tokenizer("5.").split() + tokenizer("a").split() != tokenizer("5. a").split()
    assert SentenceBleu(tokenize=tokenize).score_masked([masked("a b", "a b", "hypothesis", None)]) is None


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_a_tokenizer_without_its_libraries_says_how_to_get_them(monkeypatch, language):
    module = pytest.importorskip(f"sacrebleu.tokenizers.tokenizer_{language}_mecab")
    monkeypatch.setattr(module, "MeCab", None, raising=False)
    sentence_bleu._library_tokenizer.cache_clear()
    metric = SentenceBleu(tokenize=f"{language}-mecab")
    for ask in (metric.check, lambda: metric.signature, lambda: score(metric, [("a", "a")])):
        with pytest.raises(UnavailableError, match=rf"pip install 'sacrebleu\[{language}\]'"):
            ask()


@pytest.fixture
def sub_words(tmp_path, monkeypatch):
    """A folder of sacreBLEU's with a small sub-word model, trained on the pairs, under the name of flores200's."""
    tokenizer_spm = pytest.importorskip("sacrebleu.tokenizers.tokenizer_spm")
    for module in (sacrebleu.utils, tokenizer_spm):
        monkeypatch.setattr(module, "SACREBLEU_DIR", str(tmp_path))
    file = tmp_path / "models" / tokenizer_spm.SPM_MODELS["flores200"]["url"].rpartition("/")[2]
    file.parent.mkdir()
    texts = [f"{text.strip()} {row}" for row, text in enumerate(itertools.chain.from_iterable(PAIRS * 20))]
    arguments = {"sentence_iterator": iter(texts), "model_writer": file.open("wb"), "vocab_size": 150, "minloglevel": 2}
    with arguments["model_writer"]:
        sentencepiece.SentencePieceTrainer.train(**arguments, hard_vocab_limit=False)
    for cached in (sentence_bleu._library_tokenizer, sentence_bleu._tokenizer):
        cached.cache_clear()
    yield file
    for cached in (sentence_bleu._library_tokenizer, sentence_bleu._tokenizer):
        cached.cache_clear()


def test_spbleu_is_sacrebleus_with_the_same_sub_words(sub_words):
    metric = SentenceBleu(tokenize="flores200")
    pairs = some_pairs(11, 40)
    assert score(metric, pairs).tolist() == oracle(metric, pairs)
    assert score(metric, pairs).tolist() != score(SentenceBleu(), pairs).tolist()
    assert "|tok:flores200|" in metric.signature
    several = dataclasses.replace(metric, references="all")
    item = items([pairs[0]])[0]._replace(further_references=(pairs[1][0],))
    expected = library(metric).sentence_score(item.hypothesis, [pairs[0][0], pairs[1][0]]).score / 100
    assert several.score([item]).tolist() == [expected]
    before = metric.fingerprint()
    sub_words.write_bytes(sub_words.read_bytes() + b"\n")
    assert metric.fingerprint() != before, "another model is another metric"


def test_spbleu_without_its_model_says_where_to_put_it(sub_words):
    """And a damaged one; sacreBLEU alone would download it, or end in an error of its own."""
    metric = SentenceBleu(tokenize="flores200")
    sub_words.write_bytes(b"no model")
    with pytest.raises(UnavailableError, match="cannot be read as a model of sentencepiece; download it again"):
        metric.check()
    sub_words.unlink()
    for ask in (metric.check, lambda: metric.signature, lambda: score(metric, [("a", "a")])):
        with pytest.raises(UnavailableError, match=f"{re.escape(str(sub_words))} does not exist. Download it: curl "):
            ask()
    assert metric.fingerprint()["tokenizer"] is None
