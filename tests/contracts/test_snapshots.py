"""What the comparison with tests/expected says of a change: the table, the row, the column and both values."""

import pytest
from fakes import ROOT
from snapshots import differences, report, section_text, sections

GAINS = [
    ["wmt17", "de-en", "chrf", "0.5012", "2e-07", "12"],
    ["wmt17", "fi-en", "chrf", "0.4386", "0.05", "7"],
    ["wmt17", "fi-en", "bleu", "0.3071", "n/a", "0"],
]
HEADER = ["data set", "language pair", "metric", "gain", "p", "n"]
NOTES = ["Gains above 0.01 are in bold.", "An interval needs 3 language pairs."]
TITLE = "gains: Gains of the boost; names: 2"


def text(rows=GAINS, header=HEADER, notes=NOTES, title=TITLE, sentences=("No gain is shown.",)):
    """A table whose rows are named by more than the two columns that its title counts, and a list of sentences."""
    listed = [[sentence] for sentence in sentences]
    return section_text(title, header, rows, notes) + "\n" + section_text("answers", ["sentence"], listed)


def with_cell(row, column, cell):
    rows = [list(cells) for cells in GAINS]
    rows[row][HEADER.index(column)] = cell
    return rows


def without_column(rows, name):
    place = HEADER.index(name)
    return [[*row[:place], *row[place + 1 :]] for row in rows]


@pytest.mark.parametrize(
    ("actual", "sentences"),
    [
        pytest.param(text(), [], id="nothing"),
        pytest.param(
            text(with_cell(1, "gain", "0.4986")),
            ["gains, row 'wmt17 fi-en chrf', column 'gain': expected '0.4386', got '0.4986'"],
            id="a-number",
        ),
        pytest.param(text(with_cell(1, "gain", "0.4387")), [], id="rounded-the-other-way"),
        pytest.param(
            text(with_cell(1, "gain", "0.4388")),
            ["gains, row 'wmt17 fi-en chrf', column 'gain': expected '0.4386', got '0.4388'"],
            id="two-units-of-the-last-digit",
        ),
        pytest.param(
            text(with_cell(0, "n", "13")),
            ["gains, row 'wmt17 de-en chrf', column 'n': expected '12', got '13'"],
            id="a-whole-number",
        ),
        pytest.param(
            text(with_cell(2, "p", "0.5")),
            ["gains, row 'wmt17 fi-en bleu', column 'p': expected 'n/a', got '0.5'"],
            id="defined-now",
        ),
        pytest.param(
            text([GAINS[0], ["wmt17", "de-en", "bleu", "0.2", "0.5", "3"], *GAINS[1:]]),
            ["gains, row 'wmt17 de-en bleu': new"],
            id="a-row-in-the-middle",
        ),
        pytest.param(text(GAINS[1:]), ["gains, row 'wmt17 de-en chrf': missing"], id="a-row-fewer"),
        pytest.param(
            text([GAINS[1], GAINS[0], GAINS[2]]),
            ["gains, rows in another order: expected 'wmt17 de-en chrf', got 'wmt17 fi-en chrf'"],
            id="rows-in-another-order",
        ),
        pytest.param(
            text(without_column(GAINS, "p"), without_column([HEADER], "p")[0]),
            ["gains, column 'p': missing"],
            id="a-column-fewer",
        ),
        pytest.param(
            text(header=[*HEADER[:3], "gain in r", *HEADER[4:]]),
            ["gains, column 'gain': missing", "gains, column 'gain in r': new"],
            id="a-column-renamed",
        ),
        pytest.param(
            text(title="gains: Gains; names: 2"),
            ["gains, title: expected 'gains: Gains of the boost; names: 2', got 'gains: Gains; names: 2'"],
            id="a-title",
        ),
        pytest.param(
            text(notes=["Gains above 0.05 are in bold.", NOTES[1]]),
            ["gains, sentence 1: expected '0.01', got '0.05'"],
            id="a-number-in-a-sentence",
        ),
        pytest.param(
            text(notes=["Better: gain above 0.", *NOTES]),
            ["gains, sentence 'Better: gain above 0.': new"],
            id="a-sentence-before-others",
        ),
        pytest.param(
            text(sentences=("A gain is shown.", "Of 3 pairs.")),
            [
                "answers, sentence 1: expected 'No gain is shown.', got 'A gain is shown.'",
                "answers, sentence 'Of 3 pairs.': new",
            ],
            id="sentences-without-a-table",
        ),
        pytest.param(
            text() + "\n" + section_text("legend", ["term"], [["r"]]), ["table 'legend': new"], id="a-table-more"
        ),
        pytest.param(
            section_text(TITLE, HEADER, GAINS, NOTES),
            ["table 'answers': missing"],
            id="a-table-fewer",
        ),
    ],
)
def test_a_difference_is_named_by_table_row_and_column(actual, sentences):
    assert [sentence for _, sentence in differences(text(), actual)] == sentences


def test_rows_that_nothing_but_measured_values_tells_apart_are_numbered():
    before = section_text("verdicts: Verdicts", ["boost", "gain"], [["mix", "0.1"], ["mix", "0.2"]])
    now = before.replace("0.2", "0.4")
    expected = ["verdicts, row 'mix (number 2)', column 'gain': expected '0.2', got '0.4'"]
    assert [sentence for _, sentence in differences(before, now)] == expected


def test_a_report_counts_the_differences_of_each_table_and_shows_the_first():
    assert report(text(), text()) == ""
    changed = text(with_cell(0, "gain", "0.1"), notes=NOTES[:1], sentences=("A gain is shown.",))
    assert report(text(), changed, shown=2).splitlines() == [
        "3 differences: gains 2, answers 1",
        "gains, row 'wmt17 de-en chrf', column 'gain': expected '0.5012', got '0.1'",
        "gains, sentence 'An interval needs 3 language pairs.': missing",
        "and 1 more",
    ]


def test_sections_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two sections have the name 'answers'"):
        sections(section_text("answers", ["a"], []) + "\n" + section_text("answers", ["b"], []))


@pytest.mark.parametrize("name", ["plain_analysis.txt", "whole_analysis.txt", "whole_evaluations.txt"])
def test_a_change_of_any_line_is_reported(name):
    """Every seventh one is changed here."""
    expected = (ROOT / "tests" / "expected" / name).read_text(encoding="utf-8")
    lines = expected.splitlines()
    for number in range(0, len(lines), 7):
        if not lines[number]:
            continue
        changed = [*lines[:number], lines[number] + " (changed)", *lines[number + 1 :]]
        assert len(report(expected, "\n".join(changed)).splitlines()) >= 2, lines[number]
