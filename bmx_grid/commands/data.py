"""List, download, verify and show data sets.

settings:
  data_dir=DIR           the folder of the data sets (default: $BMX_DATA_DIR, or
                         data)
  language_pair=LP[,LP]  only these language pairs
  limit=N                show: how many segments of each pair (default 3)
  KEY=VALUE              any other key of the data set's YAML file: path=my.tsv

exit status: 0 done; 1 something is missing, differs or could not be fetched;
  2 a mistake in the command or its file.

examples:
  bmx-grid data download wmt17 data_dir=data
  bmx-grid data show my.tsv
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.commands.own_table import is_table, own_table
from bmx_grid.core.configure import build, load_option, options
from bmx_grid.core.errors import BmxError, ConfigError, unknown
from bmx_grid.core.terminal import RESUMES, command, parser
from bmx_grid.core.user_yaml import parse_yaml
from bmx_grid.core.wording import counted, visible
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.columns import named_roles, override
from bmx_grid.datasets.download import check, download
from bmx_grid.datasets.mt_metrics_eval import MtMetricsEval
from bmx_grid.datasets.segments import SegmentSet, clusters
from bmx_grid.datasets.tables import FORMATS
from bmx_grid.datasets.tabular import Tabular
from bmx_grid.words.perturbation import ROLES

AFTER_COLUMNS = ("data_dir=", "limit=")  # settings that are no role, and may follow `--columns ROLE=COLUMN`


def _arguments(parsed: argparse.Namespace) -> tuple[list[DatasetReader], Path, int]:
    """The data sets, data_dir, and how many segments of each pair are shown. Raises ConfigError naming an argument."""
    roles = [argument for argument in parsed.columns if not argument.startswith(AFTER_COLUMNS)]
    arguments = [*parsed.settings, *(argument for argument in parsed.columns if argument not in roles)]
    names = [argument for argument in arguments if "=" not in argument]
    keys = dict(argument.split("=", 1) for argument in arguments if "=" in argument)
    data_dir = Path(keys.pop("data_dir", os.environ.get("BMX_DATA_DIR", "data"))).expanduser()
    language_pairs = [pair for pair in keys.pop("language_pair", "").split(",") if pair]
    limit = keys.pop("limit", "3")
    if not limit.isdecimal():
        raise ConfigError(f"limit={limit}: give a whole number, 0 or more.")
    if not names and parsed.command != "list":
        raise ConfigError(f"name a data set: {', '.join(options('dataset'))}; or all.")
    values: dict[str, Any] = {key: parse_yaml(value, f"{key}={value}") for key, value in keys.items()}
    values |= {f"columns.{role}": name for role, name in named_roles(roles).items()}
    values |= {"language_pairs": language_pairs} if language_pairs else {}
    known = options("dataset") if names in ([], ["all"]) else names
    return [_reader(name, values) for name in known], data_dir, int(limit)


def _reader(name: str, keys: Mapping[str, Any]) -> DatasetReader:
    """A data set by its name, the path of a table, or a folder of mt-metrics-eval. Raises ConfigError."""
    place = {}
    if is_table(name):
        if "path" in keys:
            raise ConfigError(f"{name} and path={keys['path'] or ''}: both name a table; leave out path=.")
        place, name = {"path": name}, "tabular"
    elif name not in options("dataset") and Path(name).expanduser().is_dir():
        folder = test_set(Path(name).expanduser())
        place, name = {"folder": str(folder.parent), "test_set": folder.name}, "mt_metrics_eval"
    if name not in options("dataset"):
        if os.sep in name:
            raise ConfigError(
                f"{name[:200]} is no table; name a file that ends in {', '.join(FORMATS)}, or a data set."
            )
        raise ConfigError(unknown("data set", name, [*options("dataset"), "all"]))
    node = load_option("dataset", name)
    for key, value in {**keys, **place}.items():
        _set(node, key.removeprefix(f"dataset.{name}."), value)
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


def _list(readers: Sequence[DatasetReader], data_dir: Path, limit: int) -> int:
    print(f"data_dir: {data_dir}\n")
    for reader in readers:
        pairs = " ".join(reader.language_pairs) or "those of your files"
        print(f"{reader.name:16}{pairs}\n{'':16}{_state(reader, data_dir)}")
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


def _verify(readers: Sequence[DatasetReader], data_dir: Path, limit: int) -> int:
    wrong = 0
    for reader in readers:
        print(f"{reader.name}: {_state(reader, data_dir)}")
        states = check(reader, data_dir) if reader.sources else {}
        for entry, state in sorted(states.items(), key=lambda item: item[1] != "missing"):
            if state != "verified":
                wrong += 1
                print(f"  {state}: {data_dir / entry.path}")
    return 1 if wrong else 0


def _download(readers: Sequence[DatasetReader], data_dir: Path, limit: int) -> int:
    try:
        written = download(readers, data_dir)
    except ConfigError:
        raise
    except BmxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{counted(written, 'file')} written below {data_dir}")
    for reader in readers:
        print(f"{reader.name}: {_state(reader, data_dir)}")
    return 0


def _show(readers: Sequence[DatasetReader], data_dir: Path, limit: int) -> int:
    for reader in readers:
        to_run = _test_set_command(reader) if isinstance(reader, MtMetricsEval) else ""
        if isinstance(reader, Tabular):
            reader, lines, to_run = own_table(reader)
            print("\n".join(lines))
        sets = [reader.read(data_dir, pair) for pair in reader.pairs(data_dir)]
        labels = clusters(sets)
        for segments, of_pair in zip(sets, labels, strict=True):
            _show_pair(segments, len(set(of_pair)), limit)
        if len(sets) > 1:
            pairs = Counter(label for of_pair in labels for label in set(of_pair))
            print(
                f"{reader.name}: {len(pairs):,} clusters of segments that share a source, a reference or a document, "
                f"{sum(count > 1 for count in pairs.values()):,} of them in several language pairs"
            )
        if to_run:
            print(f"\nto run it:\n{to_run}")
    return 0


def _test_set_command(reader: MtMetricsEval) -> str:
    """The command that runs a sweep on a test set of mt-metrics-eval, with the scores of metrics that it has."""
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


def _show_pair(segments: SegmentSet, n_clusters: int, limit: int) -> None:
    texts = [role for role in ("source", "reference") if segments.has(role)]
    systems = f" of {counted(len(segments.systems), 'system')}" if segments.systems else ""
    print(
        f"{segments.dataset} {segments.language_pair}: {counted(len(segments), 'segment')}{systems} in "
        f"{counted(n_clusters, 'cluster')}, {segments.rated:,} rated, with {' and '.join(texts)}"
    )
    judgements = segments.judgements
    for name, scores in judgements.scores.items():
        primary = " (primary)" if name == judgements.primary and len(judgements.scores) > 1 else ""
        print(f"  {visible(name)}{primary}: {_range(scores)}{_raters(judgements.raters.get(name))}")
    if empty := segments.empty_texts():
        print(f"  empty texts in {counted(len(empty), 'segment')}, the first is {visible(empty[0])}")
    for row, segment in enumerate(segments.segments[:limit]):
        values = {name: scores[row] for name, scores in judgements.scores.items()}
        shown = [f"{name} {'not rated' if np.isnan(value) else format(value, 'g')}" for name, value in values.items()]
        print(visible(f"  [{segment.name}] {', '.join(shown)}"))
        for role in ROLES:
            text = getattr(segment, role)
            if text is not None:
                print(f"    {role:11}{visible(text)}")


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


COMMANDS: Mapping[str, tuple[Callable[[Sequence[DatasetReader], Path, int], int], str]] = {
    "list": (_list, "each data set, its language pairs, and whether its files are present"),
    "download": (_download, "fetch the files from their publishers, checked against their SHA-256"),
    "verify": (_verify, "compare the files with their SHA-256"),
    "show": (
        _show,
        "counts, and the first segments of each language pair; of a table of yours also what its columns are taken for",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status (see above)."""
    made = parser("data", __doc__)
    made.add_argument(
        "command", choices=COMMANDS, help="; ".join(f"{name}: {text}" for name, (_, text) in COMMANDS.items())
    )
    made.add_argument(
        "settings",
        nargs="*",
        metavar="NAME | KEY=VALUE",
        help="data sets, and settings (below); show: also a table, or the folder of a test set of mt-metrics-eval",
    )
    made.add_argument("--columns", nargs="+", default=[], metavar="ROLE=COLUMN", help="what plays which role")
    parsed = made.parse_args(arguments)
    return command(lambda: COMMANDS[parsed.command][0](*_arguments(parsed)), RESUMES)


if __name__ == "__main__":
    sys.exit(main())
