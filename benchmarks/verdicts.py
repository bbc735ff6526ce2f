"""How often verdicts are right where the truth is planted: a table of verdicts by scenario.

python benchmarks/verdicts.py                            200 sweeps of each scenario, several hours on one core
python benchmarks/verdicts.py --sets 20 --only "noise"   fewer of them, of those whose names begin so

A sweep has six language pairs of 200 segments, or one, and three boosts: the paper's grid, the share of words without a
positive attribution, and the mean. "found": in how many sweeps any of the three helps or is informative on the data set
(on the pair, if it is one), with 95 % limits (Clopper and Pearson). If nothing is planted it must not be above .05 by
more than chance; if a signal is planted it is the power. The other shares are the verdicts on the grid; "partial r" is
the mean of the boost that gains most, and in brackets what it is with 5,000 segments per pair. "joint" worlds have
several sizes; "trait" worlds 560 segments, of which people and attributions see the same (tests/planted_texts.py), in
one pair and in seven; "errors" are marked with such a precision and recall in four pairs of 300.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import harness  # noqa: F401  (one thread, and the paths below)
import numpy as np
from planted import (
    DECLARED,
    EVALUATION,
    JOINT,
    MAIN,
    N,
    Rng,
    Sweep,
    World,
    beside,
    by_block,
    by_document,
    by_system,
    clustered,
    curve,
    heavy,
    jointly,
    judged_in,
    length,
    noise,
    of_score,
    opposite_lengths,
    pairs_of,
    same,
    shared,
    signal,
    systems,
    two_kinds_of_people,
)
from planted_texts import PLANTED, by_errors

from bmx_grid.evaluations.boost_evidence import OTHER_DATASETS
from bmx_grid.evaluations.boosts import BoostEvaluation
from bmx_grid.evaluations.verdicts import HELPS, INFORMATIVE, LEGEND, Verdict

LEVEL = 0.05
SIZES = (200, 560, 1000, 2000)  # segments of a pair; 560 as WMT17
HALF_NOISE = ("two steps", "exponential")
FINE = ("wedge", "ring", "four by four")


def judging_by(correlation: str) -> BoostEvaluation:
    """The same by a rank correlation, in which one boost and 200 resamples are slow enough."""
    return replace(EVALUATION, grid=replace(EVALUATION.grid, correlation=correlation), resamples=200)


def zeros(rng: Rng, n: int = N) -> World:
    """Scores that are 0 in half of the segments, as BLEU; people and attributions see whether one is above 0."""
    score = np.maximum(rng.normal(size=n), 0)
    return of_score(rng, lambda x, log: 2.0 * (x > 0), lambda x, log: 1.0 + 3.0 * (x > 0), n, score=score)


def outlier(rng: Rng, n: int = N) -> World:
    """Noise, and one segment where human score and attributions are far below all others."""
    found = noise(rng, n)
    found.human[0], found.level[0] = -15.0, -15.0
    return found


@dataclass(frozen=True)
class Scenario:
    """A sweep; point: where it is judged; size: of the planted signal, 0 for none; sign: with which words carry it."""

    sweep: Sweep
    point: str = DECLARED
    evaluation: BoostEvaluation = EVALUATION
    known: bool = False  # whether boosts know something: to find it is then no error
    size: float = 0.0
    sign: float = 1.0


def planted(size: float, sign: float = 1.0, pairs: int = 6) -> Scenario:
    sweep = pairs_of(partial(signal, size=size, sign=sign), pairs)
    return Scenario(sweep, known=True, size=size, sign=sign)


def joint_effects() -> dict[str, Scenario]:
    """Attributions that know nothing but a joint effect of score and lengths, in one pair of several sizes and in six.

    The finest shapes are known to fool a verdict: "known".
    """
    worlds = {name: partial(jointly, effect=effect) for name, effect in JOINT.items()}
    worlds |= {f"{name}, half noise": partial(jointly, effect=JOINT[name], explained=0.5) for name in HALF_NOISE}
    worlds["two kinds of people"] = two_kinds_of_people
    scenarios = {}
    for name, world in worlds.items():
        for n in SIZES:
            sweep = pairs_of(partial(world, n=n), 1)
            scenarios[f"joint: {name}, {n} segments"] = Scenario(sweep, known=name in FINE)
        six = pairs_of(partial(world, n=SIZES[1]))
        scenarios[f"joint: {name}, six pairs of {SIZES[1]}"] = Scenario(six, known=name in FINE)
    return scenarios


def rests() -> dict[str, Scenario]:
    """Attributions that know an effect of score and lengths, and a quality that people see and the metric misses.

    What is left beyond the effect is real: the column "confounded" is the share of wrong verdicts.
    """
    effects = {"nothing": lambda score, log, ratio: 0 * score, "length": lambda score, log, ratio: -0.8 * log}
    effects |= {name: JOINT[name] for name in ("two steps", "signs", "three ways")}
    return {
        f"quality beside {name}, one pair of {n}": Scenario(
            pairs_of(partial(beside, effect=effect, n=n), 1), known=True
        )
        for name, effect in effects.items()
        for n in SIZES[:3]
    }


def blocks() -> dict[str, Scenario]:
    """A level of each rater or domain: named in the data, and not, which is known to fool a verdict."""
    scenarios = {}
    for named in (True, False):
        ending = "" if named else ", not named"
        rater = partial(by_block, name="rater" if named else "")
        domain = partial(by_block, name="domain" if named else "", n=560, blocks=2)
        scenarios[f"each of eight raters their level, one pair of 1,000 segments{ending}"] = Scenario(
            pairs_of(rater, 1), known=not named
        )
        scenarios[f"each of two domains its level, six pairs of 560{ending}"] = Scenario(
            pairs_of(domain), known=not named
        )
    return scenarios


def traits() -> dict[str, Scenario]:
    """A trait of texts or groups, in one pair and in seven."""
    scenarios = {}
    for name, world in PLANTED.items():
        scenarios[f"trait: {name}, one pair"] = Scenario(pairs_of(world, 1))
        scenarios[f"trait: {name}, seven pairs"] = Scenario(pairs_of(world, 7))
    return scenarios


def errors(precision: float) -> Scenario:
    """Wrong words, marked with this precision and recall."""
    return Scenario(pairs_of(partial(by_errors, precision=precision), 4), known=True)


bent = same(lambda score, log: score + 0.7 * score**2)
SCENARIOS = {
    "noise": Scenario(pairs_of(noise)),
    "noise, one pair": Scenario(pairs_of(noise, 1)),
    "noise, 30 segments a pair": Scenario(pairs_of(partial(noise, n=30))),
    "length": Scenario(pairs_of(length)),
    "length, one pair": Scenario(pairs_of(length, 1)),
    "length, the other data set opposite, which chooses": Scenario(opposite_lengths, OTHER_DATASETS),
    "length, the other data set opposite, declared point": Scenario(opposite_lengths),
    "curve of the score": Scenario(pairs_of(curve)),
    "curve of the score, one pair": Scenario(pairs_of(curve, 1)),
    "bent curve of the score, Spearman": Scenario(pairs_of(bent), evaluation=judging_by("spearman")),
    "bent curve of the score, Kendall": Scenario(pairs_of(bent), evaluation=judging_by("kendall")),
    "step of the score": Scenario(pairs_of(same(lambda score, log: 2.0 * (score > 0)))),
    "band of the score": Scenario(pairs_of(same(lambda score, log: 2.0 * (abs(score) < 0.5)))),
    "step of the words": Scenario(pairs_of(same(lambda score, log: score + 1.5 * (log > 0.3)))),
    "score counts in long segments only": Scenario(pairs_of(same(lambda score, log: 1.5 * score * (log > 0)))),
    "square of the score times length": Scenario(pairs_of(same(lambda score, log: score**2 * log))),
    "score times length": Scenario(pairs_of(same(lambda score, log: score * (1 + 0.5 * log)))),
    "half of the scores 0": Scenario(pairs_of(zeros)),
    **joint_effects(),
    **rests(),
    "heavy tails": Scenario(pairs_of(heavy)),
    "heavy tails, one pair": Scenario(pairs_of(heavy, 1)),
    "one outlier in each pair": Scenario(pairs_of(outlier), known=True),
    "3 clusters, one pair": Scenario(pairs_of(partial(clustered, clusters=3), 1)),
    "6 clusters, one pair": Scenario(pairs_of(partial(clustered, clusters=6), 1)),
    "30 clusters, one pair": Scenario(pairs_of(partial(clustered, clusters=30), 1)),
    "nine tenths of the segments in all six pairs": Scenario(shared),
    "difficulty of sources only, five systems": Scenario(pairs_of(systems)),
    "difficulty of sources only, two systems": Scenario(pairs_of(partial(systems, each=2))),
    "each system its level, one pair": Scenario(pairs_of(by_system, 1)),
    "each system its level": Scenario(pairs_of(by_system)),
    "each document its level, one pair": Scenario(pairs_of(by_document, 1)),
    "each document its level, one pair, documents not named": Scenario(
        pairs_of(partial(by_document, named=False), 1), known=True
    ),
    **blocks(),
    **traits(),
    "errors .3": errors(0.3),
    "errors .5": errors(0.5),
    "signal .2": planted(0.2),
    "signal .2, one pair": planted(0.2, pairs=1),
    "signal .2, words opposed": planted(0.2, -1.0),
    "signal .4": planted(0.4),
    "signal .4, one pair": planted(0.4, pairs=1),
    "signal .4, words opposed": planted(0.4, -1.0),
}


def found_in(scenario: Scenario, sets: int, seed: int) -> list[list[Verdict]]:
    """The verdicts of so many sweeps."""
    sweeps = (scenario.sweep(np.random.default_rng([seed, at])) for at in range(sets))
    return [judged_in(sweep, scenario.evaluation, scenario.point) for sweep in sweeps]


def is_found(verdicts: Sequence[Verdict]) -> bool:
    """Whether any boost helps or is informative."""
    return any(verdict.label in (HELPS, INFORMATIVE) for verdict in verdicts)


def limits(times: int, n: int) -> tuple[float, float]:
    """95 % limits of a share of n sweeps (Clopper and Pearson 1934)."""
    from scipy.stats import binomtest

    interval = binomtest(times, n).proportion_ci()
    return float(interval.low), float(interval.high)


def partial_r(verdicts: Sequence[Verdict]) -> float:
    """The partial correlation of the boost that gains most."""
    return max(verdicts, key=lambda verdict: verdict.gain.value).partial_r.value


def truth(scenario: Scenario) -> float:
    """`partial_r` on four pairs of 5,000 segments."""
    sweep = pairs_of(partial(signal, size=scenario.size, sign=scenario.sign, n=5000), 4)
    return partial_r(judged_in(sweep(np.random.default_rng(0)), replace(EVALUATION, resamples=40)))


def row(name: str, found: Sequence[Sequence[Verdict]]) -> str:
    """A line of the table, in Markdown."""
    n = len(found)
    times = sum(map(is_found, found))
    low, high = limits(times, n)
    main = [verdict.label for verdicts in found for verdict in verdicts if verdict.boost == MAIN]
    counts = Counter(main)
    scenario = SCENARIOS[name]
    cells = [name, f"{times / n:.3f} [{low:.3f}, {high:.3f}]"]
    cells += [f"{counts[label] / len(main):.3f}" for label in LEGEND]
    large = f" ({truth(scenario):+.3f})" if scenario.size else ""
    cells.append(f"{np.mean([partial_r(verdicts) for verdicts in found]):+.3f}{large}")
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if anything is found too often though nothing is planted: above .05 by 3 standard errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="NAME", default="", help="scenarios whose names begin so")
    options = parser.parse_args(arguments)
    print(f"| planted | found | {' | '.join(LEGEND)} | partial r |")
    print(f"|{'---|' * (len(LEGEND) + 3)}")
    wrong = []
    for name, scenario in SCENARIOS.items():
        if not name.startswith(options.only):
            continue
        found = found_in(scenario, options.sets, options.seed)
        print(row(name, found), flush=True)
        times = sum(map(is_found, found))
        if not scenario.known and times / options.sets > LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / options.sets):
            wrong.append(name)
    if wrong:
        print(f"too often: {', '.join(wrong)}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
