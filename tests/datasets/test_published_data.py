"""The published data sets as read here, against facts and files that were not made by these readers."""

import csv
import json
from collections import Counter
from pathlib import Path

import pytest
from real_data import read

from bmx_grid.datasets.base import manifest
from bmx_grid.datasets.download import file_states
from bmx_grid.datasets.summeval import ASPECTS
from bmx_grid.measures.correlation import correlate
from bmx_grid.metrics.chrf import Chrf

PUBLISHED = ("wmt17", "eval4nlp21", "mlqe_pe", "wmt22_qe", "mqm21", "wmt19", "wmt22_task1", "wmt22_words", "mlqe_pe21")
WMT17 = ("cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en")
# data set, language pair, number of segments, fingerprint, perhaps a setting
EXPECTED = [line.split() for line in (Path(__file__).parents[1] / "expected" / "segments.txt").read_text().splitlines()]


@pytest.mark.parametrize(("pair", "scores"), [("en-de", 7905), ("zh-en", 9750)])
def test_mqm_numbers_equal_the_published_map(data_dir, pair, scores):
    """The map that comes with the data was found independently; ref-C and ref-D are not in it."""
    path = data_dir / f"derived/newstest2021_{pair.replace('-', '')}.segid_map.tsv"
    if not path.is_file():
        pytest.skip("the independent map of segment numbers is not here")
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")[1:] if line]
    theirs = {(document, int(number)) for document, _, number in rows}
    segments = read(data_dir, "mqm21", pair, human_systems=True)
    kept = [segment for segment in segments.segments if segment.system not in ("ref-C", "ref-D")]
    assert len(kept) == scores
    ours = Counter((segment.document, int(segment.id)) for segment in kept)
    assert set(ours) == theirs
    assert set(ours.values()) == {15}
    assert len({(segment.id, segment.source) for segment in segments.segments}) == len(
        {segment.id for segment in segments.segments}
    )
    assert not any("<v>" in segment.source + segment.hypothesis for segment in segments.segments)
    assert segments.human_scores.max() == 0


@pytest.mark.parametrize("row", EXPECTED[1:], ids=" ".join)
def test_segments_human_scores_and_tags_are_those_they_were(data_dir, row):
    name, pair, count, fingerprint, *settings = row
    chosen = dict(setting.split("=") for setting in settings)
    segments = read(data_dir, name, pair, **{key: json.loads(value) for key, value in chosen.items()})
    assert (len(segments), segments.fingerprint()[:12]) == (int(count), fingerprint)


def test_the_manifest_lists_what_is_needed_and_nothing_else_at_pinned_revisions(reader, data_dir):
    readers = [reader(name) for name in PUBLISHED]
    needed = set()
    for data_set in readers:
        for pair in data_set.language_pairs:
            needed.update(data_set.needs(pair))
    by_hand = {path for path in needed if path not in manifest()}
    assert needed - by_hand == set(manifest())
    assert {path.split("/")[-2] for path in by_hand} == {"zero-shot", "km-en", "ps-en", "zh-en"}
    for data_set in readers:
        assert {len(source.revision) for source in data_set.sources} == {40}
        assert set(file_states(data_set, data_dir).values()) == {"verified"}


@pytest.mark.parametrize("pair", WMT17)
def test_wmt17_equals_the_publishers_own_join(data_dir, pair):
    """testset_<lp>.tsv holds the same segments joined by the publisher, quoted and without ids.

    lv-en lacks the 125 segments of the two tilde systems there.
    """
    path = data_dir / f"ACL20-Reference-Free-MT-Evaluation/WMT17/testset/testset_{pair}.tsv"
    if not path.is_file():
        pytest.skip("the publisher's joined files are not here")
    with path.open(encoding="utf-8", newline="") as file:
        theirs = Counter(
            (row["source"], row["translation"].rstrip(" "), row["reference"], round(float(row["HUMAN_score"]), 9))
            for row in csv.DictReader(file, delimiter="\t")
        )
    segments = read(data_dir, "wmt17", pair, unescape=False)  # the publisher's join keeps the entities
    ours = Counter(
        (s.source, s.hypothesis, s.reference, round(float(score), 9))
        for s, score in zip(segments.segments, segments.human_scores, strict=True)
        if pair != "lv-en" or not str(s.system).startswith("tilde")
    )
    assert ours == theirs
    assert sum(theirs.values()) == (435 if pair == "lv-en" else 560)


def test_correlations_of_chrf_with_summeval_are_those_measured_with_sacrebleu(data_dir):
    """Of BLEU: tests/published/test_summarisation.py."""
    summaries = read(data_dir, "summeval", "en")
    scores = Chrf().score(summaries.items(("reference", "hypothesis"), {"further_references": 99}))
    correlations = [correlate("pearson", scores, summaries.judgements.scores[aspect]) for aspect in ASPECTS]
    assert correlations == pytest.approx([0.1439, 0.1645, 0.1026, 0.3221], abs=5e-5)  # four decimals are published
