"""Input marginalization: the score against what it would be with likely other words (paper, appendix D).

A masked language model reads the side with one word masked. The tokens that it finds more likely than
`delta` are the candidates for that place, and

    attribution = score of the side - sum over candidates of weight x score of the side with the candidate.

After Kim et al., 2020 (Interpretation of NLP models through input marginalization).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.errors import ConfigError, ExplainError
from bmx_grid.explainers.base import Explainer
from bmx_grid.identity import identity, runtime
from bmx_grid.models.files import check_model, model_identity
from bmx_grid.models.loading import Device, Dtype
from bmx_grid.models.masked_lm import MaskedLM, load_masked_lm
from bmx_grid.wording import counted
from bmx_grid.words.perturbation import Plan
from bmx_grid.words.text import join_words

Place = tuple[list[str], NDArray[np.float64]]  # the candidates of one word, and their weights


@dataclass(frozen=True)
class InputMarginalization(Explainer):
    """Attribution of word i = score of the side - weighted scores of the side with word i replaced.

    A candidate is one token of the model's vocabulary, written as text in the word's place (a piece "##ing" as
    "ing"); special tokens, including [UNK], are never candidates; the word itself may be. An empty word (between two
    spaces) has nothing to mask: its attribution is 0.

    model, revision: a masked language model, by the name or the folder that `transformers` loads.
    dtype: of its numbers.
    max_length: the most tokens that it reads; of a longer side, those around the masked word.
    delta: a candidate is more likely than this.
    weights: "appendix": the probabilities as they are, so that they need not add up to 1;
        "paper_code": a softmax over the candidates' probabilities.
    no_candidate: where no token is likely enough. "best": the most likely token is the candidate, weighted like
        any other (its probability, or 1 for "paper_code"); "zero": the sum is 0, as in the paper's code, so that
        the attribution is the score of the side.
    max_words: sides of more words are refused; None: no limit.
    device: where the model runs. batch_tokens: tokens per forward pass, padding included.

    Raises ConfigError for values that cannot be used.
    """

    writes_texts: ClassVar[bool] = True

    model: str = identity("bert-base-multilingual-cased")
    revision: str | None = identity("3f076fdb1ab68d5b2880cb87a0886f315b8146f8")
    dtype: Dtype = identity("float32")
    max_length: int = identity(512)
    delta: float = identity(0.05)
    weights: Literal["appendix", "paper_code"] = identity("appendix")
    no_candidate: Literal["best", "zero"] = identity("best")
    max_words: int | None = identity(None)
    device: Device = runtime("auto")
    batch_tokens: int = runtime(8192)

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise ConfigError(
                f"input_marginalization.delta: expected a probability above 0 and below 1, got {self.delta} "
                "(at 0 every word would be replaced by the whole vocabulary)."
            )
        for name, least in (("max_length", 5), ("batch_tokens", 1), ("max_words", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ConfigError(f"input_marginalization.{name}: expected at least {least}, got {value}.")

    def check(self) -> None:
        """Raise UnavailableError, with the remedy, when the masked language model is unavailable."""
        check_model(self.model, self.revision)

    def fingerprint(self) -> dict[str, Any]:
        """Settings, with the commit of a hub model and the content of a local one."""
        return {**super().fingerprint(), **model_identity(self.model, self.revision)}

    def plan(self, words: tuple[str, ...], rng: np.random.Generator) -> Plan:
        """The unchanged side, then for each word in turn the side with each of its candidates, most likely first."""
        return self.plan_many([words], [rng])[0]

    def plan_many(self, sides: Sequence[tuple[str, ...]], rngs: Sequence[np.random.Generator]) -> list[Plan]:
        """As `plan`. Nothing is random, and equal sides are planned once.

        Raises ExplainError for a side of too many words, UnavailableError without the model.
        """
        for words in sides:
            self.count_texts(len(words))
        masked_lm = load_masked_lm(self.model, self.revision, self.dtype, self.device, self.max_length)
        plans = {words: self._plan(words, masked_lm) for words in dict.fromkeys(sides)}
        return [plans[words] for words in sides]

    def attribute(self, plan: Plan, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[n] falls of the score, from the float64[K] scores of the plan."""
        places, weights = plan.design
        effects = np.bincount(places, weights=weights * scores[1:], minlength=len(plan.words))
        return np.asarray(scores[0] - effects, dtype=np.float64)

    def count_texts(self, n_words: int) -> int:
        """At most: the side itself, and for each word fewer candidates than 1 / delta, or one."""
        if self.max_words is not None and n_words > self.max_words:
            raise ExplainError(
                f"a side of {counted(n_words, 'word')} is longer than explainer.input_marginalization.max_words="
                f"{self.max_words}; raise it, or set it to null for no limit."
            )
        return 1 + n_words * self._most_candidates

    @property
    def _most_candidates(self) -> int:
        return max(1, math.ceil(1 / self.delta) - 1)

    def _plan(self, words: tuple[str, ...], masked_lm: MaskedLM) -> Plan:
        texts, places, weights = [join_words(words)], [], []
        for place, (candidates, shares) in enumerate(self._candidates(words, masked_lm)):
            before, after = words[:place], words[place + 1 :]
            texts += [join_words([*before, candidate, *after]) for candidate in candidates]
            places += [place] * len(candidates)
            weights.append(shares)
        return Plan(words, texts=texts, design=(np.array(places, dtype=np.intp), np.concatenate(weights)))

    def _candidates(self, words: tuple[str, ...], masked_lm: MaskedLM) -> list[Place]:
        """The candidates of each word with their weights; an empty word stands for itself."""
        masked = [place for place, word in enumerate(words) if word]
        found: list[Place] = [([""], np.ones(1))] * len(words)
        if not masked:
            return found
        proposals = masked_lm.propose(words, masked, self._most_candidates, self.batch_tokens)
        for place, texts, probabilities in zip(masked, proposals.texts, proposals.probabilities, strict=True):
            count = int(np.count_nonzero(probabilities > self.delta))
            if count == 0 and self.no_candidate == "best":
                count = 1
            found[place] = texts[:count], self._weigh(probabilities[:count])
        return found

    def _weigh(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.weights == "appendix":
            return probabilities
        shares = np.exp(probabilities)
        return np.asarray(shares / shares.sum())
