"""`--help`: of the whole tool, and of runs, made from the existing options and keys; 80 columns."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from bmx_grid.core.configure import CONFIGS, groups, options

WIDTH = 80
NAMES_FROM = 13  # the column at which names of options begin
SEVERAL = ("sweep", "dataset", "metric", "explainer", "boost", "evaluation")  # a line each; of the others one option
KEYS_TO = 25  # the column at which keys with their defaults end
VARIABLE = re.compile(r"\$\{oc\.env:(\w+),(\w+)\}")
# key: default, then what it is for: how configs/config.yaml writes its top-level keys.
KEY = re.compile(r"^(\w+): (.*?)\s+# (.*)$", re.MULTILINE)


def help_text(doc: str, folder: Path | None = None) -> str:
    """The help of runs; options in `folder` (--config-dir) are listed with those of bmx_grid.

    doc: what is said before and after the options and keys; the flags come after.
    """
    head, flags = doc.rstrip().split("\n\nflags:\n")
    names = {
        group: sorted({*options(group), *(options(group, folder) if folder is not None else [])}) for group in groups()
    }
    lines = [head]
    for group in SEVERAL:
        lines += _wrapped(f"  {group:<11}{', '.join(names.pop(group))}", NAMES_FROM)
    each = ", ".join(f"{group}={'|'.join(found)}" for group, found in names.items())
    lines += _wrapped(f"  {'one each':<11}{each}", NAMES_FROM)
    lines += ["", "keys, with their defaults:"]
    for key, default, meaning in KEY.findall((CONFIGS / "config.yaml").read_text(encoding="utf-8")):
        shown = f"  {key}={_plain(default)}"
        variable = VARIABLE.search(default)
        also = f"; or ${variable[1]}" if variable else ""
        lines += _wrapped(f"{shown:<{KEYS_TO}}  {meaning}{also}", KEYS_TO + 2)
    lines += _wrapped("  and those below a group: grid.correlation=kendall, explainer.lime.num_samples=500", 2)
    return "\n".join([*lines, "", "flags:", flags])


def _plain(default: str) -> str:
    """A default as a person writes it: `${oc.env:BMX_DATA_DIR,data}` is `data`."""
    return VARIABLE.sub(r"\2", default).replace("${name}", "NAME")


def _wrapped(line: str, indent: int) -> list[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False)
