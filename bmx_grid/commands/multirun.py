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
from typing import Any

from bmx_grid.analysis.base import Column, Table
from bmx_grid.analysis.gains import summarise
from bmx_grid.analysis.table import CONTROL
from bmx_grid.commands.compose import composed, naming_files, option_names, parse, shown
from bmx_grid.core.errors import BmxError, ConfigError, DataError
from bmx_grid.core.masking import masked_address
from bmx_grid.core.storage import write_text
from bmx_grid.core.terminal import say
from bmx_grid.core.wording import counted, setting_label, shortened
from bmx_grid.report.table import as_text
from bmx_grid.report.terminal import fitted, terminal_width

FILE = "multirun.csv"
MAX_JOBS = 10_000  # of a multirun, all of which are composed before the first one starts
MOST_SHOWN = 200  # characters of a sweep's name in a message
FOLDER, STATUS, NOT_STARTED = "folder", "status", "not started"
FORMS = {"settings": "", "failed": "", "baseline": ".4f", "mean gain": "+.4f", "low": "+.4f", "high": "+.4f"}
FORMS |= {"better": "", "worse": ""}
ENDS = {"mean gain": ("low", "high")}
HIDDEN = ("failed", "low", "high")  # columns of the file that the terminal has no room for
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
        try:
            results = {} if mistake else _results(out)
        except DataError as error:  # of another program's file in its place: the other sweeps still run
            mistakes[name], results = str(error), {}
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
    """Write multirun.csv and print it, the interval beside the gain and without folders. Raises StoreError."""
    import pandas as pd

    keys = [key for key in dict.fromkeys(key for row in rows for key in row) if key not in (STATUS, FOLDER, *FORMS)]
    frame = pd.DataFrame(list(rows), columns=[*keys, STATUS, *FORMS, FOLDER])
    counts = dict.fromkeys(("settings", "failed", "better", "worse"), "Int64")
    write_text(where / FILE, frame.astype(counts).to_csv(index=False))
    last = [key.rpartition(".")[2] for key in keys]
    short = last if len({*last, *FORMS}) == len(last) + len(FORMS) else keys
    columns = [*(Column(key, name) for key, name in zip(keys, short, strict=True)), STATUS]
    columns += [Column(name, form=form, ends=ENDS.get(name)) for name, form in FORMS.items() if name not in HIDDEN]
    shown = frame.astype(dict.fromkeys(keys, str))
    title = f"{counted(len(frame), 'sweep')} of a multirun"
    table = Table.of("multirun", title, shown, columns, [NOTE], names=len(keys) + 1)
    say(f"\n{as_text(table, terminal_width()).rstrip()}\n")
    folders = " ".join(str(where / name) for name in frame[FOLDER][:2])
    say(fitted(f"written to {where / FILE}; pairs of sweeps: bmx-grid analyse {folders}"))
