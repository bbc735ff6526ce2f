"""How numbers, points, names and settings are written for people: one notation for terminal, tables, figures and pages.

Options are named as the field writes them (`display_name`) in drawings, on pages and in answers; tables keep typed
names.
"""

from __future__ import annotations

import hashlib
import math
import re
import shlex
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePath

UNDEFINED = "n/a"
MINUS = "−"  # where type is set: drawings and pages
BASELINE = "baseline"
FACTOR_NAMES = {"dataset": "data set", "language_pair": "language pair", "metric": "metric", "explainer": "explainer"}
LONGEST_STEM = 150  # bytes: file systems take 255, and a temporary file's name adds host, process and suffix
# Characters that turn the direction of a line, so that a text reads as another one.
TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
ODD = re.compile(r"[^\w+.,() -]")  # signs that a checked name has not
SIGNED_FORMAT = re.compile(r"\+\.\d+f")
MOST_PLACES = 8  # of a signed number
P_VALUE = "p"  # in place of a form
SMALLEST_P = 0.001  # that is written out
UNPRINTABLE = {"Cc", "Cs", "Zl", "Zp"}  # control characters, surrogates, line and paragraph separators
# Option name to written name; no two options share one. Names of capital letters follow; any other name stays as it is.
WRITTEN = {
    "bertscore": "BERTScore",
    "boosted": "boosted metric",
    "chrf": "chrF",
    "chrf_plus_plus": "chrF++",
    "e5_sbert": "SBERT (E5)",
    "e5_xbertscore": "XBERTScore (E5)",
    "e5_xmoverscore": "XMoverScore (E5)",
    "minilm_bertscore": "BERTScore (MiniLM)",
    "minilm_sbert": "SBERT (MiniLM)",
    "sentence_bleu": "BLEU",
    "transquest": "TransQuest",
    "word_overlap": "word overlap",
    "xbertscore": "XBERTScore",
    "xlmr_sbert": "XLMR-SBERT",
    "xmoverscore": "XMoverScore",
    "erasure": "Erasure",
    "input_marginalization": "Input Marginalization",
    "partition_shap": "Partition SHAP",
    "eval4nlp21": "Eval4NLP 2021",
    "mqm21": "newstest2021 (MQM)",
    "summeval": "SummEval",
    "wmt22_qe": "WMT22 QE",
}
CAPITALS = {"bleurt", "comet", "lime", "mlqe_pe", "rouge_1", "rouge_2", "rouge_l", "shap", "ter", "wer", "wmt17"}
CORRELATION_NAMES = {
    "pearson": "Pearson's r",
    "spearman": "Spearman's ρ",
    "kendall": "Kendall's τ",
    "kendall_tau_c": "Kendall's τ-c",
}
LONGEST_LABEL = 44  # characters of a name that has a line of its own
SHORT_LABEL = 22  # next to the axes of a figure that is a column wide


def number(value: float | None, form: str = "g", minus: str = "-") -> str:
    """A number in the format `form`; "n/a" for NaN, "" for None, "inf" for infinity.

    A number that rounds to 0 has no minus: -0.00001 in the form ".4f" is 0.0000. In forms with signs, used for gains,
    it keeps its first digit: -0.00001 in the form "+.4f" is -0.00001. In these forms 0.0000, without a sign, is 0 or
    below 5e-9, which scores and human judgements cannot distinguish from 0. In the form P_VALUE it has
    three decimals, and no p value is 0: one below .001 is "< 0.001".
    """
    if value is None:
        return ""
    if math.isnan(value):
        return UNDEFINED
    if math.isinf(value):
        return f"{minus if value < 0 else ''}inf"
    if form == P_VALUE:
        return f"{value:.3f}" if value >= SMALLEST_P else f"< {SMALLEST_P}"
    text = format(value + 0, form)  # -0.0 + 0 is 0.0
    if _is_zero(text):
        is_zero_in_full = _is_zero(format(value, f".{MOST_PLACES}f"))
        if SIGNED_FORMAT.fullmatch(form) and not is_zero_in_full:
            # The first decimal that is not 0: the second of 0.03, as log10 of it lies between -2 and -1.
            first_digit = -math.floor(math.log10(abs(value)))
            # Of 0.000000006, the ninth: rounding gives it the eighth.
            n_digits = min(first_digit, MOST_PLACES)
            text = format(value, f"+.{n_digits}f")
        elif "e" not in text:
            text = text.lstrip("+-")
    return text.replace("-", minus)


def p_in_words(value: float) -> str:
    """A p value in a sentence: "p = 0.031", "p < 0.001"."""
    shown = number(value, P_VALUE)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def format_interval(
    value: float | None, low: float, high: float, form: str = "+.4f", *, without: str = "", minus: str = "-"
) -> str:
    """A number and its interval, "+0.0123 [-0.0010, +0.0256]"; without one, `without` behind the number."""
    shown = number(value, form, minus)
    if value is None or not math.isfinite(value):
        return shown
    if not (math.isfinite(low) and math.isfinite(high)):
        return f"{shown} {without}".rstrip()
    shown_low = number(low, form, minus)
    shown_high = number(high, form, minus)
    return f"{shown} [{shown_low}, {shown_high}]"


def join_names(names: Sequence[str], most: int = 3, separator: str = ", ") -> str:
    """Some names in a row: "a, b, c and 4 more"."""
    shown = separator.join(names[:most])
    n_more = len(names) - most
    return f"{shown} and {n_more:,} more" if n_more > 0 else shown


def leads_in_words(leads: Mapping[str, bool]) -> str:
    """Over whom the lead of the best one is significant, and over whom not; leads: by name."""
    sentences = []
    for words, is_significant in (("significant", True), ("not significant", False)):
        names = [name for name, value in leads.items() if value is is_significant]
        if names:
            sentences.append(f"Its lead over {join_names(names, most=5)} is {words}.")
    return " ".join(sentences)


def typeset_number(value: float | None, form: str = "g") -> str:
    """`number` with a true minus."""
    return number(value, form, MINUS)


def point_in_words(w: float, p: float, minus: str = "-") -> str:
    """A (w, p) for people: "w 0.4, p -1.4"; with w = 1, where p means nothing, "baseline"; "no point" for NaN."""
    if w == 1:
        return BASELINE
    if math.isnan(w) or math.isnan(p):
        return "no point"
    return f"w {number(w, 'g', minus)}, p {number(p, 'g', minus)}"


def setting_label(*names: str) -> str:
    """A setting, or a part of a sweep, in one line: "data set · language pair · metric · explainer"."""
    return " · ".join(names)


def display_name(name: str) -> str:
    """The name of an option as papers write it; an unknown name as it is."""
    if name in CAPITALS:
        return name.upper().replace("_", "-")
    return WRITTEN.get(name, name)


def find_option(name: str, known: Collection[str]) -> str:
    """The option that is called so, by its own name or as papers write it (chrF, LIME); an unknown name as it is."""
    if name not in known:
        for option in known:
            if display_name(option) == name:
                return option
    return name


def correlation_in_words(kind: str | None) -> str:
    """The name of a correlation; of an unstated one "correlation"."""
    if kind is None:
        return "correlation"
    return CORRELATION_NAMES.get(kind, kind)


def label(name: str, longest: int = LONGEST_LABEL) -> str:
    """The written name in one line of at most `longest` characters, for places with little room."""
    text = escape_unprintable(display_name(name))
    if len(text) <= longest:
        return text
    return f"{text[: longest - 1]}…"


def setting_in_words(names: tuple[str, ...]) -> str:
    """Data set, language pair, metric and explainer in one line, as the field writes them."""
    return setting_label(*map(label, names))


def factor_in_words(factor: str) -> str:
    """A factor of a setting in a sentence: "language_pair" is a language pair."""
    return FACTOR_NAMES.get(factor, factor)


def pluralize(count: int, thing: str, things: str | None = None) -> str:
    """1 setting, 2 settings, 1,000 settings; `things` is an irregular plural."""
    if count == 1:
        return f"{count} {thing}"
    plural = f"{thing}s" if things is None else things
    return f"{count:,} {plural}"


def shorten(text: str, most: int) -> str:
    """The text; of one with more than `most` characters the first `most` - 3 and an ellipsis."""
    if len(text) <= most:
        return text
    return f"{text[: most - 3]}…"


def escape_unprintable(text: str) -> str:
    """`text` in one line: line breaks, other control characters and half characters are written as escapes.

    A name can then neither end a comment or a row, nor move the cursor of a terminal.
    """
    # Nearly all names return now, without a look at each character.
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_escape_sign, text))


def escape_lines(text: str) -> str:
    """`text` with its line breaks, and each line as `escape_unprintable` writes it: for all that is printed or
    logged.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "\n".join(map(escape_unprintable, text.split("\n")))


def file_stem(*names: str, separator: str = ".") -> str:
    """Names as a file name without suffix, at most 150 bytes and never a path; other names give another stem.

    Letters, digits and the signs _-+.,() and blanks stay, all else becomes "_". If that changes names, or if they
    are empty, too long, or hold the separator, the first 12 digits of their SHA-256 are appended.
    """
    joined = separator.join(names)
    stem = ODD.sub("_", joined)
    # "a.b" and "c" would otherwise give the stem of "a" and "b.c".
    is_unique = len(names) == 1 or not any(separator in name for name in names)
    is_readable = stem == joined and all(names) and is_unique
    if is_readable and len(stem.encode()) <= LONGEST_STEM:
        return stem
    # Joined by NUL, as names may hold the separator. Half characters, of broken input, are no UTF-8.
    key = "\0".join(names).encode(errors="surrogatepass")
    mark = hashlib.sha256(key).hexdigest()[:12]
    longest = LONGEST_STEM - len(mark) - 1
    # The limit is in bytes, which may end within a character: its remaining bytes are dropped.
    start = stem.encode(errors="replace")[:longest].decode(errors="ignore")
    return f"{start}-{mark}"


def _is_zero(text: str) -> bool:
    """Whether a number, as written, has no digit but 0; its exponent does not count."""
    mantissa = text.partition("e")[0]
    return not any(digit in mantissa for digit in "123456789")


def _escape_sign(sign: str) -> str:
    """A character, or its escape if it is a control character, half of one, or turns the direction of a line."""
    if unicodedata.category(sign) not in UNPRINTABLE and sign not in TURNING:
        return sign
    return sign.encode("unicode_escape", errors="backslashreplace").decode("ascii")


def first_line(error: Exception) -> str:
    """The first line of an error's message, or its type if the message is empty."""
    message = str(error) or type(error).__name__
    return message.splitlines()[0]


def distinct_names(paths: Sequence[PurePath]) -> list[str]:
    """A short name per path: its shortest end that makes the paths distinct; the whole path if none does."""
    most_parts = max((len(path.parts) for path in paths), default=0)
    for n_parts in range(1, most_parts + 1):
        names = ["/".join(path.parts[-n_parts:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]


# What Hydra reads as something else than a text, in any case.
NO_TEXTS = ("null", "true", "false", "nan", "inf")
# A value that may be typed as it is: it is no number and has no signs of a shell.
TYPED_AS_IS = re.compile(r"[A-Za-z_][\w-]*|(?:[A-Za-z_.]|/(?=\w))[\w./-]*[A-Za-z]", re.ASCII)


def override(key: str, value: str) -> str:
    """An override with a text as its value, as it is typed into a shell."""
    if TYPED_AS_IS.fullmatch(value) and value.lower() not in NO_TEXTS:
        return f"{key}={value}"
    return quote_for_shell(f"{key}={quote_for_hydra(value)}")


def columns_override(key: str, names: Sequence[str]) -> str:
    """An override with a list of columns as its value, as it is typed into a shell."""
    listed = ",".join(map(quote_for_hydra, names))
    return quote_for_shell(f"{key}=[{listed}]")


def quote_for_shell(word: str) -> str:
    """A word as it is typed into a shell: signs that no terminal shows as their bytes, between $' and '."""
    if word.isprintable():
        return shlex.quote(word)
    escaped = [_shell_sign(sign) for sign in word]
    return f"$'{''.join(escaped)}'"


def _shell_sign(sign: str) -> str:
    """A character between $' and ': bytes for unprintable ones, and an escape if the shell needs one."""
    if sign in "\\'":
        return "\\" + sign
    if sign.isprintable():
        return sign
    return "".join(f"\\x{byte:02x}" for byte in sign.encode())


def quote_for_hydra(text: str) -> str:
    """A text between quotation marks, as an override has it: Hydra removes backslashes only before such a mark."""
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', text)
    # The closing mark follows.
    escaped = re.sub(r"(\\*)\Z", r"\1\1", escaped)
    return f'"{escaped}"'
