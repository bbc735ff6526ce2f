"""Published word tags, carried to the scored words, and what the systems' own probabilities say of them."""

import numpy as np
import pytest

from bmx_grid.datasets.archives import read_archive
from bmx_grid.datasets.lines import read_lines
from bmx_grid.datasets.mlqe_pe import Eval4nlp21, mlqe_pe_test20_tags, read_sub_words, word_probabilities
from bmx_grid.datasets.mqm21 import parse_annotations
from bmx_grid.measures.word_measures import rank_words
from bmx_grid.words.tags import tags_of_spans

# sentences, source words (errors), target words (errors), sentences without a target error
EVAL4NLP = {
    "ro-en": (1000, 17359, 1482, 17770, 2386, 335),
    "et-en": (1000, 14044, 1962, 19576, 3589, 282),
    "ru-de": (1180, 25383, 5444, 28802, 5916, 119),
    "de-zh": (1410, 24903, 2803, 27027, 3292, 499),
}
# target words (errors); AUC of the words' log-probabilities; sentences with another text
MLQE_PE = {
    "en-de": (16154, 2344, 0.7676, 0),
    "en-zh": (17230, 4999, 0.6522, 0),
    "et-en": (19838, 5565, 0.7252, 0),
    "ne-en": (18706, 12231, 0.7309, 3),
    "ro-en": (17483, 3708, 0.7774, 0),
    "ru-en": (13784, 1690, 0.7450, 7),
    "si-en": (17484, 10460, 0.7370, 10),
}


@pytest.mark.parametrize("pair", EVAL4NLP)
def test_eval4nlp_has_the_published_numbers_of_errors(data_dir, pair):
    tags = Eval4nlp21(name="eval4nlp21").load_segments(data_dir, pair).judgements.tags
    counts = [n for side in ("source", "hypothesis") for n in (len(tags[side].labels.bad), tags[side].labels.bad.sum())]
    without = sum(not row.any() for row in tags["hypothesis"].labels.rows())
    assert (len(tags["source"]), *counts, without) == EVAL4NLP[pair]


@pytest.mark.parametrize("pair", MLQE_PE)
def test_probabilities_of_words_rank_their_errors(data_dir, pair):
    """How they correlate with human scores is in tests/commands/test_imported_sweep.py."""
    words, errors, auc, n_others = MLQE_PE[pair]
    folder = data_dir / "mlqe-pe" / "data"
    target = mlqe_pe_test20_tags(folder / "post-editing" / "test" / f"{pair}-test.tar.gz")["hypothesis"]
    assert (len(target.labels.bad), target.labels.bad.sum()) == (words, errors)
    archive = folder / "direct-assessments" / "test" / f"{pair}-test.tar.gz"
    probabilities, other_text = word_probabilities(*read_sub_words(archive, pair), target.words)
    assert np.nanmean(rank_words(target.labels, probabilities)["auc"]) == pytest.approx(auc, abs=0.00005)
    assert len(other_text) == n_others
    assert np.flatnonzero([np.isnan(row).any() for row in probabilities.rows()]).tolist() == other_text


# annotated translations; spans in target and in source
MQM = {
    "ted": (7406, 4017, 14),
    "en-de": (9909, 5953, 67),
    "zh-en": (9750, 13862, 502),
}


@pytest.mark.parametrize("name", MQM)
def test_mqm_spans_are_words(data_dir, name):
    if name == "ted":
        lines = read_lines(data_dir / "wmt-mqm-human-evaluation" / "ted" / "ende" / "mqm_ted_ende.tsv")
    else:
        train = data_dir / "wmt-qe-2022-data" / "train-dev_data" / "task1_word-level" / "train"
        member = f"mqm-newstest2021_{name.replace('-', '')}.tsv"
        lines = read_archive(train / f"{name}_mqm" / f"{name}-train-2021-news.tar.gz", [member])[member]
    segments = parse_annotations(lines)
    spans = {side: [marked[side] for marked in segments.spans] for side in ("target", "source")}
    counts = tuple(sum(map(len, spans[side])) for side in spans)
    assert (len(segments), *counts) == MQM[name]
    tags, _ = tags_of_spans(segments.target, spans["target"], [target.split(" ") for target in segments.target])
    for row, of_segment in enumerate(spans["target"]):
        assert tags.labels[row].any() == bool(of_segment)
    assert tags.severity is not None
    assert {sign for row in tags.severity for sign in row} == {"", "minor", "major"}
