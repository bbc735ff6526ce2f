"""A table of judgements in, how reliable they are out: agreement of annotators, their scales, standardised scores."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, get_args

from bmx_grid.api.inputs import FrameTable, check_columns, drawn, listed, numbers
from bmx_grid.core.errors import ConfigError, DataError
from bmx_grid.measures.annotators import (
    Agreement,
    Chance,
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

        rows = [("alpha", level, krippendorff_alpha(self.ratings, level, **self._drawn)) for level in get_args(Level)]
        if self.categories is not None:
            for chance in get_args(Chance):
                kappa = fleiss_kappa(self.categories, chance=chance, **self._drawn)
                rows.append(("fleiss_kappa", f"{chance} chance", kappa))
        return pd.DataFrame([{"statistic": name, "of": of, **asdict(value)} for name, of, value in rows])

    @functools.cached_property
    def pairs(self) -> pd.DataFrame:
        """Cohen's kappa of every two annotators on the segments that both rated, with each kind of weights.

        No rows where kappa has no categories.
        """
        import numpy as np
        import pandas as pd

        categories = self.categories if self.categories is not None else self.ratings.iloc[:, :0]
        categories = categories.astype(np.float64)
        known = np.unique(categories.stack().to_numpy())
        rows = []
        for one, other in itertools.combinations(categories.columns, 2):
            both = categories[one], categories[other]
            for weights in get_args(Weights) if (both[0] + both[1]).notna().any() else ():
                value = cohen_kappa(*both, weights=weights, categories=known, **self._drawn)
                rows.append({"one": one, "other": other, "weights": weights, **asdict(value)})
        return pd.DataFrame(rows, columns=["one", "other", "weights", *Agreement.__dataclass_fields__])

    @property
    def _drawn(self) -> dict[str, Any]:
        return {"cluster": self.clusters, "resamples": self.resamples, "seed": self.seed}

    @property
    def scales(self) -> pd.DataFrame:
        """Of each annotator: ratings, their mean, standard deviation (of what was rated), lowest and highest."""
        import pandas as pd

        of = self.ratings
        parts = {"ratings": of.count(), "mean": of.mean(), "deviation": of.std(ddof=0)}
        return pd.DataFrame({**parts, "lowest": of.min(), "highest": of.max()}).reset_index(names="annotator")

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

        means = {"mean": self.ratings.mean(axis=1), "z_mean": self.standardised.mean(axis=1)}
        return pd.DataFrame({**means, "ratings": self.ratings.count(axis=1)})

    @property
    def reliability(self) -> Reliability:
        """Of the mean of a segment's ratings, and the correlation that no metric can be expected to exceed."""
        return reliability(self.ratings)

    def _repr_html_(self) -> str:
        html: str = self.agreement.to_html(index=False, float_format="{:.4f}".format, escape=True)
        return html

    def __repr__(self) -> str:
        rated = int(self.ratings.count().sum())
        return f"Annotators({self.ratings.shape[1]} annotators, {len(self.ratings):,} segments, {rated:,} ratings)"


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

    >>> import bmx_grid as bmx
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"anna": [1, 2, 3, 4], "ben": [1, 2, 3, 3], "chen": [2, 2, None, 4]})
    >>> judged = bmx.annotators(frame, ["anna", "ben", "chen"])
    >>> judged
    Annotators(3 annotators, 4 segments, 11 ratings)
    >>> judged.agreement["value"].round(2).tolist()
    [0.55, 0.86, 0.83, 0.54, 0.56]

    A row per rating instead: `bmx.annotators(frame, segment="id", annotator="rater", score="mqm")`.

    frame: either a row per segment with a column of numbers for each annotator, which `scores` names, or a row per
        rating, with the columns that `segment`, `annotator` and `score` name. Empty cells are no ratings.
    bins: the highest number of each category but the last, for kappa, which counts categories: (10, 29, 50, 69, 90)
        makes six of direct assessments from 0 to 100. Without them every number is a category, up to 20 of them; of
        more there is no kappa. Alpha reads the numbers themselves.
    cluster: a column whose equal values are drawn together in the bootstrap (a document); each segment alone without.
        In a table of ratings a segment has one cluster.
    resamples, seed: of the 95 % intervals; 0 resamples: none.
    Raises ConfigError for unknown columns, DataError for values that are not numbers, fewer than two annotators, or two
    ratings of a segment by one annotator.
    """
    import numpy as np
    import pandas as pd

    table = FrameTable(frame)
    resamples, seed = drawn(resamples, seed, 0)
    wanted = [segment, annotator, score] if scores is None else listed("scores", scores)
    hint = "; where annotators are columns, name them: scores=['anna', 'ben']" if scores is None else ""
    check_columns(table, "annotators", [*wanted, *([] if cluster is None else [cluster])], hint)
    if scores is None:
        ratings, clusters = _pivoted(table, segment, annotator, score, cluster)
    else:
        if len(set(wanted)) < len(wanted):
            raise ConfigError(f"scores names a column twice: {', '.join(wanted)}.")
        ratings = pd.DataFrame({name: numbers(table, name) for name in wanted})
        clusters = np.arange(len(table)) if cluster is None else _labels(table, cluster)
    if ratings.shape[1] < 2:
        names = ", ".join(map(str, ratings.columns)) or "none"
        raise DataError(f"agreement needs two annotators at least; the frame has {names}.")
    return Annotators(ratings, _categories(ratings, bins), pd.factorize(clusters)[0], resamples, seed)


def _categories(ratings: pd.DataFrame, bins: Sequence[float] | None) -> pd.DataFrame | None:
    """The ratings as numbers of categories; None for too many."""
    import numpy as np
    import pandas as pd

    if bins is None:
        return ratings if ratings.stack().nunique() <= MOST_CATEGORIES else None
    try:
        ends = np.asarray(bins, dtype=np.float64)
    except (TypeError, ValueError):
        ends = np.empty(0)
    if ends.ndim != 1 or not len(ends) or not np.isfinite(ends).all() or (np.diff(ends) <= 0).any():
        raise ConfigError(f"bins={bins!r:.60}: write rising numbers, the highest of each category but the last.")
    categories = pd.DataFrame(np.searchsorted(ends, ratings.to_numpy()), ratings.index, ratings.columns)
    return categories.where(ratings.notna())


def _pivoted(
    table: FrameTable, segment: str, annotator: str, score: str, cluster: str | None
) -> tuple[pd.DataFrame, Any]:
    """A row per segment and a column per annotator, in order of first appearance, and the segments' clusters."""
    for name in (segment, annotator, *([] if cluster is None else [cluster])):
        _labels(table, name)
    frame = table.frame.assign(**{score: numbers(table, score)})
    twice = frame[frame.duplicated([segment, annotator])]
    if len(twice):
        first = twice.iloc[0]
        raise DataError(
            f"'{first[annotator]}' rated '{first[segment]}' twice (of {len(twice)} such ratings the first one); keep "
            "one of them, or name the column that tells these segments apart."
        )
    ratings = frame.pivot(index=segment, columns=annotator, values=score)
    ratings = ratings.loc[frame[segment].unique(), frame[annotator].unique()]
    if cluster is None:
        return ratings, ratings.index.to_numpy()
    of_segment = frame.groupby(segment, sort=False)[cluster]
    if (of_segment.nunique() > 1).any():
        several = of_segment.nunique().idxmax()
        raise DataError(f"the segment '{several}' is in several {cluster}s; each segment belongs to one.")
    return ratings, of_segment.first().loc[ratings.index].to_numpy()


def _labels(table: FrameTable, name: str) -> Any:
    """A column of names or numbers. Raises DataError naming the row of a gap, and of anything else."""
    for row, value in enumerate(table.take([name])[name]):
        if not isinstance(value, Hashable) or value is None:
            raise DataError(f"{table.where(row)}: the column '{name}' holds {value!r:.60}; write a name or a number.")
    return table.frame[name].to_numpy()
