"""What stands beside boosts: a term of the number of words, a curve of score and lengths, averages of metrics."""

import itertools
import json
from functools import partial

import numpy as np
import pytest
from some_attributions import standard

from bmx_grid.boosts import controls
from bmx_grid.boosts.base import Part, mean_gain
from bmx_grid.boosts.controls import fit_average, fit_curve, fit_length
from bmx_grid.measures.averages import best_averages
from bmx_grid.measures.nuisance import fit_term

ROLES = ("source", "hypothesis")


def liking(seen_by_people, n=300, seed=1) -> Part:
    """Log words of two texts, and people who follow the metric and something else."""
    rng = np.random.default_rng(seed)
    base, words = rng.normal(size=n), np.log(rng.integers(1, 50, size=(n, 2)))
    seen = {"length": words.sum(axis=1), "curve": base**2, "nothing": 0.0}[seen_by_people]
    return Part(base, words, base + seen + rng.normal(size=n) * (seen_by_people != "nothing"), np.arange(n))


@pytest.mark.parametrize("kind", ["pearson", "kendall"])
def test_the_length_term_is_linear_in_the_log_words(kind):
    part = liking("length")
    fitted = fit_length(ROLES, kind, [part])
    metric_weight, weights = fit_term(kind, [(part.base, part.features, part.human)])
    expected = metric_weight * part.base + part.features @ weights
    np.testing.assert_allclose(fitted.scores(part.base, part.features), expected, rtol=1e-13, atol=1e-13)
    assert json.loads(json.dumps(fitted.constants()))["own"] == fitted.own


@pytest.mark.parametrize("seen_by_people", ["length", "curve"])
def test_the_curve_holds_lengths_and_powers_of_the_score(seen_by_people):
    part, held_out = liking(seen_by_people), liking(seen_by_people, seed=2)
    fitted = fit_curve("pearson", [part])
    assert mean_gain("pearson", [held_out], fitted) > 0.2
    assert (mean_gain("pearson", [held_out], fit_length(ROLES, "pearson", [part])) > 0.2) == (
        seen_by_people == "length"
    )
    assert set(json.loads(json.dumps(fitted.constants(), allow_nan=False))) == {"own", "weights"}


@pytest.mark.parametrize("fit", [partial(fit_length, ROLES), fit_curve], ids=["length", "curve"])
def test_where_nothing_is_gained_the_metric_stays_bit_for_bit(fit):
    part = liking("nothing")
    for parts in ([], [part]):
        fitted = fit("pearson", parts)
        assert fitted.keeps_base_scores
        assert fitted.scores(part.base, part.features).tobytes() == part.base.tobytes()


NAMES = ("chrf", "bertscore", "random", "constant")


def metrics(n=200, seed=0, noise=2.0) -> Part:
    """Metrics on scales of their own; the base is a poor one, two others are better, and best together or with it."""
    rng = np.random.default_rng(seed)
    human = rng.normal(size=n)
    others = [100 + 20 * (human + rng.normal(size=n)), 0.8 + 0.01 * (human + rng.normal(size=n))]
    others += [rng.random(size=n), np.full(n, 7.0)]
    return Part(5 + 2 * (human + noise * rng.normal(size=n)), np.column_stack(others), human, np.arange(n))


@pytest.mark.parametrize(("kind", "noise"), [("pearson", 2.0), ("pearson", 1.2), ("spearman", 2.0), ("kendall", 2.0)])
def test_the_best_average_is_that_of_brute_force(kind, noise):
    from scipy import stats

    correlation_of = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[kind]
    part = metrics(noise=noise)
    z = {
        name: standard(values)
        for name, values in zip(("own", *NAMES[:3]), [part.base, *part.features.T[:3]], strict=True)
    }
    subsets = [some for size in (1, 2, 3) for some in itertools.combinations(z, size)]
    best = max(subsets, key=lambda some: correlation_of(sum(z[name] for name in some), part.human)[0])
    fitted = fit_average(NAMES, kind, [part])
    used = tuple(["own"] * (fitted.own > 0) + [name for name, w in zip(NAMES, fitted.weights, strict=True) if w])
    assert used == best and {"chrf", "bertscore"} <= set(used) and ("own" in used) == (noise < 2)
    average = sum(z[name] for name in best) / len(best)
    expected = part.base.mean() + part.base.std() * average  # on the scale of the own metric
    np.testing.assert_allclose(fitted.scores(part.base, part.features), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["pearson", "kendall"])
def test_metrics_that_share_what_they_found_choose_as_each_alone(kind, monkeypatch):
    rng = np.random.default_rng(3)
    human, scores = rng.normal(size=60), rng.normal(size=(60, 5))
    scores[:, :4] += human[:, None] * [0.5, 1.0, 0.8, 0.3]
    scores[:, 4] = scores[:, 1]  # the same metric under two names
    names, known, calls = ["a", "b", "c", "d", "e"], {}, []
    monkeypatch.setattr(controls, "best_averages", lambda *given: calls.append(kind) or best_averages(*given))
    for place, own in enumerate(names):
        others = tuple(name for name in names if name != own)
        parts = [
            Part(scores[rows, place], np.delete(scores[rows], place, axis=1), human[rows], np.arange(30))
            for rows in (np.arange(30), np.arange(30, 60))
        ]
        together = fit_average(others, kind, parts, own=own, known=known)
        assert together == fit_average(others, kind, parts)
        used = {own} if together.own else set()
        used |= {name for name, weight in zip(others, together.weights, strict=True) if weight}
        # Of the two equal ones the own one counts, or the first by name.
        assert len(used & {"b", "e"}) == 1 and ("e" in used) == (own == "e")
    assert len(calls) == 1 + len(names), "together it was computed once"


def test_the_own_metric_alone_may_be_best():
    part = metrics()
    perfect = Part(part.human + 0.0, part.features, part.human, part.clusters)
    fitted = fit_average(NAMES, "pearson", [perfect])
    assert fitted.keeps_base_scores
    assert fitted.scores(perfect.base, np.full((200, 4), np.nan)).tobytes() == perfect.base.tobytes()
    assert fit_average((), "pearson", [part]).keeps_base_scores
    assert fit_average(NAMES, "pearson", []).keeps_base_scores
