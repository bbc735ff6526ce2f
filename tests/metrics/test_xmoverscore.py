"""XMoverScore: the transport against other solvers, the score against a plain computation from hidden states."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from neural import EMPTY, NAMES, PAIRS
from pairs import score

from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import UnavailableError
from bmx_grid.metrics import xmoverscore
from bmx_grid.metrics.base import Metric
from bmx_grid.metrics.xmoverscore import AuthorsXMoverScore, XMoverScore, moved_distance, rounded_distance
from bmx_grid.models.loading import load_model
from bmx_grid.words.perturbation import Item

pytestmark = pytest.mark.filterwarnings("ignore:model '.*tokens:UserWarning")


@pytest.fixture
def options(tiny_model) -> dict[str, object]:
    return {"model": tiny_model("bert"), "layer": 2, "device": "cpu"}


@pytest.mark.parametrize(("n", "m"), [(1, 7), (5, 5), (9, 4), (13, 17)])
def test_the_optimum_is_that_of_a_linear_programme(n, m):
    from scipy.optimize import linprog

    cost = np.random.default_rng(n).random((n, m))
    sums = np.vstack([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
    solved = linprog(cost.ravel(), A_eq=sums, b_eq=np.repeat([1 / n, 1 / m], [n, m]), method="highs")
    assert moved_distance(cost, 0.0) == pytest.approx(solved.fun, abs=1e-9)


def test_the_smallest_flows_are_left_out():
    # Along a line: 1/2 and 1/2 onto 1/5 x 5. Flows 4 x 1/5 and twice 1/10 (the middle pile is split).
    cost = np.abs(np.array([0.0, 1.0])[:, None] - np.array([0.0, 0.1, 0.5, 0.9, 1.0])[None, :])
    all_flows = (0.1 + 0.1) / 5 + (0.5 + 0.5) / 10
    assert moved_distance(cost, 0.0) == pytest.approx(all_flows)
    # 30 % of 6 flows is 1: the smallest, which both halves of the split pile equal, so that both stay
    assert moved_distance(cost, 0.3) == pytest.approx(all_flows)
    # 50 % is 3: the third smallest is 1/5, so that what is below it goes
    assert moved_distance(cost, 0.5) == pytest.approx((0.1 + 0.1) / 5)


@pytest.mark.parametrize(("shape", "expected"), [((0, 0), 0.0), ((0, 3), 2.0), ((3, 0), 2.0)])
def test_empty_problems_do_not_reach_the_solver(shape, expected):
    assert moved_distance(np.empty(shape), 0.3) == expected


def plain_score(model, truth: str, hypothesis: str, layer: int) -> float:
    """The published steps for one pair, with floats where the metric has whole numbers."""
    import ot
    import torch

    vectors = []
    for text in (truth, hypothesis):
        ids = model.tokenizer(text, return_tensors="pt", truncation=True, max_length=64)
        with torch.inference_mode():
            states = model.network(**ids, output_hidden_states=True).hidden_states[layer][0].double()
        vectors.append((states / states.norm(dim=-1, keepdim=True)).numpy())
    cost = np.linalg.norm(vectors[0][:, None] - vectors[1][None], axis=-1)
    flow = ot.emd(np.full(len(cost), 1 / len(cost)), np.full(cost.shape[1], 1 / cost.shape[1]), cost)
    moved = np.sort(flow[flow > 1e-9])
    flow[flow < moved[max(int(len(moved) * 0.3), 1) - 1] - 1e-9] = 0
    return 1 - float((flow * cost).sum())


@pytest.mark.parametrize("ground_truth", ["source", "reference"])
@pytest.mark.parametrize("name", NAMES)
def test_equals_the_published_steps(tiny_model, name, ground_truth):
    # texts without double blanks or blanks at the ends: tokenizers of other make than BERT's see those
    pairs = [pair for pair in PAIRS if all(text == " ".join(text.split()) for text in pair)]
    model = load_model("encoder", tiny_model(name), device="cpu")
    expected = [plain_score(model, *pair, layer=2) for pair in pairs]
    metric = XMoverScore(model=tiny_model(name), layer=2, device="cpu", ground_truth=ground_truth)
    assert metric.reads == (ground_truth, "hypothesis")
    assert score(metric, pairs).tolist() == pytest.approx(expected, abs=1e-5)


def test_the_same_text_twice_scores_one_and_empty_texts_score_less(options):
    metric = XMoverScore(**options)
    assert score(metric, [("The cat .", "The cat ."), ("", "")]).tolist() == pytest.approx([1, 1], abs=1e-5)
    assert (score(metric, [pair for pair in EMPTY if "cat" in pair]) < 1).all()


def test_the_language_model_adds_a_tenth_of_the_normalised_likelihood(tiny_model, options):
    """exp(-loss)^(1/n) of the n tokens, and nothing for a single token, as in the code of BMX's authors."""
    import torch

    pairs = PAIRS[:9]
    gpt2 = load_model("causal_lm", tiny_model("gpt2"), device="cpu")
    likely = []
    for _, hypothesis in pairs:
        ids = gpt2.tokenizer(hypothesis, return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            loss = float(gpt2.network(ids, labels=ids).loss) if ids.shape[1] > 1 else np.inf
        likely.append(np.exp(-loss) ** (1 / ids.shape[1]))
    plain = score(XMoverScore(**options), pairs)
    with_likelihood = score(XMoverScore(**options, language_model=tiny_model("gpt2"), language_model_weight=0.1), pairs)
    assert with_likelihood.tolist() == pytest.approx((plain + 0.1 * np.array(likely)).tolist(), abs=1e-5)
    assert (np.array(likely) < 1).all() and max(likely) > 0.5


def test_a_language_model_that_is_nowhere_is_refused_before_scoring(options):
    with pytest.raises(UnavailableError, match="no-such-model"):
        XMoverScore(**options, language_model="./no-such-model").check()


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
    assert xmoverscore.detokenize(text, language) == expected


@pytest.fixture
def truecaser(monkeypatch) -> None:
    """A stand-in for the library truecase: a word is cased as the first of its known casings."""

    class TrueCaser:
        def __init__(self) -> None:
            self.word_casing_lookup = {"mat": ["mat", "Mat", "MAT"], "cat": ["cat"]}

        def get_true_case(self, sentence: str) -> str:
            known = self.word_casing_lookup
            return " ".join(next(iter(known.get(word.lower(), [word.title()]))) for word in sentence.split())

    module = ModuleType("truecase")
    module.TrueCaser = TrueCaser
    monkeypatch.setitem(sys.modules, "truecase", module)
    for cached in (xmoverscore._truecaser, xmoverscore.truecase):
        cached.cache_clear()
    yield
    for cached in (xmoverscore._truecaser, xmoverscore.truecase):
        cached.cache_clear()


def test_texts_are_put_together_and_the_hypothesis_is_cased_the_same_in_any_process(options, truecaser):
    pairs = [("Der Kater 's MAT , ja !", "THE Mat CAT !"), ("l' eau .", "CAT .")]
    by_hand = [("Der Kater 's MAT, ja!", "The MAT Cat!"), ("l'eau.", "Cat.")]  # MAT: the first of equals in code points
    scores = [
        score(AuthorsXMoverScore(**options, flow_dropout=0.0, source_language=language), [pair])[0]
        for pair, language in zip(pairs, (None, "fr"), strict=True)
    ]
    assert scores == pytest.approx(score(XMoverScore(**options, flow_dropout=0.0), by_hand).tolist(), abs=5e-5)


def both_distances(n: int, m: int, seed: int, dropout: float) -> tuple[float, float]:
    """What it costs to move n drawn unit vectors onto m, by the exact transport and by the one that rounds."""
    drawn = np.random.default_rng(seed).normal(size=(n + m, 8))
    left, right = np.split(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), [n])
    costs = np.linalg.norm(left[:, None] - right[None], axis=2)
    return moved_distance(costs, dropout), rounded_distance(left, right, dropout)


@pytest.mark.parametrize(("n", "m"), [(7, 7), (5, 9)])
def test_without_dropout_both_transports_agree(n, m):
    exact, rounded = both_distances(n, m, seed=1, dropout=0.0)
    assert rounded == pytest.approx(exact, abs=2e-5)


def test_flows_that_only_rounding_makes_small_are_left_out():
    """4 onto 6: the optimum moves four twelfths and eight times two twelfths or less, of which rounding drops some."""
    differences = np.subtract(*zip(*(both_distances(4, 6, seed, dropout=0.3) for seed in range(20)), strict=True))
    assert min(differences) > -1e-5
    assert max(differences) > 0.05


@pytest.mark.parametrize(
    ("lacking", "message"),
    [
        pytest.param("sacremoses", r"needs sacremoses: `pip install sacremoses`, or .*\.\[authors\]", id="words"),
        pytest.param("pyemd", r"needs pyemd: `pip install pyemd`, or .*\.\[authors\]", id="transport"),
        pytest.param("data of NLTK", r"python -m nltk\.downloader punkt_tab", id="data"),
    ],
)
def test_what_is_missing_is_named_with_its_command(options, monkeypatch, lacking, message):
    def no_data(path: str) -> None:
        raise LookupError(path)

    nltk = ModuleType("nltk")
    nltk.data = SimpleNamespace(find=no_data)
    monkeypatch.setitem(sys.modules, "nltk", nltk)
    monkeypatch.setattr(xmoverscore.importlib.util, "find_spec", lambda name: None if name == lacking else nltk)
    with pytest.raises(UnavailableError, match=message):
        AuthorsXMoverScore(**options).check()


def test_moverscore_is_the_distance_to_the_reference(tiny_model):
    settings = load_option("metric", "moverscore") | {"model": tiny_model("bert"), "revision": None, "layer": 1}
    moverscore = build(settings, Metric, "metric.moverscore")
    text = "a cat sat on the mat"
    same, other = moverscore.score([Item(reference=text, hypothesis=text), Item(reference=text, hypothesis="it rains")])
    of_source = XMoverScore(model=settings["model"], layer=1, flow_dropout=0.0)
    assert same == pytest.approx(1, abs=1e-6)
    assert (
        other == pytest.approx(of_source.score([Item(source=text, hypothesis="it rains")])[0], abs=1e-6)
        and other < same
    )
