"""The metric that is a file: which file for which metric and pair, and what its scores are part of."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import ConfigError, DataMissingError
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.metrics.base import Metric
from bmx_grid.metrics.imported import Imported
from bmx_grid.words.perturbation import Item


def segments_of(pair="en-de", dataset="some", systems=(None,), count=3):
    segments = tuple(Segment(str(row), "h", "s", system=system) for system in systems for row in range(count))
    return SegmentSet(dataset, pair, segments, Judgements({"da": np.zeros(len(segments))}))


SETS = [segments_of(), segments_of("en-cs")]


def lines(*scores):
    return "".join(f"{score}\n" for score in scores)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """files({"en-de/comet.txt": "…"}): write them, and make their folder the current one."""
    monkeypatch.chdir(tmp_path)

    def put(contents):
        for name, content in contents.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content, encoding="utf-8")

    return put


def test_an_option_without_a_file_says_how_to_name_one():
    metric = build(load_option("metric", "imported"), Metric, "metric.imported")
    for ask in (metric.check, lambda: metric.expand("imported", []), lambda: metric.load_scores(segments_of())):
        with pytest.raises(ConfigError, match=r"metric\.imported: no file is named; write metric\.imported\.file="):
            ask()


def test_several_files_are_metrics_of_their_own(files):
    files({"comet.txt": lines(1, 2), "wide.tsv": "id\tlp\tgemba\tkiwi\n0\ten-de\t4\t7\n1\ten-de\t5\t8\n"})
    named = {"comet": "comet.txt", "gemba": "wide.tsv", "kiwi": "wide.tsv"}
    imported = Imported(files=named, columns={"language_pair": "lp"}, language_pairs=("en-de",))
    members = imported.expand("imported", SETS)
    scores = {name: member.load_scores(segments_of(count=2)).base_scores.tolist() for name, member in members.items()}
    assert scores == {"comet": [1, 2], "gemba": [4, 5], "kiwi": [7, 8]}


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        pytest.param("{language_pair}/{metric}.txt", ["a.b", "c"], id="a-name-per-file"),
        pytest.param("{language_pair}/{metric} - * submission/predictions.txt", ["Team X + LIME"], id="trimmed"),
        pytest.param("e?-[dc]*/{metric}.txt", ["a.b", "c"], id="wildcards"),
        pytest.param("[!z]*/c.{metric}", ["txt"], id="a-class-negated"),
    ],
)
def test_names_come_from_the_paths(files, pattern, names):
    submission = "1\n2\n3\n" + "".join(f"en-de\tX\t{row}\t{row}\n" for row in range(3))
    files(
        {
            "en-de/a.b.txt": lines(1, 2, 3),
            "en-de/c.txt": lines(4, 5, 6),
            "en-cs/c.txt": lines(7, 8, 9),
            "en-de/Team X + LIME  - 12 submission/predictions.txt": submission,
        }
    )
    assert list(Imported(file=pattern).expand("imported", SETS)) == names


def test_each_pair_and_data_set_has_its_file(files):
    files({"scores[1].txt": lines(1, 2, 3)})  # a file may be called like a pattern
    assert Imported(file="scores[1].txt", language_pairs=("en-de",)).load_scores(
        segments_of()
    ).base_scores.tolist() == [
        1,
        2,
        3,
    ]
    files({"one/en-de.txt": lines(1, 2, 3), "one/en-cs.txt": lines(4, 5, 6), "two/en-de.txt": lines(7, 8, 9)})
    imported = Imported(file="{dataset}/{language_pair}.txt")
    asked = [("one", "en-de"), ("one", "en-cs"), ("two", "en-de")]
    assert [imported.load_scores(segments_of(pair, name)).base_scores[0] for name, pair in asked] == [1, 4, 7]
    with pytest.raises(DataMissingError, match=r"file not found: \{dataset\}/\{language_pair\}\.txt"):
        imported.load_scores(segments_of("en-cs", "two"))


def test_two_files_that_fit_are_named(files):
    files({"T - 1 submission/x.txt": lines(1, 2, 3), "T - 2 submission/x.txt": lines(1, 2, 3)})
    imported = Imported(file="{metric} - * submission/x.txt", language_pairs=("en-de",))
    with pytest.raises(ConfigError, match=r"both T - 1 submission/x\.txt and T - 2 submission/x\.txt fit"):
        imported.expand("imported", SETS)["T"].load_scores(segments_of())


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        pytest.param({"file": "a", "files": {"x": "b"}}, "file and files are both set", id="file-and-files"),
        pytest.param({"file": "a", "columns": {"scores": "b"}}, "unknown role 'scores'", id="unknown-role"),
        pytest.param({"file": "a", "language_pairs": ("en-de", "en-cs")}, "names 2 pairs", id="two-pairs"),
        pytest.param({"file": "{lp}/x.txt"}, "unknown placeholder 'lp'", id="unknown-placeholder"),
        pytest.param({"file": "a/{metric}.txt"}, r"no file fits 'a/\{metric\}\.txt'", id="no-metric-there"),
    ],
)
def test_settings_that_cannot_be_are_refused(files, settings, reason):
    with pytest.raises((ConfigError, DataMissingError), match=reason):
        Imported(**settings).expand("imported", SETS)


def test_a_file_must_say_its_language_pair(files):
    files({"mine.txt": lines(1, 2, 3)})
    with pytest.raises(ConfigError, match=r"does not name its language pair: .*language_pairs=\[en-cs\]"):
        Imported(file="mine.txt").load_scores(segments_of("en-cs"))
    with pytest.raises(DataMissingError, match=r"mine\.txt is of en-de"):
        Imported(file="mine.txt", language_pairs=("en-de",)).load_scores(segments_of("en-cs"))


def test_segments_and_systems_of_one_metric(files):
    blocks = "".join(f"{system} {row}\n" for system in "AB" for row in range(3))
    files({"m.seg.score": blocks, "m.sys.score": "A 10\nB None\n", "m.doc.score": "not read"})
    scores = Imported(file="m.{level}.score", language_pairs=("en-de",)).load_scores(segments_of(systems=("A", "B")))
    assert scores.base_scores.tolist() == [0, 1, 2, 0, 1, 2]
    np.testing.assert_equal(dict(scores.systems), {"A": 10.0, "B": math.nan})


def test_the_identity_is_the_scores_wherever_they_lie(files):
    files({"a.txt": lines(1, 2, 3), "b/c.tsv": "id\tscore\n2\t3\n1\t2\n0\t1\n", "d.txt": lines(1, 2, 3.5)})
    files({"m.sys.score": "A 1\nB 2\n", "n.sys.score": "A 1\nB 3\n"})

    def fitted(name, *systems):
        return Imported(file=name, language_pairs=("en-de",)).fit(segments_of(systems=systems or (None,)))

    a, b, d = map(fitted, ("a.txt", "b/c.tsv", "d.txt"))
    assert a.fingerprint() == b.fingerprint() == replace(a, name="other").fingerprint() != d.fingerprint()
    assert fitted("m.sys.score", "A", "B").fingerprint() != fitted("n.sys.score", "A", "B").fingerprint()
    assert a.signature == b.signature != d.signature
    assert a.fit(segments_of()) == a
    assert pickle.loads(pickle.dumps(a)) == a


def test_segments_without_a_score_are_warned_of_and_no_other_text_is_scored(files):
    files({"mine.txt": lines(1, None, 3)})
    with pytest.warns(UserWarning, match=r"mine\.txt: 1 of 3 segments have no score"):
        Imported(file="mine.txt", language_pairs=("en-de",)).load_scores(segments_of())
    with pytest.raises(ConfigError, match="a file of scores made elsewhere, and cannot score other texts"):
        Imported(file="mine.txt").score([Item(hypothesis="h")])
