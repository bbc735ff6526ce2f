"""Every two compared metrics: is their difference real, and is it more than an effect of score, length and text?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bmx_grid.api.compared import MOST_JUDGED, Grouping, Level
from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.core.terminal import Progress
from bmx_grid.core.wording import pluralize
from bmx_grid.evaluations.base import ScoredSetting
from bmx_grid.evaluations.boost_evidence import KeptCorrelations
from bmx_grid.evaluations.held_out import nuisance_of, select_rated, strata_of
from bmx_grid.evaluations.verdicts import Verdict, evidence_on, label_gains
from bmx_grid.measures.correlation import Coefficient, correlate
from bmx_grid.measures.correlations_of_resamples import Unit
from bmx_grid.measures.grouped import within_groups
from bmx_grid.measures.kernel_ridge import scatter_rows
from bmx_grid.measures.multiple_tests import benjamini_hochberg, holm, seed_of_repeats, select_repeats
from bmx_grid.measures.paired_family import compare_metrics
from bmx_grid.measures.paired_tests import Alternative, Comparison, compare_sums
from bmx_grid.measures.paired_tests import compare as compare_correlations
from bmx_grid.measures.resampling import codes, number_of, sums_by
from bmx_grid.measures.system_tests import compare_systems
from bmx_grid.measures.systems import mean, mean_terms
from bmx_grid.words.perturbation import ROLES, Role

if TYPE_CHECKING:
    import pandas as pd

MANY_PAIRS = 10  # of metrics, from which on progress is shown
VERDICT_ESTIMATES = ("gain", "partial_r")
TEST_ESTIMATES = ("difference", "low", "high", "p", "clusters")
# Those of tests.parquet without `explainer` and `point`.
TEST_COLUMNS = (
    *("language_pair", "metric", "compared", "against", "level", "grouping", "statistic", "difference", "low", "high"),
    *("test", "alternative", "p", "p_holm", "p_bh", "family", "n", "clusters", "resamples", "seed"),
)


@dataclass(frozen=True)
class ComparisonOptions:
    """The checked arguments of `compare` on how metrics are compared."""

    by: Grouping
    level: Level
    statistic: Coefficient
    resamples: int
    seed: int
    unit: Unit
    alternative: Alternative
    confidence: float

    @property
    def draws(self) -> dict[str, Any]:
        """What intervals and tests are drawn by."""
        return {"resamples": self.resamples, "seed": self.seed}

    @property
    def is_two_sided(self) -> bool:
        """Whether tests are two-sided; one-sided tests are about the metric named first."""
        return self.alternative == "two-sided"

    @property
    def needs_systems(self) -> bool:
        """Whether segments without a system are left out: they are in no group, and of no system's score."""
        return self.level == "system" or self.by != "none"

    @property
    def is_family(self) -> bool:
        """Whether tests are those of a sweep: of systems, or of all segments."""
        return self.level == "system" or self.by == "none"

    @property
    def test(self) -> str:
        """The name of the permutation test; at segment level clusters are swapped."""
        return "perm_inputs" if self.level == "segment" else f"perm_{self.unit}"


@dataclass(frozen=True, eq=False)
class ScoredColumn(ScoredSetting):
    """A finished setting of a column of scores. log_words: float64[N, k], None if unknown; has_texts: its words too."""

    log_words: Floats | None = None
    has_texts: bool = False


Pairs = Sequence[tuple[ScoredColumn, ScoredColumn]]
Advance = Callable[[int], None]  # so many more pairs are done


def progress_total(n_pairs: int) -> int:
    """The number of pairs whose progress is shown; 0 for a few, whose progress is not."""
    return n_pairs if n_pairs >= MANY_PAIRS else 0


def metric_pairs(settings: Sequence[ScoredColumn]) -> Iterator[tuple[ScoredColumn, ScoredColumn]]:
    """Every two metrics of a language pair."""
    for left, right in itertools.combinations(settings, 2):
        if left.pair == right.pair:
            yield left, right


def compare_pairs(pairs: Pairs, options: ComparisonOptions, advance: Advance, **draws: Any) -> list[Comparison]:
    """The difference of every two metrics (`_compare_pair`); Pearson's r of all segments for all pairs together."""
    if options.needs_systems or options.statistic != "pearson":
        compared = []
        for left, right in pairs:
            compared.append(_compare_pair(left, right, options, **draws))
            advance(1)
        return compared
    draws |= {"alternative": options.alternative, "confidence": options.confidence}
    # By language pair and segments: of the pairs of metrics their places.
    by_rows: dict[tuple[Any, bytes], list[int]] = {}
    for place, (left, right) in enumerate(pairs):
        used = _scored_by_both(left, right)
        by_rows.setdefault((left.pair, used.tobytes()), []).append(place)
    found: dict[int, Comparison] = {}
    for (_, is_used), places in by_rows.items():
        used = np.frombuffer(is_used, dtype=np.bool_)
        metrics: list[ScoredColumn] = []
        column_of: dict[int, int] = {}
        columns_of_pairs = []
        for place in places:
            for metric in pairs[place]:
                if id(metric) not in column_of:
                    column_of[id(metric)] = len(metrics)
                    metrics.append(metric)
            left, right = pairs[place]
            columns_of_pairs.append((column_of[id(left)], column_of[id(right)]))
        scores = np.column_stack([metric.scores.base_scores[used] for metric in metrics])
        first = metrics[0]
        human = first.segments.human_scores[used]
        clusters = codes(first.codes.clusters[used])
        comparisons = compare_metrics(scores, human, clusters, columns_of_pairs, **draws, advance=advance)
        found.update(zip(places, comparisons, strict=True))
    return [found[place] for place in range(len(pairs))]


def _compare_pair(left: ScoredColumn, right: ScoredColumn, options: ComparisonOptions, **draws: Any) -> Comparison:
    """The difference of two metrics at this level and grouping, on the segments that both scored."""
    statistic = options.statistic
    draws |= {"alternative": options.alternative, "confidence": options.confidence}
    segment_codes = left.codes
    human = left.segments.human_scores
    x = left.scores.base_scores
    y = right.scores.base_scores
    clusters = segment_codes.clusters
    if not options.needs_systems:
        return compare_correlations(x, y, human, clusters, statistic=statistic, **draws)
    # Segments without a system are in no group.
    x = np.where(segment_codes.named, x, np.nan)
    y = np.where(segment_codes.named, y, np.nan)
    if options.level == "system" and options.unit == "systems":
        used = _scored_by_both(left, right) & segment_codes.named
        systems = codes(segment_codes.systems[used])
        means = [mean(sums_by(systems, mean_terms(scores[used]))) for scores in (x, y, human)]
        # Systems are swapped and drawn as a whole: each is an input.
        return compare_correlations(*means, statistic=statistic, **draws)
    if options.level == "system":
        return compare_systems(
            x, y, human, segment_codes.systems, clusters, statistic=statistic, unit=options.unit, **draws
        )
    if options.by == "system":
        return compare_correlations(x, y, human, clusters, group=segment_codes.systems, statistic=statistic, **draws)
    x_items, y_items = within_groups(statistic, np.stack([x, y], axis=1), human, segment_codes.items)
    _, first_rows = np.unique(segment_codes.items, return_index=True)
    return compare_sums(mean_terms(x_items), mean_terms(y_items), mean, clusters[first_rows], **draws)


def tests_of_pairs(pairs: Pairs, comparisons: Sequence[Comparison], options: ComparisonOptions) -> pd.DataFrame:
    """A row per two metrics with corrected p values.

    Two-sided tests have the better metric in front: no difference is below 0. Those of one side have the metric that
    was named first.
    n: segments that people and both metrics scored, whatever is swapped.
    All tests of a family are one, over all language pairs: without those that are undefined, and with more resamples if
    it is a large one (`select_repeats`).
    """
    import pandas as pd

    rows = []
    tested = []
    for (left, right), comparison in zip(pairs, comparisons, strict=True):
        if math.isnan(comparison.difference):
            continue
        used = _scored_by_both(left, right)
        if options.needs_systems:
            used = used & left.codes.named
        row: dict[str, Any] = {"language_pair": left.segments.language_pair, "metric": left.metric_name}
        row |= {"compared": left.metric_name, "against": right.metric_name}
        row |= {"level": options.level, "grouping": "none" if options.is_family else options.by}
        row |= {"statistic": options.statistic, "test": options.test}
        row |= {"alternative": options.alternative, "n": int(used.sum()), **options.draws}
        for name in TEST_ESTIMATES:
            row[name] = getattr(comparison, name)
        rows.append(row)
        tested.append((left, right))
    if options.is_family:
        _repeat_tests(rows, tested, options)
    tests = pd.DataFrame(rows, columns=[*TEST_COLUMNS])
    p = tests["p"].astype(np.float64)
    size = pluralize(int(p.notna().sum()), "comparison")
    family = f"{options.level}: metric against metric, {options.statistic}, {options.test}: {size}"
    tests = tests.assign(p_holm=holm(p), p_bh=benjamini_hochberg(p), family=family)
    # As in tests.parquet of a sweep, numbers of all kinds are floats.
    tests = tests.astype(dict.fromkeys((*TEST_ESTIMATES, "n", "resamples", "seed"), np.float64))
    return _better_first(tests) if options.is_two_sided else tests


def _repeat_tests(rows: Sequence[dict[str, Any]], pairs: Pairs, options: ComparisonOptions) -> None:
    """Put the p values of more resamples into the rows of pairs that a large family needs them for."""
    repeated, count = select_repeats([row["p"] for row in rows], options.resamples)
    draws: dict[str, Any] = {"resamples": count, "seed": seed_of_repeats(options.seed)}
    places = np.flatnonzero(repeated).tolist()
    repeated_pairs = [pairs[place] for place in places]
    with Progress(progress_total(len(places)), "testing with more resamples", "pairs of metrics") as progress:
        comparisons = compare_pairs(repeated_pairs, options, progress.advance, **draws, bootstrap=False)
    for place, again in zip(places, comparisons, strict=True):
        rows[place].update(draws, p=again.p)


def _better_first(tests: pd.DataFrame) -> pd.DataFrame:
    """Two-sided tests with the better metric of each pair in front, as in the verdicts: no difference is below 0."""
    turned = tests["difference"] < 0
    columns = {
        "compared": tests["compared"].where(~turned, tests["against"]),
        "against": tests["against"].where(~turned, tests["compared"]),
        "difference": tests["difference"].abs(),
        "low": tests["low"].where(~turned, -tests["high"]),
        "high": tests["high"].where(~turned, -tests["low"]),
    }
    return tests.assign(**columns)


def verdicts_of_pairs(
    pairs: Pairs, comparisons: Sequence[Comparison], options: ComparisonOptions, advance: Advance
) -> pd.DataFrame:
    """A row per two metrics, on the segments that both score; all are one family of tests. None but of all segments.

    The better metric is that of the tests. Of two metrics without a difference the one that has a correlation is the
    better one. Two that have none have no verdict.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    # By the metric in the place of the baseline, and its segments: the better metrics by their row.
    by_base: dict[tuple[int, bytes], tuple[ScoredColumn, Flags, dict[int, ScoredColumn]]] = {}
    if options.needs_systems:
        return pd.DataFrame()
    for (left, right), comparison in zip(pairs, comparisons, strict=True):
        used = _of_known_length(left, _scored_by_both(left, right))
        right_is_better = comparison.difference < 0
        if math.isnan(comparison.difference):
            right_is_better = not _has_correlation(left, used, options.statistic)
            if right_is_better and not _has_correlation(right, used, options.statistic):
                advance(1)
                continue
        better, other = (right, left) if right_is_better else (left, right)
        names = {"compared": better.metric_name, "against": other.metric_name}
        _, _, better_by_row = by_base.setdefault((id(other), used.tobytes()), (other, used, {}))
        better_by_row[len(rows)] = better
        rows.append({"language_pair": other.segments.language_pair, **names})
    evidence: dict[int, Verdict] = {}
    kept_by_rows: dict[tuple[Any, bytes], KeptCorrelations] = {}
    for other, used, better_by_row in by_base.values():
        kept = kept_by_rows.setdefault((other.pair, used.tobytes()), {})
        found = _evidence(list(better_by_row.values()), other, used, options, kept)
        evidence.update(zip(better_by_row, found, strict=True))
        advance(len(found))
    verdicts = label_gains([evidence[place] for place in range(len(rows))])
    for row, verdict in zip(rows, verdicts, strict=True):
        row |= {"verdict": verdict.verdict, "because": verdict.because}
        for name in VERDICT_ESTIMATES:
            estimate = getattr(verdict, name)
            row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return pd.DataFrame(rows)


def _has_correlation(setting: ScoredColumn, used: Flags, statistic: Coefficient) -> bool:
    """Whether the metric has a correlation with the human scores on these segments."""
    correlation = correlate(statistic, setting.scores.base_scores[used], setting.segments.human_scores[used])
    return not math.isnan(correlation)


def _scored_by_both(left: ScoredColumn, right: ScoredColumn) -> Flags:
    """bool[N] which segments are rated and scored by both metrics."""
    scores = [left.segments.human_scores, left.scores.base_scores, right.scores.base_scores]
    return np.asarray(np.isfinite(scores).all(axis=0))


def _of_known_length(setting: ScoredColumn, used: Flags) -> Flags:
    """bool[N] which used segments have a known length, if lengths are known at all."""
    if setting.log_words is None:
        return used
    return used & np.isfinite(setting.log_words).all(axis=1)


def _evidence(
    better: Sequence[ScoredColumn],
    other: ScoredColumn,
    used: Flags,
    options: ComparisonOptions,
    kept: KeptCorrelations,
) -> list[Verdict]:
    """The evidence for each better metric on the used segments, with the other one as baseline.

    kept: correlations of resamples of these segments, for all baselines.
    """
    segment_codes = other.codes
    read = _judged_rows(used, segment_codes.items)
    base = other.scores.base_scores[read]
    clusters = np.asarray(other.clusters)[read]
    has_lengths = other.log_words is not None
    if other.log_words is None:
        # Nothing is controlled for. Lengths are the same of each segment, which explains nothing.
        log_words = np.zeros((len(read), 1))
        nuisance = nuisance_of(base, log_words, (), (), clusters)
    else:
        log_words = other.log_words[read]
        roles = other.text_roles if other.has_texts else ()
        texts = [_words(other, role, read) for role in roles]
        unread = []
        for role in ROLES:
            # Without a column of hypotheses they are empty.
            if role not in (*roles, "hypothesis") and other.segments.has(role):
                unread.append(_words(other, role, read))
        groups = [group[read] for group in other.segments.groups.values()]
        strata = strata_of([other.segments.segments[row] for row in read], clusters, used[read])
        nuisance = nuisance_of(base, log_words, texts, groups, clusters, strata, unread)
    rated = select_rated(
        kind=options.statistic,
        base=base,
        human=other.segments.human_scores[read],
        log_words=log_words,
        clusters=segment_codes.clusters[read],
        nuisance=nuisance,
        used=used[read],
        seed=options.seed,
        items=segment_codes.items[read],
    )
    scores = [metric.scores.base_scores[read][used[read]] for metric in better]
    return evidence_on(options.statistic, rated, scores, **options.draws, has_lengths=has_lengths, kept=kept)


def _words(setting: ScoredColumn, role: Role, rows: Ints) -> list[tuple[str, ...]]:
    """The words of a text of some segments."""
    texts = list(setting.segments.texts(role))
    return [setting.segmented.words(role, texts[row]) for row in rows]


def _judged_rows(used: Flags, items: Ints) -> Ints:
    """The rows that a verdict reads: all, or of more than MOST_JUDGED those of so many, whole items, spread evenly.

    used: bool[N] which rows are judged; items: int64[N] codes.
    """
    if used.sum() <= MOST_JUDGED:
        return np.arange(len(used))
    sizes = np.bincount(items[used], minlength=number_of(items))
    order = scatter_rows(len(sizes))
    # An item is kept if fewer than MOST_JUDGED rows come before it.
    before = np.cumsum(sizes[order]) - sizes[order]
    kept = np.zeros(len(sizes), dtype=np.bool_)
    kept[order[before < MOST_JUDGED]] = True
    return np.flatnonzero(used & kept[items])
