"""One gain has one value: whatever other boosts a sweep judges, and in every table."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from some_settings import changed, simulated, table_rows

import bmx_grid as bmx
from bmx_grid.boosts.feature_mix import FeatureMix
from bmx_grid.boosts.power_mean_grid import PowerMeanGrid
from bmx_grid.core.ragged import Ragged
from bmx_grid.evaluations.boost_evidence import estimate_gain
from bmx_grid.evaluations.boosts import BoostEvaluation
from bmx_grid.evaluations.grid_surface import GridEvaluation
from bmx_grid.evaluations.significance import SignificanceEvaluation
from bmx_grid.measures.grid import Point, PowerRange
from bmx_grid.measures.resampling import interval
from bmx_grid.words.attributions import AttributionSet

W, P = (0.0, 0.4, 0.8, 1.0), PowerRange(-2, 2, 1)
GRID = GridEvaluation(p=P, w=W, fixed={"erasure": Point(w=0.4, p=-1.0)})
PAPERS = PowerMeanGrid(p=P, w=W)
HYPOTHESIS = FeatureMix(feature="mean", side="hypothesis", mix="fixed", w=(0.5,))
NEIGHBOUR = FeatureMix(feature="share_negative")  # of both sides: not made where one has no word
BOOSTS = BoostEvaluation(grid=GRID, boosts={"power_mean_grid": PAPERS}, draws=1, resamples=100)
TESTS = SignificanceEvaluation(grid=GRID, resamples=60)
N = 160
EMPTY = np.isin(np.arange(N), [3, 40, 41, 77, 78, 119, 120, 155])


def without_hypotheses(setting, empty=EMPTY):
    """The setting with no word, and so no attribution, in some hypotheses."""
    of_hypothesis = setting.scores.hypothesis.rows()
    rows = [np.empty(0) if lacks else row for lacks, row in zip(empty, of_hypothesis, strict=True)]
    by_role = {"source": setting.scores.ground_truth, "hypothesis": Ragged.from_rows(rows)}
    segments = []
    for lacks, segment in zip(empty, setting.segments.segments, strict=True):
        segments.append(dataclasses.replace(segment, hypothesis="") if lacks else segment)
    segment_set = dataclasses.replace(setting.segments, segments=tuple(segments))
    items = segment_set.items(("source", "hypothesis"))
    scores = AttributionSet(setting.scores.base_scores, by_role)
    return dataclasses.replace(setting, segments=segment_set, items=items, scores=scores)


@pytest.fixture(scope="module")
def settings():
    """Two language pairs; in each eight hypotheses are empty."""
    return [without_hypotheses(simulated("signal", pair, n=N)) for pair in ("cs-en", "de-en")]


def in_turn(settings, boosts, **options):
    """The rows of every table, of evaluations in the order of a sweep."""
    judged = dataclasses.replace(BOOSTS, boosts=boosts, **options)
    tables = {}
    for evaluation in (GRID, judged, TESTS):
        results = evaluation.evaluate(settings)
        for table in evaluation.ROWS:
            tables[table] = []
            for setting, result in zip(settings, results, strict=True):
                names = dict(zip(("dataset", "language_pair", "metric", "explainer"), setting.names, strict=True))
                for row in table_rows(evaluation, result, table):
                    tables[table].append({**names, **vars(row)})
        settings = [
            setting.add_points(evaluation.points(result)).add_gains(evaluation.gains(result))
            for setting, result in zip(settings, results, strict=True)
        ]
    return tables


def picked(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


@pytest.fixture(scope="module")
def alone(settings):
    return in_turn(settings, {"power_mean_grid": PAPERS})


@pytest.fixture(scope="module")
def beside_another(settings):
    return in_turn(settings, {"share_negative": NEIGHBOUR, "power_mean_grid": PAPERS, "mean": HYPOTHESIS})


def r(x, y):
    return np.corrcoef(x, y)[0, 1]


def harmonic_gain(setting):
    """The gain at w = .4, p = -1, from the words of both sides: every attribution is above 0."""
    base, human = setting.scores.base_scores, setting.segments.human_scores
    sides = zip(setting.scores.ground_truth.rows(), setting.scores.hypothesis.rows(), strict=True)
    # As in the paper, 1e-9 is added to every attribution.
    means = np.array([len(words) / np.sum(1 / (words + 1e-9)) for words in map(np.concatenate, sides)])
    return r(0.4 * base + 0.6 * means, human) - r(base, human)


def test_a_boost_has_the_same_gains_whatever_other_boosts_are_judged(settings, alone, beside_another):
    of_boost = {"boost": "power_mean_grid"}
    kept = ("against", "point", "language_pair", "gain", "low", "high", "n", "clusters")
    rows = [
        [[row[name] for name in kept] for row in picked(tables["boosts"], **of_boost)]
        for tables in (alone, beside_another)
    ]
    assert rows[0] == rows[1]
    assert {row["n"] for row in picked(beside_another["boosts"], pairs=1, **of_boost)} == {N}
    # Not the verdict: it is corrected for the others.
    kept = ("language_pair", "point", "gain", "gain_low", "gain_high", "partial_r", "length_gain", "n", "clusters")
    rows = [
        [[row[name] for name in kept] for row in picked(tables["verdicts"], **of_boost)]
        for tables in (alone, beside_another)
    ]
    assert rows[0] == rows[1]
    for setting in settings:
        wanted = {"against": "metric", "point": "published", "language_pair": setting.names[1]}
        (row,) = picked(beside_another["boosts"], **of_boost, **wanted)
        assert row["gain"] == pytest.approx(harmonic_gain(setting), abs=1e-12)


def test_a_boost_is_judged_on_the_segments_that_it_can_be_made_for(settings, beside_another):
    """By hand: half of the metric, and half of the mean attribution of hypotheses that have words."""
    for setting in settings:
        base, human = setting.scores.base_scores[~EMPTY], setting.segments.human_scores[~EMPTY]
        rows = np.array(setting.scores.hypothesis.rows(), dtype=object)[~EMPTY]
        boosted = 0.5 * base + 0.5 * np.array([np.mean(row) for row in rows])
        pair = {"language_pair": setting.names[1]}
        (row,) = picked(beside_another["boosts"], boost="mean", against="metric", point="fixed", **pair)
        assert row["gain"] == pytest.approx(r(boosted, human) - r(base, human), abs=1e-12)
        labels = np.array(setting.clusters)[~EMPTY]
        assert (row["n"], row["clusters"]) == (N - EMPTY.sum(), len(set(labels.tolist())))
        (verdict,) = picked(beside_another["verdicts"], boost="mean", **pair)
        assert (verdict["n"], verdict["clusters"], verdict["gain"]) == (row["n"], row["clusters"], row["gain"])


def test_placebos_stand_on_the_segments_of_the_boosts_beside_them(alone, beside_another):
    assert {row["beside"] for row in alone["boosts"]} == {""}, "all boosts have the same segments"
    for beside, n in {"power_mean_grid": N, "share_negative, mean": N - EMPTY.sum()}.items():
        lengths = picked(beside_another["boosts"], boost="length", against="metric", point="elsewhere", beside=beside)
        assert {row["n"] for row in lengths if row["pairs"] == 1} == {n}
        by_pair = {row["language_pair"]: row["gain"] for row in lengths}
        for boost in beside.split(", "):
            for verdict in picked(beside_another["verdicts"], boost=boost, point="elsewhere"):
                assert verdict["length_gain"] == by_pair[verdict["language_pair"]]
    boosts = [row["boost"] for row in picked(beside_another["verdicts"], language_pair="cs-en")]
    assert list(dict.fromkeys(boosts)) == ["share_negative", "power_mean_grid", "mean"], "in the order declared"


@pytest.mark.parametrize("kind", ["pearson", "kendall"])
def test_a_gain_is_the_same_number_in_every_table(settings, kind):
    """Intervals, too, are those of the boosts, whose resamples are others than those of the tests."""
    few = [changed(setting) for setting in settings]
    grid = dataclasses.replace(GRID, correlation=kind)
    boosts = {"share_negative": NEIGHBOUR, "power_mean_grid": PAPERS}
    judged = dataclasses.replace(BOOSTS, grid=grid, boosts=boosts)
    tests = dataclasses.replace(TESTS, grid=grid, statistics=(kind,), tests=("perm_inputs", "bootstrap"))
    of_grid = grid.evaluate(few)
    few = [setting.add_points(grid.points(result)) for setting, result in zip(few, of_grid, strict=True)]
    of_boosts = judged.evaluate(few)
    known = [setting.add_gains(judged.gains(result)) for setting, result in zip(few, of_boosts, strict=True)]
    of_tests = tests.evaluate(known)
    for result, boosts_of_setting, rows in zip(of_grid, of_boosts, of_tests, strict=True):
        gains = {}
        for row in boosts_of_setting.boosts:
            if (row.boost, row.against, row.pairs) == ("power_mean_grid", "metric", 1):
                gains[row.point] = row.gain
        assert set(gains) == {"published", "cross_fitted", "elsewhere"}
        for row in rows["tests"]:
            if row.test != "selection_adjusted":
                assert row.difference == gains[row.point]
        assert {row.point: row.gain for row in result.points} == {
            point: gains[point].value for point in ("published", "elsewhere")
        }


def test_a_gain_that_no_boost_estimated_has_the_same_value_and_interval(settings):
    """Tests without boosts estimate it themselves, with their own resamples."""
    (setting, _) = settings
    (result,) = GRID.evaluate([setting])
    setting = setting.add_points(GRID.points(result))
    judged = dataclasses.replace(BOOSTS, resamples=60)
    (of_boosts,) = judged.evaluate([setting])
    (without,) = TESTS.evaluate([setting])
    gains = judged.gains(of_boosts)
    for row in without["tests"]:
        if row.test != "selection_adjusted":
            assert dataclasses.replace(row.difference, p=0) == dataclasses.replace(gains[row.point], p=0)


def test_a_gain_and_its_interval_are_those_of_a_plain_bootstrap():
    rng = np.random.default_rng(5)
    human, base, boosted = rng.normal(size=(3, 40))
    base = base + human
    boosted = boosted / 2 + human
    base[[1, 7]] = np.nan
    human[3] = np.nan
    boosted[9] = np.nan
    used = np.flatnonzero(np.isfinite(base + human + boosted))
    clusters = np.arange(40) // 2
    gain = estimate_gain("pearson", base, boosted, human, clusters, resamples=200, seed=4)
    assert gain.value == pytest.approx(r(boosted[used], human[used]) - r(base[used], human[used]), abs=1e-12)
    units = np.unique(clusters[used])
    drawn = np.random.default_rng(np.random.SeedSequence(4)).integers(0, len(units), size=(200, len(units)))
    samples = []
    for picks in drawn:
        rows = np.concatenate([used[clusters[used] == units[pick]] for pick in picks])
        samples.append(r(boosted[rows], human[rows]) - r(base[rows], human[rows]))
    assert (gain.low, gain.high) == pytest.approx(interval(np.array(samples), len(units)), abs=1e-12)
    without = estimate_gain("pearson", base, boosted, human)
    assert (without.value, np.isnan(without.low)) == (gain.value, True)


def test_a_gain_that_is_0_but_for_rounding_has_p_1():
    """Of a boost that is the metric itself in another scale: processors round it differently."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=60)
    gain = estimate_gain("pearson", base, base / 3 + 0.1, base + rng.normal(size=60), np.arange(60), 200, 0)
    assert abs(gain.value) < 1e-15 and gain.p == 1


def test_a_sweep_of_forty_segments_with_four_empty_hypotheses_has_one_value_of_one_gain(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(7)
    words = [*"abcdefghijklmnopqrst"]
    lines = ["source\thypothesis\treference\tscore"]
    for row in range(40):
        reference = rng.choice(words, size=int(rng.integers(6, 14)))
        kept = rng.random(len(reference)) < rng.random()
        hypothesis = "" if row % 10 == 3 else " ".join(np.where(kept, reference, "x"))
        score = kept.mean() + 0.2 * rng.normal()
        lines.append(f"{row} {' '.join(reference[::-1])}\t{hypothesis}\t{' '.join(reference)}\t{score}")
    (tmp_path / "mine.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    chosen = ["dataset=[tabular]", "dataset.tabular.path=mine.tsv", "metric=[chrf]", "explainer=[erasure]"]
    chosen += ["grid.p={start:-2,stop:2,step:0.5}", "executor=sequential", "tracking=none", "cache_dir=cache"]
    # Not the resamples of the tests: an interval of its own would be another one.
    chosen += ["evaluation.boosts.resamples=100", "evaluation.boosts.draws=1", "evaluation.significance.resamples=60"]
    tables = {}
    for name, boosts in {"alone": "power_mean_grid", "both": "power_mean_grid,share_negative"}.items():
        bmx.run(None, *chosen, f"boost=[{boosts}]", output_dir=name, analysis=False, quiet=True)
        tables[name] = {path.stem: pd.read_parquet(path) for path in (tmp_path / name / "tables").glob("*.parquet")}
    both = tables["both"]
    for point in ("published", "cross_fitted"):
        gains = both["boosts"].query("boost == 'power_mean_grid' and against == 'metric' and point == @point")
        (gain,) = gains[["gain", "low", "high", "n"]].to_dict("records")
        tests = both["tests"].query("point == @point and level == 'segment' and grouping == 'none'")
        for test in tests.to_dict("records"):
            assert (test["difference"], test["low"], test["high"], test["n"]) == tuple(gain.values())
        scores = both["scores"][["human", "base", f"boosted_{point}"]].to_numpy()
        human, base, boosted = scores.T
        assert gain["gain"] == pytest.approx(r(boosted, human) - r(base, human), abs=1e-12)
        assert gain["n"] == 40
        verdicts = []
        for of_run in tables.values():
            row = of_run["verdicts"].query("boost == 'power_mean_grid' and point == @point")
            verdicts.append(row[["gain", "gain_low", "gain_high", "n", "verdict"]].to_dict("records"))
        assert verdicts[0] == verdicts[1]
    (published,) = both["points"].query("point == 'published'").to_dict("records")
    assert published["gain"] == both["verdicts"].query("point == 'published'")["gain"].item()
    assert published["correlation"] == both["settings"]["fixed"].item()
    assert both["verdicts"].query("boost == 'share_negative'")["n"].tolist() == [36]


def test_the_baseline_is_of_the_segments_that_a_gain_rests_on(settings):
    """Of these the boosted correlation is the baseline and the gain, and of several pairs the mean of both."""
    tables = in_turn(settings, {"power_mean_grid": PAPERS, "of_hypothesis": HYPOTHESIS})
    rows = pd.DataFrame(tables["boosts"])
    rows = rows[rows["against"] == "metric"]
    for setting in settings:
        names = setting.segments.language_pair
        of_pair = rows[(rows["language_pair"] == names) & (rows["boost"] == "of_hypothesis")]
        used = ~EMPTY & np.isfinite(setting.segments.human_scores)
        base, human = setting.scores.base_scores[used], setting.segments.human_scores[used]
        expected = np.corrcoef(base, human)[0, 1]
        assert of_pair["n"].eq(used.sum()).all()
        # Two ways to the same sums: a few roundings of float64.
        np.testing.assert_allclose(of_pair["baseline"], expected, rtol=1e-12)
    alike = ["boost", "point", "beside"]
    pairs = rows[rows["pairs"] == 1].groupby(alike)["baseline"].mean()
    together = rows[rows["pairs"] == 2].set_index(alike)["baseline"]
    assert len(together) and set(together.index) <= set(pairs.index)
    np.testing.assert_allclose(together, pairs[together.index], rtol=1e-12)
