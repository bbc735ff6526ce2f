"""python -m bmx_grid data: list, download, verify and show data sets."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.commands.own_table import is_table, own_table
from bmx_grid.commands.user_yaml import parse_yaml
from bmx_grid.configure import build, load_option, options
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.columns import override
from bmx_grid.datasets.download.command import check, download
from bmx_grid.datasets.mt_metrics_eval import MtMetricsEval
from bmx_grid.datasets.tables import FORMATS
from bmx_grid.datasets.tabular import Tabular
from bmx_grid.errors import BmxError, ConfigError, unknown
from bmx_grid.segments import SegmentSet, clusters
from bmx_grid.terminal import RESUMES, command
from bmx_grid.wording import counted, visible
from bmx_grid.words.perturbation import ROLES

EPILOG = """settings:
  data_dir=DIR           the folder of the data sets (default: $BMX_DATA_DIR, or
                         data)
  language_pair=LP[,LP]  only these language pairs
  limit=N                show: how many segments of each pair (default 3)
  KEY=VALUE              any other key of the data set's YAML file: path=my.tsv

exit status: 0 done; 1 something is missing, differs or could not be fetched;
  2 a mistake in the command or its file.

examples:
  bmx-grid data download wmt17 data_dir=data
  bmx-grid data show my.tsv"""


class Settings:
    """The NAME and KEY=VALUE arguments, taken apart. Raises ConfigError naming an argument that cannot be used.

    columns: ROLE=NAME, the columns of a table.
    """

    def __init__(self, arguments: Sequence[str], columns: Sequence[str] = ()) -> None:
        self.names = [argument for argument in arguments if "=" not in argument]
        keys = dict(argument.split("=", 1) for argument in arguments if "=" in argument)
        self.data_dir = Path(keys.pop("data_dir", os.environ.get("BMX_DATA_DIR", "data"))).expanduser()
        self.language_pairs = tuple(pair for pair in keys.pop("language_pair", "").split(",") if pair)
        limit = keys.pop("limit", "3")
        if not limit.isdecimal():
            raise ConfigError(f"limit={limit}: give a whole number, 0 or more.")
        self.limit = int(limit)
        self.keys: dict[str, Any] = {key: parse_yaml(value, f"{key}={value}") for key, value in keys.items()}
        for column in columns:
            role, equals, name = column.partition("=")
            if not (role and equals and name):
                raise ConfigError(f"--columns {column}: write ROLE=NAME, as --columns score=da.")
            self.keys[f"columns.{role}"] = name

    def readers(self) -> list[DatasetReader]:
        """The named data sets, `all` for every one. Raises ConfigError for an unknown name or key."""
        if not self.names:
            raise ConfigError(f"name a data set: {', '.join(options('dataset'))}; or all.")
        return [self._reader(name) for name in (options("dataset") if self.names == ["all"] else self.names)]

    def _reader(self, name: str) -> DatasetReader:
        own = {}
        if is_table(name):
            if "path" in self.keys:
                raise ConfigError(f"{name} and path={self.keys['path'] or ''}: both name a table; leave out path=.")
            own, name = {"path": name}, "tabular"
        elif name not in options("dataset") and Path(name).expanduser().is_dir():
            root = test_set(Path(name).expanduser())
            own, name = {"folder": str(root.parent), "test_set": root.name}, "mt_metrics_eval"
        if name not in options("dataset") and os.sep in name:
            raise ConfigError(
                f"{name[:200]} is no table; name a file that ends in {', '.join(FORMATS)}, or a data set."
            )
        if name not in options("dataset"):
            raise ConfigError(unknown("data set", name, [*options("dataset"), "all"]))
        node = load_option("dataset", name)
        for key, value in {**self.keys, **own}.items():
            _set(node, key.removeprefix(f"dataset.{name}."), value)
        if self.language_pairs:
            node["language_pairs"] = list(self.language_pairs)
        return build(node, DatasetReader, f"dataset.{name}")


def test_set(folder: Path) -> Path:
    """The folder of a test set in the layout of mt-metrics-eval, as an absolute path.

    Raises ConfigError for another folder, and for one of several test sets, naming them.
    """
    if (folder / "sources").is_dir():
        return folder.resolve()
    inside = sorted(path.parent for path in folder.glob("*/sources"))
    if len(inside) == 1:
        return inside[0].resolve()
    held = f"holds the test sets {', '.join(path.name for path in inside)}; name one" if inside else "is a folder"
    raise ConfigError(
        f"{folder} {held}: a folder is read in the layout of mt-metrics-eval (sources/LP.txt, references/, "
        f"system-outputs/, human-scores/). Else name a file that ends in {', '.join(FORMATS)}, or a data set."
    )


def _set(node: dict[str, Any], key: str, value: Any) -> None:
    *parents, last = key.split(".")
    for parent in parents:
        node = node.setdefault(parent, {})
        if not isinstance(node, dict):
            raise ConfigError(f"{key}={value}: '{parent}' has no keys below it.")
    node[last] = value


def _list(settings: Settings) -> int:
    if not settings.names:
        settings.names = ["all"]
    print(f"data_dir: {settings.data_dir}\n")
    for reader in settings.readers():
        pairs = " ".join(reader.downloadable()) or "those of your files"
        print(f"{reader.name:16}{pairs}\n{'':16}{_state(reader, settings.data_dir)}")
    return 0


def _state(reader: DatasetReader, data_dir: Path) -> str:
    if not reader.sources:
        return "nothing to download"
    states = check(reader, data_dir)
    size = sum(entry.size for entry, state in states.items() if state == "verified")
    count = Counter(states.values())
    text = f"{count['verified']} of {len(states)} files present and verified, {size / 1e6:.1f} MB"
    if count["missing"]:
        text += f"; {count['missing']} missing: python -m bmx_grid data download {reader.name} data_dir={data_dir}"
    return text + (f"; {count['differs']} differ from the published ones" if count["differs"] else "")


def _verify(settings: Settings) -> int:
    wrong = 0
    for reader in settings.readers():
        print(f"{reader.name}: {_state(reader, settings.data_dir)}")
        states = check(reader, settings.data_dir) if reader.sources else {}
        for kind in ("missing", "differs"):
            paths = [entry.path for entry, state in states.items() if state == kind]
            wrong += len(paths)
            print("".join(f"  {kind}: {settings.data_dir / path}\n" for path in paths), end="")
    return 1 if wrong else 0


def _download(settings: Settings) -> int:
    readers = settings.readers()
    written = download(readers, settings.data_dir)
    print(f"{counted(written, 'file')} written below {settings.data_dir}")
    for reader in readers:
        print(f"{reader.name}: {_state(reader, settings.data_dir)}")
    return 0


def _show(settings: Settings) -> int:
    for reader in settings.readers():
        table = own_table(reader) if isinstance(reader, Tabular) else None
        if table is not None:
            reader = table.reader
            print("\n".join(table.lines()))
        sets = [reader.read(settings.data_dir, pair) for pair in reader.pairs(settings.data_dir)]
        labels = clusters(sets)
        for found, own in zip(sets, labels, strict=True):
            _show_pair(found, len(set(own)), settings.limit)
        if len(sets) > 1:
            several = Counter(label for own in labels for label in set(own))
            print(
                f"{reader.name}: {len(several):,} clusters of segments that share a source or a reference, "
                f"{sum(count > 1 for count in several.values()):,} of them in several language pairs"
            )
        if table is not None or isinstance(reader, MtMetricsEval):
            print(f"\nto run it:\n{_test_set_command(reader) if table is None else table.command()}")
    return 0


def _test_set_command(reader: DatasetReader) -> str:
    """The command that runs a sweep on a test set of mt-metrics-eval, with the scores of metrics that it has."""
    assert isinstance(reader, MtMetricsEval)
    root = Path(reader.folder).expanduser() / str(reader.test_set)
    key = f"dataset.{reader.name}"
    words = [f"'dataset=[{reader.name}]'", override(f"{key}.folder", reader.folder)]
    words += [override(f"{key}.test_set", str(reader.test_set))]
    if (root / "metric-scores").is_dir():
        words += ["'metric=[chrf,imported]'", override("metric.imported.file", str(root))]
        words += ["'explainer=[]'", "'evaluation=[levels]'"]
    else:
        words += ["'metric=[chrf,sentence_bleu]'", "'explainer=[erasure,lime]'"]
    return " \\\n    ".join(["bmx-grid run", *words, "name=mine"])


def _show_pair(found: SegmentSet, n_clusters: int, limit: int) -> None:
    texts = [role for role in ("source", "reference") if found.has(role)]
    systems = f" of {counted(len(found.systems), 'system')}" if found.systems else ""
    print(
        f"{found.dataset} {found.language_pair}: {counted(len(found), 'segment')}{systems} in "
        f"{counted(n_clusters, 'cluster')}, {found.rated:,} rated, with {' and '.join(texts)}"
    )
    judgements = found.judgements
    for name, scores in judgements.scores.items():
        primary = " (primary)" if name == judgements.primary and len(judgements.scores) > 1 else ""
        print(f"  {visible(name)}{primary}: {_range(scores)}{_raters(judgements.raters.get(name))}")
    if found.empty_texts():
        first = visible(found.empty_texts()[0])
        print(f"  empty texts in {counted(len(found.empty_texts()), 'segment')}, the first is {first}")
    for row, segment in enumerate(found.segments[:limit]):
        own = [f"{name} {_score(values[row])}" for name, values in judgements.scores.items()]
        print(visible(f"  [{segment.name}] {', '.join(own)}"))
        for role in ROLES:
            text = getattr(segment, role)
            if text is not None:
                print(f"    {role:11}{visible(text)}")


def _score(value: float) -> str:
    return "not rated" if np.isnan(value) else format(value, "g")


def _range(scores: NDArray[np.float64]) -> str:
    if np.isnan(scores).all():
        return "these segments are unrated"
    return f"{np.nanmin(scores):g} to {np.nanmax(scores):g}, mean {np.nanmean(scores):.4f}"


def _raters(ratings: NDArray[np.float64] | None) -> str:
    """The number of individual ratings per segment."""
    if ratings is None or ratings.size == 0:
        return ""
    counts = np.isfinite(ratings).sum(axis=1)
    low, high = int(counts.min()), int(counts.max())
    return f", {low if low == high else f'{low} to {high}'} raters per segment"


COMMANDS = {
    "list": (_list, "each data set, its language pairs, and whether its files are present"),
    "download": (_download, "fetch the files from their publishers, checked against their SHA-256"),
    "verify": (_verify, "compare the files with their SHA-256"),
    "show": (
        _show,
        "counts, and the first segments of each language pair; of a table of yours also what its columns are taken for",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status (see EPILOG)."""
    parser = argparse.ArgumentParser(
        prog="bmx-grid data",
        description="List, download, verify and show data sets.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "command", choices=COMMANDS, help="; ".join(f"{name}: {text}" for name, (_, text) in COMMANDS.items())
    )
    parser.add_argument(
        "settings",
        nargs="*",
        metavar="NAME | KEY=VALUE",
        help="data sets, and settings (below); show: also a table, or the folder of a test set of mt-metrics-eval",
    )
    parser.add_argument(
        "--columns", nargs="+", default=[], metavar="ROLE=NAME", help="which column of a table plays which role"
    )
    parsed = parser.parse_args(arguments)

    def work() -> int:
        try:
            return COMMANDS[parsed.command][0](Settings(parsed.settings, parsed.columns))
        except BmxError as error:
            if parsed.command != "download" or isinstance(error, ConfigError):
                raise
            print(f"error: {error}", file=sys.stderr)
            return 1

    return command(work, RESUMES)


if __name__ == "__main__":
    sys.exit(main())
