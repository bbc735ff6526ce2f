"""What evaluations and analysis make of one small sweep, every word and number of it: tests/whole_sweep.py writes it.

The other tests say what is right; this one says what changed.
"""

import pytest
from whole_sweep import EXPECTED, MADE, differences

SHOWN = 10  # differences; where a row is new, all below it are others


@pytest.mark.parametrize("name", MADE)
def test_words_and_numbers_are_what_they_were(name):
    found = list(differences(MADE[name](), (EXPECTED / name).read_text(encoding="utf-8")))
    assert not found, f"{name}: {len(found)} cells differ\n" + "\n".join(found[:SHOWN])
