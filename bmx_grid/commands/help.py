"""`--help`: of the whole tool, and of runs, made from the existing options and keys; 80 columns."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from bmx_grid.core.configure import CONFIGS, groups, options

OVERVIEW = """bmx-grid: does explaining a metric help it agree with human judgements?

usage: bmx-grid COMMAND ...          (also python -m bmx_grid COMMAND ...)

  run        a sweep: data sets x language pairs x metrics x explainers, scored
             and boosted over a p x w grid; may be left out (bmx-grid +sweep=A)
  score      translations in files: scores of segments and systems, with tests
  compare    columns of scores in a table: which agrees best with human ones
  analyse    finished sweeps: their conclusions, or several compared
  data       list, download, verify and show data sets, and read tables of yours

  bmx-grid COMMAND --help    what a command takes
  bmx-grid --version

exit status: 0 done; 1 something failed; 2 a mistake in the command; 130 Ctrl-C

examples:
  bmx-grid run +sweep=quickstart       part of the embedded sample: 30 seconds
  bmx-grid data show my.tsv            what is recognised in a table of yours"""
HEAD = """usage: bmx-grid run [+sweep=NAME] [KEY=VALUE ...]      (run may be left out)

Each setting (data set x language pair x metric x explainer) is scored and
boosted over a p x w grid; output_dir gets tables, figures and report.html.
The same command again computes only what is missing.

what to run: +sweep=NAME, dataset=[A,B], metric=[A,B], explainer=[A,B]"""
FLAGS = """
flags:
  --cfg job          print every key that can be set, and its value
  --config-dir DIR   options of your own: DIR/metric/mine.yaml is metric=[mine]
  --multirun, -m     one sweep per value (seed=1,2,3), and a table of them all

exit status: 0 done; 1 something failed; 2 a mistake in the command; 130 Ctrl-C

examples:
  bmx-grid run +sweep=quickstart metric=[chrf] explainer=[erasure]
  bmx-grid run dataset=[tabular] dataset.tabular.path=my.tsv metric=[chrf]"""
WIDTH = 80
NAMES_FROM = 13  # the column at which names of options begin
SEVERAL = ("sweep", "dataset", "metric", "explainer", "boost", "evaluation")  # a line each; of the others one option
KEYS_TO = 25  # the column at which keys with their defaults end
VARIABLE = re.compile(r"\$\{oc\.env:(\w+),(\w+)\}")
# key: default, then what it is for: how configs/config.yaml writes its top-level keys.
KEY = re.compile(r"^(\w+): (.*?)\s+# (.*)$", re.MULTILINE)


def help_text(folder: Path | None = None) -> str:
    """The help of runs; options in `folder` (--config-dir) are listed with those of bmx_grid."""
    names = {
        group: sorted({*options(group), *(options(group, folder) if folder is not None else [])}) for group in groups()
    }
    lines = [HEAD]
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
    return "\n".join(lines) + "\n" + FLAGS


def _plain(default: str) -> str:
    """A default as a person writes it: `${oc.env:BMX_DATA_DIR,data}` is `data`."""
    return VARIABLE.sub(r"\2", default).replace("${name}", "NAME")


def _wrapped(line: str, indent: int) -> list[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False)
