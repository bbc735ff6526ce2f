"""The segments that boosts are judged on, with all that they are made of and controlled for."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.boosts.base import Boost, Features, FittedBoost
from bmx_grid.boosts.feature_mix import FeatureMix
from bmx_grid.boosts.power_mean_grid import PowerMeanGrid
from bmx_grid.boosts.recipe import Identity, RecipeBoost
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import digest
from bmx_grid.core.memory import give_back_memory
from bmx_grid.core.ragged import Flags, Floats, Ints
from bmx_grid.datasets.segments import Segment
from bmx_grid.evaluations.base import ScoredSetting
from bmx_grid.measures.correlation import Coefficient, Kind, correlate
from bmx_grid.measures.grid import GridSpec, words_of
from bmx_grid.measures.grid_resampling import FOLDS_PLACE
from bmx_grid.measures.kernels import Nuisance, standardise
from bmx_grid.measures.means import defined_means, join_means, take_means
from bmx_grid.measures.nuisance import NO_DONOR, donors
from bmx_grid.measures.resampling import FEWEST_CLUSTERS, assign_folds, codes, number_of
from bmx_grid.words.perturbation import ROLES
from bmx_grid.words.segmentation import log_words as log_words_of
from bmx_grid.words.segmentation import text_statistics

Boosts = Mapping[str, Boost]  # by name
HeldOutScores = dict[tuple[str, str], Floats]  # float64[n] of a boost at a point, by both
FOLDS = 10
REASSIGNED_PLACE = 2  # in the seed
KEPT_TEXT_CELLS = 2**23  # texts x statistics that are kept: 64 MiB
TIED_DIGITS = 9  # of score and lengths; closer ones are equal
# Outputs are compared within sources if so many sources have several, which are at least this share of the segments;
# within documents if most segments share theirs.
FEWEST_SOURCES = 30
LEAST_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class RatedSegments:
    """The n judged of N segments of a language pair.

    base, human: float64[n], finite; log_words: float64[n, k] of the texts that are read; clusters: int64[n] codes,
    the same for a cluster in every language pair that chooses together with this one; items: int64[n] codes of the
    segment ids, which translations of one source share; nuisance: what may explain human scores and is no explanation;
    fold_of: int64[n]; used: bool[N] which segments these are.
    """

    base: Floats
    human: Floats
    log_words: Floats
    clusters: Ints
    items: Ints
    nuisance: Nuisance
    fold_of: Ints
    used: Flags

    def to_all_segments(self, scores: Floats) -> Floats:
        """float64[N] from float64[n]; NaN for the segments that are not judged."""
        scores_of_all = np.full(len(self.used), np.nan)
        scores_of_all[self.used] = scores
        return scores_of_all


def select_rated(
    kind: Coefficient,
    base: Floats,
    human: Floats,
    log_words: Floats,
    clusters: NDArray[Any],
    nuisance: Nuisance,
    used: Flags,
    seed: int,
    items: NDArray[Any] | None = None,
) -> RatedSegments:
    """The segments where bool[N] `used` is true, of arrays of N; labels of clusters and items.

    seed: of folds, which are dealt among the same segments. items: each segment its own if None.
    """
    clusters_of_used = codes(clusters[used])
    items = np.arange(len(base)) if items is None else items
    return RatedSegments(
        base=base[used],
        human=human[used],
        log_words=log_words[used],
        clusters=clusters_of_used,
        items=codes(items[used]),
        nuisance=nuisance.take(np.flatnonzero(used)),
        fold_of=folds_of(kind, base[used], human[used], clusters_of_used, seed),
        used=used,
    )


def nuisance_of(
    base: Floats,
    log_words: Floats,
    texts: Iterable[Sequence[Sequence[str]]],
    groups: Sequence[NDArray[Any]],
    clusters: NDArray[Any],
    strata: Ints | None = None,
    unread: Iterable[Sequence[Sequence[str]]] = (),
) -> Nuisance:
    """What may explain human scores and is no explanation, of all N segments.

    base: float64[N], NaN if the metric has no score; log_words: float64[N, k] of the texts that are read, the
    hypothesis last; texts, unread: of each text that the metric reads, and of the others, N rows of words; groups: N
    names each, of systems, raters or domains; clusters: N labels; strata: int64[N] (`strata_of`).
    """
    score = np.full(len(base), np.nan)
    known = np.isfinite(base)
    if known.any():
        score[known] = standardise(base[known, None])[:, 0]
    inputs = [score, *log_words.T]
    # The ratio of lengths is a direction of its own to a learner that sees distances along the axes.
    for other in log_words.T[:-1]:
        inputs.append(log_words[:, -1] - other)
    # Rounding must not decide which of two equal inputs is larger.
    core = np.round(np.column_stack(inputs), TIED_DIGITS)
    # `column_stack` cannot make an array of no columns.
    of_texts = np.column_stack([np.empty((len(base), 0)), *_text_columns(texts, unread, codes(clusters))])
    group_codes = tuple(codes(names) for names in groups if has_groups(names))
    return Nuisance(core, of_texts, group_codes, strata)


def _text_columns(
    texts: Iterable[Sequence[Sequence[str]]], unread: Iterable[Sequence[Sequence[str]]], clusters: Ints
) -> list[Floats]:
    """The statistics of each text, and the log words of each unread one; clusters: int64[N] codes."""
    # The words of one text at a time: those of a million texts take hundreds of megabytes.
    statistics = [_statistics_of(rows, clusters) for rows in texts]
    lengths = []
    for rows in unread:
        statistics.append(_statistics_of(rows, clusters))
        lengths.append(log_words_of(np.fromiter(map(len, rows), np.int64, len(rows))))
    return [*statistics, *lengths]


_kept_statistics: dict[bytes, Floats] = {}


def _statistics_of(rows: Sequence[Sequence[str]], clusters: Ints) -> Floats:
    """`text_statistics`, cached for the last texts: further metrics, explainers and boosts need the same ones."""
    content = hashlib.sha256(clusters.tobytes())
    for words in rows:
        content.update(ascii(words).encode())
    key = content.digest()
    if key in _kept_statistics:
        return _kept_statistics[key]
    statistics = text_statistics(rows, clusters)
    _kept_statistics[key] = statistics
    # Dictionaries keep their order: the oldest entry is removed first.
    while sum(kept.size for kept in _kept_statistics.values()) > KEPT_TEXT_CELLS:
        del _kept_statistics[next(iter(_kept_statistics))]
    return statistics


def has_groups(names: NDArray[Any]) -> bool:
    """Whether most segments share their system, rater, domain or document with another one, and not all one."""
    sizes = np.bincount(codes(names))
    return len(sizes) > 1 and 2 * sizes[sizes > 1].sum() >= len(names)


def strata_of(segments: Sequence[Segment], clusters: NDArray[Any], used: Flags) -> Ints | None:
    """int64[N] codes of the sources or documents within which scores are compared; None to compare all segments.

    Sources, if enough of the used segments are outputs for a source that has several: else what attributions know of
    the difficulty of a source would count as knowledge of its outputs. Else documents, if most segments share theirs.
    clusters: N labels.
    """
    names = [segment.id for segment in segments]
    # Rows of a table may be numbered: then outputs for one source have its text in common.
    if len(set(names)) == len(names):
        names = [segment.source or segment.id for segment in segments]
    # A stratum lies in one cluster: an id, or a text of one word, may occur in several.
    # Objects, as an array of texts has room for the longest one in every row.
    sources = np.array([f"{cluster} {name}" for cluster, name in zip(clusters, names, strict=True)], dtype=object)
    sizes = np.bincount(codes(sources[used]))
    several = sizes[sizes > 1]
    if len(several) >= FEWEST_SOURCES and several.sum() >= LEAST_SHARE * sizes.sum():
        return codes(sources)
    labels = [segment.document or f"\0{row}" for row, segment in enumerate(segments)]
    documents = np.array(labels, dtype=object)
    if used.any() and has_groups(documents[used]):
        return codes(documents)
    return None


def folds_of(kind: Coefficient, base: Floats, human: Floats, unit: Ints, seed: int) -> Ints:
    """int64[n] which of ten folds each segment is in, those of the grid; 0 if nothing is cross-fitted."""
    if number_of(unit) < FEWEST_CLUSTERS or math.isnan(correlate(kind, base, human)):
        return np.zeros(len(base), dtype=np.int64)
    generator = np.random.default_rng([seed, FOLDS_PLACE])
    return assign_folds(unit, FOLDS, generator)


def reassignments(n_words: Ints, clusters: Ints, draws: int, seed: int) -> tuple[Ints, ...]:
    """int64[n] for each draw, which of n judged segments each gets its attributions from (`nuisance.donors`).

    n_words: int64[n]; clusters: int64[n] codes from 0. Drawn from the seed and from these, so that the same segments
    have the same ones in every sweep and in `bmx_grid.boost`.
    """
    # The seed depends on the content only, not on the rest of the sweep: 64 bits of its digest.
    content = digest([n_words.tolist(), clusters.tolist()])
    seed_of_content = int(content[:16], 16)
    drawn = []
    for draw in range(draws):
        generator = np.random.default_rng([seed, seed_of_content, REASSIGNED_PLACE, draw])
        drawn.append(donors(n_words, clusters, generator))
    return tuple(drawn)


@dataclass(frozen=True, eq=False)
class BoostInputs:
    """The segments of a setting that some boosts can be made on, with these boosts.

    rated: the n segments, of the setting's N; features: float64[n, k] of each boost; declared: float64[n] scores of the
    grid's own boost at the points that it declares, by both: they are not chosen again.
    donors: int64[n] for each draw, which segment each gets its attributions from, none if a segment has no other
    cluster to get them from; choosing: for each member that chooses for this one, by its number, bool[n] which of its
    segments do.
    held_out: float64[n] scores that others chose, by boost and point; fitted: boosts that were fitted on all segments,
    by name. Both are filled as they become known.
    """

    setting: ScoredSetting
    rated: RatedSegments
    features: Mapping[str, Features]
    declared: Mapping[tuple[str, str], Floats]
    donors: tuple[Ints, ...]
    choosing: Mapping[int, Flags] = field(default_factory=dict)
    held_out: HeldOutScores = field(default_factory=dict)
    fitted: dict[str, FittedBoost] = field(default_factory=dict)

    def reassign_features(self, name: str, boost: Boost) -> list[Features]:
        """The features of a boost with the attributions of other segments, of each draw."""
        if name not in self.features:
            return []
        features = self.features[name]
        # Columns that are no attributions, such as lengths, stay with their segment.
        attributed = np.array(boost.attribution_mask())
        if attributed.all():
            return [take_means(features, donor) for donor in self.donors]
        return [np.where(attributed, features[donor], features) for donor in self.donors]


def judged_by(kind: Kind, member: BoostInputs, gold: str, fold_seed: int) -> tuple[RatedSegments, Flags]:
    """Judge a setting with another human score; also returns bool[n], the segments with that score.

    Folds are dealt anew among these. With the primary human score, or "", the segments are as they are.
    """
    judgements = member.setting.segments.judgements
    rated = member.rated
    human = judgements.scores[gold or judgements.primary][rated.used]
    rows = np.isfinite(human)
    if gold in ("", judgements.primary):
        return rated, rows
    arrays = (rated.base, human, rated.log_words, rated.clusters, rated.nuisance)
    by_gold = select_rated(kind, *arrays, rows, fold_seed, rated.items)
    # Clusters keep their codes, which other language pairs share.
    return replace(by_gold, clusters=rated.clusters[rows]), rows


def is_of_grid(boost: Boost | None, spec: GridSpec) -> bool:
    """Whether a boost is the one whose points a grid declares."""
    if not isinstance(boost, PowerMeanGrid) or boost.shift != "paper":
        return False
    return replace(boost.spec, correlation=spec.correlation) == spec


def compute_features(setting: ScoredSetting, boosts: Boosts) -> tuple[dict[str, Features], dict[str, str]]:
    """float64[N, k] features of each boost that can be made in a setting, and why others cannot; by name.

    Both are empty without an explainer. Raises DataError if a boost cannot be made of the attributions at all.
    """
    features: dict[str, Features] = {}
    lacking: dict[str, str] = {}
    if setting.explainer is None:
        return features, lacking
    is_rated = judged_segments(setting)
    scores = setting.scores
    for name, boost in boosts.items():
        reason = _differs(boost, setting)
        if reason:
            lacking[name] = reason
            continue
        columns = boost.features(scores.ground_truth, scores.hypothesis)
        if judged_segments(setting, columns).any():
            features[name] = columns
        else:
            lacking[name] = _lacks_side(name, boost, setting) if is_rated.any() else "no segment is rated"
    return features, lacking


def judged_segments(setting: ScoredSetting, features: Features | None = None) -> Flags:
    """bool[N] segments with a human score, a metric score and all features."""
    is_rated = np.isfinite(setting.segments.human_scores) & np.isfinite(setting.scores.base_scores)
    if features is None:
        return is_rated
    return np.asarray(is_rated & defined_means(features))


def boosts_by_segments(
    boosts: Boosts, settings: Sequence[ScoredSetting], features: Sequence[Mapping[str, Features]]
) -> list[dict[str, Boost]]:
    """The boosts that some setting can make, those together that are judged on the same segments of every setting.

    One group of no boosts if none can be made: placebos are judged without them. features: of each setting.
    """
    groups: dict[tuple[bytes, ...], dict[str, Boost]] = {}
    for name, boost in boosts.items():
        columns = [of_setting.get(name) for of_setting in features]
        if all(columns_of_setting is None for columns_of_setting in columns):
            continue
        segments = tuple(is_judged.tobytes() for is_judged in map(judged_segments, settings, columns))
        groups.setdefault(segments, {})[name] = boost
    return list(groups.values()) or [{}]


def member_of(
    setting: ScoredSetting,
    features: Mapping[str, Features],
    boosts: Boosts,
    spec: GridSpec,
    *,
    fold_seed: int,
    draws: int,
    seed: int,
) -> BoostInputs:
    """The segments of a setting that some boosts are judged on, before others choose for it (`link_selection_sets`).

    features: float64[N, k] of the boosts that can be made, all on the same segments. spec: of the grid, whose
    correlation is used. fold_seed: of its folds; draws, seed: of reassigned attributions.
    """
    kind = spec.correlation
    used = judged_segments(setting, next(iter(features.values()), None))
    features_of_used = {}
    declared = {}
    for name, columns in features.items():
        columns = columns if used.all() else take_means(columns, used)
        # As in the grid, rounding creates no order.
        features_of_used[name] = columns if kind == "pearson" else join_means(columns)
        if not is_of_grid(boosts[name], spec):
            continue
        for point, scores in setting.boosted.items():
            if np.isfinite(scores[used]).all():
                declared[name, point] = scores[used]
    rated = _rated_segments(kind, setting, used, fold_seed)
    donors_of_draws: tuple[Ints, ...] = ()
    if features and draws:
        attributed = words_of(spec.side, setting.scores.ground_truth, setting.scores.hypothesis)
        donors_of_draws = reassignments(attributed.lengths[used], rated.clusters, draws, seed)
        # In one cluster no segment has another one to get attributions from.
        if any((donor == NO_DONOR).any() for donor in donors_of_draws):
            donors_of_draws = ()
    return BoostInputs(setting, rated, features_of_used, declared, donors_of_draws)


def _rated_segments(kind: Kind, setting: ScoredSetting, used: Flags, fold_seed: int) -> RatedSegments:
    """The used segments of a setting, bool[N], with the controls."""
    segments = setting.segments
    clusters = setting.codes.clusters
    log_words = log_words_of(*[setting.word_counts(role) for role in setting.text_roles])
    unread = [role for role in ROLES if role not in setting.text_roles and segments.has(role)]
    nuisance = nuisance_of(
        base=setting.scores.base_scores,
        log_words=log_words,
        texts=(setting.words(role) for role in setting.text_roles),
        unread=(setting.segment_words(role) for role in unread),
        groups=list(segments.groups.values()),
        clusters=clusters,
        strata=strata_of(segments.segments, clusters, used),
    )
    give_back_memory()  # of the words
    arrays = (setting.scores.base_scores, segments.human_scores, log_words, clusters, nuisance)
    return select_rated(kind, *arrays, used, fold_seed, setting.codes.items)


def _lacks_side(name: str, boost: Boost, setting: ScoredSetting) -> str:
    """Why no segment has the attributions that a boost reads, with a boost that reads the side which is known."""
    has_hypothesis = len(setting.scores.hypothesis.values) > 0
    has_truth = len(setting.scores.ground_truth.values) > 0
    if has_hypothesis == has_truth:
        return f"no rated segment has finite attributions of every side that boost={name} reads"
    lacking, side = ("ground truth", "hypothesis") if has_hypothesis else ("hypothesis", "ground_truth")
    way_out = f"boost.{name}.side={side}"
    if not isinstance(boost, FeatureMix):
        way_out = f"boost=[mean] boost.mean.side={side}"
    return (
        f"boost={name} reads attributions of the {lacking}, and explainer={setting.explainer_name} gives none. "
        f"Choose: {way_out}"
    )


def _differs(boost: Boost, setting: ScoredSetting) -> str:
    """Why a recipe is not for this setting; "" if it is, and for other boosts."""
    if not isinstance(boost, RecipeBoost):
        return ""
    assert setting.explainer is not None
    recipe = boost.loaded_recipe
    dataset = setting.segments.dataset
    # It would be judged in which it was chosen.
    if any(part.dataset == dataset for part in recipe.chosen_on):
        return f"the recipe was chosen on {dataset}; give your data another name if they are others"
    try:
        metric = Identity.from_part("metric", setting.metric_name, setting.metric, setting.metric.signature)
        explainer = Identity.from_part(
            "explainer", setting.explainer_name, setting.explainer, setting.explainer.signature
        )
        recipe.check(metric, explainer)
    except ConfigError as error:
        return str(error)
    return ""
