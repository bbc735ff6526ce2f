"""The answer of a sweep: what its sentences and its table say of hand-made verdicts, and what is said without any."""

import itertools
import math

import pytest
from some_frames import settings as settings_of
from some_frames import verdicts as rows_of
from some_tables import peaked, table

from bmx_grid.analysis import answers, headline
from bmx_grid.analysis.base import each_row
from bmx_grid.analysis.questions import analyse_table, to_dict
from bmx_grid.analysis.verdict_rows import setting_verdicts
from bmx_grid.core.errors import DataError
from bmx_grid.evaluations.verdicts import (
    CONFOUNDED,
    HELPS,
    HURTS,
    INFORMATIVE,
    LEGEND,
    NO_GAIN,
    OPEN,
    REDUNDANT,
    TOO_LITTLE,
)
from bmx_grid.measures.grid import Point

SETTINGS = itertools.product(("d",), "ab", ("m", "n", "random"), ("lime", "shap", "random"))
TABLE = table({names: peaked(0.5, gain=0.01) for names in SETTINGS})
GAINS = {"verdict": HELPS, "gain": 0.05, "partial_r": 0.03}
PUBLISHED = {"point": "published", "boost": "power_mean_grid"}
EVERYWHERE = {"dataset": "all"}
AVERAGE = {"combined_gain": 0.2, "combined_partial_r": 0.1}
LACKS = {"point": "none", "verdict": TOO_LITTLE, "because": "not judged: none.", "gain": math.nan}
WIDE = (0.01, -0.03, 0.05)  # of half 0.04: twice what tells a gain of 0.02
UNCORRELATED = ": no correlation with the human scores of d 0:"
UNDEFINED = {"gain": math.nan, "verdict": TOO_LITTLE, "because": "nothing is defined"}


def analysis(*rows, **frames):
    return analyse_table(TABLE, frames={**({"verdicts": rows_of(*rows)} if rows else {}), **frames})


def asked(*rows, **frames):
    return analysis(*rows, **frames).compute_once(answers.compute)


def sentences(*rows, **frames):
    return headline.summary_lines(analysis(*rows, **frames))


def pair(name, **changes):
    return {"language_pair": name, "pairs": 1, "n": 500, "clusters": 400, **changes}


MORE = pair("b", combined_gain=0.3, combined_partial_r=0.1)
WIDER = pair("b", gain=(0.0, -0.1, 0.1))


@pytest.mark.parametrize(
    ("rows", "conclusion"),
    [
        ([{"verdict": "helps", "gain": 0.033}], "LIME helps m (+0.033)."),
        ([{"verdict": "no gain shown"}], "No gain is shown."),
        ([{"verdict": "too little data"}], "Too little data to show a gain."),
        ([{"verdict": "hurts", "gain": -0.1}], "No gain is shown. LIME hurts m (-0.100)."),
        (
            [{"verdict": "redundant", "gain": 0.04}],
            "No boost is shown to help. LIME helps m (+0.040), but adds nothing to the other metrics.",
        ),
        (
            [{"verdict": "open", "gain": 0.04}],
            "No boost is shown to help. LIME gains +0.040 on m, and what explains it is not decided.",
        ),
        (
            [{"verdict": "helps", "gain": 0.033}, {"boost": "signs", "verdict": "hurts", "gain": -0.02}],
            "LIME (learned) helps m (+0.033). LIME (signs) hurts m (-0.020).",
        ),
        (
            [pair("a", verdict="helps", gain=0.05), pair("b", verdict="no gain shown")],
            "LIME helps m on a (+0.050).",
        ),
        (
            [pair(name, verdict="hurts", gain=-0.05) for name in "abcd"],
            "No gain is shown. 4 of 4 boosts hurt.",
        ),
        ([PUBLISHED | {"verdict": "helps"}], ""),
        ([], ""),
    ],
)
def test_the_conclusion_says_first_what_helps(rows, conclusion):
    assert asked(*rows)["conclusion"] == conclusion


def test_what_is_said_beside_the_tables():
    lines = sentences(
        {**EVERYWHERE, "gain": 0.01, "boost": "power_mean_grid"},
        {**EVERYWHERE, **GAINS, "length_gain": 0.002},
        pair("a", **LACKS, boost="sides"),
        {**EVERYWHERE, "metric": "n", "gain": 0.004, "boost": "power_mean_grid"},
        {**EVERYWHERE, **PUBLISHED, "gain": -0.05, "verdict": HURTS},
        {"dataset": "wmt17", **PUBLISHED},
        {**EVERYWHERE, "point": "other_datasets", "gain": 0.04, "verdict": HELPS},
    )
    assert lines == [
        "LIME (learned) helps m (+0.050).",
        "LIME on m (sides) for a: not judged: none.",
        *(f"{label}: {LEGEND[label]}." for label in (HELPS, HURTS, NO_GAIN)),
        "Holm's correction is over 2 verdicts, and over 2 at published points.",
        "Next: use the recipe of learned with LIME (m); keep the metric as it is (n).",
    ]


def test_how_far_a_judge_varies_stands_beside_each_of_its_gains():
    deviations = (("m", 0.0), ("m", 0.012), ("n", math.nan))
    settings = settings_of(*({"metric": metric, "repeat_deviation": r} for metric, r in deviations))
    rows = ({**EVERYWHERE, **GAINS}, {**EVERYWHERE, "metric": "n"})
    (shown,) = answers.tables(asked(*rows, settings=settings))
    varies = dict(zip(shown.frame()["metric"], shown.frame()["varies when repeated"], strict=True))
    assert varies["m"] == 0.012 and math.isnan(varies["n"])


def test_why_a_gain_is_undefined_is_said():
    lines = sentences(pair("a", gain=0.02), pair("b", **UNDEFINED, n=2))
    assert "LIME on m (learned) for b: nothing is defined." in lines


@pytest.mark.parametrize(
    ("rows", "step"),
    [
        pytest.param([{"boost": "spread"}, GAINS], "use the recipe of learned with LIME", id="what helps"),
        pytest.param(
            [{**GAINS, "human": "mqm"}, {"human": "esa"}],
            "keep the metric as it is",
            id="what helps by one human score",
        ),
        pytest.param([pair("a", **GAINS), pair("b")], "use the recipe of learned with LIME on a", id="on one pair"),
        pytest.param([{**GAINS, **AVERAGE}], "use an average of the metrics instead, +0.200", id="an average"),
        pytest.param([pair("a", **AVERAGE), MORE], "use an average of the metrics instead, +0.200", id="on all pairs"),
        pytest.param([pair("a", **AVERAGE), pair("b", combined_gain=0.0)], "keep", id="an average on one pair"),
        pytest.param([{**GAINS, **AVERAGE, "gain": 0.3}], "use the recipe", id="an average gains less"),
        pytest.param([{**AVERAGE, "combined_partial_r": 0.005}], "keep", id="an average that length explains"),
        pytest.param(
            [{"gain": WIDE}],
            r"judge language pairs one by one (dataset.NAME.language_pairs=[PAIR]), as to see a "
            "gain of 0.02 with probability 0.8 across them takes about 18 (m)",
            id="pairs",
        ),
        pytest.param([pair("a", gain=WIDE), WIDER], "rate about 4,500 more segments to see", id="segments of a pair"),
        pytest.param([pair("a", **UNDEFINED)], "rate more segments", id="too little data"),
        pytest.param([{}], "keep the metric as it is", id="precise, and no gain"),
        pytest.param(
            [{"verdict": CONFOUNDED, "gain": 0.3}], "keep the metric as it is", id="score or length explain it"
        ),
        pytest.param([pair("a", verdict=INFORMATIVE, gain=WIDE)], "rate about 4,500 more", id="not significant yet"),
        pytest.param([pair("a", verdict=INFORMATIVE, gain=0.01)], "rate more segments", id="precise, and not yet"),
        pytest.param([{"verdict": OPEN, "gain": 0.02}, {}], "rate more segments: whether score,", id="not decided"),
        pytest.param([{"verdict": REDUNDANT, "gain": 0.02}], "keep the metric as it is", id="other metrics know it"),
        pytest.param([{"verdict": HURTS}], "do not boost it, keep the metric as it is", id="only losses"),
    ],
)
def test_the_next_step_with_a_metric(rows, step):
    *_, next_step = sentences(*rows)
    assert next_step.startswith(f"Next: {step}") and next_step.endswith(" (m).")


@pytest.mark.parametrize(
    ("constructed", "row", "last"),
    [
        pytest.param((), EVERYWHERE, "Next: keep the metric as it is (m).", id="people's scores"),
        pytest.param(("sample",), pair("a"), "constructed sample: not evidence (sample).", id="advice from d alone"),
        pytest.param(("sample",), EVERYWHERE, "constructed sample: not evidence (sample).", id="a part of the mean"),
        pytest.param(("d",), {}, "constructed sample: not evidence (d).", id="nothing else"),
    ],
)
def test_no_advice_comes_from_a_constructed_sample(constructed, row, last):
    names = ("d", "sample")
    settings = settings_of(*({"dataset": name, "constructed": name in constructed} for name in names))
    lines = sentences(row, settings=settings)
    assert lines[-1] == last
    advised = [line for line in lines if line.startswith("Next: ")]
    assert len(advised) == (not constructed or row.get("language_pair") == "a")


def test_metrics_share_a_step():
    lines = sentences({"metric": "n"}, {"boost": "power_mean_grid", "gain": 0.01})
    assert lines[-1] == "Next: keep the metric as it is (m, n)."


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        pytest.param(
            [pair("a", **LACKS), pair("b", **LACKS)], "LIME on m (learned) for a, b: not judged: none.", id="nowhere"
        ),
        pytest.param([{}, pair("b", **LACKS)], "LIME on m (learned) for b: not judged: none.", id="not everywhere"),
        pytest.param(
            [{**pair("a", **LACKS), "boost": boost, "metric": metric} for boost in "xy" for metric in "mn"],
            "LIME on m (x), LIME on m (y), LIME on n (x) and 1 more for a: not judged: none.",
            id="several for one reason",
        ),
    ],
)
def test_boosts_that_were_not_judged_say_why_once_and_have_no_next_step(rows, sentence):
    lines = sentences(*rows)
    assert [line for line in lines if "not judged" in line] == [sentence]
    assert any(line.startswith("Next: ") for line in lines) == any(row == {} for row in rows)


def test_the_widest_scope_of_each_boost_counts_and_controls_do_not():
    result = asked(
        pair("a", gain=0.09),
        {"gain": 0.01},
        pair("a", boost="spread", gain=0.03),
        {**EVERYWHERE, "boost": "sum", "gain": 0.02},
        {"boost": "sum", "gain": 0.08},
        {"explainer": "random", "gain": 0.07},
        {"metric": "random", "gain": 0.06},
    )
    kept = [(row.boost, row.dataset, row.language_pair) for row in each_row(result["verdicts"])]
    assert kept == [("spread", "d", "a"), ("sum", "all", "all"), ("learned", "d", "all")]


def test_a_single_setting_has_the_verdict_of_the_first_boost_at_its_declared_point():
    rows = (
        {"gain": 0.5},
        pair("a", boost="second", gain=0.09),
        pair("a", boost="power_mean_grid", gain=(0.01, -0.02, 0.03), verdict=NO_GAIN),
        pair("a", **PUBLISHED, gain=0.08),
        pair("b", boost="second", gain=0.07, verdict=HELPS),
        pair("b", explainer="random", gain=0.06),
    )
    verdicts = analysis(*rows).compute_once(setting_verdicts).set_index(["language_pair", "explainer"])
    assert verdicts["gain"].to_dict() == {("a", "lime"): 0.01, ("b", "lime"): 0.07, ("b", "random"): 0.06}
    first = verdicts.loc["a", "lime"]
    assert (first.verdict, first.gain_low, first.gain_high) == (NO_GAIN, -0.02, 0.03)
    assert analysis().compute_once(setting_verdicts).empty


def test_without_verdicts_mean_gains_are_said_and_how_to_get_verdicts():
    for frames in ({}, {"verdicts": rows_of({"metric": "random"})}):
        result = analyse_table(TABLE, fixed={"lime": Point(0.5, 0.5)}, frames=frames)
        (first, _, last) = to_dict(result)["answers"]
        assert first.startswith("LIME at w 0.5, p 0.5, given (chosen on unknown data)")
        assert "the mean gain over 4 settings is +0.0100" in first and "evaluation=[grid,boosts]" in last
        assert not list(answers.tables(result.compute_once(answers.compute)))


@pytest.mark.parametrize("column", ["boost", "named", "partial_r_low"])
def test_verdicts_of_an_earlier_version_are_refused(column):
    with pytest.raises(DataError, match=f"the table verdicts: no column {column}; it is of another version"):
        analysis(verdicts=rows_of({}).drop(columns=column)).compute_once(answers.compute)


def test_a_label_that_is_no_verdict_is_named_with_its_row():
    with pytest.raises(
        DataError, match=r"the table verdicts: row 2: unknown verdict 'it helps'; expected one of 'helps', .*run"
    ):
        analysis(verdicts=rows_of({}, {"metric": "n", "verdict": "it helps"})).compute_once(answers.compute)


def test_counts_of_settings_that_gain_never_stand_beside_verdicts():
    """Four of four settings gain at the published point, and no gain is shown: two answers to one question."""
    points = {"fixed": {"lime": Point(0.5, 0.5)}}
    for frames, counts in (({}, {"overview", "gains_by_factor"}), ({"verdicts": rows_of({})}, set())):
        result = analyse_table(TABLE, **points, frames=frames)
        assert bool(result.compute_once(headline.compute)["headline"]) == bool(counts)
        assert {"overview", "gains_by_factor"} & {shown.stem for shown in result.tables()} == counts
        assert to_dict(result)["fixed"]["lime"]["better"] == 4, "analysis.json has them"


@pytest.mark.parametrize(
    ("rows", "sentences_of_levels"),
    [
        pytest.param([{"named": "document, domain, rater, system"}], "", id="all"),
        pytest.param(
            [{"named": "document, system"}], "These data distinguish no raters or domains", id="systems, documents"
        ),
        pytest.param(
            [pair("a", named="rater, system"), pair("b", named="document, rater, system")],
            "These data distinguish no domains: their effects are not controlled for, and may look like a gain. "
            "Some of these data distinguish no documents",
            id="documents of one pair",
        ),
        pytest.param([pair("a", **LACKS, named="")], "", id="nothing was judged"),
    ],
)
def test_levels_that_the_judged_data_do_not_name_are_said(rows, sentences_of_levels):
    end = ": their effects are not controlled for, and may look like a gain." if sentences_of_levels else ""
    assert asked(*rows)["unnamed"] == sentences_of_levels + end


@pytest.mark.parametrize(
    ("settings", "lines"),
    [
        pytest.param([{"metric": "m"}], [], id="a correlation"),
        pytest.param(
            [{"metric": "m", "baseline": math.nan}, {"metric": "n"}],
            [f"m{UNCORRELATED} all scores of the metric are equal, or all human scores."],
            id="a constant metric",
        ),
        pytest.param(
            [{"metric": "m", "baseline": math.nan, "n_used": 2}],
            [f"m{UNCORRELATED} 2 segments with both scores, and a correlation needs 3."],
            id="two segments",
        ),
        pytest.param([{"metric": "m", "baseline": math.nan, "correlation": ""}], [], id="no grid, but a verdict"),
        pytest.param(
            [{"metric": "o", "baseline": math.nan, "correlation": ""}],
            [f"o{UNCORRELATED} all scores of the metric are equal, or all human scores."],
            id="no grid, and no verdict",
        ),
    ],
)
def test_each_metric_without_a_correlation_has_a_line(settings, lines):
    rows = [{"explainer": "lime", **row} for row in settings]
    answer = sentences({}, settings=settings_of(*rows))
    assert [line for line in answer if "no correlation" in line] == lines
