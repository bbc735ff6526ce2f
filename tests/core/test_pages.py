"""Coloured words: strengths by hand, and names from data that stay names."""

import numpy as np

from bmx_grid.core.pages import strengths, texts_in_notebook

HOSTILE = "<script>alert(1)</script>"


def test_strengths_are_relative_to_the_largest_of_all_sides():
    def shares_of(*rows):
        return [shares.tolist() for shares in strengths([np.array(row) for row in rows])]

    assert shares_of([0.5, -2.0, np.nan], [1.0, np.inf]) == [[0.25, 1.0, 0.0], [0.5, 0.0]]
    assert shares_of([0.0, 0.0], []) == [[0.0, 0.0], []] and shares_of() == []


def test_a_notebook_shows_words_as_they_are():
    sides = [("reference", ["a", HOSTILE], np.array([1.0, -0.5]), [False, True]), ("hypothesis", [], np.array([]), [])]
    shown = texts_in_notebook(f"two {HOSTILE}", [(f"row {HOSTILE}", sides)])
    assert "<script" not in shown and shown.count("&lt;script&gt;") == 3
    words = shown.split('class="text"')[1]
    assert words.index("word up") < words.index("+1") < words.index("word down") < words.index("✗ −0.5")
    assert "no words" in shown and "blue, solid line" in shown
    assert "blue, solid line" not in texts_in_notebook("scores", [("row 0", [])]), "nothing is coloured"


def test_the_look_of_an_output_stays_inside():
    """Every rule stands in that of the output, whose own element is the root."""
    style = texts_in_notebook("a", []).partition("<style>")[2].partition("</style>")[0].strip()
    depth = 0
    for place, sign in enumerate(style):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        assert depth > 0 or place < len(".bmx {") or place == len(style) - 1
    assert style.startswith(".bmx {") and ":root" not in style
