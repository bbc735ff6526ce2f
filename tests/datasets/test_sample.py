"""The embedded sample: complete, clean, and graded so that a lexical metric is neither useless nor perfect."""

import unicodedata
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from bmx_grid.datasets.tabular import Sample


@pytest.fixture(scope="module")
def sets():
    return [Sample(name="sample").read(Path("no/data/dir"), pair) for pair in Sample.PAIRS]


def test_every_pair_is_complete_and_nothing_is_told_twice(sets):
    for found in sets:
        assert [s.id for s in found.segments] == [f"{found.language_pair}-{n:03d}" for n in range(1, 49)]
        systems = [s.system for s in found.segments]
        assert {name: systems.count(name) for name in systems} == dict.fromkeys(
            ("alpha", "bravo", "charlie", "delta"), 12
        )
    for side in ("source", "reference", "hypothesis"):
        assert len({text for found in sets for text in found.texts(side)}) == 192, side


def test_texts_are_clean(sets):
    for segment in (s for found in sets for s in found.segments):
        for text in (segment.source, segment.reference, segment.hypothesis):
            assert unicodedata.is_normalized("NFC", text), text
            # French sets a narrow no-break space before ? and inside « »; a word keeps its sign that way.
            assert {sign for sign in text if sign.isspace()} <= {" ", "\u202f"}, text
            assert text == text.strip() and "  " not in text and text[-1] in ".?!“”", text
        for text in (segment.source, segment.reference):
            assert 6 <= len(text.split(" ")) <= 28, text


def test_scores_cover_the_scale_and_lexical_metrics_are_of_some_use_and_imperfect(sets):
    for found in sets:
        scores = found.human_scores
        assert 0 <= scores.min() <= 15 and 95 <= scores.max() <= 100
        assert np.histogram(scores, bins=[0, 20, 40, 60, 80, 101])[0].min() >= 3
        lexical = np.array([sacrebleu.sentence_chrf(s.hypothesis, [s.reference]).score for s in found.segments])
        assert 0.35 < np.corrcoef(lexical, scores)[0, 1] < 0.75
        # Where they fail is stated: good paraphrases far from the reference, and wrong texts close to it.
        assert ((lexical < np.median(lexical)) & (scores >= 90)).any()
        assert ((lexical > np.median(lexical)) & (scores <= 35)).any()
