"""`python -m bmx_grid`, also installed as `bmx-grid`: Hydra composes the sweep, `app.run` runs it."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig, OmegaConf

from bmx_grid.configure import CONFIGS, options
from bmx_grid.errors import BmxError, ConfigError, unknown

GROUPS = ("dataset", "metric", "explainer", "grid", "aggregation", "executor", "tracking", "sweep")


@hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name="config")
def compose_and_run(config: DictConfig) -> None:
    """Run one composed sweep and leave with a status that says whether anything failed."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.errors import CompactHydraException
    from hydra.types import RunMode

    from bmx_grid.app import run

    several = HydraConfig.get().mode == RunMode.MULTIRUN
    if several:
        _give_own_folder(config, list(HydraConfig.get().overrides.task))
    try:
        plain = OmegaConf.to_container(config, resolve=True)
        assert isinstance(plain, dict)
        n_failed = run({str(key): value for key, value in plain.items()})
    except BmxError as error:
        if several:  # Hydra goes on with the other jobs and reports this one
            raise CompactHydraException(f"error: {error}") from error
        _leave(error)
    except KeyboardInterrupt:
        print("\nInterrupted. Finished chunks are kept: the same command goes on from here.", file=sys.stderr)
        sys.exit(130)
    if n_failed > 0:
        if several:
            raise CompactHydraException(f"{n_failed} part(s) of {config.name} failed; the table above says why.")
        sys.exit(1)


def main() -> None:
    """The command line."""
    try:
        _check_names(sys.argv[1:])
    except BmxError as error:
        _leave(error)
    compose_and_run()


def _leave(error: BmxError) -> None:
    print(f"error: {error}", file=sys.stderr)
    sys.exit(2)


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


def _give_own_folder(config: DictConfig, overrides: list[str]) -> None:
    """In a multirun, put each job's output into a sub-folder named by its overrides."""
    if any(one.lstrip("+").startswith("output_dir=") for one in overrides):
        return
    named = [one for one in overrides if not one.startswith("+sweep=")]
    folder = ",".join(named).replace(os.sep, "_") or "default"
    config.output_dir = str(Path(config.output_dir) / folder)


if __name__ == "__main__":
    main()
