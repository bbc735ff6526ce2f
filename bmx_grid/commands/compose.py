"""bmx-grid run: a sweep is composed by Hydra, checked, and run.

Hydra is imported inside functions, so that Ctrl-C is handled before anything else.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.commands.arguments import config_dir, parse_arguments
from bmx_grid.configure import CONFIGS
from bmx_grid.errors import BmxError, ConfigError, StoreError, UnavailableError, unknown
from bmx_grid.masking import masked, masked_address
from bmx_grid.terminal import RESUMES, command

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

NEEDED = {"hydra": "hydra-core", "omegaconf": "omegaconf", "yaml": "PyYAML"}  # module: its name on PyPI


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status: 1 when something failed, 2 for a mistake, 130 after Ctrl-C."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return command(lambda: compose_and_run(given), RESUMES)


def compose_and_run(arguments: Sequence[str]) -> int:
    """Do what the arguments say; the exit status. Raises BmxError for every mistake in them."""
    given = parse_arguments(arguments)
    folder = config_dir(given.config_dir)
    if given.help:
        from bmx_grid.commands.help import help_text

        print(help_text(folder))
        return 0
    try:
        import hydra  # noqa: F401
    except ModuleNotFoundError as error:
        missing = NEEDED.get((error.name or "").partition(".")[0], error.name)
        raise UnavailableError(
            f"sweeps need the library {missing}, which is not installed: pip install {missing}"
        ) from error
    if given.multirun:
        from bmx_grid.commands.multirun import run_several

        return run_several(given.overrides, folder, given.config_name)
    if given.cfg:
        sys.stdout.write(_as_shown(given, folder))
        return 0
    return 1 if run_config(composed(given.overrides, folder, given.config_name)) else 0


def run_config(config: Mapping[str, Any]) -> int:
    """Run the sweep of a configuration; how many settings or parts failed. Raises BmxError for mistakes in it."""
    from bmx_grid.commands.option_files import located
    from bmx_grid.commands.sweep import run

    try:
        return run(config)
    except (ConfigError, StoreError) as error:
        raise type(error)(located(str(error))) from error


def composed(overrides: Sequence[str], folder: str | Path | None = None, config_name: str = "config") -> dict[str, Any]:
    """The configuration of a sweep as these overrides compose it, resolved and checked.

    folder: options of the user's own, as --config-dir names them.
    For callers from other programs, which may use Hydra themselves: its state is as before. Raises ConfigError.
    """
    return _resolved(_unresolved(overrides, config_dir(None if folder is None else str(folder)), config_name))


def _as_shown(given: argparse.Namespace, folder: Path | None) -> str:
    """The YAML of the configuration, or of the part that --package names, without passwords. Raises ConfigError."""
    import yaml
    from omegaconf import OmegaConf

    from bmx_grid.commands.overrides import missing_part

    config = _unresolved(given.overrides, folder, given.config_name)
    config = masked(_resolved(config) if given.resolve else config)
    if given.package is None:
        return masked_address(yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
    missing = missing_part(config, given.package, folder)
    if missing:
        raise ConfigError(f"--package {missing}")
    part = OmegaConf.select(OmegaConf.create({"part": config}), f"part.{given.package}")
    return masked_address(OmegaConf.to_yaml(part) if OmegaConf.is_config(part) else f"{part}\n")


def _unresolved(lines: Sequence[str], folder: Path | None, config_name: str) -> dict[str, Any]:
    """The configuration as plain values, checked, ${…} as it is written. Raises ConfigError."""
    from bmx_grid.commands.checks import check, several
    from bmx_grid.commands.option_files import located, names
    from bmx_grid.commands.overrides import check_override, is_choice, missing_part, parse

    overrides = [parse(line) for line in lines]
    for override in overrides:
        check_override(override, folder)
    try:
        config = _by_hydra(overrides, folder, config_name)
    except BmxError:
        raise
    # Hydra and OmegaConf raise a dozen unrelated types here (AttributeError and TypeError among them) for what a
    # user wrote, and nothing but their own code runs: each is a mistake in the configuration, shown as one.
    except Exception as error:
        raise ConfigError(_explained(error, overrides, folder, config_name)) from error
    last = {override.key_or_group: override for override in overrides}
    for group in last.keys() & set(several()):
        _keep_chosen(config, last[group], names(group, folder))
    keys = [override.key_or_group for override in overrides if not is_choice(override) and not override.is_delete()]
    for missing in filter(None, (missing_part(config, key, folder) for key in keys)):
        raise ConfigError(missing)
    try:
        check(config, names("explainer", folder))
    except ConfigError as error:
        message = str(error)
        raise ConfigError(message if message.startswith(tuple(keys)) else located(message)) from error
    return config


def _keep_chosen(config: dict[str, Any], override: Override, known: Sequence[str]) -> None:
    """Drop what a sweep sets for options of a group that the command line did not choose."""
    from bmx_grid.commands.overrides import chosen_names

    group = override.key_or_group
    for name, option in list((config.get(group) or {}).items()):
        is_built = isinstance(option, Mapping) and "_target_" in option
        if name in known and not is_built and name not in chosen_names(override):
            del config[group][name]


def _by_hydra(overrides: Sequence[Override], folder: Path | None, config_name: str) -> dict[str, Any]:
    """What Hydra composes; of its state nothing stays."""
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from omegaconf import OmegaConf

    from bmx_grid.commands.option_files import options_of

    before = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with options_of(folder), initialize_config_dir(str(CONFIGS), version_base="1.3"):
            config = compose(config_name, overrides=[str(override.input_line) for override in overrides])
    finally:
        GlobalHydra.instance().clear()
        if before is not None:
            GlobalHydra.instance().initialize(before)
    plain = OmegaConf.to_container(config, resolve=False)
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


def _resolved(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with values in place of ${…}. Raises ConfigError."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    from bmx_grid.commands.option_files import located

    try:
        plain: Any = OmegaConf.to_container(OmegaConf.create(dict(config)), resolve=True)
    except RecursionError as error:
        raise ConfigError("keys refer to each other in a circle (${...}); write a value in place of one.") from error
    except OmegaConfBaseException as error:
        key = getattr(error, "full_key", None) or "the configuration"
        raise ConfigError(
            located(f"{key}: it cannot be resolved: {_reason(error)}; write a value in its place.")
        ) from error
    return {str(key): value for key, value in plain.items()}


def _explained(error: Exception, overrides: Sequence[Override], folder: Path | None, config_name: str) -> str:
    """The sentence for what Hydra raised: about the file that names what is missing, or the override that does."""
    from bmx_grid.commands.option_files import OptionFiles, names
    from bmx_grid.commands.overrides import is_choice, misfit

    file = next((f"{file}: " for file in reversed(OptionFiles.read)), "")
    group, _, name = str(getattr(error, "missing_cfg_file", None) or "").rpartition("/")
    if group:
        return f"{file}{unknown(group, name, names(group, folder))}"
    if name:
        return f"--config-name {name}: there is no {name}.yaml; leave it out, or name a file in --config-dir."
    settings = [override for override in overrides if not is_choice(override)]
    applied = [override for override in overrides if is_choice(override)]
    config: dict[str, Any] | None = None
    for override in [None, *settings]:  # the first that fails is the mistake
        applied += [] if override is None else [override]
        try:
            config = _by_hydra(applied, folder, config_name)
        except Exception as failure:  # of any kind, as above
            if config is None or override is None:
                return f"{file}the options cannot be composed: {_reason(failure)}; correct them, or leave them out."
            return misfit(override, config, folder, _reason(failure))
    return f"{file}the configuration cannot be composed: {_reason(error)}; correct it."


def _reason(error: BaseException) -> str:
    """The first line of what Hydra or OmegaConf says."""
    if isinstance(error, RecursionError):
        return "files name each other in their defaults lists in a circle, or are nested too deeply"
    text = str(error.__cause__ or error)
    return masked_address(text.split("\n")[0][:300].strip().rstrip(".")) or type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
