"""Copy the figures and tables of an analysis under the numbers they have in a paper.

python experiments/numbered.py NAME RESULTS OUTPUT [PART]

NAME: a folder here with numbering.yaml; RESULTS: the output folder of a sweep or an analysis; OUTPUT: where
fig4_gain_density_by_explainer.svg and the like are written; PART: a part of numbering.yaml, by default its first.

Exit status 1 when a numbered figure or table is not there, 2 for a mistake in the command.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that a checkout needs no installation

from bmx_grid.core.errors import BmxError, ConfigError, unknown

HERE = Path(__file__).resolve().parent


def main(arguments: list[str]) -> int:
    """Copy the files; the exit status."""
    try:
        copied, missing = number(arguments)
    except BmxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{len(copied)} files copied")
    for stem in missing:
        print(f"not there: {stem}", file=sys.stderr)
    return 1 if missing else 0


def number(arguments: list[str]) -> tuple[list[Path], list[str]]:
    """The files written, and the general names of what is not there. Raises ConfigError."""
    if len(arguments) not in (3, 4):
        raise ConfigError(f"expected NAME RESULTS OUTPUT [PART], got {len(arguments)} arguments.")
    papers = sorted(path.parent.name for path in HERE.glob("*/numbering.yaml"))
    if arguments[0] not in papers:
        raise ConfigError(unknown("paper", arguments[0], papers))
    parts = yaml.safe_load((HERE / arguments[0] / "numbering.yaml").read_text(encoding="utf-8"))
    part = arguments[3] if len(arguments) == 4 else next(iter(parts))
    if part not in parts:
        raise ConfigError(unknown("part", part, parts))
    results, output = Path(arguments[1]), Path(arguments[2])
    if not results.is_dir():
        raise ConfigError(f"{results} is not a folder; give the output folder of a sweep or an analysis.")
    output.mkdir(parents=True, exist_ok=True)
    copied, missing = [], []
    for kind, numbers in parts[part].items():
        for stem, place in numbers.items():
            found = sorted(path for path in (results / kind).glob(f"{stem}.*") if path.is_file())
            if not found:
                missing.append(f"{kind}/{stem}")
            for path in found:
                copied.append(output / f"{place}_{path.name}")
                shutil.copyfile(path, copied[-1])
    return copied, missing


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
