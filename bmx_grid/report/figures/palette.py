"""The colours of all figures, by their use, and how lines and bars are distinguished without colour."""

from __future__ import annotations

from typing import Any

INK, QUIET, FAINT, PAPER = "#000000", "#555555", "#dddddd", "#ffffff"
CONTROL, NEUTRAL, PALE = "#777777", "#bbbbbb", "#9cc7e3"
BLUE, ORANGE, GREEN, SKY, RED, PINK = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#56b4e9",
    "#d55e00",
    "#cc79a7",
)
# Okabe and Ito's colours, distinguishable for colour-blind readers; without colour, dashes and markers are.
LINES = (RED, ORANGE, GREEN, SKY, BLUE, PINK)
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)), (0, (3, 1)), (0, (8, 2, 2, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P")
# The property of the page that holds a colour, so that a figure follows the page from light to dark.
PROPERTIES = {
    INK: "--ink",
    QUIET: "--quiet",
    FAINT: "--line",
    PAPER: "--page",
    CONTROL: "--fig-control",
    NEUTRAL: "--fig-neutral",
    PALE: "--fig-pale",
    BLUE: "--fig-blue",
    ORANGE: "--fig-orange",
    GREEN: "--fig-green",
    SKY: "--fig-sky",
    RED: "--fig-red",
    PINK: "--fig-pink",
}
