"""WMT22 quality estimation, test sets without references: direct assessments and MQM, and tags of words.

Zerva et al.: Findings of the WMT 2022 Shared Task on Quality Estimation, WMT 2022. Sentence scores are those of task 1,
against which the official results of the submissions were computed. Tags are the truth of the word-level task and of
explainable quality estimation; they belong to the tokens of `mt_tok`, which ends every sentence with `<EOS>`. Sentences
and tokens are numbered from 0, as in the task's submissions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.download.manifest import listed, manifest
from bmx_grid.datasets.lines import aligned_lines, parse_scores
from bmx_grid.datasets.word_tags import OK_BAD, of_segments, rows_of_tags, rows_of_words
from bmx_grid.errors import ConfigError, DataError, DataMissingError, unknown
from bmx_grid.judgements import Judgements
from bmx_grid.segments import Segment, SegmentSet
from bmx_grid.wording import counted
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import Labels, WordTags
from bmx_grid.words.text import BLANK

GOLD = "wmt-qe-2022-data/test_data-gold_labels"
TAGGED = f"{GOLD}/task1_word-level"
SUBMISSIONS = "wmt-qe-2022-data/official_submissions"
TASKS = {"task1_da": ("da", "da_score"), "task1_mqm": ("mqm_z", "mqm_z_score")}  # folder -> human score, ending
STEMS = ("test.2022", "test2022")  # how names of files begin: the publisher's are not uniform
UNDOTTED = ("km-en", "ps-en")  # whose score files are called test2022, not test.2022
ZERO_WIDTH = "\u200b"


@dataclass(frozen=True, kw_only=True)
class Wmt22Qe(DatasetReader):
    """Standardised direct assessments (`da`), with word tags of the translation where published.

    Ids are line numbers from 0, as in the task's submissions.

    The untokenised texts are read unchanged: the tokenised ones end in `<EOS>` and differ from
    what was judged in five en-mr sentences. The two MQM pairs of the task are a different kind of judgement.
    """

    PAIRS: ClassVar[tuple[str, ...]] = ("en-cs", "en-ja", "en-mr", "en-yo", "km-en", "ps-en")

    def needs(self, language_pair: str) -> list[str]:
        """Source, hypotheses and scores."""
        folder = f"{GOLD}/task1_da/{language_pair}"
        stem = STEMS[language_pair in UNDOTTED]
        return [f"{folder}/test.2022.src", f"{folder}/test.2022.mt", f"{folder}/{stem}.{language_pair}.da_score"]

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The sentences in file order."""
        self.check_pair(language_pair)
        sources, hypotheses, scores = self.require(data_dir, self.needs(language_pair))
        tagged = Path(data_dir) / TAGGED / language_pair
        return _sentences(self.name, language_pair, sources, hypotheses, "da", scores, tagged, scores)


class _OfFolders(DatasetReader):
    """A data set whose language pairs are those that there are folders of."""

    def pairs(self, data_dir: Path) -> tuple[str, ...]:
        """The pairs given, or else those of the folders. Raises DataMissingError for none."""
        return self.language_pairs or tuple(self._folders(data_dir))

    def downloadable(self) -> tuple[str, ...]:
        """The pairs given, or else those of the manifest."""
        places = [path.split("/") for path in manifest() if self._of_manifest(path)]
        return self.language_pairs or tuple(dict.fromkeys(parts[3] for parts in places))

    def _folder(self, data_dir: Path, language_pair: str) -> Path:
        folders = self._folders(data_dir)
        if language_pair not in folders:
            raise ConfigError(f"dataset.{self.name}: " + unknown("language pair", language_pair, folders))
        return folders[language_pair]

    def _folders(self, data_dir: Path) -> dict[str, Path]:
        """Language pair -> its folder below `data_dir`. Raises DataMissingError for none."""
        raise NotImplementedError

    def _of_manifest(self, path: str) -> bool:
        """Whether a path of the manifest tells of a language pair, its fourth part."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Wmt22Task1(_OfFolders):
    """Standardised direct assessments (`da`) or standardised MQM scores (`mqm_z`), higher is better in both.

    Words of the translation have tags where published.

    language_pairs: none meaning all that have a folder of gold scores. Ids are line numbers from 0, as in the task's
    submissions.
    """

    def needs(self, language_pair: str) -> list[str]:
        """Texts, scores and submissions as far as their checksums are known."""
        paths = []
        for task in TASKS:
            paths += _gold_files(task, language_pair, rf"(src|mt|{language_pair}\.\w+)")
            paths += listed(f"{SUBMISSIONS}/{task}/{language_pair}/")
        return paths

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The sentences in file order."""
        folder = self._folder(data_dir, language_pair)
        aspect, ending = TASKS[folder.parent.name]
        sources, hypotheses, scores = (_test_file(folder, name) for name in ("src", "mt", f"{language_pair}.{ending}"))
        tagged = Path(data_dir) / TAGGED / language_pair
        return _sentences(self.name, language_pair, sources, hypotheses, aspect, scores, tagged, scores)

    def _folders(self, data_dir: Path) -> dict[str, Path]:
        root = Path(data_dir) / GOLD
        folders = [folder for task in TASKS for folder in sorted((root / task).glob("[!.]*")) if folder.is_dir()]
        if not folders:
            raise DataMissingError(self.missing_message(Path(data_dir), [root / "task1_da"]))
        return {folder.name: folder for folder in folders}

    def _of_manifest(self, path: str) -> bool:
        return path.startswith((f"{GOLD}/task1", f"{SUBMISSIONS}/task1")) and path.split("/")[2] in TASKS


@dataclass(frozen=True, kw_only=True)
class Wmt22Words(_OfFolders):
    """Untokenised texts with the published tags of the translation, which belong to the tokens of `mt_tok`.

    language_pairs: none meaning all that have a folder of tags. Human scores are standardised direct assessments
    (`da`) or standardised MQM scores (`mqm_z`); a pair without them is read unrated. Ids are line numbers from 0, as in
    the task's submissions. `<EOS>`, and zero-width spaces that were tagged as words (six sentences of en-yo), are
    among the words of the tags.
    """

    def needs(self, language_pair: str) -> list[str]:
        """Texts, tags, scores and submissions as far as their checksums are known."""
        paths = listed(f"{TAGGED}/{language_pair}/")
        for task in TASKS:
            paths += _gold_files(task, language_pair, rf"{language_pair}\.\w+")
        for task in ("task1_word-level", "task2_explainQE"):
            paths += listed(f"{SUBMISSIONS}/{task}/{language_pair}/")
        return paths

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        """The sentences in file order."""
        folder = self._folder(data_dir, language_pair)
        aspect, scores = "da", None
        for task, (name, ending) in TASKS.items():
            gold = Path(data_dir) / GOLD / task / language_pair
            if gold.is_dir():
                aspect, scores = name, _test_file(gold, f"{language_pair}.{ending}")
        sources, hypotheses = _test_file(folder, "src"), _test_file(folder, "mt")
        return _sentences(self.name, language_pair, sources, hypotheses, aspect, scores, folder, folder)

    def _folders(self, data_dir: Path) -> dict[str, Path]:
        root = Path(data_dir) / TAGGED
        folders = {path.parent.name: path.parent for path in sorted(root.glob("[!.]*/*.tags"))}
        if not folders:
            raise DataMissingError(self.missing_message(Path(data_dir), [root]))
        return folders

    def _of_manifest(self, path: str) -> bool:
        return path.startswith(f"{TAGGED}/")


def _gold_files(task: str, language_pair: str, names: str) -> list[str]:
    """The files of a task and pair in the manifest whose names end in what the pattern `names` says."""
    folder = f"{GOLD}/{task}/{language_pair}"
    pattern = re.compile(rf"{folder}/test\.?2022\.{names}")
    return [path for path in listed(f"{folder}/") if pattern.fullmatch(path)]


def _test_file(folder: Path, name: str) -> Path:
    """The one file of a test set with this ending. Raises DataMissingError for none, DataError naming two."""
    paths = [path for stem in STEMS if (path := folder / f"{stem}.{name}").is_file()]
    if not paths:
        raise DataMissingError(f"{folder / f'test.2022.{name}'}: not found; download the data set again.")
    if len(paths) > 1:
        raise DataError(f"{paths[0]} and {paths[1]} are both there; remove the one that is not the publisher's.")
    return paths[0]


def _sentences(
    dataset: str,
    language_pair: str,
    sources: Path,
    hypotheses: Path,
    aspect: str,
    scores: Path | None,
    tagged: Path,
    origin: Path,
) -> SegmentSet:
    """The sentences of aligned files, with one human score each where there are `scores`.

    tagged: a folder with tags of the same sentences, if it is there. origin: for messages.
    """
    lines = aligned_lines([sources, hypotheses, *([] if scores is None else [scores])])
    rows = enumerate(zip(lines[0], lines[1], strict=True))
    segments = tuple(Segment(str(row), hypothesis, source) for row, (source, hypothesis) in rows)
    human = np.full(len(segments), np.nan) if scores is None else parse_scores(lines[2], str(scores))
    tags: dict[Role, WordTags] = {}
    if any((tagged / f"{stem}.{language_pair}.tags").is_file() for stem in STEMS):
        own, _ = read_word_gold(tagged, language_pair)
        tags = of_segments({"hypothesis": own}, len(segments), tagged, str(hypotheses if scores is None else scores))
    judgements = Judgements({aspect: human}, tags=tags)
    return SegmentSet(dataset, language_pair, segments, judgements, str(origin))


def read_word_gold(folder: Path, language_pair: str) -> tuple[WordTags, dict[int, tuple[int, ...]]]:
    """The tags of the translation from the folder that holds test.2022.PAIR.tags, mt_tok and mt.

    A zero-width space that has a tag but is no token of mt_tok is among the words; these are also returned: sentence ->
    their places. Raises DataMissingError for a file that is not there, DataError naming file, line and both counts
    where tags do not fit the tokens.
    """
    of_tags, of_tokens, of_text = (_test_file(folder, name) for name in (f"{language_pair}.tags", "mt_tok", "mt"))
    lines = aligned_lines([of_tags, of_tokens, of_text])
    tags, tokens = rows_of_tags(lines[0], str(of_tags), OK_BAD), list(rows_of_words(lines[1]))
    surplus: dict[int, tuple[int, ...]] = {}
    for row, (labels, line) in enumerate(zip(tags, tokens, strict=True)):
        if len(labels) == len(line):
            continue
        places = _zero_width_places(lines[2][row], line)
        if places is None or len(labels) - len(line) != len(places):
            raise DataError(
                f"{of_tags}, line {row + 1}: {counted(len(labels), 'tag')} for {counted(len(line), 'token')} of "
                f"{of_tokens}; give one tag per token."
            )
        rest = iter(line)
        tokens[row] = tuple(ZERO_WIDTH if place in places else next(rest) for place in range(len(labels)))
        surplus[row] = places
    return WordTags(tuple(tokens), Labels.from_rows(tags)), surplus


def _zero_width_places(text: str, tokens: tuple[str, ...]) -> tuple[int, ...] | None:
    """Where tags of the zero-width spaces of a text stand among those of its tokens; None where one is in a token.

    Places are found by counting characters other than blanks from the start of the text.
    """
    starts, length = [], 0
    for token in tokens:
        starts.append(length)
        length += len(BLANK.sub("", token))
    places: list[int] = []
    for place, sign in enumerate(text):
        if sign == ZERO_WIDTH:
            before = len(BLANK.sub("", text[:place]))
            if before not in starts:
                return None
            places.append(starts.index(before) + len(places))
    return tuple(places)
