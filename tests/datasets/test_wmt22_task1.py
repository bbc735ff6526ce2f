"""WMT22 QE task 1: every official sentence-level correlation from the submissions, whatever pairs are there."""

import csv
import shutil

import pytest

from bmx_grid.core.configure import CONFIGS
from bmx_grid.core.errors import ConfigError, DataError, DataMissingError
from bmx_grid.measures.correlation import correlate
from bmx_grid.metrics.imported import Imported

TASKS = ("task1_da", "task1_mqm")
TEAM = "en-cs/lp_sunny - 5 submission"


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


@pytest.fixture
def copied(data_dir, tmp_path):
    """Gold and one submission of en-cs, as a data_dir that may be changed."""
    root = data_dir / "wmt-qe-2022-data"
    for part in ("test_data-gold_labels/task1_da/en-cs", f"official_submissions/task1_da/{TEAM}"):
        shutil.copytree(root / part, tmp_path / "wmt-qe-2022-data" / part)
    return tmp_path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(lambda rows: rows[:-1], ["no score for segment '999'"], id="a-row-too-few"),
        pytest.param(lambda rows: [*rows, rows[-1]], ["line 1004", "'999'", "line 1003"], id="a-row-twice"),
        pytest.param(
            lambda rows: [rows[0].replace("en-cs", "en-ja"), *rows[1:]], ["line 4", "'en-ja'"], id="another-pair"
        ),
        pytest.param(lambda rows: [rows[0] + "x", *rows[1:]], ["line 4", "not a finite number"], id="no-number"),
        pytest.param(lambda rows: [rows[0].replace("\t0\t", "\t1000\t"), *rows[1:]], ["line 4", "1000"], id="an-id"),
    ],
)
def test_a_mismatched_file_is_named_not_dropped(reader, copied, pattern, change, words):
    path = copied / "wmt-qe-2022-data/official_submissions/task1_da" / TEAM / "predictions.txt"
    rows = path.read_text().splitlines()
    path.write_text("".join(f"{row}\n" for row in [*rows[:3], *change(rows[3:])]))
    segments = reader("wmt22_task1").read(copied, "en-cs")
    metric = Imported(file=pattern.replace("${data_dir}", str(copied))).members("imported", [segments])["lp_sunny"]
    with pytest.raises(DataError) as raised:
        metric.given(segments)
    assert not isinstance(raised.value, DataMissingError), "that would be left out, not failed"
    assert all(word in str(raised.value) for word in ["lp_sunny - 5 submission/predictions.txt", *words]), raised.value


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(lambda folder: (folder / "test.2022.src").unlink(), "not found: .*2022.src", id="gone"),
        pytest.param(lambda folder: (folder / "test.2022.src").write_text("x\n"), "2022.src cannot be", id="length"),
        pytest.param(shutil.rmtree, "data download wmt22_task1", id="nothing-at-all"),
    ],
)
def test_damaged_gold(reader, copied, change, reason):
    change(copied / "wmt-qe-2022-data/test_data-gold_labels/task1_da/en-cs")
    with pytest.raises(DataError, match=reason):
        reader("wmt22_task1").read(copied, "en-cs")


def test_an_unknown_pair(reader, copied):
    with pytest.raises(ConfigError, match=r"unknown language pair 'en-cz'. Did you mean 'en-cs'"):
        reader("wmt22_task1").read(copied, "en-cz")
