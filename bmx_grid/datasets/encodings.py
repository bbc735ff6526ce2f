"""Bytes as text: UTF-8, the encoding that a byte-order mark names, or one that the user names."""

from __future__ import annotations

import codecs

from bmx_grid.core.errors import ConfigError, DataError

# UTF-32 first: its little-endian mark begins with that of UTF-16.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# A NUL in each second byte is ASCII in UTF-16 without a mark.
WITHOUT_MARK = ("utf-16-be", "utf-16-le")


def decode(raw: bytes, where: str, encoding: str | None = None, option: str = "") -> str:
    """The text of a file, without its byte-order mark.

    Args:
        raw: the bytes. A byte-order mark goes before `encoding`.
        where: the file, for messages.
        encoding: a name that Python knows; None for UTF-8.
        option: what sets the encoding, as "encoding=", for the advice in messages; "" if nothing does.

    Raises:
        DataError: names the line of a byte that does not fit, or is NUL.
        ConfigError: the encoding is unknown.
    """
    marked = [name for mark, name in MARKS.items() if raw.startswith(mark)]
    name = marked[0] if marked else encoding or "utf-8"
    try:
        text = raw.decode(name)
    except UnicodeDecodeError as error:
        # The codec of UTF-8 counts from behind the mark.
        position = error.start + len(raw) - len(error.object)
        raise _damaged(raw, position, where, name, option) from error
    # LookupError: no such name, or a codec of no text. ValueError: a NUL in the name.
    except (LookupError, ValueError) as error:
        raise ConfigError(
            f"{option or 'encoding='}{name[:60]}: unknown encoding; write a name that Python knows: cp1252, latin-1, "
            "utf-16-le or utf-8."
        ) from error
    # Unicode has the NUL, but no text has it: it is a sign of UTF-16, or of a file that is no text.
    if "\0" in text:
        raise _damaged(raw, raw.find(b"\0"), where, name, option)
    return text


def _damaged(raw: bytes, position: int, where: str, name: str, option: str) -> DataError:
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
