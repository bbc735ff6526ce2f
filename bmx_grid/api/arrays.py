"""Arrays in, arrays out: the boost of any metric's scores by any explainer's attributions."""

from __future__ import annotations

import functools
import html
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bmx_grid.api.inputs import check_resampling, one_name, plain_value
from bmx_grid.api.kinds import PANDAS, FrameKind, plain_series
from bmx_grid.attribution.explain import Explanation
from bmx_grid.boosts.power_mean_grid import scores_at
from bmx_grid.core.configure import convert
from bmx_grid.core.errors import ConfigError, DataError, quote_value, unknown
from bmx_grid.core.ragged import Floats, Ints, Ragged
from bmx_grid.core.wording import first_line, number, pluralize, point_in_words
from bmx_grid.datasets.segments import LARGEST
from bmx_grid.measures.correlation import FEWEST
from bmx_grid.measures.grid import GridResult, GridSpec, compute_grid

if TYPE_CHECKING:
    from bmx_grid.evaluations.verdicts import Verdict
    from bmx_grid.measures.correlation import Kind
    from bmx_grid.measures.grid import UsedWords
    from bmx_grid.measures.paired_tests import Comparison

AttributionRows = Sequence[ArrayLike]
SIDES = ("ground_truth", "hypothesis")
UNREAD = "source"  # of texts: those that the metric does not read
CORRELATION = ".4f"  # how correlations are written


@dataclass(frozen=True, eq=False)
class Boosted:
    """Boosted scores of N segments, and their evaluation with human scores.

    Build it with `boost`. All properties except `scores` require human scores, and raise ConfigError without them.

    Attributes:
        base: float64[N], scores of the unboosted metric.
        ground_truth: N rows of attributions of the source or reference; empty rows without them.
        hypothesis: N rows of attributions of the hypothesis.
        human: float64[N], human scores; NaN if unrated. None without human scores.
        p: Power of the mean, or None.
        w: Weight of the metric, or None.
        scores: float64[N], boosted scores, or None without p and w.
        gain: Comparison of boosted and unboosted scores.
        verdict: Verdict on the gain.
        result: The p x w grid.
        grid: Correlations of `result` as a DataFrame.

    Example:
        >>> import bmx_grid as bmx
        >>> human = [1.0, 2.0, 3.0, 4.0]
        >>> boosted = bmx.boost([0.1, 0.3, 0.2, 0.4], [[0.1], [0.3], [0.6], [0.9]], human, p=1, w=0)
        >>> boosted
        Boosted(4 segments at w 0, p 1, 4 rated)
        >>> round(boosted.gain.x, 3), round(boosted.gain.y, 3)
        (0.996, 0.8)
        >>> boosted.grid.shape  # one row per p, one column per w
        (600, 6)
    """

    base: Floats
    ground_truth: Ragged
    hypothesis: Ragged
    human: Floats | None
    p: float | None
    w: float | None
    _spec: GridSpec = field(repr=False)
    _clusters: Ints = field(repr=False)
    _systems: Ints = field(repr=False)
    _texts: Mapping[str, list[str]] = field(repr=False)
    _resamples: int = field(repr=False)
    _seed: int = field(repr=False)
    _kind: FrameKind = field(default=PANDAS, repr=False)

    @property
    def scores(self) -> Any:
        """float64[N], boosted scores; None without p and w.

        NaN for a segment without words or with an undefined attribution. A series of polars or Arrow if the metric's
        scores are one.
        """
        return None if self._scores is None else self._kind.series("boosted", self._scores)

    @functools.cached_property
    def _scores(self) -> Floats | None:
        if self.p is None:
            return None
        assert self.w is not None
        return scores_at(self._spec, self.p, self.w, self.base, self.ground_truth, self.hypothesis)

    @functools.cached_property
    def verdict(self) -> Verdict:
        """Verdict on the gain at (p, w): `label`, and `because` with the numbers.

        Uses the rule and the controls of a sweep: score, lengths, texts and systems. The verdict is valid if p and w
        were not chosen on these human scores.

        Raises:
            ConfigError: p and w, or the human scores, are missing.
        """
        from bmx_grid.evaluations.held_out import nuisance_of, select_rated
        from bmx_grid.evaluations.verdicts import evidence_on, label_gains
        from bmx_grid.words.segmentation import log_words

        scores, human = self._scores_and_human()
        kind = self._spec.correlation
        seed = self._seed
        used = np.isfinite(scores) & np.isfinite(self.base) & np.isfinite(human)
        words = log_words(self.ground_truth.lengths, self.hypothesis.lengths)
        texts: list[list[list[str]]] = []
        unread: list[list[list[str]]] = []
        for side, texts_of_side in self._texts.items():
            words_of_side = [text.split() for text in texts_of_side]
            (unread if side == UNREAD else texts).append(words_of_side)
        nuisance = nuisance_of(self.base, words, texts, [self._systems], self._clusters, unread=unread)
        rated = select_rated(kind, self.base, human, words, self._clusters, nuisance, used, seed)
        (evidence,) = evidence_on(kind, rated, [scores[used]], self._resamples, seed)
        (verdict,) = label_gains([evidence])
        if texts:
            return verdict
        return replace(verdict, because=f"{verdict.because}; text statistics are not controlled for without texts=")

    @functools.cached_property
    def gain(self) -> Comparison:
        """Comparison of the boosted metric (x) with the unboosted one (y).

        `difference` is the gain in correlation, `low` and `high` its 95 % interval, `p` its p-value.

        Raises:
            ConfigError: p and w, or the human scores, are missing.
        """
        from bmx_grid.measures.paired_tests import compare

        scores, human = self._scores_and_human()
        draws: dict[str, Any] = {"resamples": self._resamples, "seed": self._seed}
        return compare(scores, self.base, human, self._clusters, statistic=self._spec.correlation, **draws)

    @functools.cached_property
    def result(self) -> GridResult:
        """The p x w grid: 600 values of p and 6 of w, as in the paper.

        The best point is chosen on these segments, so that its correlation is optimistic.

        Raises:
            ConfigError: The human scores are missing.
        """
        return compute_grid(self._spec, self.base, self.ground_truth, self.hypothesis, self._required_human())

    @property
    def grid(self) -> Any:
        """Correlations of `result`: a DataFrame with one row per p and one column per w.

        Raises:
            ConfigError: The human scores are missing.
        """
        import pandas as pd

        p = pd.Index(self._spec.p, name="p")
        w = pd.Index(self._spec.w, name="w")
        frame = pd.DataFrame(self.result.correlation, index=p, columns=w)
        if self._kind == PANDAS:
            return frame
        # Frames of other libraries have no index.
        return self._kind.frame(frame.reset_index())

    def summary(self) -> str:
        """Summarise the verdict, the gain and its interval in text.

        Returns:
            str: The verdict at (p, w). Without p and w, the best point of the grid. Without human scores, one line with
                the number of segments.

        Example:
            >>> import bmx_grid as bmx
            >>> print(bmx.boost([0.4, 0.9], [[0.1, 0.3], [0.5, 0.2]], p=1, w=0.5).summary())
            Boosted(2 segments at w 0.5, p 1, no human scores)
        """
        if self.human is None:
            return repr(self)
        if self._scores is None:
            result = self.result
            alone = number(result.baseline, CORRELATION)
            best = number(result.best, CORRELATION)
            point = point_in_words(result.best_w, result.best_p)
            return f"baseline {alone}; best of the grid {best} at {point}, chosen on these segments"
        verdict = self.verdict
        boosted = number(self.gain.x, CORRELATION)
        alone = number(self.gain.y, CORRELATION)
        return f"{verdict.label}: {verdict.because}\n{self._spec.correlation} {boosted}, baseline {alone}"

    def __repr__(self) -> str:
        rated = "no human scores"
        if self.human is not None:
            n_rated = np.isfinite(self.human).sum()
            rated = f"{n_rated:,} rated"
        point = "without a point"
        if self.p is not None and self.w is not None:
            point = f"at {point_in_words(self.w, self.p)}"
        n_segments = pluralize(len(self.base), "segment")
        return f"Boosted({n_segments} {point}, {rated})"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"

    def _scores_and_human(self) -> tuple[Floats, Floats]:
        if self._scores is None:
            raise ConfigError("gain and verdict are of a point: give p and w; without them there is the grid.")
        return self._scores, self._required_human()

    def _required_human(self) -> Floats:
        if self.human is None:
            raise ConfigError("gain, verdict and grid need human scores: boost(scores, attributions, human, …).")
        return self.human


def boost(
    scores: ArrayLike,
    attributions: AttributionRows | Mapping[str, AttributionRows] | Sequence[Explanation],
    human: ArrayLike | None = None,
    *,
    p: float | None = None,
    w: float | None = None,
    side: UsedWords = "both",
    correlation: Kind = "pearson",
    clusters: ArrayLike | None = None,
    systems: ArrayLike | None = None,
    texts: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Boosted:
    """Blend word attributions into metric scores: s1 = w * s0 + (1 - w) * M_p.

    M_p is the power mean of the attributions (paper, section 2.1). Attributions of a segment that are not all positive
    are shifted first (section 3.4). Columns may be lists, arrays, or series of pandas, polars or Arrow.

    Args:
        scores: float[N], scores s0 of the metric, higher is better.
        attributions: N sequences of floats, one float per word of the hypothesis; or `{"hypothesis": ...,
            "ground_truth": ...}` with both sides; or N explanations from `Scorer.explain`.
        human: float[N], human scores; NaN if unrated. Required for `gain`, `verdict` and `grid` of the result.
        p: Power of the mean. Set both p and w, or neither for the whole grid.
        w: Weight of the metric, from 0 to 1.
        side: Words to aggregate: `"both"` sides or `"hypothesis"`.
        correlation: `"pearson"`, `"spearman"` or `"kendall"`.
        clusters: N labels of segments that are resampled together. Default: each segment is its own cluster.
        systems: N names of systems; the verdict controls for their mean levels.
        texts: N hypotheses, or a dictionary with `"hypothesis"`, `"ground_truth"` and `"source"`; the verdict controls
            for word frequency and style. Not needed with explanations.
        resamples: Number of bootstrap resamples and permutations.
        seed: Seed of all random draws.

    Returns:
        Boosted: Boosted scores float64[N] as `scores`; with human scores also `gain`, `verdict` and `grid`.

    Raises:
        ConfigError: p without w, p is NaN, w is outside [0, 1], an unknown name, or neither p and w nor human scores.
        DataError: Lengths differ, or a row cannot be used. The message names the row.

    Example:
        >>> import bmx_grid as bmx
        >>> boosted = bmx.boost([0.4, 0.9], [[0.1, 0.3], [0.5, 0.2]], p=1, w=0.5)
        >>> boosted.scores.round(3).tolist()
        [0.3, 0.625]
        >>> explained = bmx.load("chrf", "erasure").explain(["a cat sat", "the cat"], references=["the cat sat"] * 2)
        >>> bmx.boost(explained.base, explained.explanations, p=-1, w=0.4)
        Boosted(2 segments at w 0.4, p -1, no human scores)
    """
    spec = _spec(side, correlation)
    _, kind = plain_series(scores)
    base = _vector(scores, "scores")
    count = len(base)
    truth, hypothesis = _sides(attributions, count)
    human_scores = None if human is None else _human_scores(human, count)
    p, w = _point(p, w)
    draws = check_resampling(resamples, seed, 1)
    if p is None and human is None:
        raise ConfigError("give p and w for boosted scores, human scores for the grid, or both.")
    clusters = _labels("clusters", clusters, np.arange(count))
    # Without names all segments belong to one system, whose level cannot be separated.
    systems = _labels("systems", systems, np.zeros(count, np.int64))
    known = _texts(attributions, texts, count)
    boosted = Boosted(base, truth, hypothesis, human_scores, p, w, spec, clusters, systems, known, *draws, kind)
    boosted_scores = boosted._scores  # a point or a row that cannot be used is an error of this call
    undefined = np.flatnonzero([] if boosted_scores is None else np.isnan(boosted_scores) & np.isfinite(base))
    if undefined.size:
        warnings.warn(
            f"attributions: {undefined.size:,} of {pluralize(count, 'segment')} have no words, or an undefined "
            f"attribution (first: row {undefined[0]}). Their scores are NaN.",
            stacklevel=2,
        )
    return boosted


def _spec(side: UsedWords, correlation: Kind) -> GridSpec:
    """The grid with this side and correlation. Raises ConfigError."""
    from bmx_grid.measures.correlation import check_kind

    # A series or an array in place of a name is no name of a correlation or a side.
    one_name("side", side)
    one_name("correlation", correlation)
    check_kind(correlation)
    return GridSpec(side=side, correlation=correlation)


def _point(p: float | None, w: float | None) -> tuple[float | None, float | None]:
    """Both numbers, or neither. Raises ConfigError."""
    p = convert(plain_value(p), float | None, "p")
    w = convert(plain_value(w), float | None, "w")
    if (p is None) != (w is None):
        raise ConfigError("p and w: give both, or neither for the whole grid.")
    return p, w


def _human_scores(human: ArrayLike, count: int) -> Floats:
    scores = _vector(human, "human", count)
    rated = scores[np.isfinite(scores)]
    if len(rated) < FEWEST:
        raise DataError(f"human: {len(rated)} rated segments; a correlation needs {FEWEST}.")
    if np.ptp(rated) == 0:
        raise DataError(f"human: all scores are {rated[0]:g}; a correlation needs scores that differ.")
    return scores


def _are_explanations(attributions: Any) -> bool:
    return isinstance(attributions, Sequence) and bool(attributions) and isinstance(attributions[0], Explanation)


def _texts(attributions: Any, texts: Any, count: int) -> dict[str, list[str]]:
    """The texts of each side, or role of explanations; empty if unknown."""
    by_side = {}
    if texts is None:
        if _are_explanations(attributions):
            for role in attributions[0].attributions:
                by_side[f"explained {role}"] = [explanation.item.text(role) for explanation in attributions]
        return by_side
    if not isinstance(texts, Mapping):
        texts = {"hypothesis": texts}
    for side, series in texts.items():
        side_texts, _ = plain_series(series)
        if side not in (*SIDES, UNREAD):
            raise ConfigError(f"texts: {unknown('side', str(side), (*SIDES, UNREAD))}")
        # A text is a sequence, too; an array without dimensions has no length.
        is_list = isinstance(side_texts, Sequence | np.ndarray) and not isinstance(side_texts, str)
        if not is_list or getattr(side_texts, "ndim", 1) == 0:
            kind = type(side_texts).__name__
            raise DataError(f"texts of the {side}: expected a list of {count} texts, got a {kind}.")
        if len(side_texts) != count:
            raise DataError(f"texts of the {side}: {len(side_texts)} for {count} scores.")
        for row, text in enumerate(side_texts):
            if not isinstance(text, str):
                raise DataError(f"texts of the {side}, row {row}: expected a text, got {quote_value(text, 60)}.")
        by_side[side] = list(side_texts)
    return by_side


def _sides(attributions: Any, count: int) -> list[Ragged]:
    """The rows of the ground truth, empty ones if missing, and those of the hypothesis."""
    if _are_explanations(attributions):
        attributions = _explained_sides(attributions)
    sides = dict(attributions) if isinstance(attributions, Mapping) else {"hypothesis": attributions}
    if not {"hypothesis"} <= sides.keys() <= set(SIDES):
        names = ", ".join(map(str, sides))
        raise ConfigError(f"attributions: sides {names}; give hypothesis, and ground_truth.")
    ragged = []
    for side in SIDES:
        rows, _ = plain_series(sides.get(side, [()] * count))
        # An array without dimensions has no length.
        if not isinstance(rows, Sequence | np.ndarray) or getattr(rows, "ndim", 1) == 0:
            raise DataError(f"attributions of the {side}: expected a list of rows, got a {type(rows).__name__}.")
        if len(rows) != count:
            raise DataError(
                f"attributions of the {side}: {len(rows)} rows for {count} scores; give one row of numbers per score."
            )
        vectors = []
        for place, row in enumerate(rows):
            vectors.append(_vector(row, f"attributions of the {side}, row {place}"))
        ragged.append(Ragged.from_rows(vectors))
    return ragged


def _explained_sides(explanations: Sequence[Explanation]) -> dict[str, list[Floats]]:
    """The rows of each side; those of all roles but the hypothesis are the ground truth, in one row."""
    rows: dict[str, list[Floats]] = {"ground_truth": [], "hypothesis": []}
    roles = [role for role in explanations[0].attributions if role != "hypothesis"]
    for explanation in explanations:
        by_role = explanation.attributions
        truth = [by_role[role] for role in roles]
        # An empty list remains: explanations may be of the hypothesis only.
        rows["ground_truth"].append(np.concatenate([[], *truth]))
        rows["hypothesis"].append(by_role["hypothesis"])
    return rows


def _vector(values: ArrayLike, argument: str, count: int | None = None) -> Floats:
    """float64[n], NaN if an array is masked. Raises DataError, also for what would silently become other numbers."""
    try:
        # A masked array stays one.
        array = np.asanyarray(values)
        # Times and complex numbers.
        if array.dtype.kind in "mMc":
            raise TypeError(f"{array.dtype} are no real numbers")
        masked = np.ma.asanyarray(array.astype(np.float64))
        numbers: Floats = np.ma.filled(masked, np.nan)
    except (TypeError, ValueError, OverflowError) as error:
        reason = first_line(error)[:100]
        raise DataError(f"{argument}: {reason}; give a list of numbers.") from error
    if numbers.ndim != 1 or count not in (None, len(numbers)):
        raise DataError(f"{argument} has the shape {numbers.shape}; give {count or 'a list of'} numbers.")
    too_large = np.flatnonzero(np.abs(numbers) > LARGEST)
    if too_large.size:
        raise DataError(f"{argument}: number {too_large[0]} is beyond ±{LARGEST:g}; give a smaller one, or NaN.")
    return numbers


def _labels(argument: str, values: ArrayLike | None, default: Ints) -> Ints:
    """int64[n], equal for equal labels and in their order; the default without labels."""
    import pandas as pd

    if values is None:
        return default
    count = len(default)
    try:
        labels = np.asarray(values)
        numbers, _ = pd.factorize(labels, sort=True)
    except (TypeError, ValueError) as error:
        reason = first_line(error)[:100]
        raise DataError(f"{argument}: {reason}; give {count} labels, texts or numbers.") from error
    if labels.shape != (count,) or (numbers < 0).any():
        raise DataError(f"{argument}: give {count} labels, texts or numbers, one per segment; none may be missing.")
    return np.asarray(numbers, dtype=np.int64)
