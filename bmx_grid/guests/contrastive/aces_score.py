"""ACES-Score: the weighted sum of a metric's tau in ten categories of errors (Amrhein et al. 2022).

Categories and weights are those of the publisher's evaluation (EdinburghNLP/ACES, aces/cli/evaluate.py): tau of a
category is the mean over its phenomena.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.evaluations.base import Estimate, Measured, SettingRow
from bmx_grid.measures.resampling import interval, ratio, resampled_sums, sums_by

SCORE = "ACES-Score"  # in place of a category
WEIGHTS = {
    "addition": 5.0,
    "omission": 5.0,
    "mistranslation": 5.0,
    "untranslated": 1.0,
    "do not translate": 1.0,
    "overtranslation": 5.0,
    "undertranslation": 5.0,
    "real-world knowledge": 1.0,
    "wrong language": 1.0,
    "punctuation": 0.1,
}
PHENOMENA = {
    "addition": "addition",
    "omission": "omission",
    "mistranslation": """
        ambiguous-translation-wrong-discourse-connective-since-causal
        ambiguous-translation-wrong-discourse-connective-since-temporal
        ambiguous-translation-wrong-discourse-connective-while-contrast
        ambiguous-translation-wrong-discourse-connective-while-temporal
        ambiguous-translation-wrong-gender-female-anti ambiguous-translation-wrong-gender-female-pro
        ambiguous-translation-wrong-gender-male-anti ambiguous-translation-wrong-gender-male-pro
        ambiguous-translation-wrong-sense-frequent ambiguous-translation-wrong-sense-infrequent
        anaphoric_group_it-they:deletion anaphoric_group_it-they:substitution
        anaphoric_intra_non-subject_it:deletion anaphoric_intra_non-subject_it:substitution
        anaphoric_intra_subject_it:deletion anaphoric_intra_subject_it:substitution
        anaphoric_intra_they:deletion anaphoric_intra_they:substitution
        anaphoric_singular_they:deletion anaphoric_singular_they:substitution
        coreference-based-on-commonsense
        hallucination-date-time
        hallucination-named-entity-level-1 hallucination-named-entity-level-2 hallucination-named-entity-level-3
        hallucination-number-level-1 hallucination-number-level-2 hallucination-number-level-3
        hallucination-real-data-vs-ref-word hallucination-real-data-vs-synonym
        hallucination-unit-conversion-amount-matches-ref hallucination-unit-conversion-unit-matches-ref
        lexical-overlap
        modal_verb:deletion modal_verb:substitution
        nonsense
        ordering-mismatch
        overly-literal-vs-correct-idiom overly-literal-vs-explanation overly-literal-vs-ref-word
        overly-literal-vs-synonym
        pleonastic_it:deletion pleonastic_it:substitution
        xnli-addition-contradiction xnli-addition-neutral xnli-omission-contradiction xnli-omission-neutral
    """,
    "untranslated": "copy-source untranslated-vs-ref-word untranslated-vs-synonym",
    "do not translate": "do-not-translate",
    "overtranslation": "hyponym-replacement",
    "undertranslation": "hypernym-replacement",
    "real-world knowledge": """
        antonym-replacement
        commonsense-only-ref-ambiguous commonsense-src-and-ref-ambiguous
        real-world-knowledge-entailment
        real-world-knowledge-hypernym-vs-distractor real-world-knowledge-hypernym-vs-hyponym
        real-world-knowledge-synonym-vs-antonym
    """,
    "wrong language": "similar-language-high similar-language-low",
    "punctuation": """
        punctuation:deletion_all punctuation:deletion_commas punctuation:deletion_quotes
        punctuation:statement-to-question
    """,
}
CATEGORY = {name: category for category, names in PHENOMENA.items() for name in names.split()}


@dataclass(frozen=True)
class AcesRow(SettingRow):
    """One row of aces_score.parquet: tau of a point in a category of ACES, or the ACES-Score, with a 95 % interval.

    language_pair: "all" for all together. category: of errors, or "ACES-Score", the sum of weight x tau over the ten
    categories. tau: of a category the mean over its phenomena; NaN for a category without pairs, and then for the
    score. n_phenomena, n_pairs: that it is of.
    """

    KEY = ("language_pair", "category", "point")

    language_pair: str
    category: str
    point: str
    weight: float
    tau: Measured
    n_phenomena: int
    n_pairs: int


def is_of_aces(phenomena: Sequence[str | None]) -> bool:
    """Whether all phenomena are those of ACES."""
    return len(phenomena) > 0 and all(name in CATEGORY for name in phenomena)


def aces_rows(
    right: Flags, phenomena: NDArray[np.object_], clusters: Ints, names: tuple[str, str], resamples: int, seed: int
) -> list[AcesRow]:
    """The rows of one point: the score, then each category.

    right: bool[N] whether the better output of a pair has the higher score. phenomena, clusters: of each pair.
    names: language pair and point.
    """
    known, phenomenon = np.unique(phenomena.astype(str), return_inverse=True)
    of_phenomenon = phenomenon[:, None] == np.arange(len(known))
    # The columns of the sums: how many pairs of each phenomenon are right, then how many there are.
    columns = np.concatenate([of_phenomenon & right[:, None], of_phenomenon], axis=1).astype(np.float64)
    sums = sums_by(clusters, columns)
    category = np.array([CATEGORY[name] for name in known])

    def compute(sums: Floats) -> Floats:
        return _scores(sums, category)

    values = compute(sums.sum(axis=0, keepdims=True))[0]
    samples = resampled_sums(compute, sums, resamples, seed)
    rows = []
    for place, name in enumerate((SCORE, *WEIGHTS)):
        is_counted = np.full(len(known), True) if name == SCORE else category == name
        low, high = interval(samples[:, place], len(sums))
        row = AcesRow(
            language_pair=names[0],
            category=name,
            point=names[1],
            weight=WEIGHTS.get(name, 1.0),
            tau=Estimate(float(values[place]), low, high),
            n_phenomena=int(is_counted.sum()),
            n_pairs=int(of_phenomenon[:, is_counted].sum()),
        )
        rows.append(row)
    return rows


def _scores(sums: Floats, category: NDArray[np.str_]) -> Floats:
    """float64[R, 11] the score and tau of each category, from float64[R, 2 P] sums of P phenomena."""
    right, n_pairs = np.split(sums, 2, axis=1)
    tau = 2 * ratio(right, n_pairs) - 1
    # A resample may lack a phenomenon.
    is_known = np.isfinite(tau)
    of_categories = []
    for name in WEIGHTS:
        is_counted = is_known & (category == name)
        total = np.where(is_counted, tau, 0.0).sum(axis=1)
        of_categories.append(ratio(total, is_counted.sum(axis=1)))
    by_category = np.stack(of_categories, axis=1)
    score = by_category @ np.array(list(WEIGHTS.values()))
    return np.column_stack([score, by_category])
