"""The questions of an analysis, in the order they are shown, and their answers. Add a built-in question by one line.

A guest's evaluation brings the questions that its own tables answer (`Evaluation.QUESTIONS`): they are loaded if the
sweep names the evaluation. One from outside this package is
named by its module, which lies in a package that the environment variable BMX_ALLOWED_PACKAGES names:
`python -m bmx_grid analyse PATH questions=[mypkg.my_question]`.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.analysis import (
    answers,
    factors,
    gains,
    headline,
    marked_words,
    metrics_and_people,
    points,
    slices,
)
from bmx_grid.analysis.base import GridTable, SweepTables, Table, each_row
from bmx_grid.analysis.gains import overview
from bmx_grid.analysis.points import chosen_points
from bmx_grid.analysis.verdict_rows import DECLARED, has_several_human_scores, widest_verdicts
from bmx_grid.core.errors import ALLOWED_PACKAGES, ComponentError, ConfigError, component_error, component_errors
from bmx_grid.core.wording import escape_unprintable
from bmx_grid.evaluations.boost_evidence import ALL

if TYPE_CHECKING:
    import pandas as pd

PACKAGE = __name__.partition(".")[0]
Questions = tuple[Any, ...]  # modules, or any objects with compute and tables
FIRST: Questions = (answers, marked_words, headline, metrics_and_people, slices)
OF_GRIDS: Questions = (points, gains, factors)


# The values of analysis.json for guests that the sweep does not name: programs that read it find every key.
WITHOUT_GUESTS: dict[str, Any] = {
    "spans": None,
    "spans_in_words": [],
    "error_free": None,
    "undefined_pairs": None,
    "task_ranking": None,
    "task_scores": None,
    "human_ranking": None,
    "outliers": None,
}


@dataclass(frozen=True, eq=False)
class Analysis(SweepTables):
    """A results table with options and questions; answers are computed at their first use.

    The answer to any question is `analysis.compute_once(MODULE.compute)`.
    """

    questions: Questions = (*FIRST, *OF_GRIDS)

    def tables(self) -> list[Table]:
        """Every table of every question, in their order; of grids the signature is the last note of each."""
        return self.tables_of(self.questions)

    def tables_of(self, questions: Questions) -> list[Table]:
        """The tables of `questions`, in the form of `tables`."""
        # The signature is of a grid.
        last = [self.compute_once(signature)] if len(self.table) else []
        signed = []
        for question in questions:
            # Kept among the answers: page, terminal and files show the same tables.
            if question.tables not in self._answers:
                self._answers[question.tables] = tuple(question.tables(self.compute_once(question.compute)))
            for table in self._answers[question.tables]:
                signed.append(replace(table, notes=(*table.notes, *last)))
        return signed

    @property
    def further_questions(self) -> Questions:
        """Those of other packages."""
        return tuple(question for question in self.questions if not _is_own(question))

    def data_frames(self) -> dict[str, pd.DataFrame]:
        """Every table as a DataFrame, by its stem; "settings" has one row per setting."""
        return {table.stem: table.frame() for table in self.tables()}


def analyse_table(
    table: GridTable,
    frames: Mapping[str, pd.DataFrame] | None = None,
    questions: Sequence[Any] | None = None,
    **reading: Any,
) -> Analysis:
    """Analyse a table by questions (see load_questions).

    frames: the other tables of the sweep, by name (see `SweepTables`); None for a results table without its sweep.
    questions: None for those of every sweep. reading: `select_from`, `fixed` and `seed` of `SweepTables`.
    Raises ConfigError when points shall be selected from a table that shares settings with the analysed one.
    """
    asked = load_questions(()) if questions is None else tuple(questions)
    frames = {} if frames is None else frames
    analysis = Analysis(frames, table, questions=asked, **reading)
    if analysis.select_from is not None:
        points.check_selection(table, analysis.select_from)
    return analysis


def drop_failing_questions(analysis: Analysis) -> tuple[Analysis, list[str]]:
    """Drop the questions of other packages that fail on the analysis's tables; also returns a sentence on each."""
    failed: Questions = ()
    reasons = []
    for question in analysis.further_questions:
        try:
            with component_errors():
                analysis.tables_of((question,))
        except ComponentError as error:
            failed = (*failed, question)
            reasons.append(f"The question {question.__name__} failed: {error}")
    if not failed:
        return analysis, []
    questions = tuple(question for question in analysis.questions if question not in failed)
    return replace(analysis, questions=questions), reasons


def load_questions(modules: Iterable[str]) -> Questions:
    """The questions of every sweep and of the named modules, without duplicates; guests' precede those of the grid.

    Raises ConfigError for a module that is not allowed or not found, or is no question.
    """
    questions = {question.__name__: question for question in (*FIRST, *OF_GRIDS)}
    named = [name for name in dict.fromkeys(modules) if name not in questions]
    loaded = [_import_question(name) for name in named]
    guests = [question for question in loaded if _is_own(question)]
    guests.sort(key=lambda question: question.__name__)
    others = [question for question in loaded if not _is_own(question)]
    return (*FIRST, *guests, *OF_GRIDS, *others)


def _is_own(question: Any) -> bool:
    """Whether a question is a module of this package."""
    return str(question.__name__).partition(".")[0] == PACKAGE


def _import_question(name: str) -> Any:
    # Importing runs code: only packages that the user has named are imported.
    listed = os.environ.get(ALLOWED_PACKAGES, "").split(",")
    allowed = [package for package in listed if package]
    package, *_ = name.split(".")
    if package not in (PACKAGE, *allowed):
        shown = ", ".join(allowed) or "none"
        raise ConfigError(
            f"questions: '{name}' is outside the packages that may be imported ({shown}). Name "
            f"its package in the environment variable {ALLOWED_PACKAGES} if you trust it."
        )
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"questions: module '{error.name}' not found for '{name}'.") from error
    except (Exception, SystemExit) as error:  # a module of another package may raise anything
        raise ConfigError(f"questions: importing '{name}' fails: {component_error(error)}") from error
    lacking = [part for part in ("compute", "tables") if not callable(getattr(module, part, None))]
    if lacking:
        parts = " and no ".join(lacking)
        raise ConfigError(f"questions: {name} has no function {parts}; a question has both.")
    return module


def signature(tables: SweepTables) -> str:
    """table:FILE|sha256:…|settings:430|p:-30:29.9:600|w:0,…,1|side:both|points:lime(w0.4,p-1.4),…

    sha256: of the names and correlations as they were read, so that two files of the same name differ.
    points: the grid points that fixed numbers are read at; w1 without p is the baseline.
    """
    table = tables.table
    used = []
    for point in each_row(tables.compute_once(chosen_points)):
        if math.isnan(point.w):
            continue
        place = f"w{point.used_w:g}"
        if point.used_w != 1:
            place += f",p{point.used_p:g}"
        used.append(f"{point.Index}({place})")
    parts = {
        "table": _short_path(table.origin),
        "sha256": _digest(table),
        "settings": str(len(table)),
        "p": f"{table.p[0]:g}:{table.p[-1]:g}:{len(table.p)}",
        "w": ",".join(f"{weight:g}" for weight in table.w),
        "side": table.side,
        "points": ",".join(used) or "none",
    }
    source = tables.select_from
    if source is not None:
        parts["select.from"] = f"{_short_path(source.origin)}@{_digest(source)}"
    fields_of_signature = [f"{key}:{value}" for key, value in parts.items()]
    return escape_unprintable("|".join(fields_of_signature))


def _short_path(origin: str) -> str:
    """A file with its folder, which mostly names the sweep."""
    return "/".join(Path(origin).parts[-2:])


def _digest(table: GridTable) -> str:
    # Of the text of `SettingKey`, its name included: another one would give all tables other signatures.
    names = repr((table.settings, table.side))
    digest = hashlib.sha256(names.encode())
    for numbers in (table.p, table.w, table.correlation):
        digest.update(numbers.tobytes())
    return digest.hexdigest()[:12]


Plain = dict[str, Any]
# The numbers of each summary that a tracking server compares sweeps by; analysis.json has all.
TRACKED = ("mean_gain", "mean_low", "mean_high", "max_gain")


def to_json(analysis: Analysis) -> str:
    """The text of analysis.json: numbers in full, NaN as null."""
    return _json(to_dict(analysis))


def table_json(tables: Iterable[Table]) -> str:
    """Rows by the name of each table."""
    return _json({table.stem: as_json_values(table.frame()) for table in tables})


def _json(value: Plain) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1)
    return f"{text}\n"


def to_dict(analysis: Analysis) -> Plain:
    """The keys of analysis.json: those of every question's result.

    Raises ConfigError when two questions write the same key.
    """
    values: Plain = {}
    owner: dict[str, str] = {}
    for question in analysis.questions:
        if question is OF_GRIDS[0]:
            # The place of guests' keys.
            values = {**values, **WITHOUT_GUESTS, **values}
        for key, value in as_json_values(analysis.compute_once(question.compute)).items():
            # Two questions may give the same number; one must not overwrite another.
            if key in owner and values[key] != value:
                raise ConfigError(
                    f"the questions {owner[key]} and {question.__name__} both write '{key}'; rename a key of one."
                )
            values[key] = value
            owner[key] = question.__name__
    return values


def tracked_metrics(analysis: Analysis) -> dict[str, float]:
    """Medians, the regression and gains, of all settings and by explainer, as flat names and numbers for a tracking
    server.

    Verdicts are gains with intervals and partial correlations, by scope, metric, explainer and boost; the scope names
    the human score if several judge.
    """
    verdicts = analysis.compute_once(widest_verdicts)
    declared = verdicts[verdicts["question"] == DECLARED]
    fit = analysis.compute_once(factors.regression)["ridge"]
    medians = analysis.compute_once(points.compute)["medians"]
    values: Plain = {
        "medians": medians[["w", "p"]],
        "ridge": {name: fit[name] for name in ("intercept", "r2", "coefficients")},
        "fixed": _tracked_gains(analysis),
    }
    with_human = has_several_human_scores(declared)
    for row in each_row(declared):
        scope = f"{row.dataset} {row.language_pair}"
        if with_human:
            scope += f" {row.human}"
        # With slashes, as `_flatten` names nested keys.
        values[f"verdicts/{scope}/{row.metric}/{row.explainer}/{row.boost}"] = {
            "gain": row.gain,
            "low": row.gain_low,
            "high": row.gain_high,
            "partial_r": row.partial_r,
        }
    return _flatten(values)


def _tracked_gains(analysis: Analysis) -> Plain:
    """The TRACKED numbers of the gains at one point per explainer, of all settings and by explainer."""
    numbers_by_name = as_json_values(analysis.compute_once(overview)[list(TRACKED)])
    # Those of all settings are above the explainers, without a name of their own.
    return {**numbers_by_name.pop(ALL, {}), **numbers_by_name}


def _flatten(values: Plain) -> dict[str, float]:
    """The numbers of nested results that are defined, by names with slashes."""
    import pandas as pd

    (flat,) = pd.json_normalize(as_json_values(values), sep="/").to_dict("records")
    numbers = {}
    for name, value in flat.items():
        # NaN differs from itself.
        if value is not None and value == value:
            numbers[str(name)] = float(value)
    return numbers


def as_json_values(value: Any) -> Any:
    """A result, or anything in it, as dicts, lists, numbers, texts and None.

    A frame becomes a list of its rows; with names in its index, dicts of rows by these. A dataclass becomes its fields,
    arrays become lists; NaN and infinities become None. Raises TypeError for other types than JSON has.
    """
    # Once through JSON: it visits everything that is nested, and reads NaN and infinities as constants.
    text = json.dumps(value, default=_json_default)
    return json.loads(text, parse_constant=lambda _: None)


def _json_default(value: Any) -> Any:
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        return _rows(value)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if is_dataclass(value):
        return vars(value)
    raise TypeError(f"a result holds {type(value).__name__}, which analysis.json cannot: {value!r}")


def _rows(frame: Any) -> Any:
    """The rows of a frame, by the names of its index if it has names."""
    if frame.index.nlevels > 1:
        return {name: _rows(part.droplevel(0)) for name, part in frame.groupby(level=0, sort=False)}
    is_numbered = frame.index.dtype.kind in "iu"
    return frame.to_dict("records" if is_numbered else "index")
