"""The published data sets as read here, against facts and files that were not made by these readers."""

import csv
import json
from collections import Counter

import pandas as pd
import pytest
import yaml
from real_data import read

from bmx_grid.core.configure import CONFIGS
from bmx_grid.datasets.base import manifest
from bmx_grid.datasets.download import check
from bmx_grid.datasets.summeval import ASPECTS
from bmx_grid.measures.correlation import correlate
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.imported import Imported
from bmx_grid.metrics.sentence_bleu import SentenceBleu

PUBLISHED = ("wmt17", "eval4nlp21", "mlqe_pe", "wmt22_qe", "mqm21", "wmt19", "wmt22_task1", "wmt22_words", "mlqe_pe21")
SIDES = ("source", "hypothesis")
WMT17 = ("cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en")
TASKS = ("task1_da", "task1_mqm")  # of WMT22
# data set, language pair, segments, the first and the last of them
ENDS = """
wmt17 cs-en 560 33:online-A.0 2995:online-B.0
wmt17 de-en 560 56:online-F.0 3001:online-A.0
wmt17 fi-en 560 171:online-B.0 2993:online-G.0
wmt17 lv-en 560 43:PJATK.4740 1999:tilde-c-nmt-smt-hybrid.5051
wmt17 ru-en 560 41:online-A.0 2919:uedin-nmt.4890
wmt17 tr-en 560 20:online-A.0 2985:jhu-pbmt.4972
wmt17 zh-en 560 78:CASICT-cons.5144 1969:CASICT-cons.5144
eval4nlp21 ro-en 1000 0 999
eval4nlp21 et-en 1000 0 999
eval4nlp21 ru-de 1180 0 1179
eval4nlp21 de-zh 1410 0 1409
eval4nlp21 de-zh 1000 0 999 first=1000
mlqe_pe en-de 1000 0 999
mlqe_pe en-zh 1000 0 999
mlqe_pe et-en 1000 0 999
mlqe_pe ne-en 1000 0 999
mlqe_pe ro-en 1000 0 999
mlqe_pe si-en 1000 0 999
mlqe_pe ru-en 1000 9965 5588
wmt22_qe en-cs 1000 0 999
wmt22_qe en-ja 1000 0 999
wmt22_qe en-mr 1000 0 999
wmt22_qe en-yo 1010 0 1009
wmt22_qe km-en 992 0 991
wmt22_qe ps-en 1000 0 999
mqm21 en-de 6851 715:Facebook-AI 780:metricsystem5
mqm21 zh-en 8450 1644:Borderline 259:metricsystem5
mqm21 en-de 8959 715:Facebook-AI 780:ref-D human_systems=true
mqm21 zh-en 9750 1644:Borderline 259:ref-B human_systems=true
"""


@pytest.mark.parametrize("line", ENDS.strip().splitlines())
def test_counts_and_ends(data_dir, line):
    name, pair, count, first, last, *settings = line.split()
    chosen = dict(setting.split("=") for setting in settings)
    found = read(data_dir, name, pair, **{key: json.loads(value) for key, value in chosen.items()})
    assert len(found) == found.rated == int(count)
    assert (found.segments[0].name, found.segments[-1].name) == (first, last)
    assert found.has("reference") is (name in ("wmt17", "mqm21") and not settings)
    assert not found.empty_texts()


def test_the_manifest_lists_what_is_needed_and_nothing_else_at_pinned_revisions(reader, data_dir):
    readers = [reader(name) for name in PUBLISHED]
    needed = {path for one in readers for pair in one.language_pairs for path in one.needs(pair)}
    assert needed == set(manifest())
    for one in readers:
        assert one.sources and all(
            len(source.revision) == 40 and source.revision in source.address for source in one.sources
        )
        assert set(check(one, data_dir).values()) == {"verified"}


# words and errors of source and target
TAGS = {
    ("mlqe_pe", "en-zh"): ((16765, 4254), (17230, 4999)),
    ("wmt22_words", "en-de"): ((0, 0), (13857, 535)),
    ("wmt22_words", "en-yo"): ((0, 0), (25403, 2397)),
    ("mqm21", "zh-en"): ((9607, 403), (267645, 36045)),
}


@pytest.mark.parametrize(("name", "pair"), TAGS)
def test_published_tags_come_with_the_segments(data_dir, name, pair):
    tags = read(data_dir, name, pair).judgements.tags
    counts = [(len(tags[side].labels.bad), tags[side].labels.bad.sum()) if side in tags else (0, 0) for side in SIDES]
    assert tuple(counts) == TAGS[name, pair]
    assert (tags["hypothesis"].severity is not None) == (name == "mqm21")


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
    found = read(data_dir, "wmt17", pair, unescape=False)  # the publisher's join keeps the entities
    ours = Counter(
        (s.source, s.hypothesis, s.reference, round(float(score), 9))
        for s, score in zip(found.segments, found.human_scores, strict=True)
        if pair != "lv-en" or not str(s.system).startswith("tilde")
    )
    assert ours == theirs
    assert sum(theirs.values()) == (435 if pair == "lv-en" else 560)


def test_wmt17_text_form(data_dir):
    """README of the data: 1162 references and 1075 hypotheses hold an entity; 36 scored lines end in blanks.

    127 systems that produced the same string are joined, and all their files have it.
    """
    counts = Counter()
    for pair in WMT17:
        folder = data_dir / f"ACL20-Reference-Free-MT-Evaluation/WMT17/system-outputs/{pair}"
        for segment in read(data_dir, "wmt17", pair, unescape=False).segments:
            counts["reference"] += "&" in segment.reference and ";" in segment.reference.split("&", 1)[1]
            counts["hypothesis"] += "&" in segment.hypothesis and ";" in segment.hypothesis.split("&", 1)[1]
            counts["blank"] += segment.reference.endswith(" ") or segment.hypothesis.endswith(" ")
            counts["quoted"] += segment.source.startswith('"')
            _, *others = segment.system.split("+")
            counts["joined"] += len(others) > 0
            for system in others:
                lines = (folder / f"newstest2017.{system}.{pair}").read_text(encoding="utf-8").split("\n")
                assert lines[int(segment.id) - 1].strip(" ") == segment.hypothesis
        for segment in read(data_dir, "wmt17", pair).segments:
            counts["left"] += "&apos;" in segment.reference or "&quot;" in segment.hypothesis
    assert counts == {"reference": 1162, "hypothesis": 1075, "blank": 0, "quoted": 122, "left": 0, "joined": 127}


def test_texts_are_those_that_were_judged(data_dir):
    yoruba = read(data_dir, "wmt22_qe", "en-yo").segments
    assert not any("<EOS>" in segment.hypothesis for segment in yoruba)
    spaces = [int(segment.id) + 1 for segment in yoruba if segment.hypothesis.count("\u200b") == 2]
    assert {106, 112, 326, 533, 550, 577} <= set(spaces), "zero-width spaces stay"
    german = read(data_dir, "eval4nlp21", "ru-de")
    assert 0 <= german.human_scores.min() < german.human_scores.max() <= 100, "raw judgements"
    assert any("\u00ad" in segment.source for segment in german.segments), "soft hyphens stay"


@pytest.mark.parametrize(("pair", "scores"), [("en-de", 7905), ("zh-en", 9750)])
def test_mqm_numbers_equal_the_published_map(data_dir, pair, scores):
    """The map that comes with the data was found independently; ref-C and ref-D are not in it."""
    path = data_dir / f"derived/newstest2021_{pair.replace('-', '')}.segid_map.tsv"
    if not path.is_file():
        pytest.skip("the independent map of segment numbers is not here")
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")[1:] if line]
    theirs = {(document, int(number)) for document, _, number in rows}
    found = read(data_dir, "mqm21", pair, human_systems=True)
    kept = [segment for segment in found.segments if segment.system not in ("ref-C", "ref-D")]
    assert len(kept) == scores
    ours = Counter((segment.document, int(segment.id)) for segment in kept)
    assert set(ours) == theirs
    assert set(ours.values()) == {15}
    assert len({(one.id, one.source) for one in found.segments}) == len({one.id for one in found.segments})
    assert not any("<v>" in one.source + one.hypothesis for one in found.segments)
    assert found.human_scores.max() == 0


# the paper's systems, and those that top:30% keeps
@pytest.mark.parametrize(
    ("pair", "systems", "lines", "best"),
    [("en-de", 22, 1997, "Facebook_FAIR.6862"), ("de-en", 16, 2000, "Facebook_FAIR.6750")],
)
def test_wmt19_has_whole_test_sets_of_all_systems(data_dir, pair, systems, lines, best):
    found = read(data_dir, "wmt19", pair)
    assert (len(found.systems), len(found)) == (systems, systems * lines)
    assert found.segments[0].name == f"1:{best}"
    top = read(data_dir, "wmt19", pair, systems="top:30%")
    assert top.systems == found.systems[: systems * 3 // 10]


def test_every_official_correlation_of_wmt22_is_reproduced_from_the_submissions(data_dir):
    """Sentence-level task 1; the file of the submissions as the sweep has it. Every submission has a pair."""
    sweep = yaml.safe_load((CONFIGS / "sweep" / "wmt22_official.yaml").read_text())
    pattern = sweep["metric"]["imported"]["file"].replace("${data_dir}", str(data_dir))
    pairs = ("en-cs", "en-ja", "en-mr", "en-yo", "km-en", "ps-en", "en-de", "en-ru")
    sets = {pair: read(data_dir, "wmt22_task1", pair) for pair in pairs}
    metrics = Imported(file=pattern).members("imported", list(sets.values()))
    folder = data_dir / "wmt-qe-2022-data"
    official = pd.read_csv(folder / "official_results.tsv", sep="\t", dtype=str)
    official = official[official.task.isin(TASKS) & official.measure.isin(["Pearson", "Spearman"])]
    assert len(official) >= 88
    submissions = {
        (path.parent.name, path.name)
        for task in TASKS
        for path in (folder / "official_submissions").glob(f"{task}/*/*")
    }
    scores = {
        (pair, name): metrics[name.rpartition(" - ")[0].strip()].given(sets[pair]).segments
        for pair, name in submissions
    }
    ours = [
        f"{correlate(row.measure.lower(), scores[row.lp, row.submission_dir], sets[row.lp].human_scores):.4f}"
        for row in official.itertuples()
    ]
    assert ours == [f"{float(value):.4f}" for value in official.official]


def test_summeval_has_100_articles_of_16_systems_with_11_references(data_dir):
    summaries = read(data_dir, "summeval", "en")
    assert len(summaries) == 1600 and len(summaries.systems) == 16
    assert {len(one.further_references) for one in summaries.segments} == {10}
    assert len({one.source for one in summaries.segments}) == 100
    assert summaries.judgements.aspects == ASPECTS
    assert tuple(read(data_dir, "summeval", "en", aspect="fluency").judgements.scores) == ("fluency",)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        pytest.param(SentenceBleu(smooth_method="exp", references="all"), [0.2217, 0.1229, 0.1364, 0.2766], id="BLEU"),
        pytest.param(Chrf(), [0.1439, 0.1645, 0.1026, 0.3221], id="chrF with the first reference"),
    ],
)
def test_correlations_with_summeval_are_those_measured_with_sacrebleu(data_dir, metric, expected):
    summaries = read(data_dir, "summeval", "en")
    scores = metric.score(summaries.items(("reference", "hypothesis"), all_references=True))
    correlations = [correlate("pearson", scores, summaries.judgements.scores[aspect]) for aspect in ASPECTS]
    assert correlations == pytest.approx(expected, abs=5e-5)  # four decimals are published
