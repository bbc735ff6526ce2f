"""`python -m bmx_grid`, also installed as `bmx-grid`: Hydra composes the sweep, `app.run` runs it."""

from __future__ import annotations

import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

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
        _give_own_name(config, list(HydraConfig.get().overrides.task))
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
    warnings.showwarning = _show_warning
    compose_and_run()


def _leave(error: BmxError) -> None:
    print(f"error: {error}", file=sys.stderr)
    sys.exit(2)


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    """Our own warnings in one plain line; those of libraries as Python prints them."""
    if category is UserWarning and "bmx_grid" in filename:
        print(f"warning: {message}", file=sys.stderr)
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))


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
