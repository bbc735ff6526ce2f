"""The tables of benchmarks/README.md are those that the benchmarks measured."""

import json

import pytest
from fakes import ROOT
from scripts import script

MEASURED = sorted((ROOT / "benchmarks" / "measured").glob("*.json"))
README = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", MEASURED, ids=[file.stem for file in MEASURED])
def test_a_table_holds_what_was_measured(file):
    found = json.loads(file.read_text(encoding="utf-8"))
    with script(ROOT / "benchmarks" / "harness.py") as harness:
        table = harness.measured_table(found)
    assert f"<!-- {file.stem} -->\n\n{table}\n" in README, f"write this table into benchmarks/README.md:\n{table}"
    assert found["benchmark"] == file.stem and not any(row["missed"] for row in found["rows"])


def test_every_table_was_measured():
    # Marks that name a script are of tables that its own test compares.
    marks = [line for line in README.splitlines() if line.startswith("<!-- ") and line != "<!-- end -->"]
    marks = [line for line in marks if ".py" not in line]
    assert sorted(marks) == [f"<!-- {file.stem} -->" for file in MEASURED]


def test_a_ratio_is_of_one_round_and_a_way_may_be_missing():
    rows = [
        {"label": "a", "seconds": {"ours": [1.0, 2.0, 4.0], "theirs": [2.0, 8.0, 4.0], "another": [1.0, 2.0, 2.0]}},
        {"label": "b", "seconds": {"ours": [0.002], "another": [0.006]}},
    ]
    with script(ROOT / "benchmarks" / "harness.py") as harness:
        lines = harness.measured_table({"rows": rows}).splitlines()
    assert lines[2:] == [
        "| a | 2 s (1 to 4) | 2× (1 to 4) | 1× (0.5 to 1) |",
        "| b | 2 ms (2 to 2) |  | 3× (3 to 3) |",
    ]
