"""Text files as lines (ended by LF or CR LF, nothing unquoted or stripped): their numbers, fields and tags.

They are UTF-8, of the encoding that a byte-order mark names, or of one that the user names.
"""

from __future__ import annotations

import codecs
import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bmx_grid.core.errors import ConfigError, DataError, text_of
from bmx_grid.core.ragged import Floats, Labels
from bmx_grid.core.storage import read_file
from bmx_grid.core.wording import escape_unprintable, pluralize, shorten
from bmx_grid.datasets.segments import LARGEST
from bmx_grid.words.tags import Rows, WordTags

if TYPE_CHECKING:
    import pandas as pd

# UTF-32 first: its little-endian mark begins with that of UTF-16.
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# A NUL in each second byte is ASCII in UTF-16 without a mark.
WITHOUT_MARK = ("utf-16-be", "utf-16-le")
# How a missing number is written, in any case.
NO_NUMBER = {"", "na", "n/a", "nan", "none", "null"}
# The sign before the decimals of a number.
Decimal = Literal[".", ","]
HAS_DECIMAL_COMMA = re.compile(r"[-+−]?\d*,\d+(e[-+]?\d+)?", re.IGNORECASE)
# The columns of tags that are written one per line.
LISTED = ["language_pair", "method", "side", "sentence", "token", "word", "tag"]
# How two tags are written; the second one is an error.
OK_BAD = ("OK", "BAD")
ZERO_ONE = ("0", "1")


def decode(raw: bytes, where: str, encoding: str | None = None, option: str = "") -> str:
    """The text of a file, without its byte-order mark.

    Args:
        raw: the bytes. A byte-order mark overrides `encoding`.
        where: the file, for messages.
        encoding: a name that Python knows; None for UTF-8.
        option: the setting of the encoding, as "encoding=", for the advice in messages; "" if none exists.

    Raises:
        DataError: names the line of a byte that does not fit, or is NUL.
        ConfigError: the encoding is unknown.
    """
    marked = [name for mark, name in BYTE_ORDER_MARKS.items() if raw.startswith(mark)]
    name = marked[0] if marked else encoding or "utf-8"
    try:
        text = raw.decode(name)
    except UnicodeDecodeError as error:
        # The codec of UTF-8 counts from behind the mark.
        position = error.start + len(raw) - len(error.object)
        raise _encoding_error(raw, position, where, name, option) from error
    # LookupError: no such name, or a codec of no text. ValueError: a NUL in the name.
    except (LookupError, ValueError) as error:
        raise ConfigError(
            f"{option or 'encoding='}{name[:60]}: unknown encoding; write a name that Python knows: cp1252, latin-1, "
            "utf-16-le or utf-8."
        ) from error
    # Unicode has the NUL, but no text has it: it is a sign of UTF-16, or of a file that is no text.
    if "\0" in text:
        raise _encoding_error(raw, raw.find(b"\0"), where, name, option)
    return text


def _encoding_error(raw: bytes, position: int, where: str, name: str, option: str) -> DataError:
    """The error for a byte that does not fit the encoding `name`."""
    line = raw[:position].count(b"\n") + 1
    encoding = "UTF-8" if name.startswith("utf-8") else name
    way_out = "save the file as UTF-8 text"
    if option:
        likely = "cp1252" if raw[position] else WITHOUT_MARK[position % 2]
        way_out = f"{way_out}, or name its encoding: {option}{likely}"
    return DataError(
        f"{where}, line {line}: byte 0x{raw[position]:02x} is not {encoding} text (another encoding, a compressed "
        f"file, or a workbook?); {way_out}."
    )


def decode_lines(raw: bytes, where: str, encoding: str | None = None, option: str = "") -> list[str]:
    """The lines of a text, decoded as `decode`, without the LF or CR LF that end them.

    Nothing else ends a line: U+2028, U+0085, form feeds and single CRs occur inside sentences, where
    `str.splitlines` would split. Raises as `decode`.
    """
    lines = decode(raw, where, encoding, option).split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_bytes(path: Path) -> bytes:
    """The bytes of a file. Raises DataError when it cannot be read, or is a folder."""
    try:
        if path.is_dir():
            raise DataError(f"{escape_unprintable(str(path))}: is a folder; name a file.")
        return read_file(path)
    # ValueError: a NUL in the name
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        name = shorten(escape_unprintable(str(path)), 300)
        raise DataError(f"{name}: cannot be read ({reason}); give the name of a file that can.") from error


def read_lines(path: Path) -> list[str]:
    """The lines of a file, as `decode_lines`."""
    return decode_lines(read_bytes(path), str(path))


def text_rows(
    lines: Sequence[str], columns: Sequence[str], where: str, first: int = 1, separator: str | None = "\t"
) -> pd.DataFrame:
    """The fields of each line as columns of texts, and its number as `line`, from `first`.

    separator: None for any white space. Raises DataError with a line that has more or fewer fields.
    """
    import pandas as pd

    rows = [line.split(separator) for line in lines]
    for number, fields in enumerate(rows, start=first):
        if len(fields) != len(columns):
            line = lines[number - first]
            raise DataError(f"{where}, line {number}: {len(fields)} fields, expected {len(columns)}: {line[:80]!r}")
    frame = pd.DataFrame(rows, columns=list(columns), dtype=object)
    numbers = range(first, first + len(rows))
    return frame.assign(line=numbers)


def published_table(lines: Sequence[str], where: str, separator: str = "\t") -> pd.DataFrame:
    """The texts of a publisher's table whose first line has the column names. Raises DataError for one without rows."""
    if len(lines) < 2:
        raise DataError(f"{where}: holds no rows below the column names; download it again.")
    columns = lines[0].split(separator)
    return text_rows(lines[1:], columns, where, 2, separator)


def finite(texts: Iterable[str]) -> Floats:
    """float64[N] of numbers as texts. Raises ValueError naming one that is not a finite number."""
    texts = list(texts)
    numbers = np.array(texts, dtype=np.float64)
    is_finite = np.isfinite(numbers)
    if not is_finite.all():
        wrong = texts[int(np.argmin(is_finite))]
        raise ValueError(f"{wrong!r} is not a finite number")
    return numbers


def refuse(rows: pd.DataFrame, wrong: pd.Series[bool], sentence: Callable[[Any], str]) -> None:
    """Raise DataError with the sentence on the first row that is wrong."""
    if wrong.any():
        raise DataError(sentence(rows[wrong].iloc[0]))


def to_decimal_point(text: str, decimal: str) -> str:
    """A number as Python reads it, of one that is written with this decimal sign. Raises ValueError for other signs."""
    # 1_000, which Python takes for a number, and with a decimal comma 1.000,5 or 0.5
    if "_" in text or (decimal == "," and "." in text):
        raise ValueError(f"{text!r} is no number with the decimal sign {decimal!r}")
    return text.replace(",", ".") if decimal == "," else text


def finite_or_nan(text: str, decimal: str = ".") -> float:
    """The number in a text; NaN for other text, as 1_000, and for infinity. decimal: its decimal sign."""
    try:
        value = float(to_decimal_point(text, decimal))
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def parse_number(
    value: Any, where: str, noun: str, way_out: str, decimal: Decimal = ".", comma_option: str | None = None
) -> float:
    """A finite number; NaN for empty, NA, N/A, NaN, None and null, in any case.

    where: file and row; noun: the number's name in a sentence; way_out: how a missing number is written. decimal: the
    decimal sign of numbers that are texts; comma_option: the setting for a decimal comma, if it exists.
    Raises DataError naming these and the value for everything else: infinity, numbers beyond 1e150, truth values,
    1_000, and with a decimal comma numbers with a point, which may separate thousands.
    """
    is_text = isinstance(value, str)
    if value is None or (is_text and value.strip().lower() in NO_NUMBER):
        return math.nan
    # Infinite is whatever is refused, so that one message is enough.
    number = math.inf
    try:
        if is_text:
            number = float(to_decimal_point(value, decimal))
        # float() would take True for a number.
        elif not isinstance(value, bool):
            number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.inf
    if abs(number) <= LARGEST or math.isnan(number):
        return number
    problem = f"beyond ±{LARGEST:g}, whose squares have no number"
    if math.isinf(number):
        problem = "not a finite number"
    shown = text_of(value)
    advice = f"write a number like -0.25, or {way_out}"
    if decimal == ",":
        advice = f"with {comma_option} write a number like -0,25, without a point, or {way_out}"
    elif comma_option and HAS_DECIMAL_COMMA.fullmatch(shown.strip()):
        advice = f"if its comma is a decimal comma, add {comma_option} to the arguments"
    raise DataError(f"{where}: {noun} is {problem}: {shown[:60]!r}; {advice}.")


def parse_numbers(
    values: Sequence[Any],
    where: Callable[[int], str],
    noun: str,
    way_out: str,
    decimal: Decimal = ".",
    comma_option: str | None = None,
) -> list[float]:
    """`parse_number` of all texts; where: file and place of a row, called only for a wrong value."""
    # Most columns hold nothing but plain numbers, which NumPy reads at once. It takes 1_000 for one, as Python does.
    are_texts = set(map(type, values)) == {str}
    if are_texts and decimal == "." and not any("_" in value for value in values):
        try:
            plain = np.array(values, dtype=np.float64)
        except ValueError:
            plain = np.array([math.nan])
        # False for a NaN, whose text may be one that is refused.
        if (np.abs(plain) <= LARGEST).all():
            return list(plain.tolist())
    numbers = []
    for row, value in enumerate(values):
        try:
            numbers.append(parse_number(value, "", noun, way_out, decimal, comma_option))
        except DataError:
            # The same error once more, now that its place is worth writing.
            parse_number(value, where(row), noun, way_out, decimal, comma_option)
            raise
    return numbers


def check_aligned(files: Mapping[str, Sized]) -> int:
    """The common number of lines. Raises DataError naming a file of each number when they differ."""
    first_of_length: dict[int, str] = {}
    for name, lines in files.items():
        first_of_length.setdefault(len(lines), name)
    if len(first_of_length) > 1:
        lengths = []
        for length, name in first_of_length.items():
            lengths.append(f"{name} has {pluralize(length, 'line')}")
        raise DataError(
            f"files that belong together have different lengths: {', '.join(lengths)}; give one line per segment in "
            "each."
        )
    return next(iter(first_of_length))


def tags_of_lines(texts: Sequence[str], tags: Sequence[str], known: tuple[str, str] = OK_BAD) -> WordTags:
    """The tags of N lines of words. Raises ValueError if they do not fit the words, or for another tag."""
    labels = Labels.from_rows(rows_of_tags(tags, known))
    return WordTags(rows_of_words(texts), labels)


def rows_of_words(lines: Sequence[str]) -> Rows:
    """The words of each line, separated by any white space: some lines have several blanks, which tags do not count."""
    return tuple(tuple(line.split()) for line in lines)


def rows_of_tags(lines: Sequence[str], known: tuple[str, str] = OK_BAD) -> list[list[int]]:
    """0 or 1 (an error) for each tag of each line. Raises ValueError for a tag that is not known."""
    rows = []
    for line in lines:
        rows.append([known.index(tag) for tag in line.split()])
    return rows


def listed_tags(lines: Sequence[str], where: str, first: int) -> pd.DataFrame:
    """Tags written one per line in the layout LISTED, with sentences and tokens numbered from 0: a row per text.

    Its columns: language_pair, side, sentence, line (of the first token), words and bad (lists).
    first: the number of the first of `lines` in its file. Raises DataError naming file, line and value for another
    number of fields, a sentence or token that is no number, another tag, and tokens that are missing or repeated.
    """
    rows = text_rows(lines, LISTED, where, first)
    # At most nine digits: they fit integers of any size.
    _check_column(rows, "sentence", r"[0-9]{1,9}", "a number from 0", where)
    _check_column(rows, "token", r"[0-9]{1,9}", "a number from 0", where)
    _check_column(rows, "tag", "OK|BAD", "OK or BAD", where)
    rows = rows.astype({"sentence": int, "token": int})
    text_columns = ["language_pair", "side", "sentence"]
    # Unsorted, texts are numbered in order of appearance.
    rows["text"] = rows.groupby(text_columns, sort=False).ngroup()
    rows = rows.sort_values(["text", "token"])

    def sentence(row: Any) -> str:
        return (
            f"{where}, line {row.line}: token {row.token} of sentence {row.sentence} was already tagged, or one before "
            "it has no line; give one line per token."
        )

    # Sorted, the tokens of a text are 0, 1, 2 and so on.
    expected = rows.groupby("text").cumcount()
    refuse(rows, rows.token != expected, sentence)
    rows["tag"] = rows.tag == "BAD"
    grouped = rows.groupby("text")
    texts = grouped[text_columns].first()
    lists: dict[str, Any] = {"words": [], "bad": []}
    words = rows.word.tolist()
    bad = rows.tag.tolist()
    for start, end in itertools.pairwise([0, *grouped.size().cumsum()]):
        lists["words"].append(tuple(words[start:end]))
        lists["bad"].append(bad[start:end])
    return texts.assign(line=grouped.line.min(), **lists)


def _check_column(rows: pd.DataFrame, column: str, pattern: str, expected: str, where: str) -> None:
    """Raise DataError for the first text of a column that does not fit the pattern. expected: what fits, in words."""
    # Of many lines few values are different.
    fitting = [text for text in rows[column].unique() if re.fullmatch(pattern, text)]
    fits = rows[column].isin(fitting)

    def sentence(row: Any) -> str:
        return f"{where}, line {row.line}: the {column} {row[column][:40]!r} is not {expected}; correct the line."

    refuse(rows, ~fits, sentence)
