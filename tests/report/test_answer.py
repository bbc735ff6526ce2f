"""The answer on a terminal: one row for each verdict, in any width, and the facts that are not in a table."""

import math
import re
from types import SimpleNamespace

import pandas as pd
import pytest
from some_frames import verdicts
from some_tables import peaked, table

from bmx_grid.analysis.questions import analyse_table, tracked_metrics
from bmx_grid.report import answer
from bmx_grid.report.answer import DROPPED, MOST_ROWS, answer_text, colour_verdicts
from bmx_grid.report.table import width_of

NAMES = ("sentence_bleu", "minilm_bertscore")
SETTINGS = [("d", pair, metric, "lime") for pair in "ab" for metric in NAMES]
TABLE = table({names: peaked(0.5, gain=0.01) for names in SETTINGS})
GAIN = (0.05, 0.02, 0.08)
ROWS = [
    {"metric": NAMES[0], "verdict": "helps", "gain": GAIN, "partial_r": 0.1, "length_gain": -0.01, "p_gain_holm": 1e-4},
    {"metric": NAMES[0], "boost": "signs", "gain": (0.01, 0.001, 0.02)},
    {"metric": NAMES[1], "verdict": "hurts", "gain": (-0.03, -0.05, -0.01), "p_gain_holm": 0.01},
    {"metric": NAMES[1], "boost": "signs", "gain": (0.0, 0.0, 0.0)},
]


def analysis(*rows, **more):
    return analyse_table(TABLE, frames={"verdicts": verdicts(*rows), **more})


def lines_of(given, width):
    return answer_text(given, width).splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
def test_no_line_is_wider_than_the_terminal(width):
    shown = lines_of(analysis(*ROWS), max(width, 60))
    assert max(map(width_of, shown)) <= max(width, 60)
    body = [line for line in shown if line.startswith(("helps  ", "hurts  ", "no gain shown  "))]
    assert len([line for line in body if "[" in line or "not boosted" in line]) == len(ROWS), (
        "one line for each verdict"
    )


def test_columns_go_in_the_order_that_is_stated():
    shown = {}
    given = analysis(*ROWS)
    for width in range(70, 181):
        header = next(line for line in lines_of(given, width) if line.startswith("verdict"))
        shown[width] = [name for name in DROPPED if name in re.split("  +", header)]
    kept = [name for name in DROPPED if name != "n"]  # all rows have the same: it is in the title
    for there in shown.values():
        assert there == kept[len(kept) - len(there) :]
    assert shown[180] == kept and len(shown[70]) < len(kept)
    assert [len(shown[width]) for width in sorted(shown)] == sorted(map(len, shown.values()))


def test_a_row_has_the_numbers_of_its_verdict():
    shown = lines_of(analysis(*ROWS), 160)
    helps, hurts, doubted, unboosted = [line.split() for line in shown if "[" in line or "not boosted" in line][:4]
    gain = ["0.500", "→", "0.550", "+0.050", "[+0.020,", "+0.080]", "-0.010", "+0.100", "<", "0.001"]
    assert helps == ["helps", "sentence_bleu", "learned", *gain]
    assert hurts[:3] == ["hurts", "minilm_bertscore", "learned"] and "[-0.050," in hurts
    assert "+0.020]*" in doubted and "0.500" in doubted, "its interval leaves 0 out, and p (Holm) is 0.5"
    near = {"metric": NAMES[0], "verdict": "too little data", "gain": (-0.1, -0.3, -0.0002)}
    wide = answer_text(analysis(near), 160)
    assert "[-0.300, -0.0002]*" in wide, "an end near 0 keeps its sign, and any verdict the mark"
    assert unboosted[:4] == ["no", "gain", "shown", "minilm_bertscore"] and unboosted[-3:-1] == ["not", "boosted"]
    assert any(line.startswith("*  ") and "Holm" in line for line in shown)


def test_what_all_rows_share_is_in_the_title_and_the_conclusion_is_first():
    shown = lines_of(analysis(*ROWS), 120)
    assert shown[0] == "LIME (learned) helps BLEU (+0.050). LIME (learned) hurts BERTScore (MiniLM) (-0.030)."
    (title,) = [line for line in shown if line.startswith("Boosts chosen on")]
    assert "(lime, 4 pairs, n=1,500)" in title
    (header,) = [line for line in shown if line.startswith("verdict")]
    assert "explainer" not in header and "data" not in header


def test_published_points_have_a_table_of_their_own():
    published = {"metric": NAMES[0], "boost": "power_mean_grid", "point": "published"}
    shown = lines_of(analysis(*ROWS, published), 120)
    assert [line.partition(":")[0].partition(" (")[0] for line in shown if line.startswith("Boosts ")] == [
        *("Boosts chosen on other language pairs", "Boosts at the published point"),
    ]


def test_many_rows_are_cut_and_counted():
    rows = [{"metric": f"metric_{number}", "gain": number / 1000} for number in range(MOST_ROWS + 3)]
    assert "3 more in report.html" in answer_text(analysis(*rows), 120)


def test_medians_stand_beside_the_papers():
    given = analysis(*ROWS)
    text = answer_text(given, 200)
    medians = tracked_metrics(given)
    assert f"LIME p {medians['medians/lime/p']:g}, w {medians['medians/lime/w']:g} (paper" in text
    assert "Medians of the best points, in-sample: LIME p " in text and "(paper p -1.4, w 0.4)" in text
    assert "Ridge regression" not in text, "of one explainer and four settings nothing is regressed"


def test_most_segments_being_shifted_is_said():
    columns = {"aggregation": "PowerMean", "correlation": "pearson", "baseline": 0.5, "n_used": 9}
    columns |= {"repeat_deviation": math.nan, "constructed": False}
    rows = []
    for (_, pair, metric, explainer), share in zip(SETTINGS, (0.99, 0.1, 1.0, 0.2), strict=True):
        names = {"dataset": "d", "language_pair": pair, "metric": metric, "explainer": explainer}
        rows.append({**names, **columns, "share_shifted": share})
    text = answer_text(analysis(*ROWS, settings=pd.DataFrame(rows)), 200)
    assert (
        "At p ≤ -1 the power mean of shifted segments is a function of their length: LIME on BLEU 99 to 100%." in text
    )


def test_without_verdicts_there_is_nothing():
    assert answer_text(analyse_table(TABLE, frames={}), 80) == ""


@pytest.mark.parametrize(
    ("is_terminal", "no_color", "expected"),
    [
        (True, None, "\x1b[32mhelps\x1b[0m  a\n\x1b[31mhurts\x1b[0m  b\nno gain shown  it helps"),
        (True, "1", "helps  a\nhurts  b\nno gain shown  it helps"),
        (False, None, "helps  a\nhurts  b\nno gain shown  it helps"),
    ],
)
def test_verdicts_have_colours_on_a_terminal_only(monkeypatch, is_terminal, no_color, expected):
    monkeypatch.setattr(answer.sys, "stdout", SimpleNamespace(isatty=lambda: is_terminal))
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color is not None:
        monkeypatch.setenv("NO_COLOR", no_color)
    assert colour_verdicts("helps  a\nhurts  b\nno gain shown  it helps") == expected
