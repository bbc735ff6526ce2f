"""The headline of a sweep: few numbers, none from controls, nothing undefined shown as 0."""

import numpy as np
import pytest
import scipy.stats
from some_results import at_point, make_result, with_grid

from bmx_grid.commands.headline import headline
from bmx_grid.sweep.settings import Refused


def gaining(gain, baseline=0.5, **names):
    result = with_grid(make_result(**names), baseline=baseline)
    return at_point(result, baseline + gain, p=-1.4, w=0.4)


def test_the_numbers_a_person_wants():
    results = [
        gaining(0.02, metric="chrf", baseline=0.25),
        gaining(-0.01, metric="bleu", baseline=0.75),
        gaining(0.05, metric="chrf", baseline=0.25, explainer="shap"),
        gaining(np.nan, metric="bleu", baseline=0.75, explainer="shap"),
        gaining(0.9, metric="random", baseline=0.0),
        gaining(0.9, metric="chrf", explainer="random"),
    ]
    numbers, note = headline(results, [Refused("x", "y")])
    assert numbers == pytest.approx(
        {
            "settings": 6,
            "settings failed": 1,
            "mean baseline pearson": 0.5,  # each metric once, however many explainers it has
            "mean gain": 0.02,
            "settings better": 2,
            "settings worse": 1,
            "settings undefined": 1,
            "mean gain low": np.nan,  # of one language pair
            "mean gain high": np.nan,
        },
        nan_ok=True,
    )
    assert "2 of 3 settings get better" in note and "| shap | 1 | 1 | 0 | +0.0500 |" in note


def test_the_mean_gain_has_its_interval_by_language_pair():
    results = [gaining(gain, language_pair=pair) for gain, pair in ((0.1, "de-en"), (0.2, "fr-en"), (0.3, "cs-en"))]
    numbers, _ = headline(results, [])
    low, mean, high = (numbers[f"mean gain{end}"] for end in (" low", "", " high"))
    half = scipy.stats.t.ppf(0.975, 2) * 0.1 / np.sqrt(3)
    assert (low, mean, high) == pytest.approx((0.2 - half, 0.2, 0.2 + half))


def test_at_most_eleven_numbers_and_all_explainers_in_the_note():
    names = ["erasure", "input_marginalization", "lime", "shap", "zeta"]
    numbers, note = headline([gaining(0.1, explainer=name) for name in names], [])
    assert len(numbers) <= 11 and not [name for name in numbers if "erasure" in name]
    assert all(f"| {name} |" in note for name in names)


def test_a_sweep_without_declared_points_says_nothing_of_gains():
    result = at_point(make_result(), np.nan)
    numbers, note = headline([result], [])
    assert np.isnan(numbers["mean gain"]) and "declared" not in note
    assert note == "**1 setting**, 0 failed. Mean pearson of the metrics alone: 0.5000."


def test_nothing_finished():
    numbers, note = headline([], [Refused("x", "y")])
    assert (numbers["settings"], numbers["settings failed"]) == (0, 1)
    assert "nan" not in note
