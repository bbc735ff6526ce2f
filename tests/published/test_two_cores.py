"""The benchmark of two processes: its arithmetic, and its table in benchmarks/README.md."""

import pytest
from fakes import ROOT
from scripts import script

README = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def benchmark():
    with script(ROOT / "benchmarks" / "two_cores.py") as module:
        yield module


def test_a_row_has_medians_over_rounds(benchmark):
    """By hand: walls of 60 / 100 and 90 / 100 have the median .75."""
    alone = [benchmark.Run(100, 100, [], 1234), benchmark.Run(100, 100, [], 1234)]
    shared = [benchmark.Run(60, 3, [50, 45], 1234), benchmark.Run(90, 5, [65, 40], 1234)]
    assert benchmark.wall_share(alone, shared) == pytest.approx(0.75)
    row = benchmark.row(7, alone, shared)
    assert row == "| 7 | 1,234 | 100 | 75 | 0.75 | 100.0 | 4.0 | 57.5, 42.5 |"
    assert row.count("|") == benchmark.HEADER.count("|")


def test_the_table_holds_shares_of_its_own_seconds(benchmark):
    written = README.partition(benchmark.BEGIN)[2].partition(benchmark.END)[0]
    assert benchmark.HEADER in written.splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in written.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row[0].isdigit()]
    assert rows
    for _, texts, one_wall, two_wall, share, *_ in rows:
        assert int(texts.replace(",", "")) > 0
        # Medians are rounded, and of one or few rounds.
        assert float(share) == pytest.approx(float(two_wall) / float(one_wall), abs=0.02)
