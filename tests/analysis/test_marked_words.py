"""What is said and shown of word tags, against hand-made tables."""

import math

import pandas as pd
import pytest
from scipy import stats
from some_frames import NAMES, frames
from some_tables import peaked, table

from bmx_grid.analysis import marked_words
from bmx_grid.analysis.base import SweepTables
from bmx_grid.analysis.questions import analyse_table


def row(value, explainer="lime", pair="a", *, measure="auc", side="target", metric="m", half=0.02):
    names = dict(zip(NAMES, ("d", pair, metric, explainer), strict=True))
    ends = {"low": value - half, "high": value + half}
    return {**names, "side": side, "measure": measure, "value": value, **ends, "n_segments": 90, "n_left_out": 10}


def asked(*rows):
    frames = SweepTables({"words": pd.DataFrame(rows)} if rows else {})
    result = marked_words.compute(frames)
    return result, list(marked_words.tables(result))


def pairs(explainer, *values, **options):
    return [row(value, explainer, pair, **options) for value, pair in zip(values, "abcdefg", strict=False)]


def test_without_tags_nothing_is_said_or_shown():
    result, shown = asked()
    assert (len(result["words"]), result["words_in_words"], shown) == (0, [], [])
    of_grid = analysis(auc=None).compute_once(marked_words.compute)
    assert (of_grid["plausibility_in_words"], list(marked_words.tables(of_grid))) == ([], [])


def test_one_sentence_says_who_finds_the_marked_words_and_what_random_attributions_reach():
    result, _ = asked(
        *pairs("lime", 0.6, 0.62, 0.64, 0.66),
        *pairs("shap", 0.4, 0.38, 0.36, 0.34),
        *pairs("erasure", 0.4, 0.6, 0.45, 0.58),
        *pairs("random", 0.5, 0.51, 0.49, 0.5),
        *pairs("lime", 0.9, 0.9, side="source"),
        *pairs("lime", 0.1, 0.1, metric="random"),
    )
    (sentence,) = result["words_in_words"]
    assert sentence.startswith("Do explanations find the words people marked? AUC on the target of 4 language pairs")
    better, worse, open_, random = sentence.partition("(chance 0.5), ")[2].split("; ")
    assert better.startswith("better than chance: lime 0.630 [")
    assert worse.startswith("worse than chance: shap 0.370 [")
    assert open_.startswith("not distinguishable from chance: erasure 0.507 [")
    assert random.startswith("control: random 0.500 [")


def test_a_single_setting_has_its_own_interval_and_two_pairs_none():
    result, _ = asked(*pairs("lime", 0.6), *pairs("shap", 0.6, 0.7), *pairs("shap", 0.6, 0.7, metric="other"))
    words = result["words"].set_index("explainer")
    assert words.loc["lime", ["auc_low", "auc_high"]].tolist() == pytest.approx([0.58, 0.62])
    assert math.isnan(words["auc_low"]["shap"])
    assert words["auc"]["shap"] == pytest.approx(0.65)
    assert words.loc["shap", ["pairs", "settings"]].tolist() == [2, 4]


def test_labels_are_ranked_by_mcc():
    result, shown = asked(*pairs("x", 0.2, measure="mcc"), *pairs("y", 0.4, measure="mcc"))
    assert result["words_in_words"] == [
        "Do explanations find the words people marked? MCC on the target of 1 language pair (chance 0), better than "
        "chance: y 0.400 [0.380, 0.420], x 0.200 [0.180, 0.220]."
    ]
    assert shown[0].header == ("explainer", "side", "MCC", "pairs", "settings")


def test_what_is_undefined_stands_below_what_is_worse_than_nothing():
    result, _ = asked(*pairs("a", math.nan), *pairs("b", -0.2, measure="mcc"), *pairs("c", 0.1))
    assert result["words"]["explainer"].tolist() == ["c", "b", "a"]


SETTINGS = [("d", pair, "m", explainer) for pair in "abcdef" for explainer in ("lime", "random")]
AUC = dict(zip("abcdef", (0.5, 0.52, 0.61, 0.7, 0.66, 0.8), strict=True))
GAIN = dict(zip("abcdef", (-0.01, 0.0, 0.01, 0.02, 0.03, 0.04), strict=True))


def analysis(auc=AUC, gains=GAIN):
    surfaces = {names: peaked(0.5, gain=0.02) for names in SETTINGS}
    beside = frames({names: gains[names[1]] for names in SETTINGS if names[3] == "lime"})
    if auc is not None:
        beside["words"] = pd.DataFrame([row(value, "lime", pair) for pair, value in auc.items()])
    return analyse_table(table(surfaces), frames=beside)


def test_the_relation_is_the_rank_correlation_of_auc_and_gain_over_settings():
    analysed = analysis()
    relations = analysed.compute_once(marked_words.plausibility)
    of_all = relations["all"]
    expected = stats.spearmanr(list(AUC.values()), list(GAIN.values())).statistic
    assert of_all.rho == pytest.approx(expected)
    assert of_all.low <= of_all.rho <= of_all.high
    assert (of_all.n, of_all.clusters, of_all.undefined) == (6, 6, 0)
    assert relations["lime"] == of_all
    assert "random" not in relations


def test_undefined_settings_are_counted_and_two_pairs_have_no_correlation():
    of_all = analysis({**AUC, "a": math.nan}).compute_once(marked_words.plausibility)["all"]
    assert (of_all.n, of_all.undefined) == (5, 1)
    (sentence,) = analysis({pair: AUC[pair] for pair in "ab"}).compute_once(marked_words.compute)[
        "plausibility_in_words"
    ]
    assert "no correlation of AUC and gain at one point per explainer is defined" in sentence


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        pytest.param(dict(zip("abcdef", AUC.values(), strict=True)), "boost more: Spearman", id="more"),
        pytest.param({pair: -auc for pair, auc in AUC.items()}, "boost less: Spearman", id="less"),
        pytest.param(dict(zip("abcdef", (1, 5, 2, 6, 3, 4), strict=True)), "is not established: Spearman", id="open"),
    ],
)
def test_the_sentence_says_what_the_interval_allows(gains, message):
    scaled = {pair: gain / 100 for pair, gain in gains.items()}
    assert message in analysis(gains=scaled).compute_once(marked_words.compute)["plausibility_in_words"][0]
