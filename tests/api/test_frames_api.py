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


def test_a_frame_gets_its_grid(texts, tmp_path, blank_figures):
    found = bmx.grid(texts, "chrf", "erasure", cache_dir=tmp_path, **QUICK)
    human = texts["DA"].to_numpy()
    base = [bmx.load("chrf", None).score([r], [h])[0] for r, h in zip(texts["ref"], texts["mt"], strict=True)]
    assert found.scores["base"].tolist() == base
    assert found.settings["baseline"][0] == pytest.approx(scipy.stats.pearsonr(base, human)[0], abs=1e-12)
    assert found.words().frame["word"].tolist()[:7] == texts["ref"][0].split()
    folder = found.folder
    assert folder.is_dir() and not (folder / "report.html").exists()
    kept = bmx.grid(texts, cache_dir=tmp_path, output_dir=tmp_path / "kept", **QUICK)
    assert (kept.folder / "report.html").is_file()
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
    assert repr(found) == f"Compared(good one, poor, (v2) ü: segment level, grouping {by}, kendall)"
    assert all(number(row[name], "+.3f") in found._repr_html_() for name in ("difference", "low", "high"))


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
