"""All tables of the paper from an analysis, each as text, Markdown, LaTeX and CSV."""

from __future__ import annotations

from pathlib import Path

from bmx_grid.analysis.run import Analysis
from bmx_grid.files import write_text
from bmx_grid.report.table import FORMATS, Table
from bmx_grid.report.tables import results, settings
from bmx_grid.report.tables.settings import SegmentCounts


def write_tables(analysis: Analysis, folder: Path, segment_counts: SegmentCounts | None = None) -> list[Path]:
    """Write every table into `folder` as .txt, .md, .tex and .csv; the files written. Raises StoreError.

    segment_counts: segments by (data set, language pair), which a results table does not hold.
    """
    paths = []
    for table in paper_tables(analysis, segment_counts):
        for suffix, form in FORMATS.items():
            path = folder / f"{table.stem}.{suffix}"
            write_text(path, form(table))
            paths.append(path)
    return paths


def paper_tables(analysis: Analysis, segment_counts: SegmentCounts | None = None) -> list[Table]:
    """Every table that the analysis has something for; without real settings only what was run."""
    found = [settings.datasets(analysis, segment_counts), settings.counts(analysis)]
    if len(analysis.real) == 0:
        return found
    found += [*settings.results(analysis), *settings.held_out(analysis)]
    found += [results.selection(analysis), results.metric_selection(analysis)]
    found += [results.gains(analysis), results.ridge(analysis)]
    left_out = results.leave_one_out(analysis)
    return [*found, left_out, results.folds(analysis)] if left_out.groups else found
