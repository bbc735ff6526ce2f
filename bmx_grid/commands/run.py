"""usage: bmx-grid run [+sweep=NAME] [KEY=VALUE ...]      (run may be left out)

Each setting (data set x language pair x metric x explainer) is scored and
boosted over a p x w grid; output_dir gets tables, figures and report.html.
The same command again computes only what is missing.

what to run: +sweep=NAME, dataset=[A,B], metric=[A,B], explainer=[A,B]

flags:
  --cfg job          print every key that can be set, and its value
  --config-dir DIR   options of your own: DIR/metric/mine.yaml is metric=[mine]
  --multirun, -m     one sweep per value (seed=1,2,3), and a table of them all

exit status: 0 done; 1 something failed; 2 a mistake in the command; 130 Ctrl-C

examples:
  bmx-grid run +sweep=quickstart metric=[chrf] explainer=[erasure]
  bmx-grid run dataset=[tabular] dataset.tabular.path=my.tsv metric=[chrf]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from bmx_grid.commands.compose import composed, naming_files, options_folder
from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.masking import masked, masked_address
from bmx_grid.core.terminal import RESUMES, command

# Hydra is imported inside functions, so that Ctrl-C is handled before anything else.
FLAGS = ("--help", "--cfg", "--config-dir", "--multirun")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message}; `bmx-grid run --help` lists what can be given.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status: 1 when something failed, 2 for a mistake, 130 after Ctrl-C."""
    return command(lambda: compose_and_run(sys.argv[1:] if arguments is None else arguments), RESUMES)


def compose_and_run(arguments: Sequence[str]) -> int:
    """Do what the arguments say; the exit status. Raises BmxError for every mistake in them."""
    parsed = _parsed(arguments)
    folder = None if parsed.config_dir is None else options_folder(parsed.config_dir)
    if parsed.help:
        from bmx_grid.commands.help import help_text

        print(help_text(str(__doc__), folder))
        return 0
    if parsed.multirun:
        from bmx_grid.commands.multirun import run_several

        return run_several(parsed.overrides, folder)
    with naming_files(parsed.overrides, folder):
        config = composed(parsed.overrides, folder)
        if parsed.cfg:
            import yaml

            print(masked_address(yaml.safe_dump(masked(config), sort_keys=False, allow_unicode=True)), end="")
            return 0
        from bmx_grid.commands.sweep import run

        return 1 if run(config) else 0


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The flags and the overrides. Raises ConfigError for flags that do not exist, or not together."""
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--help", "-h", action="store_true")
    parser.add_argument("--cfg", "-c", choices=["job"])
    parser.add_argument("--config-dir", "-cd")
    parser.add_argument("--multirun", "-m", action="store_true")
    parser.add_argument("overrides", nargs="*")
    parsed, others = parser.parse_known_intermixed_args(list(arguments))
    for flag in others:
        raise ConfigError(f"{unknown('option', flag.partition('=')[0], FLAGS)} Keys have no dashes: KEY=VALUE.")
    if parsed.multirun and parsed.cfg:
        raise ConfigError("--multirun and --cfg exclude each other; choose one.")
    return parsed


if __name__ == "__main__":
    sys.exit(main())
