"""Texts as bits of one integer: which masks are counted so, and that nothing but speed depends on it."""

import numpy as np
import pytest
import sacrebleu
from nasty import masked
from pairs import pairs_of, request_of

from bmx_grid.metrics import sentence_bleu
from bmx_grid.metrics._ngrams import NgramCounts, count_ngrams, sides_of_request
from bmx_grid.metrics.sentence_bleu import SentenceBleu, _bit_side, count_masked
from bmx_grid.words.perturbation import Plan, Request

TOKENIZER = sentence_bleu._tokenizer("13a", False)
SIDES = ("ground_truth", "hypothesis")


def numbered(count: int, step: int = 1) -> str:
    return " ".join(f"w{number}" for number in range(0, count * step, step))


CASES = [
    pytest.param("the cat sat on the mat .", "a cat sat on a mat .", "UNKWORDZ", True, id="plain"),
    pytest.param("a a a a a b a b a b", "a a b a b", "UNKWORDZ", True, id="ngrams-clipped-in-every-order"),
    pytest.param("a a b", "a a a b b", "UNKWORDZ", True, id="fixed-side-holds-more"),
    pytest.param(numbered(63), numbered(63), "UNKWORDZ", True, id="63-tokens"),
    pytest.param(numbered(64), numbered(64), "UNKWORDZ", True, id="64-tokens"),
    pytest.param(" ".join(["a b"] * 32), " ".join(["a b"] * 20), "UNKWORDZ", True, id="64-tokens-clipped"),
    pytest.param(numbered(65), numbered(65), "UNKWORDZ", False, id="65-tokens"),
    pytest.param(numbered(130), numbered(65, 2), "UNKWORDZ", False, id="130-tokens"),
    pytest.param(numbered(20), numbered(130), "UNKWORDZ", True, id="130-tokens-on-the-fixed-side"),
    pytest.param("so 5,3-7. isn't (it)", "so 5,3-7. is (it)", "UNKWORDZ", True, id="words-of-several-tokens"),
    pytest.param("a b c d", "a b c d", "two words", True, id="stand-in-of-two-tokens"),
    pytest.param("a UNKWORDZ b a", "a b c", "UNKWORDZ", True, id="stand-in-on-the-masked-side"),
    pytest.param("a b c", "a UNKWORDZ b c", "UNKWORDZ", False, id="stand-in-on-the-fixed-side"),
    pytest.param("a b c", "a words b c", "two words", False, id="half-of-the-stand-in-on-the-fixed-side"),
    pytest.param("a  b c", "a b c", "UNKWORDZ", False, id="empty-word"),
    pytest.param("a <skipped> b c", "a b c", "UNKWORDZ", False, id="word-without-tokens"),
    pytest.param("a b c", "a b c", "<skipped>", False, id="stand-in-without-tokens"),
    pytest.param("a b c", "a b c", "", False, id="emptied"),
    pytest.param("a b c", "a b c", None, False, id="deleted"),
    pytest.param("a b\n c", "a b c", "UNKWORDZ", False, id="line-feed"),
    pytest.param("a b c", "", "UNKWORDZ", True, id="nothing-to-share"),
    pytest.param("", "a b c", "UNKWORDZ", True, id="no-words"),
]


def oracle(request: Request) -> list[float]:
    settings = {"smooth_method": "add-k", "smooth_value": 1}
    return [sacrebleu.sentence_bleu(text, [truth], **settings).score / 100 for truth, text in pairs_of(request)]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("text", "other", "stand_in", "by_bits"), CASES)
def test_masks_score_as_sacrebleu_scores_the_written_texts(text, other, stand_in, by_bits, side):
    request = masked(text, other, side, stand_in)
    assert (_bit_side(request, TOKENIZER) is not None) == by_bits
    assert SentenceBleu().score_masked([request])[0].tolist() == oracle(request)


@pytest.mark.parametrize("stand_in", ["UNKWORDZ", "", None])
def test_where_nothing_is_hidden_it_does_not_matter_what_would_stand_there(stand_in):
    words = ("a", "", "b,", "b", "UNKWORDZ", "c")
    request = request_of(
        Plan(words, keep=np.ones((2, len(words)), bool), replacement=stand_in), "hypothesis", "UNKWORDZ b"
    )
    assert _bit_side(request, TOKENIZER) is not None
    assert SentenceBleu().score_masked([request])[0].tolist() == oracle(request)


@pytest.mark.parametrize("vocabulary", [1, 2, 4, 30])
def test_counts_are_those_of_the_walk_in_every_order_and_whatever_else_is_counted(vocabulary):
    rng = np.random.Generator(np.random.PCG64(17))
    requests = []
    for seed in range(30):
        text, other = (" ".join(map(str, rng.integers(vocabulary, size=rng.integers(1, 70)))) for _ in SIDES)
        requests.append(masked(text, other, SIDES[seed % 2], ("UNKWORDZ", "")[seed % 5 == 0], seed))
    assert len({_bit_side(request, TOKENIZER) is None for request in requests}) == 2
    counts, rows = count_masked(requests, TOKENIZER, 6)
    for request, row in zip(requests, rows, strict=True):
        expected = count_ngrams(sides_of_request(request, TOKENIZER), 6)
        assert counts.matches[row].tolist() == expected.matches.tolist()
        assert counts.hypothesis[row].tolist() == expected.hypothesis.tolist()
        assert counts.reference[row].tolist() == expected.reference.tolist()


@pytest.mark.parametrize(
    ("above", "fewer"), [pytest.param(2, True, id="repeats"), pytest.param(4000, False, id="too-long-to-number")]
)
def test_distinct_counts_give_back_all_counts(above, fewer):
    rng = np.random.Generator(np.random.PCG64(19))
    counts = NgramCounts(rng.integers(above, size=(300, 4)), *rng.integers(above, size=(2, 300)))
    found, row = counts.distinct()
    assert (len(found.matches) < len(counts.matches)) == fewer
    for name in ("matches", "hypothesis", "reference"):
        assert getattr(found, name)[row].tolist() == getattr(counts, name).tolist()
