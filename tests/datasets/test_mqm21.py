"""Joining MQM scores with texts that count segments differently, on small made-up files."""

import numpy as np
import pytest
import yaml
from packed import pack

from bmx_grid.core.configure import CONFIGS
from bmx_grid.core.errors import DataError
from bmx_grid.datasets.mqm21 import parse_annotations

MQM_SCORES = "wmt-mqm-human-evaluation/newstest2021/ende/mqm_newstest2021_ende.avg_seg_scores.tsv"
MQM_TEXTS = "wmt-qe-2022-data/train-dev_data/task1_word-level/train/en-de_mqm/en-de-train-2021-news.tar.gz"
MQM_HEADER = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\tcomments\n"


def mqm_row(system, doc, seg, source, target, category="No-error", severity="No-error", end=""):
    return f"{system}\t{doc}\t{seg}\t{seg}\trater1\t{source}\t{target}\t{category}\t{severity}{end}\n"


MQM_ROWS = [
    mqm_row("hyp.A", "d1", 5, '"S one', "A one"),
    mqm_row("hyp.B", "d1", 5, '"S one', "B <v>one</v>", "Accuracy/Mistranslation", "Major", "\tcomment"),
    mqm_row("hyp.B", "d1", 5, '"S <v>one</v>', "B one", "Fluency/Punctuation", "Minor"),
    mqm_row("ref.A", "d1", 5, '"S one', "R one", "Style/Awkward", "Minor"),
    mqm_row("hyp.A", "d1", 6, "S two", "A two", "Non_translation!", "Major"),
    mqm_row("hyp.B", "d1", 6, "S two", "B two "),
    mqm_row("ref.A", "d1", 6, "S two", "R two"),
    mqm_row("hyp.A", "d2", 5, "S one again", "A three", "Fluency/Grammar", "Minor"),
    mqm_row("hyp.B", "d2", 5, "S one again", "B three"),
    mqm_row("ref.A", "d2", 5, "S one again", "R three", "Other", "Major"),
    # A human translation with a numbering of its own, and a segment that no machine was judged on.
    mqm_row("ref.C", "d1", 91, '"S one', "C one", "Other", "Minor"),
    mqm_row("ref.C", "d1", 92, "S two", "C two"),
    mqm_row("ref.C", "d2", 93, "S one again", "C three"),
    mqm_row("ref.C", "d3", 94, "S four", "C four"),
]
MQM_AVERAGES = {  # published numbers 1 and 5 were not annotated
    "A": {1: None, 2: 0, 3: -25, 4: -1, 5: None},
    "B": {1: None, 2: -5.1, 3: 0, 4: 0, 5: None},
    "ref-A": {1: None, 2: -1, 3: 0, 4: -5, 5: None},
    "ref-C": {1: None, 2: -1, 3: 0, 4: 0, 5: None},
}


OTHERS = {system: dict.fromkeys(scores, -7) for system, scores in MQM_AVERAGES.items()}
TWICE = {system: scores | {n + 5: scores[n] for n in scores} for system, scores in MQM_AVERAGES.items()}
AGAIN = mqm_row("hyp.A", "d1", 7, "S two", "A two")


def mqm_averages(averages):
    rows = [
        f"{system}\t{'None' if score is None else format(-abs(score), '.6f')} {number}\n"
        for system, scores in averages.items()
        for number, score in scores.items()
    ]
    return "system mqm_avg_score seg_id\n" + "".join(rows)


@pytest.fixture
def mqm(write):
    def put(rows=MQM_ROWS, averages=MQM_AVERAGES):
        name = "mqm-newstest2021_ende.tsv"
        write(MQM_TEXTS, pack({f"._{name}": "\x00\x05\x16\x07", f"en-de-train/{name}": MQM_HEADER + "".join(rows)}))
        write(MQM_SCORES, mqm_averages(averages))

    return put


def test_mqm_joins_scores_and_texts_under_the_published_numbers(mqm, reader, tmp_path):
    mqm()
    segments = reader("mqm21").load_segments(tmp_path, "en-de")
    assert [(s.name, s.document, s.source, s.reference, s.hypothesis) for s in segments.segments] == [
        ("2:A", "d1", '"S one', "R one", "A one"),
        ("2:B", "d1", '"S one', "R one", "B one"),
        ("3:A", "d1", "S two", "R two", "A two"),
        ("3:B", "d1", "S two", "R two", "B two"),
        ("4:A", "d2", "S one again", "R three", "A three"),
        ("4:B", "d2", "S one again", "R three", "B three"),
    ]
    assert {(s.id, s.system) for s in segments.segments} == {(i, s) for i in ("2", "3", "4") for s in ("A", "B")}
    assert segments.judgements.aspects == ("mqm",)
    assert segments.human_scores.tolist() == [0.0, -5.1, -25.0, 0.0, -1.0, 0.0]
    assert not np.signbit(segments.human_scores[[0, 3, 5]]).any(), "the published -0.000000 is 0"
    marked = segments.judgements.tags
    assert marked["hypothesis"].words[1] == ("B", "one")
    assert marked["hypothesis"].labels[1].tolist() == [False, True]
    assert marked["hypothesis"].category[1] == ("", "Accuracy/Mistranslation")
    assert marked["hypothesis"].severity[1] == ("", "major")
    assert marked["source"].labels[1].tolist() == [False, True] and marked["source"].severity[1] == ("", "minor")
    assert not any(marked["hypothesis"].labels[row].any() for row in (0, 2, 3, 4, 5)), "of no place in the text"


def test_mqm_human_translations_as_systems_leave_no_reference(mqm, reader, tmp_path):
    mqm()
    segments = reader("mqm21", human_systems=True).load_segments(tmp_path, "en-de")
    assert len(segments) == 12
    assert not segments.has("reference")
    scores = dict(zip((s.name for s in segments.segments), segments.human_scores.tolist(), strict=True))
    assert (scores["4:ref-A"], scores["2:ref-C"]) == (-5.0, -1.0)
    assert not any(segment.hypothesis == "C four" for segment in segments.segments)
    sweep = yaml.safe_load((CONFIGS / "sweep" / "mqm21.yaml").read_text(encoding="utf-8"))
    assert sweep["dataset"] == {"mqm21": {"human_systems": True}}, "as the paper judged them"


@pytest.mark.parametrize(
    ("rows", "averages", "reason"),
    [
        pytest.param(MQM_ROWS, {"A": {1: -1, "bad": 2}}, "'bad'", id="number-that-is-text"),
        pytest.param(MQM_ROWS, OTHERS, "d1 agrees with the published averages in 0 places", id="of-another-evaluation"),
        pytest.param(MQM_ROWS, TWICE, "in 2 places", id="two-places-fit"),
        pytest.param([mqm_row("hyp.A", "d", "x", "s", "t")], MQM_AVERAGES, "'x'", id="number-text"),
        pytest.param([*MQM_ROWS, AGAIN], MQM_AVERAGES, "not a many-to-one", id="one-source-twice-in-a-document"),
    ],
)
def test_mqm_says_what_is_wrong(mqm, reader, tmp_path, rows, averages, reason):
    mqm(rows, averages)
    with pytest.raises(DataError, match=reason):
        reader("mqm21").load_segments(tmp_path, "en-de")


def marked(*targets):
    """What a file says whose rows give the same segment these marks."""
    return parse_annotations([MQM_HEADER, *(mqm_row("hyp.S", "d", 1, "src", text, "X", "Minor") for text in targets)])


def test_mistakes_in_marks():
    with pytest.raises(ValueError, match="more than one <v> and </v> in '</v>a<v>'"):
        marked("</v>a<v>")
    with pytest.raises(ValueError, match="the text 'xyz' is not that of"):
        marked("abc", "<v>xyz</v>")


def test_spans_of_later_rows_are_carried_to_the_text_of_the_first():
    segment = marked(" a <v>b</v>  c", "a b <v>c</v>", "a <v>b  c").iloc[0]
    assert (segment.system, segment.number, segment.target, segment.points) == ("S", 1, "a b  c", 3.0)
    assert [segment.target[span.start : span.end] for span in segment.spans["target"]] == ["b", "c", "b  c"]
