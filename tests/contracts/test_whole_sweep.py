"""What evaluations and analysis make of one small sweep, every word and number of it: tests/whole_sweep.py writes it.

The other tests say what is right; this one says what changed.
"""

import json

import pytest
from whole_sweep import EXPECTED, of_evaluations, of_json, of_tables


def close(found, expected):
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(close(found[key], one) for key, one in expected.items())
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(close, found, expected))
    return found == (pytest.approx(expected, rel=1e-6, abs=1e-9) if isinstance(expected, float) else expected)


@pytest.mark.parametrize(
    ("make", "stem"),
    [
        pytest.param(of_evaluations, "whole_evaluations", id="the tables of the evaluations"),
        pytest.param(of_json, "whole_analysis", id="analysis.json"),
    ],
)
def test_numbers_and_names_are_what_they_were(make, stem):
    found, expected = make(), json.loads((EXPECTED / f"{stem}.json").read_text(encoding="utf-8"))
    assert list(found) == list(expected)
    for name, one in expected.items():
        assert close(found[name], one), f"{name}: {found[name]} was {one}"


def test_tables_are_what_they_were():
    expected = (EXPECTED / "whole_analysis.txt").read_text(encoding="utf-8")
    assert of_tables().splitlines() == expected.splitlines()
