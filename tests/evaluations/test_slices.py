"""Slices of a language pair: which segments they hold, their correlations and gains, and one family of tests."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from some_settings import finished, table_rows

from bmx_grid.analysis import slices as question
from bmx_grid.analysis.base import FACTORS, SweepTables
from bmx_grid.core.errors import ConfigError
from bmx_grid.datasets.segments import Judgements
from bmx_grid.evaluations.levels import LevelsEvaluation
from bmx_grid.evaluations.slices import SliceRow, slices_of

DOMAINS = ("news", "talks", None)


def setting_of(n=120, domains=DOMAINS, pair="de-en", **aspects):
    """Segments of three domains in turn (the third is none), and further human scores."""
    rng = np.random.default_rng(0)
    setting = finished(n=n)
    segments = tuple(
        dataclasses.replace(segment, domain=domains[row % len(domains)], source=f"s{row}")
        for row, segment in enumerate(setting.segments.segments)
    )
    human = rng.normal(size=n)
    judgements = Judgements({"da": human, **aspects})
    segment_set = dataclasses.replace(setting.segments, segments=segments, judgements=judgements, language_pair=pair)
    # A boost that sees what people see in the news, and noise elsewhere.
    base = rng.normal(size=n)
    is_news = np.arange(n) % len(domains) == 0
    boosted = base + np.where(is_news, 3 * human, rng.normal(size=n))
    scores = dataclasses.replace(setting.scores, base_scores=base)
    clusters = [f"s{row}" for row in range(n)]
    return dataclasses.replace(
        setting, segments=segment_set, scores=scores, clusters=clusters, boosted={"published": boosted}
    )


def rows_of(evaluation, *settings):
    results = evaluation.evaluate(list(settings))
    rows = []
    for result in results:
        rows += table_rows(evaluation, result, "slices")
    return {(row.by, row.slice, row.point): row for row in rows}


def test_correlations_are_scipys_on_the_segments_of_the_slice():
    setting = setting_of()
    rows = rows_of(LevelsEvaluation(resamples=200, by=("domain",)), setting)
    assert {key[1] for key in rows} == {"news", "talks"}
    for place, domain in enumerate(DOMAINS[:2]):
        part = slice(place, None, 3)
        human = setting.segments.human_scores[part]
        base = stats.pearsonr(setting.scores.base_scores[part], human).statistic
        boosted = stats.pearsonr(setting.boosted["published"][part], human).statistic
        alone = rows["domain", domain, "base"]
        assert alone.value == pytest.approx(base) and alone.verdict == "baseline" and np.isnan(alone.gain)
        gained = rows["domain", domain, "published"]
        assert gained.value == pytest.approx(boosted) and gained.gain == pytest.approx(boosted - base)
        assert gained.value_low < boosted < gained.value_high
        assert (gained.n_segments, gained.n_clusters, gained.n_unnamed) == (40, 40, 40)
    assert rows["domain", "news", "published"].verdict == "gain"
    assert rows["domain", "talks", "published"].verdict == "no gain shown"


def test_all_gains_of_a_sweep_are_one_family():
    """Of four tests Holm multiplies the smallest p by four: 1 / 201 becomes 4 / 201."""
    settings = [setting_of(), setting_of(n=90, pair="fi-en")]
    evaluation = LevelsEvaluation(resamples=200, by=("domain",))
    alone = evaluation.evaluate(settings[:1])
    p_alone = {row.slice: row for row in alone[0]["slices"] if row.point == "published"}
    both = evaluation.evaluate(settings)
    of_first = {row.slice: row for row in both[0]["slices"] if row.point == "published"}
    assert p_alone["news"].p == of_first["news"].p == pytest.approx(1 / 201)
    assert p_alone["news"].p_holm == pytest.approx(2 / 201) and of_first["news"].p_holm == pytest.approx(4 / 201)


def test_large_families_are_tested_with_resamples_enough():
    """40 permutations show nothing of 4 gains: 4 / 41 is above .05."""
    settings = [setting_of(), setting_of(n=90, pair="fi-en")]
    results = LevelsEvaluation(resamples=40, by=("domain",)).evaluate(settings)
    rows = [*results[0]["slices"], *results[1]["slices"]]
    news = [row for row in rows if row.slice == "news" and row.point == "published"]
    assert [row.verdict for row in news] == ["gain", "gain"]


def test_a_metric_whose_low_scores_are_better_gains_by_lower_ones():
    class Lower(type(finished().metric)):
        @property
        def higher_is_better(self):
            return False

    setting = setting_of()
    turned = dataclasses.replace(
        setting,
        metric=Lower(),
        scores=dataclasses.replace(setting.scores, base_scores=-setting.scores.base_scores),
        boosted={"published": -setting.boosted["published"]},
    )
    evaluation = LevelsEvaluation(resamples=0, by=("domain",))
    higher = rows_of(evaluation, setting)
    lower = rows_of(evaluation, turned)
    for key, row in lower.items():
        assert row.value == pytest.approx(-higher[key].value), "the metric's own sign"
        assert row.gain == pytest.approx(higher[key].gain, nan_ok=True)


@pytest.mark.parametrize(
    ("by", "names"),
    [
        pytest.param("system", ["a", "b"], id="names"),
        pytest.param("severity", ["0", "1", "5"], id="a score of few values"),
        pytest.param("fluency", 3, id="a score of many values in thirds"),
        pytest.param("length", 4, id="lengths in quarters, one of so few values each its own"),
    ],
)
def test_every_segment_is_in_one_slice(by, names):
    rng = np.random.default_rng(1)
    setting = setting_of(severity=rng.choice([0.0, 1.0, 5.0], 120), fluency=rng.normal(size=120))
    parts = list(slices_of(setting, by))
    rows = np.sort(np.concatenate([part.rows for part in parts]))
    np.testing.assert_array_equal(rows, np.arange(120))
    if isinstance(names, list):
        assert [part.name for part in parts] == names
    elif by == "fluency":
        assert [len(part.rows) for part in parts] == [40, 40, 40]
    else:
        # Of one to nine words: each number of words is a slice.
        assert [part.name for part in parts] == [f"{n} words" for n in range(1, 10)]


def test_lengths_of_many_values_are_quarters():
    setting = setting_of()
    segments = tuple(
        dataclasses.replace(segment, hypothesis=" ".join("x" * (row + 1)))
        for row, segment in enumerate(setting.segments.segments)
    )
    setting = dataclasses.replace(setting, segments=dataclasses.replace(setting.segments, segments=segments))
    names = [part.name for part in slices_of(setting, "length")]
    assert names == ["1 to 30 words", "31 to 60 words", "61 to 90 words", "91 to 120 words"]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        pytest.param("da", "the human score that judges metrics", id="what is predicted"),
        pytest.param("genre", "domain", id="no such column: those that there are"),
        pytest.param("rater", "unknown column|rater", id="a column without a value"),
    ],
)
def test_a_column_that_says_nothing_is_refused_before_anything_runs(by, message):
    with pytest.raises(ConfigError, match=message):
        LevelsEvaluation(by=(by,)).inapplicable(1, 1, [setting_of().segments])


def test_without_columns_nothing_changes():
    assert LevelsEvaluation().fingerprint() == {
        key: value for key, value in LevelsEvaluation(by=("domain",)).fingerprint().items() if key != "by"
    }
    (result,) = LevelsEvaluation(resamples=0).evaluate([setting_of()])
    assert result["slices"] == []


def test_the_page_has_a_table_for_each_column():
    rows = rows_of(LevelsEvaluation(resamples=40, by=("domain", "system")), setting_of())
    names = dict(zip(FACTORS, ("toy", "de-en", "m"), strict=False))
    frame = pd.DataFrame([{**names, "explainer": name, **vars(row)} for name in "ab" for row in rows.values()])
    tables = list(question.tables(question.compute(SweepTables({"slices": frame}))))
    assert [table.stem for table in tables] == ["slices_domain", "slices_system"]
    # The metric alone once for both explainers.
    assert len(tables[0].rows) == 2 * (1 + 2)
    assert SliceRow.KEY
