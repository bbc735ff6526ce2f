"""A language model that is asked for a score: GEMBA (Kocmi and Federmann, 2023), G-Eval (Liu et al., 2023)."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bmx_grid.errors import ConfigError, shown
from bmx_grid.identity import runtime
from bmx_grid.metrics.base import Cost, Floats, Metric
from bmx_grid.models.prompts import Prompt
from bmx_grid.models.server import Answer, Messages, ServedModel
from bmx_grid.words.perturbation import Item, Role

if TYPE_CHECKING:
    from bmx_grid.segments import SegmentSet

REMINDER = "Your answer holds no score that can be read. Answer again, with the score only."


@dataclass(frozen=True, kw_only=True)
class Judge(ServedModel, Metric):
    """A score from 0 to 1, read from the answer of a language model to a prompt about an item.

    prompt: one of configs/prompt, or a YAML file of the same keys. score: how its answer is read, null as the prompt
    says: a regular expression whose group is the number, `json:FIELD`, or `expectation`: the mean of the numbers among
    the most probable tokens, weighted by their probabilities, where the scale's numbers are single tokens.
    repeat: how often an unchanged item is scored; its first score counts, and the others say how far scores vary.
    language_pair: of the items, set by `fitted`; prompts name its languages.

    An answer without a score is asked for once more with a reminder; then the score is NaN. So it is of a refusal.
    """

    prompt: str = runtime("gemba_da")
    score_from: str | None = runtime(None)
    repeat: int = runtime(1)
    language_pair: str = runtime("none")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.repeat < 1:
            raise ConfigError(f"repeat: {self.repeat} is out of range; write 1 or more.")
        template = Prompt.load(self.prompt)
        if self.score_from is not None:
            template = dataclasses.replace(template, score=self.score_from)
        template.check()
        object.__setattr__(self, "_template", template)

    @property
    def template(self) -> Prompt:
        """The prompt, with the way its answers are read."""
        template: Prompt = self.__dict__["_template"]
        return template

    def fingerprint(self) -> dict[str, Any]:
        found = {**super().fingerprint(), "prompt": self.template.digest}
        if "language" in self.template.fields:
            found["language_pair"] = self.language_pair
        return found | ({"repeat": self.repeat} if self.repeat > 1 else {})

    @property
    def reads(self) -> tuple[Role, ...]:
        return self.template.reads

    @property
    def reads_all_references(self) -> bool:
        return "references" in self.template.fields

    @property
    def cost(self) -> Cost:
        return "model"

    @property
    def may_be_undefined(self) -> bool:
        return True

    @property
    def signature(self) -> str:
        settings = f"temperature:{self.temperature:g}|max_tokens:{self.max_tokens}|seed:{self.seed}"
        name = f"{self.template.name}-{self.template.digest[:8]}"
        repeated = f"|repeat:{self.repeat}" if self.repeat > 1 else ""
        return f"judge|model:{self.served or self.model}|prompt:{name}|{settings}{repeated}|version:{self.VERSION}"

    def check(self) -> None:
        self.named_by_the_server()

    def fitted(self, segments: SegmentSet) -> Self:
        """With the model's name as the server reports it, and the languages of the prompt.

        Raises UnavailableError for a server that does not answer, and has not answered before.
        """
        self.template.languages(segments.language_pair)
        return dataclasses.replace(self, served=self.named_by_the_server(), language_pair=segments.language_pair)

    @property
    def has_statistics(self) -> bool:
        return self.repeat > 1

    def count_texts(self, item: Item, copies: int = 1) -> int:
        return copies + self.repeat - 1

    def statistics(self, items: Sequence[Item]) -> Floats:
        """float64[n, repeat + 1]: the scores of each repetition, and a 1; undefined scores take no part in sums."""
        turns = [self._scores(items, turn) for turn in range(self.repeat)]
        return np.stack([*turns, np.ones(len(items))], axis=1)

    def combine(self, sums: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums[..., 0] / sums[..., -1], dtype=np.float64)

    def score(self, items: Sequence[Item]) -> Floats:
        return self._scores(items, 0)

    def budget(self, n_texts: int, n_characters: int) -> str:
        """What a sweep with so many texts of so many characters in all asks of the server, in words.

        Raises ConfigError when these are more requests than `max_requests`.
        """
        if self.max_requests is not None and n_texts > self.max_requests:
            raise ConfigError(
                f"this sweep asks the judge for up to {n_texts:,} scores, and max_requests is {self.max_requests:,}: "
                "nothing was sent. Raise it, or ask for less: limit=N, an explainer with fewer texts, fewer sets."
            )
        return self.cost_in_words(n_texts, n_characters + n_texts * self.template.n_characters)

    def _scores(self, items: Sequence[Item], turn: int) -> Floats:
        """float64[n] scores, NaN where no answer holds one."""
        asked = [self.template.messages(item, self.language_pair) for item in items]
        scores, answers = self._read(asked, turn)
        again = np.flatnonzero(np.isnan(scores))
        reminded = [
            (*asked[row], *((("assistant", answers[row].text),) if answers[row].text else ()), ("user", REMINDER))
            for row in again
        ]
        scores[again], last = self._read(reminded, turn)
        left = [answer.text for answer, row in zip(last, again, strict=True) if math.isnan(scores[row])]
        if left:
            warnings.warn(
                f"{self.model}: {len(left):,} of {len(items):,} answers hold no score, for example {shown(left[0])}; "
                "these scores are undefined",
                stacklevel=2,
            )
        return scores

    def _read(self, asked: Sequence[Messages], turn: int) -> tuple[Floats, list[Answer]]:
        expected = self.template.score == "expectation"
        answers = self.ask([(messages, turn) for messages in asked], log_probabilities=expected)
        return np.array([self.template.score_of(answer) for answer in answers], dtype=np.float64), answers
