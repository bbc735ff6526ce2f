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
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from importlib import import_module
from typing import Any

from bmx_grid.api.compose import GROUPS_OF_SEVERAL
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
    known = [f"{flag} " for flag in FLAGS] + _of_run(word) if name == "run" else _of_command(name, words[-1])
    if not words:
        known += [f"{command} " for command in COMMANDS]
    return sorted({text for text in known if text.startswith(word)})


def _of_run(word: str) -> list[str]:
    """Groups and keys to their next dot, and the values of groups and of true or false."""
    key, has_value, value = word.partition("=")
    group = key.removeprefix("+")
    if not has_value:
        top = [*groups(), *(found[0] for found in KEY_LINE.findall((CONFIGS / "config.yaml").read_text("utf-8")))]
        return [f"+{name}=" if name == "sweep" else f"{name}=" for name in top] + _dotted(key)
    if group in GROUPS_OF_SEVERAL:
        *chosen, _ = value.removeprefix("[").split(",")
        start = f"{key}=[" + "".join(f"{name}," for name in chosen)
        return [f"{start}{name}" for name in options(group) if name not in chosen]
    if group in groups():
        return [f"{key}={name} " for name in options(group)]
    return [f"{key}=true ", f"{key}=false "] if isinstance(_default(key), bool) else []


def _dotted(key: str) -> list[str]:
    """GROUP.OPTION. and GROUP.OPTION.KEY=; of a group of one option GROUP.KEY=."""
    group, *below = key.split(".")
    if not below or group not in groups() or group == "sweep":
        return []
    if group not in GROUPS_OF_SEVERAL:
        names = set().union(*(load_option(group, option) for option in options(group)))
        return [f"{group}.{name}=" for name in names if name != "_target_"]
    if len(below) == 1:
        return [f"{group}.{option}." for option in options(group)]
    if below[0] not in options(group):
        return []
    return [f"{group}.{below[0]}.{name}=" for name in load_option(group, below[0]) if name != "_target_"]


def _default(key: str) -> Any:
    """The value of an option's key, or of one at the top of the configuration; None where there is none."""
    import yaml

    group, *below = key.split(".")
    if not below:
        return yaml.safe_load((CONFIGS / "config.yaml").read_text("utf-8")).get(key)
    if len(below) == 2 and below[0] in options(group):
        return load_option(group, below[0]).get(below[1])
    return None


def _of_command(name: str, previous: str) -> list[str]:
    """The flags and keys that the help of a command names, or the values of the flag before."""
    held = io.StringIO()
    with redirect_stdout(held), suppress(SystemExit):
        import_module(COMMANDS[name]).main(["--help"])
    choices = {flag: values.split(",") for flag, values in CHOICES.findall(held.getvalue())}
    if previous.lstrip("-") in groups():
        return [f"{option} " for option in options(previous.lstrip("-"))]
    if previous in choices:
        return [f"{value} " for value in choices[previous]]
    keys = re.findall(r"^  ([\w.]+=)", held.getvalue(), re.MULTILINE)
    flags = [f"{flag} " for flag in re.findall(r"(?<![\w-])--[a-z-]+", held.getvalue())]
    positional = [f"{value} " for value in choices.get("", ())]
    named = [f"{option} " for option in options("dataset")] if name == "data" else []
    return [*keys, *flags, *positional, *named]
