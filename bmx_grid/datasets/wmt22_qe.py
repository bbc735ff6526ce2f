"""WMT22 quality estimation, test sets without references: direct assessments and MQM, and tags of words.

Zerva et al.: Findings of the WMT 2022 Shared Task on Quality Estimation, WMT 2022. Sentence scores are those of task 1,
against which the official results of the submissions were computed. Tags are the truth of the word-level task and of
explainable quality estimation; they belong to the tokens of `mt_tok`, which ends every sentence with `<EOS>`. Sentences
and tokens are numbered from 0, as in the task's submissions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import ClassVar, Literal

from bmx_grid.core.errors import DataMissingError
from bmx_grid.core.identity import runtime
from bmx_grid.core.ragged import Labels
from bmx_grid.datasets.base import Published, published_files, segments_from_lines
from bmx_grid.datasets.lines import finite, read_lines, rows_of_tags, rows_of_words
from bmx_grid.datasets.segments import Judgements, SegmentSet
from bmx_grid.words.perturbation import BLANK, Role
from bmx_grid.words.tags import WordTags

ROOT = "wmt-qe-2022-data"
GOLD = f"{ROOT}/test_data-gold_labels"
TAGGED = f"{GOLD}/task1_word-level"
# How names of files begin: the publisher's are not uniform.
STEMS = ("test.2022", "test2022")
# Pairs whose score files are called test2022, not test.2022.
UNDOTTED = ("km-en", "ps-en")
ZERO_WIDTH_SPACE = "\u200b"


@dataclass(frozen=True, kw_only=True)
class Wmt22Qe(Published):
    """Standardised direct assessments (`da`) or standardised MQM scores (`mqm_z`), higher is better in both.

    Words of the translation have tags where published; `<EOS>`, and zero-width spaces that were tagged as words (six
    sentences of en-yo), are included. Ids are line numbers from 0, as in the task's submissions.

    tags: where_there, or needed: then the files of a pair are complete only with its tags.
    submissions: the tasks whose official submissions belong to the data set (`download`), for `imported`.

    The untokenised texts are read unchanged: the tokenised ones end in `<EOS>` and differ from
    the judged texts in five en-mr sentences.
    """

    MQM: ClassVar[tuple[str, ...]] = ("en-de", "en-ru", "zh-en")
    PAIRS: ClassVar[tuple[str, ...]] = ("en-cs", "en-ja", "en-mr", "en-yo", "km-en", "ps-en", *MQM)

    tags: Literal["where_there", "needed"] = runtime("where_there")
    submissions: tuple[str, ...] = runtime(())

    def needs(self, language_pair: str) -> list[str]:
        """Source, hypotheses and scores, and tags and submissions as far as their checksums are known."""
        task = "task1_da"
        ending = "da_score"
        if language_pair in self.MQM:
            task = "task1_mqm"
            ending = "mqm_z_score"
        stem = "test2022" if language_pair in UNDOTTED else "test.2022"
        folder = f"{GOLD}/{task}/{language_pair}"
        paths = [
            f"{folder}/test.2022.src",
            f"{folder}/test.2022.mt",
            f"{folder}/{stem}.{language_pair}.{ending}",
        ]
        tagged = f"{TAGGED}/{language_pair}"
        tags = published_files(f"{tagged}/")
        # Their checksums are unknown: the pair counts as absent until files of these names exist.
        if self.tags == "needed" and not tags:
            tags = [
                f"{tagged}/test.2022.{language_pair}.tags",
                f"{tagged}/test.2022.mt_tok",
                f"{tagged}/test.2022.mt",
            ]
        paths += tags
        for submitted_task in self.submissions:
            paths += published_files(f"{ROOT}/official_submissions/{submitted_task}/{language_pair}/")
        return paths

    def _parse_segments(self, data_dir: Path, language_pair: str) -> SegmentSet:
        # The remaining files, tags and submissions, may be absent.
        source_path, hypothesis_path, score_path = self.require(data_dir, self.needs(language_pair)[:3])
        segments = segments_from_lines(read_lines(hypothesis_path), read_lines(source_path))
        tagged = data_dir / TAGGED / language_pair
        tags: dict[Role, WordTags] = {}
        if tagged.is_dir():
            tags["hypothesis"], _ = read_word_gold(tagged, language_pair)
        aspect = "mqm_z" if language_pair in self.MQM else "da"
        judgements = Judgements({aspect: finite(read_lines(score_path))}, tags=tags)
        return SegmentSet(self.name, language_pair, segments, judgements, str(score_path))


def read_word_gold(folder: Path, language_pair: str) -> tuple[WordTags, dict[int, tuple[int, ...]]]:
    """The tags of the translation from the folder that holds test.2022.PAIR.tags, mt_tok and mt.

    A zero-width space that has a tag but is no token of mt_tok is a word; also returned: sentence -> the places of such
    words. Raises DataMissingError for a missing file, ValueError if tags do not fit the tokens.
    """
    tags = rows_of_tags(_test_lines(folder, f"{language_pair}.tags"))
    tokens = list(rows_of_words(_test_lines(folder, "mt_tok")))
    texts = _test_lines(folder, "mt")
    surplus: dict[int, tuple[int, ...]] = {}
    for row, (labels, line, text) in enumerate(zip(tags, tokens, texts, strict=True)):
        if len(labels) <= len(line):
            continue
        places = _zero_width_places(text, line)
        if len(line) + len(places) != len(labels):
            raise ValueError(f"line {row + 1} has {len(labels)} tags for {len(line)} tokens")
        surplus[row] = places
        words = list(line)
        # In ascending order, so that each is inserted at its final place.
        for place in places:
            words.insert(place, ZERO_WIDTH_SPACE)
        tokens[row] = tuple(words)
    return WordTags(tuple(tokens), Labels.from_rows(tags)), surplus


def _test_lines(folder: Path, name: str) -> list[str]:
    """The lines of the file of a test set with this ending. Raises DataMissingError for none."""
    for stem in STEMS:
        path = folder / f"{stem}.{name}"
        if path.is_file():
            return read_lines(path)
    raise DataMissingError(f"{folder / f'test.2022.{name}'}: not found; download the data set again.")


def _zero_width_places(text: str, tokens: tuple[str, ...]) -> tuple[int, ...]:
    """The places of the tags of a text's zero-width spaces among the tags of its tokens.

    Places are found by counting characters other than blanks from the start of the text. Raises ValueError if one is
    in a token.
    """
    lengths = [len(BLANK.sub("", token)) for token in tokens]
    # Number of characters before each token; the last sum is the end.
    starts = [0, *accumulate(lengths)][:-1]
    places: list[int] = []
    for index, sign in enumerate(text):
        if sign == ZERO_WIDTH_SPACE:
            characters_before = len(BLANK.sub("", text[:index]))
            # Every such space has a tag itself, which moves all later ones by one.
            places.append(starts.index(characters_before) + len(places))
    return tuple(places)
