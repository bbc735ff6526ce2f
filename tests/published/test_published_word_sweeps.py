"""Official numbers of words through whole sweeps of few pairs: imported submissions, carried tags, words.parquet.

test_published_words.py and test_published_tags.py have those of all language pairs.
"""

import csv

import pyarrow.parquet as pq
import pytest
from fakes import composed
from word_submissions import submission_name

from bmx_grid.commands.sweep import run

WMT22 = "wmt-qe-2022-data"
SMALL = ("evaluation=[words]", "evaluation.words.resamples=0", "analysis=false", "tracking=none", "executor=sequential")


def words_of(data_dir, folder, sweep, *overrides):
    """The rows of words.parquet of a sweep, by language pair, metric, explainer, side and measure."""
    places = (f"data_dir={data_dir}", f"cache_dir={folder}/cache", f"output_dir={folder}/out")
    run(composed(f"+sweep={sweep}", *SMALL, *places, *overrides))
    rows = pq.read_table(folder / "out" / "tables" / "words.parquet").to_pylist()
    keys = ("language_pair", "metric", "explainer", "side", "measure")
    return {tuple(row[key] for key in keys): row for row in rows}


@pytest.fixture(scope="module")
def official(data_dir):
    with (data_dir / WMT22 / "official_results.tsv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_the_mcc_of_word_level_submissions_is_the_official_one(data_dir, official, tmp_path):
    found = words_of(data_dir, tmp_path, "wmt22_words", "dataset.wmt22_words.language_pairs=[en-mr]")
    wanted = {}
    for row in official:
        if (row["task"], row["measure"], row["lp"]) == ("task1_word-level", "MCC", "en-mr"):
            name = submission_name(row["submission_dir"])
            wanted["en-mr", name, name, "target", "mcc"] = f"{float(row['official']):.4f}"
    assert {key: f"{row['value']:.4f}" for key, row in found.items() if key[-1] == "mcc"} == wanted
    assert {row["n_left_out"] for key, row in found.items() if key[-1] == "mcc"} == {0}


def test_the_recall_of_explanations_is_the_official_one(data_dir, official, tmp_path):
    found = words_of(data_dir, tmp_path, "wmt22_explainable", "dataset.wmt22_words.language_pairs=[en-cs,en-yo]")
    wanted = {}
    for row in official:
        measure = {"target-Recall@TopK": "recall_at_k", "target-AUC": "auc", "target-AP": "ap"}.get(row["measure"])
        if row["task"] == "task2_explainQE" and measure is not None and row["lp"] in ("en-cs", "en-yo"):
            name = submission_name(row["submission_dir"])
            wanted[row["lp"], name, name, "target", measure] = pytest.approx(float(row["official"]), abs=0.000051)
    assert wanted and {key: found[key]["value"] for key in wanted} == wanted
