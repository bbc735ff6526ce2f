"""What evaluations and analysis make of one small sweep, every word and number of it: tests/whole_sweep.py writes it.

The other tests say what is right; this one says what changed.
"""

import pytest
from whole_sweep import EXPECTED, MADE, differences, differing

SHOWN = 10  # differences; where a row is new, all below it are others


@pytest.mark.parametrize("name", MADE)
def test_words_and_numbers_are_what_they_were(name):
    found = list(differences(MADE[name](), (EXPECTED / name).read_text(encoding="utf-8")))
    assert not found, f"{name}: {len(found)} cells differ\n" + "\n".join(found[:SHOWN])


@pytest.mark.parametrize(
    ("found", "expected", "same"),
    [
        ("gain +0.1683", "gain +0.1682", True),  # rounded up and down
        ("gain +0.1684", "gain +0.1682", False),
        ("gain 0.1682", "gain +0.1682", False),
        ("3 of 8", "3 of 8", True),
        ("4 of 8", "3 of 8", False),
        ("2.1e-17", "0", True),
        ("-2.1e-17", "0", True),
        ("n/a", "0", False),
        ("882.0000001", "882", True),
        ("12811.9084", "12811.90833", False),
        ("", "0", False),
    ],
)
def test_numbers_are_the_same_but_for_rounding(found, expected, same):
    assert (differing(found, expected) is None) == same


def test_a_difference_names_its_place_and_both_values():
    was = "# gains: Gains\nexplainer | gain\nlime | +0.25\nshap | n/a\na note\n"
    assert not list(differences(was, was))
    assert list(differences(was.replace("+0.25", "+0.75"), was)) == [
        "gains, row 'lime +0.25', column 'gain': '0.75' was '0.25'"
    ]
    assert list(differences(was + "more", was)) == ["gains, row '', column 'explainer': 'more' was ''"]
    assert len(list(differences(was.replace("lime | +0.25\n", ""), was))) > 1
