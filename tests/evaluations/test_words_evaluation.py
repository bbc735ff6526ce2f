"""The evaluation of words: which rows there are, on which words, and what is left out and counted."""

import dataclasses

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score, matthews_corrcoef, roc_auc_score
from some_settings import finished, made_elsewhere, table_rows, tagged

from bmx_grid.core.ragged import Labels
from bmx_grid.datasets.segments import Judgements, SegmentSet
from bmx_grid.evaluations.word_level import WordsEvaluation
from bmx_grid.words.tags import WordTags

WORDS = WordsEvaluation(resamples=200)
OF_SCORES = ["auc", "ap", "recall_at_k"]
OF_LABELS = ["f1_ok", "f1_bad", "f1_mult", "mcc", "phrase_f1_ok", "phrase_f1_bad", "phrase_f1_mult", "seqcor"]
MEASURES = [*OF_SCORES, "spearman_sum", *OF_LABELS, "seqcor_max"]


def rows_by_measure(setting):
    """The rows of the target by measure."""
    rows = table_rows(WORDS, WORDS.evaluate([setting])[0], "words")
    return {row.measure: row for row in rows if row.side == "target"}


def with_tags(setting, words, bad, role="hypothesis"):
    """The setting with these tags alone, on words of their own."""
    tags = {role: WordTags(tuple(map(tuple, words)), Labels.from_rows(bad))}
    segments_before = setting.segments
    judged = Judgements(segments_before.judgements.scores, tags=tags)
    segments = SegmentSet(segments_before.dataset, segments_before.language_pair, segments_before.segments, judged)
    return dataclasses.replace(setting, segments=segments)


def gold_of(setting, role="hypothesis"):
    return setting.segments.judgements.tags[role]


def test_each_side_with_tags_has_each_measure_once_with_its_interval():
    rows = table_rows(WORDS, WORDS.evaluate([tagged(60)])[0], "words")
    assert [(row.side, row.measure) for row in rows] == [(s, m) for s in ("target", "source") for m in MEASURES]
    for row in rows:
        assert row.low <= row.value <= row.high, row
        assert row.n_segments + row.n_left_out == 60
    assert {row.n_left_out for row in rows if row.measure in OF_LABELS} == {0}
    assert all(row.n_left_out > 0 for row in rows if row.measure in OF_SCORES)  # all words OK, or all BAD


def test_values_are_those_of_the_libraries():
    setting = tagged(40)
    gold, scores = gold_of(setting).labels, setting.scores.hypothesis
    mixed = [row for row in range(40) if 0 < gold[row].mean() < 1]
    rows = rows_by_measure(setting)
    for name, function in (("auc", roc_auc_score), ("ap", average_precision_score)):
        expected = np.mean([function(gold[row], -scores[row]) for row in mixed])
        assert rows[name].value == pytest.approx(expected, abs=1e-12)
        assert rows[name].n_segments == len(mixed)
    human = setting.segments.human_scores
    sums = [row.sum() for row in scores.rows()]
    assert rows["spearman_sum"].value == pytest.approx(stats.spearmanr(sums, human).statistic)


def test_attributions_of_a_metric_whose_low_scores_are_good_are_turned():
    higher, lower = rows_by_measure(tagged(60)), rows_by_measure(tagged(60, lower_is_better=True))
    assert {name: row.value for name, row in higher.items()} == {name: row.value for name, row in lower.items()}


SILENT = {
    "no tags": finished,
    "no explanation": lambda: dataclasses.replace(
        tagged(), explainer=None, scores=dataclasses.replace(tagged().scores, by_role={})
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_without_tags_or_an_explanation_there_are_no_rows(name):
    result = WORDS.evaluate([SILENT[name]()])[0]
    assert all(not len(column) for table in WORDS.columns(result).values() for column in table.values())


def test_scores_made_elsewhere_are_those_of_the_file_not_of_the_scored_words():
    setting = tagged(40)
    perfect = [-1.0 * row for row in gold_of(setting).labels.rows()]
    assert rows_by_measure(made_elsewhere(setting, values=perfect))["auc"].value == 1
    assert rows_by_measure(setting)["auc"].value < 1


@pytest.mark.parametrize("low", [-1.0, -7.5], ids=["as-declared", "any-below-0"])
def test_labels_have_the_measures_of_labels_only_and_need_no_threshold(low):
    setting = tagged(40)
    draw = np.random.default_rng(5)
    bad = [draw.random(len(row)) < 0.5 for row in gold_of(setting).labels.rows()]
    rows = rows_by_measure(made_elsewhere(setting, values=[low * row for row in bad], labels=True))
    assert list(rows) == ["spearman_sum", *OF_LABELS, "seqcor_max"]
    expected = matthews_corrcoef(gold_of(setting).labels.bad, np.concatenate(bad))
    assert rows["mcc"].value == pytest.approx(expected)
    assert rows["mcc"].n_segments == 40


def test_a_segment_without_attributions_is_left_out_and_counted():
    setting = tagged(30)
    scores = setting.scores.hypothesis
    mixed = [row for row in range(30) if 0 < gold_of(setting).labels[row].mean() < 1]
    values = scores.values.copy()
    values[scores.offsets[mixed[0]]] = np.nan
    lost = dataclasses.replace(setting.scores, by_role={"hypothesis": dataclasses.replace(scores, values=values)})
    rows = rows_by_measure(dataclasses.replace(setting, scores=lost))
    assert rows["auc"].n_segments == len(mixed) - 1
    assert rows["mcc"].n_left_out == 1
    assert rows["spearman_sum"].n_left_out == 1


def fit(setting, evaluation=WORDS):
    (row,) = evaluation.evaluate([setting])[0]["word_tags"]
    return vars(row)


def test_tags_are_carried_to_the_words_that_were_scored():
    """The publisher separates every word into its first two letters and the rest."""
    setting = tagged(30)
    tokens = [[part for word in row for part in (word[:2], word[2:])] for row in gold_of(setting).words]
    bad = [np.repeat(row, 2) for row in gold_of(setting).labels.rows()]
    carried = with_tags(setting, tokens, bad)
    assert [row.value for row in rows_by_measure(carried).values()] == [
        row.value for row in rows_by_measure(setting).values()
    ]
    assert fit(carried)["n_tags"] == 2 * fit(carried)["n_compared"]
    assert fit(carried)["n_lost"] == 0


def test_words_that_cannot_be_aligned_are_counted_and_not_moved():
    setting = tagged(30)
    words = [list(row) for row in gold_of(setting).words]
    row = next(row for row in range(30) if len(words[row]) > 3 and 0 < gold_of(setting).labels[row][1:].mean() < 1)
    words[row][0] = "ÄÖÜ"
    misaligned = with_tags(setting, words, gold_of(setting).labels.rows())
    counts = fit(misaligned)
    assert (counts["n_lost"], counts["n_untagged"]) == (1, 1)
    gold, scores = gold_of(setting).labels, setting.scores.hypothesis
    with_first, rest = (roc_auc_score(gold[row][skip:], -scores[row][skip:]) for skip in (0, 1))
    before, after = rows_by_measure(setting)["auc"], rows_by_measure(misaligned)["auc"]
    assert after.n_segments == before.n_segments
    assert (after.value - before.value) * before.n_segments == pytest.approx(rest - with_first)


def test_scores_on_other_words_are_carried_to_the_tags():
    setting = tagged(30)
    halves = [[part for word in row for part in (word[:2], word[2:])] for row in gold_of(setting).words]
    values = [np.repeat(row, 2) for row in setting.scores.hypothesis.rows()]
    carried = rows_by_measure(made_elsewhere(setting, halves, values))
    for name in (*OF_SCORES, "mcc"):
        assert carried[name].value == pytest.approx(rows_by_measure(setting)[name].value)


END = "<EOS>"


@pytest.mark.parametrize(
    ("tags", "scores", "counted"),
    [
        pytest.param(True, True, 1, id="both-have-it"),
        pytest.param(True, False, 0, id="nothing-is-said-of-it"),
        pytest.param(False, True, 0, id="it-has-no-tag"),
    ],
)
def test_the_end_of_a_sentence_counts_where_both_have_it(tags, scores, counted):
    setting = tagged(20)
    plain = gold_of(setting)
    words = [[*row, END] if tags else row for row in plain.words]
    bad = [np.append(row, True) if tags else row for row in plain.labels.rows()]
    scored_words = [[*row, END] if scores else row for row in plain.words]
    values = [np.append(row, -9.0) if scores else row for row in setting.scores.hypothesis.rows()]
    setting_with_ends = made_elsewhere(with_tags(setting, words, bad), scored_words, values)
    counts = fit(setting_with_ends, WordsEvaluation(resamples=0))
    assert counts["n_compared"] == len(plain.labels.bad) + 20 * counted
    assert counts["n_lost"] == 0


def test_attributions_have_no_end_of_a_sentence():
    setting = tagged(20)
    words = [[*row, END] for row in gold_of(setting).words]
    bad = [np.append(row, True) for row in gold_of(setting).labels.rows()]
    assert rows_by_measure(with_tags(setting, words, bad))["auc"].value == rows_by_measure(setting)["auc"].value
    assert fit(with_tags(setting, words, bad))["n_lost"] == 0
