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
from bmx_grid.datasets.base import Published, published_files
from bmx_grid.datasets.lines import finite, read_lines, rows_of_tags, rows_of_words
from bmx_grid.datasets.segments import Judgements, SegmentSet, numbered
from bmx_grid.words.perturbation import BLANK, Role
from bmx_grid.words.tags import WordTags

ROOT = "wmt-qe-2022-data"
GOLD = f"{ROOT}/test_data-gold_labels"
TAGGED = f"{GOLD}/task1_word-level"
STEMS = ("test.2022", "test2022")  # how names of files begin: the publisher's are not uniform
UNDOTTED = ("km-en", "ps-en")  # whose score files are called test2022, not test.2022
ZERO_WIDTH_SPACE = "\u200b"


@dataclass(frozen=True, kw_only=True)
class Wmt22Qe(Published):
    """Standardised direct assessments (`da`) or standardised MQM scores (`mqm_z`), higher is better in both.

    Words of the translation have tags where published; `<EOS>`, and zero-width spaces that were tagged as words (six
    sentences of en-yo), are among them. Ids are line numbers from 0, as in the task's submissions.

    tags: where_there, or needed: then the files of a pair are there only with its tags.
    submissions: the tasks whose official submissions belong to the data set (`download`), for `imported`.

    The untokenised texts are read unchanged: the tokenised ones end in `<EOS>` and differ from
    what was judged in five en-mr sentences.
    """

    MQM: ClassVar[tuple[str, ...]] = ("en-de", "en-ru", "zh-en")
    PAIRS: ClassVar[tuple[str, ...]] = ("en-cs", "en-ja", "en-mr", "en-yo", "km-en", "ps-en", *MQM)

    tags: Literal["where_there", "needed"] = runtime("where_there")
    submissions: tuple[str, ...] = runtime(())

    def needs(self, language_pair: str) -> list[str]:
        """Source, hypotheses and scores, and tags and submissions as far as their checksums are known."""
        task, ending = ("task1_mqm", "mqm_z_score") if language_pair in self.MQM else ("task1_da", "da_score")
        folder = f"{GOLD}/{task}/{language_pair}"
        scores = f"{folder}/{STEMS[language_pair in UNDOTTED]}.{language_pair}.{ending}"
        paths = [f"{folder}/test.2022.src", f"{folder}/test.2022.mt", scores]
        tags = published_files(f"{TAGGED}/{language_pair}/")
        if self.tags == "needed" and not tags:
            tags = [f"{TAGGED}/{language_pair}/{STEMS[0]}.{name}" for name in (f"{language_pair}.tags", "mt_tok", "mt")]
        paths += tags
        for task in self.submissions:
            paths += published_files(f"{ROOT}/official_submissions/{task}/{language_pair}/")
        return paths

    def _read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The sentences in file order."""
        paths = self.require(data_dir, self.needs(language_pair)[:3])
        sources, hypotheses, scores = map(read_lines, paths)
        segments = numbered(hypotheses, sources)
        tagged = data_dir / TAGGED / language_pair
        tags: dict[Role, WordTags] = {"hypothesis": read_word_gold(tagged, language_pair)[0]} if tagged.is_dir() else {}
        aspect = "mqm_z" if language_pair in self.MQM else "da"
        judgements = Judgements({aspect: finite(scores)}, tags=tags)
        return SegmentSet(self.name, language_pair, segments, judgements, str(paths[2]))


def read_word_gold(folder: Path, language_pair: str) -> tuple[WordTags, dict[int, tuple[int, ...]]]:
    """The tags of the translation from the folder that holds test.2022.PAIR.tags, mt_tok and mt.

    A zero-width space that has a tag but is no token of mt_tok is among the words; these are also returned: sentence ->
    their places. Raises DataMissingError for a file that is not there, ValueError where tags do not fit the tokens.
    """
    of_tags, of_tokens, texts = (
        read_lines(_test_file(folder, name)) for name in (f"{language_pair}.tags", "mt_tok", "mt")
    )
    tags = rows_of_tags(of_tags)
    tokens = list(rows_of_words(of_tokens))
    surplus: dict[int, tuple[int, ...]] = {}
    for row, (labels, line, text) in enumerate(zip(tags, tokens, texts, strict=True)):
        if len(labels) > len(line):
            surplus[row] = _zero_width_places(text, line)
            if len(line) + len(surplus[row]) != len(labels):
                raise ValueError(f"line {row + 1} has {len(labels)} tags for {len(line)} tokens")
            rest = iter(line)
            tokens[row] = tuple(
                ZERO_WIDTH_SPACE if place in surplus[row] else next(rest) for place in range(len(labels))
            )
    return WordTags(tuple(tokens), Labels.from_rows(tags)), surplus


def _test_file(folder: Path, name: str) -> Path:
    """The file of a test set with this ending. Raises DataMissingError for none."""
    for stem in STEMS:
        if (path := folder / f"{stem}.{name}").is_file():
            return path
    raise DataMissingError(f"{folder / f'test.2022.{name}'}: not found; download the data set again.")


def _zero_width_places(text: str, tokens: tuple[str, ...]) -> tuple[int, ...]:
    """Where tags of the zero-width spaces of a text stand among those of its tokens.

    Places are found by counting characters other than blanks from the start of the text. Raises ValueError where one is
    in a token.
    """
    starts = [0, *accumulate(len(BLANK.sub("", token)) for token in tokens)][:-1]
    places: list[int] = []
    for place, sign in enumerate(text):
        if sign == ZERO_WIDTH_SPACE:
            # Each of these spaces has a tag itself, which moves all later ones by one.
            places.append(starts.index(len(BLANK.sub("", text[:place]))) + len(places))
    return tuple(places)
