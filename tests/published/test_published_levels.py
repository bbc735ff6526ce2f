"""Published correlations at segment and system level: newstest2021 with MQM, and WMT19 (Zhan et al. 2021, table 1)."""

import functools
import os

import numpy as np
import pytest
from real_data import read
from some_settings import table_rows

from bmx_grid.core.configure import build, load_option
from bmx_grid.datasets.segments import clusters
from bmx_grid.evaluations.base import ScoredSetting
from bmx_grid.evaluations.levels import LevelsEvaluation
from bmx_grid.metrics.base import Metric
from bmx_grid.words.attributions import AttributionSet

# Edits of each system, from the best to the worst by human score, and words of the reference: TER's statistics summed.
TER_EDITS = {
    "en-de": """19748 19289 19321 18955 19510 19206 20316 19908 20019 20456 19625 19858 20060 19659 20889 21649 20938
        20916 21478 22345 24541 33957""",
    "de-en": "16574 16656 15887 14948 17396 16876 16553 16853 17822 16353 17686 16472 18205 18033 19145 18685",
}
TER_WORDS = {"en-de": 42087, "de-en": 34386}
WMT19 = {  # pair, systems, metric: |Pearson|, |Kendall|, |Spearman|
    ("en-de", "all", "sentence_bleu"): (0.952, 0.703, 0.873),
    ("en-de", "all", "ter"): (0.982, 0.711, 0.873),
    ("en-de", "top:30%", "sentence_bleu"): (0.460, 0.200, 0.143),
    ("en-de", "top:30%", "ter"): (0.598, 0.333, 0.486),
    ("de-en", "all", "sentence_bleu"): (0.888, 0.622, 0.781),
    ("de-en", "all", "ter"): (0.797, 0.504, 0.675),
    ("de-en", "top:30%", "sentence_bleu"): (0.808, 0.548, 0.632),
    ("de-en", "top:30%", "ter"): (0.883, 0.548, 0.632),
}


def metric_of(name, **settings):
    return build({**load_option("metric", name), **settings}, Metric, f"metric.{name}")


def levels(segments, metric, statistics):
    """The rows of the metric alone by level, grouping and statistic."""
    scores = AttributionSet(metric.combine(statistics), {}, statistics)
    labels = clusters([segments])[0].tolist()
    finished = ScoredSetting(segments, "m", "none", metric, None, segments.items(metric.reads), scores, labels)
    evaluation = LevelsEvaluation(resamples=0)
    rows = table_rows(evaluation, evaluation.evaluate([finished])[0], "correlations")
    return {(row.level, row.grouping, row.statistic): row for row in rows}


@pytest.fixture(scope="module")
def bleu_statistics(data_dir):
    """Statistics of BLEU with international tokens by system, for a pair: counted once for all systems."""
    bleu = metric_of("sentence_bleu", tokenize="intl")

    @functools.cache
    def of_pair(pair):
        segments = read(data_dir, "wmt19", pair)
        statistics = bleu.statistics(segments.items(bleu.reads))
        return statistics.reshape(len(segments.systems), -1, statistics.shape[1])

    return of_pair


def ter_statistics(pair, lines):
    """Statistics with the known sums: all edits of a system in its first line, its words spread over the lines."""
    edits = np.array(TER_EDITS[pair].split(), dtype=float)
    sums = np.zeros((len(edits), lines, 2))
    sums[:, 0, 0] = edits
    sums[:, :, 1] = TER_WORDS[pair] / lines
    return sums


@pytest.mark.parametrize("cell", WMT19, ids=" ".join)
def test_wmt19_systems(data_dir, bleu_statistics, cell):
    pair, systems, name = cell
    segments = read(data_dir, "wmt19", pair, systems=systems)
    metric = metric_of(name, **({"tokenize": "intl"} if name == "sentence_bleu" else {}))
    lines = len(segments) // len(segments.systems)
    statistics = bleu_statistics(pair) if name == "sentence_bleu" else ter_statistics(pair, lines)
    kept = statistics[: len(segments.systems)].reshape(len(segments), -1)
    rows = levels(segments, metric, kept)
    assert {key[0] for key in rows} == {"system"}
    values = [abs(rows["system", "none", kind].value) for kind in ("pearson", "kendall", "spearman")]
    assert tuple(round(value, 3) for value in values) == WMT19[cell]
    if systems == "all":
        assert np.sign(rows["system", "none", "pearson"].value) == (-1 if name == "ter" else 1)
    assert rows["system", "none", "pearson"].system_score == "corpus"


def summed_edits(data_dir, pair, systems):
    ter, segments = metric_of("ter"), read(data_dir, "wmt19", pair, systems=systems)
    sums = ter.statistics(segments.items(ter.reads)).reshape(len(segments.systems), -1, 2).sum(axis=1)
    assert set(sums[:, 1]) == {TER_WORDS[pair]}
    return sums[:, 0].tolist()


def test_ter_sums_of_the_best_system(data_dir):
    assert summed_edits(data_dir, "de-en", "top:1") == [float(TER_EDITS["de-en"].split()[0])]


@pytest.mark.skipif("BMX_SLOW" not in os.environ, reason="takes minutes; set BMX_SLOW=1")
@pytest.mark.parametrize("pair", TER_EDITS)
def test_ter_sums_of_all_systems(data_dir, pair):
    assert summed_edits(data_dir, pair, "all") == [float(edits) for edits in TER_EDITS[pair].split()]


@pytest.mark.parametrize(
    ("pair", "alone", "by_item", "system"), [("zh-en", 0.173, 0.084, 0.49), ("en-de", 0.102, 0.073, 0.86)]
)
def test_mqm_levels_of_chrf(data_dir, pair, alone, by_item, system):
    segments, chrf = read(data_dir, "mqm21", pair), metric_of("chrf")
    rows = levels(segments, chrf, chrf.statistics(segments.items(chrf.reads)))
    for grouping, expected in (("none", alone), ("item", by_item)):
        row = rows["segment", grouping, "kendall"]
        assert row.value == pytest.approx(expected, abs=0.0015)
    assert round(rows["system", "none", "pearson"].value, 2) == system
    assert rows["system", "none", "pearson"].system_score == "mean"
    assert rows["segment", "item", "kendall"].n_undefined == {"zh-en": 7, "en-de": 16}[pair]  # never scored 0
