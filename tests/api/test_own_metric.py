"""A metric of one's own in a notebook: functions on lists of texts, objects, and what is refused by name."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import bmx_grid as bmx
from bmx_grid.core.errors import BmxError
from bmx_grid.metrics.chrf import Chrf

WEIGHT = 2.0
CALLS: list[int] = []
QUICK = {"settings": {"grid.p.step": 10}, "evaluation": ["grid"]}


@pytest.fixture
def frame() -> pd.DataFrame:
    """German column names, which nothing recognises."""
    words = ["der", "Hund", "lief", "gestern", "sehr", "schnell", "durch", "den", "alten", "Park"]
    rng = np.random.default_rng(0)
    references = [" ".join(rng.permutation(words)[:6]) for _ in range(8)]
    outputs = [" ".join(rng.permutation(text.split())[: 2 + row % 4]) for row, text in enumerate(references)]
    return pd.DataFrame({"Vorlage": references, "Ausgabetext": outputs, "Güte": rng.normal(size=8), "Nr.": range(8)})


COLUMNS = {"reference": "Vorlage", "hypothesis": "Ausgabetext", "score": "Güte", "id": "Nr."}


def overlap(hypotheses, references):
    CALLS.append(len(hypotheses))
    pairs = [(h.split(), r.split()) for h, r in zip(hypotheses, references, strict=True)]
    return [WEIGHT * len({*h} & {*r}) / len(r) for h, r in pairs]


def test_the_walk_of_a_new_user(frame, tmp_path, monkeypatch, capsys, recwarn):
    """From a frame with German names to the answer and to boosted scores, without one mistake on the way."""
    monkeypatch.setenv("BMX_CACHE_DIR", str(tmp_path))
    run = bmx.grid(frame, metric=overlap, columns=COLUMNS)
    conclusion, _, table = run.summary().partition("\n\n")
    assert conclusion == "Too little data to show a gain." and re.search(
        "^too little data +overlap ", table, re.MULTILINE
    )
    assert "source-target" not in run.summary() and "source-target" not in run._repr_html_()
    base = overlap(frame["Ausgabetext"], frame["Vorlage"])
    assert run.scores["base"].tolist() == base
    words = run.words(ids=["3"]).frame
    assert words.query("side == 'hypothesis'")["word"].tolist() == frame["Ausgabetext"][3].split()
    scorer = bmx.load(overlap, "erasure")
    explained = scorer.explain(frame["Ausgabetext"].tolist(), references=frame["Vorlage"].tolist())
    boosted = bmx.boost(explained.base, explained.explanations, frame["Güte"], p=1, w=0.5)
    point = run.grid.query("p == 0 and w == 0.4")["correlation"].item()
    again = bmx.boost(explained.base, explained.explanations, frame["Güte"], p=0, w=0.4)
    assert again.gain.x == pytest.approx(point, abs=1e-12)
    assert repr(boosted) == "Boosted(8 segments at w 0.5, p 1, 8 rated)"
    compared = bmx.compare(frame.assign(mein=base, seins=boosted.scores), ["mein", "seins"], human="Güte", resamples=50)
    conclusion, _, title, _, header, *_ = compared.summary().splitlines()
    assert conclusion.startswith(("mein correlates best", "seins correlates best"))
    assert title == "Correlation with human judgements (Güte), segment level"
    assert header.split()[:2] == ["metric", "pearson"]
    # files that other tests left open are closed, with a warning, whenever the garbage of this process is collected
    warned = [str(warning.message) for warning in recwarn.list if warning.category is not ResourceWarning]
    assert not warned and capsys.readouterr() == ("", "")


def test_a_sweep_with_a_function_keeps_nothing_in_the_cache(frame, tmp_path):
    for _ in range(2):
        CALLS.clear()
        run = bmx.grid(frame, overlap, columns=COLUMNS, cache_dir=tmp_path / "cache", **QUICK)
        assert CALLS
    assert not (tmp_path / "cache").exists() and len(run.words().frame)


def test_names_objects_and_functions_stand_in_one_grid(frame, tmp_path):
    metrics = {"mine": overlap, "lower": Chrf(lowercase=True), "loaded": bmx.load("ter")}
    run = bmx.grid(frame, metrics, explainer=[], columns=COLUMNS, cache_dir=tmp_path, evaluation=["levels"])
    assert set(run.scores["metric"]) == set(metrics)
    several = bmx.grid(
        frame, ["chrf", overlap], explainer=[], columns=COLUMNS, cache_dir=tmp_path, evaluation=["levels"]
    )
    assert set(several.scores["metric"]) == {"chrf", "overlap"}
    assert "value" in several.summary() and "source-target" not in several.summary()


def returning(value):
    def wrong(hypotheses, references):
        return value(len(hypotheses)) if callable(value) else value

    return wrong


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        pytest.param(lambda hyps, refs: hyps, r"function\(hyps, refs\): a metric's parameters name", id="names"),
        pytest.param(lambda hypotheses: hypotheses, r"\(hypotheses\): a metric's parameters name", id="one side"),
        pytest.param(Chrf, "expected a name, an object", id="a class"),
        pytest.param({overlap}, "expected a name, an object", id="a set"),
        pytest.param([overlap, overlap], "two are called 'overlap'", id="two of a name"),
        pytest.param(3, "metric: expected a name, an object", id="a number"),
    ],
)
def test_what_is_no_metric_is_refused_by_name(frame, metric, message):
    with pytest.raises(BmxError, match=message):
        bmx.grid(frame, metric, columns=COLUMNS, **QUICK)


def of_one_segment(hypotheses, references):
    return len({*hypotheses.split()} & {*references.split()}) / len(references.split())


WRONG = {
    "of one segment": (of_one_segment, "raises AttributeError: 'list' object has no attribute 'split'"),
    "None": (returning(None), r"returns None \(NoneType\)"),
    "a number": (returning(0.5), r"returns 0\.5 \(float\)"),
    "a number of NumPy": (returning(np.float64(0.5)), r"returns np\.float64\(0\.5\) \(float64\)"),
    "too few": (returning(lambda n: [0.5] * (n - 1)), r"returns \d+ values? for \d+ segments?"),
    "too many": (returning(lambda n: np.ones(n + 1)), r"returns \d+ values for \d+ segments?"),
    "texts": (returning(lambda n: ["0.5"] * n), r"returns '0\.5' as the score of segment 1"),
    "a text": (returning("0.5"), r"returns '0\.5' \(str\)"),
    "None for one": (returning(lambda n: [0.5] * (n - 1) + [None]), r"returns None as the score of segment \d+"),
    "objects": (returning(lambda n: [{"score": 1.0}] * n), r"returns \{'score': 1\.0\} as the score of segment 1"),
    "a column": (returning(lambda n: np.ones((n, 1))), r"returns array\(.* \(ndarray\)"),
    "a generator": (returning(lambda n: (0.5 for _ in range(n))), r"returns <generator.* \(generator\)"),
}


@pytest.mark.parametrize(("metric", "message"), WRONG.values(), ids=WRONG)
def test_a_function_that_gives_no_list_of_scores_is_told_what_it_gets_and_returns(frame, metric, message):
    fix = r"def by_segment\(hypotheses, references\): return \[(\w+)\(hypothesis, reference\) for "
    sentence = rf"the function {metric.__name__} {message}\. It gets lists, .* one score per segment, .* {fix}"
    with pytest.raises(BmxError, match=sentence):
        bmx.grid(frame, metric, columns=COLUMNS, **QUICK)
    with pytest.raises(BmxError, match=sentence):
        bmx.load(metric, None).score(frame["Ausgabetext"].tolist(), references=frame["Vorlage"].tolist())


def test_the_fix_that_is_proposed_works(frame):
    outputs = frame["Ausgabetext"].tolist()
    references = frame["Vorlage"].tolist()
    with pytest.raises(BmxError) as caught:
        bmx.load(of_one_segment, None).score(outputs, references=references)
    space = {"of_one_segment": of_one_segment}
    exec(str(caught.value).split("is wrapped: ")[1], space)
    scores = bmx.load(space["by_segment"], None).score(outputs, references=references)
    assert scores.tolist() == [of_one_segment(output, text) for text, output in zip(references, outputs, strict=True)]


def test_a_mistake_inside_a_function_stays_what_it_is(frame):
    with pytest.raises(
        BmxError, match=r"ZeroDivisionError: division by zero \(.*test_own_metric.py, line .*, in <lambda>\)$"
    ):
        bmx.load(returning(lambda n: 1 / 0), None).score(["b"], references=["a"])
