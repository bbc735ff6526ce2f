"""Metrics in comparison: correlations and tests against SciPy, the command against Python, and mistakes of both."""

import dataclasses
import itertools
import json
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import bmx_grid as bmx
from bmx_grid.api import comparison
from bmx_grid.commands.compare import main
from bmx_grid.core.errors import BmxError, ConfigError
from bmx_grid.core.wording import number
from bmx_grid.measures import compare_systems
from bmx_grid.measures.multiple_tests import holm

SYSTEMS, ITEMS = 4, 15
METRICS = ("poor, (v2) ü", "good one")
GOOD = ["good one"]


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
            "poor, (v2) ü": human + 3 * rng.normal(size=2 * n),
            "year": 2024,
        }
    )


@pytest.fixture
def call(frame, tmp_path, monkeypatch, capsys):
    """call(*arguments): (exit status, standard output, standard error) of a comparison of scores.tsv."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    frame.to_csv("scores.tsv", sep="\t", index=False)

    def run(*arguments, table="scores.tsv", metrics=METRICS):
        try:
            status = main([table, "--resamples", "50", *(["--metrics", *metrics] if metrics else []), *arguments])
        except SystemExit as error:
            status = error.code
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.mark.parametrize(
    "names",
    [("MQM", *METRICS), ("score", "b", "c"), ("h", "score", "c"), ("h", "id", "score"), ("system", "b", "reference")],
)
def test_a_metric_is_its_column_whatever_the_others_are_called(frame, names):
    """A column called score is the human one, a metric, or neither; it is never read in place of another."""
    columns = dict(zip(("MQM", *METRICS), names, strict=True)) | {"seg_id": "number", "sys": "who"}
    roles = {"id": "number", "system": "who"}
    result = bmx.compare(frame.rename(columns=columns), names[1:], human=names[0], columns=roles, resamples=50)
    rows = result.correlations.query("statistic == 'pearson'").set_index(["language_pair", "metric"])
    for pair, of_pair in frame.groupby("lp"):
        for column, name in zip(METRICS, names[1:], strict=True):
            row = rows.loc[(pair, name)]
            assert row["value"] == pytest.approx(scipy.stats.pearsonr(of_pair[column], of_pair["MQM"])[0], abs=1e-12)
            assert row["low"] < row["value"] < row["high"]


@pytest.mark.parametrize("by", ["item", "system"])
def test_grouped_tests_compare_the_grouped_correlations(frame, by):
    result = bmx.compare(frame, METRICS, by=by, statistic="kendall", resamples=50)
    value = result.correlations.query("statistic == 'kendall'").set_index(["language_pair", "metric"])["value"]
    assert result.tests["language_pair"].tolist() == ["de-en", "en-cs"]
    for _, row in result.tests.iterrows():
        reached = value[row["language_pair"]]
        assert (row["grouping"], row["statistic"]) == (by, "kendall")
        assert row["difference"] == pytest.approx(reached[row["compared"]] - reached[row["against"]], abs=1e-12)
        assert row["low"] < row["difference"] < row["high"]
        assert all(number(row[name], "+.3f") in result._repr_html_() for name in ("difference", "low", "high"))
    assert result.tests["p_holm"].tolist() == holm(result.tests["p"]).tolist()
    of_documents = bmx.compare(frame.assign(document=frame["seg_id"] // 3), METRICS, by=by, resamples=50).tests
    assert set(of_documents["clusters"]) == {5}
    weak = dataclasses.replace(result, tests=result.tests.assign(p=0.04, p_holm=0.08))
    assert not any(cell.marked for row in weak.tables()[1].rows for cell in row), "marked is what is corrected"
    assert repr(result) == f"Compared(good one, poor, (v2) ü: segment level, grouping {by}, kendall)"


@pytest.mark.parametrize(
    "option", [{}, {"by": "item"}, {"level": "system"}, {"statistic": "kendall", "seed": 3}], ids=str
)
def test_the_command_has_the_numbers_of_python(call, frame, option):
    status, out, _ = call("--json", *(part for name, value in option.items() for part in (f"--{name}", str(value))))
    printed = json.loads(out)
    assert status == 0 and printed["read"]["unused"] == ["year"] and printed["read"]["human scores"] == ["MQM"]
    assert printed | option == printed
    compared = bmx.compare(frame, METRICS, resamples=50, **option)
    for name in ("correlations", "tests", "verdicts"):
        rows = getattr(compared, name).to_json(orient="records", double_precision=15)
        assert printed[name] == json.loads(rows)
    assert set(compared.correlations["level"]) == {option.get("level", "segment")}
    assert set(compared.tests["language_pair"]) == {"de-en", "en-cs"}
    assert len(compared.verdicts) == (0 if {"by", "level"} & option.keys() else 2)


def test_a_decimal_comma_changes_no_number(call, frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", sep=";", decimal=",", index=False)
    status, _, err = call(table="t.csv")
    assert status == 2 and err.endswith("if its comma is a decimal comma, add --decimal=, to the arguments.\n")
    with pytest.raises(BmxError, match="add decimal=',' to the arguments"):
        bmx.compare(frame.astype({"MQM": str}).replace({"MQM": {r"\.": ","}}, regex=True), METRICS)
    printed = json.loads(call("--decimal=,", "--json", table="t.csv")[1])
    assert printed["correlations"] == json.loads(call("--json")[1])["correlations"]


def test_the_terminal_has_the_best_metric_first_and_one_test_per_pair(call):
    status, out, err = call()
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    rows = [line.split() for line in out.splitlines() if "de-en  " in line or "en-cs  " in line]
    assert rows[0][1:3] == ["good", "one"] and rows[1][1] == "poor,"
    assert len(rows) == 2 * 2 + 2, "two correlations and a difference, with its verdict, of each language pair"
    head = "scores.tsv: 120 rows; human scores: MQM; metrics: poor, (v2) ü, good one; language pair: lp"
    assert head in " ".join(out.split())


@pytest.mark.parametrize(("systems", "is_said"), [("AB", True), ("ABC", False)])
def test_undefined_correlations_have_their_reason(frame, systems, is_said):
    summary = bmx.compare(frame[frame["sys"].isin([*systems])], METRICS, by="item", resamples=50).summary()
    assert ("n/a: a correlation needs 3 systems" in summary) == is_said


def test_columns_that_no_usual_name_gives_away(call, frame, tmp_path):
    frame.rename(columns={"MQM": "Befund", "sys": "wer"}).to_csv(tmp_path / "t.csv", index=False)
    status, _, err = call(table="t.csv")
    assert status == 2 and "no column for score" in err
    options = ("--human", "Befund", "--columns", "system=wer", "--json")
    assert json.loads(call(*options, table="t.csv")[1])["read"]["system"] == ["wer"]


@pytest.mark.parametrize(("pair", "shown"), [((), False), (("--language-pair", "de-en"), True)], ids=["none", "named"])
def test_a_language_pair_is_shown_where_it_is_known(call, frame, tmp_path, pair, shown):
    frame[frame["lp"] == "de-en"].drop(columns="lp").to_csv(tmp_path / "t.csv", index=False)
    status, out, _ = call(*pair, table="t.csv")
    assert status == 0 and ("de-en" in out) == shown and "source-target" not in out
    printed = json.loads(call(*pair, "--json", table="t.csv")[1])
    assert {row["language_pair"] for row in printed["correlations"]} == {"de-en" if shown else None}


@pytest.mark.parametrize(
    ("metrics", "arguments", "message"),
    [
        pytest.param([], [], f"are metrics? lp, seg_id, sys, MQM, good one, {METRICS[0]}, year.", id="none"),
        pytest.param(GOOD, ["--language-pair", "de-en"], "already has a column 'lp'", id="two pairs"),
        pytest.param(["god one"], [], "metrics: unknown column 'god one'. Did you mean 'good one'", id="metric"),
        pytest.param(["lp"], [], "line 2: the score in column 'lp'", id="no numbers"),
    ],
)
def test_mistakes_of_the_command_are_one_sentence(call, metrics, arguments, message):
    status, out, err = call(*arguments, metrics=metrics)
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda f: bmx.compare(f, [], human="MQM"), "at least one column"),
        (lambda f: bmx.compare(f.assign(**{"good one": np.nan}), GOOD, human="MQM"), "has 0 numbers"),
        (lambda f: bmx.compare(f, GOOD, human="MQM", resamples=5), "^resamples must lie between 40 and"),
        (lambda f: bmx.compare(f.drop(columns="sys"), GOOD, human="MQM", by="item"), "no column for system"),
        (lambda f: bmx.compare(f, ["MQM", *GOOD]), "no column for score"),
        (lambda f: bmx.compare(f, GOOD, human="MQM", columns={"score": "MQM"}), "both name the human scores"),
        (lambda f: bmx.compare(f.assign(far=[1e308, -1e308] * 60), ["far"]), "row 1: the score in column 'far' is"),
        (lambda f: bmx.compare(f, ["god one"]), "the frame: metrics: unknown column.* Did you mean 'good one'"),
        (lambda f: bmx.compare(f, GOOD, human="MQM", by="document"), "by: unknown value 'document'"),
        (lambda f: bmx.compare(f, GOOD, human="good one"), "human: the column 'good one' is one of"),
        (lambda f: bmx.compare(f, GOOD, human="MQM", level="word"), "level: unknown value"),
        (lambda f: bmx.compare(f, GOOD, human="MQM", level="system", unit="input"), "unit: unknown value 'input'"),
        (lambda f: bmx.compare(f, GOOD, human="MQM", unit="both"), "at system level. Add level='system', or leave"),
    ],
)
def test_mistakes_in_python_are_named(frame, ask, message):
    with pytest.raises(BmxError, match=message):
        ask(frame)


@pytest.mark.parametrize(
    ("options", "drawn", "drawn_of_differences"),
    [
        ({}, "15 clusters of segments (", "clusters of segments."),
        ({"by": "item"}, "15 clusters of segments (", "clusters of segments."),
        ({"level": "system"}, "systems and of 15 clusters of segments (", "whole systems."),
        ({"level": "system", "unit": "inputs"}, "systems and of 15 clusters of segments (", "clusters of segments."),
        (
            {"level": "system", "unit": "both"},
            "systems and of 15 clusters of segments (",
            "clusters of segments and systems.",
        ),
    ],
    ids=str,
)
def test_notes_name_what_each_interval_resamples(frame, options, drawn, drawn_of_differences):
    compared = bmx.compare(frame[frame["lp"] == "de-en"], METRICS, confidence=0.9, resamples=50, **options)
    printed = " ".join(compared.summary().split())
    assert f"95 % CI of correlations: by a bootstrap of {drawn}" in printed
    assert f"90 % CI of differences: by a bootstrap of {drawn_of_differences}" in printed


@pytest.mark.parametrize(
    ("unit", "words"), [("inputs", "clusters of segments"), ("both", "clusters of segments and systems")]
)
def test_segments_are_swapped_between_metrics_at_system_level(frame, unit, words):
    """The difference by pandas. Clusters are coded in another order: p agrees to 4 standard errors of its swaps."""
    german = frame[frame["lp"] == "de-en"]
    compared = bmx.compare(german, METRICS, human="MQM", level="system", unit=unit)
    (test,) = compared.tests.to_dict("records")
    means = german.groupby("sys")[["MQM", *METRICS]].mean()
    r = means.corr()["MQM"]
    assert test["difference"] == pytest.approx(abs(r[METRICS[0]] - r[METRICS[1]]), abs=1e-12)
    assert (test["test"], test["clusters"], test["n"]) == (f"perm_{unit}", ITEMS, SYSTEMS * ITEMS)
    arrays = [german[name].to_numpy() for name in (test["compared"], test["against"], "MQM", "sys", "seg_id")]
    expected = compare_systems(*arrays, unit=unit)
    assert abs(test["p"] - expected.p) < 4 * np.sqrt(0.25 * 2 / 1000)
    assert f"by swapping {words}" in " ".join(compared.summary().split())


def test_segments_without_a_score_are_counted(frame):
    """A metric that scored some segments is a warning, not a mistake; its file is nothing that the user wrote."""
    some = frame.assign(**{"good one": frame["good one"].where(frame.index >= 20)})
    with pytest.warns(UserWarning, match="the frame: 20 of 120 segments have no score in column 'good one'"):
        result = bmx.compare(some, GOOD, human="MQM", resamples=50)
    assert len(result.correlations) and result.tests.empty, "one metric has no other to test"
    assert "good one" in result.summary()


@pytest.mark.parametrize(
    "options", [{}, {"by": "system"}, {"level": "system"}, {"level": "system", "unit": "inputs"}], ids=str
)
@pytest.mark.filterwarnings("ignore:.*have no score")
def test_the_best_metric_is_best_on_the_segments_that_both_have(frame, options):
    """It scores the middling segments, on which correlations are low: its own one is lower than the other one's."""
    part = frame["good one"].where(frame["MQM"].abs() < 0.6)
    other = frame["MQM"] + 0.8 * np.random.default_rng(2).normal(size=len(frame))
    table = frame.assign(part=part, other=other)[frame["lp"] == "de-en"]
    compared = bmx.compare(table, ["part", "other"], human="MQM", resamples=50, **options)
    value = compared.correlations.query("statistic == 'pearson'").set_index("metric")["value"]
    (test,) = compared.tests.to_dict("records")
    of_both = bmx.compare(table.dropna(), ["part", "other"], human="MQM", resamples=50, **options)
    value_of_both = of_both.correlations.query("statistic == 'pearson'").set_index("metric")["value"]
    best, difference = test["compared"], value_of_both[test["compared"]] - value_of_both[test["against"]]
    assert test["difference"] == pytest.approx(difference, abs=1e-9)
    assert difference != pytest.approx(value[best] - value[test["against"]], abs=1e-3)
    if not options:
        assert (best, value.idxmax()) == ("part", "other")
    printed = " ".join(compared.summary().split())
    assert printed.startswith(f"{best} correlates best on common segments. Its lead over {test['against']} is")
    assert "correlation is of the segments that its metric has, a difference of those that both have." in printed
    agreement, differences = compared.tables()
    assert set(agreement.frame()["segments"]) == {len(table), len(table.dropna())}
    assert set(differences.frame()["segments"]) == {len(table.dropna())}
    complete = of_both.summary()
    assert f"{best} correlates best ({value_of_both[best]:.3f})" in complete and "both have" not in complete


@pytest.mark.filterwarnings("ignore:.*have no score")
def test_metrics_without_common_segments_have_no_best_one(frame):
    first = frame.index % 2 == 0
    table = frame.assign(a=frame["good one"].where(first), b=frame["good one"].where(~first))
    with pytest.warns(UserWarning, match="no test of 2 of 2 pairs"):
        apart = bmx.compare(table, ["a", "b"], human="MQM", resamples=50).summary()
    assert apart.startswith("No metric correlates best on common segments.")
    table = frame.assign(b=frame["good one"].where(first))
    shared = bmx.compare(table, ["b", METRICS[0]], human="MQM", resamples=50).summary()
    assert shared.startswith("Best in 2 language pairs on common segments: b in 2.")


@pytest.mark.parametrize("options", [{}, {"by": "item"}, {"by": "system"}, {"level": "system"}])
def test_the_better_metric_of_a_pair_is_first_in_tests_and_verdicts(frame, options):
    """In alphabetical order "a good one" comes before the better one, "poor" behind it."""
    human = frame["MQM"] + 0.2 * np.random.default_rng(2).normal(size=len(frame))
    table = frame.rename(columns={"good one": "z best"}).assign(**{"a good one": human - 2 * frame["poor, (v2) ü"]})
    compared = bmx.compare(table, ["z best", "a good one", "poor, (v2) ü"], human="MQM", resamples=60, **options)
    correlations = compared.correlations[compared.correlations["statistic"] == "pearson"]
    r = correlations.set_index(["language_pair", "metric"])["value"]
    tests = compared.tests
    assert len(tests) == 6
    for row in tests.itertuples():
        expected = r[row.language_pair, row.compared] - r[row.language_pair, row.against]
        assert row.difference == pytest.approx(expected, abs=1e-12)
        assert row.difference > 0
        assert row.low <= row.difference <= row.high
    if len(compared.verdicts):
        names = ["language_pair", "compared", "against"]
        assert sorted(map(tuple, compared.verdicts[names].to_numpy())) == sorted(map(tuple, tests[names].to_numpy()))
        gains = compared.verdicts.merge(tests, on=names)
        assert gains["gain"].tolist() == pytest.approx(gains["difference"].tolist(), abs=1e-12)


@pytest.mark.parametrize(
    "options",
    [{}, {"by": "item"}, {"by": "system"}, {"level": "system"}, {"level": "system", "unit": "both"}],
    ids=str,
)
def test_tests_have_the_same_columns_and_count_segments(frame, options):
    """A segment without a system is in no group; a constant metric is in no test, and the warning says so."""
    table = frame[frame["lp"] == "de-en"].assign(constant=1.0)
    table.loc[table.index[3], "good one"] = np.nan
    with pytest.warns(UserWarning, match="no test of 2 of 3 pairs of metrics") as warned:
        compared = bmx.compare(table, [*METRICS, "constant"], human="MQM", resamples=50, **options)
    assert warned[-1].filename == __file__
    (test,) = compared.tests.to_dict("records")
    assert {test["compared"], test["against"]} == {*METRICS}
    assert list(compared.tests) == list(bmx.compare(frame, METRICS, resamples=50).tests)
    assert (test["n"], test["resamples"], test["seed"]) == (len(table) - 1, 50, 0)
    undefined = compared.correlations.query("metric == 'constant' and value.isna()")
    assert len(undefined) and (undefined["n_undefined"] == undefined["n_groups"]).all()


def test_a_metric_without_a_correlation_is_never_the_better_one(frame):
    table = frame.assign(a=1.0, b=2.0)
    verdicts = bmx.compare(table, ["a", "b", "good one"], human="MQM", resamples=60).verdicts
    pairs = verdicts[verdicts["language_pair"] == "de-en"]
    assert set(zip(pairs["compared"], pairs["against"], strict=True)) == {("good one", "a"), ("good one", "b")}
    assert verdicts["gain"].isna().all()


@pytest.mark.parametrize("factor", [1e-200, 1e140])
@pytest.mark.parametrize("options", [{}, {"statistic": "kendall"}, {"by": "item"}, {"level": "system"}])
def test_the_scale_of_a_column_changes_no_table(frame, factor, options):
    def tables(of_metric, of_human):
        scaled = frame.assign(**{"good one": of_metric * frame["good one"], "MQM": of_human * frame["MQM"]})
        compared = bmx.compare(
            scaled.assign(words=7 + frame.index % 30), METRICS, human="MQM", lengths="words", resamples=60, **options
        )
        return compared.correlations, compared.tests, compared.verdicts

    for wanted, found in zip(tables(1, 1), tables(factor, 1 / factor**0.5), strict=True):
        pd.testing.assert_frame_equal(found, wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "options", [{}, {"by": "item"}, {"by": "system"}, {"level": "system"}, {"level": "system", "unit": "both"}], ids=str
)
@pytest.mark.parametrize("statistic", ["pearson", "kendall_tau_c"])
def test_one_side_is_that_of_the_metric_named_first(frame, options, statistic):
    """Both sides of one seed: their p add up to 1 and the share of swaps that give the observed difference itself."""
    german = frame[frame["lp"] == "de-en"]
    options = {**options, "human": "MQM", "statistic": statistic, "resamples": 200}
    better, other = METRICS[0], METRICS[1]
    # Both order the four systems alike: whole systems swapped or drawn never make a difference in tau-c.
    always_equal = statistic == "kendall_tau_c" and options.get("level") == "system" and "unit" not in options
    (usual,) = bmx.compare(german, METRICS, **options).tests.to_dict("records")
    found = {}
    for names in ([better, other], [other, better]):
        for alternative in ("greater", "less"):
            compared = bmx.compare(german, names, alternative=alternative, confidence=0.5, **options)
            (row,) = compared.tests.to_dict("records")
            assert [row["compared"], row["against"]] == names
            assert row["alternative"] == alternative
            assert "one-sided" in compared.summary() and "[50 % CI]" in " ".join(compared.summary().split())
            assert abs(row["difference"]) == pytest.approx(usual["difference"], abs=1e-12)
            if not always_equal:
                assert row["high"] - row["low"] < usual["high"] - usual["low"]
            found[names[0], alternative] = row["p"]
    if always_equal:
        assert {usual["difference"], usual["low"], usual["high"]} == {0}
        assert {usual["p"], *found.values()} == {1}
        return
    for name in METRICS:
        assert 1 < found[name, "greater"] + found[name, "less"] < 2
    if usual["difference"] > 0:
        first = usual["compared"]
        assert found[first, "greater"] < found[first, "less"]
    else:
        # The metrics order the systems alike: neither is better, and both sides count the swaps without a difference.
        assert statistic == "kendall_tau_c" and options["level"] == "system"
        assert usual["p"] == 1 and min(found.values()) > 0.5


@pytest.mark.parametrize("statistic", ["pearson", "kendall_tau_c"])
def test_p_of_one_side_is_the_share_of_all_swaps_of_systems(frame, statistic):
    """All 16 swaps of four systems, by SciPy: the estimate from 2,000 of them is within 4 standard errors."""
    correlate = {
        "pearson": lambda scores, human: scipy.stats.pearsonr(scores, human).statistic,
        "kendall_tau_c": lambda scores, human: scipy.stats.kendalltau(scores, human, variant="c").statistic,
    }[statistic]
    german = frame[frame["lp"] == "de-en"]
    means = german.groupby("sys")[["MQM", *METRICS]].mean()
    human = means["MQM"].to_numpy()
    x, y = (scipy.stats.zscore(means[name].to_numpy()) for name in METRICS)
    differences = []
    for swap in itertools.product([False, True], repeat=SYSTEMS):
        swapped_x = np.where(swap, y, x)
        swapped_y = np.where(swap, x, y)
        differences.append(correlate(swapped_x, human) - correlate(swapped_y, human))
    # The first swaps nothing; the sum of standardised scores may round equal differences apart.
    observed = differences[0]
    exact = {
        "greater": np.mean(np.array(differences) >= observed - 1e-9),
        "less": np.mean(np.array(differences) <= observed + 1e-9),
    }
    for alternative, share in exact.items():
        compared = bmx.compare(
            german, METRICS, "MQM", level="system", statistic=statistic, alternative=alternative, resamples=2000
        )
        assert compared.tests["p"].item() == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 2000) + 1e-3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alternative": "bigger"}, "alternative"),
        ({"confidence": 95}, "Write 0.9 for 90 %"),
        ({"confidence": True}, "Write 0.9 for 90 %"),
        ({"confidence": float("nan")}, "Write 0.9 for 90 %"),
    ],
    ids=["unknown side", "percent", "a flag", "NaN"],
)
def test_other_sides_and_levels_are_refused(frame, options, words):
    with pytest.raises(ConfigError, match=words):
        bmx.compare(frame[frame["lp"] == "de-en"], METRICS, human="MQM", **options)


def test_a_pair_has_the_same_verdict_alone_and_among_others(monkeypatch):
    """Metrics that are judged over the same one are judged together, each on the segments that both score."""
    rng = np.random.default_rng(3)
    quality = rng.normal(size=60)
    scores = {
        name: quality + noise * rng.normal(size=60) for name, noise in zip("abcde", (0.5, 1, 1.5, 2, 4), strict=True)
    }
    scores["b"][:7] = np.nan
    texts = {"reference": [f"r{row} x" for row in range(60)], "hypothesis": ["h " * (1 + row % 9) for row in range(60)]}
    frame = pd.DataFrame({**texts, "human": quality + 0.5 * rng.normal(size=60), **scores})
    counted = []

    class Counting:
        def __init__(self, total, *_):
            counted.append([total, 0])

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def advance(self, n):
            counted[-1][1] += n

    monkeypatch.setattr(comparison, "Progress", Counting)
    with pytest.warns(UserWarning, match="7 of 60 segments have no score in column 'b'"):
        together = bmx.compare(frame, list("abcde"), "human", resamples=100).verdicts
    # Of the tests, of the verdicts, and of the correlations, which are too few to be shown.
    assert counted == [[10, 10], [10, 10], [0, 5]]
    estimates = ["gain", "gain_low", "gain_high", "partial_r", "partial_r_low", "partial_r_high"]
    for _, row in together.iterrows():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the missing scores once more
            (alone,) = bmx.compare(frame, [row["compared"], row["against"]], "human", resamples=100).verdicts.to_dict(
                "records"
            )
        assert (alone["compared"], alone["against"]) == (row["compared"], row["against"])
        # rounding of another BLAS call, times the condition of a kernel
        np.testing.assert_allclose([alone[name] for name in estimates], row[estimates].tolist(), atol=1e-6)
