"""Prompts for a language model that judges: those of configs/prompt or of a user's file, and how answers are read."""

from __future__ import annotations

import json
import math
import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bmx_grid.core.configure import CONFIGS, convert, options
from bmx_grid.core.documents import parse_yaml
from bmx_grid.core.errors import ConfigError, ExplainError, UnavailableError, unknown
from bmx_grid.core.identity import digest
from bmx_grid.core.storage import expand_home, read_file
from bmx_grid.words.perturbation import ROLES, Item, Role

Messages = tuple[tuple[str, str], ...]  # (role, text), in order
LANGUAGES = ("source_language", "target_language")
CONTEXT = "context"
FIELDS = (*ROLES, "references", CONTEXT, *LANGUAGES)
BEFORE = "The sentences before in the same document, with their translations:"
NUMBER = "number"  # the way in which answers are read by default
ERRORS = "errors"  # answers are lists of errors, whose points are taken off
# Points of an error as in MQM (Freitag et al. 2021), if a critical one counts as a translation of something else.
POINTS = {"minor": 1.0, "major": 5.0, "critical": 25.0}
PLAIN_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
BETWEEN = re.compile(r"""[\s:=<>|*_"'`]+""")  # words of an answer, marks of Markdown, JSON and XML among it
AROUND = "()[]{}.,;!?"  # a word
THOUGHT_START = re.compile("<think(?:ing)?>", re.IGNORECASE)
THOUGHT_END = re.compile("</think(?:ing)?>", re.IGNORECASE)


class Answer(NamedTuple):
    """text: of the first choice, "" if the model refused. cut: whether it ends at `max_tokens`.

    tokens: by position the (token, log probability) pairs, that of the text first, then the most probable others.
    """

    text: str
    tokens: Sequence[Sequence[tuple[str, float]]] = ()
    cut: bool = False


@dataclass(frozen=True)
class Prompt:
    """name: of the option or file. system, user: the messages, with {source}, {reference}, {references}, {hypothesis},
    {context}, {source_language} and {target_language}; system may be empty. The context of an item is before the user's
    message if no field names its place.

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
        path = expand_home(name)
        if name in options("prompt"):
            path = CONFIGS / "prompt" / f"{name}.yaml"
        elif path.suffix not in (".yaml", ".yml"):
            raise ConfigError(f"prompt: {unknown('prompt', name, options('prompt'))} Or name a YAML file.")
        try:
            keys = parse_yaml(read_file(path).decode())
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise ConfigError(f"{path} cannot be read: {reason}; correct it.") from error
        if isinstance(keys, dict):
            keys["name"] = path.stem
        # For anything but a mapping, `convert` raises the error.
        prompt: Prompt = convert(keys, cls, str(path))
        return prompt

    @property
    def digest(self) -> str:
        """A digest of everything that an answer and its score depend on."""
        return digest([self.system, self.user, self.score, float(self.lowest), float(self.highest)])

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that the messages name."""
        parsed = string.Formatter().parse(self.system + self.user)
        names = {name for _, name, _, _ in parsed if name is not None}
        return tuple(sorted(names))

    @property
    def names_languages(self) -> bool:
        """Whether the messages name the languages of a pair."""
        return not set(LANGUAGES).isdisjoint(self.fields)

    @property
    def reads(self) -> tuple[Role, ...]:
        """The roles that an item must have."""
        fields = self.fields
        return tuple(role for role in ROLES if role in fields or f"{role}s" in fields)

    def check(self) -> None:
        """Raise ConfigError for a prompt that cannot be used."""
        wrong = self._wrong_field()
        if wrong:
            wrong += f"; there are {', '.join(FIELDS)}, between braces, and a brace itself is written twice"
        elif "hypothesis" not in self.fields or len(self.reads) < 2:
            wrong = "it must have {hypothesis}, and {source} or {reference}"
        elif not -math.inf < self.lowest < self.highest < math.inf:
            wrong = f"lowest {self.lowest} must be below highest {self.highest}"
        elif self.score not in (NUMBER, ERRORS, "expectation") and not self.score.startswith("json:"):
            wrong = self._wrong_expression()
        if wrong:
            raise ConfigError(f"prompt {self.name}: {wrong}.")

    def _wrong_field(self) -> str:
        """An error in the braces of the messages; "" without one."""
        try:
            names = self.fields
        except ValueError as error:
            return str(error)
        for name in names:
            if name not in FIELDS:
                return f"{name!r} is no field"
        return ""

    def _wrong_expression(self) -> str:
        """An error in the regular expression for answers; "" without one."""
        try:
            groups = re.compile(self.score).groups
        except re.error as error:
            return f"score {self.score!r} is no regular expression: {error}"
        if groups != 1:
            return f"score {self.score!r} has {groups} groups; it needs one, the number"
        return ""

    def languages(self, language_pair: str) -> dict[str, str]:
        """The names of the languages of a pair, in English, if the prompt names them.

        Raises ConfigError for a pair that is not two codes of languages, or "none";
        UnavailableError without the package that knows names.
        """
        if not self.names_languages:
            return {}
        other_prompt = "choose a prompt that names no languages, such as plain"
        # "none" is a pair of texts in unknown languages.
        if language_pair == "none":
            raise ConfigError(
                f"prompt {self.name} names the languages of the texts, but the language pair is unknown: set it "
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
            except ValueError:
                # It is not written like the tag of a language: refused below, as one that is no language.
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
            references = (item.reference, *item.further_references)
            texts["references"] = "\n".join(references)
        texts[CONTEXT] = _context(item)
        for name in self.fields:
            if name not in texts:
                raise ExplainError(
                    f"prompt {self.name} reads the {name}, which the metric does not; choose another prompt."
                )
        text = self.user.format(**texts)
        if item.context and CONTEXT not in self.fields:
            text = f"{texts[CONTEXT]}\n\n{text}"
        user = ("user", text)
        if not self.system:
            return (user,)
        system = ("system", self.system.format(**texts))
        return (system, user)

    def score_of(self, answer: Answer) -> float:
        """0 to 1; NaN if the answer, without the model's thoughts, does not hold exactly one number of the scale."""
        if self.score == "expectation":
            value = _expectation(answer, self.lowest, self.highest)
        elif self.score == NUMBER:
            value = only_number(answer.text, self.highest)
        elif self.score == ERRORS:
            value = self.highest - min(_points(answer.text), self.highest - self.lowest)
        elif self.score.startswith("json:"):
            value = _number(only_value(answer.text, self.score.removeprefix("json:")))
        else:
            value = _match_number(self.score, answer.text)
        # NaN is not within the scale, either.
        if not self.lowest <= value <= self.highest:
            return math.nan
        return (value - self.lowest) / (self.highest - self.lowest)


def _context(item: Item) -> str:
    """The sentences before an item with their translations, in the order of reading; "" without any."""
    lines = [BEFORE] if item.context else []
    for source, translation in reversed(item.context):
        if source is not None:
            lines.append(f"Source: {source}")
        lines.append(f"Translation: {translation}")
    return "\n".join(lines)


def strip_thoughts(text: str) -> str:
    """The text after the thoughts, `<think>…</think>`; if thoughts do not end, the text before them.

    Servers that write `<think>` themselves, as part of the prompt, send its end only.
    """
    start, end = _answer_span(text)
    return text[start:end]


def _answer_span(text: str) -> tuple[int, int]:
    """The start and end of a text without its thoughts."""
    start = 0
    for match in THOUGHT_END.finditer(text):
        start = match.end()
    unfinished = THOUGHT_START.search(text, start)
    if unfinished:
        return start, unfinished.start()
    return start, len(text)


def only_number(text: str, highest: float) -> float:
    """The number in a text, if it is the only one; else NaN.

    The end of the scale may follow it, as in 87/100 and "4 out of 5". Other words with digits, such as 1,000, 1e3, 90%,
    80-90 or f(1), are not numbers: a text with such a word is not read.
    """
    end_of_scale = re.escape(f"{highest:.15g}")
    # The look-ahead excludes longer numbers: the 100 of /1000, /100.5 and /100% is not the end of the scale.
    suffix = rf"(?:/|\bout\s+of\b)\s*{end_of_scale}(?![\w%]|[.,]\d)"
    without_suffix = re.sub(suffix, " ", strip_thoughts(text))
    words = [word for word in BETWEEN.split(without_suffix) if re.search(r"\d", word)]
    if len(words) != 1:
        return math.nan
    return _number(words[0].strip(AROUND))


def only_value(text: str, key: str) -> Any:
    """The value of a key in the only JSON object of a text that has it, without thoughts; else None."""
    values = [entry[key] for entry in _objects(strip_thoughts(text)) if key in entry]
    return values[0] if len(values) == 1 else None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The outermost JSON objects in a text."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            entry, end = decoder.raw_decode(text, start)
        except ValueError:
            end = start + 1
        except RecursionError:
            # Each part of a deeply nested text would be tried again.
            return
        else:
            yield entry
        start = text.find("{", end)


def _points(text: str) -> float:
    """The points of the errors that a text lists (GEMBA-MQM); NaN if it lists none, not even an empty list."""
    errors = only_value(text, "errors")
    if not isinstance(errors, list):
        return math.nan
    points = 0.0
    for error in errors:
        severity = error.get("severity") if isinstance(error, dict) else None
        points += POINTS.get(str(severity).lower(), math.nan)
    return points


def _match_number(expression: str, text: str) -> float:
    """The number that the group of an expression matches, if it matches once, and no piece of a longer number."""
    answer = strip_thoughts(text)
    matches = [match for match in re.finditer(expression, answer) if match[1]]
    if len(matches) != 1:
        return math.nan
    start, end = matches[0].span(1)
    before = answer[max(start - 2, 0) : start]
    has_begun = re.search(r"(\d[.,]?|-)\Z", before)
    goes_on = re.match(r"[.,]?\d", answer[end:])
    if has_begun or goes_on:
        return math.nan
    return _number(matches[0][1].strip())


def _number(value: object) -> float:
    """A number, or one in plain digits; else NaN."""
    if isinstance(value, str):
        return float(value) if PLAIN_NUMBER.fullmatch(value) else math.nan
    # `true` is an int in Python.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def _expectation(answer: Answer, lowest: float, highest: float) -> float:
    """The mean of the scale's numbers at the token that is the answer's number, weighted by probability (G-Eval).

    NaN if no token is the whole number: the 8 of an 87 in two tokens is no score.
    """
    number = only_number(answer.text, highest)
    if not lowest <= number <= highest:
        return math.nan
    for tokens in _answered_tokens(answer):
        # The token of the text is first.
        if _number(tokens[0][0].strip()) == number:
            return _mean_of_tokens(tokens, lowest, highest)
    return math.nan


def _mean_of_tokens(tokens: Sequence[tuple[str, float]], lowest: float, highest: float) -> float:
    """The mean of the tokens that are numbers of the scale, weighted by their probabilities."""
    weights = []
    products = []
    for token, log_probability in tokens:
        value = _number(token.strip())
        if lowest <= value <= highest:
            weight = math.exp(log_probability)
            weights.append(weight)
            products.append(value * weight)
    total = math.fsum(weights)
    return math.fsum(products) / total if total > 0 else math.nan


def _answered_tokens(answer: Answer) -> Iterator[Sequence[tuple[str, float]]]:
    """The places of an answer's tokens without those of its thoughts, which a server may have taken off its text."""
    places = [tokens for tokens in answer.tokens if tokens]
    text = "".join(tokens[0][0] for tokens in places)
    start, end = _answer_span(text)
    position = 0
    for tokens in places:
        if start <= position < end:
            yield tokens
        position += len(tokens[0][0])
