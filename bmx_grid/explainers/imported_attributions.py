"""External explanations: an explainer that is a file, in the same tables and tests as computed ones."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, NoReturn, Self

import numpy as np

from bmx_grid.core.errors import ConfigError, DataError, ExplainError, unknown
from bmx_grid.core.identity import RUNTIME, identity, runtime
from bmx_grid.core.ragged import Floats, Ragged
from bmx_grid.core.wording import pluralize
from bmx_grid.datasets.file_source import FileSource, ImportedFile
from bmx_grid.datasets.imported_files import ROLE_OF_SIDE, WORD_ROLES, read_word_file
from bmx_grid.datasets.mlqe_pe import read_sub_words, word_probabilities
from bmx_grid.datasets.rows_of_files import Ratings, file_rows, ratings_of
from bmx_grid.datasets.span_files import read_spans, span_format
from bmx_grid.explainers.base import Explainer
from bmx_grid.words.alignment import How, align, carry_scores
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.perturbation import BLANK, ROLES, Plan, Role
from bmx_grid.words.tags import EOS, WEIGHTS, Rows, WordScores, shares_of_spans

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet
    from bmx_grid.words.segmentation import PairWords

MOST_NAMED = 5  # words named in a warning
OMITTED = ""  # the word, after all others, that has what spans without words cost: it has no characters


@dataclass(frozen=True, kw_only=True)
class Imported(FileSource, Explainer):
    """Scores or labels of words, or error spans, read from a file and not computed.

    Layouts: `datasets.imported_files`, and of spans `datasets.span_files`.

    They become attributions, low for a suspected error, of the words that are scored: both tokenisations are aligned
    by their characters, and words without a counterpart are left out, counted and named.

    Fields as of `FileSource`; columns: of scores, labels, words, id, system, side and language_pair. With
    {metric} in the path each explainer is for the imported metric of its own name only (and for any metric that scores
    texts).
    errors_are: whether a low or a high value is a suspected error; "auto" as in the layout. Labels need no setting.
    tokens: how to combine the values of several words of the file that make up one scored word.
    sub_words: the same for the sub-words of MLQE-PE's archives, which have log-probabilities; "each" takes them
        unchanged, with that of the end symbol, in place of words, for sentences of another translation too.
    probabilities: probabilities in place of their logarithms.
    weights: of spans by severity; default: those of MQM. A word has minus its share of the spans that
        touch it (`words.tags.shares_of_spans`), an empty word at the end has omissions; of several raters the mean.

    Paths and settings are no identity: it has a digest of the resulting attributions instead.
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
                raise ConfigError(f"{self.KEY}.weights: {unknown('severity', severity, WEIGHTS)}")
            if not 0 <= weight < np.inf:
                raise ConfigError(f"{self.KEY}.weights.{severity} is {weight}; write a number of 0 or more.")

    def recipe_fingerprint(self) -> dict[str, Any]:
        """Who explained, and how values became attributions; not those of single segments."""
        fields: dict[str, Any] = {"type": "Imported", "version": self.VERSION}
        for way in ("name", "errors_are", "tokens", "sub_words", "probabilities"):
            fields[way] = getattr(self, way)
        # weights that are MQM's are left out: written or not, they are the same explainer
        other_weights = {name: weight for name, weight in self.weights.items() if weight != WEIGHTS[name]}
        if other_weights:
            fields["weights"] = other_weights
        return fields

    @property
    def signature(self) -> str:
        return f"imported|explanations:{self.explanations or 'unread'}|version:{self.VERSION}"

    @property
    def only_for_metric(self) -> str | None:
        return self.name if self.one_metric else None

    def expand(self, name: str, sets: Sequence[SegmentSet]) -> Mapping[str, Self]:
        """The explainers that this option expands to, as of `FileSource`."""
        one_metric = not self.files and self.has("metric")
        members = super().expand(name, sets)
        return {label: dataclasses.replace(member, one_metric=one_metric) for label, member in members.items()}

    def load_attributions(self, segments: SegmentSet, words: PairWords) -> tuple[Explainer, AttributionSet]:
        """The attributions of these segments, and this explainer with their digest.

        Raises DataMissingError without a file or row of the language pair; DataError naming file, row and value if a
        row is malformed or does not fit the segments.
        """
        sides: dict[Role, _Side] = {}
        for name, path in self.paths(segments).items():
            for role, side in self._read_values(path, ROLE_OF_SIDE.get(name), segments, words).items():
                if role in sides:
                    raise DataError(f"{path}: holds word scores of the {role}, and so does another file; choose one.")
                sides[role] = side
        # in one order, whatever that of the files: it is part of the digest
        sides = {role: sides[role] for role in ROLES if role in sides}
        refused: dict[int, str] = {}
        for side in sides.values():
            refused |= side.refused
        explanations = AttributionSet(
            base_scores=np.full(len(segments), np.nan),  # the file has none
            by_role={role: side.attributions for role, side in sides.items()},
            attributed={role: side.attributed for role, side in sides.items()},
            words={role: side.words for role, side in sides.items() if side.words is not None},
            refused=refused,
        )
        return dataclasses.replace(self, explanations=_digest(sides)), explanations

    def ratings(self, segments: SegmentSet) -> Ratings | None:
        """Error spans of each rater in N segments; None if the files hold no spans. Raises as `load_attributions`."""
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

    def _read_values(self, path: Path, role: Role | None, segments: SegmentSet, words: PairWords) -> dict[Role, _Side]:
        """The content of a file, by role. role: in the file's name; None without one."""
        file_name = path.name.lower()
        hypotheses = words.rows("hypothesis", segments.texts("hypothesis"))
        if file_name.endswith(".tar.gz"):
            return {"hypothesis": self._from_sub_words(path, segments, hypotheses)}
        if span_format(path):
            ratings = ratings_of(read_spans(path), segments, self)
            return {"hypothesis": self._from_ratings(ratings, segments, hypotheses)}
        file = read_word_file(path, self)
        if "side" in file.rows:
            roles = [name for name in ROLES if (file.rows.side == name).any()]
        elif role is not None:
            roles = [role]
        else:
            roles = ["source" if file_name.startswith("source.") else "hypothesis"]
        sides = {}
        for name in roles:
            sides[name] = self._from_words(file, name, segments, words.rows(name, segments.texts(name)))
        return sides

    def _from_ratings(self, ratings: Ratings, segments: SegmentSet, scored: Rows) -> _Side:
        """Minus the shares of the error spans that raters marked in N texts, the mean over the raters of a text."""
        weights = {**WEIGHTS, **self.weights}
        attributed = tuple((*line, OMITTED) for line in scored)
        refused = {}
        values = []
        texts = segments.texts("hypothesis")
        for row, (text, raters, line) in enumerate(zip(texts, ratings, scored, strict=True)):
            if raters:
                shares = [shares_of_spans(text, spans, line, weights) for _, spans in raters]
                values.append(np.mean(shares, axis=0))
            else:
                refused[row] = "nobody marked errors in it"
                values.append(np.full(len(line) + 1, np.nan))
        return _Side(None, attributed, Ragged.from_rows(values), refused)

    def _from_words(self, file: ImportedFile, role: Role, segments: SegmentSet, scored: Rows) -> _Side:
        """The file's values for N texts, on its own words and on the scored ones.

        A file without words has a value per word of the published tags, or else per scored word; whichever fits all
        texts. Zero-width spaces that have a tag of their own may be left out.
        """
        if "side" in file.rows:
            rows_of_role = file.rows[file.rows.side == role]
            file = dataclasses.replace(file, rows=rows_of_role.drop(columns="side"))
        rows = file_rows(file, segments, self)
        tags = segments.judgements.tags.get(role)
        published: list[Rows] = []
        if tags is not None:
            published = [tags.words, tuple(map(_drop_blanks, tags.words))]
        words = tuple(rows.words) if "words" in rows else _fitting(file.path, rows, [*published, scored])
        if file.are_labels and published:
            _check_published(file.path, rows, words, published)
        low_is_error = file.low_is_error
        if self.errors_are != "auto" and not file.are_labels:  # labels define themselves which is an error
            low_is_error = self.errors_are == "low"
        sign = 1.0 if low_is_error else -1.0
        refused = {}
        lines = []
        values = []
        for row, (value, line) in enumerate(zip(rows.value, words, strict=True)):
            if value is None:
                refused[row] = "it is not explained in the file"
                line = line or scored[row]
                values.append(np.full(len(line), np.nan))
            else:
                values.append(sign * value + 0.0)  # no -0.0: one digest for equal values
            lines.append(line)
        word_scores = WordScores(tuple(lines), Ragged.from_rows(values), file.are_labels)
        return _project_values(word_scores, scored, refused, self.tokens, segments, file.path)

    def _from_sub_words(self, path: Path, segments: SegmentSet, scored: Rows) -> _Side:
        """Values of an archive of MLQE-PE: log-probabilities of sub-words, combined to words of the N texts.

        With sub_words="each" the sub-words themselves are attributed.
        """
        pieces, logs = read_sub_words(path, segments.language_pair)
        if len(pieces) != len(segments.all_ids):
            raise DataError(
                f"{path}: sub-words of {pluralize(len(pieces), 'sentence')}, but {segments.dataset} "
                f"{segments.language_pair} has {pluralize(len(segments.all_ids), 'segment')}; name the archive of this "
                "data set."
            )
        # the archive has all segments of the data set, `segments` perhaps a part
        row_of_id = {name: row for row, name in enumerate(segments.all_ids)}
        chosen = [row_of_id[segment.id] for segment in segments.segments]
        pieces = tuple(pieces[row] for row in chosen)
        logs = Ragged.from_rows(logs[row] for row in chosen)
        if self.sub_words == "each":
            return _Side(None, pieces, self._from_logs(logs), {})
        scored_logs, other_translations = word_probabilities(pieces, logs, scored, self.sub_words)
        refused = dict.fromkeys(other_translations, "its sub-words in the file are those of another translation")
        attributed, attributed_logs = _select_explained(scored, scored_logs, refused)
        tags = segments.judgements.tags.get("hypothesis")
        tagged = scored
        tagged_logs = scored_logs
        if tags is not None:
            # the published tags are of other words
            tagged = tags.words
            tagged_logs, _ = word_probabilities(pieces, logs, tagged, self.sub_words)
        word_scores = WordScores(tagged, self._from_logs(tagged_logs), False)
        return _Side(word_scores, attributed, self._from_logs(attributed_logs), refused)

    def _from_logs(self, logs: Ragged) -> Ragged:
        values = np.exp(logs.values) if self.probabilities else logs.values
        sign = -1.0 if self.errors_are == "high" else 1.0
        return Ragged(sign * values, logs.offsets)


class _Side(NamedTuple):
    """A file's values for one side of N segments, on its own words and on the scored ones.

    words: of its own, low for a suspected error. attributed, attributions: the scored words with a value, and their
    values; NaN for the segments in `refused`, which are not explained: their positions, and why.
    """

    words: WordScores | None
    attributed: Rows
    attributions: Ragged
    refused: dict[int, str]


def _drop_blanks(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in words if BLANK.sub("", word))


def _fitting(path: Path, rows: Any, choices: Sequence[Rows]) -> Rows:
    """The first of the choices of words with as many as there are values, in every text. Raises DataError for none."""
    lengths = np.array([-1 if value is None else len(value) for value in rows.value])
    has_values = lengths >= 0
    first_wrong_rows = []
    for words in choices:
        n_words = [len(line) for line in words]
        differs = has_values & (lengths != n_words)
        if not differs.any():
            return words
        first_wrong_rows.append(int(np.argmax(differs)))
    row = first_wrong_rows[0]
    raise DataError(
        f"{path}, {rows.place.iloc[row]}: {pluralize(int(lengths[row]), 'value')} for "
        f"{pluralize(len(choices[0][row]), 'word')}; write one value per word, or add the words."
    )


def _check_published(path: Path, rows: Any, words: Rows, published: Sequence[Rows]) -> None:
    """Raise DataError for labels of other words than the published tags'."""
    for row, (line, *choices) in enumerate(zip(words, *published, strict=True)):
        if line and line not in choices:
            tagged = choices[0]
            raise DataError(
                f"{path}, {rows.place.iloc[row]}: the words {' '.join(line)[:60]!r} are not the {len(tagged)} that "
                f"have a published tag, {' '.join(tagged)[:60]!r}; give one label per word, or name the file of "
                "this language pair."
            )


def _project_values(
    words: WordScores, scored: Rows, refused: dict[int, str], how: How, segments: SegmentSet, path: Path
) -> _Side:
    """The values of the file's words on the N texts' scored words that they share characters with.

    Scored words that no word of the file belongs to are left out, among them the empty words between two blanks; both
    these and words of the file without a counterpart are counted and named in a warning. `<EOS>` belongs to no text.
    A text that has less than half of its characters in common with its words gets no attributions.
    segments, path: for messages. Raises DataError where most texts are such.
    """
    carried = []
    lost: list[tuple[int, str]] = []
    n_of_other_texts = 0
    refused = dict(refused)
    for row, (tokens, line) in enumerate(zip(words.words, scored, strict=True)):
        if row in refused:
            carried.append(np.full(len(line), np.nan))
            continue
        values = words.values[row]
        # the end symbol is no word of the text, unless the text is scored with it
        ends_with_symbol = bool(line) and line[-1] == EOS
        if tokens and tokens[-1] == EOS and not ends_with_symbol:
            tokens = tokens[:-1]
            values = values[:-1]
        links = align(tokens, line)
        # `differing` counts characters of both sides, `shared` those of one
        if links.differing > 2 * int(links.shared.sum()):
            n_of_other_texts += 1
            if 2 * n_of_other_texts > len(scored):
                name = segments.segments[row].name
                raise DataError(
                    f"{path}: the words of segment '{name}' and of most others are not those of its text: "
                    f"{' '.join(tokens)[:60]!r}, not {' '.join(line)[:60]!r}; name the file of this language pair and "
                    "system."
                )
            refused[row] = "its words in the file are mostly not those of the text"
            carried.append(np.full(len(line), np.nan))
            continue
        carried.append(carry_scores(links, values, how))
        unlinked = [tokens[token] for token in links.tokens_without]
        unlinked += [line[word] for word in links.words_without]
        lost += [(row, word) for word in _drop_blanks(unlinked)]
    if lost:
        _warn_of_lost(path, lost, segments)
    attributed, attributions = _select_explained(scored, Ragged.from_rows(carried), refused)
    return _Side(words, attributed, attributions, dict(sorted(refused.items())))


def _warn_of_lost(path: Path, lost: Sequence[tuple[int, str]], segments: SegmentSet) -> None:
    """Warn of words that were left out. lost: row of the segment, and word."""
    n_segments = len({row for row, _ in lost})
    named = [f"{word!r} of '{segments.segments[row].name}'" for row, word in lost[:MOST_NAMED]]
    if len(lost) > MOST_NAMED:
        named.append("…")
    warnings.warn(
        f"{path}: of {pluralize(n_segments, 'segment')}, {pluralize(len(lost), 'word')} "
        f"without a counterpart in the other tokenisation left out: {', '.join(named)}",
        stacklevel=3,
    )


def _select_explained(scored: Rows, values: Ragged, refused: Mapping[int, str]) -> tuple[Rows, Ragged]:
    """The scored words that have a value, and these values; all words of the texts that are refused."""
    attributed = []
    kept_values = []
    for row, (line, line_values) in enumerate(zip(scored, values.rows(), strict=True)):
        is_kept = np.isfinite(line_values) | (row in refused)
        attributed.append(tuple(itertools.compress(line, is_kept)))
        kept_values.append(line_values[is_kept])
    return tuple(attributed), Ragged.from_rows(kept_values)


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
            lines = "\n".join("\0".join(row) for row in rows)
            sha.update(lines.encode(errors="surrogatepass"))
            # NaN has many bit patterns: they become a single one
            numbers = np.where(np.isnan(values.values), np.nan, values.values)
            sha.update(numbers.astype("<f8").tobytes())
            sha.update(values.offsets.astype("<i8").tobytes())
    return sha.hexdigest()[:16]
