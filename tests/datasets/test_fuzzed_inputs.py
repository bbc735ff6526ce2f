"""Some of the bad files and texts of tests/tools/fuzz: read, or answered with one sentence that names the file."""

import pytest
from tools.fuzz import archives, people, run, scores, tables, trees


@pytest.mark.parametrize(
    ("module", "count"),
    [
        pytest.param(tables, 60, id="tables"),
        pytest.param(people, 60, id="people"),
        pytest.param(archives, 60, id="archives"),
        pytest.param(scores, 60, id="scores"),
        pytest.param(trees, 25, id="trees"),
    ],
)
def test_bad_files_are_read_or_refused_in_one_sentence(module, count, tmp_path, monkeypatch):
    monkeypatch.setattr("bmx_grid.datasets.tables.LARGEST_TABLE", tables.MAX_BYTES)
    refused = 0
    for reason, path in module.inputs(seed=8, count=count, folder=tmp_path):
        sentence = module.answer(path)  # anything else than a BmxError fails the test
        refused += sentence != ""
        named = [path.name, *getattr(module, "ALSO", ())]
        assert sentence == "" or any(name in sentence for name in named), (reason, sentence)
        assert sentence.isprintable() and len(sentence.replace(str(path), "")) < 1000, (reason, sentence)
    # Half of `people` are undamaged.
    least = count / 4 if module is people else count / 2
    assert least < refused < count, "the inputs are neither all good nor all bad"


@pytest.mark.filterwarnings("ignore:model '.*tokens")
def test_nasty_texts_are_scored_or_refused_in_one_sentence(tmp_path):
    """Through lexical metrics and explainers; another sentence or a score that is not finite fails the test."""
    sentences = [attempt() for _, _, attempt in run.of_texts(7, range(90), tmp_path)]
    assert 0 < sum(sentence != "" for sentence in sentences) < len(sentences) / 2
