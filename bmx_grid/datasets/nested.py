"""Records of shared tasks that hold all outputs for a source: WMT26's items, and the human evaluation of WMT25.

| | WMT26 | WMT25 |
|---|---|---|
| id | `item_id`: SOURCE_###_TARGET_###_DOMAIN_###_DOCUMENT_###_SEGMENT | `doc_id`: PAIR_#_DOMAIN_#_DOCUMENT_#_SEGMENT |
| source | `src`: a text, or `{text, type}` | `src_text` |
| reference | `ref`: a text, or `{text, type}` | the output of `refA`, which is then no system |
| outputs | `hyps: {system: text}` | `tgt_text: {system: text}` |
| judgements, predictions | `NAME: {system: number}`, or an object of each system, as WMT25 | `scores: {system: {…}}` |

Predictions may come with the id and without the outputs. The object of a system has numbers (`human1`), and error
spans as lists of objects (`errors1`; of `task1_pred` `errors`) with the annotator's name (`annotator1`). Ends of
`start` and `end` are excluded, those of `start_i` and `end_i` are included (the README of wmt25-general-mt).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from bmx_grid.core.errors import DataError, unknown
from bmx_grid.core.wording import escape_unprintable

# The field of the outputs reveals the layout: hyps WMT26's, tgt_text WMT25's. Each has its separator and fields.
OUTPUTS = {"hyps": "_###_", "tgt_text": "_#_"}
IDS = {"hyps": "item_id", "tgt_text": "doc_id"}
SOURCES = {"hyps": "src", "tgt_text": "src_text"}
# Of WMT25, among the outputs.
REFERENCE_SYSTEM = "refA"
NO_JUDGEMENTS = (*OUTPUTS, "src", "ref", "refs", "resources")
# How the names of WMT25's scores begin; their mean is the score.
ROUND = "human"


@dataclass(frozen=True)
class Marked:
    """The errors that somebody marked in an output, as the record has them; omission: its severity, None for none."""

    rater: str
    errors: Sequence[Any]
    omission: Any = None


@dataclass(frozen=True)
class Output:
    """One output for a source, with its scores and spans. scores: by the name of a column.

    Predictions without the outputs have no texts.
    """

    line: int
    id: str
    language_pair: str
    domain: str
    document: str
    system: str
    source: str | None
    reference: str | None
    hypothesis: str | None
    scores: dict[str, Any] = field(default_factory=dict)
    marked: list[Marked] = field(default_factory=list)

    @property
    def place(self) -> str:
        """Its place, as messages show it behind "line"."""
        return f"{self.line}, system {escape_unprintable(self.system)}"


def is_nested(record: Mapping[str, Any]) -> bool:
    """Whether a record holds all outputs for a source, or their scores."""
    return _layout(record) is not None


def _layout(record: Mapping[str, Any]) -> str | None:
    """The field of the outputs, or of a record without them the one that its id belongs to."""
    for name in OUTPUTS:
        if isinstance(record.get(name), Mapping):
            return name
    has_objects = any(isinstance(value, Mapping) for value in record.values())
    for name, id_field in IDS.items():
        if has_objects and isinstance(record.get(id_field), str):
            return name
    return None


def field_names(record: Mapping[str, Any]) -> list[str]:
    """The names of a record's values, those in objects after these: {"translation": {"de": …}} has translation.de."""
    names = []
    # The fields that are left, the next one last.
    left = list(reversed([*record.items()]))
    while left:
        name, value = left.pop()
        if isinstance(value, Mapping) and value:
            inner = [(f"{name}.{key}", inner_value) for key, inner_value in value.items()]
            left += reversed(inner)
        else:
            names.append(name)
    return names


def field_value(record: Mapping[str, Any], name: str, default: Any) -> Any:
    """The value of a name of `field_names`, None inside of null, the default if the record lacks it."""
    while name not in record:
        outer = [key for key in record if name.startswith(f"{key}.")]
        if not outer:
            return default
        inner = record[outer[0]]
        if inner is None:
            return None
        if not isinstance(inner, Mapping):
            return default
        name = name.removeprefix(f"{outer[0]}.")
        record = inner
    return record[name]


def nested_outputs(records: Mapping[int, Mapping[str, Any]], path: str) -> Iterator[Output]:
    """The outputs of records, by their line. Raises DataError naming line, system and value for another layout."""
    line_of: dict[str, int] = {}
    for line, record in records.items():
        where = f"{path}, line {line}"
        for output in _outputs(record, line, where):
            first = line_of.setdefault(output.id, line)
            if first != line:
                raise DataError(f"{where}: {output.id[:80]!r} is the id of line {first}, too; write an item once.")
            yield output


def _outputs(record: Mapping[str, Any], line: int, where: str) -> Iterator[Output]:
    layout = _layout(record)
    if layout is None:
        raise DataError(f"{where}: no outputs, as {{'hyps': {{SYSTEM: TEXT}}}}, which other lines have.")
    name = str(record.get(IDS[layout], ""))
    language_pair, domain, document = _parts(name, layout, where)
    outputs = record.get(layout)
    texts: dict[str, str | None] = {}
    for system, text in (outputs or {}).items():
        texts[str(system)] = _text(text, f"{where}, system {system}")
    source = _text(record.get(SOURCES[layout]), f"{where}, {SOURCES[layout]}")
    if outputs is not None and source is None:
        raise DataError(f"{where}: no source, the field {SOURCES[layout]}; write a text.")
    # The human translation may be judged without being among the outputs.
    known = None if outputs is None else {*texts, REFERENCE_SYSTEM}
    judgements = _judgements(record, known, where)
    reference = _reference(record, where)
    if layout == "tgt_text" and reference is None:
        reference = texts.pop(REFERENCE_SYSTEM, None)
    if outputs is None:
        systems = list(dict.fromkeys(chain.from_iterable(judgements.values())))
    else:
        systems = [system for system, text in texts.items() if text is not None]
    for system in systems:
        output = Output(line, name, language_pair, domain, document, system, source, reference, texts.get(system))
        for field_name, by_system in judgements.items():
            if system in by_system:
                _add(output, field_name, by_system[system])
        _add_mean(output, f"{where}, system {system}")
        yield output


def _parts(name: str, layout: str, where: str) -> tuple[str, str, str]:
    """Language pair, domain and document that an id names."""
    separator = OUTPUTS[layout]
    parts = name.split(separator)
    # WMT26 names the two languages one after the other.
    if layout == "hyps":
        languages = "-".join(parts[:2])
        parts = [languages, *parts[2:]]
    if len(parts) < 4:
        expected = separator.join(["LANGUAGES", "DOMAIN", "DOCUMENT", "SEGMENT"])
        raise DataError(f"{where}: {IDS[layout]} is {name[:80]!r}; expected {expected}.")
    # A document's name includes its domain.
    document = separator.join(parts[1:-1])
    return parts[0], parts[1], document


def _text(value: Any, where: str) -> str | None:
    """A text, or that of an object with `text`; None for null. Raises DataError for anything else."""
    text = value.get("text") if isinstance(value, Mapping) else value
    if text is not None and not isinstance(text, str):
        raise DataError(f"{where}: expected a text, or an object with a text, got {str(value)[:60]!r}.")
    return text


def _reference(record: Mapping[str, Any], where: str) -> str | None:
    """The reference of a record, the first of several named ones; None without one."""
    value = record.get("ref", record.get("refs"))
    if isinstance(value, Mapping) and "text" not in value:
        value = next(iter(value.values()), None)
        if isinstance(value, Mapping):
            value = value.get("ref", value)
    return _text(value, f"{where}, reference")


def _judgements(record: Mapping[str, Any], systems: Set[str] | None, where: str) -> dict[str, Mapping[str, Any]]:
    """The fields of a record that are objects by system; of these systems, if they are known."""
    judgements: dict[str, Mapping[str, Any]] = {}
    for name, by_system in record.items():
        if name in NO_JUDGEMENTS or not isinstance(by_system, Mapping):
            continue
        for system in by_system:
            if systems is not None and system not in systems:
                raise DataError(f"{where}: {name}: {unknown('system', str(system)[:60], systems)}")
        judgements[name] = by_system
    return judgements


def _add(output: Output, name: str, value: Any) -> None:
    """Add a field's content to an output: a score, a list of errors, or an object of both."""
    if isinstance(value, list):
        output.marked.append(Marked(name, value))
        return
    if not isinstance(value, Mapping):
        output.scores[name] = value
        return
    for key, part in value.items():
        if key.startswith("errors"):
            # errors1 are those of annotator1.
            number = key.removeprefix("errors")
            rater = str(value.get(f"annotator{number}", name))
            output.marked.append(Marked(rater, part, value.get("omission")))
        elif isinstance(part, int | float) and not isinstance(part, bool):
            output.scores[key] = part


def _add_mean(output: Output, where: str) -> None:
    """Add the mean of the rounds of human scores, as `score`, if the record does not have one."""
    if "score" in output.scores:
        return
    rounds = []
    for name, value in output.scores.items():
        if name.startswith(ROUND) and value is not None:
            rounds.append(value)
    if rounds:
        try:
            output.scores["score"] = sum(rounds) / len(rounds)
        except TypeError as error:
            raise DataError(f"{where}: scores are {rounds!r:.60}; write numbers.") from error


def nested_columns(outputs: Sequence[Output]) -> dict[str, list[Any]]:
    """name -> the values of each column of a table with a row per output, and None if one has no such score."""
    columns: dict[str, list[Any]] = {}
    for name in ("id", "system", "language_pair", "domain", "document"):
        columns[name] = [getattr(output, name) for output in outputs]
    for role in ("source", "hypothesis", "reference"):
        texts = [getattr(output, role) for output in outputs]
        # A column of nothing would pass for a role whose texts were left out.
        if any(text is not None for text in texts):
            columns[role] = texts
    # A dict for its order: columns are ordered as in the records.
    score_names = dict.fromkeys(chain.from_iterable(output.scores for output in outputs))
    for name in score_names:
        columns[name] = [output.scores.get(name) for output in outputs]
    return columns
