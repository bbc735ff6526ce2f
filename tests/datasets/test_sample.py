"""The embedded sample: complete, clean, and graded so that a lexical metric is neither useless nor perfect."""

import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from bmx_grid.datasets.segments import SegmentSet
from bmx_grid.datasets.tabular import Sample

NOWHERE = Path("no/data/dir")


@pytest.fixture(params=Sample.PAIRS)
def segments(request: pytest.FixtureRequest) -> SegmentSet:
    return Sample(name="sample").read(NOWHERE, request.param)


def _bleu(hypothesis: str, reference: str) -> float:
    return float(sacrebleu.sentence_bleu(hypothesis, [reference], smooth_method="add-k", smooth_value=1).score)


def _chrf(hypothesis: str, reference: str) -> float:
    return float(sacrebleu.sentence_chrf(hypothesis, [reference]).score)


def test_every_pair_is_complete(segments: SegmentSet) -> None:
    assert len(segments) == segments.rated == 48
    assert [s.id for s in segments.segments] == [f"{segments.language_pair}-{n:03d}" for n in range(1, 49)]
    systems = [s.system for s in segments.segments]
    assert {name: systems.count(name) for name in set(systems)} == dict.fromkeys(
        ("alpha", "bravo", "charlie", "delta"), 12
    )


def test_nothing_is_told_twice() -> None:
    everything = [s for pair in Sample.PAIRS for s in Sample(name="sample").read(NOWHERE, pair).segments]
    for side in ("source", "reference", "hypothesis"):
        texts = [getattr(s, side) for s in everything]
        assert len(set(texts)) == len(texts) == 192, side


def test_texts_are_clean(segments: SegmentSet) -> None:
    for segment in segments.segments:
        for text in (segment.source, segment.reference, segment.hypothesis):
            assert text
            assert unicodedata.is_normalized("NFC", text), text
            # French sets a narrow no-break space before ? and inside « »; a word keeps its sign that way.
            assert {c for c in text if c.isspace()} <= {" ", "\u202f"}, text
            assert text == text.strip(), text
            assert "  " not in text, text
            assert text[-1] in ".?!“”", text
            assert not {" .", " ,", " ?", " !"} & {text[i : i + 2] for i in range(len(text))}, text
        for text in (segment.source, segment.reference):
            assert 6 <= len(str(text).split(" ")) <= 28, text


def test_scores_cover_the_scale(segments: SegmentSet) -> None:
    scores = segments.human_scores
    assert scores.std() > 15
    assert 0 <= scores.min() <= 15
    assert 95 <= scores.max() <= 100
    assert np.histogram(scores, bins=[0, 20, 40, 60, 80, 101])[0].min() >= 3
    # A scale that is used: few scores occur often.
    assert len(set(scores)) > 24


@pytest.mark.parametrize("score", [pytest.param(_bleu, id="sentence_bleu"), pytest.param(_chrf, id="chrf")])
def test_lexical_metrics_are_of_some_use_and_imperfect(
    segments: SegmentSet, score: Callable[[str, str], float]
) -> None:
    lexical = np.array([score(s.hypothesis, s.reference) for s in segments.segments])
    assert 0.35 < np.corrcoef(lexical, segments.human_scores)[0, 1] < 0.75
    # Where they fail is stated: good paraphrases far from the reference, and wrong texts close to it.
    assert ((lexical < np.median(lexical)) & (segments.human_scores >= 90)).any()
    assert ((lexical > np.median(lexical)) & (segments.human_scores <= 35)).any()
