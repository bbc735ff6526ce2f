"""Ranks of the systems of newstest2021 by expert MQM: rank ranges over resampled segments, and clusters."""

import numpy as np
import pytest
from real_data import read

from bmx_grid.datasets.segments import clusters
from bmx_grid.measures.resampling import codes, number_of, seeded_draws
from bmx_grid.measures.systems import mean, mean_terms, rank_ranges, system_scores


@pytest.mark.parametrize(
    ("unit", "first", "last"),
    [
        pytest.param("source", (1, 4, 1), (13, 13, 2), id="sources"),
        pytest.param("document", (1, 6, 1), (11, 13, 1), id="documents"),
    ],
)
def test_zh_en_has_two_clusters_of_systems_only_where_segments_of_a_document_are_drawn_apart(
    unit, first, last, data_dir
):
    """Ranges of rank and cluster of the best of 13 systems, and of the last."""
    segments = read(data_dir, "mqm21", "zh-en")
    systems = codes([segment.system for segment in segments.segments])
    names = sorted(segments.systems)
    units = (
        codes(clusters([segments])[0])
        if unit == "document"
        else codes([segment.source for segment in segments.segments])
    )
    count = number_of(units)
    scores = system_scores(mean_terms(segments.human_scores), mean, systems, units, len(names), count)
    drawn = seeded_draws(count, 1000, 0)
    ranks = rank_ranges(scores(np.ones((len(set(units)), 1)))[0], np.concatenate([scores(times) for times in drawn]))
    by_name = {name: tuple(ranks[1:, place].tolist()) for place, name in enumerate(names)}
    assert (by_name["metricsystem1"], by_name["metricsystem5"]) == (first, last)
