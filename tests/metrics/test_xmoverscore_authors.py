"""XMoverScore by the authors' code: each step alone, and what is said when its libraries are missing."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from pairs import score

from bmx_grid.core.errors import UnavailableError
from bmx_grid.metrics import xmoverscore
from bmx_grid.metrics.xmoverscore import AuthorsXMoverScore, XMoverScore, moved_distance, rounded_distance

pytestmark = pytest.mark.filterwarnings("ignore:model '.*tokens:UserWarning")


def unit_vectors(count: int, seed: int) -> np.ndarray:
    drawn = np.random.Generator(np.random.PCG64(seed)).normal(size=(count, 8))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


@pytest.fixture
def options(tiny_model) -> dict[str, object]:
    return {"model": tiny_model("bert"), "layer": 2, "device": "cpu"}


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        pytest.param("The cat 's mat .", "en", "The cat's mat.", id="english"),
        pytest.param("The cat 's mat .", "any", "The cat 's mat.", id="the rules common to all languages"),
        pytest.param("l' eau , non ?", "fr", "l'eau, non ?", id="french keeps the space before a question mark"),
        pytest.param("a  &quot;b&quot; ", "any", 'a "b"', id="double spaces and entities go"),
    ],
)
def test_texts_are_detokenised(text, language, expected):
    assert xmoverscore.detokenized(text, language) == expected


@pytest.fixture
def truecaser(monkeypatch) -> None:
    """A stand-in for the library truecase: a word is cased as the first of its known casings."""

    class TrueCaser:
        def __init__(self) -> None:
            self.word_casing_lookup = {"mat": {"mat", "Mat", "MAT"}, "cat": {"cat"}}

        def get_true_case(self, sentence: str) -> str:
            known = self.word_casing_lookup
            return " ".join(next(iter(known.get(word.lower(), [word.title()]))) for word in sentence.split())

    module = ModuleType("truecase")
    module.TrueCaser = TrueCaser
    monkeypatch.setitem(sys.modules, "truecase", module)
    for cached in (xmoverscore._truecaser, xmoverscore.truecased):
        cached.cache_clear()
    yield
    for cached in (xmoverscore._truecaser, xmoverscore.truecased):
        cached.cache_clear()


def test_texts_are_put_together_and_the_hypothesis_is_cased_the_same_in_any_process(options, truecaser):
    pairs = [("Der Kater 's MAT , ja !", "THE Mat CAT !"), ("l' eau .", "CAT .")]
    by_hand = [("Der Kater 's MAT, ja!", "The MAT Cat!"), ("l'eau.", "Cat.")]  # MAT: the first of equals in code points
    found = [
        score(AuthorsXMoverScore(**options, flow_dropout=0.0, source_language=language), [pair])[0]
        for pair, language in zip(pairs, (None, "fr"), strict=True)
    ]
    assert found == pytest.approx(score(XMoverScore(**options, flow_dropout=0.0), by_hand).tolist(), abs=5e-5)


@pytest.mark.parametrize("shape", [(7, 7), (5, 9)])
def test_without_dropout_both_transports_agree(shape):
    left, right = unit_vectors(shape[0], 1), unit_vectors(shape[1], 2)
    costs = np.linalg.norm(left[:, None] - right[None], axis=2)
    assert rounded_distance(left, right, 0.0) == pytest.approx(moved_distance(costs, 0.0), abs=2e-5)


def test_flows_that_only_rounding_makes_small_are_left_out():
    """4 onto 6: the optimum moves four twelfths and eight times two twelfths or less, of which rounding drops some."""
    differences = []
    for seed in range(20):
        left, right = unit_vectors(4, seed), unit_vectors(6, 100 + seed)
        costs = np.linalg.norm(left[:, None] - right[None], axis=2)
        differences.append(moved_distance(costs, 0.3) - rounded_distance(left, right, 0.3))
    assert min(differences) > -1e-5
    assert max(differences) > 0.05


@pytest.mark.parametrize("library", ["sacremoses", "pyemd"])
def test_a_missing_library_is_named_with_its_command(options, monkeypatch, library):
    spec = SimpleNamespace(name="there")
    there = {name: spec for name in ("sacremoses", "truecase", "nltk", "pyemd") if name != library}
    monkeypatch.setattr(xmoverscore.importlib.util, "find_spec", lambda name: there.get(name))
    with pytest.raises(UnavailableError, match=rf"needs {library}: `pip install {library}`, or .*bmx-grid\[authors\]"):
        AuthorsXMoverScore(**options).check()


def test_missing_data_of_nltk_are_named_with_their_command(options, monkeypatch):
    def lacking(path: str) -> None:
        raise LookupError(path)

    nltk = ModuleType("nltk")
    nltk.data = SimpleNamespace(find=lacking)
    monkeypatch.setitem(sys.modules, "nltk", nltk)
    monkeypatch.setattr(xmoverscore.importlib.util, "find_spec", lambda name: SimpleNamespace(name=name))
    with pytest.raises(UnavailableError, match=r"python -m nltk\.downloader punkt_tab"):
        AuthorsXMoverScore(**options).check()
