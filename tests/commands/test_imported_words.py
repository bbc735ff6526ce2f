"""Sweeps of explanations made elsewhere and of other segmentations, from the command line to the tables."""

import json
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

ROWS = [(row, f"word {row} here", f"a word {'very ' * row}{row}", row * 0.3 - (row % 3)) for row in range(1, 8)]
TABLE = "id\tsource\treference\thypothesis\tscore\n" + "".join(
    f"{row}\tquelle {row}\t{reference}\t{hypothesis}\t{score}\n" for row, reference, hypothesis, score in ROWS
)
OWN = ("dataset=[tabular]", "dataset.tabular.path=mine.tsv", "dataset.tabular.language_pairs=[de-en]")
QUICK = ("evaluation=[grid]", "analysis=false")


def word_table(sign=1.0):
    return "".join(
        json.dumps({"id": str(row), "scores": [sign * (at + 1) / row for at in range(len(hypothesis.split()))]}) + "\n"
        for row, _, hypothesis, _ in ROWS
    )


@pytest.fixture
def run(quiet_sweep, blank_figures):
    """run(*arguments) -> exit status, what was said, and the rows of settings.csv by pair, metric and explainer."""
    Path("mine.tsv").write_text(TABLE)
    for team, sign in (("Team A  - 3", 1), ("B - 1", -1)):
        folder = Path(f"subs/{team} submission")
        folder.mkdir(parents=True)
        (folder / "sentence.submission").write_text("".join(f"{sign * row + row % 2}\n" for row, *_ in ROWS))
        (folder / "target.jsonl").write_text(word_table(sign))

    def call(*arguments):
        status, said, rows = quiet_sweep(*arguments)
        return status, said, {(row["language_pair"], row["metric"], row["explainer"]): row for row in rows}

    return call


SUBMITTED = (
    "'metric.imported.file=\"subs/{metric} - * submission/sentence.submission\"'".strip("'"),
    "'explainer.imported.file=\"subs/{metric} - * submission/target.jsonl\"'".strip("'"),
)


def test_a_submission_explains_its_own_scores_only(run):
    status, said, rows = run(*OWN, *QUICK, "metric=[imported]", "explainer=[imported]", *SUBMITTED)
    assert status == 0, said
    assert set(rows) == {("de-en", "Team A", "Team A"), ("de-en", "B", "B")}
    assert "0 texts scored" in said
    assert rows["de-en", "B", "B"]["signature"].count("imported|") == 2


def test_a_metric_that_scores_texts_takes_every_explanation_and_is_scored_once(run):
    status, said, rows = run(*OWN, *QUICK, "metric=[chrf]", "explainer=[imported,erasure]", SUBMITTED[1])
    assert status == 0, said
    assert set(rows) == {("de-en", "chrf", name) for name in ("Team A", "B", "erasure")}
    folders = sorted(path.name.rpartition("-")[0] for path in Path("bmx_cache/attributions").iterdir())
    assert folders == ["chrf-erasure", "chrf-none"], "the metric's own scores are those of the metric alone"
    # The attributions are on one scale and only scaled by the length: M_1 is their mean over the hypothesis.
    points = parquet.read_table("out/tables/grid.parquet").to_pylist()
    found = next(row["correlation"] for row in points if (row["explainer"], row["w"], row["p"]) == ("Team A", 0.0, 1.0))
    means = [np.mean([(at + 1) / row for at in range(len(text.split()))]) for row, _, text, _ in ROWS]
    assert found == pytest.approx(np.corrcoef(means, [score for *_, score in ROWS])[0, 1])


CHINESE = "id\tsource\treference\thypothesis\tscore\n" + "".join(
    f"{row}\t我们去北京{'吧' * row}。\tword {row} here\tword {row}, {row} times\t{row * row % 5}\n"
    for row in range(1, 8)
)


def test_text_without_spaces_is_warned_of_and_segmented_on_demand(run):
    Path("mine.tsv").write_text(CHINESE)
    chosen = ("metric=[random]", "metric.random.ground_truth=source", "explainer=[erasure,input_marginalization]")
    chosen = (*OWN[:2], "dataset.tabular.language_pairs=[zh-en]", *QUICK, *chosen)
    status, said, rows = run(*chosen, "leave_out=[*/*/*/input_marginalization]")
    assert status == 0, said
    assert "the source of tabular · zh-en has 1.0 words per text; attributions to fewer than 3 say little" in said
    before = rows["zh-en", "random", "erasure"]
    status, said, rows = run(*chosen, "words=unicode")
    assert status == 0, said
    assert "input_marginalization: writes single spaces between words, but words=unicode" in said
    found = rows["zh-en", "random", "erasure"]
    assert before["words_source"] == "1"
    assert float(found["words_source"]) > 5 and float(found["words_hypothesis"]) == 5
    assert '"words":"unicode"' in found["signature"] and "attributions to fewer" not in said
    assert found["fingerprint"] != before["fingerprint"]
    assert float(found["baseline"]) == float(before["baseline"]), "the metric reads the same text"
    assert len(list(Path("bmx_cache/attributions").glob("random-erasure-*"))) == 2, "whitespace keeps its own cache"


# z_mean with model_scores; power means of the probabilities of sub-words: (p, correlation)
GLASS_BOX = {
    "en-de": (0.2084, ((-1.4, 0.269), (0.0, 0.203))),
    "en-zh": (0.2570, ()),
    "et-en": (0.4865, ()),
    "ne-en": (0.4826, ()),
    "ro-en": (0.6470, ((0.0, 0.651),)),
    "ru-en": (0.5363, ()),
    "si-en": (0.4006, ((-1.0, 0.483), (0.0, 0.451))),
}


def test_the_glass_box_of_mlqe_pe_as_published(run, data_dir):
    part = ("grid.p.start=-2", "grid.p.stop=1")
    status, said, rows = run("+sweep=mlqe_pe_glass_box", f"data_dir={data_dir}", *QUICK, *part)
    assert status == 0, said
    grid = parquet.read_table("out/tables/grid.parquet", filters=[("w", "=", 0.0)]).to_pylist()
    found = {(row["language_pair"], row["p"]): row["correlation"] for row in grid if row["explainer"][0] == "t"}
    for pair, (baseline, means) in GLASS_BOX.items():
        assert float(rows[pair, "model_score", "token_probability"]["baseline"]) == pytest.approx(baseline, abs=5e-5)
        for p, value in means:
            assert found[pair, p] == pytest.approx(value, abs=0.002), (pair, p)
    # The best p is published as 0, which holds of whole numbers: in steps of a tenth it is -.2, with .6528.
    romanian = {p: value for (pair, p), value in found.items() if pair == "ro-en"}
    assert max((p for p in romanian if p == int(p)), key=romanian.__getitem__) == 0
    assert max(romanian.values()) == pytest.approx(0.6528, abs=5e-5)
    left_out = {pair: int(row["n_unexplained"]) for (pair, _, one), row in rows.items() if one == "log_probability"}
    assert left_out == {"en-de": 0, "en-zh": 0, "et-en": 0, "ne-en": 3, "ro-en": 0, "ru-en": 7, "si-en": 10}
