"""Several sweeps by one command (-m): one job per combination of values, each of which may fail alone."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bmx_grid.commands.composed import refuse_leaks, run_config, unresolved
from bmx_grid.errors import BmxError, ConfigError
from bmx_grid.masking import masked_address
from bmx_grid.terminal import say
from bmx_grid.wording import counted, shortened

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from bmx_grid.commands.loader import CheckedLoader

MAX_JOBS = 10_000  # of a multirun, which Hydra lists before the first one starts
MOST_SHOWN = 200  # characters of a job's name in a message


class Job(NamedTuple):
    """How one job of a multirun ended; plain values, since it may have run in another process.

    n_failed: settings or parts that failed; mistake: why it did not start; crash: the traceback of a bug.
    folder: its output folder; varied: the overrides that differ between jobs.
    """

    name: str
    n_failed: int = 0
    mistake: str = ""
    crash: str = ""
    folder: str = ""
    varied: tuple[str, ...] = ()


def run_several(loader: CheckedLoader, config_name: str, overrides: list[str]) -> int:
    """Hydra's sweeper and launcher run one job per combination of values; the exit status. Raises BmxError."""
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
        refuse_leaks(config)
        arguments = plain_list(config.hydra.overrides.task)
        varied = _varied(loader, config, arguments)
        context = HydraContext(config_loader=loader, callbacks=Callbacks())
        sweeper = Plugins.instance().instantiate_sweeper(
            config=without_secrets(config), hydra_context=context, task_function=partial(_job, varied=varied)
        )
        batches = sweeper.sweep(arguments=arguments)
    jobs: list[Job] = [done.return_value for batch in batches for done in batch]
    if not dry:
        _gather(jobs, Path(str(config.hydra.sweep.dir)))
    for job in jobs:
        name = shortened(job.name, MOST_SHOWN)
        if job.n_failed:
            print(f"{counted(job.n_failed, 'part')} of {name} failed; the table above says why.", file=sys.stderr)
        if job.mistake or job.crash:
            print(masked_address(f"error: {name}: {job.mistake or job.crash}"), file=sys.stderr)
    if any(job.n_failed or job.crash for job in jobs):
        return 1
    return 0 if not any(job.mistake for job in jobs) else 2 if all(job.mistake for job in jobs) else 1


def _job(config: DictConfig, varied: frozenset[str]) -> Job:
    """One job of a multirun, perhaps in another process; it never raises, so that the others run, too."""
    import traceback

    from hydra.core.hydra_config import HydraConfig
    from omegaconf.errors import OmegaConfBaseException

    from bmx_grid.commands.overrides import plain_list

    name, folder, overrides = "a job", "", list[str]()
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
        folder = str(config.output_dir)
        return Job(name, run_config(config), folder=folder, varied=tuple(overrides))
    except BmxError as error:
        return Job(name, mistake=str(error), folder=folder, varied=tuple(overrides))
    except OmegaConfBaseException as error:
        return Job(name, mistake=unresolved(error), folder=folder, varied=tuple(overrides))
    except Exception:  # a bug of any kind ends this job alone, with its traceback in the summary; the others still run
        return Job(name, crash=traceback.format_exc(), folder=folder, varied=tuple(overrides))


def _gather(jobs: Sequence[Job], where: Path) -> None:
    """Write and print the table of all jobs."""
    from bmx_grid.commands.gathered import FILE, Gathered, as_shown, write_gathered
    from bmx_grid.report.table import as_text
    from bmx_grid.report.terminal import fitted, terminal_width

    found = []
    for job in jobs:
        pairs = (masked_address(one).lstrip("+").partition("=") for one in job.varied)
        varied = {key: re.sub(r"\\(.)", r"\1", value) for key, _, value in pairs}
        found.append(Gathered(Path(job.folder), varied, job.n_failed, job.mistake or job.crash))
    table = write_gathered(found, where)
    say(f"\n{as_text(as_shown(table), terminal_width()).rstrip()}\n")
    say(fitted(f"written to {where / FILE}; each pair of sweeps: bmx-grid analyse {where / FILE} format=text"))


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
