"""Who rated what, where the publishers do not say it: from standardised scores, and from identical translations."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bmx_grid.core.errors import DataError
from bmx_grid.datasets.archives import read_archive
from bmx_grid.datasets.mqm21 import Mqm21, error_points

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SAME = 1e-9  # distance from a line that is rounding
FEWEST = 3  # different scores on one line: two always lie on one


def by_their_scales(raw: Floats, z: Floats) -> Ints:
    """int64[N, R] numbers of annotators from 0 on, from their scores and standardised scores; -1 where unknown.

    An annotator's z is one linear function of the score: columns that lie on one line as a whole are one annotator
    each, then come the lines that hold most of the other ratings. Annotators with fewer than three different scores are
    unknown, and two with the same mean and deviation are one.
    """
    found = np.full(raw.shape, -1, dtype=np.int64)
    count = 0
    for column in range(raw.shape[1]):
        x, y = raw[:, column], z[:, column]
        slope, start = _line(x, y, int(np.argmin(x)), int(np.argmax(x)))
        if slope > 0 and np.abs(slope * x + start - y).max() < SAME:
            found[:, column] = count
            count += 1
    x, y = np.unique(np.stack([raw[found < 0], z[found < 0]], axis=1), axis=0).T
    one, other = np.triu_indices(len(x), 1)
    rising = (x[one] - x[other]) * (y[one] - y[other]) > 0
    one, other = one[rising], other[rising]
    slopes = (y[one] - y[other]) / (x[one] - x[other])
    _, line, sizes = np.unique(
        np.round(np.stack([slopes, y[one] - slopes * x[one]], axis=1), 7),
        axis=0,
        return_inverse=True,
        return_counts=True,
    )
    members = np.split(np.argsort(line.ravel(), kind="stable"), np.cumsum(sizes)[:-1])
    for at in np.argsort(-sizes, kind="stable"):
        if sizes[at] < FEWEST:  # three points make three pairs
            break
        farthest = members[at][np.argmax(np.abs(x[one[members[at]]] - x[other[members[at]]]))]
        slope, start = _line(x, y, one[farthest], other[farthest])
        on = (found < 0) & (np.abs(slope * raw + start - z) < SAME)
        if len(np.unique(raw[on])) >= FEWEST:
            found[on] = count
            count += 1
    return found


def _line(x: Floats, y: Floats, one: int, other: int) -> tuple[float, float]:
    """Slope and start of the line through two points; slope 0 where they have one x."""
    if x[one] == x[other]:
        return 0.0, float(y[one])
    slope = float((y[one] - y[other]) / (x[one] - x[other]))
    return slope, float(y[one] - slope * x[one])


def of_annotators(ratings: Floats, annotators: Ints) -> Floats:
    """float64[N, A] the ratings with a column for each annotator; the mean of several of a segment."""
    number = int(annotators.max(initial=-1)) + 1
    found = np.full((len(ratings), number), np.nan)
    for one in range(number):
        own = annotators == one
        rows = np.flatnonzero(own.any(axis=1))
        found[rows, one] = np.where(own, ratings, 0.0).sum(axis=1)[rows] / own.sum(axis=1)[rows]
    return found


def identical_translations(data_dir: Path, language_pair: str) -> tuple[Floats, list[tuple[float, float]]]:
    """newstest2021: ratings of translations that several systems produced alike, and one rater's of the same twice.

    One rater judged each output with MQM, so that raters meet where two systems wrote the same: then the first of a
    rater's scores of that text counts. float64[N, R] of the texts (document, source and target) that several rated, by
    rater, minus the error points; NaN: not rated. Raises DataError for another file.
    """
    reader = Mqm21(name="mqm21")
    _, archive = reader.require(data_dir, reader.needs(language_pair))
    member = f"mqm-newstest2021_{language_pair.replace('-', '')}.tsv"
    lines = read_archive(archive, [member])[member]
    header = lines[0].split("\t")
    points: dict[tuple[str, ...], float] = defaultdict(float)
    texts: dict[tuple[str, ...], str] = {}
    for row, line in enumerate(lines[1:], start=2):
        fields = dict(zip(header, line.split("\t"), strict=False))
        if not {"system", "doc", "seg_id", "rater", "source", "target", "category", "severity"} <= fields.keys():
            raise DataError(f"{archive}:{member}, line {row}: lacks a column of MQM.")
        key = fields["system"], fields["doc"], fields["seg_id"], fields["rater"]
        bare = [fields[name].replace("<v>", "").replace("</v>", "").strip() for name in ("source", "target")]
        texts.setdefault(key, "\t".join((fields["doc"], *bare)))
        points[key] += error_points(fields["category"], fields["severity"])
    of_text: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for key, text in texts.items():
        of_text[text][key[-1]].append(-points[key])
    several = [by_rater for by_rater in of_text.values() if len(by_rater) > 1]
    ratings = pd.DataFrame([{rater: scores[0] for rater, scores in by_rater.items()} for by_rater in several])
    twice = [(scores[0], scores[1]) for by_rater in of_text.values() for scores in by_rater.values() if len(scores) > 1]
    return ratings.to_numpy(np.float64), twice
