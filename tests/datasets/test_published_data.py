"""The published data sets as read here, against facts and files that were not made by these readers."""

import csv
import json
from collections import Counter

import numpy as np
import pytest
from real_data import read

from bmx_grid.datasets.base import manifest
from bmx_grid.datasets.download import check

PUBLISHED = ("wmt17", "eval4nlp21", "mlqe_pe", "wmt22_qe", "mqm21", "wmt19")
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
    assert found.has("source")
    assert found.has("reference") is (name in ("wmt17", "mqm21") and not settings)
    assert not found.empty_texts()
    assert found.human_scores.dtype == np.float64


OTHERS = ("wmt22_task1", "wmt22_words", "mlqe_pe21")


@pytest.mark.parametrize("name", [*PUBLISHED, *OTHERS])
def test_files_are_those_of_the_manifest(reader, data_dir, name):
    assert set(check(reader(name), data_dir).values()) == {"verified"}


def test_manifest_lists_what_is_needed_and_nothing_else(reader):
    readers = [reader(name) for name in (*PUBLISHED, *OTHERS)]
    needed = {path for one in readers for pair in one.language_pairs for path in one.needs(pair)}
    assert needed == set(manifest())


@pytest.mark.parametrize("pair", ["cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en"])
def test_wmt17_equals_the_publishers_own_join(reader, data_dir, pair):
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
    found = reader("wmt17", unescape=False).read(data_dir, pair)  # the publisher's join keeps the entities
    ours = Counter(
        (s.source, s.hypothesis, s.reference, round(float(score), 9))
        for s, score in zip(found.segments, found.human_scores, strict=True)
        if pair != "lv-en" or not str(s.system).startswith("tilde")
    )
    assert ours == theirs
    assert sum(theirs.values()) == (435 if pair == "lv-en" else 560)


def test_wmt17_text_form(reader, data_dir):
    """README of the data: 1162 references and 1075 hypotheses hold an entity; 36 scored lines end in blanks."""
    as_published, unescaped = reader("wmt17", unescape=False), reader("wmt17")
    counts = Counter()
    for pair in as_published.language_pairs:
        for segment in as_published.read(data_dir, pair).segments:
            counts["reference"] += "&" in segment.reference and ";" in segment.reference.split("&", 1)[1]
            counts["hypothesis"] += "&" in segment.hypothesis and ";" in segment.hypothesis.split("&", 1)[1]
            counts["blank"] += segment.reference.endswith(" ") or segment.hypothesis.endswith(" ")
            counts["quoted"] += segment.source.startswith('"')
        for segment in unescaped.read(data_dir, pair).segments:
            counts["left"] += "&apos;" in segment.reference or "&quot;" in segment.hypothesis
    assert counts == {"reference": 1162, "hypothesis": 1075, "blank": 0, "quoted": 122, "left": 0}


def test_wmt22_reads_what_was_judged(reader, data_dir):
    found = reader("wmt22_qe").read(data_dir, "en-yo")
    assert not any("<EOS>" in segment.hypothesis for segment in found.segments)
    spaces = [int(segment.id) + 1 for segment in found.segments if segment.hypothesis.count("\u200b") == 2]
    assert {106, 112, 326, 533, 550, 577} <= set(spaces), "zero-width spaces stay"


@pytest.mark.parametrize(("pair", "scores"), [("en-de", 7905), ("zh-en", 9750)])
def test_mqm_numbers_equal_the_published_map(reader, data_dir, pair, scores):
    """The map that comes with the data was found independently; ref-C and ref-D are not in it."""
    path = data_dir / f"derived/newstest2021_{pair.replace('-', '')}.segid_map.tsv"
    if not path.is_file():
        pytest.skip("the independent map of segment numbers is not here")
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")[1:] if line]
    theirs = {(document, int(number)) for document, _, number in rows}
    found = reader("mqm21", human_systems=True).read(data_dir, pair)
    kept = [segment for segment in found.segments if segment.system not in ("ref-C", "ref-D")]
    assert len(kept) == scores
    ours = Counter((segment.document, int(segment.id)) for segment in kept)
    assert set(ours) == theirs
    assert set(ours.values()) == {15}


@pytest.mark.parametrize("name", PUBLISHED)
def test_sources_are_pinned_revisions(reader, name):
    sources = reader(name).sources
    assert sources and all(len(one.revision) == 40 and one.revision in one.address for one in sources)


def test_wmt17_joined_systems_have_one_text(reader, data_dir):
    wmt17 = reader("wmt17", unescape=False)
    joined = 0
    for pair in wmt17.language_pairs:
        for segment in wmt17.read(data_dir, pair).segments:
            _, *others = segment.system.split("+")
            joined += len(others) > 0
            for system in others:
                folder = data_dir / f"ACL20-Reference-Free-MT-Evaluation/WMT17/system-outputs/{pair}"
                lines = (folder / f"newstest2017.{system}.{pair}").read_text(encoding="utf-8").split("\n")
                assert lines[int(segment.id) - 1].strip(" ") == segment.hypothesis
    assert joined == 127


def test_eval4nlp_scores_are_raw_judgements(data_dir):
    found = read(data_dir, "eval4nlp21", "ru-de")
    assert 0 <= found.human_scores.min() < found.human_scores.max() <= 100
    assert any("\u00ad" in segment.source for segment in found.segments), "soft hyphens stay"


def test_mqm_segments_of_one_number_have_one_source(data_dir):
    found = read(data_dir, "mqm21", "en-de")
    assert len({(one.id, one.source) for one in found.segments}) == len({one.id for one in found.segments}) == 527
    assert not any("<v>" in one.source + one.hypothesis for one in found.segments)
    assert found.human_scores.max() == 0
    assert not np.signbit(found.human_scores[found.human_scores == 0]).any(), "the published -0.000000 is 0"
