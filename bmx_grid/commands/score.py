"""python -m bmx_grid score: the score of each line of a file, boosted or not, and their mean."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bmx_grid.attribution.scorer import Scored, Scorer, items_of, make_scorer
from bmx_grid.boosts.recipe import LIST, Recipe, embedded, find_recipe, recipes_in_words
from bmx_grid.commands.scored_systems import systems_of
from bmx_grid.commands.scored_text import FORMATS, SYSTEMS
from bmx_grid.commands.user_yaml import parse_yaml
from bmx_grid.configure import options
from bmx_grid.datasets.archives import GZIP, gunzip
from bmx_grid.datasets.lines import check_aligned, decode_lines, read_bytes
from bmx_grid.errors import ConfigError, DataError
from bmx_grid.progress import Progress
from bmx_grid.terminal import command
from bmx_grid.wording import counted, telling_apart, visible
from bmx_grid.words.perturbation import ROLES

EPILOG = """One segment per line, in UTF-8, split at line feeds only; - is standard input,
gzip is recognised.

Scores are those of the metric alone, unless a boost is named: a recipe (chosen
by a sweep, or embedded), or -p and -w.

settings (--set, repeatable):
  metric.KEY=VALUE, explainer.KEY=VALUE   any key of the option's YAML file
  seed=0                    every random draw comes from it
  max_texts=100000          the most texts for one segment
  side=both | hypothesis    with -p and -w: whose words are aggregated
  aggregation=power_mean    with -p and -w: or another option of that group

exit status: 0 done; 2 a mistake in the command or its files.

examples:
  bmx-grid score --metric sentence_bleu -t A.txt B.txt -r R.txt --only-system
  bmx-grid score --metric chrf --explainer erasure --words -r R.txt -t H.txt"""
DEFAULT = "lime"  # the explainer, where none is named
NONE = "none"  # in place of an explainer: no attributions
NAMED = 5  # segments that a note names
READ_FROM_FILES = "imported"  # the one metric that scores no texts, and the one explainer that explains none
MAX_BYTES = 200_000_000  # of one unpacked file: a few kilobytes of gzip may hold more than the memory


def main(arguments: Sequence[str] | None = None) -> int:
    """Score the files; the exit status (see EPILOG)."""
    parsed = _parser().parse_args(arguments)

    def work() -> int:
        print(_run(parsed))
        return 0

    return command(work)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bmx-grid score",
        description="Score translations with a metric: alone, boosted by a recipe, or by\ns1 = w * s0 + (1 - w) * M_p.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    metrics = ", ".join(name for name in options("metric") if name != READ_FROM_FILES)
    parser.add_argument("--metric", metavar="NAME", help=f"{metrics}; needed without a recipe")
    explainers = ", ".join(name for name in options("explainer") if name != READ_FROM_FILES)
    parser.add_argument(
        "--explainer", metavar="NAME", help=f"{explainers} (default: {DEFAULT}, or the recipe's); none: no attributions"
    )
    known = ", ".join(embedded()) or "none yet"
    parser.add_argument(
        "--recipe", metavar="FILE|NAME", help=f"boost as a recipe says; embedded: {known}; {LIST} shows them"
    )
    parser.add_argument(
        "-p",
        type=float,
        help="boost by the power mean with this power, -p=-inf for the smallest (default with -w: the paper's median)",
    )
    parser.add_argument(
        "-w", type=float, help="share of the metric itself in that boost, 0 to 1 (default with -p: likewise)"
    )
    needed = "; needed where the metric reads it"
    parser.add_argument("-s", "--source", metavar="FILE", help=f"one source per line{needed}")
    parser.add_argument("-r", "--reference", metavar="FILE", help=f"one reference per line{needed}")
    parser.add_argument(
        "-t", "--hypothesis", metavar="FILE", nargs="+", help="one translation per line; several files are systems"
    )
    parser.add_argument("--format", choices=list(FORMATS), default="text", help="text (default), json or tsv")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="as --format json")
    parser.add_argument("--only-system", action="store_true", help="the systems' scores and tests, no segments")
    parser.add_argument("-q", "--quiet", action="store_true", help="no notes and no progress")
    parser.add_argument("--words", action="store_true", help="add the attribution of each word")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting (below)")
    return parser


def _run(parsed: argparse.Namespace) -> str:
    """The output. Raises BmxError for every mistake that the user can fix."""
    if parsed.recipe == LIST:
        return recipes_in_words()
    if parsed.explainer == READ_FROM_FILES:
        raise ConfigError(
            "--explainer imported: these are explanations made elsewhere, read from a file, and `score` explains "
            "texts; name an explainer that does, or evaluate the file in a sweep: python -m bmx_grid "
            "explainer=[imported] explainer.imported.file=FILE."
        )
    if parsed.metric == READ_FROM_FILES:
        raise ConfigError(
            "--metric imported: these are scores made elsewhere, read from a file, and `score` computes scores of "
            "texts; name a metric that does, or evaluate the file in a sweep: python -m bmx_grid metric=[imported] "
            "metric.imported.file=FILE explainer=[] evaluation=[levels]."
        )
    if parsed.metric is None and parsed.recipe is None:
        raise ConfigError(f"--metric NAME or --recipe FILE is needed; metrics are {', '.join(options('metric'))}.")
    if parsed.words and parsed.explainer == NONE:
        raise ConfigError(
            "--words shows the attributions of an explainer, and --explainer none has none; leave it out, or name one."
        )
    scorer = _scorer(parsed, None if parsed.recipe is None else find_recipe(parsed.recipe))
    for role in scorer.reads:
        if getattr(parsed, role) is None:
            raise ConfigError(f"the metric {_metric(parsed, scorer)} reads the {role}: give it with --{role} FILE.")
    given = {role: getattr(parsed, role) for role in ROLES if getattr(parsed, role) is not None}
    hypotheses = given.pop("hypothesis", [])
    names = telling_apart([Path(name) for name in hypotheses]) if hypotheses else [""]
    if len(set(hypotheses)) < len(hypotheses):
        raise ConfigError(f"--hypothesis: the same file is given twice: {', '.join(hypotheses)}.")
    if parsed.words and len(names) > 1:
        raise ConfigError("--words shows the words of one system: give one file of hypotheses.")
    texts = _texts([*given.items(), *(("hypothesis", name) for name in hypotheses)])
    outputs = texts[len(given) :]
    shared = dict(zip(given, texts, strict=False))
    of_system = {
        name: [outputs[at] if role == "hypothesis" else shared[role] for role in scorer.reads]
        for at, name in enumerate(names)
    }
    asked = scorer if scorer.boosts or parsed.words else Scorer(scorer.metric)  # what is not shown is not explained
    # All systems at once: they share sources and references, and batches are full.
    read = [[text for system in of_system.values() for text in system[at]] for at in range(len(scorer.reads))]
    with Progress(0 if parsed.quiet else asked.count_texts(*read)) as progress:
        scored = asked.explain(*read, progress=progress.advance)
    parts = dict(zip(names, scored.parts(len(names)), strict=True))
    if not parsed.quiet:
        _note(scored)
    items = {name: items_of(scorer.reads, own) for name, own in of_system.items()}
    systems = systems_of(asked, parts, items, _seed(parsed)) if parsed.only_system or len(names) > 1 else None
    if systems is None:
        return FORMATS[parsed.format](asked, scored, parsed.words)
    return SYSTEMS[parsed.format](asked, {} if parsed.only_system else parts, systems)


def _seed(parsed: argparse.Namespace) -> int:
    """The seed of the intervals: that of --set seed=N."""
    return int(dict(map(_setting, parsed.set)).get("seed", 0))


def _metric(parsed: argparse.Namespace, scorer: Scorer) -> str:
    return str(parsed.metric) if scorer.recipe is None else scorer.recipe.metric.name


def _note(scored: Scored) -> None:
    """Say on standard error which segments are not boosted."""
    if scored.unboosted:
        rows = ", ".join(str(row + 1) for row in scored.unboosted[:NAMED])
        more = len(scored.unboosted) - NAMED
        left = f" and {more:,} more" if more > 0 else ""
        said = counted(len(scored.unboosted), "segment without words keeps", "segments without words keep")
        print(f"note: {said} the score of the metric: {rows}{left}.", file=sys.stderr)


def _scorer(parsed: argparse.Namespace, recipe: Recipe | None) -> Scorer:
    """The scorer of the arguments. Raises ConfigError, with the --set that it comes from as it was typed."""
    settings = list(map(_setting, parsed.set))
    explainer = parsed.explainer
    if recipe is not None and explainer == NONE:
        raise ConfigError(
            f"the recipe {recipe.name} needs its explainer, {recipe.explainer.name}: leave --explainer out."
        )
    if explainer is None and recipe is None:
        explainer = DEFAULT

    def make(count: int) -> Scorer:
        named = None if explainer == NONE else explainer
        return make_scorer(parsed.metric, named, parsed.p, parsed.w, dict(settings[:count]), recipe)

    try:
        return make(len(settings))
    except ConfigError as error:
        for count, given in enumerate(["", *parsed.set]):  # the first one with which it fails
            try:
                make(count)
            except ConfigError as first:
                if not count:
                    break
                reason = str(first).removeprefix("scorer: ").removeprefix("scorer.").removeprefix(f"{given}: ")
                raise ConfigError(f"--set {_shown(given)}: {reason}") from error
        raise


def _shown(given: str) -> str:
    text = visible(given)
    return text if len(text) <= 100 else f"{text[:97]}…"


def _setting(given: str) -> tuple[str, Any]:
    key, equals, value = given.partition("=")
    if not equals:
        raise ConfigError(f"--set {given}: expected KEY=VALUE, for example explainer.num_samples=500.")
    return key, parse_yaml(value, f"--set {_shown(given)}")


def _texts(files: Sequence[tuple[str, str]]) -> list[list[str]]:
    """The lines of each (role, file). Raises DataError for files that cannot be read, are empty or differ in length."""
    if [name for _, name in files].count("-") > 1:
        raise ConfigError("standard input (-) can be one of the files only.")
    texts = [_lines(name) for _, name in files]
    if check_aligned({f"--{role} {name}": lines for (role, name), lines in zip(files, texts, strict=True)}) == 0:
        raise DataError(f"{' and '.join(name for _, name in files)}: no lines, so there is nothing to score.")
    return texts


def _lines(name: str) -> list[str]:
    if name == "-" and sys.stdin is None:
        raise DataError("standard input (-) is closed: name a file, or pipe texts in.")
    raw = sys.stdin.buffer.read() if name == "-" else read_bytes(Path(name).expanduser())
    if raw.startswith(GZIP):
        raw = gunzip(raw, name, MAX_BYTES, "score it in parts.")
    return decode_lines(raw, name)


if __name__ == "__main__":
    sys.exit(main())
