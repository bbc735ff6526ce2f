"""WMT22 QE task 1: every official sentence-level correlation from the submissions, whatever pairs are there."""

import csv
import shutil

import pytest

from bmx_grid.configure import CONFIGS
from bmx_grid.datasets.wmt22_qe import TASKS
from bmx_grid.errors import BmxError, ConfigError, DataError, DataMissingError
from bmx_grid.measures.correlation import correlate
from bmx_grid.metrics.imported import Imported

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
        pytest.param(lambda rows: [rows[0].replace("\t0\t", "\t1000\t"), *rows[1:]], ["Line 4", "1000"], id="an-id"),
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


def test_new_pairs_are_found_whatever_their_files_are_called(reader, copied):
    gold = copied / "wmt-qe-2022-data/test_data-gold_labels"
    new = gold / "task1_mqm/zh-en"
    new.mkdir(parents=True)
    (new / "test.2022.src").write_text("s1\ns2\n")
    (new / "test2022.mt").write_text("t1\nt2\n")
    (new / "test2022.zh-en.mqm_z_score").write_text("0.5\n-1\n")
    (gold / "task1_mqm/.DS_Store").write_text("")
    made = reader("wmt22_task1")
    assert made.pairs(copied) == ("en-cs", "zh-en")
    found = made.read(copied, "zh-en")
    assert [(one.id, one.source, one.hypothesis) for one in found.segments] == [("0", "s1", "t1"), ("1", "s2", "t2")]
    assert (found.human_name, found.human_scores.tolist()) == ("mqm_z", [0.5, -1.0])


@pytest.mark.parametrize(
    ("change", "error", "reason"),
    [
        pytest.param(
            lambda folder: (folder / "test.2022.src").unlink(), DataMissingError, "2022.src: not found", id="gone"
        ),
        pytest.param(
            lambda folder: (folder / "test2022.src").write_text("x\n"), DataError, "are both there", id="two-sources"
        ),
        pytest.param(
            lambda folder: (folder / "test.2022.src").write_text("x\n"), DataError, "has 1 line,", id="another-length"
        ),
        pytest.param(shutil.rmtree, BmxError, "data download wmt22_task1", id="nothing-at-all"),
    ],
)
def test_damaged_gold(reader, copied, change, error, reason):
    change(copied / "wmt-qe-2022-data/test_data-gold_labels/task1_da/en-cs")
    with pytest.raises(error, match=reason):
        reader("wmt22_task1").read(copied, "en-cs")


def test_an_unknown_pair(reader, copied):
    with pytest.raises(ConfigError, match=r"unknown language pair 'en-cz'. Did you mean 'en-cs'"):
        reader("wmt22_task1").read(copied, "en-cz")
