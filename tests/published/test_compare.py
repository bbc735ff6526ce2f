"""experiments/bmx_2022/compare.py: published values against a table."""

import importlib.util

import pyarrow.parquet as pq
import pytest
from fakes import ROOT
from some_tables import peaked, rows


@pytest.fixture(scope="module")
def compare():
    spec = importlib.util.spec_from_file_location("compare", ROOT / "experiments" / "bmx_2022" / "compare.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_published_grid_agrees_with_every_number_of_the_paper(compare, authors_grid, capsys):
    assert compare.main(["--paper", str(authors_grid)]) == 0
    told = capsys.readouterr().out
    assert told.splitlines()[-1] == "57 agrees, 4 not here"
    assert "needs the grid.parquet of +sweep=wmt22" in told


def test_other_values_differ_and_absent_ones_are_said(compare, tmp_path, capsys):
    main, held_out = tmp_path / "main.parquet", tmp_path / "held_out.parquet"
    pq.write_table(rows({("wmt17", pair, "xbertscore", "lime"): peaked(-1.4) for pair in ("cs-en", "de-en")}), main)
    pq.write_table(rows({("mqm21", pair, "xbertscore", "lime"): peaked(-1.4, gain=0.055) for pair in "abcd"}), held_out)
    assert compare.main(["--paper", str(main), str(held_out)]) == 1
    told = {line[:49].strip(): line for line in capsys.readouterr().out.splitlines()}
    assert told["settings"].endswith(" 2  -428.00000  DIFFERS")
    assert told["median p, LIME"].endswith("agrees")
    assert told["median p, Erasure"].endswith("not here: not in this table")
    assert told["newstest21 MQM, LIME, improved (of 4)"].endswith("agrees")
    assert told["newstest21 MQM, LIME, largest gain"].endswith("agrees")
    assert "not here: needs" in told["WMT22, LIME, improved (of 18)"]


def test_baselines_and_grids_of_a_sweep(compare, tmp_path, capsys):
    names = ("wmt17", "cs-en", "sentence_bleu")
    files = {"ours": peaked(-1.4, baseline=0.4305), "theirs": peaked(-1.4, baseline=0.44), "far": peaked(1.4)}
    for name, surface in files.items():
        pq.write_table(rows({(*names, "erasure"): surface}), tmp_path / f"{name}.parquet")
    assert compare.main([str(tmp_path / "ours.parquet"), str(tmp_path / "theirs.parquet")]) == 0
    told = capsys.readouterr().out
    assert "wmt17 cs-en sentence_bleu           0.4305    0.4305      0.0000  agrees" in told
    assert told.count("agrees") == 2
    assert compare.main([str(tmp_path / "far.parquet"), str(tmp_path / "theirs.parquet")]) == 1
    assert capsys.readouterr().out.count("DIFFERS") == 2


@pytest.mark.parametrize("arguments", [[], ["--papr", "x"], ["--paper"], ["a", "b", "c"], ["nowhere.parquet"]])
def test_mistakes_have_status_2(compare, arguments, capsys):
    assert compare.main(arguments) == 2
    assert capsys.readouterr().err
