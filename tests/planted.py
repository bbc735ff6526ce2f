"""Sweeps in which it is known what the attributions say, for tests and benchmarks of verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from fakes import HashMetric
from numpy.typing import NDArray

from bmx_grid.boosts.feature_mix import FeatureMix
from bmx_grid.boosts.power_mean_grid import PowerMeanGrid
from bmx_grid.core.ragged import Ragged
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.evaluations.base import ScoredSetting
from bmx_grid.evaluations.boosts import BoostEvaluation
from bmx_grid.evaluations.grid_surface import GridEvaluation
from bmx_grid.evaluations.verdicts import Verdict
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.measures.grid import PAPER_W, PowerRange
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.perturbation import Role

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rng = np.random.Generator
Function = Callable[[Floats, Floats], Floats]
DECLARED = "declared"  # in place of a point: the one that a verdict is given at by default
N, PAIRS = 200, 6
P = PowerRange(-30.0, 30.0, 3.0)
MAIN = "power_mean_grid"
EVALUATION = BoostEvaluation(
    grid=GridEvaluation(p=P, w=PAPER_W, fixed={}),
    boosts={
        MAIN: PowerMeanGrid(p=P),
        "share_negative": FeatureMix(feature="share_negative"),
        "mean": FeatureMix(feature="mean"),
    },
    resamples=400,
)


@dataclass(frozen=True, eq=False)
class World:
    """n segments of a language pair.

    score, human: float64[n]; level, width: float64[n] mean and standard deviation of a segment's word attributions.
    words: int64[n, 2] of source and hypothesis. groups: int64[n] clusters; items: int64[n] sources that several
    systems translate; every segment its own where None. systems: int64[n] which system, one of its own where None.
    blocks: by a name such as "rater" or "domain" int64[n] which one a segment has; empty where the data name none.
    texts: by role n texts, in place of made-up ones. marks: an attribution for each word of all hypotheses in turn, in
    place of drawn ones. reads_source: else the metric reads references, which have the first column of words.
    """

    score: Floats
    human: Floats
    level: Floats
    width: Floats
    words: Ints
    groups: Ints | None = None
    items: Ints | None = None
    systems: Ints | None = None
    blocks: Mapping[str, Ints] = field(default_factory=dict)
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    marks: Floats | None = None
    reads_source: bool = True


class ReferenceMetric(HashMetric):
    """The same for references."""

    @property
    def reads(self) -> tuple[Role, ...]:
        return ("reference", "hypothesis")


def words_of(rng: Rng, n: int) -> Ints:
    """int64[n, 2] 8 to 40 words on each side, alike on both."""
    log = rng.normal(2.9, 0.4, (n, 1)) + rng.normal(0, 0.15, (n, 2))
    return np.clip(np.exp(log).round().astype(np.int64), 8, 40)


def noise(rng: Rng, n: int = N) -> World:
    """Attributions differ between segments, and say nothing."""
    score = rng.normal(size=n)
    return World(score, score + rng.normal(size=n), 0.5 + rng.normal(size=n), np.ones(n), words_of(rng, n))


def length(rng: Rng, weight: float = -0.8, n: int = N) -> World:
    """Attributions are 1 / words but for 30 %; people mark long segments down (up, with a weight above 0)."""
    score, words = rng.normal(size=n), words_of(rng, n)
    human = score + weight * np.log(words).mean(axis=1) / 0.4 + rng.normal(size=n)
    return World(score, human, 1 / words[:, 1], 0.3 / words[:, 1], words)


def of_score(rng: Rng, human: Function, level: Function, n: int = N, *, score: Floats | None = None) -> World:
    """Human scores with noise, and attributions of half the level to 1.5 times, as functions of score and log words.

    Log words are those of the hypothesis, standardised.
    """
    score, words = rng.normal(size=n) if score is None else score, words_of(rng, n)
    log = (np.log(words[:, 1]) - 2.9) / 0.4
    mean = level(score, log)
    return World(score, human(score, log) + rng.normal(size=n), mean, 0.29 * np.abs(mean), words)


def same(function: Function, n: int = N) -> Callable[[Rng], World]:
    """People and attributions see the same function of score and log words, and nothing else."""
    return lambda rng: of_score(rng, function, function, n)


curve = same(lambda score, log: np.exp(0.8 * score))


def jointly(rng: Rng, effect: Callable[[Floats, Floats, Floats], Floats], n: int = N, explained: float = 1.0) -> World:
    """People add a joint effect of score, log words of the hypothesis and ratio of words; attributions are that effect.

    Log words and log ratio are standardised. explained: share of the variance of attributions that is the effect.
    """
    score, words = rng.normal(size=n), words_of(rng, n)
    log = (np.log(words[:, 1]) - 2.9) / 0.4
    ratio = (np.log(words[:, 0]) - np.log(words[:, 1])) / 0.21
    of_both = effect(score, log, ratio)
    level = of_both - of_both.min() + 0.5
    if explained < 1:
        level = level + level.std() * math.sqrt(1 / explained - 1) * rng.normal(size=n)
    return World(score, score + of_both + rng.normal(size=n), level, 0.29 * np.abs(level), words)


def beside(rng: Rng, effect: Callable[[Floats, Floats, Floats], Floats], n: int = N, size: float = 0.25) -> World:
    """The same effect, and a quality that the metric misses: people see it with a weight of `size`, attributions too.

    Each is half of the variance of attributions.
    """
    world = jointly(rng, effect, n)
    quality = rng.normal(size=n)
    human = world.human + size * quality
    level = world.level / (world.level.std() or 1.0) + quality
    return replace(world, human=human, level=level, width=0.29 * np.abs(level))


def two_kinds_of_people(rng: Rng, n: int = N) -> World:
    """People give one of two scores, with a probability that score and length decide; attributions are that."""
    score, words = rng.normal(size=n), words_of(rng, n)
    log = (np.log(words[:, 1]) - 2.9) / 0.4
    share = 1 / (1 + np.exp(-4 * (score - 0.3 * log)))
    human = 4.0 * (rng.random(n) < share) + 0.3 * rng.normal(size=n)
    return World(score, human, share, 0.29 * share, words)


JOINT: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {
    "two steps": lambda score, log, ratio: 2.0 * ((score > 0) & (log > 0)),
    "signs": lambda score, log, ratio: 0.7 * np.sign(score) * np.sign(log),
    "exponential": lambda score, log, ratio: np.exp(0.6 * score * log).clip(0, 8),
    "three ways": lambda score, log, ratio: 0.8 * np.clip(score * ratio * np.abs(log), -4, 4),
    "logistic": lambda score, log, ratio: 2.2 / (1 + np.exp(-4 * (score - 0.5 * log))),
    "wedge": lambda score, log, ratio: 2.0 * (score + ratio > log),
    "ring": lambda score, log, ratio: 2.0 * (score**2 + log**2 < 1),
    "four by four": lambda score, log, ratio: 0.7 * np.sign(np.sin(2.5 * score) * np.sin(2.5 * log)),
}


def heavy(rng: Rng, n: int = N) -> World:
    """Scores, human scores and attributions have tails of Student's t with 2.5 degrees of freedom; nothing planted."""
    score, error, level = rng.standard_t(2.5, (3, n))
    return World(score, score + error, level, np.ones(n), words_of(rng, n))


def clustered(rng: Rng, clusters: int, n: int = N) -> World:
    """Human scores and attributions each have an effect of the cluster, as large as the rest; nothing planted."""
    groups = np.arange(n) % clusters
    human, level = rng.normal(size=(2, clusters))[:, groups] + rng.normal(size=(2, n))
    score = rng.normal(size=n)
    return World(score, score + human, level, np.ones(n), words_of(rng, n), groups)


def systems(rng: Rng, n: int = N, each: int = 5) -> World:
    """Five systems per source: attributions know how hard a source is, and nothing of a translation."""
    items = np.arange(n) // each
    easy, score = rng.normal(size=-(-n // each))[items], rng.normal(size=n)
    human = 0.7 * score + easy + rng.normal(size=n)
    return World(score, human, easy, np.ones(n), words_of(rng, n), items, items)


def leveled(rng: Rng, block: Ints) -> tuple[Floats, Floats, Floats, Floats, Ints]:
    """The first fields of a world in which people like some blocks more, and attributions are higher for some.

    Nothing is planted. block: int64[n] of the n segments.
    """
    n = len(block)
    liked, level = rng.normal(size=(2, int(block.max()) + 1))[:, block]
    score = rng.normal(size=n)
    human = score + 0.7 * liked + rng.normal(size=n)
    return score, human, level, np.ones(n), words_of(rng, n)


def by_system(rng: Rng, n: int = N, each: int = 6) -> World:
    """Six systems per source, each with a level."""
    items, system = np.arange(n) // each, np.arange(n) % each
    return World(*leveled(rng, system), items, items, system)


def by_document(rng: Rng, n: int = 1000, documents: int = 8, each: int = 5, *, named: bool = True) -> World:
    """Eight documents by five systems, each with a level.

    named: whether the data say which segments are of one document, else which have one source.
    """
    items = np.arange(n) // each
    document = items * documents // (n // each)
    return World(*leveled(rng, document), document if named else items, items, np.arange(n) % each)


def by_block(rng: Rng, name: str = "", n: int = 1000, blocks: int = 8) -> World:
    """Eight raters of a block of segments each, or two domains, each with a level.

    name: "rater" or "domain", as which the data name the blocks; "" where they do not.
    """
    block = np.arange(n) * blocks // n
    return World(*leveled(rng, block), blocks={name: block} if name else {})


def signal(rng: Rng, size: float, sign: float = 1.0, n: int = N) -> World:
    """People see a quality that the metric misses, with a weight of `size`; attributions carry it, with this sign."""
    score, quality, rest = rng.normal(size=(3, n))
    human = 0.65 * score + size * quality + math.sqrt(1 - 0.65**2 - size**2) * rest
    return World(score, human, 0.3 + sign * quality, np.ones(n), words_of(rng, n))


def setting(world: World, rng: Rng, pair: str, dataset: str = "planted", prefix: str = "") -> ScoredSetting:
    """A finished setting of a world. prefix: of its texts: where it is the same, pairs share texts and clusters."""
    n, prefix = len(world.score), prefix or f"{dataset} {pair} "
    groups = np.arange(n) if world.groups is None else world.groups
    items = np.arange(n) if world.items is None else world.items
    systems = np.arange(n) if world.systems is None else world.systems
    truth: Role = "source" if world.reads_source else "reference"
    segments = []
    for row in range(n):
        texts = {
            "hypothesis": " ".join([f"{dataset}{pair}{row}"] + ["h"] * int(world.words[row, 1] - 1)),
            truth: " ".join([f"{prefix.replace(' ', '')}{groups[row]}"] + ["s"] * int(world.words[row, 0] - 1)),
        }
        texts |= {role: texts_of_role[row] for role, texts_of_role in world.texts.items()}
        blocks = {name: str(block[row]) for name, block in world.blocks.items()}
        segments.append(Segment(str(items[row]), system=str(systems[row]), **texts, **blocks))
    sides = []
    for lengths, own_rng in zip(world.words.T, rng.spawn(2), strict=True):
        values = np.repeat(world.level, lengths) + np.repeat(world.width, lengths) * own_rng.normal(size=lengths.sum())
        sides.append(Ragged(values, np.concatenate([[0], np.cumsum(lengths)])))
    if world.marks is not None:
        sides[1] = Ragged(world.marks, sides[1].offsets)
    segment_set = SegmentSet(dataset, pair, tuple(segments), Judgements({"da": world.human}))
    scores = AttributionSet(world.score, {truth: sides[0], "hypothesis": sides[1]})
    labels = [f"{prefix}{group}" for group in groups]
    metric = HashMetric() if world.reads_source else ReferenceMetric()
    items_read = segment_set.items(metric.reads)
    return ScoredSetting(segment_set, "hash", "erasure", metric, Erasure(), items_read, scores, labels)


Sweep = Callable[[Rng], list[ScoredSetting]]


def pairs_of(plant: Callable[[Rng], World], pairs: int = PAIRS) -> Sweep:
    """Independent language pairs."""
    return lambda rng: [setting(plant(rng), rng, f"p{number}-en") for number in range(pairs)]


def opposite_lengths(rng: Rng) -> list[ScoredSetting]:
    """Two data sets of four pairs: people mark long segments down in one and up in the other."""
    weights = {"first": -0.8, "second": 0.8}
    return [setting(length(rng, weights[name]), rng, f"p{number}-en", name) for name in weights for number in range(4)]


def shared(rng: Rng) -> list[ScoredSetting]:
    """Six pairs with nine tenths of their segments in common, scores and attributions too; nothing planted."""
    first, settings, seed = noise(rng), [], int(rng.integers(2**31))
    alone = np.arange(N) >= 0.9 * N
    for number in range(PAIRS):
        fresh = noise(rng)
        mixed = {}
        for name in ("score", "human", "level", "width", "words"):
            common = getattr(first, name)
            replaced = alone if common.ndim == 1 else alone[:, None]
            mixed[name] = np.where(replaced, getattr(fresh, name), common)
        groups = np.where(alone, (number + 1) * N, 0) + np.arange(N)
        world = World(**mixed, groups=groups)
        settings.append(setting(world, np.random.default_rng(seed), f"p{number}-en", prefix="shared "))
    return settings


def judged_in(
    sweep: Sequence[ScoredSetting], evaluation: BoostEvaluation = EVALUATION, point: str = DECLARED
) -> list[Verdict]:
    """The verdicts of a sweep at such points, on data sets; on the language pair, where there is one."""
    verdicts = [verdict for result in evaluation.evaluate(sweep) for verdict in result.verdicts]
    level = "data set" if len(sweep) > 1 else "pair"
    return [verdict for verdict in verdicts if verdict.family == (level, point)]
