"""GPTScore (Fu et al., 2023): how likely a causal language model finds a translation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bmx_grid.core.errors import ConfigError, UnavailableError, quote_value
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.metrics.base import text_pairs
from bmx_grid.metrics.encoders import NeuralMetric, Pair
from bmx_grid.models.encoding import TokenIds, lengths_of, log_likelihoods, token_ids, tokenize
from bmx_grid.models.loading import LoadedModel, ModelKind
from bmx_grid.words.perturbation import Item

TEXT = "{text}"  # in a prompt: the place of the source or the reference


@dataclass(frozen=True, kw_only=True)
class Likelihood(NeuralMetric):
    """The mean of log P(token | prompt, tokens before it) over the hypothesis' tokens (GPTScore, eq. 1, equal weights).

    Natural logarithms, of any causal language model, which reads its first token of a text, the prompt, the hypothesis.
    prompt: {text} marks the place of the source or the reference. Blanks at its end are part of the hypothesis' first
        token, as language models have them.
    minus_prior: less the same mean without the prompt, so that generally likely text earns nothing.
    A hypothesis without tokens, as the empty text, scores the log-probability of a uniform model,
    -log(size of the vocabulary), and 0 with minus_prior. If prompt and hypothesis are too long for the model, the end
    is truncated.
    """

    KIND: ClassVar[ModelKind] = "causal_lm"

    model: str = identity("")
    prompt: str = identity("Source: {text}\nTranslation: ")
    minus_prior: bool = identity(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        count = self.prompt.count(TEXT)
        if count != 1:
            raise ConfigError(
                f"prompt: {quote_value(self.prompt)} has {TEXT} {count} times; write it once, in the "
                f"place of the {self.ground_truth}."
            )

    @property
    def signature(self) -> str:
        # a signature is one line; a prompt may have several
        return super().signature.replace("\n", "\\n")

    def check(self) -> None:
        if not self.model:
            raise UnavailableError(
                "metric 'likelihood' has no model: name a causal language model, by its hub id and a commit "
                "(metric.likelihood.model=gpt2 metric.likelihood.revision=607a30d783dfa663caf39e06633721c8d4cfcd7e), "
                "or by its folder (metric.likelihood.model=DIR; in score --set metric.model=DIR)."
            )
        super().check()

    def score(self, items: Sequence[Item]) -> Floats:
        self.check()
        if not items:
            return np.empty(0)
        loaded = self._load_model()
        ids, first = self._tokens(loaded, text_pairs(items, self.ground_truth))
        counts = lengths_of(ids) - first
        likely = log_likelihoods(loaded, ids, first, self.batch_tokens)
        if self.minus_prior:
            # the same tokens of the hypothesis, right after the token that begins a text
            without_prompt = []
            for text, start in zip(ids, first, strict=True):
                without_prompt.append(np.concatenate([text[:1], text[start:]]))
            likely -= log_likelihoods(loaded, without_prompt, np.ones_like(first), self.batch_tokens)
        # a hypothesis without tokens has no mean: log(1 / size) in its place
        size = loaded.network.get_input_embeddings().num_embeddings
        without_tokens = 0.0 if self.minus_prior else -np.log(size)
        scores = np.full(len(items), without_tokens)
        np.divide(likely, counts, out=scores, where=counts > 0)
        return scores

    def _tokens(self, loaded: LoadedModel, pairs: Sequence[Pair]) -> tuple[TokenIds, Ints]:
        """Ids of begin, prompt and hypothesis of n pairs, and int64[n] the hypothesis' first places."""
        begin = _begin(loaded)
        before, _, after = self.prompt.partition(TEXT)
        prompts = {truth: f"{before}{truth}{after}" for truth, _ in pairs}
        # without its last blanks, which are part of the hypothesis' first token if it has one
        bare = {truth: prompt.rstrip(" ") for truth, prompt in prompts.items()}
        bare_ids = token_ids(loaded, list(bare.values()), specials=False)
        ids_of_prompts = dict(zip(bare, bare_ids, strict=True))
        texts = []
        for truth, hypothesis in pairs:
            if hypothesis.strip():
                texts.append(prompts[truth] + hypothesis)
            else:
                texts.append(bare[truth])
        limit = loaded.max_length
        if self.max_length is not None:
            limit = min(self.max_length, limit)
        # one token less: the one before the text is added below
        wholes = tokenize(loaded, texts, limit - 1, specials=False)
        ids: TokenIds = []
        first = np.empty(len(pairs), dtype=np.int64)
        for row, ((truth, _), whole) in enumerate(zip(pairs, wholes, strict=True)):
            # a token that prompt and hypothesis share, as the blank between them, counts as the hypothesis'
            prompt = ids_of_prompts[truth][: len(whole)]
            differ = np.flatnonzero(prompt != whole[: len(prompt)])
            n_prompt = differ[0] if len(differ) else len(prompt)
            first[row] = 1 + n_prompt
            ids.append(np.concatenate([[begin], whole]).astype(np.int32))
        return ids, first


def _begin(loaded: LoadedModel) -> int:
    """The id of the token before a text: what begins texts in training, or what ends the one before."""
    for token in (loaded.tokenizer.bos_token_id, loaded.tokenizer.eos_token_id):
        if token is not None:
            return int(token)
    raise UnavailableError(f"model '{loaded.name}': its tokenizer names no bos_token and no eos_token; name another.")
