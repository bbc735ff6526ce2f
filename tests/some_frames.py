"""The other tables of a sweep, made up for tests: points and tests of settings, and verdicts on boosts."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

from bmx_grid.evaluations.base import as_columns, columns_of
from bmx_grid.evaluations.verdicts import BESIDE, MEASURED

NAMES = ("dataset", "language_pair", "metric", "explainer")
NAN = float("nan")
ESTIMATES = (*MEASURED, *BESIDE)  # of a verdict


def frames(gains, *, w=0.5, p=0.5, baseline=0.5, half=0.01, holm=0.5):
    """Frames of settings by names; gains: names to the gain at the published (w, p).

    half: half the width of every interval; holm: the corrected p of every test, or one by names.
    """
    points, tests = [], []
    for names, gain in gains.items():
        setting = dict(zip(NAMES, names, strict=True))
        corrected = holm[names] if isinstance(holm, dict) else holm
        for point, lower_by in (("published", 0.0), ("elsewhere", 0.001)):
            value = gain - lower_by
            row = {**setting, "point": point, "gain": value}
            points.append({**row, "w": w, "p": p, "correlation": baseline + gain - lower_by, "baseline": baseline})
            test = {**setting, "compared": f"{names[2]} x {names[3]}", "against": names[2], "point": point}
            test |= {"level": "segment", "grouping": "none", "statistic": "pearson", "alternative": "greater"}
            test |= {"difference": value, "low": value - half, "high": value + half, "p_bh": corrected}
            test |= {"family": "gains at declared points", "n": 500, "clusters": 400, "resamples": 1000, "seed": 0}
            tests.append({**test, "test": "williams", "p": 0.9, "p_holm": 1.0})
            tests.append({**test, "test": "perm_inputs", "p": corrected / 10, "p_holm": corrected})
    return {"points": pd.DataFrame(points), "tests": pd.DataFrame(tests)}


def verdicts(*rows):
    """A frame of verdicts. rows: changes to "no gain shown" for m x lime, boost learned on four pairs of d.

    An estimate of a row may be a triple: the value with the ends of its interval; otherwise these are 0.01 around it.
    """
    known = dict(zip(NAMES, ("d", "all", "m", "lime"), strict=True))
    known |= {"boost": "learned", "point": "elsewhere", "verdict": "no gain shown", "because": "gain"}
    known |= {**dict.fromkeys(ESTIMATES, NAN), "gain": 0.0, "reassigned_gain": NAN, "left": NAN, "best_gain": 0.03}
    known |= {"p_gain_holm": 0.5, "p_partial_holm": 0.012, "tried": 2, "pairs": 4, "n": 1500, "clusters": 900}
    known |= {"human": "", "metrics": "", "named": "document, domain, rater, system", "baseline": 0.5}
    completed = []
    for changes in rows:
        row = {**known, **changes}
        for name in ESTIMATES:
            estimate = row[name]
            if not isinstance(estimate, tuple):
                estimate = (estimate, estimate - 0.01, estimate + 0.01)
            row |= dict(zip((name, f"{name}_low", f"{name}_high"), estimate, strict=True))
        completed.append(row)
    return pd.DataFrame(completed)


def settings(*rows):
    """A frame of settings. rows: changes to one on people's scores, whose metric scores once."""
    known = {**dict.fromkeys(NAMES, "d"), "baseline": 0.5, "correlation": "pearson", "aggregation": "PowerMean"}
    known |= {"n_used": 500, "repeat_deviation": NAN, "constructed": False}
    frame = pd.DataFrame([{**known, **row} for row in rows])
    return frame.assign(language_pair=[str(place) for place in range(len(rows))])


def as_table(rows):
    """Rows of one class as an Arrow table, as a sweep writes them."""
    names = {name: [getattr(row, name) for row in rows] for name in NAMES}
    return pa.table({**names, **as_columns(type(rows[0]), rows)})


NEUTRAL = {"text": "", "number": NAN, "count": 0, "flag": False}


def completed(rows, kind):
    """A frame of rows of a class, with a value that says nothing where a row has none."""
    neutral = {name: NEUTRAL[holds] for name, holds in columns_of(kind).items()}
    return pd.DataFrame([{**neutral, **row} for row in rows])
