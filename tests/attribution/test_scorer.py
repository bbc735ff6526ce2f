"""Scorers for texts from Python: what they give back, what they refuse, and what they are made of."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sacrebleu

import bmx_grid
from bmx_grid.core.errors import BmxError, ConfigError, DataError, ExplainError

REFERENCES = ["the cat sat on the mat", "a dog barks", "the cat sat on the mat"]
HYPOTHESES = ["the cat is on a mat", "the dog barked", "the cat is on a mat"]


class Unprintable:
    """Raises wherever it is shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def lists(references: Any, hypotheses: Any) -> dict[str, Any]:
    return {"references": references, "hypotheses": hypotheses}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        pytest.param(lists(["a \ud83d"], ["b"]), r"references: segment 1 holds half of a character", id="a high half"),
        pytest.param(lists(["a", "b"], ["c", "d\udcff"]), r"segment 2 .*'d\\udcff'; replace", id="a low half"),
        pytest.param(
            lists(["a"], ["a"]) | {"sources": ["a"]}, "sources are not read. Call score", id="a list too many"
        ),
        pytest.param({"hypotheses": ["a"]}, "references are missing. Call score.hypotheses, references=", id="too few"),
        pytest.param({"hypotheses": ["a"], "sources": ["a"]}, "references are missing, sources are not", id="another"),
        pytest.param(lists(["a"], "b"), "hypotheses: expected a list of texts, got 'b'", id="a text, no list"),
        pytest.param(lists(["\udcff" + "a" * 99], ["b"]), rf"in '.udcff{'a' * 59}'; ", id="60 characters are shown"),
        pytest.param(lists([["a", "b"]], ["c"]), r"segment 1 is \['a', 'b'\], not a text", id="two references"),
        pytest.param(lists(["a"], 5), "hypotheses: expected a list of texts, got 5", id="a number, no list"),
        pytest.param(lists(["a", None], ["b", "c"]), "references: segment 2 is None, not a text", id="no text"),
        pytest.param(lists(["a", "b"], ["c"]), "2 references, 1 hypotheses; every", id="uneven"),
        pytest.param(
            lists(["a", Unprintable()], ["b", "c"]), "segment 2 is a Unprintable .it cannot", id="unprintable"
        ),
    ],
)
def test_texts_that_cannot_be_scored_are_refused_in_one_sentence(texts, message):
    for scorer in (bmx_grid.load("chrf", None), bmx_grid.load("chrf", "erasure", p=1.0)):
        for ask in (scorer.score, scorer.count_texts, scorer.explain, scorer.corpus_score, scorer.statistics, scorer):
            with pytest.raises(DataError, match=message) as caught:
                ask(**texts)
            assert str(caught.value).isprintable()
    assert np.isfinite(scorer.score(["\U0010ffff a"], references=["\N{GRINNING FACE} a"])).all(), (
        "whole characters are texts"
    )
    assert scorer.score([], references=[]).shape == (0,)


@pytest.mark.parametrize(
    "made",
    [
        tuple,
        np.array,
        pd.Series,
        pd.Index,
        pd.Categorical,
        pa.array,
        lambda texts: pa.chunked_array([texts[:1], texts[1:]]),
    ],
)
def test_columns_of_texts_of_any_library_are_scored_as_their_lists(made):
    scorer = bmx_grid.load("chrf", None)
    expected = scorer.score(HYPOTHESES, references=REFERENCES)
    assert scorer.score(made(HYPOTHESES), references=made(REFERENCES)).tolist() == expected.tolist()


def test_a_report_of_progress_that_is_no_function_is_refused():
    with pytest.raises(ConfigError, match="progress: expected a function of a number of texts, got True"):
        bmx_grid.load("chrf", None).score(HYPOTHESES, references=REFERENCES, progress=True)


def test_hypotheses_come_first_and_lists_by_position_are_warned_of():
    """sacreBLEU's order. chrF of swapped lists is another number, so the order of before is named when it is read."""
    chrf = sacrebleu.CHRF()
    expected = [chrf.sentence_score("the cat is on a mat", ["the cat sat on the mat, it is black"]).score / 100]
    swapped = [chrf.sentence_score("the cat sat on the mat, it is black", ["the cat is on a mat"]).score / 100]
    hypotheses = ["the cat is on a mat"]
    references = ["the cat sat on the mat, it is black"]
    scorer = bmx_grid.load("chrf", "erasure")
    assert scorer.score(hypotheses, references=references).tolist() == pytest.approx(expected, abs=1e-12)
    assert scorer.score(references=references, hypotheses=hypotheses).tolist() == pytest.approx(expected, abs=1e-12)
    assert abs(expected[0] - swapped[0]) > 0.05
    asks = (scorer.score, scorer.explain, scorer.corpus_score, scorer.statistics, scorer.count_texts, scorer.items)
    for ask in (*asks, scorer):
        with pytest.warns(FutureWarning, match=r"reference, hypothesis. Name them.*references=references"):
            ask(references, hypotheses)
        with pytest.raises(DataError, match=r"3 lists were. Name the others: score\(hypotheses, references="):
            ask(references, hypotheses, references)
        with pytest.raises(DataError, match="2 lists were"):
            ask(hypotheses, references, references=references)
    with pytest.warns(FutureWarning):
        assert scorer.score(references, hypotheses).tolist() == pytest.approx(expected, abs=1e-12)
    both = bmx_grid.load(lambda hypotheses, references, sources: [1.0] * len(hypotheses), None)
    with pytest.raises(DataError, match=r"2 lists were.*score\(hypotheses, sources=sources, references=references\)"):
        both.score(hypotheses, references)


def test_base_scores_and_explanations_belong_to_their_segments():
    alone = bmx_grid.load("chrf", None)
    boosted = bmx_grid.load("chrf", "erasure", p=-0.3)
    explained = boosted.explain(HYPOTHESES, references=REFERENCES)
    assert alone.reads == boosted.reads == ("reference", "hypothesis")
    assert explained.base.tolist() == alone.score(HYPOTHESES, references=REFERENCES).tolist()
    assert [explanation.item.texts()["hypothesis"] for explanation in explained.explanations] == HYPOTHESES
    assert explained.scores[0] == explained.scores[2] != explained.scores[1]
    assert explained.scores.tolist() != explained.base.tolist()
    assert len(alone.explain(HYPOTHESES, references=REFERENCES).explanations) == 0
    assert alone.explain(HYPOTHESES, references=REFERENCES).base.tolist() == explained.base.tolist()


def test_without_p_and_w_the_metric_scores_and_the_explainer_explains():
    alone, boosted = bmx_grid.load("chrf", None), bmx_grid.load("chrf", "erasure", p=-0.3)
    shown = bmx_grid.load("chrf", "erasure")
    explained = shown.explain(HYPOTHESES, references=REFERENCES)
    assert shown.signature == alone.signature
    assert shown.explanation_signature == "erasure|version:1|gap:double_space|seed:None"
    assert alone.explanation_signature is boosted.explanation_signature is None
    scores = alone.score(HYPOTHESES, references=REFERENCES).tolist()
    assert (
        explained.scores.tolist()
        == explained.base.tolist()
        == shown.score(HYPOTHESES, references=REFERENCES).tolist()
        == scores
    )
    for explanation, of_boosted in zip(
        explained.explanations, boosted.explain(HYPOTHESES, references=REFERENCES).explanations, strict=True
    ):
        assert explanation.attributions["hypothesis"].tolist() == of_boosted.attributions["hypothesis"].tolist()
    assert bmx_grid.load("ter").score(HYPOTHESES, references=REFERENCES).shape == (3,)  # no boost: lower may be better


def test_repeated_segments_are_counted_and_scored_once():
    scorer = bmx_grid.load("chrf", "erasure", p=-0.3)
    advanced: list[int] = []
    scorer.explain(HYPOTHESES, references=REFERENCES, progress=advanced.append)
    assert sum(advanced) == scorer.count_texts(HYPOTHESES, references=REFERENCES)
    assert scorer.count_texts(HYPOTHESES, references=REFERENCES) == scorer.count_texts(
        HYPOTHESES[:2], references=REFERENCES[:2]
    )
    # twice the text and 6 erased words, and the segment itself
    assert scorer.count_texts(HYPOTHESES[:1], references=REFERENCES[:1]) == 15


def test_a_segment_that_cannot_be_explained_is_named_by_its_number():
    scorer = bmx_grid.load("chrf", "lime", p=1.0, settings={"max_texts": 50, "explainer.num_samples": 100})
    for ask in (scorer.score, scorer.count_texts):
        with pytest.raises(ExplainError, match="segment 2: "):
            ask(["", "one two three four five six eight"], references=["", "one two three four five six seven"])


@pytest.mark.parametrize("explainer", [None, "erasure"])
def test_a_metric_without_a_finite_score_is_named(explainer, monkeypatch):
    scorer = bmx_grid.load("chrf", explainer)
    monkeypatch.setattr(type(scorer.metric), "may_be_undefined", True)
    monkeypatch.setattr(type(scorer.metric), "combine", lambda self, sums: np.full(sums.shape[:-1], np.nan))
    with pytest.raises(BmxError, match=re.escape(scorer.metric.signature)):
        scorer.score(["a b d"], references=["a b c"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"explainer": None, "p": 1.0}, "p and w require an explainer", id="p alone"),
        pytest.param({"explainer": None, "settings": {"side": "both"}}, "'side' requires p and w", id="a side"),
        pytest.param({"settings": {"side": "both"}}, "'side' requires p and w", id="a side without p"),
        pytest.param({"explainer": "random", "w": 0.0}, "give p\\.", id="no median of p, w of 0 is a w"),
        pytest.param({"settings": {"metric._target_.x": 1}}, "unknown part '_target_'", id="below a text"),
        pytest.param({"settings": {"nope.x": 1}}, "nope.x: unknown part 'nope'.*explainer, metric", id="unknown part"),
        pytest.param({"settings": {"seed": "x"}}, "seed: expected a whole number", id="a seed in words"),
        pytest.param({"settings": {"seed": -1}}, "seed must be 0 or more", id="a negative seed"),
        pytest.param({"settings": {"max_texts": 0}}, "max_texts: expected a number at least 1", id="no texts"),
        pytest.param({"p": 10**400, "w": 0.5}, "p: 10+… is beyond the largest number", id="p beyond float64"),
    ],
)
def test_parts_that_cannot_be_used_are_refused(arguments, message):
    with pytest.raises(ConfigError, match=message):
        bmx_grid.load("chrf", **arguments)
    with pytest.raises(ConfigError, match="metric is required. Set metric=NAME, or recipe=NAME"):
        bmx_grid.load()


def test_the_seed_and_settings_reach_the_parts():
    texts = {"references": ["one two three four five six"], "hypotheses": ["two three four seven one eight"]}
    settings = [{"explainer.num_samples": 9, "seed": seed} for seed in (0, 0, 1)]
    scores = [bmx_grid.load("chrf", "lime", p=1.0, w=0.0, settings=of_seed).score(**texts)[0] for of_seed in settings]
    assert scores[0] == scores[1] != scores[2]
    scorer = bmx_grid.load("chrf", "erasure", p=2.0, settings={"metric.char_order": 3, "side": "hypothesis"})
    assert (scorer.boost.p, scorer.boost.side, scorer.metric.char_order) == (2.0, "hypothesis", 3)


@pytest.mark.parametrize("explainer", [None, "erasure"])
def test_many_segments_are_scored_in_parts_and_in_order(explainer, monkeypatch):
    scorer = bmx_grid.load("chrf", explainer, p=None if explainer is None else -0.3)
    references = [f"word{row} the cat" for row in range(12)]
    scores = scorer.score(references[::-1], references=references)
    monkeypatch.setattr("bmx_grid.attribution.scorer.TEXTS_AT_ONCE", 5)
    parts: list[int] = []
    assert (
        scorer.explain(references[::-1], references=references, progress=parts.append).scores.tobytes()
        == scores.tobytes()
    )
    assert len(parts) == (3 if explainer is None else 12) and sum(parts) == scorer.count_texts(
        references, references=references
    )


@pytest.mark.parametrize("metric", ["ter", "wer", "per", "chrf", "sentence_bleu"])
def test_torchmetrics_takes_the_epoch_of_the_perfect_system_as_the_best(metric):
    wrappers = pytest.importorskip("torchmetrics.wrappers", reason="torchmetrics is not installed")
    tracker = wrappers.MetricTracker(bmx_grid.load(metric, None).torch_metric(), maximize=None)
    for hypotheses in (["no dog barks here"] * 2, ["the cat sat on the mat"] * 2, ["the mat sat down"] * 2):
        tracker.increment()
        tracker.update(hypotheses, ["the cat sat on the mat"] * 2)
    _, epoch = tracker.best_metric(return_step=True)
    assert epoch == 1


CORPUS = {
    "sentence_bleu": sacrebleu.BLEU(smooth_method="add-k", effective_order=True),
    "chrf": sacrebleu.CHRF(),
    "chrf_plus_plus": sacrebleu.CHRF(word_order=2),
    "ter": sacrebleu.TER(),
}


@pytest.mark.parametrize("metric", CORPUS)
def test_a_corpus_score_is_sacrebleus(metric):
    score = bmx_grid.load(metric, None).corpus_score(HYPOTHESES, references=REFERENCES)
    assert 100 * score == pytest.approx(CORPUS[metric].corpus_score(HYPOTHESES, [REFERENCES]).score, abs=1e-12)


def test_a_corpus_score_without_statistics_is_the_mean_and_undefined_without_segments():
    scorers = bmx_grid.load("ter", None), bmx_grid.load("chrf", "erasure", p=-0.3), bmx_grid.load("rouge_l", None)
    for scorer in scorers:
        assert np.isnan(scorer.corpus_score([], references=[]))
        assert scorer.corpus_score(["", ""], references=["", ""]) == scorer.score([""], references=[""])[0]
    mean = scorers[1].score(HYPOTHESES, references=REFERENCES).mean()
    assert scorers[1].corpus_score(HYPOTHESES, references=REFERENCES) == pytest.approx(mean, abs=1e-15)
    # by hand: "is" and "a" for "sat" and "the" of 6 words, "the" and "barked" for "a" and "barks" of 3
    assert scorers[0].corpus_score(HYPOTHESES[:2], references=REFERENCES[:2]) == pytest.approx(4 / 9, abs=1e-15)


@pytest.mark.parametrize(("metric", "point"), [("chrf", {}), ("chrf", {"p": -1.0}), ("minilm_sbert", {})])
def test_torchmetrics_gets_the_score_of_a_system_batch_by_batch(metric, point):
    pytest.importorskip("torchmetrics", reason="torchmetrics is not installed")
    scorer = bmx_grid.load(metric, "erasure" if point else None, **point)
    adapted = scorer.torch_metric()
    assert np.isnan(adapted.compute().item())
    adapted.reset()
    adapted.update(HYPOTHESES[:1], REFERENCES[:1])
    second = pickle.loads(pickle.dumps(scorer.torch_metric()))
    second.update(HYPOTHESES[1:], REFERENCES[1:])
    adapted.sums += second.sums  # as processes gather them
    scores = scorer(HYPOTHESES, references=REFERENCES)
    expected = scores.mean()
    if scorer.has_statistics:
        sums = scorer.metric.statistics(scorer.items(HYPOTHESES, references=REFERENCES)).sum(axis=0)
        expected = scorer.metric.combine(sums)
    assert adapted.compute().item() == pytest.approx(expected, abs=1e-6)


def test_explained_sentences_are_a_frame_of_words_and_coloured_in_a_notebook():
    """Erasure by hand: the score less that of the text without the word, by sacreBLEU."""
    chrf = sacrebleu.CHRF()
    scored = bmx_grid.load("chrf", "erasure").explain(["the <b> sat"], references=["the cat sat"])
    frame = scored.to_frame()
    assert list(frame) == ["row", "score", "base", "side", "position", "word", "attribution"]
    words = frame[frame["side"] == "hypothesis"]
    assert words["word"].tolist() == ["the", "<b>", "sat"]
    without = ("  <b> sat", "the  sat", "the <b> ")
    whole = chrf.sentence_score("the <b> sat", ["the cat sat"]).score
    expected = [(whole - chrf.sentence_score(text, ["the cat sat"]).score) / 100 for text in without]
    assert words["attribution"].tolist() == pytest.approx(expected, abs=1e-12)
    shown = scored._repr_html_()
    assert "&lt;b&gt;" in shown and "<b>" not in shown
    colours = re.findall(r'class="word (\w+)" style="--s:[\d.]+">\S+</span><small dir="ltr">(.)', shown)
    assert set(colours) == {("up", "+"), ("down", "−")}
    alone = bmx_grid.load("chrf", None).explain(["a"] * 9, references=["a"] * 9)
    assert list(alone.to_frame()) == ["row", "score", "base"] and len(alone.to_frame()) == 9
    assert "row 4" in alone._repr_html_() and "row 5" not in alone._repr_html_()
    nothing = bmx_grid.load("chrf", "erasure").explain([""], references=[""]).to_frame()
    assert len(nothing) == 0 and list(nothing) == list(frame)
