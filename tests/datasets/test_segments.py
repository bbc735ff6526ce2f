"""Segments known by (id, system), sets of them, and the clusters of those that share a text."""

import dataclasses
import hashlib

import numpy as np
import pytest

from bmx_grid.core.errors import DataError
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet, clusters


def segments_of(*segments, pair="de-en", scores=None):
    values = np.arange(len(segments), dtype=np.float64) if scores is None else np.array(scores, dtype=np.float64)
    return SegmentSet("some", pair, segments, Judgements({"da": values}))


def systems(*names):
    """One segment per "ID:SYSTEM"."""
    return [Segment(name.split(":")[0], "h", "s", system=name.split(":")[1]) for name in names]


def test_a_repeated_id_and_system_names_both_rows():
    with pytest.raises(DataError, match="segments 1 and 3 are both '1:a'"):
        segments_of(*systems("1:a", "1:b", "1:a"))
    with pytest.raises(DataError, match="segments 2 and 4 are both '8'"):
        segments_of(*(Segment(name, "h") for name in "7898"))


def test_limit_counts_ids_each_with_all_its_systems():
    segments = segments_of(*systems("5:a", "3:a", "5:b", "4:a", "3:b"), scores=[0, 1, 2, 3, 4])
    assert [segment.name for segment in segments.head(2).segments] == ["5:a", "3:a", "5:b", "3:b"]
    assert segments.head(2).human_scores.tolist() == [0, 1, 2, 4]
    assert len(segments.head(0)) == 0
    assert segments.head(3) is segments.head(None) is segments
    assert segments.head(1).all_ids == ("5", "3", "4") and segments.head(1).take([0]).all_systems == ("a", "b")


def test_texts_are_given_by_role_and_a_missing_one_is_named():
    segments = segments_of(Segment("1", "h", source="s"), Segment("2", "h2", source="s2", reference="r2"))
    assert (segments.has("source"), segments.has("reference"), segments.has("hypothesis")) == (True, False, True)
    assert (segments.texts("source"), segments.texts("hypothesis")) == (["s", "s2"], ["h", "h2"])
    with pytest.raises(DataError, match="some de-en: segment '1' has no reference"):
        segments.texts("reference")
    with pytest.raises(DataError, match="1 segments but 2 human scores"):
        segments_of(Segment("1", "h"), scores=[0, 1])


def test_fingerprint_covers_texts_ids_systems_and_judgements():
    base = Segment("1", "h", "s", "r", "a", "d", ("r2",))
    changes = [
        {"id": "2"},
        {"hypothesis": "x"},
        {"source": None},
        {"reference": "x"},
        {"system": "b"},
        {"document": None},
        {"further_references": ()},
    ]
    sets = [segments_of(base), *(segments_of(Segment(**{**dataclasses.asdict(base), **change})) for change in changes)]
    sets += [segments_of(base, scores=[1]), segments_of(base, pair="fr-en")]
    assert len({segments.fingerprint() for segments in sets}) == len(sets)
    assert segments_of(base).fingerprint() == segments_of(Segment(**dataclasses.asdict(base))).fingerprint()


@pytest.mark.parametrize("name", ["a/../b", "語" * 17, "a" * 51], ids=["path", "17-of-3-bytes", "51-letters"])
def test_names_that_cannot_name_files_are_refused(name):
    with pytest.raises(DataError, match="cannot be part of file names.* at most 50 bytes in UTF-8"):
        SegmentSet(name, "de-en", (), Judgements({"da": np.empty(0)}))


CASES = [
    # reason, (source, reference, further references) of each segment, groups of row numbers
    pytest.param([("a", "x", ()), ("b", "y", ()), ("c", None, ())], [{0}, {1}, {2}], id="nothing-shared"),
    pytest.param([("a", "x", ()), ("a", "y", ()), ("b", "z", ())], [{0, 1}, {2}], id="same-source"),
    pytest.param([("a", "x", ()), ("b", "x", ()), ("b", "z", ())], [{0, 1, 2}], id="through-another"),
    pytest.param([("a", "x", ("y",)), ("b", "z", ("w", "y")), ("c", "w", ())], [{0, 1, 2}], id="further-references"),
    pytest.param([("", "", ()), ("", "", ()), (None, None, ("",))], [{0}, {1}, {2}], id="empty-texts-link-nothing"),
    pytest.param([("a", "b", ()), ("b", "c", ())], [{0}, {1}], id="a-source-is-not-a-reference"),
]


DOCUMENTS = [
    # id, source, document of each segment; groups of row numbers
    pytest.param([("1", "a", "x"), ("2", "b", "x"), ("3", "c", "y")], [{0, 1}, {2}], id="one document"),
    pytest.param([("1", "a", "x"), ("2", "a", "y"), ("3", "a", None)], [{0}, {1}, {2}], id="boilerplate"),
    pytest.param([("1", "a", "x"), ("2", "b", None), ("3", "a", None)], [{0, 2}, {1}], id="some documents"),
    pytest.param([("1", "a", "x/A"), ("1", "b", "x/B"), ("2", "c", "z")], [{0, 1}, {2}], id="named by system"),
    pytest.param([("1", "a", "x"), ("2", "b", "x"), ("3", "b", "x")], [{0}, {1, 2}], id="one for all says nothing"),
    pytest.param([("1", "a", ""), ("2", "b", "")], [{0}, {1}], id="empty names link nothing"),
]


def grouped(*sets):
    rows_of = {}
    for row, label in enumerate(np.concatenate(clusters(sets)).tolist()):
        rows_of.setdefault(label, set()).add(row)
    return sorted(rows_of.values(), key=min)


@pytest.mark.parametrize(("texts", "groups"), CASES)
def test_clusters_by_hand(texts, groups):
    rows = [
        Segment(str(row), f"h{row}", source, reference, further_references=more)
        for row, (source, reference, more) in enumerate(texts)
    ]
    assert grouped(segments_of(*rows[:1]), segments_of(*rows[1:], pair="fr-en")) == groups


@pytest.mark.parametrize(("rows", "groups"), DOCUMENTS)
def test_segments_of_a_document_are_a_cluster(rows, groups):
    segments = [
        Segment(name, f"h{row}", text, None, f"s{row}", document) for row, (name, text, document) in enumerate(rows)
    ]
    assert grouped(segments_of(*segments)) == groups


def test_cluster_labels_do_not_depend_on_the_order():
    rng = np.random.default_rng(7)
    rows = [Segment(str(i), "h", f"s{rng.integers(60)}", f"r{rng.integers(60)}" if i % 3 else None) for i in range(100)]
    first, second = segments_of(*rows[:50]), segments_of(*rows[50:], pair="fr-en")
    before = dict(zip(rows, np.concatenate(clusters([first, second])).tolist(), strict=True))
    turned = segments_of(*rows[50:][::-1], pair="fr-en")
    after = dict(zip([*turned.segments, *rows[:50]], np.concatenate(clusters([turned, first])).tolist(), strict=True))
    assert before == after
    assert 1 < len(set(before.values())) < 100
    assert all(len(label) == 12 for label in before.values())


def test_a_label_is_the_digest_of_the_smallest_text():
    assert [part.tolist() for part in clusters([segments_of()])] == [[]]
    (labels,) = clusters([segments_of(Segment("1", "h", "b", "r"), Segment("2", "h", "a", "r"))])
    assert labels.tolist() == [hashlib.sha256(b"reference\0r").hexdigest()[:12]] * 2
