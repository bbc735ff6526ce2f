"""`python -m bmx_grid`, also installed as `bmx-grid`: a sweep is composed by Hydra, checked, and run.

Hydra is imported inside functions, so that Ctrl-C is handled before anything else.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bmx_grid.configure import CONFIGS, folder_path, groups, options
from bmx_grid.errors import BmxError, ConfigError, UnavailableError, unknown
from bmx_grid.masking import masked_address
from bmx_grid.terminal import RESUMES, command
from bmx_grid.wording import counted

if TYPE_CHECKING:
    from hydra._internal.hydra import Hydra
    from omegaconf import DictConfig

    from bmx_grid.commands.loader import CheckedLoader

NEEDED = {"hydra": "hydra-core", "omegaconf": "omegaconf", "yaml": "PyYAML"}  # module: its name on PyPI
MAX_JOBS = 10_000  # of a multirun, which Hydra lists before the first one starts

HYDRA_HELP = """bmx-grid composes its configuration with Hydra 1.3: https://hydra.cc. Of Hydra's flags it takes

  --cfg job|hydra|all [--package KEY] [--resolve]    print the configuration, or a part of it
  --info defaults|config|searchpath|plugins          how it was composed
  --multirun, -m                                     one sweep per combination of values: seed=1,2 limit=10,20
  --config-dir DIR, --config-name NAME               options, or a whole configuration, of your own
  -sc install=bash|zsh|fish                          completion of the command line

The keys below hydra (bmx-grid --cfg hydra) may be set, but name no classes: callbacks, plugins other than Hydra's own
and --config-path are refused, because a configuration must not run code. What bmx-grid does: bmx-grid --help."""


class Job(NamedTuple):
    """How one job of a multirun ended; plain values, since it may have run in another process.

    n_failed: settings or parts that failed; mistake: why it did not start; crash: the traceback of a bug.
    """

    name: str
    n_failed: int = 0
    mistake: str = ""
    crash: str = ""


def main() -> None:
    """Run the command line and exit with status 1 when something failed, 2 for a mistake, 130 after Ctrl-C."""
    arguments = sys.argv[1:]
    sys.exit(command(lambda: _compose_and_run(arguments), RESUMES))


def _compose_and_run(arguments: Sequence[str]) -> int:
    """`compose_and_run`, with a sentence where Hydra, which this command line is made of, is not installed."""
    try:
        return compose_and_run(arguments)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in NEEDED:
            raise
        raise UnavailableError(
            f"sweeps need the library {NEEDED[missing]}, which is not installed: pip install {NEEDED[missing]}"
        ) from error


def compose_and_run(arguments: Sequence[str]) -> int:
    """Do what the arguments say; the exit status. Raises BmxError for every mistake in them."""
    given = _parse(arguments)
    folder = _config_dir(given.config_dir)
    if given.help:
        from bmx_grid.commands.help import help_text

        print(help_text(folder))
        return 0
    if given.shell_completion:
        from bmx_grid.commands.completion import complete

        with _Hydra(folder) as hydra:
            return complete(hydra, given.overrides)
    with _Hydra(folder) as hydra:
        if given.hydra_help or given.cfg or given.info:
            _show(hydra, given)
            return 0
        return _run(hydra, given.config_name, given.overrides, given.multirun)


class _Hydra:
    """Hydra with our loader, for the length of a block."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def __enter__(self) -> Hydra:
        from hydra import version
        from hydra._internal.hydra import Hydra
        from hydra._internal.utils import create_config_search_path
        from hydra.core.config_search_path import SearchPathQuery
        from hydra.core.global_hydra import GlobalHydra

        from bmx_grid.commands.loader import CheckedLoader

        version.setbase("1.3")
        search_path = create_config_search_path(str(CONFIGS))
        if self.folder is not None:
            anchor = SearchPathQuery(provider="schema")
            search_path.prepend(provider="command-line", path=f"file://{self.folder}", anchor=anchor)
        GlobalHydra.instance().clear()
        hydra = Hydra(task_name="bmx_grid", config_loader=CheckedLoader(search_path))
        GlobalHydra.instance().initialize(hydra)
        return hydra

    def __exit__(self, *_: object) -> None:
        from hydra.core.global_hydra import GlobalHydra

        GlobalHydra.instance().clear()


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Hydra's arguments. Raises ConfigError for those it does not have, and for those that load code."""
    if any(one in ("--help", "-h") for one in arguments):  # quick: without Hydra
        parser = argparse.ArgumentParser(add_help=False)
        parser.add_argument("--config-dir", "-cd")
        return argparse.Namespace(help=True, config_dir=parser.parse_known_args(list(arguments))[0].config_dir)
    from hydra._internal.utils import get_args_parser

    parser = get_args_parser()
    known = [name for action in parser._actions for name in action.option_strings]

    def refuse(message: str) -> None:
        for one in arguments:
            name = one.partition("=")[0]
            if name.startswith("-") and name not in known:
                raise ConfigError(f"{unknown('option', name, known)} Keys have no dashes: KEY=VALUE.")
        raise ConfigError(f"{message}; `bmx-grid --help` lists them all.")

    parser.error = refuse  # type: ignore[method-assign, assignment]
    parser.exit_on_error = True
    given = parser.parse_intermixed_args(list(arguments))
    if given.config_path is not None:
        raise ConfigError("--config-path would replace all options of bmx_grid; add yours with --config-dir DIR.")
    if given.experimental_rerun is not None:
        raise ConfigError("--experimental-rerun runs what a pickle file holds; repeat the overrides of that run.")
    modes = ("run", "multirun", "cfg", "info", "shell_completion", "hydra_help")
    several = [f"--{mode.replace('_', '-')}" for mode in modes if getattr(given, mode)]
    if len(several) > 1:
        raise ConfigError(f"{' and '.join(several)} exclude each other; choose one.")
    if (given.resolve or given.package) and not given.cfg:
        raise ConfigError("--resolve and --package say how --cfg shows the configuration; add --cfg job.")
    given.config_name = "config" if given.config_name is None else given.config_name
    if not given.config_name:
        raise ConfigError("--config-name is empty; leave it out, or name a file in --config-dir.")
    return given


def _config_dir(given: str | None) -> Path | None:
    """The folder of the user's own options. Raises ConfigError when it is not there, or an option would be ignored."""
    if given is None:
        return None
    found = folder_path(given, "--config-dir")
    if not os.path.isdir(found):
        raise ConfigError(f"--config-dir {given}: there is no such folder (looked at {found.absolute()}).")
    for group in groups():
        for name in sorted(set(options(group)) & set(options(group, found))):
            raise ConfigError(
                f"{found / group / name}.yaml: an option {group}={name} comes with bmx_grid and would be used instead; "
                "give yours another name."
            )
    return found.absolute()


def _run(hydra: Hydra, config_name: str, overrides: list[str], several: bool) -> int:
    from hydra._internal.callbacks import Callbacks
    from hydra.core.utils import run_job
    from hydra.types import HydraContext, RunMode

    from bmx_grid.commands.overrides import parse, refuse_several_values

    loader: CheckedLoader = hydra.config_loader  # type: ignore[assignment]
    ended: list[int | BaseException] = []

    def task(job: DictConfig) -> None:
        try:
            ended.append(_run_config(job))
        except Exception as error:  # of any kind; raised again below, where Hydra adds no traceback of its own
            ended.append(error)

    with _hydra_mistakes():
        config = loader.load_configuration(config_name, overrides, RunMode.RUN, validate_sweep_overrides=False)
        if several or config.hydra.mode == RunMode.MULTIRUN:
            return _run_several(loader, config_name, overrides)
        refuse_several_values(parse(overrides), RunMode.RUN)
        _refuse_leaks(config)
        context = HydraContext(config_loader=loader, callbacks=Callbacks())
        run_job(task, config, job_dir_key="hydra.run.dir", job_subdir_key=None, hydra_context=context)
    if isinstance(ended[0], BaseException):
        raise ended[0]
    return 1 if ended[0] > 0 else 0


def _run_several(loader: CheckedLoader, config_name: str, overrides: list[str]) -> int:
    """A multirun: Hydra's sweeper and launcher run one job per combination of values."""
    import tempfile
    from contextlib import nullcontext

    from hydra._internal.callbacks import Callbacks
    from hydra.core.plugins import Plugins
    from hydra.types import HydraContext, RunMode

    from bmx_grid.commands.loader import without_secrets
    from bmx_grid.commands.overrides import plain_list

    config = loader.load_configuration(config_name, overrides, RunMode.MULTIRUN)
    dry = config.dry_run is True
    # Hydra's sweeper writes multirun.yaml, and each job a folder: a dry run writes nothing that stays.
    with tempfile.TemporaryDirectory() if dry else nullcontext("") as temporary:
        if dry:
            config = loader.load_configuration(
                config_name, [*overrides, f"hydra.sweep.dir={temporary}"], RunMode.MULTIRUN
            )
        _refuse_leaks(config)
        arguments = plain_list(config.hydra.overrides.task)
        varied = _varied(loader, config, arguments)
        context = HydraContext(config_loader=loader, callbacks=Callbacks())
        sweeper = Plugins.instance().instantiate_sweeper(
            config=without_secrets(config), hydra_context=context, task_function=partial(_job, varied=varied)
        )
        batches = sweeper.sweep(arguments=arguments)
    jobs: list[Job] = [done.return_value for batch in batches for done in batch]
    for job in jobs:
        if job.n_failed:
            print(f"{counted(job.n_failed, 'part')} of {job.name} failed; the table above says why.", file=sys.stderr)
        if job.mistake or job.crash:
            print(masked_address(f"error: {job.name}: {job.mistake or job.crash}"), file=sys.stderr)
    if any(job.n_failed or job.crash for job in jobs):
        return 1
    return 0 if not any(job.mistake for job in jobs) else 2 if all(job.mistake for job in jobs) else 1


def _job(config: DictConfig, varied: frozenset[str]) -> Job:
    """One job of a multirun, perhaps in another process; it never raises, so that the others run, too."""
    import traceback

    from hydra.core.hydra_config import HydraConfig
    from omegaconf.errors import OmegaConfBaseException

    from bmx_grid.commands.overrides import plain_list

    name = "a job"
    try:
        name = str(config.name)
        given = plain_list(HydraConfig.get().overrides.task)
        overrides = [one for one in given if one.lstrip("+").partition("=")[0] in varied]
        plain = re.sub(r"\\(.)", r"\1", ",".join(overrides))  # Hydra escapes what its grammar reserves
        suffix = masked_address(plain).replace(os.sep, "_")
        if suffix and isinstance(config.output_dir, str):  # what is not text is refused below
            output_dir = Path(config.output_dir)
            name = config.name = f"{config.name},{suffix}"
            config.output_dir = str(output_dir.with_name(f"{output_dir.name},{suffix}"))
        return Job(name, n_failed=_run_config(config))
    except BmxError as error:
        return Job(name, mistake=str(error))
    except OmegaConfBaseException as error:
        return Job(name, mistake=_unresolved(error))
    except Exception:  # a bug of any kind ends this job alone, with its traceback in the summary; the others still run
        return Job(name, crash=traceback.format_exc())


def _varied(loader: CheckedLoader, config: DictConfig, arguments: list[str]) -> frozenset[str]:
    """The keys that differ between the jobs of a multirun. Raises ConfigError for more jobs than can be listed."""
    from itertools import islice

    from hydra.core.override_parser.overrides_parser import OverridesParser

    from bmx_grid.commands.overrides import parse

    given = [f"{key}={value}" for key, value in (config.hydra.sweeper.params or {}).items()] + arguments
    parse(given)  # reports what Hydra's own parser below would raise
    n_jobs, varied = 1, set()
    for override in OverridesParser.create(config_loader=loader).parse_overrides(given):
        if override.is_interval_sweep():
            raise ConfigError(f"{override.input_line}: an interval has no list of values; name them, as KEY=1,2,3.")
        if override.is_sweep_override():
            n_jobs *= sum(1 for _ in islice(override.sweep_iterator(), MAX_JOBS + 1))
            varied.add(override.key_or_group)
    if n_jobs > MAX_JOBS:
        raise ConfigError(f"the values of {', '.join(sorted(varied))} make more than {MAX_JOBS:,} jobs; name fewer.")
    return frozenset(varied)


def _refuse_leaks(config: DictConfig) -> None:
    """Hydra's own files and logs hold the configuration as it is: refuse them where that has a password."""
    from bmx_grid.commands.loader import has_secret

    logs = [key for key in ("hydra_logging", "job_logging") if config.hydra[key].get("root") is not None]
    written = [*(["output_subdir"] if config.hydra.output_subdir is not None else []), *logs]
    if written and has_secret(config):
        raise ConfigError(
            f"hydra.{written[0]} would write a password of this configuration as it is; leave it out, or give the "
            "password in another way (for MLflow: MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD)."
        )


def _run_config(config: DictConfig) -> int:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    from bmx_grid.commands.sweep import run

    try:
        plain = OmegaConf.to_container(config, resolve=True)
    except (OmegaConfBaseException, RecursionError) as error:
        raise ConfigError(_unresolved(error)) from error
    assert isinstance(plain, dict)
    return run({str(key): value for key, value in plain.items()})


def _unresolved(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "the configuration cannot be resolved: keys refer to each other in a circle (${...}); replace one."
    key = getattr(error, "full_key", "") or ""
    text = " ".join(str(error).split("\n")[0].split()).rstrip(".")
    return f"{key + ': ' if key else ''}the configuration cannot be resolved: {text}; write a value in its place."


@contextmanager
def _hydra_mistakes() -> Iterator[None]:
    """Whatever fails in Hydra in this block is reported as a mistake in its part of the configuration."""
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    try:
        yield
    except OmegaConfBaseException as error:
        raise ConfigError(_unresolved(error)) from error
    except (HydraException, OSError, ValueError, TypeError, AssertionError) as error:
        text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise ConfigError(f"the keys below hydra cannot be used as they are: {text[:300]}.") from error


def _show(hydra: Hydra, given: argparse.Namespace) -> None:
    """Print what --cfg, --info or --hydra-help ask for, without passwords."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    loader: CheckedLoader = hydra.config_loader  # type: ignore[assignment]
    loader.mask = True
    if given.hydra_help:
        print(HYDRA_HELP)
        return
    config = loader.load_configuration(given.config_name, given.overrides, RunMode.RUN)
    if given.info:
        hydra.show_info(given.info, config_name=given.config_name, overrides=given.overrides)
        return
    HydraConfig.instance().set_config(config)
    OmegaConf.set_readonly(config.hydra, None)
    shown = hydra.get_sanitized_cfg(config, cfg_type=given.cfg)
    try:
        part = shown if given.package in (None, "_global_") else OmegaConf.select(shown, given.package)
        if part is None:
            from bmx_grid.commands.overrides import unknown_key

            raise ConfigError(f"--package {unknown_key(OmegaConf.to_container(shown), given.package)}")
        text = OmegaConf.to_yaml(part, resolve=given.resolve) if OmegaConf.is_config(part) else f"{part}\n"
    except (OmegaConfBaseException, RecursionError) as error:
        raise ConfigError(_unresolved(error)) from error
    sys.stdout.write(masked_address(text))


if __name__ == "__main__":
    main()
