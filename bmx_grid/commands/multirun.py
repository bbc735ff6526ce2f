"""Several sweeps by one command (-m): one job per combination of values, each of which may fail alone; their table."""

from __future__ import annotations

import csv
import os
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.gains import GainSummary, summarise
from bmx_grid.analysis.table import CONTROL
from bmx_grid.errors import BmxError, DataError, DataMissingError
from bmx_grid.masking import masked_address
from bmx_grid.report.table import as_csv, as_text
from bmx_grid.report.terminal import fitted, terminal_width
from bmx_grid.storage.files import write_text
from bmx_grid.sweep.output import table_path
from bmx_grid.terminal import say
from bmx_grid.wording import counted, setting_label, shortened, with_interval

FILE = "multirun.csv"
FOLDER, STATUS = "folder", "status"
FOUND = ("settings", "failed", "baseline", "mean gain", "low", "high", "better", "worse")
MOST_SHOWN = 200  # characters of a job's name in a message
NOTE = (
    "Baseline, mean gain: over settings without controls, the gain at the declared point of the explainer, with its "
    "95 % interval over language pairs, from 3 on; better: above 1e-5, worse: 0 or less."
)


@dataclass(frozen=True)
class Job:
    """One job of a multirun.

    folder: its output folder; varied: key -> value of this job; n_failed: settings or parts that failed.
    mistake: why it did not start, or ""; crash: the traceback of a bug, or "".
    """

    folder: Path
    varied: Mapping[str, str]
    n_failed: int = 0
    mistake: str = ""
    crash: str = ""


def run_several(lines: Sequence[str], folder: Path | None, config_name: str) -> int:
    """Run one job per combination of the values in these overrides; the exit status. Raises BmxError."""
    from bmx_grid.commands.compose import composed
    from bmx_grid.commands.overrides import combinations

    varied = combinations(lines, folder)
    configs = [composed(overrides, folder, config_name) for overrides, _ in varied]  # all, before the first one runs
    folders = {str(config["output_dir"]) for config in configs}
    where = Path(folders.pop() if len(folders) == 1 else os.path.commonpath(map(os.path.abspath, folders)))
    jobs = {}
    for config, (_, values) in zip(configs, varied, strict=True):
        plain = re.sub(r"\\(.)", r"\1", ",".join(values))  # Hydra escapes what its grammar reserves
        suffix = masked_address(plain).replace(os.sep, "_")
        if suffix:
            config["name"] = f"{config['name']},{suffix}"
            output_dir = Path(str(config["output_dir"]))
            config["output_dir"] = str(output_dir.with_name(f"{output_dir.name},{suffix}"))
        jobs[shortened(str(config["name"]), MOST_SHOWN)] = _run(config, values)
    if not all(config["dry_run"] is True for config in configs):
        table = write_jobs(list(jobs.values()), where)
        say(f"\n{as_text(as_shown(table), terminal_width()).rstrip()}\n")
        say(fitted(f"written to {where / FILE}; each pair of sweeps: bmx-grid analyse {where / FILE} format=text"))
    for name, job in jobs.items():
        if job.n_failed:
            print(f"{counted(job.n_failed, 'part')} of {name} failed; the table above says why.", file=sys.stderr)
        if job.mistake or job.crash:
            print(masked_address(f"error: {name}: {job.mistake or job.crash}"), file=sys.stderr)
    if jobs and all(job.mistake for job in jobs.values()):
        return 2
    return 1 if any(job.n_failed or job.mistake or job.crash for job in jobs.values()) else 0


def _run(config: dict[str, Any], values: Sequence[str]) -> Job:
    """One job; a mistake or a bug ends this job alone."""
    from bmx_grid.commands.compose import run_config

    pairs = (masked_address(value).lstrip("+").partition("=") for value in values)
    job = Job(Path(config["output_dir"]), {key: re.sub(r"\\(.)", r"\1", value) for key, _, value in pairs})
    try:
        return replace(job, n_failed=run_config(config))
    except BmxError as error:
        return replace(job, mistake=str(error))
    except Exception:  # a bug of any kind, whose traceback is printed at the end; the other jobs still run
        return replace(job, crash=traceback.format_exc())


def table_of_jobs(jobs: Sequence[Job], where: Path) -> Table:
    """A row per job in their order, folders as they are seen from `where`; numbers are read from settings.csv.

    Raises DataError for a settings.csv that cannot be read.
    """
    keys = list(dict.fromkeys(key for job in jobs for key in job.varied))
    rows = []
    for job in jobs:
        failed = f"{counted(job.n_failed, 'part')} failed" if job.n_failed else "done"
        status = "not started" if job.mistake or job.crash else failed
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


def write_jobs(jobs: Sequence[Job], where: Path) -> Table:
    """Write multirun.csv to the folder `where`; its table. Raises StoreError."""
    table = table_of_jobs(jobs, where)
    write_text(where / FILE, as_csv(table))
    return table


def read_jobs(path: Path) -> list[Job] | None:
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
    found = [Job(file.parent / row[FOLDER], {key: row[key] for key in keys}, int(row["failed"] or 0)) for row in rows]
    left = [job for job in found if job.folder.is_dir()]
    if not left:
        raise DataMissingError(f"{file}: none of its {counted(len(rows), 'folder')} is there any more.")
    return left


def _found(job: Job) -> list[Cell]:
    """A cell for each of FOUND."""
    path = job.folder / "settings.csv"
    if job.mistake or job.crash or not path.is_file():
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
