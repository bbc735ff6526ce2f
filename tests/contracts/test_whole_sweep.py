"""A small sweep made up in memory, with everything that evaluations ask for: every word and number made of it.

The other tests say what is right; this one says what changed. tests/expected holds it, and is written anew by
`PYTHONPATH=.:tests python tests/contracts/test_whole_sweep.py`. A file is sections of rows of cells. No cell depends on
the last digits of a float, which differ between processors: numbers have ten digits, a digest is of texts without
numbers, and nothing is padded.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
import re
from collections import Counter, defaultdict
from decimal import Decimal
from itertools import zip_longest

import numpy as np
import pytest
from fakes import ROOT, HashMetric, composed
from some_settings import LowerIsBetter
from some_tables import flat, random_surfaces, table

from bmx_grid.analysis.load import from_arrow
from bmx_grid.analysis.questions import analyse_table, plain
from bmx_grid.attribution.store import AttributionSet
from bmx_grid.boosts.learned import Learned
from bmx_grid.boosts.power_mean_grid import PowerMeanGrid
from bmx_grid.core.configure import build
from bmx_grid.core.ragged import Labels, Ragged
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet, clusters
from bmx_grid.evaluations.base import Evaluation, Finished
from bmx_grid.evaluations.grid_surface import GridEvaluation
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.measures.grid import Point, PowerRange
from bmx_grid.report.table import MARK
from bmx_grid.sweep.results import SettingResult, Spent, ceilings_table, evaluation_tables, settings_table
from bmx_grid.words.tags import WordTags

SYSTEMS, ITEMS = "abcd", 6
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


def segments_of(dataset, pair, at):
    draw = np.random.default_rng([7, at])
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
    words = {
        "hypothesis": tuple(tuple(one.split()) for one in texts),
        "source": tuple(tuple(one.split()) for one in sources),
    }
    tags = {
        role: WordTags(of, Labels.from_rows(draw.random(len(row)) < 0.35 for row in of)) for role, of in words.items()
    }
    segments = tuple(
        Segment(str(row // len(SYSTEMS)), texts[row], source=sources[row], system=SYSTEMS[row % len(SYSTEMS)])
        for row in range(n)
    )
    judged = Judgements({"da": human, "mqm": np.round(human)}, {"da": raters}, tags=tags if dataset == "two" else {})
    if dataset == "alone":
        whole = {"mqm": dict(zip(SYSTEMS, (0.1, 0.4, 0.2, 0.9), strict=True))}
        judged = Judgements({"da": human, "mqm": np.full(n, np.nan)}, systems=whole)
    return SegmentSet(dataset, pair, segments, judged)


def setting_of(segments, metric, explainer, at):
    draw, of_metric = (
        np.random.default_rng([11, *at, *f"{metric}{explainer}".encode()]),
        np.random.default_rng([13, *at, *metric.encode()]),
    )
    n, human = len(segments), np.nan_to_num(segments.judgements.scores["da"])
    turn = -1.0 if metric == "m2" else 1.0
    base = turn * (0.5 * human + of_metric.normal(size=n))
    helps = {"lime": 0.6, "shap": 0.2}.get(explainer, 0.0) * (metric != "random")
    rows = {
        role: Ragged.from_rows(
            turn
            * (np.exp(helps * human[row]) * draw.random(len(getattr(segment, role).split())) - 0.2 * (row % 5 == 0))
            for row, segment in enumerate(segments.segments)
        )
        for role in ("source", "hypothesis")
    }
    of = LowerIsBetter() if metric == "m2" else HashMetric()
    items = segments.items(("source", "hypothesis"))
    labels = clusters([segments])[0].tolist()
    if explainer == "none":
        return Finished(segments, metric, explainer, of, None, items, AttributionSet(base, {}), labels)
    return Finished(segments, metric, explainer, of, Erasure(), items, AttributionSet(base, rows), labels)


@functools.cache
def evaluations():
    made = {"grid": GRID}
    for name, change in CHANGES.items():
        one = build(composed(f"evaluation=[{name}]")["evaluation"][name], Evaluation, f"evaluation.{name}")
        made[name] = dataclasses.replace(one, **change)
    return sorted(made.values(), key=lambda part: type(part).points is Evaluation.points)


@functools.cache
def whole_sweep():
    """The tables of the sweep by name."""
    sets = [segments_of(*pair, at) for at, pair in enumerate(PAIRS)]
    settings = [
        setting_of(of, *names, (at,))
        for at, of in enumerate(sets)
        for names in (ALONE if of.dataset == "alone" else OF_PAIRS)
    ]
    found = [{} for _ in settings]
    for one in evaluations():
        for at, result in enumerate(one.evaluate(settings)):
            found[at][one.key] = result
            settings[at] = settings[at].with_points(one.points(result))
    results = [
        SettingResult(
            *setting.names,
            of,
            len(setting.segments),
            int(np.isfinite(setting.segments.human_scores).sum()),
            "",
            {},
            "",
            Spent(),
            False,
            words={"source": 3.0, "hypothesis": 5.5},
        )
        for setting, of in zip(settings, found, strict=True)
    ]
    tables = {"settings": settings_table(results), "ceilings": ceilings_table(sets)}
    for one in evaluations():
        tables |= evaluation_tables(one, results)
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
    given = {"lime": Point(p=-1.44, w=0.5), "erasure": Point(p=-0.3, w=0.6)}
    return analyse_table(table(surfaces), fixed=given)


@functools.cache
def whole_analysis():
    tables = whole_sweep()
    grid = from_arrow(tables["grid"], origin="whole/grid.parquet")
    return analyse_table(grid, frames=tables)


EXPECTED = ROOT / "tests" / "expected"
FEW = 12  # different texts of a column are written out
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
GAP = " | "
# Sums of some hundred numbers of float64, and a regression of them, differ by less; what is written has ten digits. A p
# value magnifies what its t differs by (by 1.6e-9 of the sum on a processor without AVX).
RELATIVE, ABSOLUTE = 5e-9, 1e-8


def section(title, header, rows, notes=()):
    return "\n".join([f"# {title}", *(GAP.join(map(str, row)) for row in (header, *rows)), *notes]) + "\n"


def ten_digits(number):
    return f"{round(number, 10) + 0.0:.10g}"  # -0.0 + 0.0 is 0.0


def numbers_of(value):
    """The finite numbers of a cell, those in a text one by one."""
    if isinstance(value, str):
        return [float(one) for one in NUMBER.findall(value)]
    return [] if value is None or not math.isfinite(value) else [float(value)]


def told(values):
    """What is kept of many numbers: how many are defined, and a sum that their order changes."""
    found = [(at, one) for at, value in enumerate(values) for one in numbers_of(value)]
    return len(found), ten_digits(sum(one * (at % 97 + 1) for at, one in found))


def words_of(values):
    """The texts among values, without numbers: few of them with their counts, of many a digest in their order."""
    texts = [NUMBER.sub("#", one) for one in values if isinstance(one, str)]
    counts = Counter(texts)
    if len(counts) > FEW:
        return f"{len(counts)} texts, {hashlib.sha256(GAP.join(texts).encode()).hexdigest()[:12]}"
    return ", ".join(f"{one!r} {count}" for one, count in sorted(counts.items()))


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


def of_evaluations():
    """Of every table the sums of its columns, and of its rows by setting, so that a change is found in both."""
    made = []
    for name, rows_of in whole_sweep().items():
        columns = rows_of.to_pydict()
        made.append(
            section(
                f"{name}, by column: {rows_of.num_rows} rows",
                ("column", "numbers", "sum by place", "texts"),
                [(column, *told(values), words_of(values)) for column, values in columns.items()],
            )
        )
        by_setting = defaultdict(list)
        for row in zip(*columns.values(), strict=True):
            by_setting[" ".join(one for one in row[:4] if isinstance(one, str))].extend(row)
        sums = [(names, *told(row)) for names, row in by_setting.items()]
        made.append(section(f"{name}, by setting", ("setting", "numbers", "sum by place"), sums))
    return "\n".join(made)


def of_analysis(analysis):
    """All tables of the analysis as they are shown, its sentences, and of the keys of analysis.json what is kept."""
    made, before = [], set()

    def once(texts):
        """Of what several tables say the beginning, from the second time on."""
        told = []
        for one in texts:
            told.append(f"{one[:20]}…" if one in before else one)
            before.add(one)
        return told

    for one in analysis.tables():
        rows = [[cell.shown + MARK * cell.marked for cell in row] for row in one.rows]
        if one.data:  # shown in all digits
            rows = [[NUMBER.sub(lambda found: ten_digits(float(found[0])), cell) for cell in row] for row in rows]
        # the signature's digest of the results table is of all digits
        notes = once(re.sub("sha256:[0-9a-f]+", "sha256:…", note) for note in one.notes)
        groups = ", ".join(str(len(group)) for group in one.groups)
        title = f"{one.stem}: {one.title}; brief: {one.brief}, data: {one.data}, names: {one.names}, groups: {groups}"
        made.append(section(title, one.header, rows, notes))
    keys = []
    for key, value in plain(analysis).items():
        if key in ("headline", "answers", "legend", "not_judged") or key.endswith("_in_words"):
            made.append(section(key, ("sentence",), [[one] for one in once(value)]))
        else:
            inside = list(leaves(value))
            keys.append((key, *told(inside), words_of(inside)))
    made.append(section("analysis.json", ("key", "numbers", "sum by place", "texts"), keys))
    return "\n".join(made)


def differing(found, expected):
    """What differs between two cells: their words, else the first number that differs by more than rounding; or None.

    A number may differ by one unit of its last digit, where one was rounded up and the other down; a whole one may not.
    """
    if NUMBER.sub("#", found) != NUMBER.sub("#", expected):
        return found, expected
    for one, other in zip(NUMBER.findall(found), NUMBER.findall(expected), strict=True):
        digit = Decimal(other).as_tuple().exponent
        unit = 1.01 * 10.0**digit if digit < 0 else 0.0  # the difference of two decimals is itself rounded
        if abs(float(one) - float(other)) > max(unit, ABSOLUTE, RELATIVE * abs(float(other))):
            return one, other
    return None


def differences(found, expected):
    """Sentences that name section, row, column and both values of the cells that differ."""
    title, header = "", None
    for new, old in zip_longest(found.splitlines(), expected.splitlines(), fillvalue=""):
        cells, others = old.split(GAP), new.split(GAP)
        if old.startswith("# "):
            title, header = old[2:].split(":")[0], None
        elif header is None:
            header = cells
        pairs = zip(others, cells, strict=True) if len(others) == len(cells) else [(new, old)]
        for at, (one, other) in enumerate(pairs):
            if values := differing(one, other):
                column = header[at] if header and at < len(header) else at + 1
                yield f"{title}, row {' '.join(cells[:4])[:60]!r}, column {column!r}: {values[0]!r} was {values[1]!r}"


MADE = {
    "whole_evaluations.txt": of_evaluations,
    "whole_analysis.txt": lambda: of_analysis(whole_analysis()),
    "plain_analysis.txt": lambda: of_analysis(plain_analysis()),
}

SHOWN = 10  # differences; where a row is new, all below it are others


@pytest.mark.parametrize("name", MADE)
def test_words_and_numbers_are_what_they_were(name):
    found = list(differences(MADE[name](), (EXPECTED / name).read_text(encoding="utf-8")))
    assert not found, f"{name}: {len(found)} cells differ\n" + "\n".join(found[:SHOWN])


if __name__ == "__main__":
    for name, make in MADE.items():
        (EXPECTED / name).write_text(make(), encoding="utf-8")
