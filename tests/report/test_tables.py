"""What stands at the end of a sweep."""

import pytest

from bmx_grid.report.table import columns_of
from bmx_grid.report.terminal import WIDEST, failures, fitted, sentences
from bmx_grid.sweep.settings import Refused


def test_failures_are_listed_with_their_reasons():
    refused = [Refused("wmt17 · comet", "comet is not installed: pip install it")]
    assert failures(refused) == "failed: 1\n  wmt17 · comet: comet is not installed: pip install it"
    assert failures([]) == ""


def test_failures_for_one_reason_are_one_line():
    refused = [Refused(name, "no model") for name in "abcde"] + [Refused("f", "no data")]
    assert failures(refused, 80).splitlines() == ["failed: 6", "  a; b; c and 2 more: no model", "  f: no data"]


@pytest.mark.parametrize("width", [40, 80, 120, 300])
def test_every_line_fits_the_terminal(width):
    lines = sentences(["LIME on chrF: " + "word " * 60, "短い " * 60], width)
    told = f"{lines}\n{failures([Refused('d', 'the reason of it ' * 20)], width)}"
    assert max(map(columns_of, told.splitlines())) <= 2 * min(width, WIDEST)
    assert lines.startswith("LIME on chrF: word")


def test_the_width_is_that_of_the_terminal(monkeypatch):
    for columns in (60, 90):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert fitted("word " * 60) == fitted("word " * 60, columns)


def test_names_cannot_command_a_terminal():
    told = failures([Refused("a\nb\x1b[2J", "c\x07")], 80)
    assert "\x1b" not in told and "\x07" not in told
    assert "a\\nb" in told and "c\\x07" in told
