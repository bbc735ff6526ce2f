"""WMT22 QE task 1: every official sentence-level correlation from the submissions, whatever pairs are there."""

import csv

import pytest

from bmx_grid.core.configure import CONFIGS
from bmx_grid.core.errors import DataMissingError
from bmx_grid.measures.correlation import correlate
from bmx_grid.metrics.imported import Imported

TASKS = ("task1_da", "task1_mqm")


@pytest.fixture(scope="module")
def pattern():
    """The path of the submissions as the sweep has it, below data_dir."""
    import yaml

    sweep = yaml.safe_load((CONFIGS / "sweep" / "wmt22_official.yaml").read_text())
    return sweep["metric"]["imported"]["file"]


def test_every_official_correlation_is_reproduced(reader, data_dir, pattern):
    made = reader("wmt22_task1")
    sets = {pair: made.read(data_dir, pair) for pair in made.pairs(data_dir)}
    metrics = Imported(file=pattern.replace("${data_dir}", str(data_dir))).members("imported", list(sets.values()))
    with (data_dir / "wmt-qe-2022-data" / "official_results.tsv").open() as file:
        official = [row for row in csv.DictReader(file, delimiter="\t") if row["task"] in TASKS]
    asked = [row for row in official if row["measure"] in ("Pearson", "Spearman")]
    assert len(asked) >= 88
    found = []
    for row in asked:
        metric = metrics[row["submission_dir"].rpartition(" - ")[0].strip()]
        segments = sets[row["lp"]]
        scores = metric.given(segments).segments
        found.append(f"{correlate(row['measure'].lower(), scores, segments.human_scores):.4f}")
    assert found == [f"{float(row['official']):.4f}" for row in asked]


def test_every_submission_is_a_metric_of_its_pair(reader, data_dir, pattern):
    folder = data_dir / "wmt-qe-2022-data" / "official_submissions"
    there = {(path.parent.name, path.name) for task in TASKS for path in folder.glob(f"{task}/*/*") if path.is_dir()}
    made = reader("wmt22_task1")
    sets = {pair: made.read(data_dir, pair) for pair in made.pairs(data_dir)}
    metrics = Imported(file=pattern.replace("${data_dir}", str(data_dir))).members("imported", list(sets.values()))
    given = set()
    for name, metric in metrics.items():
        for pair, segments in sets.items():
            try:
                metric.given(segments)
            except DataMissingError:
                continue
            given.add((pair, name))
    assert given == {(pair, name.rpartition(" - ")[0].strip()) for pair, name in there}
