"""Figures 3 to 13, Table 1 and the numbers of the BMX paper from the grids its authors published, or of your own run.

python experiments/bmx_2022/make.py RESULTS [OUTPUT_DIR]

RESULTS     the authors' repository as it is (github.com/Gringham/BMX), or the output folder of a sweep, or a table of
            grids (Parquet, CSV)
OUTPUT_DIR  outputs/bmx_2022; of a sweep RESULTS/bmx_2022

Files are numbered as in the paper (fig4_gain_density_by_explainer.svg) only where all settings of the paper are there,
and none of its numbers differs. Those of other results begin with "own".
Exit status 1 when a number of the paper differs, 2 for a mistake in the command or in a file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1])]  # so that a checkout needs no installation

import authors_folder  # noqa: E402
import compare  # noqa: E402
import quantities  # noqa: E402

from bmx_grid.analysis.base import Cell, Column, GridTable, SettingKey, Table  # noqa: E402
from bmx_grid.analysis.headline import describe_constructed_data  # noqa: E402
from bmx_grid.analysis.load import load_table, sibling_tables  # noqa: E402
from bmx_grid.analysis.questions import Analysis, analyse_table  # noqa: E402
from bmx_grid.core.errors import BmxError, ConfigError  # noqa: E402
from bmx_grid.core.storage import write_text  # noqa: E402
from bmx_grid.core.wording import label, pluralize  # noqa: E402
from bmx_grid.report.analysis_files import further_figures  # noqa: E402
from bmx_grid.report.canvas import Drawing, save  # noqa: E402
from bmx_grid.report.figures import setting_drawing  # noqa: E402
from bmx_grid.report.paper_figures import (  # noqa: E402
    best_boxes,
    better_and_worse,
    gains_by,
    gains_of_all_points,
    ridge_bars,
)
from bmx_grid.report.table import as_text, write_table  # noqa: E402

if TYPE_CHECKING:
    import pandas as pd

OWN = "own"
CURVES = {  # the settings that the paper shows the curves of
    "fig3a": SettingKey("mlqe_pe", "en-zh", "xmoverscore", "erasure"),
    "fig3b": SettingKey("eval4nlp21", "et-en", "xbertscore", "lime"),
    "fig11a": SettingKey("mqm21", "zh-en", "xbertscore", "lime"),
    "fig11b": SettingKey("mqm21", "en-de", "xbertscore", "lime"),
}
DrawingOf = Callable[[Analysis], Drawing]
FIGURES: dict[str, DrawingOf] = {
    "fig4": gains_of_all_points,
    "fig5": best_boxes,
    "fig6": better_and_worse,
    "fig7": lambda analysis: gains_by(analysis, "lime", "dataset"),
    "fig8": ridge_bars,
    "fig12": lambda analysis: gains_by(analysis, "lime", "language_pair"),
    "fig13": lambda analysis: gains_by(analysis, "lime", "metric"),
}
OF_WMT22: dict[str, DrawingOf] = {
    "fig9": lambda analysis: gains_by(analysis, "lime", "metric"),
    "fig10": better_and_worse,
}


@dataclass(frozen=True)
class Results:
    """What RESULTS holds: main, and by data set those the paper held out. note: what of it was not read."""

    main: GridTable
    held_out: Mapping[str, GridTable]
    note: str = ""


def main(arguments: list[str]) -> int:
    """Make the files and say what they are; the exit status."""
    if len(arguments) not in (1, 2) or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        return _make(Path(arguments[0]), Path(arguments[1]) if len(arguments) == 2 else None)
    except BmxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _make(path: Path, output: Path | None) -> int:
    results = read(path)
    expected = yaml.safe_load((HERE / "expected.yaml").read_text(encoding="utf-8"))
    reason = _why_not_the_papers(results.main, expected)
    if reason is None:
        return _of_paper(results, expected, output or Path("outputs/bmx_2022"))
    print(f"not the paper's data ({reason}): files begin with '{OWN}', and have no numbers of the paper.")
    _of_run(results.main, output or (path if path.is_dir() else path.parent) / "bmx_2022")
    return 0


def _why_not_the_papers(table: GridTable, expected: Mapping[str, Any]) -> str | None:
    """What tells a table from the one that the authors published; None where nothing does."""
    if not authors_folder.is_complete(table, authors_folder.MAIN):
        wanted = sum(len(authors_folder.settings_of_paper(dataset)) for dataset in authors_folder.MAIN)
        return f"{pluralize(len(table), 'setting')}, not all {wanted} of the paper"
    differing = [check.name for check in quantities.paper([table], expected) if check.verdict == compare.DIFFER]
    if differing:
        return f"{pluralize(len(differing), 'number')} of the paper differ, such as {differing[0]}; see compare.py"
    return None


def read(path: Path) -> Results:
    """The grids of the authors' folder, of a sweep, or of a table. Raises DataError, DataMissingError."""
    place = authors_folder.find(path)
    if place is None:
        return Results(load_table(path), {})
    published = authors_folder.read(place)
    files = pluralize(published.left_out, "file")
    note = f"{files} of one side's words, of a second iteration, or of other names left out"
    return Results(published.main, published.held_out, note if published.left_out else "")


def _of_paper(results: Results, expected: Mapping[str, Any], folder: Path) -> int:
    """The paper's figures, table and numbers, under its numbers; the exit status."""
    checks = list(quantities.paper([results.main, *results.held_out.values()], expected))
    numbers = list(compare.lines(checks))
    drawings = list(_numbered(analyse_table(results.main), results.held_out))
    _write(drawings, folder)
    for form in ("text", "latex"):
        write_table(datasets_of_paper(expected["table1"]), folder, form)
    write_text(folder / "numbers.txt", "\n".join(numbers) + "\n")
    if results.note:
        print(results.note)
    print(f"{folder}: {pluralize(len(drawings), 'figure')}, table1_datasets, numbers.txt ({numbers[-1]})")
    for dataset, figures in (("wmt22_qe", "Figures 9 and 10 need"), ("mqm21", "Figure 11 needs")):
        if not _has(results.held_out, dataset):
            print(f"not drawn: {figures} the authors' files of {dataset} with LIME")
    return 1 if any(check.verdict == compare.DIFFER for check in checks) else 0


def _numbered(main: Analysis, held_out: Mapping[str, GridTable]) -> Iterator[Drawing]:
    """The figures of the paper; those of held-out data are at the medians of the main table."""
    yield from _curves(main, ("fig3a", "fig3b"))
    for number, drawing_of in FIGURES.items():
        yield _named(number, drawing_of(main))
    if _has(held_out, "wmt22_qe"):
        wmt22 = analyse_table(held_out["wmt22_qe"], select_from=main.table)
        for number, drawing_of in OF_WMT22.items():
            yield _named(number, drawing_of(wmt22))
    if _has(held_out, "mqm21"):
        yield from _curves(analyse_table(held_out["mqm21"], select_from=main.table), ("fig11a", "fig11b"))


def _has(held_out: Mapping[str, GridTable], dataset: str) -> bool:
    return dataset in held_out and authors_folder.is_complete(held_out[dataset], (dataset,))


def _curves(analysis: Analysis, numbers: tuple[str, ...]) -> Iterator[Drawing]:
    for number in numbers:
        row = analysis.table.settings.index(CURVES[number])
        yield _named(number, setting_drawing(analysis, row))


def _named(number: str, drawing: Drawing) -> Drawing:
    return replace(drawing, stem=f"{number}_{drawing.stem}")


def datasets_of_paper(published: Mapping[str, int]) -> Table:
    """Table 1: language pairs and segments of each data set, as the paper counts them; grids hold no segments."""
    rows = []
    for dataset, per_pair in published.items():
        pairs = authors_folder.PAIRS[dataset]
        rows.append((Cell(label(dataset)), Cell(", ".join(pairs)), Cell(per_pair), Cell(per_pair * len(pairs))))
    header = ("data set", "language pairs", "segments per pair", "segments")
    notes = (
        "Numbers of segments are the paper's: a grid of correlations does not say them.",
        "Table 1 of arXiv:2212.10469v1",
    )
    return Table("table1_datasets", "Data sets of the paper", header, (tuple(rows),), notes, names=2)


def _of_run(table: GridTable, folder: Path) -> None:
    """The same figures, and what the paper concludes, of other results, under names that say so."""
    analysis = analyse_table(table, sibling_tables(table))
    if not len(analysis.non_controls):
        raise ConfigError(f"{table.origin} holds the random metric and the random explainer only; add another one.")
    drawings = [_named(OWN, drawing) for drawing in further_figures(analysis)]
    _write(drawings, folder)
    texts = ["\n".join(describe_constructed_data(analysis)) + "\n"] if analysis.constructed_datasets else []
    texts += [as_text(shown) for shown in analysis.tables() if not shown.data]
    settings = analysis.frames.get("settings")
    if settings is not None:
        texts.insert(0, as_text(datasets_of_run(settings)))
    write_text(folder / f"{OWN}_numbers.txt", "\n".join(texts))
    print(f"{folder}: {pluralize(len(drawings), 'figure')}, {OWN}_numbers.txt")


def datasets_of_run(settings: pd.DataFrame) -> Table:
    """As Table 1: the segments of each language pair that a run used."""
    pairs = settings.groupby(["dataset", "language_pair"], as_index=False)["n_used"].max()
    columns = ("dataset", "language_pair", Column("n_used", "segments used"))
    return Table.from_rows("datasets", "Data sets of this run", pairs, columns, names=2)


def _write(drawings: list[Drawing], folder: Path) -> None:
    """Save the figures, and their captions beside them."""
    for drawing in drawings:
        save(drawing, folder)
    captions = [f"{drawing.stem}\n{drawing.title}. {drawing.caption}\n" for drawing in drawings]
    write_text(folder / "captions.txt", "\n".join(captions))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
