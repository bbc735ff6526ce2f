"""A small sweep made up in memory, with everything that evaluations ask for: every word and number made of it.

The other tests say what is right; this one says what changed. tests/expected holds it, and is written anew by
`PYTHONPATH=.:tests python tests/contracts/test_whole_sweep.py`. No cell depends on the last digits of a float, which
differ between processors: numbers have ten digits, a digest is of texts without numbers, and nothing is padded.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
import re
from collections import Counter, defaultdict

import numpy as np
import pytest
from fakes import ROOT, HashMetric, composed
from snapshots import GAP, NUMBER, report, section_text, without_numbers
from some_settings import LowerIsBetter
from some_tables import flat, random_surfaces, table

from bmx_grid.analysis.load import from_arrow
from bmx_grid.analysis.questions import analyse_table, load_questions, to_dict
from bmx_grid.boosts.learned import Learned
from bmx_grid.boosts.power_mean_grid import PowerMeanGrid
from bmx_grid.core.configure import build
from bmx_grid.core.ragged import Labels, Ragged
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet, clusters
from bmx_grid.evaluations.base import Evaluation, ScoredSetting
from bmx_grid.evaluations.grid_surface import GridEvaluation
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.measures.grid import Point, PowerRange
from bmx_grid.report.table import MARK
from bmx_grid.sweep.judge import SettingResult, Spent
from bmx_grid.sweep.tables import ceilings_table, evaluation_tables, settings_table
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.tags import WordTags

SYSTEMS, ITEMS = "abcd", 14  # partial correlations need 12 clusters
PAIRS = (("one", "de-en"), ("one", "fi-en"), ("one", "lv-en"), ("two", "de-en"), ("alone", "cs-en"))
OF_PAIRS = (("m1", "lime"), ("m1", "shap"), ("m2", "lime"), ("m1", "random"))
ALONE = (("m1", "none"), ("m2", "none"))  # on the last pair, of whose systems people scored some as a whole
GRID = GridEvaluation(
    p=PowerRange(-3, 4, 1), w=(0.0, 0.4, 0.8, 1.0), fixed={"lime": Point(w=0.4, p=-1.0)}, max_points=1000
)
BOOSTS = {"power_mean_grid": PowerMeanGrid(p=GRID.p, w=GRID.w), "learned": Learned(penalties=(0.1, 1.0), folds=2)}
CHANGES = {
    "levels": {"resamples": 20},
    "significance": {"resamples": 99, "grid": GRID, "tests": ("williams", "perm_inputs", "perm_systems", "bootstrap")},
    "boosts": {"resamples": 40, "draws": 1, "grid": GRID, "boosts": BOOSTS},
    "words": {"resamples": 40, "folds": 3},
    "top_systems": {"resamples": 40},
}


def marked_words(draw, texts):
    """Tags of the words of each text: a word is BAD with a probability of 0.35."""
    words = tuple(tuple(text.split()) for text in texts)
    labels = Labels.from_rows(draw.random(len(row)) < 0.35 for row in words)
    return WordTags(words, labels)


def segments_of(dataset, pair, number):
    """The segments of the pair with this number: every system's translation of each source, scored by people."""
    draw = np.random.default_rng([7, number])
    n = len(SYSTEMS) * ITEMS
    # the first items of all pairs of a data set are the same sources
    # and of different lengths: a constant number of words would leave the fitted length terms to rounding
    sources = [
        f"{dataset if item < 2 else pair} quelle {item}" + " wort" * (item % 3)
        for item in range(ITEMS)
        for _ in SYSTEMS
    ]
    texts = [" ".join(f"{pair[0]}{row}x{word}" for word in range(draw.integers(2, 9))) for row in range(n)]
    human = draw.normal(size=n) + 0.3 * (np.arange(n) % len(SYSTEMS))
    human[5] = np.nan
    raters = human[:, None] + 0.5 * draw.normal(size=(n, 3))
    tags = {"hypothesis": marked_words(draw, texts), "source": marked_words(draw, sources)}
    segments = tuple(
        Segment(str(row // len(SYSTEMS)), texts[row], source=sources[row], system=SYSTEMS[row % len(SYSTEMS)])
        for row in range(n)
    )
    judgements = Judgements(
        {"da": human, "mqm": np.round(human)}, {"da": raters}, tags=tags if dataset == "two" else {}
    )
    if dataset == "alone":
        of_systems = {"mqm": dict(zip(SYSTEMS, (0.1, 0.4, 0.2, 0.9), strict=True))}
        judgements = Judgements({"da": human, "mqm": np.full(n, np.nan)}, systems=of_systems)
    return SegmentSet(dataset, pair, segments, judgements)


def setting_of(segments, metric_name, explainer, number):
    """A finished setting on the segments of the pair with this number; "m2" is a metric whose low scores are better."""
    draw = np.random.default_rng([11, number, *f"{metric_name}{explainer}".encode()])
    draw_of_metric = np.random.default_rng([13, number, *metric_name.encode()])
    metric = LowerIsBetter() if metric_name == "m2" else HashMetric()
    sign = -1.0 if metric_name == "m2" else 1.0
    human = np.nan_to_num(segments.judgements.scores["da"])
    base = sign * (0.5 * human + draw_of_metric.normal(size=len(segments)))
    items = segments.items(("source", "hypothesis"))
    labels = clusters([segments])[0].tolist()
    if explainer == "none":
        return ScoredSetting(segments, metric_name, explainer, metric, None, items, AttributionSet(base, {}), labels)
    strength = {"lime": 0.6, "shap": 0.2}.get(explainer, 0.0)
    attributions = {}
    for role in ("source", "hypothesis"):
        rows = []
        for row, segment in enumerate(segments.segments):
            words = getattr(segment, role).split()
            level = np.exp(strength * human[row])
            below_zero = 0.2 * (row % 5 == 0)
            rows.append(sign * (level * draw.random(len(words)) - below_zero))
        attributions[role] = Ragged.from_rows(rows)
    scores = AttributionSet(base, attributions)
    return ScoredSetting(segments, metric_name, explainer, metric, Erasure(), items, scores, labels)


@functools.cache
def evaluations():
    """The evaluations as they are configured, quickened by CHANGES; those that others read first."""
    parts = [GRID]
    for name, changes in CHANGES.items():
        config = composed(f"evaluation=[{name}]")["evaluation"][name]
        parts.append(dataclasses.replace(build(config, Evaluation, f"evaluation.{name}"), **changes))
    return sorted(
        parts, key=lambda part: (type(part).points is Evaluation.points, type(part).gains is Evaluation.gains)
    )


@functools.cache
def whole_sweep():
    """The tables of the sweep by name."""
    segment_sets = [segments_of(*pair, number) for number, pair in enumerate(PAIRS)]
    settings = []
    for number, segments in enumerate(segment_sets):
        for metric, explainer in ALONE if segments.dataset == "alone" else OF_PAIRS:
            settings.append(setting_of(segments, metric, explainer, number))
    results_of_settings = [{} for _ in settings]
    for evaluation in evaluations():
        for row, result in enumerate(evaluation.evaluate(settings)):
            results_of_settings[row][evaluation.key] = result
            with_points = settings[row].add_points(evaluation.points(result))
            settings[row] = with_points.add_gains(evaluation.gains(result))
    results = [
        SettingResult(
            *setting.names,
            by_evaluation,
            setting,
            "",
            {},
            "",
            Spent(),
            False,
            correlation=GRID.correlation,
        )
        for setting, by_evaluation in zip(settings, results_of_settings, strict=True)
    ]
    tables = {"settings": settings_table(results), "ceilings": ceilings_table(segment_sets)}
    for evaluation in evaluations():
        tables |= evaluation_tables(evaluation, results)
    return tables


@functools.cache
def plain_analysis():
    """Of a table alone, with what is left out, undefined and equal, at given points."""
    surfaces = random_surfaces(
        1, datasets=("d1", "d2"), metrics=("m1", "random"), explainers=("erasure", "lime", "random")
    )
    names = list(surfaces)
    surfaces[names[0]] = flat(0.5, 0.4)  # nothing improves it
    surfaces[names[1]] = flat(0.5, 0.5)  # everything is as good as the metric alone
    surfaces[names[2]][7, 1] = np.nan
    surfaces[names[3]][:, -1] = np.nan  # the metric alone is undefined
    surfaces[names[4]][:, 0] = np.nan
    points = {"lime": Point(p=-1.44, w=0.5), "erasure": Point(p=-0.3, w=0.6)}
    return analyse_table(table(surfaces), fixed=points)


@functools.cache
def whole_analysis():
    tables = whole_sweep()
    grid = from_arrow(tables["grid"], origin="whole/grid.parquet")
    of_guests = [name for evaluation in evaluations() for name in evaluation.QUESTIONS]
    return analyse_table(grid, tables, load_questions(of_guests))


EXPECTED = ROOT / "tests" / "expected"
FEW = 12  # different texts of a column are written out
BEGINNING = 20  # characters of a sentence that an earlier table has, too
SUMS = ("numbers", "sum by place")


def ten_digits(number):
    return f"{round(number, 10) + 0.0:.10g}"  # -0.0 + 0.0 is 0.0


def numbers_of(value):
    """The finite numbers of a cell, those in a text one by one."""
    if isinstance(value, str):
        return [float(digits) for digits in NUMBER.findall(value)]
    if value is None or not math.isfinite(value):
        return []
    return [float(value)]


def summed(values):
    """What is kept of many numbers: how many are defined, and a sum that their order changes."""
    weighted = []
    for place, value in enumerate(values):
        weight = place % 97 + 1
        weighted += [number * weight for number in numbers_of(value)]
    return len(weighted), ten_digits(sum(weighted))


def texts_of(values):
    """The texts among values, without numbers: few of them with their counts, of many a digest in their order."""
    texts = [without_numbers(value) for value in values if isinstance(value, str)]
    counts = Counter(texts)
    if len(counts) > FEW:
        digest = hashlib.sha256(GAP.join(texts).encode()).hexdigest()
        return f"{len(counts)} texts, {digest[:12]}"
    return ", ".join(f"{text!r} {times}" for text, times in sorted(counts.items()))


def leaves(value):
    if isinstance(value, dict):
        for name, inner in value.items():
            yield str(name)
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


def text_of_evaluations():
    """Of every table the sums of its columns, and of its rows by setting, so that a change is found in both."""
    texts = []
    for name, rows in whole_sweep().items():
        columns = rows.to_pydict()
        sums_of_columns = [(column, *summed(values), texts_of(values)) for column, values in columns.items()]
        header = ("column", *SUMS, "texts")
        texts.append(section_text(f"{name}, by column: {rows.num_rows} rows", header, sums_of_columns))
        values_of_settings = defaultdict(list)
        for row in zip(*columns.values(), strict=True):
            setting = " ".join(value for value in row[:4] if isinstance(value, str))
            values_of_settings[setting] += row
        sums_of_settings = [(setting, *summed(values)) for setting, values in values_of_settings.items()]
        texts.append(section_text(f"{name}, by setting", ("setting", *SUMS), sums_of_settings))
    return "\n".join(texts)


class OnlyTheBeginning:
    """Of a sentence that several tables have, only the beginning is kept from the second time on."""

    def __init__(self):
        self.met = set()

    def __call__(self, sentence):
        if sentence in self.met:
            return f"{sentence[:BEGINNING]}…"
        self.met.add(sentence)
        return sentence


def section_of(shown, shortened):
    """A table of the analysis as it is shown; the signature's digest of the results table is of all digits."""
    rows = [[cell.display_text + MARK * cell.marked for cell in row] for row in shown.rows]
    if shown.data:  # shown in all digits
        rows = [[NUMBER.sub(lambda digits: ten_digits(float(digits[0])), cell) for cell in row] for row in rows]
    notes = [shortened(re.sub("sha256:[0-9a-f]+", "sha256:…", note)) for note in shown.notes]
    groups = ", ".join(str(len(group)) for group in shown.groups)
    layout = f"brief: {shown.brief}, data: {shown.data}, names: {shown.names}, groups: {groups}"
    return section_text(f"{shown.stem}: {shown.title}; {layout}", shown.header, rows, notes)


def text_of_analysis(analysis):
    """All tables of the analysis as they are shown, its sentences, and of the keys of analysis.json what is kept."""
    shortened = OnlyTheBeginning()
    texts = [section_of(shown, shortened) for shown in analysis.tables()]
    keys = []
    for key, value in to_dict(analysis).items():
        if key in ("headline", "answers", "legend", "not_judged") or key.endswith("_in_words"):
            texts.append(section_text(key, ("sentence",), [[shortened(sentence)] for sentence in value]))
        else:
            inside = list(leaves(value))
            keys.append((key, *summed(inside), texts_of(inside)))
    texts.append(section_text("analysis.json", ("key", *SUMS, "texts"), keys))
    return "\n".join(texts)


TEXTS = {
    "whole_evaluations.txt": text_of_evaluations,
    "whole_analysis.txt": lambda: text_of_analysis(whole_analysis()),
    "plain_analysis.txt": lambda: text_of_analysis(plain_analysis()),
}


@pytest.mark.parametrize("name", TEXTS)
def test_words_and_numbers_are_what_they_were(name):
    expected = (EXPECTED / name).read_text(encoding="utf-8")
    changes = report(expected, TEXTS[name]())
    assert not changes, f"{name}: {changes}"


if __name__ == "__main__":
    for name, write in TEXTS.items():
        (EXPECTED / name).write_text(write(), encoding="utf-8")
