"""Difficulty-aware BERTScore on WMT19 with MiniLM: corpus scores of systems against plain loops over the equations."""

import pytest
from plain_difficulty import Plain, corpus
from real_data import read

from bmx_grid.core.configure import build, load_option
from bmx_grid.metrics.base import Metric
from bmx_grid.models.files import model_folder


@pytest.mark.parametrize(("systems", "ids"), [("top:4", 3), ("all", 1)])
def test_corpus_scores_on_wmt19(data_dir, systems, ids):
    segments = read(data_dir, "wmt19", "de-en", systems=systems).head(ids)
    option = load_option("metric", "minilm_difficulty_bertscore")
    metric = build(option, Metric, "metric.minilm_difficulty_bertscore").fit(segments)
    statistics = metric.statistics(segments.items(metric.reads))
    by_id: dict[str, tuple[str, dict[str, str]]] = {}
    for segment in segments.segments:
        by_id.setdefault(segment.id, (segment.reference, {}))[1][segment.system] = segment.hypothesis
    plain = Plain(str(model_folder(option["model"])), option["layer"], list(by_id.values()))
    for system, expected in plain.of_systems(segments.systems, segments.systems[:4]).items():
        rows = [segment.system == system for segment in segments.segments]
        assert float(metric.combine(statistics[rows].sum(axis=0))) == pytest.approx(corpus(expected), abs=1e-6)
