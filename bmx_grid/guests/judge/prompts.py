"""Prompts for a language model that judges: those of configs/prompt or of a user's file, and how answers are read."""

from __future__ import annotations

import json
import math
import re
import string
from collections.abc import Iterator, Sequence
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
NUMBER = "number"  # the way in which answers are read by default
PLAIN_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
BETWEEN = re.compile(r"""[\s:=<>|*_"'`]+""")  # words of an answer, marks of Markdown, JSON and XML among it
AROUND = "()[]{}.,;!?"  # a word
THOUGHT_START = re.compile("<think(?:ing)?>", re.IGNORECASE)
THOUGHT_END = re.compile("</think(?:ing)?>", re.IGNORECASE)


class Answer(NamedTuple):
    """text: of the first choice, "" where the model refused. cut: whether it ends at `max_tokens`.

    tokens: by position the (token, log probability) pairs, that of the text first, then the most probable others.
    """

    text: str
    tokens: Sequence[Sequence[tuple[str, float]]] = ()
    cut: bool = False


@dataclass(frozen=True)
class Prompt:
    """name: of the option or file. system, user: the messages, with {source}, {reference}, {references}, {hypothesis},
    {source_language} and {target_language}; system may be empty.

    score: how an answer is read (`judge.Judge`). lowest, highest: the scale; a number beyond it is no score.
    """

    name: str
    user: str
    system: str = ""
    score: str = NUMBER
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
            names = ()
            wrong = str(error)
        if wrong:
            wrong += f"; there are {', '.join(FIELDS)}, between braces, and a brace itself is written twice"
        elif "hypothesis" not in names or len(self.reads) < 2:
            wrong = "it must have {hypothesis}, and {source} or {reference}"
        elif not -math.inf < self.lowest < self.highest < math.inf:
            wrong = f"lowest {self.lowest} must be below highest {self.highest}"
        elif self.score not in (NUMBER, "expectation") and not self.score.startswith("json:"):
            try:
                groups = re.compile(self.score).groups
                wrong = "" if groups == 1 else f"score {self.score!r} has {groups} groups; it needs one, the number"
            except re.error as error:
                wrong = f"score {self.score!r} is no regular expression: {error}"
        if wrong:
            raise ConfigError(f"prompt {self.name}: {wrong}.")

    def languages(self, language_pair: str) -> dict[str, str]:
        """The names of the languages of a pair, in English, where the prompt names them.

        Raises ConfigError for a pair that is not two codes of languages, or "none";
        UnavailableError without the package that knows names.
        """
        if not self.names_languages:
            return {}
        other_prompt = "choose a prompt that names no languages, such as plain"
        if language_pair == "none":  # of texts of which nothing says what they are
            raise ConfigError(
                f"prompt {self.name} names the languages of the texts, and no language pair is given: give it "
                "(score --language-pair de-en, load(…, language_pair='de-en'), in a sweep "
                f"dataset.NAME.language_pairs=[de-en]), or {other_prompt}."
            )
        codes = language_pair.split("-")
        if len(codes) != 2 or not all(codes):
            raise ConfigError(
                f"prompt {self.name} names the languages, and '{language_pair}' is no pair of language codes such as "
                f"de-en; name such a pair, or {other_prompt}."
            )
        try:
            from langcodes import Language
        except ImportError as error:
            raise UnavailableError(
                f"prompt {self.name} needs langcodes, which names languages: in a checkout, pip install '.[judge]'."
            ) from error
        names = []
        for code in codes:
            try:
                language = Language.get(code)
            except ValueError:  # no tag of a language
                language = Language()
            if not language.language or not language.is_valid():
                raise ConfigError(
                    f"prompt {self.name} names the languages, and '{code}' of '{language_pair}' is not the code of "
                    f"one; name a pair such as de-en, or {other_prompt}."
                )
            names.append(language.display_name())
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
        """0 to 1; NaN where the answer, without the model's thoughts, does not hold exactly one number of the scale."""
        if self.score == "expectation":
            value = _expectation(answer, self.lowest, self.highest)
        elif self.score == NUMBER:
            value = only_number(answer.text, self.highest)
        elif self.score.startswith("json:"):
            value = _number(only_value(answer.text, self.score.removeprefix("json:")))
        else:
            value = _matched(self.score, answer.text)
        within = self.lowest <= value <= self.highest
        return (value - self.lowest) / (self.highest - self.lowest) if within else math.nan


def without_thoughts(text: str) -> str:
    """What a text says after its thoughts, `<think>…</think>`; of thoughts that do not end, what stands before them.

    Servers that write `<think>` themselves, as part of the prompt, send its end only.
    """
    start, end = _answered(text)
    return text[start:end]


def _answered(text: str) -> tuple[int, int]:
    """Where a text without its thoughts starts and ends."""
    start = 0
    for match in THOUGHT_END.finditer(text):
        start = match.end()
    begun = THOUGHT_START.search(text, start)
    return start, begun.start() if begun else len(text)


def only_number(text: str, highest: float) -> float:
    """The number that a text says, where it is the only one; else NaN.

    The end of the scale may follow it, as in 87/100 and "4 out of 5". Nothing is made of other words with digits, such
    as 1,000, 1e3, 90%, 80-90 or f(1), so that a text with one of these is not read.
    """
    end = re.escape(f"{highest:.15g}")
    without_end = re.sub(rf"(?:/|\bout\s+of\b)\s*{end}(?![\w%]|[.,]\d)", " ", without_thoughts(text))
    words = [word.strip(AROUND) for word in BETWEEN.split(without_end) if re.search(r"\d", word)]
    return _number(words[0]) if len(words) == 1 else math.nan


def only_value(text: str, key: str) -> Any:
    """The value of a key in the only JSON object of a text that has it, thoughts aside; None where there is no such."""
    objects = [found for found in _objects(without_thoughts(text)) if key in found]
    return objects[0][key] if len(objects) == 1 else None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text, without those inside of others."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            found, end = decoder.raw_decode(text, start)
            yield found
        except ValueError:
            end = start + 1
        except RecursionError:  # of what is nested so deeply, each part would be tried again
            return
        start = text.find("{", end)


def _matched(expression: str, text: str) -> float:
    """The number that the group of an expression matches, where it matches once, and no piece of a longer number."""
    said = without_thoughts(text)
    matches = [match for match in re.finditer(expression, said) if match[1]]
    if len(matches) != 1:
        return math.nan
    start, end = matches[0].span(1)
    goes_on = re.match(r"[.,]?\d", said[end:])
    has_begun = re.search(r"(\d[.,]?|-)\Z", said[max(start - 2, 0) : start])
    return math.nan if goes_on or has_begun else _number(matches[0][1].strip())


def _number(value: object) -> float:
    """A number, or one in plain digits; else NaN."""
    if isinstance(value, str):
        return float(value) if PLAIN_NUMBER.fullmatch(value) else math.nan
    try:
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:
        return math.nan


def _expectation(answer: Answer, lowest: float, highest: float) -> float:
    """The mean of the scale's numbers at the token that is the answer's number, weighted by probability (G-Eval).

    NaN where no token is the whole number: the 8 of an 87 in two tokens says nothing of it.
    """
    number = only_number(answer.text, highest)
    if not lowest <= number <= highest:
        return math.nan
    for tokens in _answered_tokens(answer):
        values = [(_number(token.strip()), math.exp(weight)) for token, weight in tokens]
        if values[0][0] == number:
            weighted = [(value, weight) for value, weight in values if lowest <= value <= highest]
            total = math.fsum(weight for _, weight in weighted)
            return math.fsum(value * weight for value, weight in weighted) / total if total > 0 else math.nan
    return math.nan


def _answered_tokens(answer: Answer) -> Iterator[Sequence[tuple[str, float]]]:
    """The places of an answer's tokens without those of its thoughts, which a server may have taken off its text."""
    places = [place for place in answer.tokens if place]
    start, end = _answered("".join(place[0][0] for place in places))
    position = 0
    for place in places:
        if start <= position < end:
            yield place
        position += len(place[0][0])
