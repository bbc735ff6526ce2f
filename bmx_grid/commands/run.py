"""usage: bmx-grid run [+sweep=NAME] [KEY=VALUE ...]      (run may be left out)

Each setting (data set x language pair x metric x explainer) is scored and
boosted over a p x w grid; output_dir gets tables, figures and report.html.
The same command again computes only what is missing.

what to run: +sweep=NAME, dataset=[A,B], metric=[A,B], explainer=[A,B]; or the
official table of a shared task: tasks=NAME

flags:
  --cfg job          print every key that can be set, and its value
  --config-dir DIR   options of your own: DIR/metric/mine.yaml is metric=[mine]
  --multirun, -m     one sweep per combination of values (seed=1,2,3)

exit status: 0 done; 1 something failed; 2 a mistake in the command; 130 Ctrl-C

examples:
  bmx-grid run +sweep=quickstart metric=[chrf] explainer=[erasure]
  bmx-grid run dataset=[tabular] dataset.tabular.path=my.tsv metric=[chrf]
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bmx_grid.api.compose import composed, parse, shown_argument
from bmx_grid.api.user_files import naming_files, option_names, options_folder
from bmx_grid.core.configure import CONFIGS, groups
from bmx_grid.core.errors import BmxError, ConfigError, unknown
from bmx_grid.core.secrets import masked, masked_address
from bmx_grid.core.terminal import RESUMES, command, say_error

# Hydra is imported inside functions, so that Ctrl-C is handled before anything else.
FLAGS = ("--help", "--cfg", "--config-dir", "--multirun")
# How configs/config.yaml writes a key and what it is for.
KEY_LINE = re.compile(r"^(\w+): (.*?)\s+# (.*)$", re.MULTILINE)
MOST_SWEEPS = 10_000  # of a multirun, all of which are composed before the first one starts


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status: 1 when something failed, 2 for a mistake, 130 after Ctrl-C."""
    return command(lambda: compose_and_run(sys.argv[1:] if arguments is None else arguments), RESUMES)


def compose_and_run(arguments: Sequence[str]) -> int:
    """Do what the arguments say; the exit status. Raises BmxError for every mistake in them."""
    parsed = _parsed(arguments)
    folder = None if parsed.config_dir is None else options_folder(parsed.config_dir)
    if parsed.help:
        print(_help(folder))
        return 0
    if parsed.multirun:
        return _run_several(parsed.overrides, folder)
    with naming_files(parsed.overrides, folder):
        config = composed(parsed.overrides, folder)
        if parsed.cfg:
            import yaml

            text = yaml.safe_dump(masked(config), sort_keys=False, allow_unicode=True)
            print(masked_address(text), end="")
            return 0
        return _status(config)


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The flags and the overrides. Raises ConfigError for flags that do not exist, or not together."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    add = parser.add_argument
    add("--help", "-h", action="store_true")
    add("--cfg", "-c", choices=["job"])
    add("--config-dir", "-cd")
    add("--multirun", "-m", action="store_true")
    add("overrides", nargs="*")
    try:
        parsed, others = parser.parse_known_intermixed_args(list(arguments))
    except argparse.ArgumentError as error:
        raise ConfigError(f"{error}; `bmx-grid run --help` lists what can be given.") from error
    for flag in others:
        message = unknown("option", flag.partition("=")[0], FLAGS)
        raise ConfigError(f"{message} Keys have no dashes: KEY=VALUE.")
    if parsed.multirun and parsed.cfg:
        raise ConfigError("--multirun and --cfg exclude each other; choose one.")
    return parsed


def _help(folder: Path | None) -> str:
    """The help of runs, with the existing options (those in `folder` among them) and keys in 80 columns."""
    head, flags = str(__doc__).rstrip().split("\n\nflags:\n")
    rows = []
    for group in groups():
        known = ", ".join(option_names(group, folder))
        rows.append(f"  {group}  {known}")
    config = (CONFIGS / "config.yaml").read_text()
    for key, default, meaning in KEY_LINE.findall(config):
        rows.append(f"  {key}={default}  {meaning}")
    lines = [textwrap.fill(row, 80, subsequent_indent="      ") for row in rows]
    return "\n".join([head, *lines, "  and those below a group: grid.correlation=kendall", "", "flags:", flags])


def _run_several(lines: Sequence[str], folder: Path | None) -> int:
    """Run one sweep per combination of the values in these overrides, each in its folder; the worst exit status."""
    values = [_values(line) for line in lines]
    if math.prod(map(len, values)) > MOST_SWEEPS:
        raise ConfigError(f"these values make more than {MOST_SWEEPS:,} sweeps; name fewer.")
    jobs = list(itertools.product(*values))
    configs = []
    # All are composed before the first one runs: a mistake is found early.
    for job in jobs:
        with naming_files(job, folder):
            configs.append(composed(job, folder))
    status = 0
    for job, config in zip(jobs, configs, strict=True):
        varied = [line for line, texts in zip(job, values, strict=True) if len(texts) > 1]
        # Without passwords and slashes: it ends the name of a folder.
        suffix = "".join(f",{masked_address(line.lstrip('+'))}" for line in varied).replace("\\", "").replace("/", "_")
        for key in ("name", "output_dir"):
            config[key] = f"{config[key]}{suffix}"
        try:
            with naming_files(job, folder):
                status = max(status, _status(config))
        # The other sweeps are run all the same.
        except BmxError as error:
            say_error(f"{shown_argument(suffix.lstrip(','))}: {error}")
            status = 2
    return status


def _status(config: dict[str, Any]) -> int:
    """Run a sweep; its exit status."""
    from bmx_grid.api.sweep import run_sweep

    return 1 if run_sweep(config).n_failed else 0


def _values(line: str) -> list[str]:
    """An override with one value for each of its values. Raises ConfigError for what has no list of them."""
    from hydra.errors import HydraException

    override = parse(line)
    if not override.is_sweep_override():
        return [line]
    try:
        # A range of a billion values is refused, without listing them.
        texts = list(itertools.islice(override.sweep_string_iterator(), MOST_SWEEPS + 1))
    except (HydraException, ValueError) as error:
        raise ConfigError(f"{shown_argument(line)}: it has no list of values; name them, as KEY=1,2,3.") from error
    key = override.get_key_element()
    return [f"{key}={text}" for text in texts]


if __name__ == "__main__":
    sys.exit(main())
