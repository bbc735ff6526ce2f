"""Score translations with a metric: unboosted, boosted by a recipe, or boosted by
s1 = w * s0 + (1 - w) * M_p.

A file holds one segment per line, in UTF-8, ended by LF or CR LF. The file
- is standard input; gzip is recognised.

Scores of BLEU, chrF and TER are printed on sacreBLEU's scale, 0 to 100; in
sweeps, tables and Python they are divided by 100, as in the paper.

The default is the unboosted metric. A boost is a recipe (fitted by a sweep, or
embedded), or -p and -w.

settings (--set, repeatable):
  metric.KEY=VALUE, explainer.KEY=VALUE   any key of the option's YAML file;
                            of one of several metrics metric.NAME.KEY=VALUE
  seed=0                    of all random draws
  max_texts=100000          the most texts for one segment
  side=both | hypothesis    with -p and -w: whose words are aggregated
  aggregation=power_mean    with -p and -w: or another option of that group

--format wmt26 reads the items of WMT26's evaluation task, -t FILE.jsonl, and
prints predictions: scores (task2_pred), with --error-free-from SCORE whether
outputs are free of errors (task3_pred), with --explainer spans --words error
spans (task1_pred).

exit status: 0 done; 2 a mistake in the command or its files.

examples:
  bmx-grid score --metric sentence_bleu chrf ter -t A.txt -r R.txt --only-system
  bmx-grid score --metric sentence_bleu -t A.txt B.txt -r R.txt --only-system
  bmx-grid score --metric chrf --explainer erasure --words -r R.txt -t H.txt
  bmx-grid score --metric e5_xbertscore --format wmt26 -t en-de.jsonl
"""

from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid.api.compose import parse_one
from bmx_grid.attribution.scorer import DEFAULT_EXPLAINER, Scorer, make_scorer
from bmx_grid.attribution.texts import PLURAL
from bmx_grid.boosts.recipe import LIST, embedded_names, find_recipe, recipes_in_words
from bmx_grid.commands.predictions import lists_read, outputs_in, predictions
from bmx_grid.commands.scored_text import (
    ScoredValues,
    as_json,
    human_agreement,
    scored_text,
    segments,
    system_kind,
    systems,
)
from bmx_grid.core.configure import load_option, options
from bmx_grid.core.errors import ConfigError, DataError
from bmx_grid.core.storage import expand_home, read_stream
from bmx_grid.core.terminal import Progress, command, parser
from bmx_grid.core.wording import distinct_names, escape_unprintable, join_names, pluralize
from bmx_grid.datasets.archives import GZIP, gunzip
from bmx_grid.datasets.lines import check_aligned, decode_lines, read_bytes
from bmx_grid.report.table import sentences, terminal_width
from bmx_grid.words.perturbation import ROLES, Role

NONE = "none"  # in place of an explainer: no attributions
WMT26 = "wmt26"  # the format of predictions for its evaluation task
NAMED = 5  # segments that a note names
# Arguments that the format has no use for.
NOT_OF_WMT26 = ("source", "reference", "json", "only_system", "thresholds")
# Metrics that score no texts, and an explainer that explains none.
READ_FROM_FILES = ("imported", "human")
ComponentSettings = Mapping[str, Any]  # of --set
# Of one unpacked file: a few kilobytes of gzip may hold more than the memory.
MAX_BYTES = 200_000_000
NOT_TEXT = (b"PK\x03\x04", b"PAR1")  # how workbooks and Parquet files begin
# The unit of the first line of a table, by the end of its name.
SIGNS_OF_TABLES = {".csv": ",;", ".tsv": "\t", ".jsonl": "{"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Score the files; the exit status (see above)."""
    parsed = _parser().parse_args(arguments)
    return command(lambda: print(_run(parsed)))


def _parser() -> argparse.ArgumentParser:
    cli = parser("score", __doc__)
    add = cli.add_argument
    metrics = ", ".join(_scoring_options("metric"))
    names = f"needed without --recipe; several metrics print several blocks: {metrics}"
    add("--metric", metavar="NAME", nargs="+", default=[], help=names)
    explainers = ", ".join(_scoring_options("explainer"))
    default = f"default: {DEFAULT_EXPLAINER}, or the recipe's"
    add("--explainer", metavar="NAME", help=f"{explainers} ({default}); none: no attributions")
    known = ", ".join(embedded_names()) or "none yet"
    add("--recipe", metavar="FILE|NAME", help=f"boost by a recipe; embedded: {known}; {LIST} shows them")
    power = "boost by the power mean with this power; -p=-inf: the minimum (default with -w: the paper's median)"
    add("-p", type=float, help=power)
    weight = "share of the metric itself in that boost, 0 to 1 (default with -p: the paper's median)"
    add("-w", type=float, help=weight)
    needed = "; needed if the metric reads it"
    several = f"one reference per line{needed}; several files are several references of each segment"
    files: dict[str, Any] = {"metavar": "FILE", "action": "extend", "default": []}
    add("-s", "--source", nargs=1, help=f"one source per line{needed}", **files)
    add("-r", "--reference", nargs="+", help=several, **files)
    add("-t", "--hypothesis", nargs="+", help="one output per line; several files are systems", **files)
    add("--language-pair", metavar="LP", help="of the texts, such as de-en; for metrics that need to know it")
    encoding = "of files without a byte-order mark, as cp1252 (default: UTF-8)"
    add("--encoding", metavar="NAME", help=encoding)
    add("--json", action="store_true", help="print JSON, with all digits")
    add("--format", choices=("text", WMT26), default="text", help="the format of input and output (below)")
    free_from = "with --format wmt26: the score, as printed, from which on an output counts as free of errors"
    add("--error-free-from", type=float, metavar="SCORE", help=free_from)
    add("--only-system", action="store_true", help="scores and tests of systems, not of segments")
    thresholds = (
        "the output folder of a sweep with evaluation=[levels]: also print how often people agree with a difference "
        "of this size between two systems"
    )
    add("--thresholds", metavar="DIR", help=thresholds)
    add("-q", "--quiet", action="store_true", help="no notes and no progress")
    add("--words", action="store_true", help="add the attribution of each word")
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="an option of a component (below)")
    return cli


def _scoring_options(group: str) -> list[str]:
    return [name for name in options(group) if name not in READ_FROM_FILES]


def _run(parsed: Namespace) -> str:
    """Score the texts and format the result; notes and progress go to standard error at once.

    Raises BmxError for every mistake that the user can fix.
    """
    if parsed.recipe == LIST:
        return sentences(recipes_in_words().splitlines())
    names = list(dict.fromkeys(parsed.metric))
    # one metric per call from this line on
    parsed.metric = names[0] if names else None
    _check(parsed)
    settings: dict[str, Any] = {}
    for line in parsed.set:
        override = parse_one(line)
        settings[override.key_or_group] = override.value()
    if len(names) > 1:
        return _score_with_several(parsed, names, settings)
    if parsed.format == WMT26:
        return _predictions(parsed, settings)
    texts = _texts(parsed)
    scorer = _scorer_of_texts(parsed, settings, texts)
    values = _score_with_one(parsed, scorer, texts, int(settings.get("seed", 0)))
    return as_json(values) if parsed.json else scored_text(values, _width())


def _score_with_several(parsed: Namespace, names: Sequence[str], settings: ComponentSettings) -> str:
    """Score with several metrics: one block each, or one JSON object by name."""
    if parsed.recipe is not None or parsed.format == WMT26:
        with_one = "--recipe" if parsed.recipe is not None else "--format wmt26"
        raise ConfigError(f"{with_one} is for one metric, and --metric names {', '.join(names)}; name one.")
    texts = _texts(parsed)
    # A mistake in the second metric is found before the first one scores.
    scorers = {}
    for name in names:
        parsed.metric = name
        scorers[name] = _scorer_of_texts(parsed, _settings_of(name, names, settings), texts)
    values = {}
    for name, scorer in scorers.items():
        parsed.metric = name
        values[name] = _score_with_one(parsed, scorer, texts, int(settings.get("seed", 0)))
    if parsed.json:
        return as_json({"metrics": values})
    return "\n\n\n".join(scored_text(each, _width()) for each in values.values())


def _width() -> int | None:
    """The width of a terminal; other programs get all columns in lines of any length."""
    return terminal_width() if sys.stdout.isatty() else None


def _settings_of(name: str, names: Sequence[str], settings: ComponentSettings) -> dict[str, Any]:
    """The settings of one of several metrics: metric.NAME.KEY is its metric.KEY, and others are left out."""
    settings_of_metric = {}
    for key, value in settings.items():
        group, _, rest = key.partition(".")
        metric, _, rest_of_metric = rest.partition(".")
        if group != "metric":
            settings_of_metric[key] = value
        elif metric not in names or not rest_of_metric:
            raise ConfigError(f"--set {key}: there are several metrics; name one: metric.{names[0]}.{rest}.")
        elif metric == name:
            settings_of_metric[f"metric.{rest_of_metric}"] = value
    return settings_of_metric


def _scorer_of_texts(parsed: Namespace, settings: ComponentSettings, texts: Mapping[Role, list[Any]]) -> Scorer:
    """The scorer of the arguments. Raises ConfigError without a file of a text that its metric reads."""
    idf_texts = _idf_texts(parsed, settings, texts)
    scorer = _scorer(parsed, {**settings, **idf_texts}, texts["reference"])
    for role in scorer.reads:
        if not texts[role]:
            raise ConfigError(f"the metric {_metric(parsed, scorer)} reads the {role}: give it with --{role} FILE.")
    return scorer


def _score_with_one(
    parsed: Namespace, scorer: Scorer, texts_of_files: Mapping[Role, list[Any]], seed: int
) -> ScoredValues:
    """Score with one metric, for every form of output. seed: of the resamples of segments."""
    texts = dict(texts_of_files)
    if len(texts["reference"]) > 1:
        texts["reference"] = [_reference_sets(texts["reference"])]
    names = distinct_names([Path(name) for name in parsed.hypothesis])
    lists_by_system = {}
    for name, hypotheses in zip(names, texts["hypothesis"], strict=True):
        lists = {PLURAL[role]: texts[role][0] for role in scorer.reads if role != "hypothesis"}
        lists_by_system[name] = {"hypotheses": hypotheses, **lists}
    # Hidden attributions are not computed.
    shown = scorer if parsed.words else scorer.scores_only
    thresholds = None
    if parsed.thresholds is not None:
        thresholds = (expand_home(parsed.thresholds), str(parsed.metric))
        # A mistake is found before anything is scored.
        human_agreement(*thresholds, system_kind(shown), 0.0)
    # All systems at once: they share sources and references, and batches are full.
    whole: dict[str, Any] = {}
    for lists in lists_by_system.values():
        for argument, texts_of_system in lists.items():
            whole.setdefault(argument, []).extend(texts_of_system)
    with _progress(parsed, shown, whole) as progress:
        scored = shown.explain(**whole, progress=progress.advance)
    if scored.unboosted and not parsed.quiet:
        rows = join_names([str(row + 1) for row in scored.unboosted], most=NAMED)
        segments_keep = pluralize(len(scored.unboosted), "segment without words keeps", "segments without words keep")
        print(f"note: {segments_keep} the score of the metric: {rows}.", file=sys.stderr)
    if parsed.only_system or len(names) > 1:
        scores = dict(zip(names, np.split(scored.scores, len(names)), strict=True))
        items = {name: shown.items(**lists) for name, lists in lists_by_system.items()}
        return systems(shown, scores, items, seed, with_segments=not parsed.only_system, thresholds=thresholds)
    return segments(shown, scored, words=parsed.words)


def _reference_sets(files: Sequence[list[str]]) -> list[tuple[str, ...]]:
    """All references of each segment; a line may be empty from the second file on."""
    reference_sets = []
    for first, *others in zip(*files, strict=True):
        reference_sets.append((first, *filter(None, others)))
    return reference_sets


def _progress(parsed: Namespace, scorer: Scorer, lists: Mapping[str, Any]) -> Progress:
    return Progress(0 if parsed.quiet else scorer.count_texts(**lists))


def _predictions(parsed: Namespace, settings: ComponentSettings) -> str:
    """Predictions for WMT26, a line per item. Sets parsed.language_pair where only the file names one.

    Raises BmxError for every mistake that the user can fix.
    """
    path = expand_home(parsed.hypothesis[0])
    outputs = outputs_in(path)
    pairs = {output.language_pair for output in outputs}
    if parsed.language_pair is None and len(pairs) == 1:
        parsed.language_pair = pairs.pop()
    scorer = _scorer(parsed, settings, [])
    if parsed.words and (scorer.explainer is None or not scorer.explainer.marks_errors):
        raise ConfigError("--words with --format wmt26 prints error spans; add --explainer spans.")
    shown = scorer if parsed.words else scorer.scores_only
    lists = lists_read(outputs, shown.reads, path)
    with _progress(parsed, shown, lists) as progress:
        lines = predictions(
            outputs,
            lists,
            shown,
            with_spans=parsed.words,
            error_free_from=parsed.error_free_from,
            progress=progress.advance,
        )
        return "\n".join(lines)


def _check(parsed: Namespace) -> None:
    """Raise ConfigError for arguments that do not go together."""
    if parsed.metric is None and parsed.recipe is None:
        known = ", ".join(options("metric"))
        raise ConfigError(f"--metric NAME or --recipe FILE is needed; metrics are {known}.")
    several = len(parsed.hypothesis) > 1
    if parsed.words and parsed.explainer == NONE:
        raise ConfigError("--words requires an explainer, but --explainer is none; name one, or leave --words out.")
    if parsed.words and several and parsed.format != WMT26:
        raise ConfigError("--words shows the words of one system: give one file of hypotheses.")
    if parsed.format == WMT26:
        wrong = [f"--{name.replace('_', '-')}" for name in NOT_OF_WMT26 if getattr(parsed, name)]
        if wrong or len(parsed.hypothesis) != 1:
            without = "".join(f", without {flag}" for flag in wrong)
            raise ConfigError(f"--format wmt26 reads one file of items, and nothing else: -t FILE.jsonl{without}.")
    elif parsed.error_free_from is not None:
        raise ConfigError("--error-free-from requires --format wmt26; add it, or leave --error-free-from out.")
    if parsed.thresholds is not None:
        is_boosted = parsed.recipe or parsed.p is not None or parsed.w is not None
        if parsed.metric is None or is_boosted or not several:
            raise ConfigError(
                "--thresholds requires an unboosted metric and two systems; give --metric and two --hypothesis."
            )
    if len(set(parsed.hypothesis)) < len(parsed.hypothesis):
        files = ", ".join(parsed.hypothesis)
        raise ConfigError(f"--hypothesis: repeated file: {files}; name different files.")


def _scorer(parsed: Namespace, settings: ComponentSettings, references: Sequence[list[str]]) -> Scorer:
    """The scorer of the arguments, whose metric reads all references if there are several. Raises ConfigError."""
    recipe = None if parsed.recipe is None else find_recipe(parsed.recipe)
    several = len(references) > 1
    if several and recipe is None and "references" in load_option("metric", parsed.metric):
        # Empty lines leave segments with different numbers of references.
        are_complete = all(map(all, references[1:]))
        count = str(len(references)) if are_complete else "var"
        settings = {"metric.references": "all", "metric.nrefs": count, **settings}
    explainer = None if parsed.explainer == NONE else parsed.explainer or ...
    scorer = make_scorer(parsed.metric, explainer, parsed.p, parsed.w, settings, recipe, parsed.language_pair)
    if several and not scorer.metric.reads_all_references:
        raise ConfigError(f"--reference: {_metric(parsed, scorer)} compares with one reference; give one file.")
    if recipe is not None and not parsed.quiet:
        verdict = escape_unprintable(recipe.verdict_in_words())
        print(f"note: recipe {parsed.recipe}: {verdict}.", file=sys.stderr)
    return scorer


def _idf_texts(
    parsed: Namespace, settings: ComponentSettings, texts: Mapping[Role, Sequence[list[str]]]
) -> dict[str, Any]:
    """The texts that tokens are weighted by if the metric has idf weights: all ground truths, as in bert-score."""
    option = {} if parsed.metric is None else load_option("metric", parsed.metric)
    if not settings.get("metric.idf", option.get("idf")):
        return {}
    role = settings.get("metric.ground_truth", option.get("ground_truth"))
    files = texts.get(role, ())
    # empty lines of further files are no references
    lines = [line for number, file in enumerate(files) for line in file if line or number == 0]
    return {"metric.idf_texts": lines}


def _metric(parsed: Namespace, scorer: Scorer) -> str:
    if scorer.recipe is None:
        return str(parsed.metric)
    return scorer.recipe.metric.name


def _texts(parsed: Namespace) -> dict[Role, list[Any]]:
    """Read the lines of every file, by role. Raises DataError if a file is unreadable, empty, or of another length."""
    files = {role: getattr(parsed, role) for role in ROLES}
    names = list(itertools.chain.from_iterable(files.values()))
    if names.count("-") > 1:
        raise ConfigError("standard input (-) can be one of the files only.")
    texts: dict[Role, list[Any]] = {}
    lines_by_flag = {}
    for role in ROLES:
        texts[role] = []
        for name in files[role]:
            lines = _lines(name, parsed.encoding)
            texts[role].append(lines)
            lines_by_flag[f"--{role} {name}"] = lines
    if names and check_aligned(lines_by_flag) == 0:
        raise DataError(f"{' and '.join(names)}: no lines to score; name files with texts.")
    return texts


def _lines(name: str, encoding: str | None) -> list[str]:
    raw = _standard_input() if name == "-" else read_bytes(expand_home(name))
    if raw.startswith(GZIP):
        raw = gunzip(raw, name, MAX_BYTES, "score it in parts.")
    if raw.startswith(NOT_TEXT):
        raise DataError(f"{name} is a workbook or another archive; save its texts as text, one per line.")
    lines = decode_lines(raw, name, encoding, "--encoding=")
    kind = Path(name).suffix.lower()
    if lines and any(sign in lines[0] for sign in SIGNS_OF_TABLES.get(kind, "")):
        warnings.warn(
            f"{name}: each line is scored as one text, with its separators. To score a table: bmx-grid "
            f"'dataset=[tabular]' 'dataset.tabular.path=\"{name}\"' 'metric=[chrf]' 'explainer=[]'",
            stacklevel=2,
        )
    return lines


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise DataError("standard input (-) is closed: name a file, or pipe texts in.")
    try:
        return read_stream(sys.stdin.buffer)
    except OSError as error:
        raise DataError(f"standard input (-) cannot be read: {error.strerror}; name a file.") from error


if __name__ == "__main__":
    sys.exit(main())
