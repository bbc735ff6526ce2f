"""Scores of a metric and attributions of an explainer for a set of texts, computed or read from a file."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bmx_grid.core.ragged import Floats, Ragged, concatenate_rows, row_minimum
from bmx_grid.words.perturbation import Role
from bmx_grid.words.tags import Rows, WordScores


@dataclass(frozen=True, eq=False)
class AttributionSet:
    """Scores and explanations of N items as arrays.

    Attributes:
        base_scores: float64[N] scores of the metric alone; NaN if missing.
        by_role: N rows of attributions of each explained role (ragged); NaN for all words of an item that is not
            explained. Empty without an explainer.
        statistics: float64[N, k] of a metric that has its own; None without.
        systems: scores of whole systems by name, if the scores are from a file.
        attributed: the words that attributions belong to, by role, if they are from a file; else these are all words
            of the text.
        words: a file's scores of its own words, `<EOS>` included, by role: low for a suspected error.
        refused: positions of the items that a file does not explain, and why.
    """

    base_scores: Floats
    by_role: Mapping[Role, Ragged]
    statistics: Floats | None = None
    systems: Mapping[str, float] = field(default_factory=dict)
    attributed: Mapping[Role, Rows] = field(default_factory=dict)
    words: Mapping[Role, WordScores] = field(default_factory=dict)
    refused: Mapping[int, str] = field(default_factory=dict)

    @functools.cached_property
    def hypothesis(self) -> Ragged:
        """N rows of attributions of the hypothesis; empty ones without attributions."""
        return self.by_role.get("hypothesis", self._no_words())

    @functools.cached_property
    def ground_truth(self) -> Ragged:
        """N rows of attributions of all texts except the hypothesis, one text after the other."""
        others = [rows for role, rows in self.by_role.items() if role != "hypothesis"]
        if not others:
            return self._no_words()
        return functools.reduce(concatenate_rows, others)

    @property
    def n_unexplained(self) -> int:
        """How many items have an undefined attribution."""
        is_undefined = [np.isnan(row_minimum(rows)) for rows in self.by_role.values()]
        return int(np.any(is_undefined, axis=0).sum())

    def _no_words(self) -> Ragged:
        """N empty rows."""
        offsets = np.zeros(len(self.base_scores) + 1, dtype=np.int64)
        return Ragged(np.empty(0), offsets)
