"""bmx-grid run: a sweep is composed by Hydra, checked, and run.

Hydra is imported inside functions, so that Ctrl-C is handled before anything else.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.commands.arguments import config_dir, parse_arguments
from bmx_grid.commands.composed import hydra_mistakes, refuse_leaks, resolved, run_config
from bmx_grid.commands.multirun import run_several
from bmx_grid.commands.show import show
from bmx_grid.configure import CONFIGS
from bmx_grid.errors import UnavailableError
from bmx_grid.terminal import RESUMES, command

if TYPE_CHECKING:
    from hydra._internal.hydra import Hydra
    from omegaconf import DictConfig

    from bmx_grid.commands.loader import CheckedLoader

NEEDED = {"hydra": "hydra-core", "omegaconf": "omegaconf", "yaml": "PyYAML"}  # module: its name on PyPI


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status: 1 when something failed, 2 for a mistake, 130 after Ctrl-C."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return command(lambda: _compose_and_run(given), RESUMES)


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
    given = parse_arguments(arguments)
    folder = config_dir(given.config_dir)
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
            show(hydra, given)
            return 0
        return _run(hydra, given.config_name, given.overrides, given.multirun)


def composed(overrides: Sequence[str], folder: str | Path | None = None) -> dict[str, Any]:
    """The configuration of a sweep as these overrides compose it, resolved and checked; Hydra's own part left out.

    folder: options of the user's own, as --config-dir names them.
    For callers from other programs, which may use Hydra themselves: its state is as before. Raises ConfigError.
    """
    from hydra.types import RunMode

    with _Hydra(config_dir(None if folder is None else str(folder))) as hydra, hydra_mistakes():
        loader: CheckedLoader = hydra.config_loader  # type: ignore[assignment]
        config = loader.load_configuration("config", list(overrides), RunMode.RUN)
        refuse_leaks(config)
        return resolved(config)


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
        self.before = GlobalHydra.instance().hydra
        GlobalHydra.instance().clear()
        hydra = Hydra(task_name="bmx_grid", config_loader=CheckedLoader(search_path))
        GlobalHydra.instance().initialize(hydra)
        return hydra

    def __exit__(self, *_: object) -> None:
        from hydra.core.global_hydra import GlobalHydra

        GlobalHydra.instance().clear()
        if self.before is not None:
            GlobalHydra.instance().initialize(self.before)


def _run(hydra: Hydra, config_name: str, overrides: list[str], several: bool) -> int:
    from hydra._internal.callbacks import Callbacks
    from hydra.core.utils import run_job
    from hydra.types import HydraContext, RunMode

    from bmx_grid.commands.overrides import parse, refuse_several_values

    loader: CheckedLoader = hydra.config_loader  # type: ignore[assignment]
    ended: list[int | BaseException] = []

    def task(job: DictConfig) -> None:
        try:
            ended.append(run_config(job))
        except Exception as error:  # of any kind; raised again below, where Hydra adds no traceback of its own
            ended.append(error)

    with hydra_mistakes():
        config = loader.load_configuration(config_name, overrides, RunMode.RUN, validate_sweep_overrides=False)
        if several or config.hydra.mode == RunMode.MULTIRUN:
            return run_several(loader, config_name, overrides)
        refuse_several_values(parse(overrides), RunMode.RUN)
        refuse_leaks(config)
        context = HydraContext(config_loader=loader, callbacks=Callbacks())
        run_job(task, config, job_dir_key="hydra.run.dir", job_subdir_key=None, hydra_context=context)
    if isinstance(ended[0], BaseException):
        raise ended[0]
    return 1 if ended[0] > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
