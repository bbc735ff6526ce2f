"""bmx-grid compare: the numbers of `bmx_grid.compare`, from a table, on a terminal and as JSON."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from bmx_grid.api.comparison import main

SYSTEMS, ITEMS = 4, 15


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    n = SYSTEMS * ITEMS
    human = rng.normal(size=2 * n)
    return pd.DataFrame(
        {
            "lp": ["de-en"] * n + ["en-cs"] * n,
            "seg_id": [*range(ITEMS)] * SYSTEMS * 2,
            "sys": [*np.repeat([*"ABCD"], ITEMS)] * 2,
            "MQM": human,
            "good one": human + 0.5 * rng.normal(size=2 * n),
            "poor": human + 3 * rng.normal(size=2 * n),
            "year": 2024,
        }
    )


@pytest.fixture
def call(frame, tmp_path, monkeypatch, capsys):
    """call(*arguments): (exit status, standard output, standard error) of a comparison of scores.tsv."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    frame.to_csv("scores.tsv", sep="\t", index=False)

    def run(*arguments, table="scores.tsv"):
        try:
            status = main([table, "--resamples", "50", *arguments])
        except SystemExit as error:
            status = error.code
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def test_json_has_the_correlations_of_the_columns_and_the_tests(call, frame):
    status, out, _ = call("--metrics", "poor", "good one", "--json")
    found = json.loads(out)
    assert status == 0 and found["read"]["unused"] == ["year"] and found["read"]["human scores"] == ["MQM"]
    for pair, own in frame.groupby("lp"):
        for name in ("good one", "poor"):
            (row,) = [
                one
                for one in found["correlations"]
                if (one["language_pair"], one["metric"], one["statistic"]) == (pair, name, "pearson")
            ]
            assert row["value"] == pytest.approx(scipy.stats.pearsonr(own[name], own["MQM"])[0], abs=1e-12)
            assert row["low"] < row["value"] < row["high"]
    assert {(one["language_pair"], one["test"]) for one in found["tests"]} >= {("de-en", "perm_inputs")}
    assert {(row["compared"], row["against"]) for row in found["verdicts"]} == {("good one", "poor")}


def test_the_terminal_has_the_best_metric_first_and_one_test_per_pair(call):
    status, out, err = call("--metrics", "poor", "good one")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    rows = [line.split() for line in out.splitlines() if line.startswith(("de-en", "en-cs"))]
    assert [" ".join(row[1:3]) for row in rows[:1]] == ["good one"] and rows[1][1] == "poor"
    assert len(rows) == 4 + 2 + 2 * 2, "verdicts take two parts of so many columns"
    assert "scores.tsv: 120 rows; human scores MQM; metrics poor, good one; language pair lp" in " ".join(out.split())


@pytest.mark.parametrize("more", [("--by", "item"), ("--level", "system"), ("--statistic", "kendall")], ids=" ".join)
def test_levels_groupings_and_statistics(call, more):
    status, out, _ = call("--metrics", "poor", "good one", *more, "--json")
    found = json.loads(out)
    assert status == 0 and found[more[0].strip("-")] == more[1]
    level = more[1] if more[0] == "--level" else "segment"
    assert {one["level"] for one in found["correlations"]} == {level}


def test_columns_that_no_usual_name_gives_away(call, frame, tmp_path):
    frame.rename(columns={"MQM": "Befund", "sys": "wer"}).to_csv(tmp_path / "t.csv", index=False)
    status, _, err = call("--metrics", "poor", table="t.csv")
    assert status == 2 and "no column for score" in err
    told = ("--human", "Befund", "--columns", "system=wer", "--json")
    assert json.loads(call("--metrics", "poor", *told, table="t.csv")[1])["read"]["system"] == ["wer"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param([], "which of the columns are metrics? lp, seg_id, sys, MQM, good one, poor, year.", id="none"),
        pytest.param(["--metrics", "poor", "--language-pair", "de-en"], "has a column for it, 'lp'", id="two pairs"),
        pytest.param(["--metrics", "pour"], "metrics: unknown column 'pour'. Did you mean 'poor'", id="metric"),
        pytest.param(["--metrics", "lp"], "line 2: the score in column 'lp'", id="no numbers"),
    ],
)
def test_mistakes_are_one_sentence(call, arguments, said):
    status, out, err = call(*arguments)
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize(("pair", "shown"), [((), False), (("--language-pair", "de-en"), True)], ids=["none", "named"])
def test_a_language_pair_is_shown_where_it_is_known(call, frame, tmp_path, pair, shown):
    frame[frame["lp"] == "de-en"].drop(columns="lp").to_csv(tmp_path / "t.csv", index=False)
    status, out, _ = call("--metrics", "poor", "good one", *pair, table="t.csv")
    assert status == 0 and ("de-en" in out) == shown and "source-target" not in out
    found = json.loads(call("--metrics", "poor", "good one", *pair, "--json", table="t.csv")[1])
    assert {row["language_pair"] for row in found["correlations"]} == {"de-en" if shown else None}
