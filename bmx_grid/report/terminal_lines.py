"""The output of a sweep in a terminal: its plan, each setting as it ends, the answer and the failures."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from bmx_grid.analysis.base import Cell, Table
from bmx_grid.core.wording import join_names, number, pluralize, setting_label, shorten
from bmx_grid.evaluations.base import Evaluation
from bmx_grid.measures.correlation import FEWEST
from bmx_grid.measures.grid import GridSpec
from bmx_grid.measures.resampling import FEWEST_CLUSTERS
from bmx_grid.report.table import as_text, terminal_width, wrap_text, wrap_to_terminal
from bmx_grid.sweep.judge import SettingResult
from bmx_grid.sweep.settings import NotRun, Setting, SweepPlan

MOST_IN_LINE = 120  # signs of why a setting failed, in its line
OF_MODEL = re.compile(r"model '(?P<model>[^']+)' \(revision (?P<revision>[^)]+)\) ")
FEWEST_WORDS = 3  # per text, on average


def _group_by_cause(refused: Sequence[NotRun]) -> list[tuple[list[str], str]]:
    """Group the settings that did not run by cause, in order.

    Sentences on several models that differ in the model and its revision only are one, with MODEL and REVISION in it,
    and these at its end.
    """
    labels: dict[str, list[str]] = {}
    reasons: dict[str, dict[str, str]] = {}  # by sentence without its model: the whole sentence of each model
    for part in refused:
        sentence = part.reason
        model = ""
        # Models that are missing are refused for one reason, but for their names.
        match = OF_MODEL.match(sentence)
        if match is not None:
            model = f"{match['model']} {match['revision']}"
            sentence = sentence.replace(match["model"], "MODEL")
            sentence = sentence.replace(match["revision"], "REVISION")
        labels.setdefault(sentence, []).append(part.label)
        reasons.setdefault(sentence, {})[model] = part.reason
    causes: list[tuple[list[str], str]] = []
    for sentence, reason_of_model in reasons.items():
        # A sentence on one model stays as it was.
        if len(reason_of_model) == 1:
            (reason,) = reason_of_model.values()
        else:
            reason = f"{sentence} MODEL and REVISION are: {', '.join(reason_of_model)}"
        causes.append((labels[sentence], reason))
    return causes


def failures(failed: Sequence[NotRun], title: str = "failed") -> str:
    """How many parts of a sweep failed, then each reason once, with how many failed for it; "" if none did."""
    if not failed:
        return ""
    lines = [f"{title}: {len(failed)}"]
    for labels, reason in _group_by_cause(failed):
        line = f"  {join_names(labels, 1)}: {reason}"
        lines.append(wrap_text(line, terminal_width(), "    "))
    return "\n".join(lines)


def setting_line(ended: SettingResult | NotRun, place: int, total: int, printed: set[str]) -> str:
    """One line for one finished setting: the correlation of the baseline, and the time it took.

    printed: reasons printed before; they are not repeated, and a new one is added. Long reasons are cut: `failures` has
    the full text.
    """
    # As many digits as the last setting has, so that lines begin alike.
    n_digits = len(str(total))
    head = f"[{place:>{n_digits}}/{total}] {ended.label}: "
    if isinstance(ended, NotRun):
        reason = "for the same reason"
        if ended.reason not in printed:
            printed.add(ended.reason)
            reason = shorten(ended.reason, MOST_IN_LINE)
        return wrap_to_terminal(f"{head}failed: {reason}")
    parts = []
    n_unexplained = ended.finished.scores.n_unexplained
    if n_unexplained > 0:
        segments = pluralize(n_unexplained, "segment")
        parts.append(f"{segments} not explained")
    spent = ended.spent
    if spent.n_truncated > 0:
        texts = pluralize(spent.n_texts, "text")
        parts.append(f"{spent.n_truncated:,} of {texts} truncated")
    if spent.unread:
        answers = pluralize(len(spent.unread), "answer")
        parts.append(f"{answers} could not be read, for example {spent.unread[0]}")
    if math.isfinite(ended.grid.baseline):
        baseline = number(ended.grid.baseline, ".4f")
        parts.append(f"baseline {baseline}")
    parts.append("cached" if ended.cached else f"{spent.seconds:.1f} s")
    return wrap_to_terminal(head + ", ".join(parts))


def announcement(name: str, plan: SweepPlan, left_out: Sequence[NotRun]) -> tuple[list[str], list[str]]:
    """Announce the settings, the skipped ones, and warnings. left_out: evaluations."""
    texts = pluralize(plan.n_texts_here, "text")
    lines = [f"{name}: {_settings(plan)}, at most {texts} to score"]
    for evaluation, n_further in _further(plan).items():
        lines.append(f"evaluation {evaluation}: at most {pluralize(n_further, 'further text')} to score")
    if plan.repeats:
        # A dict keeps the order of the seeds. Every seed repeats the same settings.
        seeds = dict.fromkeys(str(setting.seed) for setting in plan.repeats)
        n_repeated = len(plan.repeats) // len(seeds)
        named_seeds = ", ".join(seeds)
        lines.append(f"{n_repeated} of them again with seed {named_seeds}: tables/seeds.parquet")
    for part in left_out:
        lines.append(f"{part.label} left out: {part.reason}")
    lines += _each("left out", plan.left_out)
    warnings = cautions(plan)
    warnings += _each("failed", plan.failures)
    return list(map(wrap_to_terminal, lines)), list(map(wrap_to_terminal, warnings))


def _settings(plan: SweepPlan) -> str:
    """The number of settings, and the number with cached results."""
    n_cached = sum(setting.is_cached for setting in plan.settings)
    n_settings = pluralize(len(plan.settings), "setting")
    return f"{n_settings} ({n_cached} cached)"


def _further(plan: SweepPlan) -> Counter[str]:
    """At most how many further texts each evaluation wants scored."""
    n_texts = Counter[str]()
    for part in plan.further:
        n_texts[part.evaluation] += part.n_texts
    return +n_texts


def _n_explained(plan: SweepPlan) -> int:
    """How many settings have an explainer."""
    return sum(setting.explainer is not None for setting in plan.settings)


def _each(title: str, refused: Sequence[NotRun]) -> list[str]:
    """One line per reason, with the names of the refused parts."""
    lines = []
    for labels, reason in _group_by_cause(refused):
        lines.append(f"{title}: {join_names(labels)}: {reason}")
    return lines


def cautions(plan: SweepPlan) -> list[str]:
    """Warn of results that will be undefined or weak.

    Causes: too few human scores, constant ones, too few clusters for intervals, and texts with almost no words.
    """
    settings = plan.settings
    spaced = ""
    if all(setting.words.plain for setting in settings):
        spaced = ": for text written without spaces set words=unicode"
    few_rated: list[str] = []
    constant: list[str] = []
    few_clusters: list[str] = []
    warnings = {
        f"; a correlation needs {FEWEST}, so that it is undefined: raise limit, or add human scores": few_rated,
        "; a correlation with a constant is undefined (n/a): choose another human score, or segments whose scores "
        "differ": constant,
        " (those that share a source, a reference or a document count as one); intervals and tests need "
        f"{FEWEST_CLUSTERS} and are undefined (n/a): add segments with other sources, or documents": few_clusters,
        f"; attributions to fewer than {FEWEST_WORDS} say little{spaced}": _few_words(settings),
    }
    # Settings of one language pair share their segments: one of each is enough. Reversed twice: the first setting of
    # each pair is the one that stays.
    first = {setting.names[:2]: setting for setting in reversed(settings)}
    for names, setting in reversed(first.items()):
        part = setting_label(*names)
        segments = setting.segments
        judgements = segments.judgements
        rated = np.isfinite(segments.human_scores)
        scores = segments.human_scores[rated]
        if len(scores) < FEWEST:
            # People may have scored whole systems: the system level needs no rated segment.
            has_systems = judgements.systems.get(judgements.primary_of_systems) is not None
            if not has_systems or setting.explainer is not None:
                n_rated = pluralize(len(scores), "rated segment")
                few_rated.append(f"{part} has {n_rated}")
            continue
        if scores.min() == scores.max():
            value = number(scores[0])
            constant.append(f"all {len(scores):,} human scores of {part} are {value}")
        clusters = np.asarray(setting.clusters, dtype=np.str_)
        n_clusters = len(set(clusters[rated].tolist()))
        if n_clusters < FEWEST_CLUSTERS:
            clusters_in_words = pluralize(n_clusters, "cluster")
            few_clusters.append(f"the rated segments of {part} are {clusters_in_words}")
    lines = []
    for advice, parts in warnings.items():
        if parts:
            first_parts = join_names(parts, 5)
            lines.append(f"warning: {first_parts}{advice}.")
    return lines


def _few_words(settings: Sequence[Setting]) -> list[str]:
    """Sides with too few words for attributions, such as text without spaces."""
    means: dict[str, float] = {}
    for setting in settings:
        # Without an explainer no words get attributions.
        if setting.to_ask is None:
            continue
        part = setting_label(*setting.names[:2])
        for role in setting.metric.reads:
            side = f"the {role} of {part}"
            # Settings of one language pair read the same texts.
            if side in means:
                continue
            texts = setting.segments.texts(role)
            n_words = sum(len(setting.words.words(role, text)) for text in texts)
            means[side] = n_words / max(len(texts), 1)
    sides = []
    for side, mean in means.items():
        if mean < FEWEST_WORDS:
            sides.append(f"{side} has {mean:.1f} words per text")
    return sides


def plan_table(
    plan: SweepPlan, evaluations: Mapping[str, Evaluation], spec: GridSpec | None, times: Mapping[str, str]
) -> str:
    """The plan in words: settings, their cost, skipped parts and the reasons.

    spec: of the grid, None without one. times: of metrics, how long they score, as the end of their line.
    """
    rows = []
    for setting in plan.everything:
        cost = Cell(setting.n_texts, words="cached" if setting.is_cached else f"{setting.n_texts:,}")
        segments = setting.segments
        rows.append((Cell(setting.label), Cell(len(segments), ","), Cell(segments.n_rated, ","), cost))
    table = Table("plan", "Settings", ("setting", "segments", "rated", "to score"), (tuple(rows),), ())
    lines = [as_text(table, terminal_width()), *cautions(plan)]
    lines += _each("left out", plan.left_out)
    lines += _each("failed", plan.failures)
    lines += _each("unavailable", list(plan.unavailable.values()))
    for name, texts in plan.costs().items():
        time = times.get(name, "")
        lines.append(f"texts to score with {name}: {texts}{time}")
    n_segments = [len(setting.segments) for setting in plan.settings]
    further = _further(plan)
    for name, evaluation in evaluations.items():
        seconds = sum(map(evaluation.cost, n_segments))
        parts = []
        if further[name] > 0:
            parts.append(f"at most {pluralize(further[name], 'further text')} to score")
        if seconds >= 1:
            parts.append(f"about {seconds:,.0f} s on one core")
        lines.append(": ".join(filter(None, [f"evaluation {name}", ", ".join(parts)])))
    n_correlations = 0
    n_boosted = 0
    if spec is not None:
        n_powers = len(spec.p) * _n_explained(plan)
        n_boosting_weights = sum(weight != 1 for weight in spec.w)
        n_correlations = n_powers * len(spec.w)
        n_boosted = n_powers * n_boosting_weights
    correlations = pluralize(n_correlations, "correlation")
    texts_of_all = pluralize(plan.n_texts + plan.n_further, "text")
    total = (
        f"{_settings(plan)}, {correlations}, {n_boosted:,} of them with w other than 1; "
        f"at most {texts_of_all} to score before repeats are taken out"
    )
    lines.append(wrap_to_terminal(total))
    return "\n".join(lines)
