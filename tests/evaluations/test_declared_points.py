"""Points chosen without the segments they are judged on: no human score of a judged segment enters its point."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import pearsonr
from some_settings import changed, finished

from bmx_grid.datasets.segments import SegmentSet, clusters
from bmx_grid.evaluations.grid_surface import chosen_elsewhere, scores_of_point
from bmx_grid.measures.grid import GridSpec

SPEC = GridSpec(p=tuple((np.arange(-30, 30) / 10).tolist()), w=(0.0, 0.4, 0.8, 1.0))


def pairs(count=3, n=60, shared=False):
    """Settings of several language pairs; with `shared` all have the same sources."""
    settings = []
    for number in range(count):
        setting = finished(n, rng=np.random.default_rng(number))
        before = "" if shared else f"{number} "
        texts = tuple(dataclasses.replace(row, source=f"{before}{row.source}") for row in setting.segments.segments)
        segments = SegmentSet("toy", f"x{number}-en", texts, setting.segments.judgements)
        settings.append(dataclasses.replace(setting, segments=segments))
    labels = clusters([setting.segments for setting in settings])
    return [
        dataclasses.replace(setting, clusters=cluster_labels.tolist())
        for setting, cluster_labels in zip(settings, labels, strict=True)
    ]


def point_of(row):
    return row.w, row.p


@pytest.mark.parametrize("shared", [False, True], ids=["nothing shared", "every source shared"])
def test_elsewhere_is_the_highest_mean_gain_on_the_other_pairs(shared):
    settings = pairs(shared=shared)
    spec = GridSpec(p=SPEC.p[::4], w=SPEC.w)
    points = chosen_elsewhere(spec, settings)
    if shared:  # all clusters of the others are taken out: nothing is left to choose on
        assert points == {}
        return
    assert list(points) == [0, 1, 2]
    for number, (point, boosted) in points.items():
        others = [setting for setting in settings if setting is not settings[number]]
        gains = np.zeros((len(spec.p), len(spec.w)))
        for chooser in others:
            human, base = chooser.segments.human_scores, chooser.scores.base_scores
            for row, p in enumerate(spec.p):
                for column, w in enumerate(spec.w):
                    scores = scores_of_point(spec, chooser, w, p)
                    gains[row, column] += pearsonr(scores, human)[0] - pearsonr(base, human)[0]
        row, column = np.unravel_index(np.argmax(gains), gains.shape)
        assert point_of(point) == (spec.w[column], spec.p[row])
        np.testing.assert_array_equal(boosted, scores_of_point(spec, settings[number], spec.w[column], spec.p[row]))
        human, base = settings[number].segments.human_scores, settings[number].scores.base_scores
        assert point.gain == pytest.approx(pearsonr(boosted, human)[0] - pearsonr(base, human)[0])


def test_clusters_of_the_judged_pair_do_not_take_part():
    """Segments shared with the judged pair carry wild human scores in the others: they must not move its point."""
    settings = pairs(2, n=90)
    known, _ = chosen_elsewhere(SPEC, settings)[0]
    chooser = settings[1]
    labels = list(chooser.clusters)
    labels[:30] = settings[0].clusters[:30]
    human = chooser.segments.human_scores.copy()
    with_shared = dataclasses.replace(chooser, clusters=labels)
    before, _ = chosen_elsewhere(SPEC, [settings[0], with_shared])[0]
    human[:30] = 1000 * np.random.default_rng(5).normal(size=30)
    after, _ = chosen_elsewhere(SPEC, [settings[0], changed(with_shared, human)])[0]
    assert point_of(before) == pytest.approx(point_of(after), nan_ok=True)
    wild, _ = chosen_elsewhere(SPEC, [settings[0], changed(chooser, human)])[0]
    assert point_of(known) != point_of(wild), "the case can tell"


def test_a_metric_alone_and_a_single_pair_have_no_point_elsewhere():
    assert chosen_elsewhere(SPEC, [finished(explainer=None), finished()]) == {}


def test_a_pair_that_nothing_else_chooses_for_leaves_the_points_of_the_next():
    """Only the first pair has defined correlations: it chooses for the second, and the second not for it."""
    first, second = pairs(2)
    assert list(chosen_elsewhere(SPEC, [first, changed(second, np.ones(60))])) == [1]
