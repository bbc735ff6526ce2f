"""A small sweep made up in memory, with everything that evaluations ask for, and what they and the analysis make of it.

tests/expected holds it: `PYTHONPATH=.:tests python tests/whole_sweep.py` writes it anew where a change is wanted, and
the difference shows every word and number that changed.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
from fakes import HashMetric, composed
from some_settings import LowerIsBetter
from some_tables import flat, random_surfaces, table

from bmx_grid.analysis.as_json import plain
from bmx_grid.analysis.frames import frames_of
from bmx_grid.analysis.given import Options, Point
from bmx_grid.analysis.load import from_arrow
from bmx_grid.analysis.run import analyse
from bmx_grid.attribution.store import AttributionSet
from bmx_grid.boosts.learned import Learned
from bmx_grid.boosts.power_mean_grid import PowerMeanGrid
from bmx_grid.configure import build
from bmx_grid.evaluations.base import Evaluation, Finished
from bmx_grid.evaluations.grid import GridEvaluation, PowerRange, PublishedPoint
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.judgements import Judgements
from bmx_grid.ragged import Ragged
from bmx_grid.report.table import as_text
from bmx_grid.segments import Segment, SegmentSet, clusters
from bmx_grid.sweep.ceilings import ceilings_table
from bmx_grid.sweep.evaluated import in_turn, with_points_of
from bmx_grid.sweep.results import SettingResult, evaluation_tables, settings_table
from bmx_grid.words.tags import Labels, WordTags

SYSTEMS, ITEMS = "abcd", 6
PAIRS = (("one", "de-en"), ("one", "fi-en"), ("one", "lv-en"), ("two", "de-en"), ("alone", "cs-en"))
OF_PAIRS = (("m1", "lime"), ("m1", "shap"), ("m2", "lime"), ("m1", "random"))
ALONE = (("m1", "none"), ("m2", "none"))  # on the last pair, of whose systems people scored some as a whole
GRID = GridEvaluation(
    p=PowerRange(-3, 4, 1), w=(0.0, 0.4, 0.8, 1.0), fixed={"lime": PublishedPoint(w=0.4, p=-1.0)}, max_points=1000
)
BOOSTS = {"power_mean_grid": PowerMeanGrid(p=GRID.p, w=GRID.w), "learned": Learned(penalties=(0.1, 1.0), folds=2)}
CHANGES = {
    "levels": {"resamples": 20},
    "placebos": {"resamples": 40, "draws": 1, "grid": GRID},
    "significance": {
        "resamples": 99,
        "splits": 40,
        "grid": GRID,
        "tests": ("williams", "perm_inputs", "perm_systems", "bootstrap"),
    },
    "boosts": {"resamples": 40, "splits": 4, "draws": 1, "grid": GRID, "boosts": BOOSTS},
    "words": {"resamples": 40, "folds": 3},
    "top_systems": {"resamples": 40},
}


def segments_of(dataset, pair, at):
    draw = np.random.default_rng([7, at])
    n = len(SYSTEMS) * ITEMS
    # the first items of all pairs of a data set are the same sources
    sources = [f"{dataset if item < 2 else pair} quelle {item}" for item in range(ITEMS) for _ in SYSTEMS]
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
    return in_turn(made)


@functools.cache
def whole_sweep():
    """The tables of the sweep by name."""
    sets = [segments_of(*pair, at) for at, pair in enumerate(PAIRS)]
    settings = [
        setting_of(of, *names, (at,))
        for at, of in enumerate(sets)
        for names in (ALONE if of.dataset == "alone" else OF_PAIRS)
    ]
    groups = {}
    for at, setting in enumerate(settings):
        groups.setdefault((setting.names[0], *setting.names[2:]), []).append(at)
    found = [{} for _ in settings]
    for one in evaluations():
        for at, setting in enumerate(settings):
            found[at][one.key] = one.evaluate(setting)
            settings[at] = with_points_of(setting, one, found[at][one.key])
    for one in evaluations():
        for own in groups.values():
            results = one.across_pairs([settings[at] for at in own], [found[at][one.key] for at in own])
            for at, result in zip(own, results, strict=True):
                found[at][one.key] = result
                settings[at] = with_points_of(settings[at], one, result)
    for one in evaluations():
        for at, result in enumerate(one.together(settings, [of[one.key] for of in found])):
            found[at][one.key] = result
    results = [
        SettingResult(
            *setting.names,
            of,
            len(setting.segments),
            int(np.isfinite(setting.segments.human_scores).sum()),
            "",
            {},
            "",
            0.0,
            0,
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
    """Of a table alone, with what is left out, undefined and equal, by the other rule for ties, at given points."""
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
    return analyse(table(surfaces), Options(tie="mildest", fixed=given))


@functools.cache
def whole_analysis():
    tables = whole_sweep()
    grid = from_arrow(tables["grid"], origin="whole/grid.parquet")
    return analyse(grid, Options(), frames=frames_of(tables))


EXPECTED = Path(__file__).parent / "expected"
FEW = 12  # different texts of a column are written out


def told(values):
    """What is kept of many values: of numbers how many are defined, their sum, and one that their order changes."""
    if all(isinstance(one, str) for one in values):
        counts = Counter(values)
        digest = hashlib.sha256("\0".join(values).encode()).hexdigest()[:12]
        return {"texts": dict(sorted(counts.items())) if len(counts) <= FEW else len(counts), "in order": digest}
    numbers = [(at, float(one)) for at, one in enumerate(values) if one is not None and math.isfinite(one)]
    return {
        "numbers": len(values),
        "defined": len(numbers),
        "sum": sum(one for _, one in numbers),
        "by place": sum(one * (at % 97 + 1) for at, one in numbers),
    }


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
    """By table and column what is kept of the values."""
    return {
        name: {column: told(table.column(column).to_pylist()) for column in table.column_names}
        for name, table in whole_sweep().items()
    }


def of_json(analysis):
    """By key of analysis.json what is kept of its numbers, and of its names and texts."""
    found = {}
    for key, value in plain(analysis).items():
        inside = list(leaves(value))
        texts = [one for one in inside if isinstance(one, str)]
        found[key] = [told(texts), told([one for one in inside if not isinstance(one, str)])]
    return found


def of_tables(analysis):
    """All tables of the analysis, as text; the digest of the numbers, which is of all their digits, is left out."""
    made = [f"{one.stem}, brief: {one.brief}, data: {one.data}\n{as_text(one)}" for one in analysis.tables()]
    return re.sub("sha256:[0-9a-f]+", "sha256:…", "\n\n".join(made)).rstrip("\n")


MADE = {
    "whole_evaluations.json": of_evaluations,
    "whole_analysis.json": lambda: of_json(whole_analysis()),
    "whole_analysis.txt": lambda: of_tables(whole_analysis()),
    "plain_analysis.json": lambda: of_json(plain_analysis()),
    "plain_analysis.txt": lambda: of_tables(plain_analysis()),
}

if __name__ == "__main__":
    for name, make in MADE.items():
        made = make()
        if not isinstance(made, str):
            lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in made.items()]
            made = "{\n" + ",\n".join(lines) + "\n}"
        (EXPECTED / name).write_text(made + "\n", encoding="utf-8")
