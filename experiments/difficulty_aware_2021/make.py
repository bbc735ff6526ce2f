"""The tables and figures of Zhan et al. (2021) from outputs of +sweep=wmt19_difficulty.

python experiments/difficulty_aware_2021/make.py                 run the sweep, then make them
python experiments/difficulty_aware_2021/make.py OUTPUT_DIR…     of finished sweeps

Printed are tables 1 (correlations of all and of the best systems, with intervals), 2 (ranks of the best systems) and 3
(tokens with their difficulty); OUTPUT_DIR/figures gets figure2_PAIR (Kendall's τ by the number of best systems) and
figure3_PAIR (the distribution of difficulties) as SVG and PNG. WMT19 is read below BMX_DATA_DIR.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # so that a checkout needs no installation

from bmx_grid.analysis.base import SweepTables, each_group  # noqa: E402
from bmx_grid.core.errors import BmxError, DataError  # noqa: E402
from bmx_grid.evaluations.base import OF_METRIC  # noqa: E402
from bmx_grid.guests.difficulty import best_systems  # noqa: E402
from bmx_grid.report.canvas import COLUMN, DASHES, LINES, MARKERS, canvas, style, thin_grid  # noqa: E402
from bmx_grid.report.table import as_text  # noqa: E402
from bmx_grid.sweep.folder import table_path  # noqa: E402

SWEEP = "wmt19_difficulty"
NEEDED, FURTHER = ("top_systems", "ranks"), ("top_differences", "difficulty", "difficult_words")


def main(arguments: list[str]) -> int:
    """Print the tables and draw the figures; the exit status."""
    if any(one.startswith("-") for one in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    folders = [Path(one) for one in arguments] or [ROOT / "outputs" / SWEEP]
    if not arguments:
        status = subprocess.run([sys.executable, "-m", "bmx_grid", f"+sweep={SWEEP}"], cwd=ROOT, check=False)
        if status.returncode:
            return status.returncode
    try:
        for folder in folders:
            found = read(folder)
            for table in best_systems.tables(found):
                print(as_text(table))
            for path in draw(found, folder / "figures"):
                print(path)
    except BmxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def read(folder: Path) -> dict[str, Any]:
    """The rows of a sweep's tables by name. Raises DataError for a folder without its tables."""
    import pandas as pd

    paths = {name: table_path(folder, name) for name in (*NEEDED, *FURTHER)}
    missing = [str(paths[name]) for name in NEEDED if not paths[name].is_file()]
    if missing:
        raise DataError(f"{' and '.join(missing)} missing; give the output folder of +sweep={SWEEP}.")
    return best_systems.compute(
        SweepTables({name: pd.read_parquet(path) for name, path in paths.items() if path.is_file()})
    )


def draw(found: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write the figures; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    with style():
        for (_, pair), rows in _groups(found, "top_systems", 2):
            figure, (axes,) = canvas(COLUMN, 0.75 * COLUMN)
            curves(axes, rows)
            made += _saved(figure, folder / f"figure2_{pair}")
        for (_, pair, metric), rows in _groups(found, "difficulty", 3):
            figure, (axes,) = canvas(COLUMN, 0.75 * COLUMN)
            histogram(axes, rows)
            made += _saved(figure, folder / f"figure3_{pair}_{metric}")
    return made


def _groups(found: Mapping[str, Any], name: str, shared: int) -> Any:
    """The rows of a table that share so many names."""
    return each_group(found[name], *OF_METRIC[:shared]) if name in found else ()


def curves(axes: Any, rows: Any) -> None:
    """Figure 2: Kendall's τ of each metric among so many best systems, higher is better for every metric."""
    kendall = rows[rows["statistic"] == "kendall"]
    for at, (metric, unsorted) in enumerate(each_group(kendall, "metric")):
        of_metric = unsorted.sort_values("systems")
        sign = -1 if of_metric["value"].iloc[-1] < 0 else 1  # a metric whose lower scores are better
        look = {"color": LINES[at % len(LINES)], "linestyle": DASHES[at % len(DASHES)]}
        label = metric if sign > 0 else f"{metric}, sign turned"
        values = sign * of_metric["value"]
        axes.plot(of_metric["systems"], values, label=label, marker=MARKERS[at % 6], markersize=3, **look)
    axes.set_xlabel("systems, the best by human score")
    axes.set_ylabel("Kendall's τ")
    axes.legend(frameon=False)
    thin_grid(axes)


def histogram(axes: Any, rows: Any) -> None:
    """Figure 3: shares of reference tokens by difficulty, under each fit."""
    for at, (size, of_size) in enumerate(each_group(rows, "systems")):
        edges = [*of_size["low"], of_size["high"].iloc[-1]]
        axes.stairs(of_size["share"], edges, label=f"{size} systems", color=LINES[at], linestyle=DASHES[at])
    axes.set_xlabel("difficulty of a reference token")
    axes.set_ylabel("share of tokens")
    axes.legend(frameon=False)
    thin_grid(axes)


def _saved(figure: Any, stem: Path) -> list[Path]:
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("svg", "png")]
    for path in paths:
        figure.savefig(path, dpi=200)
    return paths


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
