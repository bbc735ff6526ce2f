"""experiments/bmx_2022/make.py: the paper's figures from the authors' files, and those of other results."""

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fakes import ROOT
from pyarrow import csv
from scripts import script
from some_tables import peaked, rows

from bmx_grid.analysis.load import load_table

P = -3 + 0.1 * np.arange(60)  # as the authors' loops leave it: 0 is 4e-16, 1.1 is 1.1000000000000005
W = np.array([0, 0.2, 0.4, 0.6, 0.8, 1.0])
PLACE = "xaiMetrics/outputs/experiment_results"
NUMBERED = [*(f"fig{number}" for number in (4, 5, 6, 7, 8, 12, 13)), "fig3a", "fig3b"]
HELD_OUT = ["fig9", "fig10", "fig11a", "fig11b"]


@pytest.fixture(scope="module")
def make():
    with script(ROOT / "experiments" / "bmx_2022" / "make.py") as module:
        yield module


@pytest.fixture
def undrawn(make, monkeypatch):
    """Figures have their files, but nothing is drawn."""
    monkeypatch.setattr(make, "save", lambda drawing, folder: (folder / f"{drawing.stem}.svg").touch())


def write(folder, name, correlation, p=P, w=W):
    """A file of the authors: rows are numbered, p ascends, w runs fastest."""
    folder.mkdir(parents=True, exist_ok=True)
    points = itertools.product(p, w)
    lines = [f"{row}\t{corr!r}\t{w}\t{p}" for row, ((p, w), corr) in enumerate(zip(points, correlation, strict=True))]
    (folder / f"{name}.tsv").write_text("\n".join(["\tcorr\tw\tp", *lines]) + "\n", encoding="utf-8")


def surface(seed):
    """float[360] correlations of a setting whose metric alone is the same at every p."""
    rng = np.random.default_rng(seed)
    baseline = rng.uniform(0.2, 0.7)
    return (baseline + rng.normal(0, 0.02, (len(P), len(W))) * (1 - W)).ravel().tolist()


def of_authors(ours, names):
    """The authors' name for one of this house."""
    return next(name for name, value in names.items() if value == ours)


def file_name(make, setting):
    """The name of the authors' file of a setting, without its ending."""
    names = make.authors_folder
    dataset = of_authors(setting.dataset, names.DATASETS)
    explainer = of_authors(setting.explainer, names.EXPLAINERS)
    metric = of_authors(setting.metric, names.METRICS)
    return f"{dataset}__{explainer}__{metric}__{setting.language_pair}"


def write_all(make, folder, datasets):
    """A made-up file for each setting that the paper has of these data sets."""
    for dataset in datasets:
        for seed, setting in enumerate(sorted(make.authors_folder.settings_of_paper(dataset))):
            write(folder, file_name(make, setting), surface(seed))


def stems(folder):
    """The names of the figures in a folder up to the first underscore, sorted."""
    return sorted(file.name.partition("_")[0] for file in folder.glob("*.svg"))


def test_files_are_read_as_the_authors_wrote_them(make, tmp_path):
    write(tmp_path / PLACE, "wmt17__LimeExplainer__SentenceBLEU_REF_BASED__cs-en", surface(1))
    write(tmp_path / PLACE, "wmt17__LimeExplainer__SentenceBLEU_REF_BASED__cs-en__only_hyp", surface(2))
    write(tmp_path / PLACE, "wmt17__LimeExplainer__Second_Iteration__cs-en", surface(3))
    write(tmp_path / PLACE, "mqm21__LimeExplainer__XLMRSBERT__en-de", surface(4))
    results = make.read(tmp_path)
    assert [setting.label for setting in results.main.settings] == ["wmt17 · cs-en · sentence_bleu · lime"]
    assert results.main.p.tolist() == (np.arange(-30, 30) / 10).tolist()
    assert results.main.correlation.ravel().tolist() == surface(1)
    assert results.held_out["mqm21"].correlation.ravel().tolist() == surface(4)
    assert results.note.startswith("2 files of one side's words")


def test_some_of_the_files_get_no_numbers_of_the_paper(make, undrawn, tmp_path, capsys):
    (tmp_path / "made").mkdir()
    folder = tmp_path / PLACE
    for seed, pair in enumerate(("cs-en", "de-en", "fi-en")):
        write(folder, f"wmt17__LimeExplainer__XLMRSBERT__{pair}", surface(seed))
    assert make.main([str(tmp_path), str(tmp_path / "made")]) == 0
    assert "3 settings, not all 430 of the paper" in capsys.readouterr().out
    assert set(stems(tmp_path / "made")) == {"own"}
    assert (tmp_path / "made" / "own_best_w_and_p_by_explainer.svg").is_file()
    assert "Points, median of the best points of this table" in (tmp_path / "made" / "own_numbers.txt").read_text(
        encoding="utf-8"
    )


def test_other_numbers_on_the_papers_settings_get_none_either(make, undrawn, tmp_path, capsys):
    write_all(make, tmp_path, make.authors_folder.MAIN)
    (tmp_path / "made").mkdir()
    assert make.main([str(tmp_path), str(tmp_path / "made")]) == 0
    assert "numbers of the paper differ, such as correlations with w other than 1" in capsys.readouterr().out
    assert set(stems(tmp_path / "made")) == {"own"}


def test_the_papers_data_have_its_figures_table_and_numbers(make, tmp_path, capsys, monkeypatch):
    write_all(make, tmp_path, [*make.authors_folder.MAIN, *make.authors_folder.HELD_OUT])
    monkeypatch.setattr(make, "_why_not_the_papers", lambda table, expected: None)  # its numbers are made up here
    out = tmp_path / "made"
    assert make.main([str(tmp_path), str(out)]) == 1  # they differ
    assert stems(out) == sorted([*NUMBERED, *HELD_OUT])
    assert {file.name for file in out.iterdir() if file.suffix != ".svg"} == {
        *("captions.txt", "numbers.txt", "table1_datasets.txt", "table1_datasets.tex")
    }
    drawn = [file.read_text(encoding="utf-8") for file in out.glob("*.svg")]
    assert sum("|select.from:" in text for text in drawn) == len(HELD_OUT)  # their points are those of the main table
    assert "|" not in (out / "captions.txt").read_text(encoding="utf-8")
    printed = capsys.readouterr().out
    assert "13 figures" in printed
    assert "not here" not in printed


def test_the_published_grid_has_its_figures_from_files(make, undrawn, authors_grid, tmp_path, capsys, monkeypatch):
    (tmp_path / "made").mkdir()
    table = load_table(authors_grid)
    w = np.tile(table.w, len(table.p))
    p = np.repeat(table.p, len(table.w))
    (tmp_path / PLACE).mkdir(parents=True)
    options = csv.WriteOptions(delimiter="\t")
    for row, setting in enumerate(table.settings):
        columns = {"": np.arange(len(w)), "corr": table.correlation[row].ravel(), "w": w, "p": p}
        csv.write_csv(pa.table(columns), tmp_path / PLACE / f"{file_name(make, setting)}.tsv", options)
    read, results = make.read, []
    monkeypatch.setattr(make, "read", lambda place: results.append(read(place)) or results[-1])
    assert make.main([str(tmp_path), str(tmp_path / "made")]) == 0
    assert stems(tmp_path / "made") == sorted(NUMBERED)
    printed = capsys.readouterr().out
    assert "57 agree, 0 differ, 4 not here" in printed
    assert "not drawn: Figures 9 and 10" in printed
    assert np.array_equal(results[0].main.correlation, table.correlation)


def test_a_run_has_figures_of_its_own_beside_it(make, undrawn, tmp_path, capsys):
    (tmp_path / "bmx_2022").mkdir()
    surfaces = {("d", pair, "chrf", "lime"): peaked(-1.4) for pair in ("cs-en", "de-en", "fi-en")}
    pq.write_table(rows(surfaces), tmp_path / "grid.parquet")
    assert make.main([str(tmp_path)]) == 0
    assert "own_best_w_and_p_by_explainer.svg" in {file.name for file in (tmp_path / "bmx_2022").iterdir()}
    assert set(stems(tmp_path / "bmx_2022")) == {"own"}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        pytest.param(
            "wmt17__LimeExplainer__XLMRSBERT__cs-en", "\tw\tp\n0\t1\t2\n", "columns corr, w and p", id="column"
        ),
        pytest.param("wmt17__LimeExplainer__XLMRSBERT__cs-en", "\tcorr\tw\tp\n0\tx\t1\t2\n", "'x'", id="number"),
        pytest.param("wmt18__LimeExplainer__XLMRSBERT__cs-en", "\tcorr\tw\tp\n", "none of its 1 files", id="names"),
    ],
)
def test_damaged_files_have_status_2_and_one_sentence(make, tmp_path, capsys, name, text, message):
    (tmp_path / f"{name}.tsv").write_text(text, encoding="utf-8")
    assert make.main([str(tmp_path)]) == 2
    sentence = capsys.readouterr().err
    assert sentence.startswith(f"error: {tmp_path}")
    assert message in sentence


def test_mistakes_in_the_command_have_status_2(make, tmp_path, capsys):
    assert make.main([]) == 2
    assert make.main([str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err
