"""The last screen of a sweep: the answer, what its numbers are, what was written, and where to look."""

import pytest

CHOSEN = (
    "+sweep=quickstart",
    "metric=[chrf]",
    "explainer=[erasure]",
    "leave_out=[]",
    "limit=8",
    "dataset.sample.language_pairs=[de-en]",
)
UNIT = "Gains are differences of {} on segments that did not choose the boost, with 95 % intervals."


@pytest.fixture
def lines(swept, capsys, monkeypatch, blank_figures):
    """lines(*overrides): the lines that such a sweep says."""
    monkeypatch.setenv("COLUMNS", "120")

    def said(*overrides):
        assert swept(*CHOSEN, *overrides) == 0
        return capsys.readouterr().out.splitlines()

    return said


def test_a_sweep_ends_with_its_answer_its_unit_and_the_page(lines, tmp_path):
    screen = lines("analysis=true")
    *_, unit, blank, written, page = screen
    answers = [row for row, line in enumerate(screen) if line.startswith("Erasure on chrF")]
    assert len(answers) == 2 and screen[answers[0] - 1] == "", "the answer stands apart"
    assert unit == UNIT.format("Pearson's r") and blank == ""
    assert written.endswith(f" s; written to {tmp_path / 'out'}/") and " texts scored in " in written
    assert page == f"the page: {tmp_path / 'out' / 'report.html'}" and (tmp_path / "out" / "report.html").is_file()
    *again, unit_again, up_to_date, page_again = lines("analysis=true")
    assert (unit_again, page_again) == (unit, page)
    assert up_to_date.startswith("0 texts scored in ") and up_to_date.endswith(f"{tmp_path / 'out'}/ is up to date")
    assert any(line.startswith("Erasure on chrF: ") for line in again), "the answer is said again"


def test_the_unit_is_the_correlation_of_the_sweep(lines):
    assert UNIT.format("Kendall's τ") in lines("analysis=true", "grid.correlation=kendall")


def test_without_an_analysis_there_is_neither_unit_nor_page(lines, tmp_path):
    screen = lines()
    assert screen[-1].endswith(f"written to {tmp_path / 'out'}/")
    assert not any(line.startswith(("Gains are", "the page:")) for line in screen)
