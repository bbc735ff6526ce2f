"""usage: bmx-grid check PART ... [KEY=VALUE ...] [--config-dir DIR]

Test your own metric, explainer or data set on short texts against the contract
of its group, such as equal scores at every batch size. The built-in parts pass
the same tests. Nothing is written or cached.

  PART                  the name of an option, metric=NAME, explainer=NAME or
                        dataset=NAME, or the class itself: mypkg.mine.Metric
  KEY=VALUE             its setting: metric.mine.lowercase=false; for data
                        sets also data_dir=DIR
  --config-dir DIR      options of your own: DIR/metric/mine.yaml is mine

Set the environment variable BMX_ALLOWED_PACKAGES to the package of your code.

exit status: 0 all tests pass; 1 a test fails; 2 a mistake in the command

examples:
  bmx-grid check chrf
  bmx-grid check mine --config-dir conf
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bmx_grid.api.compose import compose_config, parse_one
from bmx_grid.api.user_files import Folder, naming_files, option_names, options_folder
from bmx_grid.attribution.contracts import fit_metric
from bmx_grid.attribution.promises import OF_EXPLAINERS, OF_METRICS, short_segments
from bmx_grid.core.configure import build, class_of, convert
from bmx_grid.core.errors import BmxError, ConfigError, close_match, component_errors, unknown
from bmx_grid.core.identity import Component
from bmx_grid.core.terminal import command, say
from bmx_grid.core.wording import pluralize
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.reader_promises import OF_DATASETS
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics.base import Metric

CHECKED_KINDS: Mapping[str, type[Component]] = {"metric": Metric, "explainer": Explainer, "dataset": DatasetReader}


class Trial(NamedTuple):
    """A promise in words, and the trial of it: why it is not made, or "" if it is kept. Raises BmxError if broken."""

    promise: str
    run: Callable[[], str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status (see above)."""
    return command(lambda: _main(sys.argv[1:] if arguments is None else arguments))


def _main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--help", "-h", action="store_true")
    parser.add_argument("--config-dir", "-cd")
    parser.add_argument("words", nargs="*")
    try:
        parsed, others = parser.parse_known_intermixed_args(list(arguments))
    except argparse.ArgumentError as error:
        raise ConfigError(f"{error}; `bmx-grid check --help` lists the arguments.") from error
    for flag in others:
        raise ConfigError(unknown("option", flag.partition("=")[0], ["--help", "--config-dir"]))
    if parsed.help or not arguments:
        print(str(__doc__).rstrip())
        return 0 if parsed.help else 2
    folder = None if parsed.config_dir is None else options_folder(parsed.config_dir)
    parts = []
    settings = []
    for word in parsed.words:
        key, equals, _ = word.partition("=")
        if not equals or key in CHECKED_KINDS:
            parts.append(word)
        else:
            settings.append(word)
    if not parts:
        raise ConfigError("PART is missing: name an option, as metric=NAME, or a class, as mypkg.mine.Metric.")
    n_broken = 0
    for part in parts:
        for group, name, node, data_dir in _find_options(part, settings, folder):
            n_broken += _count_failures(group, name, node, data_dir)
    if n_broken:
        say(f"{pluralize(n_broken, 'test')} failed")
    return 1 if n_broken else 0


def _find_options(part: str, settings: Sequence[str], folder: Folder) -> Iterator[tuple[str, str, Any, Path]]:
    """The group, the name and the node of each option that an argument names, and the folder of data."""
    group, equals, _ = part.partition("=")
    if equals:
        value = parse_one(part).value()
        names = list(convert(value if isinstance(value, list) else [value], tuple[str, ...], group))
        if not any(names):
            raise ConfigError(f"{part}: the name of an option is missing; write {group}=NAME.")
    elif "." in part:
        group, node = _option_of_class(part)
        config = compose_config(settings, folder)
        yield group, part, node, Path(config["data_dir"])
        return
    else:
        groups = [group for group in CHECKED_KINDS if part in option_names(group, folder)]
        if len(groups) > 1:
            ways = " or ".join(f"{group}={part}" for group in groups)
            raise ConfigError(f"{part}: there are several options of this name; write {ways}.")
        if not groups:
            known = [name for group in CHECKED_KINDS for name in option_names(group, folder)]
            raise ConfigError(
                f"unknown metric, explainer or data set '{part}'{close_match(part, known)}; `bmx-grid run --help` "
                "lists them. Options of your own need --config-dir DIR."
            )
        (group,) = groups
        names = [part]
    lines = [f"{group}=[{','.join(names)}]", *settings]
    with naming_files(lines, folder):
        config = compose_config(lines, folder)
    for name, node in config[group].items():
        yield group, name, node, Path(config["data_dir"])


def _option_of_class(path: str) -> tuple[str, dict[str, Any]]:
    """The group of a class, and its node with no more than a name. Raises ConfigError for any other class."""
    node = {"_target_": path}
    cls = class_of(node, path)
    for group, kind in CHECKED_KINDS.items():
        if issubclass(cls, kind):
            if issubclass(cls, DatasetReader):
                return group, {**node, "name": cls.__name__.lower(), "language_pairs": list(cls.PAIRS)}
            return group, node
    kinds = ", ".join(kind.__name__ for kind in CHECKED_KINDS.values())
    raise ConfigError(f"{path}: expected a subclass of {kinds}.")


def _count_failures(group: str, name: str, node: Any, data_dir: Path) -> int:
    """Test an option, print the result of each test, and count the failures."""
    part = build(node, CHECKED_KINDS[group], f"{group}.{name}")
    n_broken = 0
    with component_errors():
        trials = list(_trials(part, name, data_dir))
    if not trials:
        raise ConfigError(f"{group} {name} has no part to test without a data set; choose another option.")
    for label, trials_of_member in trials:
        say(f"{group} {label}")
        for trial in trials_of_member:
            try:
                with component_errors():
                    reason = trial.run()
            except BmxError as error:
                n_broken += 1
                say(f"  failed  {trial.promise}\n          {error}")
            else:
                say(f"  skipped {trial.promise} ({reason})" if reason else f"  passed  {trial.promise}")
    return n_broken


def _trials(part: Component, name: str, data_dir: Path) -> Iterator[tuple[str, list[Trial]]]:
    """Pair the parts of an option, by name, with their tests.

    Raises UnavailableError for a part whose library or model is missing, ConfigError for a part that is a file.
    """
    if isinstance(part, DatasetReader):
        for pair in part.pairs(data_dir):
            yield f"{name} {pair}", [_trial(promise, part, data_dir, pair) for promise in OF_DATASETS]
        return
    segments = short_segments()
    if isinstance(part, Metric):
        for member, metric in part.expand(name, [segments]).items():
            metric.check()
            # Some metrics score only texts that they were fitted to.
            fitted = fit_metric(metric, segments)
            if fitted.load_scores(segments) is not None:
                raise ConfigError(
                    f"metric {name} reads scores from a file: it cannot score texts; choose another metric."
                )
            yield member, [_trial(promise, fitted) for promise in OF_METRICS]
    elif isinstance(part, Explainer):
        for member, explainer in part.expand(name, [segments]).items():
            explainer.check()
            if explainer.is_imported or type(explainer).explain is not Explainer.explain:
                raise ConfigError(f"explainer {name} plans no texts to test; choose another explainer.")
            yield member, [_trial(promise, explainer) for promise in OF_EXPLAINERS]


def _trial(promise: Callable[..., str], *arguments: Any) -> Trial:
    """Bind a test to its arguments; its docstring is its title."""
    return Trial(str(inspect.getdoc(promise)), partial(promise, *arguments))


if __name__ == "__main__":
    sys.exit(main())
