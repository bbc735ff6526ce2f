"""What a sweep prints while it is planned and while it runs."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence

import numpy as np

from bmx_grid.evaluations.base import Evaluation
from bmx_grid.measures.correlation import FEWEST
from bmx_grid.measures.grid import GridSpec
from bmx_grid.measures.resampling import FEWEST_CLUSTERS
from bmx_grid.report.table import columns_of
from bmx_grid.report.terminal import fitted
from bmx_grid.segments import SegmentSet
from bmx_grid.sweep.evaluation import Outcome
from bmx_grid.sweep.settings import SweepPlan
from bmx_grid.wording import counted, number, setting_label

FEWEST_WORDS = 3  # per text, on average


def setting_line(outcome: Outcome, place: int, total: int, said: set[str], width: int | None = None) -> str:
    """One line for one finished setting: the metric alone, its gain at the declared point, and what it took.

    A reason that is already in `said` is not said again; a new one is added. width: characters per line, as wide as the
    terminal for None: what has no room is left out, from the end, but no reason and nothing that was not explained.
    """
    width = shutil.get_terminal_size((80, 24)).columns if width is None else width
    head = f"[{place:>{len(str(total))}}/{total}] {outcome.label}: "
    result = outcome.result
    if result is None:
        reason = "for the same reason" if outcome.reason in said else outcome.reason
        said.add(outcome.reason)
        return f"{head}failed: {reason}"
    parts = []
    if result.n_unexplained > 0:
        parts.append(f"{counted(result.n_unexplained, 'segment')} not explained")
    if result.n_truncated > 0:
        parts.append(f"{result.n_truncated:,} of {counted(result.n_texts, 'text')} truncated")
    needed = len(parts) + 1
    if math.isfinite(result.baseline):
        parts.append(f"baseline {number(result.baseline, '.4f')}")
    if result.has_grid and math.isfinite(result.fixed_gain):
        parts.append(f"gain {number(result.fixed_gain, '+.4f')}")
    spent = [f"{result.seconds:.1f} s", counted(result.n_texts, "text")]
    parts += ["cached"] if outcome.status == "cached" else spent
    while len(parts) > needed and columns_of(head + ", ".join(parts)) > width:
        parts.pop()
    return head + ", ".join(parts)


def cautions(plan: SweepPlan) -> list[str]:
    """Warnings of what will be undefined or say little.

    Too few human scores, constant ones, too few clusters for intervals, and texts of hardly any words.
    """
    found: dict[tuple[str, str], tuple[SegmentSet, Sequence[str]]] = {}
    for setting in (planned.setting for planned in plan.settings):
        one = setting.segments
        found.setdefault((one.dataset, one.language_pair), (one, plan.clusters_of(setting)))
    constant, few = [], []
    for names, (segments, clusters) in found.items():
        rated = np.isfinite(segments.human_scores)
        if rated.sum() < FEWEST:
            continue  # said of them already
        scores = segments.human_scores[rated]
        if scores.min() == scores.max():
            constant.append(f"all {len(scores):,} human scores of {setting_label(*names)} are {number(scores[0])}")
        count = len(set(np.asarray(clusters, dtype=np.str_)[rated].tolist()))
        if count < FEWEST_CLUSTERS:
            few.append(f"the rated segments of {setting_label(*names)} are {counted(count, 'cluster')}")
    said = _few_rated(plan)
    if constant:
        said.append(
            f"warning: {_some(constant)}; a correlation with a constant is undefined (n/a): choose another human "
            "score, or segments whose scores differ."
        )
    if few:
        said.append(
            f"warning: {_some(few)} (those that share a source or a reference count as one); intervals and tests need "
            f"{FEWEST_CLUSTERS} and are undefined (n/a) there: add segments with other sources and references."
        )
    return [*said, *_few_words(plan)]


def _few_words(plan: SweepPlan) -> list[str]:
    """A warning for sides of so few words that attributions say nothing, as of text that is written without spaces."""
    known: dict[tuple[str, str, str], float] = {}
    unlike_spaces = False
    for setting in (planned.setting for planned in plan.settings):
        if setting.imported is not None or setting.explainer is None:
            continue
        for role in setting.metric.reads:
            key = (setting.segments.dataset, setting.segments.language_pair, role)
            if key not in known:
                texts = setting.segments.texts(role)
                known[key] = sum(len(setting.words.words(role, text)) for text in texts) / max(len(texts), 1)
        unlike_spaces = unlike_spaces or not setting.words.plain
    few = [
        f"the {role} of {setting_label(dataset, pair)} has {mean:.1f}"
        for (dataset, pair, role), mean in known.items()
        if mean < FEWEST_WORDS
    ]
    if not few:
        return []
    way_out = "" if unlike_spaces else ": for text written without spaces set words=unicode"
    return [f"warning: words per text: {_some(few)}; attributions to fewer than {FEWEST_WORDS} say little{way_out}."]


def _some(told: Sequence[str]) -> str:
    more = f", and {counted(len(told) - 5, 'other')} likewise" if len(told) > 5 else ""
    return f"{', '.join(told[:5])}{more}"


def _few_rated(plan: SweepPlan) -> list[str]:
    """A warning for the parts of a sweep with too few human scores for a correlation; empty where there is none."""
    few = {}
    for setting in (planned.setting for planned in plan.settings):
        one = setting.segments
        whole = one.judgements.systems.get(one.human_name) is not None  # then the system level needs no rated segment
        if one.rated < FEWEST and not (whole and setting.explainer is None):
            few[setting_label(one.dataset, one.language_pair)] = one.rated
    if not few:
        return []
    told = [f"{label} has {counted(rated, 'rated segment')}" for label, rated in few.items()]
    return [
        f"warning: {_some(told)}; a correlation needs {FEWEST}, so that it is undefined there: raise limit, or "
        "add human scores."
    ]


def plan_lines(plan: SweepPlan) -> list[str]:
    """One line per planned setting, below a heading."""
    lines = [f"{'segments':>8}  {'rated':>6}  {'to score':>11}  setting"]
    rated: dict[int, int] = {}
    for planned in plan.settings:
        segments = planned.setting.segments
        if id(segments) not in rated:
            rated[id(segments)] = segments.rated
        cost = "cached" if planned.cached else f"{planned.n_texts:,}"
        lines.append(f"{len(segments):>8,}  {rated[id(segments)]:>6,}  {cost:>11}  {planned.setting.label}")
    return lines


def plan_table(plan: SweepPlan, evaluations: Mapping[str, Evaluation], spec: GridSpec | None) -> str:
    """The plan in words: settings, what they cost, what is left out and why. spec: of the grid, None without one."""
    n_points, n_boosted = (
        (0, 0) if spec is None else (len(spec.p) * len(spec.w), len(spec.p) * sum(w != 1 for w in spec.w))
    )
    lines = plan_lines(plan)
    for seed, settings in plan.repeats.items():
        cached = sum(planned.cached for planned in settings)
        texts = sum(planned.n_texts for planned in settings)
        lines.append(
            f"again with seed {seed}: {counted(len(settings), 'setting')} ({cached} cached), {texts:,} texts to score"
        )
    by_metric: dict[str, int] = {}
    for planned in plan.everything:
        name = planned.setting.metric_name
        by_metric[name] = by_metric.get(name, 0) + planned.n_texts
    lines += ["", *cautions(plan)]
    lines += [f"left out: {one.label}: {one.reason}" for one in plan.left_out]
    lines += [f"failed: {one.label}: {one.reason}" for one in plan.failed]
    lines += [f"unavailable: {name}: {reason}" for name, reason in plan.unavailable.items()]
    lines += [f"texts to score with {name}: {texts:,}" for name, texts in by_metric.items()]
    sizes = [len(planned.setting.segments) for planned in plan.settings]
    for name, evaluation in evaluations.items():
        seconds = sum(map(evaluation.cost, sizes))
        lines.append(f"evaluation {name}: about {seconds:,.0f} s on one core" if seconds >= 1 else f"evaluation {name}")
    count = sum(planned.setting.explainer is not None for planned in plan.settings)
    n_cached = sum(planned.cached for planned in plan.settings)
    total = (
        f"{counted(len(plan.settings), 'setting')} ({n_cached} cached), {counted(count * n_points, 'correlation')}, "
        f"{count * n_boosted:,} of them with w other than 1; at most {counted(plan.n_texts, 'text')} to score before "
        "repeats are taken out"
    )
    lines.append(fitted(total))
    return "\n".join(lines)
