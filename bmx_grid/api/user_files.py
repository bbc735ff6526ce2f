"""Options that a user keeps in a folder of YAML files: which there are, and whether they may be read."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bmx_grid.core.configure import folder_path, groups, options
from bmx_grid.core.errors import ConfigError, StoreError
from bmx_grid.core.storage import is_folder, read_file

POWERS = "grid.p"  # a range, or a list
# Groups with several options at once.
GROUPS_OF_SEVERAL = ("dataset", "metric", "explainer", "boost", "evaluation")
WHOLE_GROUPS = ("sweep", "tasks")  # groups whose options set keys of all others
PRIMARY = ""  # the group of a file that replaces config.yaml
Folder = Path | None  # of the user's own options
# The limits of a user's option file: a few aliases make one of any size.
OPTION_BYTES = 1_000_000
MOST_DEPTH = 100
# Plain values that YAML 1.1 reads otherwise than a person: as octal, in base 60, as true and false.
UNLIKE_A_PERSON = re.compile(r"[-+]?0[0-9_]+|[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?|(?i:yes|no|on|off)")
# A reference to another key; with a colon it calls a resolver, such as oc.env.
KEY_REFERENCE = re.compile(r"\$\{[^${}:]+\}")


def options_folder(name: str) -> Path:
    """The folder of the user's own options. Raises ConfigError if it is missing, or Hydra ignores an option."""
    folder = folder_path(name, "--config-dir")
    if not is_folder(folder):
        raise ConfigError(f"--config-dir {name}: folder not found ({folder.absolute()}); name yours.")
    for group, option, file in user_files_of(folder):
        if option in options(group):
            raise ConfigError(f"{file}: {group}={option} exists already; give yours another name.")
    return folder.absolute()


def option_names(group: str, folder: Folder) -> list[str]:
    """The options of a group, those in the user's folder among them."""
    names = {*options(group)}
    if folder is not None:
        names.update(options(group, folder))
    return sorted(names)


@contextmanager
def naming_files(lines: Sequence[str], folder: Folder) -> Iterator[None]:
    """Mistakes of this block that begin with a key, begin with the user's file that sets it; lines: overrides."""
    try:
        yield
    except (ConfigError, StoreError) as error:
        key = re.split(r"[: ]", str(error))[0]
        file = _file_that_sets(key, lines, folder)
        if file is None:
            raise
        raise type(error)(f"{file}: {error}") from error


def _file_that_sets(key: str, lines: Sequence[str], folder: Folder) -> Path | None:
    """The user's file behind a key; None if an override sets it, or none of the chosen options does."""
    for line in lines:
        key_of_line, _, _ = line.lstrip("+~").partition("=")
        if key_of_line == key:
            return None
    parts = key.split(".")
    # An option counts as chosen if any word of the overrides is its name, or any part of the key.
    chosen = {*re.findall(r"[\w-]+", " ".join(lines)), *parts}
    for group, name, file in user_files_of(folder):
        if name not in chosen:
            continue
        keys = user_option(group, name, file)
        # Options of most groups set keys below the group's name.
        whole = keys if group in WHOLE_GROUPS else {group: keys}
        if _holds(whole, parts):
            return file
    return None


def _holds(node: Any, parts: Sequence[str]) -> bool:
    """Whether nested mappings have a key, whose parts these are."""
    for part in parts:
        if not isinstance(node, Mapping) or part not in node:
            return False
        node = node[part]
    return True


def user_files_of(folder: Folder) -> Iterator[tuple[str, str, Path]]:
    """The group, name and file of all options of the user."""
    if folder is None:
        return
    for group in groups():
        # Only in folders of groups: others may vanish meanwhile, as those of /proc.
        for file in sorted((folder / group).glob("*.yaml")):
            yield group, file.stem, file


def user_option(group: str, name: str, file: Path) -> dict[str, Any]:
    """The keys of a user's option, which may neither configure Hydra nor read the environment. Raises ConfigError."""
    import yaml

    try:
        keys = _plain_yaml(file)
    except (yaml.YAMLError, OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:300]
        raise ConfigError(f"{file} cannot be read: {reason}; correct it.") from error
    defaults = keys.get("defaults", []) if isinstance(keys, dict) else None
    if not isinstance(defaults, list):
        raise ConfigError(f"{file}: expected 'KEY: VALUE' lines, and defaults as '- override /metric: [chrf]'.")
    names_hydra = any("hydra" in str(entry) for entry in defaults)
    if "hydra" in keys or names_hydra:
        raise ConfigError(f"{file}: hydra: files of options cannot configure Hydra; leave it out.")
    if group in WHOLE_GROUPS:
        _check_whole(keys, file)
    check_references(keys, str(file))
    is_below_its_name = bool(keys) and set(keys) <= {name, "defaults"}
    if group in GROUPS_OF_SEVERAL and not is_below_its_name:
        raise ConfigError(f"{file}: an option's settings belong below its file's name; write them below '{name}:'.")
    return {str(key): value for key, value in keys.items()}


def _check_whole(keys: Mapping[str, Any], file: Path) -> None:
    """Refuse an empty sweep, and powers that Hydra cannot compose. Raises ConfigError."""
    if not keys:
        way_out = "write what to run, as defaults: [override /metric: [chrf]]"
        raise ConfigError(f"{file}: it is empty, and would be the default sweep; {way_out}.")
    grid = keys.get("grid")
    if isinstance(grid, dict) and isinstance(grid.get("p"), list):
        way_out = f"write {POWERS}=[…] as an argument"
        raise ConfigError(f"{file}: {POWERS}: a list cannot replace a range in a file; {way_out}.")


def _plain_yaml(file: Path) -> Any:
    """Read a user's file, ${…} as it is written.

    Raises YAMLError, OSError, and ValueError with a finished message: a file too large or too deep, with aliases, or
    with a value that YAML reads otherwise than a person.
    """
    import yaml
    from omegaconf import OmegaConf

    if file.stat().st_size > OPTION_BYTES:
        raise ValueError(f"it is larger than {OPTION_BYTES:,} bytes")
    text = read_file(file).decode("utf-8-sig")
    depth = 0
    events: Any = yaml.parse(text)
    # Events, as loading builds what aliases represent.
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > MOST_DEPTH:
            raise ValueError(f"aliases (*NAME), and more than {MOST_DEPTH} levels, are not read")
        plain = isinstance(event, yaml.ScalarEvent) and event.implicit[0]
        if plain and UNLIKE_A_PERSON.fullmatch(event.value):
            line = event.start_mark.line + 1
            raise ValueError(
                f"line {line}: YAML reads {event.value} as something else; write a number in "
                f"plain digits without leading zeros, true or false, or '{event.value}' for the text"
            )
    return OmegaConf.to_container(OmegaConf.load(io.StringIO(text)), resolve=False)


def check_references(value: Any, where: str) -> None:
    """Refuse ${…} that reads anything but keys of the configuration. Raises ConfigError."""
    if isinstance(value, Mapping | list | tuple):
        # The first key follows a colon, those below it a dot.
        separator = "." if ":" in where else ": "
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            check_references(inner, f"{where}{separator}{key}")
    elif isinstance(value, str) and "${" in KEY_REFERENCE.sub("", value):
        raise ConfigError(
            f"{where}: {value[:60]!r} may refer to keys, as ${{data_dir}}, and to nothing else; write a key or a value."
        )
