"""Verdicts where the truth is planted: no boost helps that knows nothing, and one that knows much does.

benchmarks/verdicts.py counts the same worlds, and more of them, in hundreds of sweeps. The seeds here are those of the
sweeps in which a boost "helps" without the learner of joint effects, lengths, strata, clusters, levels of groups or
held-out choices, as far as these matter in a world; and a few more.
"""

import dataclasses
from functools import partial

import numpy as np
import pytest
from planted import (
    DECLARED,
    EVALUATION,
    JOINT,
    MAIN,
    by_block,
    by_document,
    by_system,
    clustered,
    curve,
    heavy,
    jointly,
    judged_in,
    length,
    noise,
    opposite_lengths,
    pairs_of,
    same,
    setting,
    shared,
    signal,
    systems,
    two_kinds_of_people,
)

from bmx_grid.evaluations.boost_evidence import OTHER_DATASETS
from bmx_grid.evaluations.verdicts import CONFOUNDED, HELPS, INFORMATIVE, OPEN, REDUNDANT, TOO_LITTLE

STEP = same(lambda score, log: 2.0 * (score > 0))
STEP_OF_WORDS = same(lambda score, log: score + 1.5 * (log > 0.3))
IF_LONG = same(lambda score, log: 1.5 * score * (log > 0))
FEWER = {name: EVALUATION.boosts[name] for name in (MAIN, "mean")}
JUDGING = dataclasses.replace(EVALUATION, boosts=FEWER, resamples=200)


def labels_in(sweep, seeds, point=DECLARED):
    """The verdicts of a sweep for each seed: their labels with reasons."""
    judged_sweeps = [judged_in(sweep(np.random.default_rng([1, seed])), JUDGING, point) for seed in seeds]
    assert all(judged_sweeps)
    return [[(verdict.label, verdict.because) for verdict in verdicts] for verdicts in judged_sweeps]


@pytest.mark.parametrize(
    ("sweep", "seeds", "point"),
    [
        pytest.param(pairs_of(noise, 1), [0, 1], DECLARED, id="attributions say nothing"),
        pytest.param(pairs_of(length, 1), [0, 1], DECLARED, id="they say how long a segment is"),
        pytest.param(opposite_lengths, [0], OTHER_DATASETS, id="which means the opposite in the data that chose"),
        pytest.param(pairs_of(curve, 1), [0, 1], DECLARED, id="they are a curve of the score"),
        pytest.param(pairs_of(STEP), [0], DECLARED, id="a step of the score"),
        pytest.param(pairs_of(STEP_OF_WORDS, 1), [0, 3], DECLARED, id="a step of the words"),
        pytest.param(pairs_of(IF_LONG), [0], DECLARED, id="the score of long segments"),
        pytest.param(pairs_of(heavy, 1), [0, 1], DECLARED, id="heavy tails"),
        *(
            pytest.param(pairs_of(partial(jointly, effect=JOINT[name], n=560), 1), [0], DECLARED, id=name)
            for name in ("two steps", "signs", "exponential", "three ways", "logistic")
        ),
        pytest.param(pairs_of(partial(two_kinds_of_people, n=560), 1), [0], DECLARED, id="two kinds of people"),
        pytest.param(pairs_of(partial(clustered, clusters=6), 1), [3, 4], DECLARED, id="six clusters"),
        pytest.param(shared, [0], DECLARED, id="the same segments in six pairs"),
        pytest.param(pairs_of(by_system, 1), [2, 3], DECLARED, id="the level of each system"),
        pytest.param(pairs_of(by_document, 1), [3], DECLARED, id="the level of each document"),
        pytest.param(pairs_of(partial(by_block, name="rater"), 1), [3], DECLARED, id="the level of each rater"),
        pytest.param(
            pairs_of(partial(by_block, name="domain", n=560, blocks=2), 4), [0], DECLARED, id="of two domains"
        ),
    ],
)
def test_no_boost_helps_that_knows_score_and_length_only(sweep, seeds, point):
    found = [(label, because) for verdicts in labels_in(sweep, seeds, point) for label, because in verdicts]
    assert not [because for label, because in found if label in (HELPS, INFORMATIVE)]


@pytest.mark.parametrize(
    ("sweep", "sets"),
    [
        pytest.param(pairs_of(partial(signal, size=0.4)), 1, id="six pairs"),
        pytest.param(pairs_of(partial(signal, size=0.4), 1), 4, id="one pair"),
        pytest.param(pairs_of(partial(signal, size=0.4, sign=-1.0), 1), 4, id="with the other sign"),
    ],
)
def test_a_boost_helps_that_knows_what_the_metric_misses(sweep, sets):
    assert sum(HELPS in dict(verdicts) for verdicts in labels_in(sweep, range(sets))) >= 0.75 * sets


def test_three_clusters_give_no_positive_verdict():
    sweeps = labels_in(pairs_of(partial(clustered, clusters=3), 1), [0, 2])
    assert {label for verdicts in sweeps for label, _ in verdicts} == {TOO_LITTLE}


@pytest.mark.parametrize("each", [2, 5], ids=["two translations per source", "five"])
def test_knowing_which_sources_are_hard_is_not_telling_translations_apart(each):
    verdicts = [verdict for sweep in labels_in(pairs_of(partial(systems, each=each), 1), [0, 1]) for verdict in sweep]
    labels = {label for label, _ in verdicts}
    assert not labels & {HELPS, REDUNDANT, INFORMATIVE}
    assert labels & {OPEN, CONFOUNDED}, "the gain is real"


@pytest.mark.parametrize("pairs_of_second", [1, 2], ids=["other folds chose", "other language pairs chose"])
def test_a_verdict_on_all_data_sets_has_a_partial_correlation(pairs_of_second):
    rng = np.random.default_rng(7)
    sweep = [setting(signal(rng, 0.4, n=60), rng, f"p{number}-en", "first") for number in range(4)]
    sweep += [setting(signal(rng, 0.4, n=60), rng, f"p{number}-en", "second") for number in range(pairs_of_second)]
    verdicts = [verdict for result in JUDGING.evaluate(sweep) for verdict in result.verdicts]
    of_all = [verdict for verdict in verdicts if verdict.family == ("all", "declared")]
    assert {verdict.point for verdict in of_all} == {"cross_fitted" if pairs_of_second == 1 else "elsewhere"}
    assert np.isfinite([verdict.partial_r.low for verdict in of_all]).all()
