"""Explanations made elsewhere: an explainer that is a file, in the same tables and tests as those made here."""

from __future__ import annotations

import dataclasses
import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import DataError, DataMissingError, ExplainError
from bmx_grid.core.identity import identity, runtime
from bmx_grid.core.ragged import Ragged
from bmx_grid.core.wording import counted
from bmx_grid.datasets.imported import FromFile
from bmx_grid.datasets.imported_files import SIDES, WORD_ROLES, read_word_file
from bmx_grid.datasets.imported_words import Matched, carried, own_words, read_sub_words, word_probabilities
from bmx_grid.datasets.mlqe_pe import pair_of
from bmx_grid.explainers.base import Explainer, GivenWords
from bmx_grid.words.alignment import How
from bmx_grid.words.perturbation import ROLES as TEXTS
from bmx_grid.words.perturbation import Plan, Role
from bmx_grid.words.tags import Rows, WordScores

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet
    from bmx_grid.words.segmentation import PairWords

LISTED = 30  # segments named in a warning


@dataclass(frozen=True, kw_only=True)
class Imported(FromFile, Explainer):
    """Scores or labels of words, read from a file (`datasets.imported_files` says which layouts) and not computed.

    They become attributions, low for a suspected error, of the words that are scored: both tokenisations are aligned
    by their characters, and what has no counterpart is left out, counted and named.

    Fields as of `FromFile`; columns: of scores, labels, error_spans, words, id, system, side and language_pair. With
    {metric} in the path each explainer is for the imported metric of its own name only (and for any metric that scores
    texts).
    errors_are: whether a low or a high value is a suspected error; "auto" as the layout says. Labels say it themselves.
    tokens: what becomes of the values of several words of the file that make up one scored word.
    sub_words: the same for the sub-words of MLQE-PE's archives, of which log-probabilities are given; "each" takes them
        as they are, with that of the end symbol, in place of words, for sentences of another translation too.
    probabilities: the exponential of these: probabilities in place of their logarithms.

    Paths and ways are no identity: what was read and made of it is there, as a digest.
    """

    KEY: ClassVar[str] = "explainer.imported"
    ROLES: ClassVar[tuple[str, ...]] = WORD_ROLES
    PART: ClassVar[str] = "side"

    errors_are: Literal["auto", "low", "high"] = runtime("auto")
    tokens: How = runtime("mean")
    sub_words: Literal["sum", "mean", "min", "max", "each"] = runtime("sum")
    probabilities: bool = runtime(False)
    explanations: str = identity("")
    one_metric: bool = runtime(False)

    def recipe_fingerprint(self) -> dict[str, Any]:
        """Who explained, and how values became attributions; not those of single segments."""
        ways = ("name", "errors_are", "tokens", "sub_words", "probabilities")
        return {"type": "Imported", "version": self.VERSION, **{way: getattr(self, way) for way in ways}}

    @property
    def signature(self) -> str:
        return f"imported|explanations:{self.explanations or 'unread'}|version:{self.VERSION}"

    @property
    def of_metric(self) -> str | None:
        return self.name if self.one_metric else None

    def members(self, name: str, sets: Sequence[SegmentSet]) -> Mapping[str, Self]:
        """The explainers that this option stands for, as of `FromFile`."""
        members = super().members(name, sets)
        if self.files or not self.pattern().has("metric"):
            return members
        return {label: dataclasses.replace(member, one_metric=True) for label, member in members.items()}

    def given(self, segments: SegmentSet, words: PairWords) -> tuple[Explainer, GivenWords]:
        """What the files say of these segments, and this explainer with its digest.

        Raises DataMissingError where there is no file or row of the language pair; DataError naming file, row and value
        where a row is not as it must be or does not fit the segments.
        """
        paths = self.paths(segments)
        found: dict[Role, Matched] = {}
        for name, path in paths.items():
            for role, one in self._read(path, SIDES.get(name), segments, words).items():
                if role in found:
                    raise DataError(f"{path}: holds word scores of the {role}, and so does another file; name one.")
                found[role] = one
        ordered = {role: found[role] for role in TEXTS if role in found}
        _warn_of_refused(ordered, segments, ", ".join(map(str, paths.values())))
        read = GivenWords(
            attributions={role: one.attributions for role, one in ordered.items()},
            attributed={role: one.attributed for role, one in ordered.items()},
            words={role: one.words for role, one in ordered.items() if one.words is not None},
            refused={at: why for one in ordered.values() for at, why in one.refused.items()},
        )
        return dataclasses.replace(self, explanations=_digest(ordered)), read

    def plan(self, words: tuple[str, ...], rng: np.random.Generator) -> NoReturn:
        raise ExplainError(
            f"the explainer '{self.name}' is a file of explanations made elsewhere, and cannot explain other texts; "
            "name an explainer that does."
        )

    def attribute(self, plan: Plan, scores: NDArray[np.float64]) -> NoReturn:
        self.plan((), np.random.default_rng(0))

    def count_texts(self, n_words: int) -> NoReturn:
        self.plan((), np.random.default_rng(0))

    def _read(self, path: Path, side: Role | None, segments: SegmentSet, words: PairWords) -> dict[Role, Matched]:
        role = side or ("source" if path.name.lower().startswith("source.") else "hypothesis")
        if path.name.lower().endswith(".tar.gz"):
            return {"hypothesis": self._of_sub_words(path, segments, words)}
        file = read_word_file(path, self.reading())
        roles = [one for one in TEXTS if one in set(file.rows.side)] if "side" in file.rows else [role]
        low = file.low_is_error if self.errors_are == "auto" or file.are_labels else self.errors_are == "low"
        names = [one.name for one in segments.segments]
        found = {}
        for one in roles:
            scored = scored_words(segments, one, words)
            own, refused = own_words(file, one, segments, scored, self, low)
            found[one] = carried(own, scored, refused, self.tokens, names, str(path))
        return found

    def _of_sub_words(self, path: Path, segments: SegmentSet, words: PairWords) -> Matched:
        pair = pair_of(path)
        if pair != segments.language_pair:
            raise DataMissingError(f"{path} is of {pair}")
        read = read_sub_words(path, pair)
        if len(read.pieces) != len(segments.all_ids):
            raise DataError(
                f"{path}: sub-words of {counted(len(read.pieces), 'sentence')}, but {segments.dataset} {pair} has "
                f"{counted(len(segments.all_ids), 'segment')}; name the archive of this data set."
            )
        place = {one: number for number, one in enumerate(segments.all_ids)}
        sub_words = read.take([place[one.id] for one in segments.segments])
        if self.sub_words == "each":
            pieces, values = sub_words.with_end()
            return Matched(None, pieces, self._of_logs(values), {})
        scored = scored_words(segments, "hypothesis", words)
        found, other_text = word_probabilities(sub_words, scored, self.sub_words)
        refused = dict.fromkeys(other_text, "its sub-words in the file are those of another translation")
        attributed, rows = [], []
        for at, line in enumerate(scored):
            own = found[at]
            kept = np.full(len(line), True) if at in refused else np.isfinite(own)
            attributed.append(tuple(word for word, known in zip(line, kept.tolist(), strict=True) if known))
            rows.append(own[kept])
        tags = segments.judgements.tags.get("hypothesis")
        own_words = scored if tags is None else tags.words
        of_own = found if tags is None else word_probabilities(sub_words, own_words, self.sub_words)[0]
        published = WordScores(own_words, self._of_logs(of_own), False)
        return Matched(published, tuple(attributed), self._of_logs(Ragged.from_rows(rows)), refused)

    def _of_logs(self, values: Ragged) -> Ragged:
        sign = -1.0 if self.errors_are == "high" else 1.0
        made = np.exp(values.values) if self.probabilities else values.values
        return Ragged(sign * made, values.offsets)


def scored_words(segments: SegmentSet, role: Role, words: PairWords) -> Rows:
    """The words of the texts of a role as they are scored."""
    return tuple(words.words(role, text) for text in segments.texts(role))


def _warn_of_refused(found: Mapping[Role, Matched], segments: SegmentSet, where: str) -> None:
    for role, one in found.items():
        if one.refused:
            names = [segments.segments[at].name for at in one.refused]
            more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
            reasons = ", ".join(dict.fromkeys(one.refused.values()))
            warnings.warn(
                f"{where}: the {role} of {counted(len(names), 'segment')} of {segments.language_pair} has no "
                f"attributions ({reasons}): {', '.join(names[:LISTED])}{more}",
                stacklevel=2,
            )


def _digest(found: Mapping[Role, Matched]) -> str:
    """16 hexadecimal digits of everything that was read and carried, by role."""
    sha = hashlib.sha256()
    for role, one in found.items():
        parts: list[tuple[Rows, Ragged]] = [(one.attributed, one.attributions)]
        if one.words is not None:
            parts.append((one.words.words, one.words.values))
            sha.update(b"labels" if one.words.are_labels else b"scores")
        sha.update(role.encode())
        for rows, values in parts:
            sha.update("\n".join("\0".join(row) for row in rows).encode(errors="surrogatepass"))
            sha.update(np.where(np.isnan(values.values), np.nan, values.values).astype("<f8").tobytes())
            sha.update(values.offsets.astype("<i8").tobytes())
    return sha.hexdigest()[:16]
