"""The sweeps of a multirun in one table: a row per job, with what it varies and what it found."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.gains import GainSummary, summarise
from bmx_grid.analysis.table import CONTROL
from bmx_grid.errors import DataError, DataMissingError
from bmx_grid.report.table import as_csv
from bmx_grid.storage.files import write_text
from bmx_grid.sweep.output import table_path
from bmx_grid.wording import counted, setting_label, with_interval

FILE = "multirun.csv"
FOLDER, STATUS = "folder", "status"
FOUND = ("settings", "failed", "baseline", "mean gain", "low", "high", "better", "worse")
NOTE = (
    "Baseline, mean gain: over settings without controls, the gain at the declared point of the explainer, with its "
    "95 % interval over clusters, a data set and language pair each, from 3 on; better: above 1e-5, worse: 0 or less."
)


@dataclass(frozen=True)
class Gathered:
    """One job. folder: its output folder; varied: key -> value of this job; mistake: why it did not start, or ""."""

    folder: Path
    varied: Mapping[str, str]
    n_failed: int = 0
    mistake: str = ""


def gathered_table(jobs: Sequence[Gathered], where: Path) -> Table:
    """A row per job in their order, folders as they are seen from `where`; numbers are read from settings.csv.

    Raises DataError for a settings.csv that cannot be read.
    """
    keys = list(dict.fromkeys(key for job in jobs for key in job.varied))
    rows = []
    for job in jobs:
        status = "not started" if job.mistake else f"{counted(job.n_failed, 'part')} failed" if job.n_failed else "done"
        names = [*(job.varied.get(key, "") for key in keys), status]
        rows.append((*map(Cell, names), *_found(job), Cell(_seen_from(job.folder, where))))
    return Table(
        "multirun",
        f"{counted(len(jobs), 'sweep')} of a multirun",
        (*keys, STATUS, *FOUND, FOLDER),
        (tuple(rows),),
        (NOTE,),
        names=len(keys) + 1,
    )


def as_shown(table: Table) -> Table:
    """The table of a multirun for a terminal: short names of keys, intervals beside gains, no folders."""
    header = list(table.header)
    n_keys = header.index(STATUS)
    last = [key.rpartition(".")[2] for key in header[:n_keys]]
    keys = last if len({*last, *FOUND}) == len(last) + len(FOUND) else header[:n_keys]
    at = {name: header.index(name) for name in (STATUS, *FOUND)}
    rows = []
    for row in table.rows:
        gain, low, high = (row[at[name]].value for name in ("mean gain", "low", "high"))
        gained = (
            "" if gain is None or low is None or high is None else with_interval(float(gain), float(low), float(high))
        )
        names = [*row[: n_keys + 1], row[at["settings"]], row[at["baseline"]]]
        rows.append((*names, Cell(gain, words=gained), row[at["better"]], row[at["worse"]]))
    shown = (*keys, STATUS, "settings", "baseline", "mean gain", "better", "worse")
    return replace(table, header=shown, groups=(tuple(rows),))


def write_gathered(jobs: Sequence[Gathered], where: Path) -> Table:
    """Write multirun.csv to the folder `where`; its table. Raises StoreError."""
    table = gathered_table(jobs, where)
    write_text(where / FILE, as_csv(table))
    return table


def read_gathered(path: Path) -> list[Gathered] | None:
    """The jobs that have a folder with results; None where `path` is no folder, or file, of a multirun.

    A folder that holds a sweep of its own is that sweep; its multirun.csv can be named. Raises DataError.
    """
    file = path / FILE if path.is_dir() and not table_path(path, "grid").is_file() else path
    if file.name != FILE or not file.is_file():
        return None
    with file.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        names = list(reader.fieldnames or ())
        if FOLDER not in names or STATUS not in names:
            raise DataError(f"{file}: no columns {FOLDER} and {STATUS}; it is not the table of a multirun.")
        keys = names[: names.index(STATUS)]
        rows = [row for row in reader if row[STATUS] != "not started"]
    found = [
        Gathered(file.parent / row[FOLDER], {key: row[key] for key in keys}, int(row["failed"] or 0)) for row in rows
    ]
    left = [job for job in found if job.folder.is_dir()]
    if not left:
        raise DataMissingError(f"{file}: none of its {counted(len(rows), 'folder')} is there any more.")
    return left


def _found(job: Gathered) -> list[Cell]:
    """A cell for each of FOUND."""
    path = job.folder / "settings.csv"
    if job.mistake or not path.is_file():
        return [Cell(None), Cell(job.n_failed), *[Cell(None)] * (len(FOUND) - 2)]
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    try:
        gains, baseline, n_settings = _gains(rows), _baseline(rows), len(rows)
    except (KeyError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); run that sweep again.") from error
    ends = (gains.mean_gain, gains.mean_low, gains.mean_high)
    return [
        Cell(n_settings),
        Cell(job.n_failed),
        Cell(baseline, ".4f"),
        *(Cell(one, "+.4f") for one in ends),
        Cell(gains.better),
        Cell(gains.worse),
    ]


def _real(rows: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    return [row for row in rows if CONTROL not in (row["metric"], row["explainer"])]


def _gains(rows: Sequence[Mapping[str, str]]) -> GainSummary:
    real = _real(rows)
    gain, baseline = (np.array([_number(row[key]) for row in real]) for key in ("fixed_gain", "baseline"))
    clusters = np.array([setting_label(row["dataset"], row["language_pair"]) for row in real], dtype=np.str_)
    return summarise(gain, baseline, clusters)


def _baseline(rows: Sequence[Mapping[str, str]]) -> float:
    """The mean over metrics and parts, each once for all its explainers."""
    alone = {(row["dataset"], row["language_pair"], row["metric"]): _number(row["baseline"]) for row in _real(rows)}
    known = [one for one in alone.values() if np.isfinite(one)]
    return float(np.mean(known)) if known else float("nan")


def _number(text: str) -> float:
    return float(text) if text else float("nan")


def _seen_from(folder: Path, where: Path) -> str:
    return os.path.relpath(folder, where)
