"""Each promise notices the part that breaks it; a sweep notices scores that depend on the batch."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from fakes import HashMetric

from bmx_grid.attribution.explain import explain_items
from bmx_grid.attribution.promises import OF_EXPLAINERS, OF_METRICS, short_items
from bmx_grid.core.errors import ComponentError
from bmx_grid.core.identity import identity
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.sweep.scoring import check_batches
from bmx_grid.words.perturbation import Plan


class InItsPlace(HashMetric):
    def score(self, items):
        return np.arange(len(items), dtype=np.float64)


class Standardised(HashMetric):
    """As z scores over whatever is scored together."""

    def score(self, items):
        scores = super().score(items)
        return scores - scores.mean() if len(items) else scores


class OtherMasks(HashMetric):
    def score_masked(self, requests):
        return [self.score(list(request.items())) + 0.5 for request in requests]


class Infinite(HashMetric):
    def score(self, items):
        return super().score(items) / np.array([len(item.text("hypothesis")) > 0 for item in items], dtype=np.float64)


class Misnamed(HashMetric):
    signature = "two\nlines"


class OtherSums(Chrf):
    def score(self, items):
        return super().score(items) + 0.1


class Refitted(HashMetric):
    def fit(self, segments):
        return type(self)(salt=0, log="x" * len(segments))

    def __eq__(self, other):
        return self is other


@dataclass(frozen=True)
class Held(HashMetric):
    held: Any = identity(None)

    def __post_init__(self):
        object.__setattr__(self, "held", None)
        object.__setattr__(self, "function", lambda text: text)


METRICS = [
    pytest.param(Misnamed, "says_what_it_is", "signature: expected one line of text", id="a signature of two lines"),
    pytest.param(Infinite, "scores_every_segment", "expected finite numbers", id="infinite"),
    pytest.param(InItsPlace, "scores_alike_in_any_batch", "scores 1 among 11 segments and 0 alone", id="its place"),
    pytest.param(Standardised, "scores_alike_in_any_batch", "A score must not depend on its batch", id="z scores"),
    pytest.param(OtherMasks, "scores_masks_as_texts", "other scores than of the written texts", id="masks"),
    pytest.param(OtherSums, "sums_statistics", "`combine` of the statistics of a segment is not its score", id="sums"),
    pytest.param(Refitted, "fits_a_set", "another metric with the same fingerprint", id="fitted"),
    pytest.param(Held, "can_be_sent", "cannot be sent to another process: ", id="a function in it"),
]


def broken(promises, part):
    """The names of the promises that a part breaks, and what is said."""
    faults = {}
    for promise in promises:
        try:
            promise(part)
        except (ComponentError, ZeroDivisionError) as error:
            faults[promise.__name__] = str(error)
    return faults


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize(("kind", "promise", "fault"), METRICS)
def test_a_broken_metric_is_noticed(kind, promise, fault):
    faults = broken(OF_METRICS, kind())
    assert fault in faults[promise]
    assert broken(OF_METRICS, HashMetric()) == {}


class Draws(Erasure):
    """It draws, and does not say so."""

    def attribute(self, plan, scores):
        return scores + np.random.default_rng(int(1e6 * scores.sum())).random(len(scores))

    def plan(self, words, rng):
        keep = rng.random((len(words), len(words))) < 0.5
        return Plan(words, keep=keep, replacement="")


class Global(Erasure):
    def attribute(self, plan, scores):
        np.random.random()  # noqa: NPY002
        return super().attribute(plan, scores)


class Drawn(Erasure):
    stochastic: ClassVar[bool] = True


class More(Erasure):
    def count_texts(self, n_words):
        return n_words + 7


class Counting(Erasure):
    CALLS: ClassVar[list[int]] = []

    def attribute(self, plan, scores):
        self.CALLS.append(1)
        return super().attribute(plan, scores) + len(self.CALLS)


EXPLAINERS = [
    pytest.param(Draws, "draws_as_it_says", "stochastic is False, and two seeds have other attributions", id="draws"),
    pytest.param(Drawn, "draws_as_it_says", "stochastic is True, and two seeds have the same", id="does not draw"),
    pytest.param(Global, "draws_as_it_says", "draws from NumPy's global generator", id="the global generator"),
    pytest.param(More, "plans_what_it_announced", "planned", id="announces more"),
    pytest.param(Counting, "explains_every_word", "other attributions from the same generator", id="remembers"),
    pytest.param(Counting, "explains_alike_in_any_batch", "the batch changes the attributions", id="in a batch"),
]


@pytest.mark.parametrize(("kind", "promise", "fault"), EXPLAINERS)
def test_a_broken_explainer_is_noticed(kind, promise, fault):
    assert fault in broken(OF_EXPLAINERS, kind())[promise]
    assert broken(OF_EXPLAINERS, Erasure()) == {}


class Nearly(HashMetric):
    """As bfloat16 on a GPU: a difference of a thousandth of a score between batches."""

    def score(self, items):
        return super().score(items) * (1 + 9e-4 * (len(items) > 4))


# metric, number of segments, and whether a sweep of them is refused
SWEPT = [
    pytest.param(HashMetric(), 8, False, id="independent"),
    pytest.param(Chrf(), 8, False, id="sums of statistics"),
    pytest.param(InItsPlace(), 8, True, id="its place"),
    pytest.param(InItsPlace(), 2, True, id="two segments"),
    pytest.param(InItsPlace(), 1, False, id="one segment shows nothing"),
    pytest.param(Standardised(), 8, True, id="z scores"),
    pytest.param(Nearly(), 8, False, id="rounding"),
    pytest.param(InItsPlace(log="/dev/null"), 8, False, id="sends its texts elsewhere"),
]


@pytest.mark.parametrize(("metric", "count", "is_refused"), SWEPT)
@pytest.mark.parametrize("explainer", [None, Erasure()], ids=["alone", "explained"])
def test_a_sweep_scores_a_few_segments_again(metric, count, is_refused, explainer):
    pairs = [(f"ein Haus mit {number} Zimmern", f"a house with {number} rooms") for number in range(count)]
    explained = explain_items(metric, explainer, short_items(metric.reads, pairs), seed=0)
    if is_refused:
        with pytest.raises(ComponentError, match="A score must not depend on its batch"):
            check_batches(metric, explained)
    else:
        check_batches(metric, explained)
