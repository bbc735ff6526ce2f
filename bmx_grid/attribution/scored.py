"""Scored segments, and how a notebook shows their words."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bmx_grid.attribution.explain import Explanation
from bmx_grid.core.pages import Side, texts_in_notebook
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import pluralize
from bmx_grid.words.segmentation import split_words

if TYPE_CHECKING:
    import pandas as pd

MOST_SHOWN = 5  # segments that a notebook shows


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of N segments with their explanations.

    Attributes:
        scores: float64[N], boosted scores; equal to `base` without a boost.
        base: float64[N], scores of the unboosted metric.
        explanations: N explanations with the attributions of each word, or none without an explainer.
        unboosted: Rows that keep the base score because a side that the recipe reads has no words.

    Example:
        >>> import bmx_grid as bmx
        >>> scored = bmx.load("chrf", "erasure", p=1, w=0.5).explain(["a cat sat"], references=["the cat sat"])
        >>> scored
        Scored(1 segment, explained)
        >>> scored.base.round(3), scored.scores.shape
        (array([0.536]), (1,))
    """

    scores: Floats
    base: Floats
    explanations: Sequence[Explanation]
    unboosted: tuple[int, ...] = ()

    def __repr__(self) -> str:
        explained = ", explained" if self.explanations else ""
        return f"Scored({pluralize(len(self.scores), 'segment')}{explained})"

    def to_frame(self) -> pd.DataFrame:
        """Convert scores and attributions to a DataFrame.

        Returns:
            DataFrame: One row per word: `row` of the texts (from 0), `score`, `base`, `side`, `position` (from 0),
                `word`, `attribution`. Without explanations one row per segment: `row`, `score`, `base`.

        Example:
            >>> import bmx_grid as bmx
            >>> scored = bmx.load("chrf", "erasure").explain(["a cat sat"], references=["the cat sat"])
            >>> scored.to_frame()[["side", "word", "attribution"]].tail(3).round(3)
                     side word  attribution
            3  hypothesis    a       -0.022
            4  hypothesis  cat        0.297
            5  hypothesis  sat        0.297
        """
        import pandas as pd

        rows = np.arange(len(self.scores))
        segments = pd.DataFrame({"row": rows, "score": self.scores, "base": self.base})
        if not self.explanations:
            return segments
        words = []
        for row, explanation in enumerate(self.explanations):
            for side, values in explanation.attributions.items():
                side_words = split_words(explanation.item.text(side))
                for position, (word, value) in enumerate(zip(side_words, values.tolist(), strict=True)):
                    words.append((row, side, position, word, value))
        of_words = pd.DataFrame(words, columns=["row", "side", "position", "word", "attribution"])
        types = {"row": np.int64, "position": np.int64, "attribution": np.float64}
        return segments.merge(of_words.astype(types), on="row")

    def _repr_html_(self) -> str:
        """HTML for a notebook: the first segments with their scores and coloured words."""
        segments = []
        for row, (score, base) in enumerate(itertools.islice(zip(self.scores, self.base, strict=True), MOST_SHOWN)):
            baseline = "" if score == base else f", baseline {base:.4f}"
            sides: list[Side] = []
            if self.explanations:
                explanation = self.explanations[row]
                for side, values in explanation.attributions.items():
                    words = split_words(explanation.item.text(side))
                    sides.append((side, words, values, [False] * len(words)))
            segments.append((f"row {row}: {score:.4f}{baseline}", sides))
        return texts_in_notebook(f"{self!r}.", segments)
