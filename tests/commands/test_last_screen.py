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
TITLES = ("Boosts chosen on other folds: gain in {} over the baseline", "Boosts at the published point: gain in {}")


@pytest.fixture
def lines(swept, capsys, monkeypatch, blank_figures):
    """lines(*overrides): the lines that such a sweep says."""
    monkeypatch.setenv("COLUMNS", "120")

    def said(*overrides):
        assert swept(*CHOSEN, *overrides) == 0
        return capsys.readouterr().out.splitlines()

    return said


def test_a_sweep_ends_with_its_answer_and_the_page(lines, tmp_path):
    screen = lines("analysis=true")
    *_, blank, written, page = screen
    conclusion = screen.index("Too little data to show a gain.")
    assert screen[conclusion - 1] == "", "the answer stands apart"
    titles = [row for row, line in enumerate(screen) if line.startswith("Boosts ")]
    for row, title in zip(titles, TITLES, strict=True):
        assert screen[row].startswith(title.format("Pearson's r"))
        assert screen[row + 2].startswith("verdict  ") and screen[row + 4].split()[-1] != "", "a title, a header, a row"
    assert blank == "" and written.endswith(f" s; written to {tmp_path / 'out'}/") and " texts scored in " in written
    assert page == f"the page: {tmp_path / 'out' / 'report.html'}" and (tmp_path / "out" / "report.html").is_file()
    *again, up_to_date, page_again = lines("analysis=true")
    assert page_again == page
    assert up_to_date.startswith("0 texts scored in ") and up_to_date.endswith(f"{tmp_path / 'out'}/ is up to date")
    assert set(screen[conclusion:-3]) <= set(again), "the answer is said again"


def test_the_title_names_the_correlation_of_the_sweep(lines):
    screen = lines("analysis=true", "grid.correlation=kendall")
    assert any(line.startswith(TITLES[0].format("Kendall's τ")) for line in screen)


def test_without_an_analysis_there_is_neither_answer_nor_page(lines, tmp_path):
    screen = lines()
    assert screen[-1].endswith(f"written to {tmp_path / 'out'}/")
    assert not any(line.startswith(("Boosts ", "the page:")) for line in screen)
