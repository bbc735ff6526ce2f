"""Scores and explanations from files fill a slot: what reads it sees no difference, and jobs get the store alone."""

import numpy as np
import pytest

from bmx_grid.attribution import store
from bmx_grid.attribution.explain import explain_items
from bmx_grid.attribution.filled import Filling
from bmx_grid.core.ragged import Ragged
from bmx_grid.explainers.base import GivenWords
from bmx_grid.metrics.base import GivenScores
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.words.perturbation import Item

ITEMS = [Item(reference=f"a cat {number}", hypothesis=f"the cat {number}") for number in range(3)]
ROWS = explain_items(Chrf(), None, ITEMS, seed=0)
KEYS = [row.key for row in ROWS]
ALONE = {"metric": Chrf().fingerprint(), "explainer": None, "seed": None}
SCORES = GivenScores(np.array([1.0, np.nan, 3.0]), {"A": 2.0})
ATTRIBUTIONS = Ragged.from_rows([np.array([0.1, -0.2]), np.array([np.nan]), np.array([0.3])])
SPOKEN_OF = (("the", "cat"), ("cat",), ("cat",))
WORDS = GivenWords({"hypothesis": ATTRIBUTIONS}, {"hypothesis": SPOKEN_OF}, {}, {1: "it is not there"})


def stored(folder):
    return store.slot_of(folder, ("chrf", "none"), ALONE, ("toy", "de-en"), ("reference", "hypothesis"), ())


@pytest.mark.parametrize(
    ("filling", "missing", "counts"),
    [
        pytest.param(Filling(), [0, 1, 2], {}, id="nothing is filled"),
        pytest.param(Filling(SCORES), [], {"systems": {"A": 2.0}}, id="scores"),
        pytest.param(
            Filling(words=WORDS), [0, 1, 2], {"words": {}, "attributed": {"hypothesis": SPOKEN_OF}}, id="words"
        ),
        pytest.param(
            Filling(SCORES, WORDS),
            [],
            {"systems": {"A": 2.0}, "words": {}, "attributed": {"hypothesis": SPOKEN_OF}},
            id="both",
        ),
    ],
)
def test_what_files_fill_is_not_missing_and_is_loaded(tmp_path, filling, missing, counts):
    slot = filling.of(stored(tmp_path))
    assert (slot.missing(KEYS), dict(slot.told)) == (missing, counts)
    assert slot.stored == stored(tmp_path)
    if missing:
        slot.stored.add(ROWS)
        assert slot.missing(KEYS) == []
    loaded = slot.load(KEYS)
    scores = [row.base_score for row in ROWS] if filling.scores is None else SCORES.segments
    np.testing.assert_array_equal(loaded.base_scores, scores)
    assert list(loaded.by_role) == ([] if filling.words is None else ["hypothesis"])
    assert loaded.n_unexplained == (0 if filling.words is None else 1)


def test_scores_of_whole_systems_only_are_no_fault_of_a_metric(tmp_path):
    nothing = GivenScores(np.full(3, np.nan), {"A": 2.0})
    of_systems = Filling(nothing).of(stored(tmp_path))
    assert of_systems.lacking(of_systems.load(KEYS)) == ""
    assert stored(tmp_path).lacking(of_systems.load(KEYS)) == "score"
