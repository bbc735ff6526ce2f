"""What `compare` prints: the conclusion, a table for each question, and all of it in any width."""

import numpy as np
import pandas as pd
import pytest

import bmx_grid as bmx
from bmx_grid.commands import compare as command
from bmx_grid.report import answer
from bmx_grid.report.table import width_of


def scores(n_pairs=1, n=60):
    """Two metrics that agree with people, one of them closely, and one of noise."""
    rng = np.random.default_rng(3)
    frames = []
    for pair in ("de-en", "en-de", "fr-en")[:n_pairs]:
        human = rng.normal(size=n)
        frames.append(
            pd.DataFrame(
                {
                    "language_pair": pair,
                    "id": np.arange(n),
                    "score": human,
                    "close": human + 0.1 * rng.normal(size=n),
                    "farther": human + rng.normal(size=n),
                    "noise": rng.normal(size=n),
                    "words": rng.integers(3, 40, n),
                }
            )
        )
    return pd.concat(frames)


def compared(frame, metrics=("close", "farther", "noise"), **more):
    return bmx.compare(frame, list(metrics), lengths="words", resamples=200, **more)


@pytest.fixture(scope="module", params=[1, 3])
def result(request):
    return compared(scores(request.param))


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_no_line_is_wider_than_the_terminal(result, width):
    assert max(map(width_of, result.summary(width).splitlines())) <= width


def test_at_120_columns_nothing_is_missing(result):
    assert "Not shown" not in result.summary(120)
    header = next(line for line in result.summary(120).splitlines() if line.startswith("verdict"))
    for name in ("metric", "against", "difference [95 % CI]", "p (Holm)", "partial r [95 % CI]"):
        assert name in header


def test_columns_go_in_the_order_that_is_stated(result):
    order = ["p", "p (Holm)", "partial r [95 % CI]"]
    for width in range(60, 121, 4):
        _, _, missing = result.summary(width).rpartition(f"Not shown at {width} columns: ")
        if missing != result.summary(width):
            gone = [name for name in " ".join(missing.split()).rstrip(".").split(", ") if name in order]
            assert gone == order[: len(gone)]


def test_there_is_a_row_for_each_two_metrics_and_no_rule_between(result):
    lines = result.summary(120).splitlines()
    (start,) = [row for row, line in enumerate(lines) if line.startswith("verdict")]
    rows = lines[start + 2 : lines.index("", start)]
    assert len(rows) == len(result.tests) and not any(line.startswith("--") for line in rows)
    assert [float(line.partition("[")[0].split()[-1]) >= 0 for line in rows] == [True] * len(rows), "the better first"


@pytest.mark.parametrize(
    ("metrics", "n_pairs", "options", "first"),
    [
        (("close", "farther", "noise"), 1, {}, "close correlates best (0.99"),
        (("farther", "noise"), 3, {}, "Best in 3 language pairs: farther in 3. Significant after Holm's correction: 3"),
        (("noise",), 1, {}, "noise correlates with the human scores at "),
        (("noise",), 3, {}, "over 3 language pairs."),
        (("close", "copy"), 1, {}, "close, copy correlate best (0.99"),
        (("noise", "again"), 1, {}, "Its lead over again is not significant."),
        (
            ("close", "noise"),
            1,
            {"alternative": "less"},
            "correction (1 test, one-sided, that the metric named first is worse).",
        ),
        (("constant",), 1, {}, "No metric has a correlation with the human scores."),
    ],
)
def test_the_conclusion_is_first(metrics, n_pairs, options, first):
    frame = scores(n_pairs)
    frame = frame.assign(copy=frame["close"], constant=1.0, again=frame["noise"].to_numpy()[::-1])
    sentence, *_ = compared(frame, metrics, **options).summary(200).partition("\n")
    assert first in sentence


def test_verdicts_of_two_sides_are_apart_from_tests_of_one():
    """The metric named first is worse: of "greater" nothing is significant, and the other one's verdict is a gain."""
    result = compared(scores(), ("noise", "close"), alternative="greater", confidence=0.5)
    sentence, *_ = result.summary(200).partition("\n")
    assert sentence.endswith("(1 test, one-sided, that the metric named first is better).")
    _, tests, verdicts = result.tables()
    assert [cell.value for cell in tests.rows[0][:2]] == ["noise", "close"]
    assert verdicts.title == "de-en: verdicts, of two-sided tests, the better metric first"
    # Their intervals would be of 95 %, whatever confidence is.
    assert not any("difference" in header for header in verdicts.header)
    assert [cell.value for cell in verdicts.rows[0][:3]] == ["helps", "close", "noise"]


def test_the_lead_over_each_metric_is_told():
    sentence, *_ = compared(scores(n=40)).summary(200).partition("\n")
    assert sentence.endswith("Its lead over farther, noise is significant.")


def test_an_error_rate_is_named_and_noise_is_not():
    frame = scores().assign(errors=lambda table: -table["farther"])
    printed = " ".join(compared(frame, ("close", "errors", "noise")).summary(100).split())
    assert "errors correlates negatively with the human scores. Higher must be better: if lower is, multiply" in printed
    assert "negatively" not in compared(frame).summary(100)


def test_verdicts_have_colours_on_a_terminal_only(monkeypatch, tmp_path, capsys):
    file = tmp_path / "table.tsv"
    scores(n=120).to_csv(file, sep="\t", index=False)
    arguments = [str(file), "--metrics", "close", "noise", "--lengths", "words", "--resamples", "100"]
    assert command.main(arguments) == 0
    plain = capsys.readouterr().out
    assert "\nhelps  " in plain and "\x1b" not in plain
    monkeypatch.setattr(answer, "shows_colours", lambda: True)
    assert command.main(arguments) == 0
    assert "\n\x1b[32mhelps\x1b[0m  " in capsys.readouterr().out
