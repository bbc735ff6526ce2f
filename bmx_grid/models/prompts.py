"""Prompts for a language model that judges: those of configs/prompt or of a user's file, and how answers are read."""

from __future__ import annotations

import contextlib
import json
import math
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bmx_grid.core.configure import CONFIGS, convert, options
from bmx_grid.core.errors import ConfigError, ExplainError, UnavailableError, unknown
from bmx_grid.core.identity import digest
from bmx_grid.core.storage import read_file
from bmx_grid.words.perturbation import ROLES, Item, Role

Messages = tuple[tuple[str, str], ...]  # (role, text), in order
LANGUAGES = ("source_language", "target_language")
FIELDS = (*ROLES, "references", *LANGUAGES)
UNREAD: list[str] = []  # answers to this process that could not be read, shortened


class Answer(NamedTuple):
    """text: of the first choice, "" where the model refused. tokens: by position the (token, log probability) pairs."""

    text: str
    tokens: Sequence[Sequence[tuple[str, float]]] = ()


@dataclass(frozen=True)
class Prompt:
    """name: of the option or file. system, user: the messages, with {source}, {reference}, {references}, {hypothesis},
    {source_language} and {target_language}; system may be empty.

    score: how an answer is read (`metrics.judge.Judge`). lowest, highest: the scale; a number beyond it is no score.
    """

    name: str
    user: str
    system: str = ""
    score: str = r"(-?\d+(?:\.\d+)?)"
    lowest: float = 0.0
    highest: float = 100.0

    @classmethod
    def load(cls, name: str) -> Prompt:
        """The prompt of an option, or of a YAML file. Raises ConfigError naming the file and the key."""
        path = Path(name).expanduser()
        if name in options("prompt"):
            path = CONFIGS / "prompt" / f"{name}.yaml"
        elif path.suffix not in (".yaml", ".yml"):
            raise ConfigError(f"prompt: {unknown('prompt', name, options('prompt'))} Or name a YAML file.")
        import yaml

        try:
            keys = yaml.safe_load(read_file(path).decode())
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise ConfigError(f"{path} cannot be read: {' '.join(str(error).split())}; correct it.") from error
        prompt: Prompt = convert({**keys, "name": path.stem} if isinstance(keys, dict) else keys, cls, str(path))
        return prompt

    @property
    def digest(self) -> str:
        """Of all that an answer, and the score read from it, depend on."""
        return digest([self.system, self.user, self.score, float(self.lowest), float(self.highest)])

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that the messages name."""
        parsed = string.Formatter().parse(self.system + self.user)
        return tuple(sorted({name for _, name, _, _ in parsed if name is not None}))

    @property
    def names_languages(self) -> bool:
        """Whether the messages name the languages of a pair."""
        return not set(LANGUAGES).isdisjoint(self.fields)

    @property
    def reads(self) -> tuple[Role, ...]:
        """The roles that an item must have."""
        return tuple(role for role in ROLES if role in self.fields or f"{role}s" in self.fields)

    def check(self) -> None:
        """Raise ConfigError for a prompt that cannot be used."""
        try:
            names = self.fields
            wrong = next((f"{name!r} is no field" for name in names if name not in FIELDS), "")
        except ValueError as error:
            names, wrong = (), str(error)
        if wrong:
            wrong += f"; there are {', '.join(FIELDS)}, between braces, and a brace itself is written twice"
        elif "hypothesis" not in names or len(self.reads) < 2:
            wrong = "it must have {hypothesis}, and {source} or {reference}"
        elif not -math.inf < self.lowest < self.highest < math.inf:
            wrong = f"lowest {self.lowest} must be below highest {self.highest}"
        elif self.score != "expectation" and not self.score.startswith("json:"):
            try:
                groups = re.compile(self.score).groups
                wrong = "" if groups == 1 else f"score {self.score!r} has {groups} groups; it needs one, the number"
            except re.error as error:
                wrong = f"score {self.score!r} is no regular expression: {error}"
        if wrong:
            raise ConfigError(f"prompt {self.name}: {wrong}.")

    def languages(self, language_pair: str) -> dict[str, str]:
        """The names of the languages of a pair, in English, where the prompt names them.

        Raises ConfigError for a pair without two languages, UnavailableError without the package that knows names.
        """
        if not self.names_languages:
            return {}
        codes = language_pair.split("-")
        if len(codes) != 2 or not all(codes):
            raise ConfigError(
                f"prompt {self.name} names the languages, and '{language_pair}' is no pair of language codes such as "
                "de-en; choose a prompt without them, or name the pair."
            )
        try:
            from langcodes import Language
        except ImportError as error:
            raise UnavailableError(
                f"prompt {self.name} needs langcodes, which names languages: pip install 'bmx-grid[judge]'."
            ) from error
        try:
            names = [Language.get(code).display_name() for code in codes]
        except ValueError:  # no tag of a language
            names = codes
        return dict(zip(LANGUAGES, names, strict=True))

    def messages(self, item: Item, language_pair: str) -> Messages:
        """The messages about an item."""
        texts: dict[str, Any] = dict(item.texts()) | self.languages(language_pair)
        if item.reference is not None:
            texts["references"] = "\n".join((item.reference, *item.further_references))
        lacking = [name for name in self.fields if name not in texts]
        if lacking:
            raise ExplainError(
                f"prompt {self.name} reads the {lacking[0]}, which the metric does not; choose another prompt."
            )
        user = ("user", self.user.format(**texts))
        return (("system", self.system.format(**texts)), user) if self.system else (user,)

    def score_of(self, answer: Answer) -> float:
        """0 to 1; NaN where the answer holds no number of the scale."""
        if self.score == "expectation":
            value = _expectation(answer, self.lowest, self.highest)
        elif self.score.startswith("json:"):
            value = _number((first_object(answer.text) or {}).get(self.score.removeprefix("json:")))
        else:
            match = re.search(self.score, answer.text)
            value = _number(match[1]) if match else math.nan
        within = self.lowest <= value <= self.highest
        return (value - self.lowest) / (self.highest - self.lowest) if within else math.nan


def first_object(text: str) -> dict[str, Any] | None:
    """The first JSON object in a text."""
    decoder = json.JSONDecoder()
    for match in re.finditer("{", text):
        with contextlib.suppress(ValueError, RecursionError):
            found: dict[str, Any] = decoder.raw_decode(text, match.start())[0]
            return found
    return None


def _number(text: object) -> float:
    try:
        return float(text) if isinstance(text, str | int | float) and not isinstance(text, bool) else math.nan
    except (ValueError, OverflowError):
        return math.nan


def _expectation(answer: Answer, lowest: float, highest: float) -> float:
    """The mean of the numbers among the tokens of the first place that has any, weighted by probability (G-Eval)."""
    for tokens in answer.tokens:
        values = [(_number(token.strip()), math.exp(weight)) for token, weight in tokens]
        weighted = [(value, weight) for value, weight in values if lowest <= value <= highest]
        if weighted:
            return math.fsum(v * w for v, w in weighted) / math.fsum(w for _, w in weighted)
    return math.nan
