"""Columns of references in a table of one's own, all the way to scores, system scores and signatures."""

import numpy as np
import pandas as pd
import pytest
import sacrebleu
from fakes import composed

from bmx_grid.commands.sweep import run

TEXTS = [
    ("the cat sat here", "a cat sat", "a cat sits"),
    ("it is late", "late it is", "it is so late"),
    ("b c", "", "b"),
]


@pytest.fixture
def sweep(tmp_path, blank_figures):
    """Run a sweep of two systems and two references; its table of that name as a DataFrame."""
    rows = ["id\tsystem\tref_a\tref_b\thypothesis\tscore"]
    for number, (first, second, hypothesis) in enumerate(TEXTS * 3):
        for system in "ab":
            output = f"{hypothesis} {number}" if system == "a" else hypothesis
            rows.append(f"{number}\t{system}\t{first}\t{second}\t{output}\t{number + (system == 'b') / 2}")
    (tmp_path / "mine.tsv").write_text("\n".join(rows) + "\n")

    def go(table, *overrides):
        own = (
            "dataset=[tabular]",
            f"dataset.tabular.path={tmp_path / 'mine.tsv'}",
            "metric=[chrf]",
            "executor=sequential",
        )
        own += ("dataset.tabular.language_pairs=[de-en]", "dataset.tabular.columns.reference=[ref_a,ref_b]")
        folders = (f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}")
        assert run(composed(*own, *folders, "tracking=none", "analysis=false", *overrides)) == 0
        return pd.read_parquet(tmp_path / "out" / "tables" / f"{table}.parquet")

    return go


def expected(system: str) -> tuple[list[float], float]:
    """sacreBLEU's chrF of a system's segments, and of all together."""
    hypotheses = [f"{text} {number}" if system == "a" else text for number, (_, _, text) in enumerate(TEXTS * 3)]
    references = [[one, other or None] for one, other, _ in TEXTS * 3]  # an empty one is none
    chrf = sacrebleu.CHRF()
    each = [
        chrf.sentence_score(text, [one for one in own if one]).score / 100
        for text, own in zip(hypotheses, references, strict=True)
    ]
    return each, chrf.corpus_score(hypotheses, [list(one) for one in zip(*references, strict=True)]).score / 100


def test_all_references_from_columns_to_scores_of_segments_and_systems(sweep):
    found = sweep("scores", "explainer=[]", "metric.chrf.references=all", "evaluation=[levels]")
    for system in "ab":
        own = found[found.system == system].sort_values("id")
        assert own.base.tolist() == expected(system)[0]
    systems = sweep("systems", "explainer=[]", "metric.chrf.references=all", "evaluation=[levels]").set_index("system")
    assert systems.corpus.to_dict() == pytest.approx({system: expected(system)[1] for system in "ab"}, abs=1e-12)
    settings = sweep("settings", "explainer=[]", "metric.chrf.references=all", "evaluation=[levels]")
    assert "chrF2|nrefs:var|" in settings.signature[0]


def test_explanations_of_one_and_of_all_references_are_kept_apart(sweep, capsys):
    first = sweep("scores", "explainer=[erasure]")
    every = sweep("scores", "explainer=[erasure]", "metric.chrf.references=all")
    assert not np.array_equal(first.base, every.base)
    assert (every.base >= first.base).all()
    again = sweep("scores", "explainer=[erasure]")
    pd.testing.assert_frame_equal(first, again)
    assert every.words_reference.tolist() == first.words_reference.tolist(), "the first one has attributions"
