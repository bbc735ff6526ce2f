"""How often verdicts are right where the truth is planted: a table of verdicts by scenario.

python benchmarks/verdicts.py                          200 sweeps of each scenario, about an hour and a half on one core
python benchmarks/verdicts.py --sets 20 --only noise   fewer of them, of one

A sweep has six language pairs (or one) of 240 segments, and three boosts: the paper's grid, the share of negative
attributions, and their mean. "any helps": sweeps in which any of the three helps on the widest scope, with the standard
error of that share; the other columns are the verdicts on the boost that gains most. Where nothing is planted, "any
helps" must not be above .05 by more than chance; where a signal is planted, it is the power.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import harness  # noqa: F401  (one thread, and the paths below)
import numpy as np
from fakes import HashMetric
from numpy.typing import NDArray

from bmx_grid.attribution.store import AttributionSet
from bmx_grid.boosts.feature_mix import FeatureMix
from bmx_grid.boosts.power_mean_grid import PowerMeanGrid
from bmx_grid.evaluations.base import Finished
from bmx_grid.evaluations.boost_evidence import ALL, OTHER_DATASETS
from bmx_grid.evaluations.boosts import BoostEvaluation
from bmx_grid.evaluations.grid import GridEvaluation
from bmx_grid.evaluations.verdicts import HELPS, LEGEND
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.judgements import Judgements
from bmx_grid.measures.grid import PAPER_W, PowerRange
from bmx_grid.ragged import Ragged
from bmx_grid.segments import Segment, SegmentSet

Floats = NDArray[np.float64]
Rng = np.random.Generator
Function = Callable[[Floats, Floats], Floats]
N, PAIRS = 240, 6
P = PowerRange(-30.0, 30.0, 2.0)
EVALUATION = BoostEvaluation(
    grid=GridEvaluation(p=P, w=PAPER_W, fixed={}),
    boosts={
        "power_mean_grid": PowerMeanGrid(p=P),
        "share_negative": FeatureMix(feature="share_negative"),
        "mean": FeatureMix(feature="mean"),
    },
    draws=1,
    resamples=400,
)


@dataclass(frozen=True, eq=False)
class World:
    """n segments: float64[n] score, human score, and what every word attribution is multiplied with; words int[n, 2].

    noise: how much single words vary. groups: n labels of clusters; items: n ids of sources that systems translate.
    """

    score: Floats
    human: Floats
    level: Floats
    words: NDArray[np.int64]
    noise: float = 1.0
    groups: NDArray[np.int64] | None = None
    items: NDArray[np.int64] | None = None


def words_of(rng: Rng, n: int) -> NDArray[np.int64]:
    """int64[n, 2] numbers of words: those of the two sides are alike."""
    log = rng.normal(3.0, 0.4, (n, 1)) + rng.normal(0, 0.15, (n, 2))
    return np.clip(np.exp(log).round().astype(np.int64), 4, 60)


def with_human(rng: Rng, n: int, human: Function, level: Function) -> World:
    """Human scores and attributions as functions of score and log words, with noise."""
    score, words = rng.normal(size=n), words_of(rng, n)
    log = np.log(words[:, 1]) - 3
    return World(score, human(score, log) + rng.normal(size=n), level(score, log), words)


def noise(rng: Rng, n: int = N) -> World:
    """Attributions say nothing."""
    return with_human(rng, n, lambda score, log: score, lambda score, log: rng.lognormal(0, 0.5, n))


def length(rng: Rng, n: int = N, sign: float = -1.0) -> World:
    """Attributions are 1 / words, and people mark long segments down."""
    return with_human(rng, n, lambda score, log: score + sign * 0.8 * log, lambda score, log: np.exp(-log))


def curve(rng: Rng, n: int = N) -> World:
    """Attributions and human scores are the same curve of the score."""
    return with_human(rng, n, lambda score, log: np.exp(0.8 * score), lambda score, log: np.exp(0.8 * score))


def steps(rng: Rng, n: int = N) -> World:
    """People and attributions see only whether a score is above 0."""
    return with_human(rng, n, lambda score, log: 2.0 * (score > 0), lambda score, log: 1.0 + 3.0 * (score > 0))


def product(rng: Rng, n: int = N) -> World:
    """People and attributions see score times length."""
    both = lambda score, log: score * (1 + log)  # noqa: E731
    return with_human(rng, n, both, lambda score, log: np.exp(0.5 * both(score, log)))


def heavy(rng: Rng, n: int = N) -> World:
    """Heavy tails everywhere, nothing planted."""
    score = rng.standard_t(2.5, n)
    return World(score, score + rng.standard_t(2.5, n), np.abs(rng.standard_t(2.5, n)) + 0.1, words_of(rng, n))


def clustered(rng: Rng, clusters: int, n: int = N) -> World:
    """Human scores and attributions each share half of their noise within a cluster, nothing planted."""
    groups = rng.integers(0, clusters, n)
    groups[:clusters] = np.arange(clusters)
    shared = rng.normal(size=(2, clusters))[:, groups]
    score = rng.normal(size=n)
    human = score + shared[0] + 0.7 * rng.normal(size=n)
    return World(score, human, np.exp(0.5 * shared[1] + 0.3 * rng.normal(size=n)), words_of(rng, n), groups=groups)


def systems(rng: Rng, n: int = N) -> World:
    """Six systems per source; attributions know how hard the source is, and nothing of a translation."""
    items = np.arange(n) // 6
    easy = rng.normal(size=n // 6)[items]
    score = rng.normal(size=n)
    human = 0.7 * score + easy + rng.normal(size=n)
    return World(score, human, np.exp(0.5 * easy), words_of(rng, n), groups=items, items=items)


def signal(rng: Rng, size: float, n: int = N) -> World:
    """Human scores hold a quality that the metric misses, and attributions carry it."""
    score, quality = rng.normal(size=(2, n))
    left = math.sqrt(1 - 0.65**2 - size**2)
    human = 0.65 * score + size * quality + left * rng.normal(size=n)
    return World(score, human, np.exp(0.5 * quality), words_of(rng, n), noise=0.3)


def opposed(rng: Rng, size: float, n: int = N) -> World:
    """The same, but words carry it with the other sign."""
    found = signal(rng, size, n)
    return World(found.score, found.human, 1 / found.level, found.words, found.noise)


def setting(world: World, rng: Rng, pair: str, dataset: str = "planted", prefix: str = "") -> Finished:
    """A finished setting of a world; prefix: of its texts, so that pairs share texts where it is the same."""
    n = len(world.score)
    groups = np.arange(n) if world.groups is None else world.groups
    items = np.arange(n) if world.items is None else world.items
    segments = tuple(
        Segment(
            str(items[row]),
            " ".join([f"h{row}"] * int(world.words[row, 1])),
            source=" ".join([f"{prefix or dataset + pair}{groups[row]}"] + ["s"] * int(world.words[row, 0] - 1)),
            system=str(row),
        )
        for row in range(n)
    )
    sides = [
        Ragged.from_rows(
            [world.level[row] * np.exp(world.noise * rng.normal(size=world.words[row, side])) for row in range(n)]
        )
        for side in (0, 1)
    ]
    found = SegmentSet(dataset, pair, segments, Judgements({"da": world.human}))
    scores = AttributionSet(world.score, {"source": sides[0], "hypothesis": sides[1]})
    labels = [f"{prefix or dataset + pair}{group}" for group in groups]
    items_read = found.items(("source", "hypothesis"))
    return Finished(found, "hash", "erasure", HashMetric(), Erasure(), items_read, scores, labels)


def pairs_of(plant: Callable[[Rng], World], pairs: int = PAIRS) -> Callable[[Rng], list[Finished]]:
    """A sweep of independent language pairs."""
    return lambda rng: [setting(plant(rng), rng, f"p{at}-en") for at in range(pairs)]


def opposite_lengths(rng: Rng) -> list[Finished]:
    """Two data sets: length helps in one and harms in the other, and attributions are a function of length."""
    return [
        setting(length(rng, sign=sign), rng, f"p{at}-en", dataset)
        for dataset, sign in (("first", -1.0), ("second", 1.0))
        for at in range(4)
    ]


def duplicated(rng: Rng) -> list[Finished]:
    """Language pairs that are the same segments under other names, but for a tenth of them; nothing planted."""
    first, found = noise(rng), []
    for at in range(PAIRS):
        other, own = noise(rng), np.arange(N) >= N // 10
        mixed = (np.where(own, getattr(first, key), getattr(other, key)) for key in ("score", "human", "level"))
        groups = np.where(own, np.arange(N), (at + 1) * N + np.arange(N))
        world = World(*mixed, np.where(own[:, None], first.words, other.words), groups=groups)
        found.append(setting(world, np.random.default_rng(int(rng.integers(2**31))), f"p{at}-en", prefix="shared"))
    return found


SCENARIOS: dict[str, tuple[bool, Callable[[Rng], list[Finished]]]] = {  # name -> is there a signal, the sweep
    "noise": (False, pairs_of(noise)),
    "noise, one pair": (False, pairs_of(noise, 1)),
    "length": (False, pairs_of(length)),
    "length, one pair": (False, pairs_of(length, 1)),
    "length, opposite in the judged data": (False, opposite_lengths),
    "curve of the score": (False, pairs_of(curve)),
    "curve of the score, one pair": (False, pairs_of(curve, 1)),
    "step of the score": (False, pairs_of(steps)),
    "score times length": (False, pairs_of(product)),
    "heavy tails": (False, pairs_of(heavy)),
    "heavy tails, one pair": (False, pairs_of(heavy, 1)),
    "3 clusters, one pair": (False, pairs_of(lambda rng: clustered(rng, 3), 1)),
    "6 clusters, one pair": (False, pairs_of(lambda rng: clustered(rng, 6), 1)),
    "30 clusters, one pair": (False, pairs_of(lambda rng: clustered(rng, 30), 1)),
    "the same segments in six pairs": (False, duplicated),
    "source difficulty only, six systems": (True, pairs_of(systems)),
    "signal .2": (True, pairs_of(lambda rng: signal(rng, 0.2))),
    "signal .2, one pair": (True, pairs_of(lambda rng: signal(rng, 0.2), 1)),
    "signal .4": (True, pairs_of(lambda rng: signal(rng, 0.4))),
    "signal .4, one pair": (True, pairs_of(lambda rng: signal(rng, 0.4), 1)),
    "signal .2, opposed": (True, pairs_of(lambda rng: opposed(rng, 0.2))),
    "signal .4, opposed": (True, pairs_of(lambda rng: opposed(rng, 0.4))),
}


@dataclass(frozen=True)
class Outcome:
    """Verdicts of a sweep: any_helps of the family, the verdict on the boost that gains most, its gains, and whether a
    positive verdict says that it is not shown within sources."""

    any_helps: bool
    label: str
    gain: float
    beyond: float
    remark: bool


def outcome(sweep: list[Finished]) -> Outcome:
    """What a sweep concludes, on its widest scope; where other data sets choose, if there are several."""
    results = [EVALUATION.evaluate(one) for one in sweep]
    done = []
    for dataset in dict.fromkeys(one.names[0] for one in sweep):
        places = [at for at, one in enumerate(sweep) if one.names[0] == dataset]
        done += EVALUATION.across_pairs([sweep[at] for at in places], [results[at] for at in places])
    judged = [one for result in EVALUATION.together(sweep, done) for one in result.judged]
    several = len({one.names[0] for one in sweep}) > 1
    wide = [one for one in judged if one.language_pair == (ALL if len(sweep) > 1 else one.language_pair)]
    wide = [one for one in wide if one.point == OTHER_DATASETS and one.dataset != ALL] if several else wide
    best = max(wide, key=lambda one: one.estimates["gain"].value)
    return Outcome(
        any(one.verdict.label == HELPS for one in wide),
        best.verdict.label,
        best.estimates["gain"].value,
        best.estimates["beyond"].value,
        any("one source" in one.verdict.because for one in wide if one.verdict.label == HELPS),
    )


def outcomes(name: str, sets: int, seed: int) -> list[Outcome]:
    """The outcomes of so many sweeps of a scenario."""
    _, plant = SCENARIOS[name]
    return [outcome(plant(np.random.default_rng([seed, at]))) for at in range(sets)]


def row(name: str, found: list[Outcome]) -> str:
    """A line of the table, in Markdown."""
    share, n = np.mean([one.any_helps for one in found]), len(found)
    counts = Counter(one.label for one in found)
    remarks = sum(one.remark for one in found)
    shares = [f"{counts[label] / n:.3f}" for label in LEGEND]
    means = [f"{np.nanmean([getattr(one, key) for one in found]):+.3f}" for key in ("gain", "beyond")]
    any_helps = f"{share:.3f} ± {math.sqrt(share * (1 - share) / n):.3f}"
    any_helps += f" ({remarks} not within a source)" if remarks else ""
    return f"| {' | '.join((name, any_helps, *shares, *means))} |"


def main(arguments: Iterable[str] | None = None) -> int:
    """Print the table; 1 where a boost helps too often without a signal: above .05 by three standard errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="NAME", help="scenarios whose names begin so")
    parsed = parser.parse_args(None if arguments is None else list(arguments))
    print(f"| planted | any helps | {' | '.join(LEGEND)} | gain | beyond score and length |")
    print(f"|{'---|' * (len(LEGEND) + 4)}")
    wrong = []
    for name, (is_signal, _) in SCENARIOS.items():
        if parsed.only and not name.startswith(parsed.only):
            continue
        found = outcomes(name, parsed.sets, parsed.seed)
        print(row(name, found), flush=True)
        allowed = 0.05 + 3 * math.sqrt(0.05 * 0.95 / parsed.sets)
        if not is_signal and np.mean([one.any_helps for one in found]) > allowed:
            wrong.append(name)
    if wrong:
        print(f"too often: {', '.join(wrong)}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
