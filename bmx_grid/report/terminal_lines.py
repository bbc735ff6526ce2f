"""What a sweep says on a terminal: its plan, each setting as it ends, then the answer and what failed."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bmx_grid.analysis.base import Given
from bmx_grid.analysis.points import point_name
from bmx_grid.core.wording import correlation_in_words, counted, named, number, setting_label, shortened
from bmx_grid.evaluations.base import Evaluation
from bmx_grid.measures.correlation import FEWEST
from bmx_grid.measures.grid import GridSpec
from bmx_grid.measures.resampling import FEWEST_CLUSTERS
from bmx_grid.report.table import wrapped
from bmx_grid.sweep.outcomes import Outcome
from bmx_grid.sweep.settings import Refused, Setting, SweepPlan

WIDEST = 120  # characters per line, on however wide a terminal
NARROWEST = 40
MOST_ANSWERS = 12  # metrics and explainers that have a line
MOST_IN_LINE = 120  # signs of why a setting failed, in its line
OF_MODEL = re.compile(r"model '(?P<model>[^']+)' \(revision (?P<revision>[^)]+)\) ")
FEWEST_WORDS = 3  # per text, on average


def terminal_width() -> int:
    """Characters per line: those of the terminal, but not too few and not too many to be read."""
    return max(min(shutil.get_terminal_size((80, 24)).columns, WIDEST), NARROWEST)


def fitted(text: str) -> str:
    """A sentence in lines that fit the terminal."""
    return wrapped(text, terminal_width(), "  ")


def sentences(lines: Iterable[str]) -> str:
    """Sentences that begin on a line each."""
    return "\n".join(map(fitted, lines))


def unit_of_gains(analysis: Given) -> str:
    """What the numbers of an answer are."""
    correlation = correlation_in_words(analysis.correlation)
    return f"Gains are differences of {correlation} on segments that did not choose the boost, with 95 % intervals."


def _by_cause(refused: Sequence[Refused]) -> list[tuple[list[str], str]]:
    """Each cause once, and what is refused for it, in order.

    Sentences on several models that differ in the model and its revision only are one, with MODEL and REVISION in it,
    and these at its end.
    """
    labels: dict[str, list[str]] = {}
    reasons: dict[str, dict[str, str]] = {}  # by sentence without its model: the whole sentence of each model
    for part in refused:
        key = part.reason
        model = ""
        # Models that are not there are refused for one reason, but for their names.
        about = OF_MODEL.match(part.reason)
        if about is not None:
            model = f"{about['model']} {about['revision']}"
            key = key.replace(about["model"], "MODEL").replace(about["revision"], "REVISION")
        labels.setdefault(key, []).append(part.label)
        reasons.setdefault(key, {})[model] = part.reason
    causes: list[tuple[list[str], str]] = []
    for key, reason_of_model in reasons.items():
        # A sentence on one model stays as it was.
        if len(reason_of_model) == 1:
            (reason,) = reason_of_model.values()
        else:
            reason = f"{key} MODEL and REVISION are: {', '.join(reason_of_model)}"
        causes.append((labels[key], reason))
    return causes


def failures(failed: Sequence[Refused], title: str = "failed") -> str:
    """How many parts of a sweep failed, then each reason once, with how many failed for it; "" where none did."""
    if not failed:
        return ""
    lines = [f"  {named(labels, 1)}: {reason}" for labels, reason in _by_cause(failed)]
    return "\n".join([f"{title}: {len(failed)}", *(wrapped(line, terminal_width(), "    ") for line in lines)])


def setting_line(outcome: Outcome, place: int, total: int, said: set[str]) -> str:
    """One line for one finished setting: correlations of the metric alone and at its fixed point, what it took.

    A reason that is already in `said` is not said again; a new one is added. A long one is cut: `failures` has it all.
    """
    head = f"[{place:>{len(str(total))}}/{total}] {outcome.label}: "
    result = outcome.result
    if result is None:
        reason = "for the same reason" if outcome.reason in said else shortened(outcome.reason, MOST_IN_LINE)
        said.add(outcome.reason)
        return f"{head}failed: {reason}"
    parts = []
    if result.n_unexplained > 0:
        parts.append(f"{counted(result.n_unexplained, 'segment')} not explained")
    spent = result.spent
    if spent.n_truncated > 0:
        parts.append(f"{spent.n_truncated:,} of {counted(spent.n_texts, 'text')} truncated")
    if spent.unread:
        parts.append(f"{counted(len(spent.unread), 'answer')} could not be read, for example {spent.unread[0]}")
    if math.isfinite(result.grid.baseline):
        parts.append(f"baseline {number(result.grid.baseline, '.4f')}")
    if result.has_grid and math.isfinite(result.published.correlation):
        point = result.published
        name = point_name(result.explainer, point.w, point.p)
        parts.append(f"{name.removeprefix('the ')} {number(point.correlation, '.4f')}")
    if result.cached:
        parts.append("cached")
    else:
        parts += [f"{spent.seconds:.1f} s", counted(spent.n_texts, "text")]
    return head + ", ".join(parts)


def announcement(
    name: str, plan: SweepPlan, spec: GridSpec | None, left_out: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """What a sweep runs and what it leaves out, and warnings. left_out: evaluations and why. spec: as in plan_table."""
    # Metrics alone have no words to aggregate, and so no grid.
    has_grid = spec is not None and any(setting.explainer is not None for setting in plan.settings)
    grid = f", {len(spec.p) * len(spec.w):,} grid points each" if spec is not None and has_grid else ""
    lines = [f"{name}: {_settings(plan)}{grid}, at most {counted(plan.n_texts_here, 'text')} to score"]
    if plan.repeats:
        seeds = dict.fromkeys(str(setting.seed) for setting in plan.repeats)
        n_repeated = len(plan.repeats) // len(seeds)
        lines.append(f"{n_repeated} of them again with seed {', '.join(seeds)}: tables/seeds.parquet")
    lines += [f"evaluation {evaluation} left out: {reason}" for evaluation, reason in left_out.items()]
    return lines + _each("left out", plan.left_out), cautions(plan) + _each("failed", plan.failed)


def _settings(plan: SweepPlan) -> str:
    n_cached = sum(setting.cached for setting in plan.settings)
    return f"{counted(len(plan.settings), 'setting')} ({n_cached} cached)"


def _each(title: str, refused: Sequence[Refused]) -> list[str]:
    return [f"{title}: {named(labels)}: {reason}" for labels, reason in _by_cause(refused)]


def cautions(plan: SweepPlan) -> list[str]:
    """Warnings of what will be undefined or say little.

    Too few human scores, constant ones, too few clusters for intervals, and texts of hardly any words.
    """
    settings = plan.settings
    spaced = ""
    if all(setting.words.plain for setting in settings):
        spaced = ": for text written without spaces set words=unicode"
    few_rated: list[str] = []
    constant: list[str] = []
    few_clusters: list[str] = []
    warnings = {
        f"; a correlation needs {FEWEST}, so that it is undefined there: raise limit, or add human scores": few_rated,
        "; a correlation with a constant is undefined (n/a): choose another human score, or segments whose scores "
        "differ": constant,
        " (those that share a source, a reference or a document count as one); intervals and tests need "
        f"{FEWEST_CLUSTERS} and are undefined (n/a) there: add segments with other sources, or documents": few_clusters,
        f"; attributions to fewer than {FEWEST_WORDS} say little{spaced}": _few_words(settings),
    }
    # Reversed twice: of each language pair the first setting, and these in their order.
    first = {setting.names[:2]: setting for setting in reversed(settings)}
    for names, setting in reversed(first.items()):
        part = setting_label(*names)
        segments = setting.segments
        rated = np.isfinite(segments.human_scores)
        scores = segments.human_scores[rated]
        if len(scores) < FEWEST:
            whole = segments.judgements.systems.get(segments.judgements.primary) is not None
            if not whole or setting.explainer is not None:  # the system level needs no rated segment
                few_rated.append(f"{part} has {counted(len(scores), 'rated segment')}")
            continue
        if scores.min() == scores.max():
            constant.append(f"all {len(scores):,} human scores of {part} are {number(scores[0])}")
        count = len(set(np.asarray(setting.clusters, dtype=np.str_)[rated].tolist()))
        if count < FEWEST_CLUSTERS:
            few_clusters.append(f"the rated segments of {part} are {counted(count, 'cluster')}")
    return [f"warning: {named(parts, 5)}{advice}." for advice, parts in warnings.items() if parts]


def _few_words(settings: Sequence[Setting]) -> list[str]:
    """Sides of so few words that attributions say nothing, as of text that is written without spaces."""
    means: dict[str, float] = {}
    for setting in settings:
        for role in setting.metric.reads if setting.to_ask is not None else ():
            side = f"the {role} of {setting_label(*setting.names[:2])}"
            # Settings of one language pair read the same texts.
            if side not in means:
                texts = setting.segments.texts(role)
                n_words = sum(len(setting.words.words(role, text)) for text in texts)
                means[side] = n_words / max(len(texts), 1)
    return [f"{side} has {mean:.1f} words per text" for side, mean in means.items() if mean < FEWEST_WORDS]


def plan_table(
    plan: SweepPlan, evaluations: Mapping[str, Evaluation], spec: GridSpec | None, times: Mapping[str, str]
) -> str:
    """The plan in words: settings, what they cost, what is left out and why.

    spec: of the grid, None without one. times: of metrics, how long they score, as the end of their line.
    """
    lines = [f"{'segments':>8}  {'rated':>6}  {'to score':>11}  setting"]
    for setting in plan.everything:
        cost = "cached" if setting.cached else f"{setting.n_texts:,}"
        lines.append(f"{len(setting.segments):>8,}  {setting.segments.rated:>6,}  {cost:>11}  {setting.label}")
    lines += ["", *cautions(plan)]
    lines += _each("left out", plan.left_out) + _each("failed", plan.failed)
    lines += _each("unavailable", [Refused(name, reason) for name, reason in plan.unavailable.items()])
    lines += [f"texts to score with {name}: {texts}{times.get(name, '')}" for name, texts in plan.costs().items()]
    sizes = [len(setting.segments) for setting in plan.settings]
    for name, evaluation in evaluations.items():
        seconds = sum(map(evaluation.cost, sizes))
        lines.append(f"evaluation {name}: about {seconds:,.0f} s on one core" if seconds >= 1 else f"evaluation {name}")
    n_correlations = n_boosted = 0
    if spec is not None:
        n_curves = len(spec.p) * sum(setting.explainer is not None for setting in plan.settings)
        n_correlations = n_curves * len(spec.w)
        n_boosted = n_curves * sum(weight != 1 for weight in spec.w)
    total = (
        f"{_settings(plan)}, {counted(n_correlations, 'correlation')}, "
        f"{n_boosted:,} of them with w other than 1; at most "
        f"{counted(plan.n_texts, 'text')} to score before repeats are taken out"
    )
    lines.append(fitted(total))
    return "\n".join(lines)
