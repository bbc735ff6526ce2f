"""The slots of many settings in one cache: the same as one alone, with what is there listed once."""

import pytest
from fakes import HashMetric

from bmx_grid.attribution import places, store
from bmx_grid.attribution.explain import explain_items, explanation_identity
from bmx_grid.attribution.places import Places, distinct
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.explainers.lime import Lime
from bmx_grid.words.perturbation import Item
from bmx_grid.words.segmentation import WHITESPACE, PairWords

HASH, ERASURE, LIME = HashMetric(), Erasure(), Lime()
READS = ("source", "hypothesis")
ITEMS = [Item(source=f"eins zwei {row}", hypothesis=f"one two {row}") for row in range(4)]
EXPLAINED = explain_items(HASH, ERASURE, ITEMS, seed=0)
KEYS = [one.key for one in EXPLAINED]


def slot(found, metric=HASH, explainer=ERASURE, words=WHITESPACE, seed=0, pair="de-en", names=("m", "e")):
    return found.slot(metric, (*names, explainer), words, ("toy", pair, READS), seed)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({}, id="with an explainer"),
        pytest.param({"explainer": None}, id="the metric alone"),
        pytest.param({"metric": HashMetric(salt=1)}, id="another metric of the same name"),
        pytest.param({"explainer": LIME}, id="an explainer that draws"),
        pytest.param({"explainer": LIME, "seed": 1}, id="another seed"),
        pytest.param({"words": PairWords("unicode", "characters")}, id="other words"),
        pytest.param({"names": ("n", "e")}, id="another name"),
        pytest.param({"pair": "fi-en"}, id="another language pair"),
    ],
)
def test_a_slot_is_the_one_that_the_setting_has_alone(change, tmp_path):
    found = Places(tmp_path)
    for explainer in (ERASURE, LIME):  # what is kept of these settings is not taken for that of another
        slot(found, explainer=explainer)
    given = {"metric": HASH, "explainer": ERASURE, "words": WHITESPACE, "seed": 0, **change}
    names, pair = change.get("names", ("m", "e")), change.get("pair", "de-en")
    identity = explanation_identity(given["metric"], given["explainer"], given["seed"], given["words"])
    assert slot(found, **change) == store.slot(tmp_path, names, identity, "toy", pair, READS)


def test_the_identity_of_a_metric_and_an_explainer_is_made_once(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(places, "explanation_identity", lambda *given: made.append(given) or {"explainer": None})
    found, metric, explainers = Places(tmp_path), HashMetric(), (ERASURE, Erasure(gap="single_space"))
    for explainer in explainers:
        for pair in ("de-en", "fi-en"):
            slot(found, metric, explainer, pair=pair)
    assert len(made) == 2


def test_what_is_missing_is_what_is_neither_in_the_file_nor_in_a_chunk(tmp_path):
    keys = (*KEYS, KEYS[0])
    assert Places(tmp_path).missing(slot(Places(tmp_path)), keys, distinct(keys)) == (0, 1, 2, 3)
    for rows, merged in ((EXPLAINED[:1], False), (EXPLAINED[1:3], True)):
        found = Places(tmp_path)
        place = slot(found)
        place.add(rows)
        if merged:
            place.merge()
        known = rows if not merged else EXPLAINED[:3]
        assert found.missing(place, keys, distinct(keys)) == tuple(range(len(known), 4))
        assert found.missing(slot(found, pair="fi-en"), keys, distinct(keys)) == (0, 1, 2, 3)


def test_a_folder_is_listed_once(tmp_path, monkeypatch):
    listed = []
    monkeypatch.setattr(places, "names_in", lambda folder: listed.append(folder) or frozenset())
    found = Places(tmp_path)
    for pair in ("de-en", "fi-en"):
        found.missing(slot(found, pair=pair), KEYS, distinct(KEYS))
    assert len(listed) == 1


@pytest.mark.parametrize(
    ("keys", "expected"),
    [("", ()), ("a", (0,)), ("aaa", (0,)), ("abab", (0, 1)), ("babc", (0, 1, 3))],
)
def test_of_equal_keys_the_first_counts(keys, expected):
    assert distinct(list(keys)) == expected
