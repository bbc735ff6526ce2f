"""Sweeps of scores made elsewhere, from the command line to the tables."""

import csv
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet
from score_trees import TREE, plant

TABLE = "id\tsystem\tsource\treference\thypothesis\tscore\n" + "".join(
    f"{row}\t{system}\ts{row}\tword {row} here\tword {row} {system}\t{row * 0.1 + (system == 'B')}\n"
    for row in range(1, 6)
    for system in ("A", "B")
)
SCORES = "id\tsystem\tcomet\tgemba\n" + "".join(
    f"{row}\t{system}\t{row}\t{-row if system == 'A' else row}\n" for row in range(1, 6) for system in ("A", "B")
)


@pytest.fixture
def run(quiet_sweep):
    """run(*arguments) -> exit status, what was said, and the rows of settings.csv by metric and pair."""
    Path("mine.tsv").write_text(TABLE)
    Path("scores.tsv").write_text(SCORES)

    def call(*arguments):
        status, said, rows = quiet_sweep(*arguments)
        return status, said, {(row["metric"], row["language_pair"]): row for row in rows}

    return call


PAIR = "dataset.tabular.language_pairs=[de-en]"
OWN = ("dataset=[tabular]", "dataset.tabular.path=mine.tsv", PAIR, "explainer=[]", "evaluation=[grid]")
TOY = ("dataset=[mt_metrics_eval]", "dataset.mt_metrics_eval.test_set=toy", "metric.imported.file=trees/toy")


def test_several_imported_metrics_beside_one_that_scores_texts(run):
    files = "metric.imported.files={comet: scores.tsv, gemba: scores.tsv}"
    status, said, rows = run(*OWN, "metric=[chrf,imported]", files)
    assert status == 0, said
    assert set(rows) == {("chrf", "de-en"), ("comet", "de-en"), ("gemba", "de-en")}
    human = [row * 0.1 + own for row in range(1, 6) for own in (0, 1)]
    gemba = [row * sign for row in range(1, 6) for sign in (-1, 1)]
    assert float(rows["gemba", "de-en"]["baseline"]) == pytest.approx(np.corrcoef(human, gemba)[0, 1])
    assert rows["gemba", "de-en"]["signature"].startswith("imported|scores:")


def test_a_file_that_does_not_fit_fails_its_own_settings_only(run):
    Path("short.tsv").write_text("".join(SCORES.splitlines(keepends=True)[:-1]))
    status, said, rows = run(*OWN, "metric=[imported]", "metric.imported.files={comet: scores.tsv, gemba: short.tsv}")
    assert status == 1
    assert set(rows) == {("comet", "de-en")}
    assert "failed: tabular · de-en · gemba: short.tsv: no score for segment '5:B'" in said


def test_limit_takes_the_first_ids_of_a_file_in_the_order_of_the_sources(run):
    lines = [f"{system}\t{row}" for system in ("A", "B") for row in range(1, 6)]
    Path("mine.seg.score").write_text("".join(f"{line}\n" for line in lines))
    status, said, rows = run(*OWN, "metric=[imported]", "metric.imported.file=mine.seg.score", "limit=3")
    assert status == 0, said
    assert rows["imported", "de-en"]["n_used"] == "6"


def test_a_tree_of_mt_metrics_eval_with_its_metrics(run, tmp_path):
    plant(tmp_path / "trees" / "toy", TREE)
    folder = f"dataset.mt_metrics_eval.folder={tmp_path}/trees"
    status, said, rows = run(*TOY, folder, "metric=[chrf,imported]", "explainer=[]")
    assert status == 0, said
    assert ("COMET-refA", "en-de") in rows and ("chrf", "en-de") in rows
    assert rows["COMET-refA", "en-de"]["n_used"] == "4", "two of six are not rated"
    assert "chrf: reads the reference, which mt_metrics_eval does not have for every segment (cs-uk)" in said
    assert "COMET-refA: has no scores (cs-uk" in said


def correlations(level):
    """(language pair, metric, statistic) -> row of correlations.parquet at this level, without grouping."""
    rows = parquet.read_table("out/tables/correlations.parquet").to_pylist()
    return {
        (row["language_pair"], row["metric"], row["statistic"]): row
        for row in rows
        if (row["level"], row["grouping"]) == (level, "none")
    }


def test_published_scores_of_systems_are_what_the_system_level_rests_on(run, tmp_path):
    files = {
        "sources/en-de.txt": "s1\ns2\n",
        "references/en-de.refA.txt": "r1\nr2\n",
        "human-scores/en-de.mqm.seg.score": "".join(f"sys{n} {-n}\nsys{n} {-n}\n" for n in range(4)),
        "metric-scores/en-de/BLEU-refA.sys.score": "sys0 40\nsys1 30\nsys2 25\nsys3 24\n",
    }
    plant(tmp_path / "trees/toy", files | {f"system-outputs/en-de/sys{n}.txt": f"o{n}\np{n}\n" for n in range(4)})
    chosen = (f"dataset.mt_metrics_eval.folder={tmp_path}/trees", "metric=[imported]", "explainer=[]")
    status, said, _ = run(*TOY, *chosen, "evaluation=[levels]", "evaluation.levels.resamples=0")
    assert status == 0, said
    found = correlations("system")["en-de", "BLEU-refA", "pearson"]
    assert found["value"] == pytest.approx(np.corrcoef([40, 30, 25, 24], [0, -1, -2, -3])[0, 1])
    assert found["n_systems"] == 4


def test_the_official_submissions_of_wmt22(run, data_dir):
    few = ("evaluation=[levels]", "evaluation.levels.resamples=0", "analysis=false")
    status, said, _ = run("+sweep=wmt22_official", f"data_dir={data_dir}", *few)
    assert status == 0, said
    found = correlations("segment")
    official = data_dir / "wmt-qe-2022-data" / "official_results.tsv"
    rows = csv.DictReader(official.open(), delimiter="\t")
    asked = [
        row for row in rows if row["task"] in ("task1_da", "task1_mqm") and row["measure"] in ("Pearson", "Spearman")
    ]
    assert len(asked) >= 88
    for row in asked:
        metric = row["submission_dir"].rpartition(" - ")[0].strip()
        value = found[row["lp"], metric, row["measure"].lower()]["value"]
        assert f"{value:.4f}" == f"{float(row['official']):.4f}", row


def test_in_a_sweep_of_several_pairs_a_file_must_say_its_own(run):
    Path("all.tsv").write_text(TABLE.replace("id\t", "language_pair\tid\t").replace("\n", "\nde-en\t", 10))
    text = Path("all.tsv").read_text().rstrip("\n") + "\n"
    Path("all.tsv").write_text(text + "".join(f"{row}\n" for row in text.replace("de-en", "cs-en").split("\n")[1:-1]))
    given = ("dataset=[tabular]", "dataset.tabular.path=all.tsv", "explainer=[]", "metric=[imported]")
    status, said, rows = run(*given, "metric.imported.files={comet: scores.tsv}")
    assert status == 1 and not rows
    assert "scores.tsv does not say of which language pair it is" in said
    status, said, rows = run(
        *given, "metric.imported.files={comet: scores.tsv}", "metric.imported.language_pairs=[cs-en]"
    )
    assert status == 0, said
    assert set(rows) == {("comet", "cs-en")}
    assert "comet: has no scores (de-en): scores.tsv is of cs-en" in said
