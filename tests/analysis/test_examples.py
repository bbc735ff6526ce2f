"""Examples are the segments that move best, worst and typically, of settings that gain most; ranks are SciPy's."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import rankdata
from some_settings import finished

from bmx_grid.analysis.examples import choose_examples, error_flags
from bmx_grid.core.ragged import Labels
from bmx_grid.evaluations.grid_surface import GridEvaluation
from bmx_grid.measures.grid import Point, PowerRange
from bmx_grid.words.tags import WordTags

GRID = GridEvaluation(p=PowerRange(-2, 2, 0.5), w=(0.0, 0.5, 1.0), fixed={"erasure": Point(w=0.5, p=1.0)})


def planned(name: str, setting, gain: float, explainer: str = "erasure", **gains: float):
    """A result, with what `choose_examples` reads of it.

    gains: those at declared points, which are all at w 0.5, p 1.
    """
    result_of_grid = GRID.surface(setting)
    names = ("toy", "de-en", name, explainer)
    return SimpleNamespace(
        names=names,
        finished=setting,
        explainer=explainer,
        gain=gain,
        spec=GRID.spec,
        points=[SimpleNamespace(point=point, w=0.5, p=1.0, gain=gains[point]) for point in gains],
        grid=dataclasses.replace(result_of_grid.grid, best_w=0.0, best_p=-1.0),
    )


def chosen(*results):
    return choose_examples(results)


def test_the_best_the_worst_and_the_typical_move_are_chosen():
    human = np.where(np.arange(30) == 7, np.nan, np.random.default_rng(1).normal(size=30))
    setting = finished(human=human)
    examples = chosen(planned("m", setting, 0.1, published=0.1))
    used = np.flatnonzero(np.isfinite(human))
    boosted = GRID.points(GRID.surface(setting))["published"]
    scores = {"metric": setting.scores.base_scores[used], "boosted": boosted[used], "human": human[used]}
    ranks = {name: rankdata(-values) for name, values in scores.items()}
    before = abs(ranks["metric"] - ranks["human"])
    approach = before - abs(ranks["boosted"] - ranks["human"])
    moves = {}
    for example in examples:
        (place,) = np.flatnonzero(scores["metric"] == example.metric.score)
        segment = setting.segments.segments[int(used[place])]
        assert (example.segment, example.system) == (segment.id, segment.system)
        moves[example.kind] = approach[place]
        assert (example.n, example.w, example.p, example.names) == (29, 0.5, 1.0, ("toy", "de-en", "m", "erasure"))
        for name in scores:
            assert getattr(example, name) == (scores[name][place], ranks[name][place])
        assert [side.role for side in example.sides] == ["source", "hypothesis"]
        assert all(len(side.words) == len(side.attributions) == len(side.marked) for side in example.sides)
    # Of 29 moves the median is one of them.
    assert moves == {"best move": approach.max(), "worst move": approach.min(), "typical": np.median(approach)}
    assert approach.max() > 0 > approach.min()


@pytest.mark.parametrize(
    ("gains", "expected"),
    [
        pytest.param({"published": 0.1, "elsewhere": 0.2}, (0.5, 1.0), id="chosen elsewhere"),
        pytest.param({"published": 0.1}, (0.5, 1.0), id="published"),
        pytest.param({"published": float("nan")}, (0.0, -1.0), id="undefined at the published point: the best"),
    ],
)
def test_the_boost_is_the_judged_one_else_the_published_one_else_the_best(gains, expected):
    examples = chosen(planned("m", finished(), 0.1, **gains))
    assert {(example.w, example.p) for example in examples} == {expected}


def test_settings_with_large_gains_come_first_and_controls_not_at_all(monkeypatch):
    monkeypatch.setattr("bmx_grid.analysis.examples.MOST_SETTINGS", 3)
    setting = finished()
    examples = chosen(
        planned("low", setting, 0.1),
        planned("high", setting, 0.3),
        planned("next", setting, 0.2),
        planned("undefined", setting, float("nan")),
        planned("judged", setting, 0.9, elsewhere=0.25),
        planned("random", setting, 0.9),
        planned("control", setting, 0.9, explainer="random"),
        planned("other", setting, 0.05, explainer="lime"),
    )
    assert list(dict.fromkeys(example.names[2] for example in examples)) == ["high", "judged", "next"]


def test_nothing_that_moves_or_is_rated_is_no_example():
    nobody = finished(human=np.full(30, np.nan))
    assert chosen(planned("m", nobody, 0.1)) == []
    single = finished(n=1)
    assert chosen(planned("m", single, 0.1)) == []


def test_marks_are_carried_to_the_words_that_are_shown():
    tags = WordTags((("Un", "chat", "noir", "<EOS>"),), Labels.from_rows([[False, True, False, True]]))
    assert error_flags(tags, 0, ("Un", "chat", "noir")) == (False, True, False)
    assert error_flags(tags, 0, ("Unchat", "noir")) == (True, False), "a word of two tokens"
    assert error_flags(tags, 0, ("Un", "chat", "noir", "E"))[-1] is False, "the end of a sentence is no word"
