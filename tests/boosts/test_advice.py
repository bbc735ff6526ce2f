"""Warnings at the end of a sweep: each where it is due, and only there."""

import json
import re

import pytest
from bmx_grid.boosts.advice import advice

NAN = float("nan")
AVERAGE = json.dumps(
    {"features": ["chrf", "ter", "minilm"], "own": 0.0, "weights": [0.2, 0.0, 0.3], "base_mean": 0, "means": [0, 0, 0]}
)


def row(boost="power_mean_grid", gain=0.01, low=-0.01, high=0.03, **other):
    names = {"dataset": "wmt17", "language_pair": "cs-en", "metric": "sentence_bleu", "explainer": "erasure"}
    return {**names, "boost": boost, "against": "metric", "point": "cross_fitted", "gain": gain, "low": low,
            "high": high, "n": 560, "constants": None, **other}  # fmt: skip


def judged(verdict, **other):
    names = {"dataset": "all", "language_pair": "all", "metric": "chrf", "explainer": "lime", "boost": "spread"}
    return {**names, "point": "elsewhere", "verdict": verdict, "gain": 0.004, "best_gain": 0.02, **other}


def test_nothing_to_warn_of():
    assert advice([]) == []
    assert advice([row()], [judged("beyond length"), judged("nothing established")]) == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param([row(n=222)], "the fewest: 199", id="nine tenths of 222 are 199"),
        pytest.param([row(n=223)], None, id="200 are enough"),
        pytest.param([row(n=221)], r"wmt17 cs-en .*the fewest: 198\)", id="198"),
        pytest.param([row(n=60), row(n=60, boost="mean", explainer="lime")], "the fewest: 54", id="said once"),
        pytest.param([row(n=60, point="half_splits")], None, id="not of other points"),
        pytest.param(
            [row(n=100, point="elsewhere", language_pair=f"{number}-en") for number in range(4)],
            None,
            id="three other pairs with 300 choose",
        ),
        pytest.param(
            [row(n=60, point="elsewhere", language_pair=f"{number}-en") for number in range(4)],
            r"0-en; wmt17 1-en; wmt17 2-en and 1 more .*the fewest: 180\)",
            id="three other pairs with 180 choose",
        ),
        pytest.param(
            [row(n=190, point=point, language_pair=pair) for point in ("elsewhere", "cross_fitted") for pair in "abc"],
            None,
            id="the other pairs choose what is used",
        ),
    ],
)
def test_few_rated_segments_to_choose_on(rows, said):
    found = [one for one in advice(rows) if "fewer than 200" in one]
    assert len(found) == (said is not None)
    assert said is None or re.search(said, found[0])


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        pytest.param(
            [judged("length")], [r"^Length explains the gain of chrf x lime \(spread: \+0.0040\): over"], id="length"
        ),
        pytest.param(
            [judged("selection")],
            [r"^Only selection explains the best point of chrf x lime \(spread: \+0.0040, \+0.0200 where it is chosen"],
            id="selection",
        ),
        pytest.param(
            [judged("selection", boost=None, best_gain=NAN)], [r"chrf x lime \(\+0.0040\): do not"], id="no more known"
        ),
        pytest.param(
            [judged("length", dataset="wmt17", language_pair=pair) for pair in ("cs-en", "de-en")],
            [r"chrf x lime, wmt17 cs-en \(spread: \+0.0040\); chrf x lime, wmt17 de-en \("],
            id="each pair, where there is no row on all",
        ),
        pytest.param(
            [judged("length", dataset="wmt17", language_pair="cs-en"), judged("beyond length")],
            [],
            id="all pairs outweigh one",
        ),
        pytest.param(
            [judged("length", dataset="wmt17"), judged("selection", dataset="wmt17", language_pair="cs-en")],
            [r"Length explains the gain of chrf x lime, wmt17 \("],
            id="a data set outweighs its pairs",
        ),
        pytest.param(
            [judged("length", point="cross_fitted"), judged("beyond length")], [], id="other pairs outweigh folds"
        ),
        pytest.param([judged("length", point="published")], [], id="published points are not chosen here"),
        pytest.param(
            [judged("length"), judged("selection", explainer="shap")],
            ["^Length explains", "^Only selection explains the best point of chrf x shap"],
            id="both",
        ),
    ],
)
def test_gains_that_are_none(verdicts, said):
    found = advice([], verdicts)
    assert len(found) == len(said)
    for sentence, pattern in zip(found, said, strict=True):
        assert re.search(pattern, sentence), sentence


def average(**other):
    return row("combined", **{"gain": 0.09, "low": 0.07, "high": 0.11, "constants": AVERAGE, **other})


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param(
            [row(gain=0.01), average()],
            r"^Average chrf and minilm instead of boosting sentence_bleu: \+0.0900 \[\+0.0700, \+0.1100\] on your "
            r"data; the best boost: \+0.0100\.$",
            id="one language pair",
        ),
        pytest.param(
            [average(language_pair=pair, gain=gain) for pair, gain in (("a", 0.08), ("b", 0.1))],
            r"\+0.0900 on your data, the mean over 2 language pairs; the interval lies above 0 in 2 of them\.$",
            id="several pairs",
        ),
        pytest.param(
            [average(), average(explainer="lime", gain=0.5)], r"\+0.0900 \[", id="the same whatever the explainer"
        ),
        pytest.param(
            [average(point="elsewhere", gain=0.08), average()], r"\+0.0800 \[", id="judged on other pairs if it is"
        ),
        pytest.param([average(low=-0.01)], None, id="not established"),
        pytest.param(
            [average(language_pair=pair, low=low) for pair, low in (("a", 0.1), ("b", -0.1))],
            None,
            id="established for half of the pairs",
        ),
        pytest.param([row(gain=0.2), average()], None, id="a boost gains more"),
        pytest.param([average(against="length")], None, id="not against the metric"),
        pytest.param([average(low=NAN, high=NAN)], None, id="no interval"),
        pytest.param([average(constants=None)], "^Average sentence_bleu with the other metrics instead", id="unnamed"),
        pytest.param(
            [average(constants="[1, 2]")], "^Average sentence_bleu with the other metrics", id="odd constants"
        ),
        pytest.param(
            [average(constants=json.dumps({"features": ["chrf"], "own": 0.5, "weights": [0.2]}))],
            "^Average sentence_bleu and chrf instead",
            id="the metric itself is among them",
        ),
        pytest.param(
            [average(constants=json.dumps({"features": ["chrf"], "own": 0, "weights": [0.2]}))],
            "^Use chrf instead of sentence_bleu: ",
            id="another metric alone is best",
        ),
    ],
)
def test_an_average_of_metrics_where_it_gains_more(rows, said):
    found = advice(rows)
    assert len(found) == (said is not None)
    assert said is None or re.search(said, found[0]), found
