"""ACES and SPAN-ACES, on made-up files in their layout: no text of the publisher's is here."""

import json

import numpy as np
import pytest
from fakes import ROOT

from bmx_grid.core.errors import DataError, DataMissingError
from bmx_grid.datasets.aces import Aces

LAYOUTS = ROOT / "tests" / "layouts"
ROWS = [json.loads(line) for line in (LAYOUTS / "aces/span_aces.jsonl").read_text(encoding="utf-8").splitlines()]


def written(tmp_path, **changes):
    """A data_dir with the first row, changed."""
    row = {**ROWS[0], **changes}
    (tmp_path / "aces").mkdir()
    (tmp_path / "aces" / "span_aces.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    return tmp_path


def test_a_row_is_a_good_and_an_incorrect_segment():
    segments = Aces(name="aces", spans=False).load_segments(LAYOUTS, "de-en")
    good, incorrect = segments.segments[:2]
    assert (good.id, good.system, good.hypothesis) == ("0", "good", ROWS[0]["good-translation"])
    assert (incorrect.id, incorrect.system, incorrect.hypothesis) == (
        "0",
        "incorrect",
        ROWS[0]["incorrect-translation"],
    )
    assert good.domain == incorrect.domain == "addition" and good.reference == ROWS[0]["reference"]
    np.testing.assert_array_equal(segments.human_scores, [1, 0] * 6)
    assert not segments.judgements.tags


def test_pairs_are_those_of_the_file_or_those_that_are_named():
    assert Aces(name="aces").pairs(LAYOUTS) == ("de-en", "en-de")
    assert Aces(name="aces", language_pairs=("en-de",)).pairs(LAYOUTS) == ("en-de",)
    with pytest.raises(DataError, match="no row of the language pair fr-en; the first pairs are de-en, en-de"):
        Aces(name="aces").load_segments(LAYOUTS, "fr-en")


def test_marked_words_are_bad():
    with pytest.warns(UserWarning, match="1 annotation of another text than the incorrect translation: not used"):
        segments = Aces(name="aces").load_segments(LAYOUTS, "de-en")
    tags = segments.judgements.tags["hypothesis"]
    bad = [
        [word for word, is_bad in zip(words, labels, strict=True) if is_bad]
        for words, labels in zip(tags.words, tags.labels.rows(), strict=True)
    ]
    # good, incorrect, …: an omission has no wrong word, and the last annotation is one of another text.
    assert bad == [[], ["young"], [], [], [], ["worse"], [], ["7"], [], ["brothers."], [], []]
    assert tags.words[-1] == () and tags.words[3] == ("She", "bought", "three", "apples.")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"incorrect-translation-annotated": "a <v>b c"}, "<v> without </v>", id="not closed"),
        pytest.param({"incorrect-translation-annotated": "a b</v> c"}, "</v> without <v>", id="not opened"),
        pytest.param({"incorrect-translation-annotated": "<v>a <v>b</v></v>"}, "<v> without </v>", id="nested"),
        pytest.param({"reference": None}, "'reference' is None, not a text", id="no text"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_row(tmp_path, changes, message):
    with pytest.raises(DataError, match=f"span_aces.jsonl.*1.*{message}"):
        Aces(name="aces").load_segments(written(tmp_path, **changes), "de-en")


def test_ids_of_the_file_are_kept(tmp_path):
    segments = Aces(name="aces").load_segments(written(tmp_path, ID=4711), "de-en")
    assert [segment.id for segment in segments.segments] == ["4711", "4711"]


def test_without_the_file_it_is_said_where_it_is(tmp_path):
    with pytest.raises(DataMissingError, match=r"aces/span_aces.jsonl.*docs/how-to/use_published_data.md"):
        Aces(name="aces").load_segments(tmp_path, "de-en")
