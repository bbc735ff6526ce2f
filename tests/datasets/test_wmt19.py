"""WMT19 at system level: human scores of systems, none of segments, and the best systems of a pair."""

import numpy as np
import pytest

from bmx_grid.core.errors import ConfigError

ROOT = "ACL20-Reference-Free-MT-Evaluation/WMT19"
TABLE = """LP HUMAN SYSTEM
de-en -0.2 online-A.0
en-cs 9.9 online-A.0
de-en 0.136 MSRA.MADL.6910
de-en 0.136 en_de_task.67
de-en 0.05 Facebook_FAIR.6750
"""
SYSTEMS = ("online-A.0", "MSRA.MADL.6910", "en_de_task.67", "Facebook_FAIR.6750")


@pytest.fixture
def wmt19(write):
    def put():
        write(f"{ROOT}/DA-syslevel.csv", TABLE)
        write(f"{ROOT}/source/newstest2019-deen-src.de", '"Hallo\nZwei\u2028Wörter\n')
        write(f"{ROOT}/references/newstest2019-deen-ref.en", "hello\ntwo words \n")
        for system in SYSTEMS:
            write(f"{ROOT}/system-outputs/de-en/newstest2019.{system}.de-en", f"hi {system}\nsecond\n")

    return put


def test_segments_of_all_systems_and_scores_of_systems_alone(wmt19, reader, tmp_path):
    wmt19()
    found = reader("wmt19").read(tmp_path, "de-en")
    assert found.systems == ("MSRA.MADL.6910", "en_de_task.67", "Facebook_FAIR.6750", "online-A.0")
    assert [(s.name, s.source, s.reference, s.hypothesis) for s in found.segments[:2]] == [
        ("1:MSRA.MADL.6910", '"Hallo', "hello", "hi MSRA.MADL.6910"),
        ("2:MSRA.MADL.6910", "Zwei\u2028Wörter", "two words ", "second"),
    ]
    assert len(found) == 8 and found.rated == 0
    assert np.isnan(found.human_scores).all()
    assert found.judgements.systems["da"] == {
        "MSRA.MADL.6910": 0.136,
        "en_de_task.67": 0.136,
        "Facebook_FAIR.6750": 0.05,
        "online-A.0": -0.2,
    }


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        pytest.param("all", 4, id="all"),
        pytest.param("top:1", 1, id="the-first-of-two-equals"),
        pytest.param("top:3", 3, id="three"),
        pytest.param("top:60", 4, id="more-than-there-are"),
        pytest.param("top:99%", 3, id="the-floor-of-a-share"),
        pytest.param("top:100%", 4, id="the-whole"),
    ],
)
def test_the_best_systems_are_kept(wmt19, reader, tmp_path, asked, kept):
    wmt19()
    found = reader("wmt19", systems=asked).read(tmp_path, "de-en")
    expected = ("MSRA.MADL.6910", "en_de_task.67", "Facebook_FAIR.6750", "online-A.0")[:kept]
    assert found.systems == tuple(found.judgements.systems["da"]) == expected
    assert len(found.all_systems) == 4, "scores made elsewhere may have those left out"


@pytest.mark.parametrize(
    "asked", ["best", "top:", "top:0", "top:0%", "top:101%", "top:-3", "top:3.5", "30%", "", "top:6 "]
)
def test_what_names_no_systems_is_refused_before_any_file_is_read(reader, asked):
    with pytest.raises(ConfigError, match=rf"dataset\.wmt19\.systems={asked}: write all, top:6 .* or top:30%"):
        reader("wmt19", systems=asked)


def test_a_share_that_leaves_no_system_says_so(wmt19, reader, tmp_path):
    wmt19()
    with pytest.raises(ConfigError, match=r"top:20% keeps none of the 4 systems of de-en"):
        reader("wmt19", systems="top:20%").read(tmp_path, "de-en")


@pytest.mark.parametrize(
    ("pair", "systems", "lines", "best"),
    [
        ("en-de", 22, 1997, "Facebook_FAIR.6862"),
        ("de-en", 16, 2000, "Facebook_FAIR.6750"),
    ],
)
def test_published_files(reader, data_dir, pair, systems, lines, best):
    found = reader("wmt19").read(data_dir, pair)
    assert (len(found.systems), len(found)) == (systems, systems * lines)
    assert found.segments[0].name == f"1:{best}"
    assert found.has("source") and found.has("reference")
    top = reader("wmt19", systems="top:30%").read(data_dir, pair)
    assert len(top.systems) == systems * 3 // 10
    assert top.systems == found.systems[: len(top.systems)]
