"""Explanations made elsewhere: an explainer that is a file, in the same tables and tests as those made here."""

from __future__ import annotations

import dataclasses
import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, NoReturn, Self

import numpy as np

from bmx_grid.core.errors import ConfigError, DataError, ExplainError, unknown
from bmx_grid.core.identity import RUNTIME, identity, runtime
from bmx_grid.core.ragged import Floats, Ragged
from bmx_grid.core.wording import counted
from bmx_grid.datasets.imported_files import ROLE_OF_SIDE, WORD_ROLES, read_word_file
from bmx_grid.datasets.mlqe_pe import read_sub_words, word_probabilities
from bmx_grid.datasets.rated_spans import Ratings, ratings_of
from bmx_grid.datasets.scores_of_files import FromFile, ImportedFile, file_rows
from bmx_grid.datasets.span_files import read_spans, span_format
from bmx_grid.explainers.base import Explainer, GivenWords
from bmx_grid.words.perturbation import BLANK, Plan, Role
from bmx_grid.words.perturbation import ROLES as TEXTS
from bmx_grid.words.tags import EOS, WEIGHTS, How, Rows, WordScores, align, carry_scores, shares_of_spans

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet
    from bmx_grid.words.segmentation import PairWords

MOST_NAMED = 5  # words named in a warning
OMITTED = ""  # the word, after all others, that has what spans without words cost: it has no characters


@dataclass(frozen=True, kw_only=True)
class Imported(FromFile, Explainer):
    """Scores or labels of words, or error spans, read from a file and not computed.

    Layouts: `datasets.imported_files`, and of spans `datasets.span_files`.

    They become attributions, low for a suspected error, of the words that are scored: both tokenisations are aligned
    by their characters, and what has no counterpart is left out, counted and named.

    Fields as of `FromFile`; columns: of scores, labels, words, id, system, side and language_pair. With
    {metric} in the path each explainer is for the imported metric of its own name only (and for any metric that scores
    texts).
    errors_are: whether a low or a high value is a suspected error; "auto" as the layout says. Labels say it themselves.
    tokens: what becomes of the values of several words of the file that make up one scored word.
    sub_words: the same for the sub-words of MLQE-PE's archives, of which log-probabilities are given; "each" takes them
        as they are, with that of the end symbol, in place of words, for sentences of another translation too.
    probabilities: the exponential of these: probabilities in place of their logarithms.
    weights: of spans by severity, those of MQM where they are not named. A word has minus its share of the spans that
        touch it (`words.tags.shares_of_spans`), an empty word at the end has omissions; of several raters the mean.

    Paths and ways are no identity: what was read and made of it is there, as a digest.
    """

    KEY: ClassVar[str] = "explainer.imported"
    ROLES: ClassVar[tuple[str, ...]] = WORD_ROLES
    PART: ClassVar[str] = "side"

    errors_are: Literal["auto", "low", "high"] = runtime("auto")
    tokens: How = runtime("mean")
    sub_words: Literal["sum", "mean", "min", "max", "each"] = runtime("sum")
    probabilities: bool = runtime(False)
    weights: Mapping[str, float] = field(default_factory=dict, metadata={"role": RUNTIME})
    explanations: str = identity("")
    one_metric: bool = runtime(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for severity, weight in self.weights.items():
            if severity not in WEIGHTS:
                raise ConfigError(f"{self.KEY}.weights: " + unknown("severity", severity, list(WEIGHTS)))
            if not 0 <= weight < np.inf:
                raise ConfigError(f"{self.KEY}.weights.{severity} is {weight}; write a number of 0 or more.")

    def recipe_fingerprint(self) -> dict[str, Any]:
        """Who explained, and how values became attributions; not those of single segments."""
        ways = ("name", "errors_are", "tokens", "sub_words", "probabilities")
        own_weights = {name: weight for name, weight in self.weights.items() if weight != WEIGHTS[name]}
        known = {"weights": own_weights} if own_weights else {}
        return {"type": "Imported", "version": self.VERSION, **{way: getattr(self, way) for way in ways}, **known}

    @property
    def signature(self) -> str:
        return f"imported|explanations:{self.explanations or 'unread'}|version:{self.VERSION}"

    @property
    def of_metric(self) -> str | None:
        return self.name if self.one_metric else None

    def members(self, name: str, sets: Sequence[SegmentSet]) -> Mapping[str, Self]:
        """The explainers that this option stands for, as of `FromFile`."""
        one_metric = not self.files and self.has("metric")
        members = super().members(name, sets)
        return {label: dataclasses.replace(member, one_metric=one_metric) for label, member in members.items()}

    def given(self, segments: SegmentSet, words: PairWords) -> tuple[Explainer, GivenWords]:
        """What the files say of these segments, and this explainer with its digest.

        Raises DataMissingError where there is no file or row of the language pair; DataError naming file, row and value
        where a row is not as it must be or does not fit the segments.
        """
        read: dict[Role, _Side] = {}
        for name, path in self.paths(segments).items():
            for role, side in self._read(path, ROLE_OF_SIDE.get(name), segments, words).items():
                if role in read:
                    raise DataError(f"{path}: holds word scores of the {role}, and so does another file; name one.")
                read[role] = side
        ordered = {role: read[role] for role in TEXTS if role in read}
        given = GivenWords(
            attributions={role: side.attributions for role, side in ordered.items()},
            attributed={role: side.attributed for role, side in ordered.items()},
            words={role: side.words for role, side in ordered.items() if side.words is not None},
            refused=dict(chain.from_iterable(side.refused.items() for side in ordered.values())),
        )
        return dataclasses.replace(self, explanations=_digest(ordered)), given

    def ratings(self, segments: SegmentSet) -> Ratings | None:
        """Who marked which error spans in each of N segments; None where the files hold no spans. Raises as `given`."""
        paths = list(self.paths(segments).values())
        if len(paths) != 1 or not span_format(paths[0]):
            return None
        return ratings_of(read_spans(paths[0]), segments, self)

    def plan(self, words: tuple[str, ...], rng: np.random.Generator) -> NoReturn:
        raise ExplainError(
            f"the explainer '{self.name}' is a file of explanations made elsewhere, and cannot explain other texts; "
            "name an explainer that does."
        )

    def attribute(self, plan: Plan, scores: Floats) -> NoReturn:
        self.plan((), np.random.default_rng(0))

    def count_texts(self, n_words: int) -> NoReturn:
        self.plan((), np.random.default_rng(0))

    def _read(self, path: Path, side: Role | None, segments: SegmentSet, words: PairWords) -> dict[Role, _Side]:
        role = side or ("source" if path.name.lower().startswith("source.") else "hypothesis")
        if path.name.lower().endswith(".tar.gz"):
            return {"hypothesis": self._of_sub_words(path, segments, _scored(segments, "hypothesis", words), words)}
        if span_format(path):
            ratings = ratings_of(read_spans(path), segments, self)
            return {"hypothesis": self._of_ratings(ratings, segments, _scored(segments, "hypothesis", words))}
        file = read_word_file(path, self)
        roles = [name for name in TEXTS if name in set(file.rows.side)] if "side" in file.rows else [role]
        return {name: self._of_words(file, name, segments, _scored(segments, name, words)) for name in roles}

    def _of_ratings(self, ratings: Ratings, segments: SegmentSet, scored: Rows) -> _Side:
        weights = {**WEIGHTS, **self.weights}
        refused = {row: "nobody marked errors in it" for row, raters in enumerate(ratings) if not raters}
        attributed = tuple((*line, OMITTED) for line in scored)
        values = []
        for text, raters, line in zip(segments.texts("hypothesis"), ratings, scored, strict=True):
            shares = [shares_of_spans(text, spans, line, weights) for _, spans in raters]
            values.append(np.mean(shares, axis=0) if shares else np.full(len(line) + 1, np.nan))
        return _Side(None, attributed, Ragged.from_rows(values), refused)

    def _of_words(self, file: ImportedFile, role: Role, segments: SegmentSet, scored: Rows) -> _Side:
        """What the file says of N texts, on its own words and on those that are scored.

        A file without words has a value per word of the published tags, or else per scored word; whichever fits all
        texts. Zero-width spaces that have a tag of their own may be left out.
        """
        if "side" in file.rows:
            file = dataclasses.replace(file, rows=file.rows[file.rows.side == role].drop(columns="side"))
        rows = file_rows(file, segments, self)
        tags = segments.judgements.tags.get(role)
        published = [] if tags is None else [tags.words, tuple(map(_without_blanks, tags.words))]
        words = tuple(rows.words) if "words" in rows else _fitting(file.path, rows, [*published, scored])
        if file.are_labels and published:
            _check_published(file.path, rows, words, published)
        refused = {row: "it is not explained in the file" for row, value in enumerate(rows.value) if value is None}
        words = tuple(scored[row] if row in refused and not line else line for row, line in enumerate(words))
        low = file.low_is_error if self.errors_are == "auto" or file.are_labels else self.errors_are == "low"
        values = Ragged.from_rows(
            np.full(len(line), np.nan) if value is None else (1.0 if low else -1.0) * value + 0.0
            for value, line in zip(rows.value, words, strict=True)
        )
        names = [segment.name for segment in segments.segments]
        return _carried(WordScores(words, values, file.are_labels), scored, refused, self.tokens, names, file.path)

    def _of_sub_words(self, path: Path, segments: SegmentSet, scored: Rows, words: PairWords) -> _Side:
        pieces, logs = read_sub_words(path, segments.language_pair)
        if len(pieces) != len(segments.all_ids):
            raise DataError(
                f"{path}: sub-words of {counted(len(pieces), 'sentence')}, but {segments.dataset} "
                f"{segments.language_pair} has {counted(len(segments.all_ids), 'segment')}; name the archive of this "
                "data set."
            )
        place = {name: row for row, name in enumerate(segments.all_ids)}
        chosen = [place[segment.id] for segment in segments.segments]
        pieces = tuple(pieces[row] for row in chosen)
        logs = Ragged.from_rows(logs[row] for row in chosen)
        if self.sub_words == "each":
            return _Side(None, pieces, self._of_logs(logs), {})
        values, others = word_probabilities(pieces, logs, scored, self.sub_words)
        refused = dict.fromkeys(others, "its sub-words in the file are those of another translation")
        attributed, kept = _known(scored, values, refused)
        tags = segments.judgements.tags.get("hypothesis")
        if tags is not None:
            values, _ = word_probabilities(pieces, logs, tags.words, self.sub_words)
        own_words = WordScores(scored if tags is None else tags.words, self._of_logs(values), False)
        return _Side(own_words, attributed, self._of_logs(kept), refused)

    def _of_logs(self, logs: Ragged) -> Ragged:
        sign = -1.0 if self.errors_are == "high" else 1.0
        return Ragged(sign * (np.exp(logs.values) if self.probabilities else logs.values), logs.offsets)


class _Side(NamedTuple):
    """What a file says of one side of N segments, on its own words and on those that are scored.

    words: of its own, low for a suspected error. attributed, attributions: the scored words that it says something of,
    and what; NaN for the segments in `refused`, which are not explained: their positions, and why.
    """

    words: WordScores | None
    attributed: Rows
    attributions: Ragged
    refused: dict[int, str]


def _scored(segments: SegmentSet, role: Role, words: PairWords) -> Rows:
    """The words of the texts of a role as they are scored."""
    return tuple(words.words(role, text) for text in segments.texts(role))


def _without_blanks(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in words if BLANK.sub("", word))


def _fitting(path: Path, rows: Any, choices: Sequence[Rows]) -> Rows:
    """The first of the choices of words with as many as there are values, in every text. Raises DataError for none."""
    lengths = np.array([-1 if value is None else len(value) for value in rows.value])
    wrong = [(lengths >= 0) & (lengths != [len(line) for line in words]) for words in choices]
    for words, differs in zip(choices, wrong, strict=True):
        if not differs.any():
            return words
    row = int(np.argmax(wrong[0]))
    raise DataError(
        f"{path}, {rows.place.iloc[row]}: {counted(int(lengths[row]), 'value')} for "
        f"{counted(len(choices[0][row]), 'word')}; give one value per word, or the words as well."
    )


def _check_published(path: Path, rows: Any, words: Rows, published: Sequence[Rows]) -> None:
    """Raise DataError for labels of other words than the published tags'."""
    for row, (line, *choices) in enumerate(zip(words, *published, strict=True)):
        if line and line not in choices:
            raise DataError(
                f"{path}, {rows.place.iloc[row]}: the words {' '.join(line)[:60]!r} are not the {len(choices[0])} that "
                f"have a published tag, {' '.join(choices[0])[:60]!r}; give one label per word, or name the file of "
                "this language pair."
            )


def _carried(
    words: WordScores, scored: Rows, refused: dict[int, str], how: How, names: Sequence[str], path: Path
) -> _Side:
    """The values of the file's words on the N texts' scored words that they share characters with.

    Scored words that no word of the file belongs to are left out, among them the empty words between two blanks; both
    these and words of the file without a counterpart are counted and named in a warning. `<EOS>` belongs to no text.
    A text that has less than half of its characters in common with its words gets no attributions.
    names: of the segments, for messages. Raises DataError where most texts are such.
    """
    carried = []
    lost = []
    others = list[int]()
    for row, (tokens, line) in enumerate(zip(words.words, scored, strict=True)):
        values = words.values[row]
        if tokens and tokens[-1] == EOS and (not line or line[-1] != EOS):
            tokens = tokens[:-1]
            values = values[:-1]
        links = align(tokens, line)
        if row not in refused and links.differing > 2 * int(links.shared.sum()):
            others.append(row)
            if 2 * len(others) > len(scored):
                raise DataError(
                    f"{path}: the words of segment '{names[row]}' and of most others are not those of its text: "
                    f"{' '.join(tokens)[:60]!r}, not {' '.join(line)[:60]!r}; name the file of this language pair and "
                    "system."
                )
        elif row not in refused:
            scores = carry_scores(links, values, how)
            left = [*(tokens[token] for token in links.tokens_without), *(line[word] for word in links.words_without)]
            lost += [(row, word) for word in _without_blanks(left)]
            carried.append(scores)
            continue
        carried.append(np.full(len(line), np.nan))
    if lost:
        some = ", ".join(f"{word!r} of '{names[row]}'" for row, word in lost[:MOST_NAMED])
        warnings.warn(
            f"{path}: of {counted(len({row for row, _ in lost}), 'segment')}, {counted(len(lost), 'word')} "
            "without a counterpart in the other tokenisation left out: "
            f"{some}{', …' if len(lost) > MOST_NAMED else ''}",
            stacklevel=2,
        )
    refused = refused | dict.fromkeys(others, "its words in the file are mostly not those of the text")
    attributed, kept = _known(scored, Ragged.from_rows(carried), refused)
    return _Side(words, attributed, kept, dict(sorted(refused.items())))


def _known(scored: Rows, values: Ragged, refused: Mapping[int, str]) -> tuple[Rows, Ragged]:
    """The scored words that have a value, and these values; all words of the texts that are refused."""
    known = [np.isfinite(row) | (number in refused) for number, row in enumerate(values.rows())]
    attributed = tuple(tuple(np.array(line, dtype=object)[kept]) for line, kept in zip(scored, known, strict=True))
    return attributed, Ragged.from_rows(row[kept] for row, kept in zip(values.rows(), known, strict=True))


def _digest(sides: Mapping[Role, _Side]) -> str:
    """16 hexadecimal digits of everything that was read and carried, by role."""
    sha = hashlib.sha256()
    for role, side in sides.items():
        parts: list[tuple[Rows, Ragged]] = [(side.attributed, side.attributions)]
        if side.words is not None:
            parts.append((side.words.words, side.words.values))
            sha.update(b"labels" if side.words.are_labels else b"scores")
        sha.update(role.encode())
        for rows, values in parts:
            sha.update("\n".join("\0".join(row) for row in rows).encode(errors="surrogatepass"))
            sha.update(np.where(np.isnan(values.values), np.nan, values.values).astype("<f8").tobytes())
            sha.update(values.offsets.astype("<i8").tobytes())
    return sha.hexdigest()[:16]
