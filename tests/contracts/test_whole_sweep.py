"""What evaluations and analysis make of one small sweep, every word and number of it: tests/whole_sweep.py writes it.

The other tests say what is right; this one says what changed.
"""

import json

import pytest
from whole_sweep import EXPECTED, MADE


def close(found, expected):
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(close(found[key], one) for key, one in expected.items())
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(close, found, expected))
    return found == (pytest.approx(expected, rel=1e-6, abs=1e-9) if isinstance(expected, float) else expected)


@pytest.mark.parametrize("name", MADE)
def test_words_and_numbers_are_what_they_were(name):
    found, expected = MADE[name](), (EXPECTED / name).read_text(encoding="utf-8")
    if isinstance(found, str):
        assert found.splitlines() == expected.splitlines()
        return
    numbers = json.loads(expected)
    assert list(found) == list(numbers)
    for key, one in numbers.items():
        assert close(found[key], one), f"{key}: {found[key]} was {one}"
