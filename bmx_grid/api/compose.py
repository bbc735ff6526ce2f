"""A sweep's configuration: Hydra composes the chosen options and each KEY=VALUE; unknown names are refused."""

from __future__ import annotations

import copy
import io
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.core.configure import CONFIGS, folder_path, groups, installed_options, load_option, options, way_to_option
from bmx_grid.core.errors import ConfigError, StoreError, unknown
from bmx_grid.core.secrets import masked_address, masked_argument
from bmx_grid.core.servers import check_servers_of_files
from bmx_grid.core.storage import read_file
from bmx_grid.core.wording import shortened

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

GROUPS_OF_SEVERAL = (
    "dataset",
    "metric",
    "explainer",
    "boost",
    "evaluation",
)  # groups of which several options can be chosen
WHOLE_GROUPS = ("sweep", "tasks")  # groups whose options set keys of all others
POWERS = "grid.p"  # a range, or a list
# The limits of a user's option file: a few aliases make one of any size.
OPTION_BYTES = 1_000_000
MOST_DEPTH = 100
# Plain values that YAML 1.1 reads otherwise than a person: as octal, in base 60, as true and false.
UNLIKE_A_PERSON = re.compile(r"[-+]?0[0-9_]+|[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?|(?i:yes|no|on|off)")
OPTION = re.compile(r"(?!.*\.\.)[^/\\@${}]*")  # of its name: Hydra would follow a path to any YAML file of this machine
CHOICE = re.compile(r"(?:(?:override|optional) +)*/?(\w+)")  # the group that an entry of `defaults` chooses in
# A reference to another key; with a colon it calls a resolver, such as oc.env.
KEY_REFERENCE = re.compile(r"\$\{[^${}:]+\}")


def composed(
    lines: Sequence[str], folder: str | Path | None = None, values: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The configuration of a sweep as these overrides compose it, checked, with values in place of ${…}.

    folder: options of the user's own, as --config-dir names them. values: further keys, set after the overrides.
    Hydra's state is as before. Raises ConfigError.
    """
    place = None if folder is None else options_folder(str(folder))
    overrides = [parse_one(line) for line in lines]
    for override in overrides:
        check_references(override.value(), shown_argument(override.input_line or ""))
        if re.split(r"[./]", override.key_or_group)[0] == "hydra":
            raise ConfigError(
                f"{shown_argument(override.input_line or '')}: Hydra itself is not configured here; leave it out."
            )
        if override.key_or_group in groups():
            _check_names(override.key_or_group, override.value(), place)
    check_references(values, "settings")
    config = _by_hydra(overrides, place, values or {})
    _check(config, place)
    config = _resolved(config)
    keys_of_user = set[str]()
    for override in overrides:
        keys_of_user.update(_leaves(override.key_or_group, override.value()))
    for key, value in (values or {}).items():
        keys_of_user.update(_leaves(key, value))
    check_servers_of_files(config, keys_of_user)
    return config


def _leaves(key: str, value: Any) -> Iterator[str]:
    """The keys of the plain values in a value: mappings of the command line are merged into those of files."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(f"{key}.{name}", inner)
    else:
        yield key


def options_folder(name: str) -> Path:
    """The folder of the user's own options. Raises ConfigError if there is none, or if an option would be ignored."""
    folder = folder_path(name, "--config-dir")
    if not folder.is_dir():
        raise ConfigError(f"--config-dir {name}: there is no such folder (looked at {folder.absolute()}); name yours.")
    for group, option, file in _user_files(folder):
        if option in options(group):
            raise ConfigError(f"{file}: {group}={option} is there already; give yours another name.")
    return folder.absolute()


def option_names(group: str, folder: Path | None) -> list[str]:
    """The options of a group, those in the user's folder among them."""
    return sorted({*options(group), *(options(group, folder) if folder is not None else ())})


@contextmanager
def naming_files(lines: Sequence[str], folder: Path | None) -> Iterator[None]:
    """Mistakes of this block that begin with a key, begin with the user's file that sets it; lines: overrides."""
    try:
        yield
    except (ConfigError, StoreError) as error:
        key = re.split(r"[: ]", str(error))[0]
        file = _file_that_sets(key, lines, folder)
        if file is None:
            raise
        raise type(error)(f"{file}: {error}") from error


def _file_that_sets(key: str, lines: Sequence[str], folder: Path | None) -> Path | None:
    """The user's file behind a key; None where an override sets it, or none of the chosen options does."""
    if any(line.lstrip("+~").partition("=")[0] == key for line in lines):
        return None
    # An option counts as chosen if any word of the overrides is its name, or any part of the key.
    chosen = {*re.findall(r"[\w-]+", " ".join(lines)), *key.split(".")}
    for group, name, file in _user_files(folder):
        if name not in chosen:
            continue
        keys = _option(group, name, file)
        # Options of most groups set what is below the group's name.
        whole = keys if group in WHOLE_GROUPS else {group: keys}
        if _holds(whole, key.split(".")):
            return file
    return None


def _holds(node: Any, key: Sequence[str]) -> bool:
    return not key or (isinstance(node, Mapping) and key[0] in node and _holds(node[key[0]], key[1:]))


def _user_files(folder: Path | None) -> Iterator[tuple[str, str, Path]]:
    """The group, the name and the file of each of the user's own options."""
    if folder is None:
        return
    for group in groups():
        for file in sorted((folder / group).glob("*.yaml")):  # other folders may vanish meanwhile, as those of /proc
            yield group, file.stem, file


def _option(group: str, name: str, file: Path) -> dict[str, Any]:
    """The keys of a user's option, which may neither configure Hydra nor read the environment. Raises ConfigError."""
    import yaml

    try:
        keys = _plain_yaml(file)
    except (yaml.YAMLError, OSError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read: {' '.join(str(error).split())[:300]}; correct it.") from error
    if not isinstance(keys, dict) or not isinstance(keys.get("defaults", []), list):
        raise ConfigError(f"{file}: expected 'KEY: VALUE' lines, and defaults as '- override /metric: [chrf]'.")
    if group in WHOLE_GROUPS and not keys:
        way_out = "write what to run, as defaults: [override /metric: [chrf]]"
        raise ConfigError(f"{file}: it is empty, and would be the default sweep; {way_out}.")
    if "hydra" in keys or any("hydra" in str(entry) for entry in keys.get("defaults", [])):
        raise ConfigError(f"{file}: hydra: files of options cannot configure Hydra; leave it out.")
    if group in WHOLE_GROUPS and isinstance(keys.get("grid"), dict) and isinstance(keys["grid"].get("p"), list):
        raise ConfigError(
            f"{file}: {POWERS}: a list cannot replace a range in a file; write {POWERS}=[…] as an argument."
        )
    check_references(keys, str(file))
    for entry in keys.get("defaults", []):
        _check_choice(group, entry, file)
    if group in GROUPS_OF_SEVERAL and (not keys or not {*keys} <= {name, "defaults"}):
        raise ConfigError(f"{file}: an option's settings belong below its file's name, '{name}:'; write them there.")
    return {str(key): value for key, value in keys.items()}


def _plain_yaml(file: Path) -> Any:
    """What a file of the user's holds, ${…} as it is written.

    Raises YAMLError, OSError, and ValueError in the words of the message for a file that is too large or too deep, has
    aliases, or a value that YAML reads otherwise than a person.
    """
    import yaml
    from omegaconf import OmegaConf

    if file.stat().st_size > OPTION_BYTES:
        raise ValueError(f"it is larger than {OPTION_BYTES:,} bytes")
    text = read_file(file).decode("utf-8-sig")
    depth = 0
    events: Any = yaml.parse(text)
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > MOST_DEPTH:
            raise ValueError(f"aliases (*NAME), and more than {MOST_DEPTH} levels, are not read")
        plain = isinstance(event, yaml.ScalarEvent) and event.implicit[0]
        if plain and UNLIKE_A_PERSON.fullmatch(event.value):
            raise ValueError(
                f"line {event.start_mark.line + 1}: YAML reads {event.value} as something else; write a number in "
                f"plain digits without leading zeros, true or false, or '{event.value}' for the text"
            )
    return OmegaConf.to_container(OmegaConf.load(io.StringIO(text)), resolve=False)


def _check_choice(group: str, entry: Any, file: Path) -> None:
    """Refuse an entry of a user's `defaults` that names anything but options. Raises ConfigError."""
    if isinstance(entry, str):  # another option of the same group, or _self_
        entry = {group: entry}
    for choice, names in entry.items() if isinstance(entry, Mapping) else ():
        chosen = CHOICE.fullmatch(str(choice))
        if chosen is None or chosen[1] not in groups():
            way_out = "Write '- override /metric: [chrf]'."
            raise ConfigError(f"{file}: defaults: {unknown('group', choice, groups())} {way_out}")
        try:
            _check_names(chosen[1], names, file.parents[1])
        except ConfigError as error:
            raise ConfigError(f"{file}: {error}") from error


def _check_names(group: str, names: Any, folder: Path | None) -> None:
    """Refuse names of options that are paths; whether they exist is Hydra's to say. Raises ConfigError."""
    for name in names if isinstance(names, list) else [names]:
        if not OPTION.fullmatch(str(name)):
            raise ConfigError(unknown(group, name, option_names(group, folder)))


def check_references(value: Any, where: str) -> None:
    """Refuse ${…} that reads anything but keys of the configuration. Raises ConfigError."""
    if isinstance(value, Mapping | list | tuple):
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            check_references(inner, f"{where}: {key}" if ":" not in where else f"{where}.{key}")
    elif isinstance(value, str) and "${" in KEY_REFERENCE.sub("", value):
        raise ConfigError(
            f"{where}: {value[:60]!r} may refer to keys, as ${{data_dir}}, and to nothing else; write a key or a value."
        )


def parse(line: str) -> Override:
    """An override as Hydra understands it. Raises ConfigError."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    if line.endswith("=,"):  # as in decimal=,: Hydra looks for values before and after a comma
        line = f"{line[:-1]}','"
    try:
        override: Override = OverridesParser.create().parse_override(line)
    except (HydraException, ValueError, RecursionError) as error:
        way_out = "quote a value with special characters: KEY='\"VALUE\"'"
        if "=" not in line:
            way_out = "write KEY=VALUE, a sweep as +sweep=NAME"
        raise ConfigError(f"{shown_argument(line)} cannot be read as KEY=VALUE; {way_out}.") from error
    return override


def parse_one(line: str) -> Override:
    """`parse`, of one value. Raises ConfigError for several."""
    override = parse(line)
    if override.is_sweep_override():
        key, _, text = masked_argument(line).partition("=")
        raise ConfigError(
            f"{shown_argument(line)}: several values; write {key}=[{text}] for a list, or add --multirun."
        )
    return override


def shown_argument(line: str) -> str:
    """An argument as messages show it: without passwords, and shortened."""
    return repr(shortened(masked_argument(line), 100))


def _by_hydra(overrides: Sequence[Override], folder: Path | None, values: Mapping[str, Any]) -> dict[str, Any]:
    """What Hydra composes, as plain values with ${…} as it is written. Raises ConfigError."""
    from hydra import compose
    from hydra.errors import MissingConfigException
    from omegaconf import OmegaConf

    try:
        with _hydra(folder):
            tree = compose("config", overrides=list(itertools.chain.from_iterable(map(_lines, overrides))))
        for key, value in values.items():
            OmegaConf.update(tree, key, value, merge=isinstance(value, Mapping), force_add=True)
        config: Any = OmegaConf.to_container(tree)
    except MissingConfigException as error:
        group, _, name = str(error.missing_cfg_file).rpartition("/")
        if folder is not None and name in options(group, folder):
            _option(group, name, folder / group / f"{name}.yaml")  # raises for what is wrong with it
        there_is_none = unknown(group, name, option_names(group, folder)) + way_to_option(group, name)
        raise ConfigError(_of_sweep(overrides, folder) + there_is_none) from error
    # Hydra and OmegaConf raise a dozen unrelated types here (AttributeError and TypeError among them) for what a
    # user wrote, and nothing but their own code runs: each is a mistake in the configuration, shown as one.
    except Exception as error:
        which = ", ".join(shown_argument(override.input_line or "") for override in overrides) or "the options"
        reason = f"{which} cannot be composed: {_reason(error)}; correct them, or leave them out."
        raise ConfigError(_of_sweep(overrides, folder) + reason) from error
    chosen: dict[str, Any] = {override.key_or_group: override.value() for override in overrides}
    named = {".".join(key.split(".")[:2]) for key in (*chosen, *values)}
    # A sweep's settings for options that the command line replaced are left out.
    for group in chosen.keys() & set(GROUPS_OF_SEVERAL):
        for name in {*(config.get(group) or {})} & {*option_names(group, folder)} - {*(chosen[group] or ())}:
            if "_target_" not in config[group][name] and f"{group}.{name}" not in named:
                del config[group][name]
    return {str(key): value for key, value in config.items()}


def _lines(override: Override) -> Iterator[str]:
    """An override in which options of a group are chosen, and keys are set whether they are there or not."""
    line = override.input_line or ""
    key = override.key_or_group
    if override.is_delete():
        yield line
        return
    if key == POWERS and isinstance(override.value(), list):
        yield f"~{POWERS}"  # Hydra cannot put a list where a range was
    sign = "+" if key in WHOLE_GROUPS else "" if key in groups() else "++"
    yield f"{sign}{line.lstrip('+')}"


@contextmanager
def _hydra(folder: Path | None) -> Iterator[None]:
    """Hydra composes from our options and those in the user's folder in this block; its state is then as before."""
    from hydra import initialize_config_dir
    from hydra.core.config_store import ConfigStore
    from hydra.core.global_hydra import GlobalHydra

    hydra = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(CONFIGS), version_base="1.3"):
            store = ConfigStore.instance()
            repo = store.repo
            store.repo = copy.deepcopy(store.repo)
            try:
                of_packages = [(group, name, file) for (group, name), file in installed_options().items()]
                for group, name, file in [*of_packages, *_user_files(folder)]:
                    with suppress(ConfigError):  # raised where this option is chosen
                        package = "_global_" if group in WHOLE_GROUPS else None
                        store.store(name, _option(group, name, file), group, package)
                yield
            finally:
                store.repo = repo
    finally:
        GlobalHydra.instance().hydra = hydra  # another instance by now


def _of_sweep(overrides: Sequence[Override], folder: Path | None) -> str:
    """The beginning of a message on what a user's sweep chooses: its file."""
    chosen = [(override.key_or_group, override.value()) for override in overrides]
    files = [
        f"{file}: " for group, name, file in _user_files(folder) if group in WHOLE_GROUPS and (group, name) in chosen
    ]
    return files[0] if files else ""


def _check(config: Mapping[str, Any], folder: Path | None) -> None:
    """Raise ConfigError, beginning with the key, for an unknown one; those of components are checked as they are built.

    config: plain values, ${…} as it is written.
    """
    text = (CONFIGS / "config.yaml").read_text(encoding="utf-8")
    keys = {*re.findall(r"^(\w+):", text, re.MULTILINE)} - {"defaults"}
    _check_keys(config, {*keys, *groups()} - {*WHOLE_GROUPS}, "")
    for key in sorted({*keys, "grid"} - config.keys()):
        raise ConfigError(f"{key}: the key is missing if it is deleted; write {key}=VALUE.")
    for group in GROUPS_OF_SEVERAL:
        node = config.get(group)
        for name, option in node.items() if isinstance(node, Mapping) else ():
            if isinstance(option, Mapping) and "_target_" not in option and name in options(group):
                raise ConfigError(f"{group}.{name}: {name} is not chosen; choose it: {group}=[{name}].")
    grid = config["grid"]
    if isinstance(grid, Mapping):
        _check_keys(grid, load_option("grid", "paper"), "grid.")
        explainers = {*option_names("explainer", folder), *(config.get("explainer") or {})}
        if isinstance(grid.get("fixed"), Mapping):
            _check_keys(grid["fixed"], explainers, "grid.fixed.", "explainer")


def _check_keys(node: Mapping[str, Any], known: Any, above: str, kind: str = "key") -> None:
    for key in node:
        if key not in known:
            raise ConfigError(f"{above}{key}: {unknown(kind, str(key), known)}")


def _resolved(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with values in place of ${…}. Raises ConfigError."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        plain: Any = OmegaConf.to_container(OmegaConf.create(dict(config)), resolve=True)
    except (OmegaConfBaseException, RecursionError) as error:
        key = getattr(error, "full_key", None) or "the configuration"
        absent = re.search(r"Interpolation key '((\w+)\.([^.']+)[^']*)' not found", str(error))
        if absent is not None and absent[2] in GROUPS_OF_SEVERAL:
            raise ConfigError(
                f"{key}: it is that of {absent[1]}, and the {absent[2]} '{absent[3]}' is not chosen; choose it, too, "
                f"write {key}=VALUE, or leave out what needs it."
            ) from error
        raise ConfigError(f"{key}: it cannot be resolved: {_reason(error)}; write a value in its place.") from error
    return {str(key): value for key, value in plain.items()}


def _reason(error: BaseException) -> str:
    """The first line of what Hydra or OmegaConf says."""
    if isinstance(error, RecursionError):
        return "keys or files refer to each other in a circle, or are nested too deeply"
    text = str(error.__cause__ or error)
    return masked_address(text.split("\n")[0][:300].strip().rstrip(".")) or type(error).__name__
