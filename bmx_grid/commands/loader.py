"""Hydra's composition with our checks: every configuration it composes is checked before anything is built from it.

`CheckedLoader` composes the sweep, each job of a multirun (in worker processes, too) and what `--cfg` shows, so that
none of them can hold an unknown key or a class of Hydra's that is not known. A mistake is a ConfigError in one
sentence that names the file or the argument.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository, IConfigRepository
from hydra.core.default_element import ResultDefault
from hydra.core.override_parser.types import Override
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, flag_override, open_dict
from omegaconf.errors import OmegaConfBaseException

from bmx_grid.commands.checks import Refusal, chosen, hydra_refusals, refusals
from bmx_grid.commands.option_files import OptionFiles, option_file
from bmx_grid.commands.overrides import check_choice, is_choice, names, parse, refuse_several_values, shown, unknown_key
from bmx_grid.configure import options
from bmx_grid.errors import BmxError, ConfigError, unknown
from bmx_grid.masking import masked, masked_address


class CheckedLoader(ConfigLoaderImpl):
    """Composes configurations and refuses what they may not hold.

    mask: whether secrets are masked in what is composed: for showing it, not for running it.
    """

    mask = False

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        """The composed configuration. Raises ConfigError for every mistake in it."""
        try:
            config = super().load_configuration(
                config_name, overrides, run_mode, from_shell=from_shell, validate_sweep_overrides=False
            )
        except BmxError:
            raise
        # Hydra and OmegaConf raise a dozen unrelated types here (AttributeError and TypeError among them) for what a
        # user wrote, and nothing but their own code runs: each is a mistake in the configuration, shown as one.
        except Exception as error:
            raise ConfigError(self._explained(error, config_name, overrides, run_mode)) from error
        plain = OmegaConf.to_container(config, resolve=False)
        assert isinstance(plain, dict)
        composed = {str(key): value for key, value in plain.items()}
        found = (
            hydra_refusals(composed["hydra"])
            if config_name is None
            else refusals(composed, self.get_group_options("explainer"))
        )
        for refusal in found:
            raise ConfigError(self._located(refusal, overrides))
        if validate_sweep_overrides:
            refuse_several_values(parse(overrides), run_mode)
        if self.mask:
            config = without_secrets(config)
        return config

    def _parse_overrides_and_create_caching_repo(
        self, config_name: str | None, overrides: list[str]
    ) -> tuple[list[Override], CachingConfigRepository]:
        parsed = parse(overrides)
        repository = OptionFiles(self.repository)
        self._check_search_path(config_name, parsed, repository)
        self._process_config_searchpath(config_name, parsed, repository)
        for override in parsed:
            check_choice(override, repository)
        self._chosen_anew = {one.key_or_group for one in parsed if one.key_or_group in chosen()}
        return parsed, repository

    def _compose_config_from_defaults_list(self, defaults: list[ResultDefault], repo: IConfigRepository) -> DictConfig:
        assert isinstance(repo, CachingConfigRepository)
        self._composed_of = defaults, repo  # for `_located`: a second composition would only find them again
        config = super()._compose_config_from_defaults_list(defaults, repo)
        self._drop_deselected(config)
        return config

    def _drop_deselected(self, config: DictConfig) -> None:
        """Drop a sweep's settings for its options where the command line chooses others in their place."""
        for group in self._chosen_anew:
            node = config.get(group)
            for name in list(node) if OmegaConf.is_dict(node) and "_target_" not in node else ():
                if OmegaConf.is_dict(node[name]) and "_target_" not in node[name] and name in options(group):
                    with open_dict(node):
                        del node[name]

    @staticmethod
    def _check_search_path(config_name: str | None, parsed: list[Override], repository: OptionFiles) -> None:
        """Further folders may be added as --config-dir adds one; a package (pkg://) would be imported."""
        own = [one for one in parsed if one.key_or_group == "hydra.searchpath"]
        given: list[Any] = [one.input_line if one.is_sweep_override() else one.value() for one in own]
        primary = repository.load_config(config_name) if config_name is not None else None
        if primary is not None and OmegaConf.is_dict(primary.config):
            given.append(OmegaConf.select(primary.config, "hydra.searchpath"))
        for places in given:
            for place in places if isinstance(places, Iterable) and not isinstance(places, str) else [places]:
                text = str(place).removeprefix("file://")
                if place is not None and ("://" in text or not Path(text).is_dir()):
                    raise ConfigError(f"hydra.searchpath: '{place}' is not a folder; name one, as --config-dir does.")

    def _explained(self, error: Exception, config_name: str | None, overrides: list[str], run_mode: RunMode) -> str:
        """One sentence for what Hydra raised, with our advice in place of its own."""
        text = str(error)
        key = _quoted(text, r"Could not override '(.+?)'\.\nTo append")
        if key is not None:
            return self._unknown_key(key, config_name, overrides, run_mode)
        key = _quoted(text, r"An item is already at '(.+?)'")
        if key is not None:
            return f"{key} is in the configuration already; leave out the + in front of it."
        key = _quoted(text, r"Multiple values for (\S+?)\. ") or _quoted(text, r"force-add of .*'\++(.+?)[@=]")
        if key is not None:
            return (
                f"{key} is chosen already; leave out the + in front of it, or in the defaults list of a file write "
                f"'override /{key}: NAME'."
            )
        differs = re.search(r"The value of '(.+?)' is (.*) and not", text)
        if differs is not None:
            return f"~{differs.group(1)}: its value is {differs.group(2)}; leave out what follows the name."
        key = _quoted(text, r"Could not delete(?: from config\.)? '(.+?)'")
        if key is not None and isinstance(chosen().get(key), list):
            return f"~{key}: options of {key} are chosen, not deleted; write {key}=[NAME,…]."
        if key is not None:
            return f"~{key}: there is nothing of that name to delete."
        key = _quoted(text, r"Cannot find primary config '(.+?)'")
        if key is not None:
            return f"--config-name {key}: there is no {key}.yaml; leave it out, or name a file in --config-dir."
        key = _quoted(text, r"Could not (?:load|find) '(\w+/.+?)'")
        if key is not None:
            group, _, name = key.rpartition("/")
            sweeps = [str(name) for one in parse(overrides) if one.key_or_group == "sweep" for name in names(one)]
            file = f"{self._repository().place(f'sweep/{sweeps[-1]}')}: " if sweeps else ""
            return f"{file}{unknown(group, name, self._repository().get_group_options(group))}"
        if isinstance(error, RecursionError):
            longest = max(overrides, key=len, default="")
            if len(longest) > 1_000:
                return f"{shown(longest)} is too long, or nested too deeply; give a shorter value."
            return "files name each other in their defaults lists in a circle, or are nested too deeply."
        inside = _quoted(text, r"^In '(.+?)':")
        place = f"{self._repository().place(inside)}: " if inside is not None else ""
        key = _quoted(text, r"Key '(.+?)' not in '\w+Conf'")
        if key is not None:
            full = _quoted(text, r"full_key: (\S+)") or key
            return f"{place}{full}: Hydra has no key '{key}' there; leave it out."
        if inside is not None:
            text = text.partition(":")[2]
        cause = error.__cause__
        if isinstance(cause, OmegaConfBaseException):
            text = f"{text}: {str(cause).splitlines()[0]}" if text else str(cause).splitlines()[0]
        text = re.split(r"\nSee https|\nConfig search path:|\n\s*full_key:|\nTo append", text)[0]
        reason = " ".join(text.split()).rstrip(".") or type(error).__name__
        reason = masked_address(reason.removeprefix("Error merging override "))
        reason = reason.replace("Cannot merge DictConfig with ListConfig", "keys stand there; set them one by one")
        if len(reason) > 400:  # the end says what is wrong with the value at the beginning
            reason = f"{reason[:200]}…{reason[-200:]}"
        named = any(reason.startswith(str(line)) for line in overrides)
        start = place or ("" if named else "the configuration cannot be composed: ")
        return f"{start}{reason}; correct it, or leave it out."

    def _repository(self) -> OptionFiles:
        return OptionFiles(self.repository)

    def _unknown_key(self, key: str, config_name: str | None, overrides: list[str], run_mode: RunMode) -> str:
        """Which part of `key` is unknown, with the closest name; `overrides` are those it was composed with."""
        choices = [one for one in parse(overrides) if is_choice(one)]
        lines = [one.input_line for one in choices if one.input_line is not None]
        config = OmegaConf.to_container(super().load_configuration(config_name, lines, run_mode), resolve=False)
        return unknown_key(config, key, self._repository().get_group_options)

    def _located(self, refusal: Refusal, overrides: list[str]) -> str:
        """The sentence of a refusal with the argument or the file it comes from."""
        key = ".".join(refusal.path)
        for override in reversed(parse(overrides)):
            own = override.key_or_group.replace("/", ".")
            if f"{key}.".startswith(f"{own}.") or f"{own}.".startswith(f"{key}."):
                if is_choice(override):
                    break  # its file is named below
                return f"{shown(override.input_line)}: {refusal.reason.rstrip('.')}."
        defaults, composed = self._composed_of
        repository = OptionFiles(composed.delegate)  # what was read before was merged and changed
        for default in reversed(defaults):
            if default.config_path is None or default.config_path == "hydra/config":
                continue
            loaded = self._load_single_config(default, repository)
            if _has(OmegaConf.to_container(loaded.config, resolve=False), refusal.path):
                return f"{option_file(loaded, default.config_path)}: {key}: {refusal.reason.rstrip('.')}."
        return f"{key}: {refusal.reason.rstrip('.')}."


def without_secrets(config: DictConfig) -> DictConfig:
    """A copy in which passwords are masked; for showing and saving, not for running."""
    copied = copy.deepcopy(config)
    with flag_override(copied, ["readonly", "struct"], False):
        _mask_in_place(copied, OmegaConf.to_container(copied, resolve=False))
    return copied


def _mask_in_place(node: Any, plain: Any) -> None:
    for key, value in plain.items() if isinstance(plain, dict) else enumerate(plain):
        if isinstance(value, dict | list):
            _mask_in_place(node._get_node(key), value)
        elif masked({key: value}) != {key: value}:
            node[key] = masked({key: value})[key]


def has_secret(config: DictConfig) -> bool:
    """Whether anything in the configuration would be masked."""
    plain = OmegaConf.to_container(config, resolve=False)
    return bool(masked(plain) != plain)


def _has(node: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        if isinstance(node, Mapping):
            found = {str(name): value for name, value in node.items()}
            if key not in found:
                return False
            node = found[key]
        elif isinstance(node, list) and key.isdigit() and int(key) < len(node):
            node = node[int(key)]
        else:
            return False
    return True


def _quoted(text: str, pattern: str) -> str | None:
    found = re.search(pattern, text)
    return found.group(1) if found else None
