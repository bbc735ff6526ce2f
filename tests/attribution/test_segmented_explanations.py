"""Explanations of words that are not those between single spaces."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from fakes import HashMetric

from bmx_grid.attribution.explain import count_texts, explain_items, explanation_identity, score_requests
from bmx_grid.core.configure import build, load_option, options
from bmx_grid.core.errors import UnavailableError
from bmx_grid.explainers.base import Explainer
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.metrics.base import Metric
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.words.perturbation import Item, Plan, Request
from bmx_grid.words.segmentation import WHITESPACE, PairWords

LETTERS = PairWords("unicode", "characters")
ITEM = Item(source="我们去 北京。", hypothesis="Don't go, now!")
WORDS = {"source": tuple("我们去北京。"), "hypothesis": ("Don't", "go", ",", "now", "!")}
GAPS = ("", " ", "", " ", "", "")
EXPLAINERS = {
    name: build(load_option("explainer", name, 0), Explainer, name)
    for name in options("explainer")
    if name not in ("spans", "shuffled")
}
PLANNING = [name for name, explainer in EXPLAINERS.items() if not explainer.is_imported and not explainer.writes_texts]


@pytest.mark.parametrize(
    ("replacement", "hidden", "expected"),
    [
        pytest.param("UNK", (2,), "Don't goUNK now!", id="replaced in its place"),
        pytest.param("", (1,), "Don't , now!", id="deleted, what stood around it stays"),
        pytest.param(None, (2,), "Don't go now!", id="a mark, which had no gap before it"),
        pytest.param(None, (3,), "Don't go,!", id="the last word, with the gap before it"),
        pytest.param(None, (0,), "go, now!", id="the first, with the gap after it"),
        pytest.param(None, (0, 1, 2, 3, 4), "", id="all"),
    ],
)
def test_what_stands_between_words_stays(replacement, hidden, expected):
    keep = np.array([[place not in hidden for place in range(5)]])
    plan = Plan(WORDS["hypothesis"], keep=keep, replacement=replacement, gaps=GAPS)
    assert plan.render() == [expected]


@pytest.mark.parametrize("replacement", ["", "UNK", None])
def test_single_spaces_as_gaps_are_the_papers_texts(replacement):
    masks = np.array([[bool(number >> bit & 1) for bit in range(4)] for number in range(16)])
    plan = Plan(("a", "", "b", "c"), keep=masks, replacement=replacement)
    assert replace(plan, gaps=("", " ", " ", " ", "")).render() == plan.render()


def test_gaps_must_fit_the_words():
    with pytest.raises(ValueError, match="gaps need masks: they are the texts before, between and after"):
        Plan(("a", "b"), keep=np.ones((1, 2), dtype=bool), gaps=("", ""))
    with pytest.raises(ValueError, match="gaps"):
        Plan(("a",), texts=["a"], gaps=("", ""))


@pytest.mark.parametrize("name", PLANNING)
def test_every_explainer_attributes_to_the_words_of_the_segmentation(name):
    explainer = EXPLAINERS[name]
    (explanation,) = explain_items(HashMetric(), explainer, [ITEM], 0, words=LETTERS)
    (plain,) = explain_items(HashMetric(), explainer, [ITEM], 0)
    assert explanation.base_score == plain.base_score, "the text itself is the same"
    for role, words in WORDS.items():
        assert len(explanation.attributions[role]) == len(words)
        assert np.isfinite(explanation.attributions[role]).all()
    assert explanation.n_texts <= count_texts(HashMetric(), explainer, ITEM, words=LETTERS)


def test_attributions_are_those_of_the_texts_with_their_gaps():
    (explanation,) = explain_items(HashMetric(), Erasure(), [ITEM], 0, words=LETTERS)
    without = ["们去 北京。", "我去 北京。", "我们 北京。", "我们去 京。", "我们去 北。", "我们去 北京"]
    scores = HashMetric().score([ITEM, *(ITEM._replace(source=text) for text in without)])
    assert explanation.attributions["source"].tolist() == (scores[0] - scores[1:]).tolist()


def metrics_with_short_cuts():
    nodes = {name: load_option("metric", name) for name in options("metric") if name not in ("imported", "human")}
    plain = {
        name: {key: 0 if value == "${seed}" else value for key, value in node.items()} for name, node in nodes.items()
    }
    metrics = {name: build(node, Metric, name) for name, node in plain.items()}
    light = {name: metric for name, metric in metrics.items() if metric.cost == "light"}
    return [pytest.param(metric, id=name) for name, metric in light.items() if metric.score_masked([]) is not None]


@pytest.mark.parametrize("metric", metrics_with_short_cuts())
def test_short_cuts_for_masks_are_not_taken_where_gaps_are_other_than_spaces(metric):
    try:
        metric.check()
    except UnavailableError as error:
        pytest.skip(str(error))
    keep = ~np.eye(6, dtype=bool)
    plan = Plan(WORDS["source"], keep=keep, replacement="", gaps=("", "", "", " ", "", "", ""))
    truth = next(role for role in metric.reads if role != "hypothesis")
    request = Request(plan, "hypothesis", Item(**{truth: "我们去北京。", "hypothesis": "我们去 北京。"}))
    assert score_requests(metric, [request])[0].tolist() == metric.score(request.items()).tolist()


def test_the_papers_words_keep_the_identity_that_they_always_had():
    known = explanation_identity(Chrf(), Erasure(), 0)
    assert known == explanation_identity(Chrf(), Erasure(), 0, WHITESPACE)
    assert known == explanation_identity(Chrf(), Erasure(), 0, PairWords.from_name("whitespace", "zh-en"))
    assert set(known) == {"metric", "explainer", "seed"}
    by_letters = explanation_identity(Chrf(), Erasure(), 0, LETTERS)
    assert by_letters["words"]["source"]["engine"].startswith("characters (regex ")
    assert explanation_identity(Chrf(), None, 0, LETTERS) == explanation_identity(Chrf(), None, 0)


def test_the_engine_is_part_of_identity_and_the_same_in_every_process():
    pytest.importorskip("icu4py", reason="words=unicode with ICU needs icu4py")
    words = PairWords.from_name("unicode", "zh-en")
    assert (words.engine, words.source, words.target) == ("icu", "zh", "en")
    assert pickle.loads(pickle.dumps(words)) == words
    assert words.fingerprint() != LETTERS.fingerprint()
    assert words.fingerprint()["source"] != words.fingerprint()["target"], "languages have dictionaries of their own"
