"""The classics that compare words: error rates, with and without order and shifts; precision, recall and F; ROUGE.

Koehn (2020), Neural Machine Translation, chapter 4; the worked examples are in experiments/mt_evaluation_lecture_2024.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from bmx_grid.core.errors import DataError, UnavailableError
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats
from bmx_grid.metrics._ter import edits
from bmx_grid.metrics.base import Counted, MultiReferenceMetric, text_pairs
from bmx_grid.words.perturbation import Item, Role

Measure = Literal["precision", "recall", "f1"]


@dataclass(frozen=True)
class _WordMetric(Counted):
    """Counts of the words, separated by white space, of a hypothesis and a reference; scores are made of their sums.

    Of several references, the one with the best score counts.

    lowercase: case does not count.
    """

    COUNTS: ClassVar[int]  # how many there are

    lowercase: bool = identity(False)

    def statistics(self, items: Sequence[Item]) -> Floats:
        """float64[n, k] counts."""

        def count(single: Sequence[Item]) -> Floats:
            rows = []
            for reference, hypothesis in text_pairs(single, "reference"):
                rows.append(self._counts(self._words(hypothesis), self._words(reference)))
            # shaped, so that no items give a table without rows
            return np.array(rows, dtype=np.float64).reshape(-1, self.COUNTS)

        return self.best_reference_rows(items, count, self.combine)

    def _build_signature(self, name: str) -> str:
        case = "lc" if self.lowercase else "mixed"
        return f"{name}|nrefs:{self.nrefs}|case:{case}|tok:white space|version:{self.VERSION}"

    def _words(self, text: str) -> list[str]:
        cased = text.lower() if self.lowercase else text
        return cased.split()

    @abstractmethod
    def _counts(self, hypothesis: list[str], reference: list[str]) -> tuple[int, ...]:
        """The counts of a pair."""


@dataclass(frozen=True)
class Wer(_WordMetric):
    """Word error rate: substitutions, insertions and deletions per reference word; 0 is best, above 1 is possible.

    ordered: false counts position-independent errors (PER, Tillmann et al. 1997): max(hypothesis, reference) words less
    those that both have, so that order costs nothing. Of an empty reference the rate is 1 for a hypothesis with words,
    else 0. Lower is better: correlations with human scores are negative if the metric is good.
    """

    COUNTS: ClassVar[int] = 2
    higher_is_better: ClassVar[bool] = False

    ordered: bool = identity(True)

    @property
    def signature(self) -> str:
        return self._build_signature("WER" if self.ordered else "PER")

    def combine(self, sums: Floats) -> Floats:
        """Edits per reference word, from summed counts (edits, reference words)."""
        return _edit_rate(sums)

    def _counts(self, hypothesis: list[str], reference: list[str]) -> tuple[int, ...]:
        if self.ordered:
            from rapidfuzz.distance import Levenshtein

            return Levenshtein.distance(hypothesis, reference), len(reference)
        longer = max(len(hypothesis), len(reference))
        return longer - _count_shared(hypothesis, reference), len(reference)


@dataclass(frozen=True)
class WordMatch(_WordMetric):
    """Precision, recall or F1 of words, each counted at most as often as the other side has it; order costs nothing.

    Two empty texts match (1); a side without words against one with words scores 0. The metric `word_overlap` (`Chrf`
    without characters) is the same F1 but for three things: as in chrF++ a punctuation mark at the end or the begin of
    a word is a word of its own, two empty texts score 0, and it has a short cut for masks.
    """

    COUNTS: ClassVar[int] = 3

    measure: Measure = identity("f1")

    @property
    def signature(self) -> str:
        return self._build_signature(f"words {self.measure}")

    def combine(self, sums: Floats) -> Floats:
        """From summed counts (shared words, hypothesis words, reference words)."""
        shared, hypothesis, reference = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
        # F1 = 2 PR / (P + R) is what both sides share, over the mean of their numbers
        mean = (hypothesis + reference) / 2
        possible = {"precision": hypothesis, "recall": reference, "f1": mean}[self.measure]
        are_empty = (hypothesis == 0) & (reference == 0)
        scores = np.asarray(are_empty, dtype=np.float64)
        np.divide(shared, possible, out=scores, where=possible > 0)
        return scores

    def _counts(self, hypothesis: list[str], reference: list[str]) -> tuple[int, ...]:
        return _count_shared(hypothesis, reference), len(hypothesis), len(reference)


def _count_shared(hypothesis: list[str], reference: list[str]) -> int:
    """How many words both sides have; `&` keeps the smaller count of each."""
    shared = Counter(hypothesis) & Counter(reference)
    return shared.total()


def _edit_rate(sums: Floats) -> Floats:
    """float64[...] edits per word from float64[..., 2] sums; without words 1 for any edits, and 0 for none."""
    n_edits, n_words = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    rates = np.asarray(n_edits > 0, dtype=np.float64)
    np.divide(n_edits, n_words, out=rates, where=n_words > 0)
    return rates


@dataclass(frozen=True)
class Ter(Counted):
    """sacreBLEU's translation edit rate (Snover et al., 2006), divided by 100, bit for bit; 0 is best.

    Of several references: the fewest edits, per word of their mean length.

    normalized: split punctuation off as Tercom does. no_punct: remove punctuation. asian_support: both for Chinese and
    Japanese characters, too. case_sensitive: do not lowercase.
    The score keeps TER's own direction: correlations with human scores are negative if the metric is good.
    An empty reference scores 1 for a hypothesis with words, else 0.
    """

    SCALE: ClassVar[int] = 100
    NORMALIZED_VERSION: ClassVar[int] = 2  # references are normalised twice
    higher_is_better: ClassVar[bool] = False

    normalized: bool = identity(False)
    no_punct: bool = identity(False)
    asian_support: bool = identity(False)
    case_sensitive: bool = identity(False)

    @property
    def signature(self) -> str:
        from sacrebleu import TER

        return self.sacrebleu_signature(TER(**self.library_settings()))

    def fingerprint(self) -> dict[str, Any]:
        """As of every component; results of other settings did not change with the second pass of references."""
        values = super().fingerprint()
        if self.normalized:
            values["version"] = self.NORMALIZED_VERSION
        return values

    def statistics(self, items: Sequence[Item]) -> Floats:
        """float64[n, 2]: edits, and words of the reference."""
        separate = functools.cache(_tercom(*self.library_settings().values()))  # an explainer repeats texts
        hypotheses: list[list[str]] = []
        references: list[list[str]] = []
        counts: list[int] = []
        for item in items:
            texts = self.references_of(item)
            counts.append(len(texts))
            hypothesis = separate(item.text("hypothesis")).split()
            for text in texts:
                # Twice, as sacreBLEU does: with `normalized` the second pass may separate more ("Arthur's,").
                references.append(separate(separate(text)).split())
                hypotheses.append(hypothesis)
        n_edits = edits(hypotheses, references)
        for row in np.flatnonzero(n_edits < 0).tolist():
            raise DataError(
                f"TER: its beam reaches no end for a hypothesis of {len(hypotheses[row]):,} words and a reference of "
                f"{len(references[row]):,}, as sacreBLEU's; leave the segment out, or choose another metric."
            )
        starts = np.cumsum([0, *counts])[:-1]
        fewest = np.minimum.reduceat(n_edits, starts).astype(np.float64)
        lengths = np.array([len(words) for words in references], dtype=np.float64)
        mean_lengths = np.add.reduceat(lengths, starts) / np.array(counts)
        return np.stack([fewest, mean_lengths], axis=1)

    def combine(self, sums: Floats) -> Floats:
        """sacrebleu.TER's corpus score of summed statistics, divided by 100."""
        # the library's score is in percent: times 100 and back may change the last bit
        return np.asarray(100 * _edit_rate(sums) / 100)


@functools.cache
def _tercom(*settings: bool) -> Callable[[str], str]:
    """A function of a text that puts blanks between its words, as Tercom does."""
    from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

    tokenizer = TercomTokenizer(*settings)
    # as sacreBLEU hands texts to it
    return lambda text: tokenizer(text.rstrip())


@dataclass(frozen=True, kw_only=True)
class Rouge(MultiReferenceMetric):
    """The F1 of the package rouge-score, 0 to 1, of the best reference.

    variant: rouge1, rouge2 or rougeL. stemmed: words are compared by Porter's stems.
    Texts are lower-cased and split at all but letters and digits of ASCII, as the package does.
    """

    reads: ClassVar[tuple[Role, ...]] = ("reference", "hypothesis")

    variant: Literal["rouge1", "rouge2", "rougeL"] = identity("rougeL")
    stemmed: bool = identity(False)

    @property
    def signature(self) -> str:
        stemmed = "yes" if self.stemmed else "no"
        return f"{self.variant}|nrefs:{self.nrefs}|stemmed:{stemmed}|version:{self.VERSION}"

    def check(self) -> None:
        _scorer(self.variant, self.stemmed)

    def score(self, items: Sequence[Item]) -> Floats:
        scorer = _scorer(self.variant, self.stemmed)
        scores = []
        for item in items:
            best = scorer.score_multi(self.references_of(item), item.text("hypothesis"))
            scores.append(best[self.variant].fmeasure)
        return np.array(scores, dtype=np.float64)


@functools.cache
def _scorer(variant: str, stemmed: bool) -> Any:
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ModuleNotFoundError as error:
        raise UnavailableError(
            "rouge_1, rouge_2 and rouge_l need the package rouge-score: in a checkout, pip install '.[rouge]'."
        ) from error
    return RougeScorer([variant], use_stemmer=stemmed)
