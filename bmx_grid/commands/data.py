"""List, download, verify and show data sets.

settings:
  data_dir=DIR           the folder of the data sets (default: $BMX_DATA_DIR, or
                         data)
  language_pair=LP[,LP]  only these language pairs
  limit=N                show: how many segments of each pair (default 3)
  KEY=VALUE              any other key of the data set's YAML file; of a table:
                         columns.score=quality (score is the role, quality
                         its column), decimal=, encoding=cp1252 or skip_rows=1

exit status: 0 done; 1 something is missing or differs; 2 a mistake in the
  command or its file, or a publisher that cannot be reached.

examples:
  bmx-grid data download wmt17 data_dir=data
  bmx-grid data show my.tsv
"""

from __future__ import annotations

import os
import shlex
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bmx_grid.api.compose import parse_one
from bmx_grid.commands.data_show import show_files, show_set
from bmx_grid.core.configure import build, load_option, options
from bmx_grid.core.errors import ConfigError, DataMissingError, unknown
from bmx_grid.core.storage import expand_home, is_file, is_folder, is_there
from bmx_grid.core.terminal import RESUMES, command, parser
from bmx_grid.core.wording import pluralize
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.column_roles import named_roles
from bmx_grid.datasets.download import download, file_states, unverifiable
from bmx_grid.datasets.tables import TABLE_ENDINGS

SUBCOMMANDS = {
    "list": "each data set, its language pairs, and whether its files are present and as published",
    "download": "fetch the files from their publishers, checked against their SHA-256",
    "verify": "check the files as list does; exit status 1 if one is missing or differs",
    "show": "counts, and the first segments of each pair; of your own table also the roles of its columns",
}
OptionKeys = dict[str, str]  # key -> value as it is written
OptionValues = dict[str, Any]
BELOW_A_NAME = " " * 16


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status (see above)."""
    cli = parser("data", __doc__)
    descriptions = "; ".join(map(": ".join, SUBCOMMANDS.items()))
    cli.add_argument("command", choices=SUBCOMMANDS, help=descriptions)
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
    return command(lambda: _run(parsed), RESUMES)


def _run(parsed: Namespace) -> int:
    """The exit status. Raises BmxError for every mistake that the user can fix."""
    columns = named_roles(parsed.columns)
    act = parsed.command
    names = []
    keys = {}
    for argument in parsed.settings:
        key, equals, value = argument.partition("=")
        # A folder may be called lang=de.
        if equals and not is_there(argument):
            keys[key] = value
        else:
            names.append(argument)
    usual_folder = os.environ.get("BMX_DATA_DIR", "data")
    data_dir = expand_home(keys.pop("data_dir", usual_folder))
    limit = keys.pop("limit", "3")
    if not limit.isdecimal():
        raise ConfigError(f"limit={limit}: give a whole number, 0 or more.")
    if not names and act != "list":
        for argument in parsed.settings:
            if argument.lower().removesuffix(".gz").endswith(TABLE_ENDINGS):
                raise DataMissingError(f"file not found: {argument} (in {Path.cwd()}); correct the path.")
        known = ", ".join(options("dataset"))
        raise ConfigError(f"name a data set: {known}; or all.")
    values = _option_values(keys, columns)
    if act == "show":
        names = show_files(names, int(limit))
        if not names:
            return 0
    if names in ([], ["all"]):
        names = options("dataset")
    readers = [_reader(name, values) for name in names]
    if act == "show":
        for reader in readers:
            show_set(reader, data_dir, int(limit))
        return 0
    if act == "download":
        written = pluralize(download(readers, data_dir), "file")
        print(f"{written} written below {data_dir}")
    status = _list(readers, data_dir)
    return 0 if act == "list" else status


def _option_values(keys: OptionKeys, columns: Mapping[str, Any]) -> OptionValues:
    """Read the settings of a data set's option.

    columns: from role to column name. Raises ConfigError for a setting without a value.
    """
    values: OptionValues = {}
    for key, text in keys.items():
        if key != "language_pair":
            values[key] = parse_one(f"{key}={text}").value()
    for role, column in columns.items():
        values[f"columns.{role}"] = column
    language_pairs = keys.get("language_pair", "").split(",")
    if any(language_pairs):
        values["language_pairs"] = list(filter(None, language_pairs))
    return values


def _reader(name: str, keys: OptionValues) -> DatasetReader:
    """A data set by its name, or the path of a table. Raises ConfigError."""
    known = options("dataset")
    is_named_as_table = name.lower().removesuffix(".gz").endswith(TABLE_ENDINGS)
    if is_named_as_table or is_file(Path(name)):
        keys = {**keys, "path": name}
        name = "tabular"
    elif name not in known and is_folder(expand_home(name)):
        keys = {**keys, **_test_set(name)}
        name = "mt_metrics_eval"
    if name not in known:
        message = unknown("data set", name[:200], [*known, "all"])
        endings = ", ".join(TABLE_ENDINGS)
        raise ConfigError(f"{message} Or name a table of yours, a file that ends in {endings}.")
    node = load_option("dataset", name)
    for key, value in keys.items():
        _set_dotted(node, key.removeprefix(f"dataset.{name}."), value)
    return build(node, DatasetReader, f"dataset.{name}")


def _set_dotted(node: OptionValues, key: str, value: Any) -> None:
    """Set a key with dots in nested mappings, which take the place of anything else on its way."""
    *parents, last = key.split(".")
    for parent in parents:
        if not isinstance(node.get(parent), dict):
            node[parent] = {}
        node = node[parent]
    node[last] = value


def _test_set(name: str) -> dict[str, str]:
    """Read the keys of a folder in the layout of mt-metrics-eval. Raises ConfigError that names other contents."""
    folder = expand_home(name).resolve()
    if (folder / "sources").is_dir():
        return {"folder": str(folder.parent), "test_set": folder.name}
    ways = []
    for sources in sorted(folder.glob("*/sources")):
        test_set = shlex.quote(str(sources.parent))
        ways.append(f"bmx-grid data show {test_set}")
    known = options("dataset")
    for option in known:
        reader = build(load_option("dataset", option), DatasetReader, f"dataset.{option}")
        # A folder is either a data_dir, or a data set's own folder inside of one.
        for data_dir in (folder, folder.parent):
            if _has_files(reader, data_dir, folder):
                ways.append(f"bmx-grid data show {option} data_dir={shlex.quote(str(data_dir))}")
    if not ways:
        names = ", ".join(known)
        endings = ", ".join(TABLE_ENDINGS)
        raise ConfigError(
            f"{name}: the folder holds no known data set: neither a test set of mt-metrics-eval (with "
            f"sources/, system-outputs/ and human-scores/) nor files of {names}. Name a "
            f"data set with data_dir=DIR, or a table, a file that ends in {endings}."
        )
    choices = "; or ".join(ways)
    raise ConfigError(f"{name}: the folder holds data sets; show one: {choices}")


def _has_files(reader: DatasetReader, data_dir: Path, folder: Path) -> bool:
    """Whether the data set has at least one of its files inside `folder` of `data_dir`."""
    for pair in reader.language_pairs:
        for needed in reader.needs(pair):
            file = data_dir / needed
            if file.is_relative_to(folder) and file.is_file():
                return True
    return False


def _list(readers: Sequence[DatasetReader], data_dir: Path) -> int:
    """Print whether the files of each data set are present. Returns exit status 1 if one is missing or differs."""
    print(f"data_dir: {data_dir}\n")
    wrong = 0
    for reader in readers:
        states = file_states(reader, data_dir) if reader.sources else {}
        count = Counter(states.values())
        verified = count["verified"]
        size = sum(entry.size for entry, state in states.items() if state == "verified")
        megabytes = f"{size / 1e6:.1f} MB"
        text = f"{verified} of {len(states)} files present and verified, {megabytes}"
        if count["missing"]:
            remedy = f"python -m bmx_grid data download {reader.name} data_dir={data_dir}"
            text += f"; {count['missing']} missing: {remedy}"
        if not states:
            text = "nothing to download"
        pairs = " ".join(reader.language_pairs) or "those of your files"
        print(f"{reader.name:16}{pairs}")
        print(f"{BELOW_A_NAME}{text}")
        by_hand = ", ".join(unverifiable(reader))
        if by_hand:
            print(f"{BELOW_A_NAME}{by_hand}: added by hand{reader.published_at()}, and not verified")
        for entry, state in states.items():
            if state == "differs":
                print(f"{BELOW_A_NAME}differs from the published file: {data_dir / entry.path}")
        wrong += len(states) - verified
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
