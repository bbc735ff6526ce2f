"""usage: bmx-grid completion bash|zsh

Print what makes the shell complete commands, flags, keys and names of options:
eval "$(bmx-grid completion bash)" is a line for ~/.bashrc, that of zsh for
~/.zshrc.

examples:
  bmx-grid completion bash >> ~/.bashrc
  bmx-grid completion zsh >> ~/.zshrc
"""

from __future__ import annotations

import io
import itertools
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout, suppress
from importlib import import_module
from typing import Any

from bmx_grid.api.user_files import GROUPS_OF_SEVERAL
from bmx_grid.commands import COMMANDS
from bmx_grid.commands.run import FLAGS, KEY_LINE
from bmx_grid.core.configure import CONFIGS, groups, load_option, options
from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.terminal import command

# Readline replaces what follows the last = or : of a word, unless a quote begins it.
SCRIPT = """\
_bmx_grid() {
  local line="${COMP_LINE:0:$COMP_POINT}" IFS=$'\\n'
  local word="${line##* }" kept=""
  if [[ $COMP_WORDBREAKS == *=* && $word != [\\'\\"]* ]]; then kept="${word%"${word##*[=:]}"}"; fi
  COMPREPLY=($(bmx-grid completion words "$line" 2>/dev/null))
  COMPREPLY=("${COMPREPLY[@]#"$kept"}")
}
complete -o default -o nospace -F _bmx_grid bmx-grid
"""
CHOICES = re.compile(r"(?:(--[a-z-]+) )?\{([\w,]+)\}")  # as argparse writes them
SHELLS = {"bash": SCRIPT, "zsh": f"autoload -U +X bashcompinit && bashcompinit\n{SCRIPT}"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the script of a shell, or (`words LINE`) the completions of a line; the exit status."""
    return command(lambda: _main(sys.argv[1:] if arguments is None else arguments))


def _main(arguments: Sequence[str]) -> int:
    name, *rest = arguments or [""]
    if name in ("", "--help", "-h"):
        print(str(__doc__).rstrip())
    elif name == "words" and len(rest) == 1:
        print("\n".join(completions(rest[0])))
    elif name in SHELLS and not rest:
        print(SHELLS[name], end="")
    else:
        raise ConfigError(unknown("shell", name, SHELLS))
    return 0 if name else 2


def completions(line: str) -> list[str]:
    """The words that the last one of a command line may become, sorted; what is complete ends in a space."""
    *before, last = line.split(" ")
    words = [word for word in before[1:] if word]
    word = last.lstrip("'\"")
    name = words[0] if words and words[0] in COMMANDS else "run"
    known = _of_run(word) if name == "run" else _of_command(name, words[-1])
    if not words:
        known += _complete(COMMANDS)
    return sorted({text for text in known if text.startswith(word)})


def _complete(words: Iterable[str]) -> list[str]:
    """Words after which another one begins."""
    return [f"{word} " for word in words]


def _of_run(word: str) -> list[str]:
    """Flags, groups and keys to their next dot; behind = the options of a group, or true and false."""
    key, has_value, value = word.partition("=")
    group = key.removeprefix("+")
    if not has_value:
        keys = [name for name, _, _ in KEY_LINE.findall(_main_config())]
        names = {*groups(), *keys}
        # A sweep is written +sweep=NAME.
        names.remove("sweep")
        starts = [f"{name}=" for name in names]
        return ["+sweep=", *starts, *_dotted(key), *_complete(FLAGS)]
    if group in GROUPS_OF_SEVERAL:
        chosen, comma, _ = value.removeprefix("[").rpartition(",")
        others = set(options(group)).difference(chosen.split(","))
        return [f"{key}=[{chosen}{comma}{name}" for name in others]
    if group in groups():
        values = options(group)
    elif isinstance(_default(key), bool):
        values = ["true", "false"]
    else:
        return []
    return _complete(f"{key}={name}" for name in values)


def _main_config() -> str:
    return (CONFIGS / "config.yaml").read_text("utf-8")


def _dotted(key: str) -> list[str]:
    """GROUP.OPTION. and GROUP.OPTION.KEY=; of a group of one option GROUP.KEY=."""
    group, *below = key.split(".")
    if not below or group not in groups() or group == "sweep":
        return []
    known = options(group)
    if group not in GROUPS_OF_SEVERAL:
        keys = [_keys_below(group, load_option(group, option)) for option in known]
        return list(itertools.chain.from_iterable(keys))
    if len(below) == 1:
        return [f"{group}.{option}." for option in known]
    option = below[0]
    if option not in known:
        return []
    return _keys_below(f"{group}.{option}", load_option(group, option))


def _keys_below(start: str, names: Iterable[str]) -> list[str]:
    return [f"{start}.{name}=" for name in names if name != "_target_"]


def _default(key: str) -> Any:
    """The value of an option's key, or of one at the top of the configuration; None where there is none."""
    import yaml

    group, *below = key.split(".")
    if not below:
        return yaml.safe_load(_main_config()).get(key)
    if len(below) == 2 and below[0] in options(group):
        return load_option(group, below[0]).get(below[1])
    return None


def _of_command(name: str, previous: str) -> list[str]:
    """The flags and keys that the help of a command names, or the values of the flag before."""
    shown = io.StringIO()
    with redirect_stdout(shown), suppress(SystemExit):
        import_module(COMMANDS[name]).main(["--help"])
    usage = shown.getvalue()
    group = previous.lstrip("-")
    if group in groups():
        return _complete(options(group))
    choices = {flag: values.split(",") for flag, values in CHOICES.findall(usage)}
    if previous in choices:
        return _complete(choices[previous])
    keys = re.findall(r"^  ([\w.]+=)", usage, re.MULTILINE)
    words = re.findall(r"(?<![\w-])--[a-z-]+", usage)
    # Choices of arguments without a flag.
    words += choices.get("", [])
    if name == "data":
        words += options("dataset")
    return keys + _complete(words)
