"""BARTScore: the likelihood of one text conditional on another (Yuan et al., 2021), for any translation model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Literal, Self, cast

import numpy as np

from bmx_grid.core.identity import identity, runtime
from bmx_grid.core.ragged import Floats
from bmx_grid.guests.datscore.language_codes import check_translator, languages_of, load_translator
from bmx_grid.guests.datscore.translation import target_log_probabilities, token_sums
from bmx_grid.metrics.encoders import ModelMetric
from bmx_grid.models.loading import Device, Dtype, LoadedModel
from bmx_grid.words.perturbation import ROLES, Item, Role

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet

Length = Literal["mean", "sum"]
Direction = Literal["source->hypothesis", "hypothesis->source", "reference->hypothesis", "hypothesis->reference", "f"]


@dataclass(frozen=True, kw_only=True)
class Seq2SeqMetric(ModelMetric):
    """A metric on one sequence-to-sequence model: M2M-100, NLLB, mBART or BART.

    model, revision, dtype, max_length, device, batch_tokens: as in `NeuralMetric`.
    source_language, target_language: of the texts, as a data set ("de") or the model ("deu_Latn") names them; None
        takes them from the language pair that is evaluated.
    length: mean divides a score by its number of tokens, as BARTScore's code does; sum does not (eq. 1 of DATScore).
    language_code: the token of the target's language counts as a token of the target (scored) or not (excluded).
    Other special tokens count: the end of the text, and the first tokens of the model's labels.
    """

    source_language: str | None = identity(None)
    target_language: str | None = identity(None)
    length: Length = identity("mean")
    language_code: Literal["excluded", "scored"] = identity("excluded")
    dtype: Dtype = identity("float32")
    max_length: int | None = identity(None, least=4)
    device: Device = runtime("auto")
    batch_tokens: int | None = runtime(None, least=1)

    def check(self) -> None:
        check_translator(self.model, self.revision)

    def fit(self, segments: SegmentSet) -> Self:
        """This metric with the languages of a set, if its own are None."""
        return cast(Self, super().fit(segments)).set_languages(segments.language_pair)

    def set_languages(self, language_pair: str) -> Self:
        source, _, target = language_pair.partition("-")
        source_language = self.source_language or source or None
        target_language = self.target_language or target or None
        return dataclasses.replace(self, source_language=source_language, target_language=target_language)

    def load_model(self) -> LoadedModel:
        """The model, loaded on the first call. Raises UnavailableError."""
        return load_translator(self.model, self.revision, self.dtype, self.device)

    def language_of(self, text: str) -> str | None:
        """The language of a text by its name: a role, or a role and the language it is translated to, "source.fr"."""
        role, _, language = text.partition(".")
        if language:
            return language
        return self.source_language if role == "source" else self.target_language

    def sums(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        source: str | None,
        target: str | None,
        *,
        with_entropies: bool = True,
    ) -> Floats:
        """float64[n, 4] sums (`token_sums`) of n targets conditional on n sources, in these languages.

        Raises ConfigError for languages that the model does not know.
        """
        loaded = self.load_model()
        languages = languages_of(loaded, source, target)
        likely, entropies, is_code = target_log_probabilities(
            loaded,
            sources,
            targets,
            languages,
            batch_tokens=self.batch_tokens,
            max_length=self.max_length,
            with_entropies=with_entropies,
        )
        is_counted = (self.language_code == "scored") | ~is_code
        return token_sums(likely, entropies, is_counted)


def score_of(sums: Floats, *, entropy: bool, length: Length) -> Floats:
    """float64[...] scores of a direction from float64[..., 4] sums: eq. 1, with weights 1 or the entropies (eq. 4).

    length: mean divides by the number of tokens. A target without any token scores 0.
    """
    total = sums[..., 2 if entropy else 1]
    if length == "sum":
        return np.asarray(total, dtype=np.float64)
    n_tokens = sums[..., 0]
    means = np.divide(total, n_tokens, out=np.zeros_like(total), where=n_tokens > 0)
    return np.asarray(means)


@dataclass(frozen=True, kw_only=True)
class BartScore(Seq2SeqMetric):
    """The mean (or sum) of the log-probabilities of the target's tokens, natural logarithms: at most 0.

    direction: the source and the target; f is the mean of both directions between reference and hypothesis
        (the authors call reference->hypothesis precision and hypothesis->reference recall).
    The empty target consists of its special tokens.
    """

    direction: Direction = identity("f")

    @property
    def reads(self) -> tuple[Role, ...]:
        roles = set(chain.from_iterable(self._directions()))
        return tuple(role for role in ROLES if role in roles)

    def count_texts(self, item: Item, copies: int = 1) -> int:
        """Passes of the model: two for f."""
        return copies * len(self._directions())

    def score(self, items: Sequence[Item]) -> Floats:
        scores = np.zeros(len(items))
        # Without items the model is not loaded.
        if not items:
            return scores
        directions = self._directions()
        for source, target in directions:
            sums = self.sums(
                [item.text(source) for item in items],
                [item.text(target) for item in items],
                self.language_of(source),
                self.language_of(target),
                with_entropies=False,
            )
            scores += score_of(sums, entropy=False, length=self.length) / len(directions)
        return scores

    def _directions(self) -> list[tuple[Role, Role]]:
        """The roles of source and target, by direction."""
        if self.direction == "f":
            return [("reference", "hypothesis"), ("hypothesis", "reference")]
        source, target = self.direction.split("->")
        return [(cast(Role, source), cast(Role, target))]
