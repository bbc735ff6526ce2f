"""Metrics for Evaluation of Word-level Machine Translation Quality Estimation (Logacheva et al. 2016), on WMT22.

python experiments/word_level_2016/make.py [options]

systems    all word-level submissions ranked by the six measures, pairs tested by approximate randomisation
synthetic  how many submissions each synthetic labelling outranks (with `systems` the paper's Table 1)
sampling   how many samples each measure needs to tell shares of errors apart (Table 2)

Data sets are read below --data (default: BMX_DATA_DIR, else ../shared/data). Tables (Markdown and CSV), figures and
settings.json go to --out. Batches of `sampling` are kept there: the same command, with other --repeats as well, takes
them up again.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that a checkout needs no installation
sys.path.insert(0, str(Path(__file__).resolve().parent))

import yaml
from claims import Claim, of_distinction, of_sampling, of_synthetic
from discrimination import SIZES
from paper_figures import drawings
from paper_tables import (
    CAVEAT,
    SPLIT,
    distinction_table,
    markdown,
    order_table,
    samplings_table,
    shapes_table,
    synthetic_table,
    systems_table,
)
from submissions_compared import PAIRS, Submitted, distinguished, outranked, pair_rows, ranked, tested
from synthetic import DRAWN, SYNTHETIC
from thresholds_sampled import Sampled, needs, rows, sampled
from word_submissions import Choice

from bmx_grid._version import __version__
from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.storage import replacing, write_text
from bmx_grid.core.terminal import Progress, command
from bmx_grid.report.canvas import save

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PARTS = ("systems", "synthetic", "sampling")
RESUMES = "Interrupted. Sampled language pairs are kept: run the same command again to continue."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that are asked for, print and write their tables; the exit status."""
    options = _options(arguments)
    return command(lambda: _run(options), interrupted=RESUMES)


def _run(options: argparse.Namespace) -> int:
    published = yaml.safe_load((HERE / "published.yaml").read_text(encoding="utf-8"))
    parts, pairs = (_chosen(options, name, known) for name, known in (("parts", PARTS), ("pairs", PAIRS)))
    sizes = _sizes(options.sizes)
    given = [Submitted.read(options.data, pair, options.eos) for pair in pairs]
    tables: dict[str, list[dict[str, Any]]] = {}
    claims: list[Claim] = []
    texts: dict[str, list[str]] = {}
    if "systems" in parts:
        tables |= _systems(given, options, published["systems"])
        claims += of_distinction(tables["distinction"])
        texts["systems"] = list(systems_table(tables["systems"]))
        texts["distinction"] = [CAVEAT, SPLIT, *distinction_table(tables["distinction"], published["systems"])]
    if "synthetic" in parts:
        with Progress(len(given) * _labellings(options.draws), "synthetic labellings", "labellings") as progress:
            tables["synthetic"] = [
                row for one in given for row in outranked(one, options.draws, options.seed, progress.advance)
            ]
        claims += of_synthetic(tables["synthetic"])
        texts["synthetic"] = list(synthetic_table(tables["synthetic"]))
        texts["synthetic_shapes"] = list(shapes_table(tables["synthetic"]))
    found: list[Sampled] = []
    if "sampling" in parts:
        kept = options.out / "batches"
        found = [sampled(one, sizes, options.repeats, options.seed, options.threads, kept) for one in given]
        tables["p_values"] = [row for one in found for row in rows(one)]
        tables["samplings"] = [row for one in found for row in needs(one)]
        claims += of_sampling(found)
        texts["samplings"] = list(samplings_table(found, published["table_2"]))
        texts["effect_sizes"] = list(order_table(found))
    tables["claims"] = [one._asdict() for one in claims]
    cells = ([one.paper, one.ours, "agrees" if one.agrees else "**differs**"] for one in claims)
    texts["claims"] = markdown(["the paper", "here", "verdict"], cells)
    settings = _settings(options, parts, pairs, sizes)
    _write(options.out, tables, texts, settings)
    shown = drawings(tables.get("systems", []), tables.get("synthetic", []), found)
    for drawing in shown:
        save(drawing, options.out / "figures")
    for name, lines in texts.items():
        print("\n".join([f"\n## {name.replace('_', ' ')}\n", *lines]))
    print(f"\nsettings: {json.dumps(settings)}\nwritten to {options.out}")
    return 0


def _systems(given: Sequence[Submitted], options: argparse.Namespace, systems: int) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {"systems": [], "pairs": [], "distinction": []}
    with Progress(len(given), "submissions", "language pairs") as progress:
        for one in given:
            found["systems"] += ranked(one, options.resamples, options.seed)
            results = tested(one, options.rounds, options.seed)
            found["pairs"] += pair_rows(one, results)
            found["distinction"] += distinguished(one, results, systems)
            progress.advance(1)
    return found


def _labellings(draws: int) -> int:
    return sum(draws if name in DRAWN else 1 for name in SYNTHETIC)


def _settings(
    options: argparse.Namespace, parts: Sequence[str], pairs: Sequence[str], sizes: Sequence[int]
) -> dict[str, Any]:
    """What the numbers depend on, and the version that computed them."""
    names = ("eos", "seed", "rounds", "resamples", "draws", "repeats")
    chosen = {name: getattr(options, name) for name in names}
    return {"version": __version__, "parts": list(parts), "pairs": list(pairs), **chosen, "sizes": list(sizes)}


def _write(
    folder: Path,
    tables: Mapping[str, Sequence[Mapping[str, Any]]],
    texts: Mapping[str, Sequence[str]],
    settings: Mapping[str, Any],
) -> None:
    for name, body in tables.items():
        columns = list(dict.fromkeys(column for row in body for column in row))
        with replacing(folder / f"{name}.csv") as part, part.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(body)
    for name, lines in texts.items():
        write_text(folder / f"{name}.md", "\n".join(lines).lstrip("\n") + "\n")
    write_text(folder / "settings.json", json.dumps(settings, indent=1) + "\n")


def _chosen(options: argparse.Namespace, name: str, known: Sequence[str]) -> list[str]:
    """The parts or pairs that are named, in their own order. Raises ConfigError for others."""
    asked = [one.strip() for one in getattr(options, name).split(",") if one.strip()]
    for one in asked:
        if one not in known:
            raise ConfigError(f"--{name}: " + unknown(name.removesuffix("s"), one, known))
    if not asked:
        raise ConfigError(f"--{name}: nothing is named; there are: {', '.join(known)}.")
    return [one for one in known if one in asked]


def _sizes(text: str) -> list[int]:
    parts: Iterator[str] = (one.strip() for one in text.split(","))
    found = [int(one) if one.isascii() and one.isdecimal() else 0 for one in parts]
    if found[0] < 2 or sorted(set(found)) != found:
        raise ConfigError(f"--sizes: {text!r} are not ascending whole numbers from 2 on, separated by commas.")
    return found


def _options(arguments: Iterable[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    data = os.environ.get("BMX_DATA_DIR") or ROOT.parent / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(data), help="folder of data sets")
    parser.add_argument("--out", type=Path, default=ROOT / "outputs" / HERE.name, help="default: %(default)s")
    parser.add_argument("--parts", default=",".join(PARTS), help="default: %(default)s")
    parser.add_argument("--pairs", default=",".join(PAIRS), help="default: %(default)s")
    parser.add_argument("--eos", choices=get_args(Choice), default="keep", help="official tables count <EOS>: keep")
    parser.add_argument("--seed", type=_at_least(0), default=0, help="of every random draw; default: 0")
    for name, default, least, what in (
        ("rounds", 20_000, 1, "of approximate randomisation"),
        ("resamples", 1000, 1, "of the bootstrap intervals of submissions"),
        ("draws", 100, 1, "of each random synthetic labelling"),
        ("repeats", 1000, 5, "of each t-test in sampling"),
        ("threads", os.cpu_count() or 1, 1, "that sample at a time; results are the same"),
    ):
        parser.add_argument(f"--{name}", type=_at_least(least), default=default, help=f"{what}; default: {default}")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of samples; default: %(default)s")
    return parser.parse_args(None if arguments is None else list(arguments))


def _at_least(least: int) -> Any:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} on")
        return int(text)

    return read


if __name__ == "__main__":
    sys.exit(main())
