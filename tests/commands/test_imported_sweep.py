"""Sweeps of scores made elsewhere, from the command line to the tables."""

import csv
from pathlib import Path

import pytest
from score_trees import TREE, plant

from bmx_grid.commands.compose import compose_and_run

TABLE = "id\tsystem\tsource\treference\thypothesis\tscore\n" + "".join(
    f"{row}\t{system}\ts{row}\tword {row} here\tword {row} {system}\t{row * 0.1 + (system == 'B')}\n"
    for row in range(1, 6)
    for system in ("A", "B")
)
SCORES = "id\tsystem\tcomet\tgemba\n" + "".join(
    f"{row}\t{system}\t{row}\t{-row if system == 'A' else row}\n" for row in range(1, 6) for system in ("A", "B")
)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """run(*arguments) -> exit status, what was said, and the rows of settings.csv by metric and pair."""
    monkeypatch.chdir(tmp_path)
    Path("mine.tsv").write_text(TABLE)
    Path("scores.tsv").write_text(SCORES)

    def call(*arguments):
        status = compose_and_run([*arguments, "tracking=none", "executor=sequential", "output_dir=out"])
        said = capsys.readouterr()
        path = tmp_path / "out" / "settings.csv"
        rows = list(csv.DictReader(path.open())) if path.is_file() else []
        return status, said.out + said.err, {(row["metric"], row["language_pair"]): row for row in rows}

    return call


OWN = ("dataset=[tabular]", "dataset.tabular.path=mine.tsv", "dataset.tabular.language_pairs=[de-en]", "explainer=[]")


def test_several_imported_metrics_beside_one_that_scores_texts(run):
    status, said, rows = run(
        *OWN,
        "metric=[chrf,imported]",
        "metric.imported.files={comet: scores.tsv, gemba: scores.tsv}",
        "metric.imported.language_pairs=[de-en]",
    )
    assert status == 0, said
    assert set(rows) == {("chrf", "de-en"), ("comet", "de-en"), ("gemba", "de-en")}
    human = [row * 0.1 + own for row in range(1, 6) for own in (0, 1)]
    gemba = [row * sign for row in range(1, 6) for sign in (-1, 1)]
    import numpy as np

    assert float(rows["gemba", "de-en"]["baseline"]) == pytest.approx(np.corrcoef(human, gemba)[0, 1])
    assert rows["gemba", "de-en"]["signature"].startswith("imported|scores:")


def test_an_explainer_leaves_imported_metrics_out_with_a_sentence(run):
    status, said, rows = run(
        *OWN[:3],
        "explainer=[erasure]",
        "metric=[chrf,imported]",
        "metric.imported.files={comet: scores.tsv}",
        "metric.imported.language_pairs=[de-en]",
        "analysis=false",
    )
    assert status == 0, said
    assert set(rows) == {("chrf", "de-en")}
    assert "left out: tabular · de-en · comet" in said


def test_a_file_that_does_not_fit_fails_its_own_settings_only(run):
    Path("short.tsv").write_text("".join(SCORES.splitlines(keepends=True)[:-1]))
    status, said, rows = run(
        *OWN,
        "metric=[imported]",
        "metric.imported.files={comet: scores.tsv, gemba: short.tsv}",
        "metric.imported.language_pairs=[de-en]",
    )
    assert status == 1
    assert set(rows) == {("comet", "de-en")}
    assert "failed: tabular · de-en · gemba: short.tsv: no score for segment '5:B'" in said


def test_two_metrics_of_one_name_are_refused(run):
    from bmx_grid.errors import ConfigError

    with pytest.raises(ConfigError, match="there is another metric 'chrf'"):
        run(*OWN, "metric=[chrf,imported]", "metric.imported.files={chrf: scores.tsv}")


def test_a_changed_file_is_another_result(run):
    given = ("metric=[imported]", "metric.imported.files={gemba: scores.tsv}", "metric.imported.language_pairs=[de-en]")
    before = run(*OWN, *given)[2]["gemba", "de-en"]
    again = run(*OWN, *given)[1]
    assert "is up to date" in again
    Path("scores.tsv").write_text(SCORES.replace("\t-5\n", "\t5\n"))
    after = run(*OWN, *given)[2]["gemba", "de-en"]
    assert before["baseline"] != after["baseline"]
    assert before["fingerprint"] != after["fingerprint"]


def test_limit_takes_the_first_ids_of_a_file_in_the_order_of_the_sources(run):
    lines = [f"{system}\t{row}" for system in ("A", "B") for row in range(1, 6)]
    Path("mine.seg.score").write_text("".join(f"{line}\n" for line in lines))
    status, said, rows = run(
        *OWN,
        "metric=[imported]",
        "metric.imported.file=mine.seg.score",
        "metric.imported.language_pairs=[de-en]",
        "limit=3",
    )
    assert status == 0, said
    assert rows["imported", "de-en"]["n_used"] == "6"


def test_a_tree_of_mt_metrics_eval_with_its_metrics(run, tmp_path):
    plant(tmp_path / "trees" / "toy", TREE)
    status, said, rows = run(
        "dataset=[mt_metrics_eval]",
        "dataset.mt_metrics_eval.test_set=toy",
        f"dataset.mt_metrics_eval.folder={tmp_path}/trees",
        "metric=[chrf,imported]",
        "metric.imported.file=trees/toy",
        "explainer=[]",
    )
    assert status == 0, said
    assert ("COMET-refA", "en-de") in rows and ("chrf", "en-de") in rows
    assert rows["COMET-refA", "en-de"]["n_used"] == "4", "two of six are not rated"
    assert "chrf: reads the reference, which mt_metrics_eval does not have for every segment (cs-uk)" in said
    assert "COMET-refA: has no scores of cs-uk" in said


def test_the_official_submissions_of_wmt22(run, data_dir):
    status, said, rows = run("+sweep=wmt22_official", f"data_dir={data_dir}", "evaluation=[grid]")
    assert status == 0, said
    assert ("Team HW-TSC", "en-cs") in rows and ("joanne.wjy", "en-mr") in rows
    official = data_dir / "wmt-qe-2022-data" / "official_results.tsv"
    asked = [row for row in csv.DictReader(official.open(), delimiter="\t") if row["task"].startswith("task1_")]
    for row in asked:
        if row["measure"] == "Pearson":
            found = rows[row["submission_dir"].rpartition(" - ")[0].strip(), row["lp"]]["baseline"]
            assert f"{float(found):.4f}" == f"{float(row['official']):.4f}", row
