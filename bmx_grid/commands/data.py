"""List, download, verify and show data sets.

settings:
  data_dir=DIR           the folder of the data sets (default: $BMX_DATA_DIR, or
                         data)
  language_pair=LP[,LP]  only these language pairs
  limit=N                show: how many segments of each pair (default 3)
  KEY=VALUE              any other key of the data set's YAML file; of a table:
                         columns.score=quality (score is the role, quality
                         its column) or decimal=,

exit status: 0 done; 1 something is missing or differs; 2 a mistake in the
  command or its file, or a publisher that cannot be reached.

examples:
  bmx-grid data download wmt17 data_dir=data
  bmx-grid data show my.tsv
"""

from __future__ import annotations

import itertools
import os
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid.api.compose import parse_one
from bmx_grid.core.configure import build, load_option, options
from bmx_grid.core.errors import ConfigError, DataError, unknown
from bmx_grid.core.terminal import RESUMES, command, parser
from bmx_grid.core.wording import counted, factor_in_words, visible
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.download import download, file_states, unverifiable
from bmx_grid.datasets.mt_metrics_eval import MtMetricsEval
from bmx_grid.datasets.segments import SegmentSet, clusters
from bmx_grid.datasets.span_files import JSONL, NESTED, read_spans, severities, span_format
from bmx_grid.datasets.tables import (
    REQUIRED,
    TABLE_ENDINGS,
    TableFile,
    first_few,
    in_shell,
    named_roles,
    open_table,
    override,
    quoted,
    recognised,
)
from bmx_grid.datasets.tabular import Tabular
from bmx_grid.words.perturbation import ROLES
from bmx_grid.words.tags import WEIGHTS

SUBCOMMANDS = {
    "list": "each data set, its language pairs, and whether its files are present and as published",
    "download": "fetch the files from their publishers, checked against their SHA-256",
    "verify": "the same, with an exit status of 1 where a file is missing or differs",
    "show": "counts, and the first segments of each pair; of a table of yours also what its columns are taken for",
}
SEGMENT_KEY = ("id", "system", "language_pair")  # what a segment is known by


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status (see above)."""
    cli = parser("data", __doc__)
    cli.add_argument("command", choices=SUBCOMMANDS, help="; ".join(map(": ".join, SUBCOMMANDS.items())))
    cli.add_argument(
        "settings",
        nargs="*",
        metavar="NAME | KEY=VALUE",
        help="data sets, and settings (below); show: also a table or error spans, or a folder of mt-metrics-eval",
    )
    cli.add_argument(
        "--columns", nargs="+", default=[], metavar="ROLE=COLUMN", help="the same as columns.ROLE=COLUMN (below)"
    )
    parsed = cli.parse_args(arguments)

    return command(lambda: _run(parsed.command, parsed.settings, named_roles(parsed.columns)), RESUMES)


def _run(act: str, settings: Sequence[str], columns: Mapping[str, Any]) -> int:
    """The exit status. Raises BmxError for every mistake that the user can fix."""
    names = [argument for argument in settings if "=" not in argument]
    keys = dict(argument.split("=", 1) for argument in settings if "=" in argument)
    data_dir = Path(keys.pop("data_dir", os.environ.get("BMX_DATA_DIR", "data"))).expanduser()
    language_pairs = [pair for pair in keys.pop("language_pair", "").split(",") if pair]
    limit = keys.pop("limit", "3")
    if not limit.isdecimal():
        raise ConfigError(f"limit={limit}: give a whole number, 0 or more.")
    if not names and act != "list":
        raise ConfigError(f"name a data set: {', '.join(options('dataset'))}; or all.")
    values = {key: parse_one(f"{key}={value}").value() for key, value in keys.items()}
    values |= {f"columns.{role}": column for role, column in columns.items()}
    values |= {"language_pairs": language_pairs} if language_pairs else {}
    if act == "show":
        of_spans = [name for name in names if span_format(Path(name).expanduser())]
        for name in of_spans:
            _show_spans(Path(name).expanduser(), int(limit))
        names = [name for name in names if name not in of_spans or _has_segments(Path(name).expanduser())]
        unrated = [name for name in names if _is_unrated(Path(name).expanduser())]
        for name in unrated:
            _show_items(Path(name).expanduser())
        names = [name for name in names if name not in unrated]
        if (of_spans or unrated) and not names:
            return 0
    readers = [_reader(name, values) for name in (options("dataset") if names in ([], ["all"]) else names)]
    if act == "show":
        for reader in readers:
            _show(reader, data_dir, int(limit))
        return 0
    if act == "download":
        print(f"{counted(download(readers, data_dir), 'file')} written below {data_dir}")
    status = _list(readers, data_dir)
    return 0 if act == "list" else status


def _reader(name: str, keys: Mapping[str, Any]) -> DatasetReader:
    """A data set by its name, or the path of a table. Raises ConfigError."""
    if name.lower().removesuffix(".gz").endswith(TABLE_ENDINGS) or Path(name).is_file():
        name, keys = "tabular", {**keys, "path": name}
    elif name not in options("dataset") and Path(name).expanduser().is_dir():
        name, keys = "mt_metrics_eval", {**keys, **_test_set(name)}
    if name not in options("dataset"):
        names = unknown("data set", name[:200], [*options("dataset"), "all"])
        raise ConfigError(f"{names} Or name a table of yours, a file that ends in {', '.join(TABLE_ENDINGS)}.")
    node = load_option("dataset", name)
    for key, value in keys.items():
        *parents, last = key.removeprefix(f"dataset.{name}.").split(".")
        inner = node
        for parent in parents:
            if not isinstance(inner.get(parent), dict):
                inner[parent] = {}
            inner = inner[parent]
        inner[last] = value
    return build(node, DatasetReader, f"dataset.{name}")


def _test_set(name: str) -> dict[str, str]:
    """The keys of a folder that is a test set of mt-metrics-eval. Raises ConfigError that names what else it holds."""
    folder = Path(name).expanduser().resolve()
    if (folder / "sources").is_dir():
        return {"folder": str(folder.parent), "test_set": folder.name}
    ways = [f"bmx-grid data show {shlex.quote(str(path.parent))}" for path in sorted(folder.glob("*/sources"))]
    for option in options("dataset"):
        reader = build(load_option("dataset", option), DatasetReader, f"dataset.{option}")
        needed = list(itertools.chain.from_iterable(map(reader.needs, reader.language_pairs)))
        for data_dir in (folder, folder.parent):
            inside = [path for path in needed if (data_dir / path).is_relative_to(folder)]
            if any((data_dir / path).is_file() for path in inside):
                ways.append(f"bmx-grid data show {option} data_dir={shlex.quote(str(data_dir))}")
    if not ways:
        raise ConfigError(
            f"{name}: the folder holds no data set that is known here: neither a test set of mt-metrics-eval (with "
            f"sources/, system-outputs/ and human-scores/) nor files of {', '.join(options('dataset'))}. Name one of "
            f"these with data_dir=DIR, or a table, a file that ends in {', '.join(TABLE_ENDINGS)}."
        )
    raise ConfigError(f"{name}: the folder holds data sets; show one of them: {'; or '.join(ways)}")


def _list(readers: Sequence[DatasetReader], data_dir: Path) -> int:
    """Say whether the files of each data set are there; 1 where one is missing or differs."""
    print(f"data_dir: {data_dir}\n")
    wrong = 0
    for reader in readers:
        states = file_states(reader, data_dir) if reader.sources else {}
        count = Counter(states.values())
        size = sum(entry.size for entry, state in states.items() if state == "verified")
        text = f"{count['verified']} of {len(states)} files present and verified, {size / 1e6:.1f} MB"
        if count["missing"]:
            text += f"; {count['missing']} missing: python -m bmx_grid data download {reader.name} data_dir={data_dir}"
        print(f"{reader.name:16}{' '.join(reader.language_pairs) or 'those of your files'}")
        print(f"{'':16}{text if states else 'nothing to download'}")
        if by_hand := unverifiable(reader):
            print(f"{'':16}{', '.join(by_hand)}: put there by hand{reader.published_at()}, and not verified")
        for entry, state in states.items():
            if state == "differs":
                print(f"{'':16}differs from the published file: {data_dir / entry.path}")
        wrong += len(states) - count["verified"]
    return 1 if wrong else 0


def _show(reader: DatasetReader, data_dir: Path, limit: int) -> None:
    """Print what a data set holds; of a table also its columns, and the command that runs it."""
    to_run = ""
    if isinstance(reader, Tabular):
        reader, to_run = _recognised(reader)
    sets = [reader.read(data_dir, pair) for pair in reader.pairs(data_dir)]
    labels = clusters(sets)
    for segments, of_pair in zip(sets, labels, strict=True):
        _show_pair(segments, len(set(of_pair)), limit)
    if isinstance(reader, MtMetricsEval):
        keys = {"test_set": str(reader.test_set), "folder": reader.folder}
        chosen = [override(f"dataset.mt_metrics_eval.{key}", value) for key, value in keys.items()]
        metrics = "'metric=[chrf,sentence_bleu]'" if sets[0].has("reference") else "'metric=[xlmr_sbert]'"
        words = ["bmx-grid run", "'dataset=[mt_metrics_eval]'", *chosen, metrics, "'explainer=[]'", "name=mine"]
        to_run = " \\\n    ".join(words)
    print(f"\nto run it:\n{to_run}" if to_run else "", end="\n" if to_run else "")


def _show_pair(segments: SegmentSet, n_clusters: int, limit: int) -> None:
    texts = [role for role in ("source", "reference") if segments.has(role)]
    known = " and ".join(texts)
    if len(texts) == 2 and segments.texts("source") == segments.texts("reference"):
        known += ", which are the same in every row"
    systems = f" of {counted(len(segments.systems), 'system')}" if segments.systems else ""
    print(
        f"{segments.dataset} {segments.language_pair}: {counted(len(segments), 'segment')}{systems} in "
        f"{counted(n_clusters, 'cluster')}, {segments.rated:,} rated, with {known}"
    )
    judgements = segments.judgements
    for name, scores in judgements.scores.items():
        primary = " (primary)" if name == judgements.primary and len(judgements.scores) > 1 else ""
        values = "these segments are unrated"
        if not np.isnan(scores).all():
            values = f"{np.nanmin(scores) + 0.0:g} to {np.nanmax(scores) + 0.0:g}, mean {np.nanmean(scores):.4f}"
        print(f"  {visible(name)}{primary}: {values}")
    if empty := segments.empty_texts():
        print(f"  empty texts in {counted(len(empty), 'segment')}, the first is {visible(empty[0])}")
    for row, segment in enumerate(segments.segments[:limit]):
        scores_of = {name: scores[row] for name, scores in judgements.scores.items()}
        shown = [
            f"{name} {'not rated' if np.isnan(value) else format(value, 'g')}" for name, value in scores_of.items()
        ]
        print(visible(f"  [{segment.name}] {', '.join(shown)}"))
        for role in ROLES:
            text = getattr(segment, role)
            if text is not None:
                print(f"    {role:11}{visible(text)}")


def _has_segments(path: Path) -> bool:
    """Whether a file of spans is a table of rated segments as well."""
    return span_format(path) in (JSONL, NESTED) and set(REQUIRED) <= set(open_table(path).names)


def _is_unrated(path: Path) -> bool:
    """Whether a file holds items of a shared task that nobody has rated yet, or predictions."""
    return path.is_file() and path.name.endswith((".jsonl", ".jsonl.gz")) and _lacks_scores(open_table(path))


def _lacks_scores(table: TableFile) -> bool:
    return bool(table.outputs) and not set(REQUIRED) <= set(table.names)


def _show_items(path: Path) -> None:
    """Print what a file of items without human scores holds, and how it is scored or read."""
    table = open_table(path)
    outputs = table.outputs
    items = len({output.id for output in outputs})
    count = f"{counted(len(outputs), 'output')} of {counted(items, 'item')}"
    print(f"{visible(str(path))}: {count}, without a score of people")
    for column in ("language_pair", "system"):
        names = sorted({getattr(output, column) for output in outputs})
        print(f"  {factor_in_words(column):<14} {visible(first_few(names))}")
    numbers = list(dict.fromkeys(itertools.chain.from_iterable(output.scores for output in outputs)))
    print(f"  {'numbers':<14} {visible(first_few(numbers)) if numbers else 'none'}")
    if outputs[0].hypothesis is None:
        words = ["bmx-grid run", "'metric=[imported]'", override("metric.imported.file", str(path))]
        words += [override("metric.imported.columns.score", name) for name in numbers[:1]]
        print("\nto use them as scores of a data set's segments:\n" + " \\\n    ".join([*words, "…"]))
    else:
        metric = "e5_xbertscore" if outputs[0].reference is None else "chrf"
        print(f"\nto score them:\nbmx-grid score --metric {metric} --format wmt26 -t {shlex.quote(str(path))}")


def _show_spans(path: Path, limit: int) -> None:
    """Print what a file of error spans holds, and how it is given to a sweep."""
    rows = read_spans(path).rows
    judged = rows[rows.value.notna()]
    print(f"{visible(str(path))}: {span_format(path)}, {counted(len(judged), 'judged text')} of {len(rows):,}")
    for column in ("language_pair", "system", "rater"):
        names = sorted(set(rows[column].astype(str)) - {""}) if column in rows else []
        if names:
            print(f"  {factor_in_words(column):<14} {visible(first_few(names))}")
    count = severities(judged.value)
    omissions = count["omission"]
    of_severity = [f"{counted(count[name], name + ' error')}" for name in WEIGHTS if count[name]]
    print(f"  {'spans':<14} {', '.join(of_severity) or 'none'}; {counted(omissions, 'omission')} among them")
    print(f"  {'without spans':<14} {counted(sum(not spans for spans in judged.value), 'text')}")
    for row in judged.iloc[:limit].to_dict("records"):
        name = ":".join(str(row[column]) for column in ("document", "id", "system") if row.get(column))
        spans = [f"{span.severity} {span.start}-{span.end}" for span in row["value"]]
        print(visible(f"  [{name or row['place']}] {', '.join(spans) or 'no error'}"))
    words = ["bmx-grid run", "'explainer=[imported]'", override("explainer.imported.file", str(path))]
    print(
        "\nto use it as explanations of a data set's segments:\n"
        + " \\\n    ".join([*words, "'boost=[severity]'", "…"])
    )


def _recognised(reader: Tabular) -> tuple[Tabular, str]:
    """The reader of a table with its columns recognised, which are printed, and the command that runs it.

    Raises DataError for roles that are missing, in one sentence, and as `open_table`.
    """
    if not reader.path:
        raise ConfigError("dataset.tabular.path is not set: name your file: bmx-grid data show my.tsv")
    table = open_table(Path(reader.path).expanduser())
    given = {role: (names,) if isinstance(names, str) else names for role, names in reader.columns.items() if names}
    way_out = f"bmx-grid data show {shlex.quote(reader.path)} columns.{{}}=NAME"
    roles = recognised(table.names, given, REQUIRED, str(table.path), way_out)
    lines = {}
    if "id" in roles and "id" not in given and roles["id"] != ("id",):  # a column that may number something else
        values = table.take([roles[role][0] for role in SEGMENT_KEY if role in roles])
        segments = {tuple(map(str, row)) for row in zip(*values.values(), strict=True)}  # JSON may hold lists
        if len(segments) < len(table):
            lines["id"] = f"the number of the row: {visible(roles.pop('id')[0])} repeats within a pair"
    if "language_pair" not in roles:
        lines["language pair"] = (
            ", ".join(reader.language_pairs) or "none: one language, or name the pair with language_pair=de-en"
        )
    used = set().union(*roles.values())
    lines["unused"] = (
        visible(first_few([name for name in dict.fromkeys(table.names) if name not in used])) or "no column"
    )
    print(f"{visible(str(table.path))}: {counted(len(table), 'row')}")
    lines = {factor_in_words(role): visible(", ".join(names)) for role, names in roles.items()} | lines
    for role, text in lines.items():
        print(f"  {role:<14} {text}")
    for name in (reader.path, *itertools.chain.from_iterable(roles.values())):
        if "\0" in name or "${" in name:  # which a shell cannot pass on, and Hydra takes for another key
            raise DataError(f"{table.path}: {name[:60]!r} cannot be part of a command; rename it without ${{ and NUL.")
    columns = {role: names if len(names) > 1 else names[0] for role, names in roles.items()}
    return replace(reader, columns=columns), _command(reader, roles)


def _command(reader: Tabular, roles: Mapping[str, tuple[str, ...]]) -> str:
    """The command that runs a sweep on this table, in lines to be copied into a shell."""
    words = ["'dataset=[tabular]'", override("dataset.tabular.path", str(reader.path))]
    words += [f"dataset.tabular.decimal={reader.decimal}"] if reader.decimal != "." else []
    for role, names in roles.items():
        key = f"dataset.tabular.columns.{role}"
        if len(names) > 1:
            words.append(in_shell(f"{key}=[{','.join(map(quoted, names))}]"))
        elif names != (role,):
            words.append(override(key, names[0]))
    if "language_pair" not in roles and reader.language_pairs:
        words.append(shlex.quote(f"dataset.tabular.language_pairs=[{','.join(reader.language_pairs)}]"))
    metrics = "chrf,sentence_bleu" if "reference" in roles else "xlmr_sbert"
    words += [f"'metric=[{metrics}]'", "'explainer=[erasure,lime]'", "name=mine"]
    return " \\\n    ".join(["bmx-grid run", *words])


if __name__ == "__main__":
    sys.exit(main())
