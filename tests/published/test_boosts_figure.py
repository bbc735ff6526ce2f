"""experiments/beyond_bmx/figure.py: the figure of the README says what the published table says."""

import pytest
from fakes import ROOT
from PIL import Image
from scripts import script

from bmx_grid.core.errors import DataError
from bmx_grid.evaluations.verdicts import LEGEND
from bmx_grid.report.canvas import style

HEADER = "| metric | explainer | boost | gain | partial r | verdict |\n|---|---|---|---|---|---|\n"


@pytest.fixture(scope="module")
def figure():
    with script(ROOT / "experiments" / "beyond_bmx" / "figure.py") as module:
        yield module


def page(folder, *rows):
    file = folder / "README.md"
    file.write_text(
        f"# A title\n\n## WMT17\n\n{HEADER}" + "\n".join(rows) + "\n\n| metric | length |\n", encoding="utf-8"
    )
    return file


def test_the_figure_has_the_rows_and_verdicts_of_the_table(figure):
    rows = list(figure.read(ROOT / "experiments" / "beyond_bmx" / "README.md"))
    assert len({(row.boost, row.metric) for row in rows}) == 2 * 5
    verdicts = {row.verdict for row in rows}
    with style():
        (legend,) = figure.draw(rows).legends
    shown = [text.get_text() for text in legend.get_texts()]
    assert shown == [label for label in LEGEND if label in verdicts]


def test_each_verdict_has_a_mark_of_its_own(figure):
    assert list(figure.MARKS) == list(LEGEND)
    marks = [str(mark) for mark in figure.MARKS.values()]
    assert len(set(marks)) == len(marks)


def size_of(picture):
    with Image.open(picture) as image:
        return image.size


def test_the_picture_of_the_documentation_is_drawn_by_its_command(figure, tmp_path):
    assert figure.main([str(tmp_path / "boosts.png")]) == 0
    assert size_of(tmp_path / "boosts.png") == size_of(ROOT / "docs" / "boosts.png")


def test_the_picture_of_gains_with_intervals_is_drawn_by_its_command(tmp_path, monkeypatch, capsys):
    """Of given gains: those of the data take minutes."""
    with script(ROOT / "experiments" / "gain_with_interval.py") as module:
        monkeypatch.setattr(module, "_gain", lambda scorer, folder, pair: module.Gain(pair, 560, 0.5, 0.01, 0.0, 0.02))
        assert module.main([str(tmp_path), str(tmp_path / "gain.png")]) == 0
    assert size_of(tmp_path / "gain.png")[0] > 500 and capsys.readouterr().out.count("+0.0100") == 7


def test_numbers_are_read_with_their_minus_and_sorted_by_gain(figure, tmp_path):
    row = "| {} | erasure | learned | {} [−0.01, +0.03] | −0.5 [−1, 0] | no gain shown |"
    rows = list(figure.read(page(tmp_path, row.format("a", "+0.01"), row.format("b", "+0.02"))))
    assert [row.metric for row in rows] == ["b", "a"]
    assert rows[0].numbers == {"gain": (0.02, -0.01, 0.03), "partial r": (-0.5, -1.0, 0.0)}


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        pytest.param("+0.01 | −0.5 [−1, 0] | no gain shown", "'\\+0.01' is no number", id="no-interval"),
        pytest.param("0 [0, 0] | 0 [0, 0] | helpz", "helpz", id="verdict"),
    ],
)
def test_what_cannot_be_drawn_is_named(figure, tmp_path, cells, message):
    with pytest.raises(DataError, match=message):
        figure.draw(list(figure.read(page(tmp_path, f"| a | erasure | learned | {cells} |"))))
