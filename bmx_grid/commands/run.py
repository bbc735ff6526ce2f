"""Run a sweep with Hydra: its flags, folders, launchers and sweepers.

Hydra reads changed arguments only if users may write less than it requires: a plus is optional, and names of metrics
may be those of papers. `api.hydra_files` checks the files that it reads.
"""

from __future__ import annotations

import argparse
import io
import itertools
import logging
import math
import os
import re
import sys
import tempfile
import textwrap
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
import yaml
from hydra._internal.hydra import Hydra
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import ChoiceSweep
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import OmegaConf

from bmx_grid.api.compose import (
    compose_config,
    hydra_lines,
    mistakes,
    parse,
    parse_one,
    quote_argument,
    resolve_and_check,
)
from bmx_grid.api.hydra_files import checked_files
from bmx_grid.api.user_files import Folder, naming_files, options_folder
from bmx_grid.core.configure import CONFIGS, folder_path
from bmx_grid.core.errors import BmxError, ConfigError, unknown
from bmx_grid.core.secrets import mask_address, mask_argument, mask_secrets
from bmx_grid.core.storage import inside, write_text
from bmx_grid.core.terminal import FULL_ERROR, RESUMES, command, say_error

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override
    from omegaconf import DictConfig

    from bmx_grid.api.sweep import SweepResult

RECORD = ".hydra"
SECRET = "BMX_SECRET_"  # begins the names of environment variables
SECRET_REFERENCE = re.compile(r"\$\{oc\.env:(BMX_SECRET_\d+)\}")
HYDRAS = re.compile(r"[+~]*hydra\b")  # begins an override of Hydra's own
HYDRAS_MODE = re.compile(r"[+~]*hydra(\.mode)?=")  # begins one that may set hydra.mode
MOST_SWEEPS = 10_000  # sweeps of one multirun; Hydra lists them all before the first one starts
LONGEST_FOLDER = 200  # characters of the name of a sweep's folder in a multirun
HELP_COLUMNS = 80
HELP_KEYS = "KEYS OF config.yaml"  # replaced by the keys in Hydra's help
_new_folders: list[Path] = []  # that Hydra makes


class SweepFailedError(BmxError):
    """A sweep of a multirun that failed, with its exit status. The error is already printed."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class _Past(BaseException):
    """Carry an exception past Hydra, which would print a traceback."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status: 1 when something failed, 2 for a mistake, 130 after Ctrl-C."""
    return command(lambda: compose_and_run(sys.argv[1:] if arguments is None else arguments), RESUMES)


def compose_and_run(arguments: Sequence[str]) -> int:
    """Run a sweep or a multirun. Returns the exit status; raises BmxError for every mistake in the arguments."""
    with help_of_any_type(), checked_files(), _remove_empty_folders(), ExitStack() as stack:
        parsed = _parse_arguments(arguments)
        folder = None if parsed.config_dir is None else options_folder(parsed.config_dir)
        # Words for the shell, no overrides.
        if parsed.shell_completion:
            # Hydra knows no commands.
            os.environ["COMP_LINE"] = re.sub(r"^(\s*\S+) run ", r"\1 ", os.environ.get("COMP_LINE", ""))
            try:
                return _run_with_hydra(parsed, parsed.overrides, [], folder)
            except ConfigError as error:
                raise ConfigError(f'{error} Write eval "$(bmx-grid --shell-completion install=bash)".') from error
        parsed.multirun = parsed.multirun or "hydra.mode=MULTIRUN" in parsed.overrides
        read = parse if parsed.multirun else parse_one
        if _shows(parsed):
            written = list(map(mask_argument, parsed.overrides))
        else:
            written = _hide_secrets(parsed.overrides, read)
        overrides = [read(line) for line in written]
        lines = list(_lines_of_hydra(parsed, overrides))
        if parsed.multirun and "dry_run=true" in written:
            # Hydra writes multirun.yaml.
            place = stack.enter_context(tempfile.TemporaryDirectory())
            lines.append(f"hydra.sweep.dir='{place}'")
        lines += hydra_lines(overrides, folder)
        of_sweep = [line for line in written if not HYDRAS.match(line)]
        is_ours = not (parsed.multirun or parsed.config_path or parsed.config_name)
        try:
            if parsed.cfg and is_ours:
                _check_composed(of_sweep, folder)
            return _run_with_hydra(parsed, lines, overrides, folder)
        except ConfigError:
            # The message can be more exact than Hydra's.
            if is_ours:
                _check_composed(of_sweep, folder)
            raise


def _check_composed(lines: Sequence[str], folder: Folder) -> None:
    with naming_files(lines, folder):
        compose_config(lines, folder)


@contextmanager
def help_of_any_type() -> Iterator[None]:
    """Options of parsers may have a help that is no text: Python 3.14 looks for % in it, and Hydra's has no answer."""
    add_argument = argparse.ArgumentParser.add_argument

    def add(parser: argparse.ArgumentParser, *names: str, **settings: Any) -> argparse.Action:
        kind = type(settings.get("help", ""))
        if not hasattr(kind, "__contains__") and kind is not type(None):
            kind.__contains__ = lambda text, sign: False
        return add_argument(parser, *names, **settings)

    argparse.ArgumentParser.add_argument = add  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        argparse.ArgumentParser.add_argument = add_argument  # type: ignore[method-assign]


def _parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Hydra's flags and the overrides. Raises ConfigError for flags that do not exist, or that are refused."""
    parser = get_args_parser()
    parser.prog = "bmx-grid"
    parser.exit_on_error = False
    flags = [name for action in parser._actions for name in action.option_strings if name.startswith("--")]
    try:
        parsed, others = parser.parse_known_intermixed_args(list(arguments))
    except argparse.ArgumentError as error:
        raise ConfigError(f"{error}; `bmx-grid run --hydra-help` lists the arguments.") from error
    for flag in others:
        raise ConfigError(f"{unknown('option', flag.partition('=')[0], flags)} Keys have no dashes: KEY=VALUE.")
    if parsed.experimental_rerun:
        way_out = "run the sweep again from its output folder: --config-path DIR/.hydra"
        raise ConfigError(f"--experimental-rerun loads a pickle, which can run any code; {way_out}.")
    if parsed.config_path is not None and "://" not in parsed.config_path:
        # By default Hydra searches the folder of this module.
        parsed.config_path = str(folder_path(parsed.config_path, "--config-path").absolute())
    return parsed


def _flags(parsed: argparse.Namespace) -> Iterator[str]:
    """The options, as they are written."""
    for name, value in vars(parsed).items():
        if name != "overrides" and value:
            flag = f"--{name.replace('_', '-')}"
            yield flag if value is True else f"{flag}={value}"


def _hide_secrets(lines: Sequence[str], read: Any) -> list[str]:
    """The overrides with passwords and keys in the environment, so that Hydra writes them nowhere."""
    kept = []
    for line in lines:
        if mask_argument(line) == line:
            kept.append(line)
            continue
        override = read(line)
        values = override.value()
        references = []
        for value in values.list if isinstance(values, ChoiceSweep) else [values]:
            variable = f"{SECRET}{len(os.environ)}"
            is_text = isinstance(value, str)
            os.environ[variable] = str(value) if is_text else override._get_value_element_as_str(value)
            reference = f"${{oc.env:{variable}}}"
            references.append(reference if is_text else f"'${{oc.decode:{reference}}}'")
        kept.append(f"{line.partition('=')[0]}={','.join(references)}")
    return kept


def _restore_secrets(line: str) -> str:
    return SECRET_REFERENCE.sub(lambda reference: os.environ[reference[1]], line)


def _lines_of_hydra(parsed: argparse.Namespace, overrides: Sequence[Override]) -> Iterator[str]:
    """Overrides that set the folders of a sweep."""
    if parsed.config_path or parsed.config_name:
        ours = yaml.safe_load((CONFIGS / "config.yaml").read_text("utf-8"))["hydra"]
        yield f"hydra.run.dir='{ours['run']['dir']}'"
        yield f"hydra.sweep.dir='{ours['sweep']['dir']}'"
        yield f"hydra.sweep.subdir='{ours['sweep']['subdir']}'"
        yield "hydra.output_subdir=null"
        if not any(override.key_or_group == "hydra/job_logging" for override in overrides):
            yield "hydra/job_logging=none"
    for override in overrides:
        if override.key_or_group == "hydra.run.dir":
            yield f"++output_dir={(override.input_line or '').partition('=')[2]}"
    if parsed.multirun:
        n_sweeps = 1
        for override in overrides:
            n_sweeps *= len(_some_values(override, MOST_SWEEPS + 1))
        if n_sweeps > MOST_SWEEPS:
            raise ConfigError(f"these values make more than {MOST_SWEEPS:,} sweeps; name fewer.")
        varied = {override.key_or_group for override in overrides if override.is_sweep_override()}
        same = {override.key_or_group for override in overrides} - varied
        names = ",".join(f"'{key}'" for key in sorted(same))
        yield f"hydra.job.config.override_dirname.exclude_keys=[{names}]"


def _some_values(override: Override, most: int) -> list[str]:
    """Split an override into its first `most` values; a value without a list, such as glob(*), stays as it is."""
    line = override.input_line or ""
    if not override.is_sweep_override() or not override.is_discrete_sweep() or "glob(" in line:
        return [line]
    key = override.get_key_element()
    try:
        return [f"{key}={value}" for value in itertools.islice(override.sweep_string_iterator(), most)]
    except (HydraException, ValueError) as error:
        raise ConfigError(f"{quote_argument(line)}: it has no list of values; name them, as KEY=1,2,3.") from error


def _run_with_hydra(
    parsed: argparse.Namespace, lines: Sequence[str], overrides: Sequence[Override], folder: Folder
) -> int:
    """Hand over to Hydra; the exit status. overrides: as messages name them."""
    shown = io.StringIO()
    status = 0
    try:
        with ExitStack() as stack:
            stack.enter_context(mistakes(overrides, folder))
            stack.enter_context(_surroundings([*_flags(parsed), *lines]))
            if not (parsed.config_path or parsed.config_name or any(map(HYDRAS_MODE.match, lines))):
                stack.enter_context(_no_mode_in_files())
            if _shows(parsed):
                stack.enter_context(redirect_stdout(shown))
            sweep()
    except SystemExit as stop:
        # A sweep that fails otherwise prints its error itself.
        status = 2 if stop.code else 0
    except SweepFailedError as failed:
        if os.environ.get(FULL_ERROR) == "1":
            traceback.print_exception(failed)
        return failed.status
    except _Past as past:
        if isinstance(past.error, SweepFailedError):
            return past.error.status
        raise past.error from past.error.__cause__
    text = mask_address(shown.getvalue())
    print(_format_help(text) if parsed.help else text, end="")
    return status


def _shows(parsed: argparse.Namespace) -> bool:
    """Whether Hydra prints something and runs nothing."""
    return bool(parsed.cfg or parsed.info or parsed.help or parsed.hydra_help or parsed.shell_completion)


@contextmanager
def _surroundings(arguments: Sequence[str]) -> Iterator[None]:
    """Adjust sys.argv, error handling and logging for Hydra, and restore them.

    Hydra reads sys.argv, prints errors with a traceback, and logs to standard output.
    """
    argv, full, handlers = sys.argv, os.environ.get(FULL_ERROR), logging.root.handlers[:]
    sys.argv = [argv[0], *arguments]
    os.environ[FULL_ERROR] = "1"
    try:
        yield
    finally:
        sys.argv = argv
        logging.root.handlers[:] = handlers
        os.environ.pop(FULL_ERROR)
        if full is not None:
            os.environ[FULL_ERROR] = full


@contextmanager
def _no_mode_in_files() -> Iterator[None]:
    """In this block Hydra composes once, and not once before to read hydra.mode, which has no value in our files."""
    get_mode = Hydra.get_mode
    Hydra.get_mode = lambda self, config_name, overrides: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        Hydra.get_mode = get_mode  # type: ignore[method-assign]


def _format_help(text: str) -> str:
    """Hydra's help in 80 columns, with the keys at the top of the configuration as config.yaml explains them."""
    keys = re.findall(r"^\w+: .*# .*$", (CONFIGS / "config.yaml").read_text("utf-8"), flags=re.MULTILINE)
    lines = []
    for line in text.replace(HELP_KEYS, "\n".join(keys)).splitlines():
        # Comments are in a column of their own.
        short = re.sub(r" +# ", "  # ", line)
        lines += textwrap.wrap(short, HELP_COLUMNS, subsequent_indent="    ", break_on_hyphens=False) or [""]
    return "\n".join([*lines, ""])


@contextmanager
def _remove_empty_folders() -> Iterator[None]:
    """Folders that Hydra makes in this block, and that nothing was written to, are removed."""
    _new_folders.clear()
    try:
        yield
    finally:
        for place in sorted(_new_folders, reverse=True):
            with suppress(OSError):
                place.rmdir()


def _output_dir(*, _root_: DictConfig) -> str:
    """The folder of a sweep, checked before Hydra makes it. Raises ConfigError."""
    from bmx_grid.api.sweep_plan import check_name

    config: Any = _root_
    if "output_dir" not in config:
        # Hydra shows its own part without the rest.
        own: Any = HydraConfig.get()
        config = own._get_root()
    check_name(str(config["name"]))
    output_dir: str = config["output_dir"]
    place = folder_path(output_dir, "output_dir").absolute()
    _new_folders.extend(folder for folder in (place, *place.parents) if not folder.exists())
    return output_dir


def _one_folder(text: str) -> str:
    """The overrides that vary as the name of a folder, without secrets."""
    parts = mask_address(_restore_secrets(text.replace("\\", ""))).split(",")
    name = ",".join(map(mask_argument, parts)).replace("/", "_").replace("$", "")
    return re.sub(r"(^|,)\+*", r"\1", name)[:LONGEST_FOLDER]


OmegaConf.register_new_resolver("bmx.output_dir", _output_dir, replace=True)
OmegaConf.register_new_resolver("bmx.one_folder", _one_folder, replace=True)


@hydra.main(config_path=str(CONFIGS), config_name="config", version_base="1.3")
def sweep(config: DictConfig) -> float:
    """Run one sweep.

    Returns the value that a sweeper maximises: the largest held-out gain, else the largest correlation; NaN for a
    single sweep, whose tables are not read.
    """
    own = HydraConfig.get()
    place = Path(own.runtime.output_dir)
    several = own.mode == RunMode.MULTIRUN
    try:
        ended = _run_one(config, own, place, several)
        reached = math.nan
        if several:
            from bmx_grid.api.sweep import objective

            reached = objective(place)
    except Exception as error:
        if not several or not isinstance(error, BmxError):
            raise _Past(error) from error
        say_error(f"{quote_argument(place.name)}: {error}")
        raise SweepFailedError(2) from error
    finally:
        with suppress(OSError):
            place.rmdir()
    if ended.n_failed and several:
        raise SweepFailedError(1)
    if ended.n_failed:
        raise _Past(SweepFailedError(1))
    return reached


def _run_one(config: DictConfig, own: Any, place: Path, several: bool) -> SweepResult:
    """Run the sweep that Hydra composed, into the folder that it made; several: one of a multirun."""
    from bmx_grid.api.sweep import run_sweep

    # As they were written: to read an item would put values in place of ${…}.
    as_written: Any = OmegaConf.to_container(own.overrides.task)
    lines = list(map(_restore_secrets, as_written))
    folder = _folder_of_user(own)
    with naming_files(lines, folder):
        tree: Any = OmegaConf.to_container(config)
        settings = resolve_and_check(tree, [parse(line) for line in lines], folder)
        if several:
            settings["name"] = f"{settings['name']},{place.name}"
        if not settings["dry_run"]:
            settings["output_dir"] = _relative_path(place)
        ended = run_sweep(settings)
    if place.is_dir() and any(place.iterdir()):
        hydras: Any = OmegaConf.to_container(own)
        _record(place, "config", settings)
        _record(place, "hydra", {"hydra": hydras})
        _record(place, "overrides", list(map(mask_argument, lines)))
    return ended


def _folder_of_user(own: Any) -> Folder:
    """The folder that --config-dir names."""
    for source in own.runtime.config_sources:
        if source.provider == "command-line":
            return Path(source.path)
    return None


def _relative_path(place: Path) -> str:
    """A folder relative to the working folder if it is below it."""
    here = Path.cwd()
    return str(place.relative_to(here)) if place.is_relative_to(here) and place != here else str(place)


def _record(place: Path, name: str, node: Any) -> None:
    """Write a file of .hydra/ as Hydra does, but without passwords and through no link."""
    write_text(inside(place, f"{RECORD}/{name}.yaml"), OmegaConf.to_yaml(OmegaConf.create(mask_secrets(node))))


if __name__ == "__main__":
    sys.exit(main())
