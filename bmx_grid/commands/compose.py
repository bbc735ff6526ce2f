"""`python -m bmx_grid`, also installed as `bmx-grid`: Hydra composes the sweep, `app.run` runs it.

Hydra is imported inside, so that the first thing in place is the answer to Ctrl-C.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bmx_grid.configure import CONFIGS, options
from bmx_grid.errors import BmxError, ConfigError, unknown
from bmx_grid.terminal import RESUMES, command

if TYPE_CHECKING:
    from omegaconf import DictConfig

GROUPS = ("dataset", "metric", "explainer", "grid", "aggregation", "executor", "tracking", "sweep")


def main() -> None:
    """The command line; leaves with status 1 when something failed, 2 for a mistake, 130 after Ctrl-C."""
    sys.exit(command(_main, RESUMES))


def _main() -> int:
    _check_names(sys.argv[1:])
    if {"--help", "-h", "--hydra-help", "--cfg", "-c", "--info", "-i"} & {one.partition("=")[0] for one in sys.argv}:
        # Hydra prints these by itself; whoever stops reading (`| head`) ends the process quietly.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    import hydra

    hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name="config")(_compose_and_run)()
    return 0


def _compose_and_run(config: DictConfig) -> None:
    """Run one composed sweep and leave with a status that says whether anything failed."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.errors import CompactHydraException
    from hydra.types import RunMode

    several = HydraConfig.get().mode == RunMode.MULTIRUN
    if not several:
        # Past Hydra, which would print a traceback for what `command` answers in one sentence.
        sys.exit(command(lambda: 1 if _run(config) > 0 else 0, RESUMES))
    _give_own_name(config, list(HydraConfig.get().overrides.task))
    try:
        n_failed = _run(config)
    except BmxError as error:  # Hydra goes on with the other jobs and reports this one
        raise CompactHydraException(f"error: {error}") from error
    if n_failed > 0:
        raise CompactHydraException(f"{n_failed} part(s) of {config.name} failed; the table above says why.")


def _run(config: DictConfig) -> int:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    from bmx_grid.commands.sweep import run

    try:
        plain = OmegaConf.to_container(config, resolve=True)
    except OmegaConfBaseException as error:
        raise ConfigError(f"the configuration cannot be resolved: {' '.join(str(error).split())}") from error
    assert isinstance(plain, dict)
    return run({str(key): value for key, value in plain.items()})


def _check_names(arguments: list[str]) -> None:
    """Refuse unknown options of a group with the closest name; Hydra alone only says it could not load them.

    Raises ConfigError.
    """
    known = {group: set(options(group)) for group in GROUPS}
    for index, argument in enumerate(arguments):
        if argument in ("--config-dir", "-cd") and index + 1 < len(arguments):
            folder = arguments[index + 1]
        elif argument.startswith("--config-dir="):
            folder = argument.partition("=")[2]
        else:
            continue
        for group in GROUPS:
            known[group].update(options(group, Path(folder)))
    import yaml

    keys = set(yaml.safe_load((CONFIGS / "config.yaml").read_text(encoding="utf-8"))) - {"defaults"} | set(GROUPS)
    for argument in arguments:
        key, equals, value = argument.lstrip("+").partition("=")
        if not equals or argument.startswith(("-", "~")):
            continue
        if key == "sweep" and not argument.startswith("+"):
            raise ConfigError(f"write +{argument}: a sweep is added to the configuration, not one of its keys.")
        if key in GROUPS:
            names = [name.strip(" []'\"") for name in value.split(",")]
            for name in names:
                if name and "(" not in name and name not in known[key]:
                    raise ConfigError(unknown(key, name, known[key]))
        elif not argument.startswith("+") and re.split(r"[./@]", key)[0] not in keys:
            raise ConfigError(unknown("key", key, keys))


def _give_own_name(config: DictConfig, overrides: list[str]) -> None:
    """In a multirun, name each job and its folder after the overrides that vary (all of them if that is unknown)."""
    from hydra.core.override_parser.overrides_parser import OverridesParser

    given = [one for one in sys.argv[1:] if "=" in one and not one.startswith("-")]
    varied = {one.key_or_group for one in OverridesParser.create().parse_overrides(given) if one.is_sweep_override()}
    own = [one for one in overrides if one.lstrip("+").partition("=")[0] in varied] or overrides
    suffix = ",".join(own).replace(os.sep, "_")
    output_dir = Path(config.output_dir)
    config.name = f"{config.name},{suffix}"
    config.output_dir = str(output_dir.with_name(f"{output_dir.name},{suffix}"))


if __name__ == "__main__":
    main()
