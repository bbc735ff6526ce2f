"""Show a data set, a table, or a file of spans or scores."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bmx_grid.core.errors import ConfigError, DataError
from bmx_grid.core.storage import expand_home, is_file
from bmx_grid.core.wording import columns_override, escape_unprintable, factor_in_words, override, pluralize
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.column_roles import REQUIRED, Roles, first_few, roles_of_table, usual_columns
from bmx_grid.datasets.mt_metrics_eval import MtMetricsEval
from bmx_grid.datasets.segments import SegmentSet, clusters
from bmx_grid.datasets.span_files import JSONL, NESTED, read_spans, span_format
from bmx_grid.datasets.table_file import TableFile
from bmx_grid.datasets.tables import open_table
from bmx_grid.datasets.tabular import Tabular
from bmx_grid.words.perturbation import ROLES
from bmx_grid.words.tags import WEIGHTS, severities

if TYPE_CHECKING:
    from bmx_grid.core.ragged import Floats


def show_files(names: Sequence[str], limit: int) -> list[str]:
    """Print what files of error spans, and files of unrated items, hold; the names that are data sets."""
    paths = {name: expand_home(name) for name in names}
    span_files = [name for name in names if span_format(paths[name])]
    for name in span_files:
        _show_spans(paths[name], limit)
    others = [name for name in names if name not in span_files or _has_segments(paths[name])]
    unrated = [name for name in others if _is_unrated(paths[name])]
    for name in unrated:
        _show_items(paths[name])
    return [name for name in others if name not in unrated]


def show_set(reader: DatasetReader, data_dir: Path, limit: int) -> None:
    """Print the segments of a data set; for a table also its columns and the command that runs it."""
    to_run = ""
    if isinstance(reader, Tabular):
        reader, to_run = _recognise_columns(reader)
    sets = [reader.load_segments(data_dir, pair) for pair in reader.pairs(data_dir)]
    for segments, labels in zip(sets, clusters(sets), strict=True):
        n_clusters = len(set(labels))
        _show_pair(segments, n_clusters, limit)
    if isinstance(reader, MtMetricsEval):
        to_run = _test_set_command(reader, has_reference=sets[0].has("reference"))
    if to_run:
        print(f"\nto run it:\n{to_run}")


def _test_set_command(reader: MtMetricsEval, *, has_reference: bool) -> str:
    """The command that runs a sweep on a test set of mt-metrics-eval."""
    return _command_lines(
        [
            "'dataset=[mt_metrics_eval]'",
            override("dataset.mt_metrics_eval.test_set", str(reader.test_set)),
            override("dataset.mt_metrics_eval.folder", reader.folder),
            _metric_choice(has_reference=has_reference),
            "'explainer=[]'",
            "name=mine",
        ]
    )


def _metric_choice(*, has_reference: bool) -> str:
    """Choose example metrics for the texts of the segments: without references those that read the source."""
    return "'metric=[chrf,sentence_bleu]'" if has_reference else "'metric=[xlmr_sbert]'"


def _command_lines(words: Sequence[str]) -> str:
    """`bmx-grid run` with a word per line, to be copied into a shell."""
    return " \\\n    ".join(["bmx-grid run", *words])


def _show_pair(segments: SegmentSet, n_clusters: int, limit: int) -> None:
    texts = [role for role in ("source", "reference") if segments.has(role)]
    known = " and ".join(texts)
    if len(texts) == 2 and segments.texts("source") == segments.texts("reference"):
        known += ", which are the same in every row"
    size = pluralize(len(segments), "segment")
    if segments.systems:
        size += f" of {pluralize(len(segments.systems), 'system')}"
    print(
        f"{segments.dataset} {segments.language_pair}: {size} in "
        f"{pluralize(n_clusters, 'cluster')}, {segments.n_rated:,} rated, with {known}"
    )
    judgements = segments.judgements
    several = len(judgements.scores) > 1
    for name, scores in judgements.scores.items():
        primary = " (primary)" if several and name == judgements.primary else ""
        if name == judgements.of_systems:
            primary = " (primary of systems)"
        made_of = ""
        if name in judgements.raters:
            n_ratings = int(np.isfinite(judgements.raters[name]).sum())
            made_of = f", of {pluralize(n_ratings, 'rating')}"
        print(f"  {escape_unprintable(name)}{primary}: {_range(scores)}{made_of}")
    empty = segments.empty_texts()
    if empty:
        n_empty = pluralize(len(empty), "segment")
        print(f"  empty texts in {n_empty}, the first is {escape_unprintable(empty[0])}")
    for row, segment in enumerate(segments.segments[:limit]):
        ratings = []
        for name, scores in judgements.scores.items():
            score = scores[row]
            ratings.append(f"{name} not rated" if np.isnan(score) else f"{name} {score:g}")
        print(escape_unprintable(f"  [{segment.name}] {', '.join(ratings)}"))
        for role in ROLES:
            text = getattr(segment, role)
            if text is not None:
                print(f"    {role:11}{escape_unprintable(text)}")


def _range(scores: Floats) -> str:
    """The smallest, the largest and the mean human score."""
    if np.isnan(scores).all():
        return "these segments are unrated"
    # + 0.0, as the smallest or largest may be -0.0, which would be printed as -0
    lowest = np.nanmin(scores) + 0.0
    highest = np.nanmax(scores) + 0.0
    mean = np.nanmean(scores)
    return f"{lowest:g} to {highest:g}, mean {mean:.4f}"


def _has_segments(path: Path) -> bool:
    """Whether a file of spans also has the columns of a table of rated segments."""
    return span_format(path) in (JSONL, NESTED) and _is_rated(open_table(path))


def _is_unrated(path: Path) -> bool:
    """Whether a file holds items of a shared task that nobody has rated yet, or predictions."""
    if not is_file(path) or not path.name.endswith((".jsonl", ".jsonl.gz")):
        return False
    table = open_table(path)
    return bool(table.outputs) and not _is_rated(table)


def _is_rated(table: TableFile) -> bool:
    return set(REQUIRED) <= set(table.names)


def _show_items(path: Path) -> None:
    """Print the contents of a file of items without human scores, and how to score or import them."""
    outputs = open_table(path).outputs
    n_items = len({output.id for output in outputs})
    count = f"{pluralize(len(outputs), 'output')} of {pluralize(n_items, 'item')}"
    print(f"{escape_unprintable(str(path))}: {count}, without a score of people")
    for column in ("language_pair", "system"):
        names = {getattr(output, column) for output in outputs}
        _print_row(factor_in_words(column), first_few(sorted(names)))
    # A dictionary, as it keeps the names in the order of the file.
    numbers: dict[str, None] = {}
    for output in outputs:
        numbers |= dict.fromkeys(output.scores)
    score_names = list(numbers)
    _print_row("numbers", first_few(score_names) if score_names else "none")
    if outputs[0].hypothesis is None:
        words = ["'metric=[imported]'", override("metric.imported.file", str(path))]
        if score_names:
            words.append(override("metric.imported.columns.score", score_names[0]))
        command_lines = _command_lines([*words, "…"])
        print(f"\nto use them as scores of a data set's segments:\n{command_lines}")
    else:
        metric = "e5_xbertscore" if outputs[0].reference is None else "chrf"
        file = shlex.quote(str(path))
        print(f"\nto score them:\nbmx-grid score --metric {metric} --format wmt26 -t {file}")


def _print_row(label: str, text: str) -> None:
    print(f"  {label:<14} {escape_unprintable(text)}")


def _show_spans(path: Path, limit: int) -> None:
    """Print the contents of a file of error spans, and how to use it in a sweep."""
    rows = read_spans(path).rows
    judged = rows[rows.value.notna()]
    n_texts = f"{pluralize(len(judged), 'judged text')} of {len(rows):,}"
    print(f"{escape_unprintable(str(path))}: {span_format(path)}, {n_texts}")
    for column in ("language_pair", "system", "rater"):
        if column not in rows:
            continue
        names = set(rows[column].astype(str)) - {""}
        if names:
            _print_row(factor_in_words(column), first_few(sorted(names)))
    count = severities(judged.value)
    known = [severity for severity in WEIGHTS if count[severity]]
    errors = ", ".join(pluralize(count[severity], f"{severity} error") for severity in known)
    omissions = pluralize(count["omission"], "omission")
    _print_row("spans", f"{errors or 'none'}; {omissions} among them")
    n_without = sum(not spans for spans in judged.value)
    _print_row("without spans", pluralize(n_without, "text"))
    for row in judged.iloc[:limit].to_dict("records"):
        key = [str(row[column]) for column in ("document", "id", "system") if row.get(column)]
        name = ":".join(key) or row["place"]
        spans = ", ".join(f"{span.severity} {span.start}-{span.end}" for span in row["value"])
        print(escape_unprintable(f"  [{name}] {spans or 'no error'}"))
    file = override("explainer.imported.file", str(path))
    command_lines = _command_lines(["'explainer=[imported]'", file, "'boost=[severity]'", "…"])
    print(f"\nto use it as explanations of a data set's segments:\n{command_lines}")


def _recognise_columns(reader: Tabular) -> tuple[Tabular, str]:
    """The reader of a table with its columns recognised, which are printed, and the command that runs it.

    Raises DataError for roles that are missing, in one sentence, and as `open_table`.
    """
    if not reader.path:
        raise ConfigError("dataset.tabular.path is not set: name your file: bmx-grid data show my.tsv")
    table = reader.open()
    again = f"bmx-grid data show {shlex.quote(reader.path)}"
    found = roles_of_table(table, reader.chosen_columns(), REQUIRED, "columns.{}=NAME", command=again)
    roles = found.roles
    notes = dict(found.notes)
    if "language_pair" not in roles:
        pairs = ", ".join(reader.language_pairs)
        notes["language pair"] = pairs or "none: one language, or name the pair with language_pair=de-en"
    used = list(itertools.chain.from_iterable(roles.values()))
    unused = [name for name in dict.fromkeys(table.names) if name not in used]
    notes["unused"] = first_few(unused) or "no column"
    notes |= _notes_on_scores(roles, unused)
    print(f"{escape_unprintable(str(table.path))}: {pluralize(len(table), 'row')}")
    for role, columns in roles.items():
        _print_row(factor_in_words(role), ", ".join(columns))
    for label, note in notes.items():
        _print_row(label, note)
    for name in (reader.path, *used):
        # A shell cannot pass on NUL, and Hydra takes ${ for another key.
        if "\0" in name or "${" in name:
            raise DataError(f"{table.path}: {name[:60]!r} cannot be part of a command; rename it without ${{ and NUL.")
    return replace(reader, columns=roles), _command(reader, roles)


def _notes_on_scores(roles: Roles, unused: Sequence[str]) -> dict[str, str]:
    """How several columns of human scores are read, or would be."""
    scores = roles.get("score", ())
    if len(roles["hypothesis"]) > 1 or not scores:
        return {}
    further = [name for name in unused if "score" in usual_columns([name], {})]
    if len(scores) == 1 and further:
        listed = columns_override("columns.score", [*scores, *further[:3]])
        return {"more scores": f"unused; read them, too: {listed}"}
    if len(scores) > 1:
        listed = columns_override("columns.rater", scores)
        return {"more scores": f"{scores[0]} is primary; if they are ratings of one score by several people: {listed}"}
    return {}


def _command(reader: Tabular, roles: Roles) -> str:
    """The command that runs a sweep on this table, in lines to be copied into a shell."""
    words = ["'dataset=[tabular]'", override("dataset.tabular.path", str(reader.path))]
    if reader.decimal != ".":
        words.append(f"dataset.tabular.decimal={reader.decimal}")
    if reader.encoding is not None:
        words.append(override("dataset.tabular.encoding", reader.encoding))
    if reader.skip_rows:
        words.append(f"dataset.tabular.skip_rows={reader.skip_rows}")
    for role, columns in roles.items():
        key = f"dataset.tabular.columns.{role}"
        if len(columns) > 1:
            words.append(columns_override(key, columns))
        # A column that is named as its role needs no word.
        elif columns != (role,):
            words.append(override(key, columns[0]))
    if "language_pair" not in roles and reader.language_pairs:
        pairs = ",".join(reader.language_pairs)
        words.append(shlex.quote(f"dataset.tabular.language_pairs=[{pairs}]"))
    words.append(_metric_choice(has_reference="reference" in roles))
    words += ["'explainer=[erasure,lime]'", "name=mine"]
    return _command_lines(words)
