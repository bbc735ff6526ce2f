"""The other tables of a sweep, made up for tests: points and tests of settings, and verdicts on boosts."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

from bmx_grid.evaluations.base import as_columns, columns_of
from bmx_grid.evaluations.verdicts import ESTIMATES

NAMES = ("dataset", "language_pair", "metric", "explainer")
NAN = float("nan")


def frames(gains, *, w=0.5, p=0.5, baseline=0.5, half=0.01, holm=0.5):
    """Frames of settings by names; gains: names to the gain at the published (w, p).

    half: half the width of every interval; holm: the corrected p of every test, or one by names.
    """
    points, tests = [], []
    for names, gain in gains.items():
        own = dict(zip(NAMES, names, strict=True))
        corrected = holm[names] if isinstance(holm, dict) else holm
        for point, moved in (("published", 0.0), ("elsewhere", 0.001)):
            points.append(
                {
                    **own,
                    **{"point": point, "w": w, "p": p, "correlation": baseline + gain - moved, "baseline": baseline},
                    **{"gain": gain - moved},
                }
            )
            for test in ("williams", "perm_inputs"):
                tests.append(
                    {
                        **own,
                        **{"compared": f"{names[2]} x {names[3]}", "against": names[2], "point": point},
                        **{"level": "segment", "grouping": "none", "statistic": "pearson", "difference": gain - moved},
                        **{"low": gain - moved - half, "high": gain - moved + half, "test": test},
                        **{
                            "alternative": "greater",
                            "p_bh": corrected,
                            "p": corrected / 10 if test == "perm_inputs" else 0.9,
                        },
                        **{"p_holm": corrected if test == "perm_inputs" else 1.0},
                        **{"family": "gains at declared points", "n": 500, "clusters": 400, "resamples": 1000},
                        **{"alternative": "greater", "p_bh": corrected, "seed": 0},
                    }
                )
    return {"points": pd.DataFrame(points), "tests": pd.DataFrame(tests)}


def verdicts(*rows):
    """A frame of verdicts. rows: changes to "no gain shown" for m x lime, boost learned on four pairs of d.

    An estimate of a row may be a triple: the value with the ends of its interval; otherwise these are 0.01 around it.
    """
    known = dict(zip(NAMES, ("d", "all", "m", "lime"), strict=True))
    known |= {"boost": "learned", "point": "elsewhere", "verdict": "no gain shown", "because": "gain"}
    known |= {**dict.fromkeys(ESTIMATES, NAN), "gain": 0.0, "reassigned_gain": 0.001, "best_gain": 0.03}
    known |= {"p_gain_holm": 0.5, "p_helps_holm": 0.012, "tried": 2, "pairs": 4, "n": 1500, "clusters": 900}
    known |= {"human": "", "metrics": "", "named": "document, domain, rater, system"}
    made = []
    for changes in rows:
        row = {**known, **changes}
        for name in ESTIMATES:
            value, low, high = (
                row[name] if isinstance(row[name], tuple) else (row[name], row[name] - 0.01, row[name] + 0.01)
            )
            row |= {name: value, f"{name}_low": low, f"{name}_high": high}
        made.append(row)
    return pd.DataFrame(made)


def settings(*rows):
    """A frame of settings. rows: changes to one on people's scores, whose metric scores once."""
    known = {**dict.fromkeys(NAMES, "d"), "baseline": 0.5, "correlation": "pearson", "aggregation": "PowerMean"}
    known |= {"n_used": 500, "repeat_deviation": NAN, "constructed": False}
    made = pd.DataFrame([{**known, **row} for row in rows])
    return made.assign(language_pair=[str(place) for place in range(len(rows))])


def as_table(rows):
    """Rows of one class as an Arrow table, as a sweep writes them."""
    names = {name: [getattr(row, name) for row in rows] for name in NAMES}
    return pa.table({**names, **as_columns(type(rows[0]), rows)})


NEUTRAL = {"text": "", "number": NAN, "count": 0, "flag": False}


def completed(rows, kind):
    """A frame of rows of a class, with a value that says nothing where a row has none."""
    neutral = {name: NEUTRAL[holds] for name, holds in columns_of(kind).items()}
    return pd.DataFrame([{**neutral, **row} for row in rows])
