"""A table of judgements in, how reliable they are out: agreement of annotators, their scales, standardised scores."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, get_args

from bmx_grid.api.given import check_names, drawn, numbers
from bmx_grid.api.roles import check_frame
from bmx_grid.errors import ConfigError, DataError, unknown
from bmx_grid.judgements import LARGEST
from bmx_grid.measures.annotators import (
    Agreement,
    Level,
    Reliability,
    Weights,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    reliability,
    standardised,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

MOST_CATEGORIES = 20  # of kappa, which knows no distance between them: of 0 to 100 hardly two ratings are equal


@dataclass(frozen=True, eq=False)
class Annotators:
    """How reliable judgements are.

    ratings: a row per segment and a column per annotator; NaN where one did not rate a segment.
    categories: the same as kappa has them, None where there are too many and no bins were given.
    """

    ratings: pd.DataFrame
    categories: pd.DataFrame | None
    clusters: NDArray[np.int64]
    resamples: int
    seed: int

    @functools.cached_property
    def agreement(self) -> pd.DataFrame:
        """Of all annotators: Krippendorff's alpha at each level of measurement, Fleiss' kappa at each chance.

        One row each: value with its 95 % interval over segments, the observed and the expected disagreement
        (`measures.annotators.Agreement`), segments with two ratings or more, their ratings, and annotators.
        """
        import pandas as pd

        drawn: dict[str, Any] = {"cluster": self.clusters, "resamples": self.resamples, "seed": self.seed}
        rows = [
            {"statistic": "alpha", "of": level, **asdict(krippendorff_alpha(self.ratings, level, **drawn))}
            for level in get_args(Level)
        ]
        if self.categories is not None:
            rows += [
                {
                    "statistic": "fleiss_kappa",
                    "of": f"{chance} chance",
                    **asdict(fleiss_kappa(self.categories, chance=chance, **drawn)),
                }
                for chance in ("pooled", "uniform")
            ]
        return pd.DataFrame(rows)

    @functools.cached_property
    def pairs(self) -> pd.DataFrame:
        """Cohen's kappa of every two annotators on the segments that both rated, with each kind of weights.

        No rows where kappa has no categories.
        """
        import numpy as np
        import pandas as pd

        columns = ["one", "other", "weights", *Agreement.__dataclass_fields__]
        if self.categories is None:
            return pd.DataFrame(columns=columns)
        values = self.categories.to_numpy(np.float64)
        known = np.unique(values[np.isfinite(values)])
        rows = []
        for one, other in itertools.combinations(range(values.shape[1]), 2):
            if not np.isfinite(values[:, [one, other]]).all(axis=1).any():
                continue
            names = {"one": self.ratings.columns[one], "other": self.ratings.columns[other]}
            for weights in get_args(Weights):
                found = cohen_kappa(
                    values[:, one],
                    values[:, other],
                    weights=weights,
                    categories=known,
                    cluster=self.clusters,
                    resamples=self.resamples,
                    seed=self.seed,
                )
                rows.append({**names, "weights": weights, **asdict(found)})
        return pd.DataFrame(rows, columns=columns)

    @property
    def scales(self) -> pd.DataFrame:
        """Of each annotator: ratings, their mean, standard deviation (of what was rated), lowest and highest."""
        import pandas as pd

        of = self.ratings
        return pd.DataFrame(
            {
                "annotator": of.columns,
                "ratings": of.count().to_numpy(),
                "mean": of.mean().to_numpy(),
                "deviation": of.std(ddof=0).to_numpy(),
                "lowest": of.min().to_numpy(),
                "highest": of.max().to_numpy(),
            }
        )

    @property
    def standardised(self) -> pd.DataFrame:
        """The ratings less the mean of their annotator, divided by the annotator's standard deviation.

        NaN for an annotator whose ratings are all equal: there is no scale.
        """
        import pandas as pd

        return pd.DataFrame(standardised(self.ratings), index=self.ratings.index, columns=self.ratings.columns)

    @property
    def scores(self) -> pd.DataFrame:
        """One row per segment: the mean of its ratings (`mean`), of the standardised ones (`z_mean`), their number."""
        import pandas as pd

        found = {"mean": self.ratings.mean(axis=1), "z_mean": self.standardised.mean(axis=1)}
        return pd.DataFrame({**found, "ratings": self.ratings.count(axis=1)})

    @property
    def reliability(self) -> Reliability:
        """Of the mean of a segment's ratings, and the correlation that no metric can be expected to exceed."""
        return reliability(self.ratings)

    def _repr_html_(self) -> str:
        shown: str = self.agreement.to_html(index=False, float_format="{:.4f}".format, escape=True)
        return shown


def annotators(
    frame: pd.DataFrame,
    scores: Sequence[str] | None = None,
    *,
    segment: str = "segment",
    annotator: str = "annotator",
    score: str = "score",
    bins: Sequence[float] | None = None,
    cluster: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Annotators:
    """How reliable judgements are: agreement of the annotators with intervals, their scales, standardised scores.

    >>> annotators(frame, ["anna", "ben", "chen"]).agreement  # a row per segment  # doctest: +SKIP
    >>> annotators(frame, segment="id", annotator="rater", score="mqm").pairs  # a row per rating  # doctest: +SKIP

    frame: either a row per segment with a column of numbers for each annotator, which `scores` names, or a row per
        rating, with the columns that `segment`, `annotator` and `score` name. Empty cells are no ratings.
    bins: the highest number of each category but the last, for kappa, which counts categories: (10, 29, 50, 69, 90)
        makes six of direct assessments from 0 to 100. Without them every number is a category, up to 20 of them; of
        more there is no kappa. Alpha reads the numbers themselves.
    cluster: a column whose equal values are drawn together in the bootstrap (a document); each segment alone without.
        In a table of ratings a segment has one cluster.
    resamples, seed: of the 95 % intervals; 0 resamples: none.
    Raises ConfigError for columns that there are not, DataError for values that are no numbers, fewer than two
    annotators, or two ratings of a segment by one annotator.
    """
    import numpy as np
    import pandas as pd

    check_frame(frame)
    resamples, seed = drawn(resamples, seed, 0)
    if scores is not None and (isinstance(scores, str) or not isinstance(scores, Iterable)):
        raise ConfigError(f"scores: expected a list of columns, got {scores!r:.60}.")
    wanted = list(scores) if scores is not None else [segment, annotator, score]
    used = [*wanted, *([] if cluster is None else [cluster])]
    for name in used:
        if not isinstance(name, Hashable) or name not in frame.columns:
            ask = "" if scores is not None else "; where annotators are columns, name them: scores=['anna', 'ben']"
            raise ConfigError("annotators: " + unknown("column", name, [str(one) for one in frame.columns]) + ask)
    check_names([name for name in frame.columns if name in used])
    if scores is not None:
        if len(set(wanted)) < len(wanted):
            raise ConfigError(f"scores names a column twice: {', '.join(wanted)}.")
        ratings = pd.DataFrame({name: _numbers(frame[name], name) for name in wanted}).reset_index(drop=True)
        clusters = np.arange(len(frame)) if cluster is None else frame[cluster].to_numpy()
    else:
        ratings, clusters = _pivoted(frame, segment, annotator, score, cluster)
    if ratings.shape[1] < 2:
        given = ", ".join(str(name) for name in ratings.columns) or "none"
        raise DataError(f"agreement needs two annotators at least; the frame has {given}.")
    if cluster is not None and pd.isna(clusters).any():
        row = int(np.flatnonzero(pd.isna(clusters))[0])
        raise DataError(f"the segment '{ratings.index[row]}' has no {cluster}; each needs one, or leave out cluster.")
    coded = pd.factorize(np.asarray(clusters))[0].astype(np.int64)
    return Annotators(ratings, _categories(ratings, bins), coded, resamples, seed)


def _categories(ratings: pd.DataFrame, bins: Sequence[float] | None) -> pd.DataFrame | None:
    """The ratings as numbers of categories; None for too many."""
    import numpy as np
    import pandas as pd

    values = ratings.to_numpy(np.float64)
    given = np.isfinite(values)
    if bins is None:
        known = np.unique(values[given])
        return ratings if len(known) <= MOST_CATEGORIES else None
    try:
        ends = np.asarray(bins, dtype=np.float64)
    except (TypeError, ValueError):
        ends = np.empty(0)
    if ends.ndim != 1 or not len(ends) or not np.isfinite(ends).all() or (np.diff(ends) <= 0).any():
        raise ConfigError(f"bins={bins!r:.60}: write rising numbers, the highest of each category but the last.")
    found = np.where(given, np.searchsorted(ends, np.where(given, values, 0.0)).astype(np.float64), np.nan)
    return pd.DataFrame(found, index=ratings.index, columns=ratings.columns)


def _pivoted(
    frame: pd.DataFrame, segment: str, annotator: str, score: str, cluster: str | None
) -> tuple[pd.DataFrame, Any]:
    """A row per segment and a column per annotator, in order of first appearance, and the segments' clusters."""
    for name in (segment, annotator):
        if frame[name].isna().any():
            row = int(frame[name].isna().to_numpy().argmax())
            raise DataError(f"row {row + 1} of the frame has no {name}; a rating needs one.")
        odd = [row for row, value in enumerate(frame[name]) if not isinstance(value, Hashable)]
        if odd:
            held = frame[name].iloc[odd[0]]
            raise DataError(f"row {odd[0] + 1} of the column '{name}' holds {held!r:.60}; write a name or a number.")
    known = frame.assign(**{score: _numbers(frame[score], score)})
    twice = known[known.duplicated([segment, annotator])]
    if len(twice):
        first = twice.iloc[0]
        raise DataError(
            f"'{first[annotator]}' rated '{first[segment]}' twice (of {len(twice)} such ratings the first one); keep "
            "one of them, or name the column that tells these segments apart."
        )
    ratings = known.pivot(index=segment, columns=annotator, values=score)
    ratings = ratings.loc[frame[segment].unique(), frame[annotator].unique()]
    if cluster is None:
        return ratings, ratings.index.to_numpy()
    of_segment = frame.groupby(segment, sort=False)[cluster]
    if (of_segment.nunique() > 1).any():
        several = of_segment.nunique().idxmax()
        raise DataError(f"the segment '{several}' stands in several {cluster}s; each segment belongs to one.")
    return ratings, of_segment.first().loc[ratings.index].to_numpy()


def _numbers(column: pd.Series, name: str) -> pd.Series:
    """The column as float64. Raises DataError naming row and value."""
    import pandas as pd

    found = pd.Series(numbers(column), index=column.index)
    wrong = (column.notna() & found.isna()).to_numpy() | (found.abs() > LARGEST).to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"row {row + 1} of the column '{name}': '{column.iloc[row]}' is not a number within ±{LARGEST:g}; leave a "
            "cell empty where there is no rating."
        )
    return found
