"""experiments/compare.py: published values against tables."""

import re

import pyarrow.parquet as pq
import pytest
from fakes import ROOT
from scripts import script
from some_tables import peaked, rows


@pytest.fixture(scope="module")
def compare():
    with script(ROOT / "experiments" / "compare.py") as module:
        yield module


def reproduced(printed: str) -> list[str]:
    """The rows of a README's table of published and computed numbers, from what compare.py prints."""
    lines = [re.split(r" {2,}", line) for line in printed.splitlines() if line.endswith("  agrees")]
    return [f"| {' | '.join(line[:5])} |" for line in lines]


def shown(paper: str) -> list[str]:
    """These rows as they stand in the README."""
    text = (ROOT / "experiments" / paper / "README.md").read_text(encoding="utf-8")
    return text.split("| value | where | published | here | difference |\n|---|---|---:|---:|---:|\n")[1].splitlines()


def test_the_published_grid_agrees_with_every_number_of_the_paper(compare, authors_grid, capsys):
    assert compare.main(["bmx_2022", str(authors_grid)]) == 0
    printed = capsys.readouterr().out
    assert reproduced(printed) == shown("bmx_2022")
    assert printed.splitlines()[-1] == "57 agree, 0 differ, 4 not here"
    assert "needs the grid.parquet of +sweep=wmt22" in printed


def test_every_worked_example_of_the_lecture_agrees(compare, capsys):
    assert compare.main(["mt_evaluation_lecture_2024"]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == "46 agree, 0 differ"
    assert reproduced(printed) == shown("mt_evaluation_lecture_2024")
    assert compare.main(["mt_evaluation_lecture_2024", "--part", "ranks"]) == 0
    assert "AutoRank, kendall: 0.646 [0.027, 0.966], 12 systems" in capsys.readouterr().out


def test_other_values_differ_and_absent_ones_are_said(compare, tmp_path, capsys):
    main, held_out = tmp_path / "main.parquet", tmp_path / "held_out.parquet"
    pq.write_table(rows({("wmt17", pair, "xbertscore", "lime"): peaked(-1.4) for pair in ("cs-en", "de-en")}), main)
    pq.write_table(rows({("mqm21", pair, "xbertscore", "lime"): peaked(-1.4, gain=0.055) for pair in "abcd"}), held_out)
    assert compare.main(["bmx_2022", "--part", "paper", str(main), str(held_out)]) == 1
    line_of = {line[:49].strip(): line for line in capsys.readouterr().out.splitlines()}
    assert line_of["settings"].endswith(" 2  -428.00000  DIFFERS")
    assert line_of["median p, LIME"].endswith("agrees")
    assert line_of["median p, Erasure"].endswith("not here: not in this table")
    assert line_of["newstest21 MQM, LIME, improved (of 4)"].endswith("agrees")
    assert line_of["newstest21 MQM, LIME, largest gain"].endswith("agrees")
    assert "not here: needs" in line_of["WMT22, LIME, improved (of 18)"]


def test_baselines_and_grids_of_a_sweep(compare, tmp_path, capsys):
    names = ("wmt17", "cs-en", "sentence_bleu")
    files = {"ours": peaked(-1.4, baseline=0.4305), "theirs": peaked(-1.4, baseline=0.4305), "far": peaked(1.4)}
    for name, surface in files.items():
        pq.write_table(rows({(*names, "erasure"): surface}), tmp_path / f"{name}.parquet")
    ours, theirs, far = (str(tmp_path / f"{name}.parquet") for name in files)
    wmt17 = ["bmx_2022", "--part", "wmt17_escaped"]
    assert compare.main([*wmt17, ours]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == "1 agree, 0 differ, 13 not here"
    # Equal grids differ, too: expected is how close they come, so that a step towards or away is seen.
    for second in (theirs, far):
        assert compare.main([*wmt17, ours, second]) == 1
        row = next(
            line for line in capsys.readouterr().out.splitlines() if "point by point, BLEU Erasure cs-en" in line
        )
        assert row.endswith("DIFFERS")
        assert ("1.00000" in row) == (second == theirs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["bmx_2023", "x"], "Did you mean 'bmx_2022'", id="paper"),
        pytest.param(["bmx_2022"], "which results", id="no-results"),
        pytest.param(["bmx_2022", "--part", "wmt71", "x"], "Did you mean 'wmt17'", id="part"),
        pytest.param(["bmx_2022", "--papr", "x"], "unknown option '--papr'", id="option"),
        pytest.param(["bmx_2022", "nowhere.parquet"], "nowhere.parquet", id="no-file"),
    ],
)
def test_mistakes_have_status_2_and_one_sentence(compare, arguments, message, capsys):
    assert compare.main(arguments) == 2
    sentence = capsys.readouterr().err
    assert sentence.startswith("error: ")
    assert message in sentence
