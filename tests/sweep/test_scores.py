"""scores.parquet: one row per segment and setting, enough for statistics of one's own."""

import numpy as np
import pandas as pd
import pytest
import sacrebleu

CORE = ["dataset", "language_pair", "metric", "explainer", "id", "system", "cluster", "human", "human_name", "base"]
TEXTS = [
    ("the cat sat here", "a cat sat", "a cat sits"),
    ("it is late", "late it is", "it is so late"),
    ("b c", "", "b"),
]


@pytest.fixture
def sweep(swept_table, tmp_path, blank_figures):
    """Run a sweep of a table of one's own, with columns for references; one of its tables as a DataFrame."""

    def go(table, rows, *overrides, references="reference"):
        assert swept_table(rows, f"dataset.tabular.columns.reference={references}", *overrides) == 0
        return pd.read_parquet(tmp_path / "out" / "tables" / f"{table}.parquet")

    return go


def of_eight_segments():
    rows = ["id\tsystem\tsource\treference\thypothesis\tscore"]
    for number in range(8):
        for system in "ab":
            human = "" if (number, system) == (3, "b") else str(number + (system == "b") / 2)
            texts = f"quelle {number}\tthe ref {number % 4}\tthe hyp {number} {system}"
            rows.append(f"{number}\t{system}\t{texts}\t{human}")
    return rows


def test_a_row_per_segment_and_setting_with_who_and_how_much(sweep, tmp_path):
    scores = sweep(
        "scores", of_eight_segments(), "evaluation=[grid]", "metric=[chrf,random]", "explainer=[erasure,lime]"
    )
    assert list(scores.columns[: len(CORE)]) == CORE
    settings = pd.read_parquet(tmp_path / "out" / "tables" / "settings.parquet").set_index(["metric", "explainer"])
    groups = scores.groupby(["metric", "explainer"], observed=True)
    assert len(groups) == 4
    for names, rows in groups:
        assert (rows.id + rows.system).nunique() == len(rows) == 16
        rated = rows.dropna(subset="human")
        assert len(rated) == 15  # nobody rated 3:b
        assert np.corrcoef(rated.base, rated.human)[0, 1] == pytest.approx(settings.loc[names, "baseline"], abs=1e-12)
        boosted = np.corrcoef(rated.boosted_published, rated.human)[0, 1]
        assert boosted == pytest.approx(settings.loc[names, "fixed"], abs=1e-12)
    chrf = scores[scores.metric == "chrf"]
    assert chrf.words_source.isna().all() and (chrf.words_reference == 3).all() and (chrf.words_hypothesis == 4).all()
    assert (scores[scores.metric == "random"].words_source == 2).all()
    clusters = chrf.groupby("cluster").id.apply(set).tolist()
    assert sorted(map(sorted, clusters)) == [["0", "4"], ["1", "5"], ["2", "6"], ["3", "7"]], "a shared reference"


def test_without_an_explainer_there_are_scores_and_no_boosted_ones(sweep):
    scores = sweep("scores", of_eight_segments(), "evaluation=[grid]", "metric=[chrf]", "explainer=[]", "limit=3")
    assert set(scores.explainer) == {"none"}
    assert len(scores) == 6, "the limit counts ids, each with all its systems"
    assert scores.base.notna().all() and scores.boosted_published.isna().all()


def of_two_references():
    rows = ["id\tsystem\tref_a\tref_b\thypothesis\tscore"]
    for number, (first, second, hypothesis) in enumerate(TEXTS * 3):
        for system in "ab":
            output = f"{hypothesis} {number}" if system == "a" else hypothesis
            rows.append(f"{number}\t{system}\t{first}\t{second}\t{output}\t{number + (system == 'b') / 2}")
    return rows


def test_all_references_from_columns_to_scores_of_segments_and_systems(sweep, tmp_path):
    chosen = ("metric=[chrf]", "explainer=[]", "metric.chrf.references=all", "evaluation=[levels]")
    scores = sweep("scores", of_two_references(), *chosen, references="[ref_a,ref_b]")
    systems = pd.read_parquet(tmp_path / "out" / "tables" / "systems.parquet").set_index("system")
    chrf = sacrebleu.CHRF()
    references = [[first, second or None] for first, second, _ in TEXTS * 3]  # an empty one is none
    for system in "ab":
        outputs = [f"{text} {number}" if system == "a" else text for number, (_, _, text) in enumerate(TEXTS * 3)]
        expected = []
        for output, of_segment in zip(outputs, references, strict=True):
            score = chrf.sentence_score(output, [reference for reference in of_segment if reference])
            expected.append(score.score / 100)
        assert scores[scores.system == system].sort_values("id").base.tolist() == expected
        columns = [list(column) for column in zip(*references, strict=True)]
        corpus = chrf.corpus_score(outputs, columns).score / 100
        assert systems.corpus[system] == pytest.approx(corpus, abs=1e-12)
    settings = pd.read_parquet(tmp_path / "out" / "tables" / "settings.parquet")
    assert "chrF2|nrefs:var|" in settings.signature[0]


def test_explanations_of_one_and_of_all_references_are_kept_apart(sweep):
    chosen = ("scores", of_two_references(), "metric=[chrf]", "explainer=[erasure]", "evaluation=[grid]")
    first = sweep(*chosen, references="[ref_a,ref_b]")
    every = sweep(*chosen, "metric.chrf.references=all", references="[ref_a,ref_b]")
    assert not np.array_equal(first.base, every.base) and (every.base >= first.base).all()
    pd.testing.assert_frame_equal(first, sweep(*chosen, references="[ref_a,ref_b]"))
    assert every.words_reference.tolist() == first.words_reference.tolist(), "the first one has attributions"
