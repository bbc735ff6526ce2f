"""Texts of tables that are kept in tests/expected, and sentences that name what differs from them.

A text is sections: a title after "# ", a header, rows of cells, then sentences. The comparison goes by name and not by
place: a section by its title, a column by its header, a row by its first cells.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from difflib import SequenceMatcher
from itertools import count

GAP = " | "
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
NAMES = re.compile(r"names: (\d+)")  # how many columns name the rows; one where the title does not say
# Sums of some hundred numbers of float64, and a regression of them, differ by less; what is written has ten digits. A p
# value magnifies what its t differs by (by 1.6e-9 of the sum on a processor without AVX).
RELATIVE, ABSOLUTE = 5e-9, 1e-8
# Partial correlations solve kernels with conditions of up to 1e8 (by 2.3e-7 of a sum on a processor without AVX).
KERNELS, RELATIVE_OF_KERNELS = re.compile("boosts|verdicts"), 2e-6


def section_text(title, header, rows, sentences=()):
    lines = [GAP.join(map(str, row)) for row in (header, *rows)]
    return "\n".join([f"# {title}", *lines, *sentences]) + "\n"


@dataclass(frozen=True)
class Section:
    title: str
    header: list[str]
    rows: list[list[str]]
    sentences: list[str]

    @property
    def name(self):
        return self.title.split(":")[0]


def sections(text):
    """The sections of a text by name."""
    by_name = {}
    for block in re.split(r"^# ", text, flags=re.MULTILINE)[1:]:
        title, header, *lines = block.rstrip("\n").split("\n")
        columns = header.split(GAP)
        rows, sentences = [], []
        for line in lines:
            cells = line.split(GAP)
            if len(columns) > 1 and len(cells) == len(columns):
                rows.append(cells)
            else:
                sentences.append(line)
        section = Section(title, columns, rows, sentences)
        if section.name in by_name:
            raise ValueError(f"two sections have the name {section.name!r}")
        by_name[section.name] = section
    return by_name


def key_width(section):
    """How many leading cells name a row: the columns of names, and further texts and counts until no two rows agree."""
    stated = NAMES.search(section.title)
    least = int(stated[1]) if stated else 1
    for width in range(least, len(section.header)):
        if any("." in row[column] for row in section.rows for column in range(least, width)):
            break  # a measured value names nothing: the row would be new whenever it changes
        if len({tuple(row[:width]) for row in section.rows}) == len(section.rows):
            return width
    return least


def rows_by_key(rows, width):
    """The rows by their first cells; rows that agree in these are numbered."""
    met = Counter()
    by_key = {}
    for row in rows:
        key = " ".join(row[:width])
        met[key] += 1
        number = f" (number {met[key]})" if met[key] > 1 else ""
        by_key[key + number] = row
    return by_key


def without_numbers(text):
    return NUMBER.sub("#", text)


def differing_parts(expected, actual, relative=RELATIVE):
    """What differs between two texts: all of both if words do, else the first numbers that differ by more than
    rounding; None if nothing does.

    A number may differ by one unit of its last digit, where one was rounded up and the other down; a whole one may not.
    """
    if without_numbers(expected) != without_numbers(actual):
        return expected, actual
    for old, new in zip(NUMBER.findall(expected), NUMBER.findall(actual), strict=True):
        last_digit = Decimal(old).as_tuple().exponent
        unit = 1.01 * 10.0**last_digit if last_digit < 0 else 0.0  # the difference of two decimals is itself rounded
        if abs(float(new) - float(old)) > max(unit, ABSOLUTE, relative * abs(float(old))):
            return old, new
    return None


def changed_texts(place, expected, actual):
    relative = RELATIVE_OF_KERNELS if KERNELS.match(place) else RELATIVE
    parts = differing_parts(expected, actual, relative)
    if parts is not None:
        yield f"{place}: expected {parts[0]!r}, got {parts[1]!r}"


def changed_names(place, kind, expected, actual):
    """Names that are missing, new, or in another order."""
    missing = [name for name in expected if name not in actual]
    new = [name for name in actual if name not in expected]
    for name in missing:
        yield f"{place}{kind} {name!r}: missing"
    for name in new:
        yield f"{place}{kind} {name!r}: new"
    kept_before = [name for name in expected if name in actual]
    kept_now = [name for name in actual if name in expected]
    if kept_before != kept_now:
        first_before, first_now = next(pair for pair in zip(kept_before, kept_now, strict=True) if pair[0] != pair[1])
        yield f"{place}{kind}s in another order: expected {first_before!r}, got {first_now!r}"


def changed_rows(name, expected, actual):
    """Differences of the rows of two sections with one name, cell by cell."""
    width = key_width(expected)
    rows_before = rows_by_key(expected.rows, width)
    rows_now = rows_by_key(actual.rows, width)
    yield from changed_names(f"{name}, ", "column", expected.header, actual.header)
    yield from changed_names(f"{name}, ", "row", list(rows_before), list(rows_now))
    for key, row in rows_before.items():
        if key not in rows_now:
            continue
        cells_now = dict(zip(actual.header, rows_now[key], strict=True))
        for column, cell in zip(expected.header, row, strict=True):
            if column in cells_now:
                yield from changed_texts(f"{name}, row {key!r}, column {column!r}", cell, cells_now[column])


def changed_sentences(name, expected, actual):
    """Differences of sentences, which have no names: those alike but for numbers belong together."""
    alike = SequenceMatcher(
        None, [without_numbers(text) for text in expected], [without_numbers(text) for text in actual], autojunk=False
    )
    for change, before_start, before_end, now_start, now_end in alike.get_opcodes():
        before, now = expected[before_start:before_end], actual[now_start:now_end]
        shared = min(len(before), len(now))
        for number, old, new in zip(count(before_start + 1), before, now, strict=False):
            yield from changed_texts(f"{name}, sentence {number}", old, new)
        if change == "equal":
            continue
        for text in before[shared:]:
            yield f"{name}, sentence {text!r}: missing"
        for text in now[shared:]:
            yield f"{name}, sentence {text!r}: new"


def differences(expected, actual):
    """Pairs of a section's name and a sentence that names what differs there, with both values."""
    before, now = sections(expected), sections(actual)
    for sentence in changed_names("", "table", list(before), list(now)):
        yield "tables", sentence
    for name, section in before.items():
        if name not in now:
            continue
        changes = [
            *changed_texts(f"{name}, title", section.title, now[name].title),
            *changed_rows(name, section, now[name]),
            *changed_sentences(name, section.sentences, now[name].sentences),
        ]
        for sentence in changes:
            yield name, sentence


def report(expected, actual, shown=10):
    """What differs, table by table: how much in each, then the first differences one by one; "" if nothing does."""
    changes = list(differences(expected, actual))
    if not changes:
        return ""
    counts = Counter(name for name, _ in changes)
    lines = [f"{len(changes)} differences: " + ", ".join(f"{name} {number}" for name, number in counts.items())]
    lines += [sentence for _, sentence in changes[:shown]]
    if len(changes) > shown:
        lines.append(f"and {len(changes) - shown} more")
    return "\n".join(lines)
