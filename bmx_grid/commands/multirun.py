"""Several sweeps by one command (-m): one per combination of values, each of which may fail alone; their table."""

from __future__ import annotations

import itertools
import math
import os
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.gains import summarise
from bmx_grid.analysis.table import CONTROL
from bmx_grid.commands.compose import composed, naming_files, option_names, parse, shown
from bmx_grid.errors import BmxError, ConfigError, DataError, DataMissingError
from bmx_grid.masking import masked_address
from bmx_grid.report.table import as_text
from bmx_grid.report.terminal import fitted, terminal_width
from bmx_grid.storage import write_text
from bmx_grid.sweep.output import table_path
from bmx_grid.terminal import say
from bmx_grid.wording import counted, setting_label, shortened, with_interval

if TYPE_CHECKING:
    import pandas as pd

FILE = "multirun.csv"
MAX_JOBS = 10_000  # of a multirun, all of which are composed before the first one starts
MOST_SHOWN = 200  # characters of a sweep's name in a message
FOLDER, STATUS, NOT_STARTED = "folder", "status", "not started"
FORMS = {"settings": "", "failed": "", "baseline": ".4f", "mean gain": "+.4f", "low": "+.4f", "high": "+.4f"}
FORMS |= {"better": "", "worse": ""}
NOTE = (
    "Baseline, mean gain: over settings without controls, the gain at the declared point of the explainer, with its "
    "95 % interval over language pairs, from 3 on; better: above 1e-5, worse: 0 or less."
)


def run_several(lines: Sequence[str], folder: Path | None) -> int:
    """Run one sweep per combination of the values in these overrides; the exit status. Raises BmxError."""
    jobs = list(_jobs(lines, folder))  # all are composed, before the first one runs
    folders = [str(config["output_dir"]) for config, _ in jobs]
    where = Path(folders[0] if len(set(folders)) == 1 else os.path.commonpath(map(os.path.abspath, folders)))
    rows, mistakes, has_failures = [], dict[str, str](), False
    for config, values in jobs:
        _rename(config, values)
        name = shortened(str(config["name"]), MOST_SHOWN)
        n_failed, mistake, is_mistake = _run(config, lines, folder)
        if mistake:
            mistakes[name] = mistake
        status = NOT_STARTED if mistake else f"{counted(n_failed, 'part')} failed" if n_failed else "done"
        has_failures |= n_failed > 0 or not (mistake == "" or is_mistake)
        out = Path(config["output_dir"])
        keys = dict(_unescaped(value).lstrip("+").partition("=")[::2] for value in values)
        results = {} if mistake else _results(out)
        rows.append({**keys, STATUS: status, "failed": n_failed, **results, FOLDER: os.path.relpath(out, where)})
        if n_failed:
            print(f"{counted(n_failed, 'part')} of {name} failed; the table below says how many.", file=sys.stderr)
    if not all(config["dry_run"] is True for config, _ in jobs):
        _show(rows, where)
    for name, mistake in mistakes.items():
        print(masked_address(f"error: {name}: {mistake}"), file=sys.stderr)
    return 2 if len(mistakes) == len(jobs) and not has_failures else 1 if mistakes or has_failures else 0


def _jobs(lines: Sequence[str], folder: Path | None) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """The configuration of each combination of values, and the overrides that differ between them.

    Raises ConfigError for what has no list of values, and for too many sweeps.
    """
    values = [_values(line, folder) for line in lines]
    if math.prod(map(len, values)) > MAX_JOBS:
        varied = ", ".join(shown(line) for line, texts in zip(lines, values, strict=True) if len(texts) > 1)
        raise ConfigError(f"the values of {varied} make more than {MAX_JOBS:,} jobs; name fewer.")
    several = [parse(line).is_sweep_override() for line in lines]
    for job in itertools.product(*values):
        with naming_files(job, folder):
            yield composed(job, folder), list(itertools.compress(job, several))


def _values(line: str, folder: Path | None) -> list[str]:
    """An override with one value for each of its values."""
    from hydra.core.override_parser.types import Glob

    override = parse(line)
    if not override.is_sweep_override():
        return [line]
    if override.is_interval_sweep():
        raise ConfigError(f"{shown(line)}: an interval has no list of values; name them, as KEY=1,2,3.")
    value = override.value()
    names = value.filter(option_names(override.key_or_group, folder)) if isinstance(value, Glob) else None
    texts = override.sweep_string_iterator() if names is None else names
    overrides = [f"{override.get_key_element()}={text}" for text in itertools.islice(texts, MAX_JOBS + 1)]
    if not overrides:
        raise ConfigError(f"{shown(line)}: no value is left to run; name at least one.")
    return overrides


def _unescaped(text: str) -> str:
    """A value without the escapes of what Hydra's grammar reserves, and without passwords."""
    return masked_address(re.sub(r"\\(.)", r"\1", text))


def _rename(config: dict[str, Any], values: Sequence[str]) -> None:
    """Give a sweep a name and a folder that say which values it has."""
    suffix = _unescaped(",".join(values)).replace(os.sep, "_")
    if suffix:
        config["name"] = f"{config['name']},{suffix}"
        folder = Path(str(config["output_dir"]))
        config["output_dir"] = str(folder.with_name(f"{folder.name},{suffix}"))


def _run(config: dict[str, Any], lines: Sequence[str], folder: Path | None) -> tuple[int, str, bool]:
    """How many parts of a sweep failed; or why it did not start, and whether for a user's mistake or for a bug."""
    from bmx_grid.commands.sweep import run

    try:
        with naming_files(lines, folder):
            return run(config), "", False
    except BmxError as error:
        return 0, str(error), True
    except Exception:  # a bug of any kind, whose traceback is printed at the end; the other sweeps still run
        return 0, traceback.format_exc(), False


def _results(folder: Path) -> dict[str, float]:
    """The numbers of FORMS in a sweep's settings.csv; none without one. Raises DataError for one that is damaged."""
    import pandas as pd

    path = folder / "settings.csv"
    if not path.is_file():
        return {}
    try:
        frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
        real = frame[(frame["metric"] != CONTROL) & (frame["explainer"] != CONTROL)]
        clusters = [setting_label(*names) for names in real[["dataset", "language_pair"]].to_numpy()]
        gains = summarise(real.astype({"fixed_gain": float, "baseline": float}).assign(cluster=clusters))
        alone = real.drop_duplicates(["dataset", "language_pair", "metric"])["baseline"]  # once for all explainers
    except (KeyError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); run that sweep again.") from error
    ends = {"mean gain": gains["mean_gain"], "low": gains["mean_low"], "high": gains["mean_high"]}
    counts = {"settings": len(frame), "better": gains["better"], "worse": gains["worse"]}
    return {**counts, "baseline": float(alone.mean()), **ends}


def _show(rows: Sequence[Mapping[str, Any]], where: Path) -> None:
    """Write multirun.csv and print it. Raises StoreError."""
    import pandas as pd

    keys = [key for key in dict.fromkeys(key for row in rows for key in row) if key not in (STATUS, FOLDER, *FORMS)]
    frame = pd.DataFrame(list(rows), columns=[*keys, STATUS, *FORMS, FOLDER])
    counts = ["settings", "failed", "better", "worse"]
    write_text(where / FILE, frame.astype(dict.fromkeys(counts, "Int64")).to_csv(index=False))
    say(f"\n{as_text(jobs_table(frame, brief=True), terminal_width()).rstrip()}\n")
    say(fitted(f"written to {where / FILE}; each pair of sweeps: bmx-grid analyse {where / FILE} format=text"))


def jobs_table(frame: pd.DataFrame, *, brief: bool = False) -> Table:
    """The sweeps of a multirun as a table. brief: for a terminal, the interval beside the gain and no folders."""
    keys = list(frame.columns[: list(frame.columns).index(STATUS)])
    last = [key.rpartition(".")[2] for key in keys]
    header = [*(last if brief and len({*last, *FORMS}) == len(last) + len(FORMS) else keys), STATUS, *FORMS, FOLDER]
    hidden = ("failed", "low", "high", FOLDER) if brief else ()
    rows = []
    for row in frame.astype(object).where(frame.notna(), None).to_dict("records"):
        cells = {name: Cell(row[name], FORMS[name]) if name in FORMS else Cell(str(row[name])) for name in row}
        if brief and row["low"] is not None:
            gain = with_interval(row["mean gain"], row["low"], row["high"])
            cells["mean gain"] = Cell(row["mean gain"], words=gain)
        rows.append(tuple(cell for name, cell in cells.items() if name not in hidden))
    names = tuple(name for name in header if name not in hidden)
    return Table(
        "multirun", f"{counted(len(frame), 'sweep')} of a multirun", names, (tuple(rows),), (NOTE,), names=len(keys) + 1
    )


def read_jobs(path: Path) -> pd.DataFrame | None:
    """The sweeps of a multirun that have a folder; None where `path` is no folder, or file, of a multirun.

    A folder that holds a sweep of its own is that sweep; its multirun.csv can be named. Raises DataError.
    """
    import pandas as pd

    file = path / FILE if path.is_dir() and not table_path(path, "grid").is_file() else path
    if file.name != FILE or not file.is_file():
        return None
    frame = pd.read_csv(file, keep_default_na=False, na_values=[""])
    if not {STATUS, FOLDER, *FORMS} <= {*frame.columns}:
        raise DataError(f"{file}: no columns {FOLDER} and {STATUS}; it is not the table of a multirun.")
    frame[FOLDER] = [str(file.parent / name) for name in frame[FOLDER]]
    left = frame[(frame[STATUS] != NOT_STARTED) & frame[FOLDER].map(os.path.isdir)]
    if left.empty:
        raise DataMissingError(f"{file}: none of its {counted(len(frame), 'folder')} is there any more.")
    return left
