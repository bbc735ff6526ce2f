"""DataFrames in: the grid of one's own segments, metrics compared by their columns, and what cannot be used."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import bmx_grid as bmx
from bmx_grid.core.errors import BmxError
from bmx_grid.core.wording import number

ITEMS, SYSTEMS = 12, ("A", "B", "C", "D")
QUICK = {"executor": "sequential", "settings": {"grid.p.step": 5}}


@pytest.fixture(scope="module")
def judged() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    human = rng.normal(size=ITEMS * len(SYSTEMS))
    return pd.DataFrame(
        {
            "seg_id": list(range(ITEMS)) * len(SYSTEMS),
            "sys": np.repeat(SYSTEMS, ITEMS),
            "mqm": human,
            "good one": human + 0.5 * rng.normal(size=len(human)),
            "poor, (v2) ü": human + 3 * rng.normal(size=len(human)),
        }
    )


@pytest.fixture
def texts() -> pd.DataFrame:
    words = ["the", "cat", "sat", "on", "a", "mat", "by", "the", "door", "of", "our", "house"]
    rng = np.random.default_rng(2)
    refs = [" ".join(rng.permutation(words)[:7]) for _ in range(10)]
    hyps = [" ".join(rng.permutation(ref.split())[:5]) for ref in refs]
    return pd.DataFrame({"ref": refs, "mt": hyps, "DA": rng.normal(size=10), "remark": "unused"})


def test_a_frame_gets_its_grid(texts, tmp_path):
    found = bmx.grid(texts, "chrf", "erasure", cache_dir=tmp_path, **QUICK)
    human = texts["DA"].to_numpy()
    base = [bmx.load("chrf", None).score([r], [h])[0] for r, h in zip(texts["ref"], texts["mt"], strict=True)]
    assert found.scores["base"].tolist() == base
    assert found.settings["baseline"][0] == pytest.approx(scipy.stats.pearsonr(base, human)[0], abs=1e-12)
    folder = found.folder
    assert folder.is_dir()
    del found
    assert not folder.exists(), "a temporary folder goes with the result"


@pytest.mark.parametrize(
    "names", [("score", "b", "c"), ("h", "score", "c"), ("h", "id", "score"), ("lp", "b", "system")]
)
def test_a_metric_is_its_column_whatever_the_others_are_called(names):
    """A column called score is the human one, a metric, or neither; it is never read in place of another."""
    rng = np.random.default_rng(3)
    human, one, two = rng.normal(size=(3, 40))
    frame = pd.DataFrame(dict(zip(names, (human, one, two), strict=True)))
    frame["number"] = range(40)
    found = bmx.compare(frame, list(names[1:]), human=names[0], columns={"id": "number"}, resamples=50)
    r = found.correlations.query("statistic == 'pearson'").set_index("metric")["value"]
    for name in names[1:]:
        assert r[name] == pytest.approx(scipy.stats.pearsonr(frame[name], human)[0], abs=1e-12)


@pytest.mark.parametrize("by", ["item", "system"])
def test_grouped_tests_compare_the_grouped_correlations(judged, by):
    found = bmx.compare(judged, ["good one", "poor, (v2) ü"], human="mqm", by=by, statistic="kendall", resamples=50)
    value = found.correlations.query("statistic == 'kendall'").set_index("metric")["value"]
    row = found.tests.iloc[0]
    assert (row["grouping"], row["statistic"], len(found.tests)) == (by, "kendall", 1)
    assert row["difference"] == pytest.approx(value[row["compared"]] - value[row["against"]], abs=1e-12)
    assert row["low"] < row["difference"] < row["high"]
    assert row["p"] <= row["p_holm"]


def test_swapping_whole_items_is_the_general_test_without_its_loop(judged):
    quick = bmx.compare(judged, ["good one", "poor, (v2) ü"], "mqm", by="item", resamples=4000).tests.iloc[0]

    items = judged["seg_id"].to_numpy()
    x, y = (judged[name].to_numpy() for name in ("good one", "poor, (v2) ü"))
    x, y = ((scores - scores.mean()) / scores.std() for scores in (x, y))

    def difference(swap):
        one, other = np.where(swap, y, x), np.where(swap, x, y)
        return np.mean(
            [
                np.corrcoef(one[items == item], judged["mqm"][items == item])[0, 1]
                - np.corrcoef(other[items == item], judged["mqm"][items == item])[0, 1]
                for item in np.unique(items)
            ]
        )

    rng, names = np.random.default_rng(0), np.unique(items)
    observed = difference(np.zeros(len(items), dtype=bool))
    swapped = [difference(np.isin(items, names[rng.random(len(names)) < 0.5])) for _ in range(200)]
    assert quick["difference"] == pytest.approx(observed, abs=1e-12)
    assert quick["p"] == pytest.approx(np.mean(np.abs(swapped) >= abs(observed) - 1e-12), abs=0.05)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda f, j: bmx.grid(f.drop(columns="DA")), "no column for score among ref, mt, remark"),
        (lambda f, j: bmx.grid(f.assign(DA="x")), "the frame, row 1.*'x'.*number"),
        (lambda f, j: bmx.grid(f.to_dict()), "expected a pandas DataFrame, got a dict"),
        (lambda f, j: bmx.compare(j, [], human="mqm"), "at least one column"),
        (lambda f, j: bmx.compare(j.assign(**{"good one": np.nan}), ["good one"], human="mqm"), "has 0 numbers"),
        (lambda f, j: bmx.compare(j, ["good one"], human="mqm", resamples=5), "^resamples must lie between 40 and"),
        (lambda f, j: bmx.compare(j.drop(columns="sys"), ["good one"], human="mqm", by="item"), "no column for system"),
        (lambda f, j: bmx.compare(j, ["mqm", "good one"]), "no column for score"),
        (
            lambda f, j: bmx.compare(j, ["good one"], human="mqm", columns={"score": "mqm"}),
            "both name the human scores",
        ),
        (
            lambda f, j: bmx.compare(j.assign(far=[1e308, -1e308] * 24), ["far", "good one"], human="mqm"),
            "row 1: the score in column 'far' is beyond",
        ),
        (lambda f, j: bmx.grid(f.assign(lp="de-en"), language_pair="de-en"), "omit one"),
        (lambda f, j: bmx.compare(j, ["god one"]), "Did you mean 'good one'"),
        (lambda f, j: bmx.compare(j, ["good one"], human="mqm", by="document"), "by: unknown value 'document'"),
        (lambda f, j: bmx.compare(j, ["good one"], human="good one"), "human: the column 'good one' is one of"),
        (lambda f, j: bmx.compare(j, ["good one"], human="mqm", level="word"), "level: unknown value"),
    ],
)
def test_mistakes_name_the_frame_and_the_way_out(texts, judged, ask, said):
    with pytest.raises(BmxError, match=said) as caught:
        ask(texts, judged)
    assert "bmx_grid-" not in str(caught.value), "no temporary path"


def test_segments_without_a_score_are_counted(judged):
    """A metric that scored some segments is a warning, not a mistake; its file is nothing that the user wrote."""
    some = judged.assign(**{"good one": judged["good one"].where(judged.index >= 20)})
    with pytest.warns(UserWarning, match="the frame: 20 of 48 segments have no score in column 'good one'"):
        found = bmx.compare(some, ["good one"], human="mqm", resamples=50)
    assert len(found.correlations) and found.tests.empty, "one metric has no other to test"
    assert "good one" in found.summary()


def test_a_notebook_shows_the_best_metric_first_and_the_difference_with_its_interval(judged):
    found = bmx.compare(judged, ["poor, (v2) ü", "good one"], human="mqm", by="item", resamples=50)
    shown = found._repr_html_()
    assert shown.index("good one") < shown.index("poor, (v2) ü") and "human judgements (mqm)" in shown
    assert all(number(found.tests.iloc[0][name], "+.3f") in shown for name in ("difference", "low", "high"))
    assert repr(found) == "Compared(good one, poor, (v2) ü: segment level, grouping item, pearson)"


def test_a_temporary_result_has_tables_and_words_but_no_page(texts, tmp_path, blank_figures):
    found = bmx.grid(texts, cache_dir=tmp_path / "cache", **QUICK)
    assert not (found.folder / "report.html").exists() and "verdicts" in found.names
    assert found.words().frame["word"].tolist()[:7] == texts["ref"][0].split()
    kept = bmx.grid(texts, cache_dir=tmp_path / "cache", output_dir=tmp_path / "kept", **QUICK)
    assert (kept.folder / "report.html").is_file()
