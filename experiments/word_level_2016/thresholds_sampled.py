"""Repeated sampling on submissions to WMT22: how many samples each measure needs to tell shares of errors apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from discrimination import Discrimination, Moments, discrimination, sample_moments
from numpy.typing import NDArray
from sampling import Erring, erring_sequences, errors_at
from submissions_compared import Submitted

from bmx_grid.core.identity import digest
from bmx_grid.core.storage import replacing
from bmx_grid.core.terminal import Progress
from bmx_grid.measures.word_measures import THE_SIX

Row = dict[str, Any]

BASE = 30.0  # the paper's lowest share of errors, in percent
ABOVE = (0.0, 0.01, 0.05, 0.1, 0.2)  # percentage points
STEP, ROOM = 5.0, 0.9  # where the base cannot be reached: the highest multiple that needs 90 % of the texts or fewer
Z = 1.96
VERSION = 1  # raise when what is sampled changes: results that are kept are of one version


@dataclass(frozen=True, eq=False)
class Sampled:
    """One language pair: percentages of errors, the wrong words they are, and what was found."""

    pair: str
    shares: tuple[float, ...]
    errors: tuple[int, ...]
    pool: Erring
    found: Discrimination
    repeats: int


def base_of(pool: Erring) -> float:
    """The paper's 30 % where the submissions make enough errors, else the highest multiple of 5 % that they reach.

    Below 5 % the multiples are of .5 %, 0.5 at least.
    """
    most = min(BASE, 100 * pool.attainable * ROOM)
    return math.floor(most / STEP) * STEP if most >= STEP else max(math.floor(2 * most) / 2, 0.5)


def sampled(given: Submitted, sizes: Sequence[int], repeats: int, seed: int, threads: int, folder: Path) -> Sampled:
    """Run the experiment on a language pair, adding to the batches that runs on the same data left in `folder`.

    Raises what `sample_moments`, `discrimination` and `replacing` raise.
    """
    pool = erring_sequences(given.gold, list(given.labellings.values()))
    base = base_of(pool)
    shares = tuple(round(base + above, 2) for above in ABOVE)
    errors = errors_at(pool, shares)
    key = digest([VERSION, *(one.tobytes().hex() for one in (pool.text, pool.changes, errors)), *sizes, seed])
    file = folder / f"{given.pair}.{key[:12]}.npz"
    kept = _kept(file, (len(errors), len(sizes), len(THE_SIX)))
    missing = repeats - len(kept[0])
    if missing > 0:
        with Progress(repeats - len(kept[0]), f"{given.pair}: sampling", "batches") as progress:
            more = sample_moments(
                *(pool, errors),
                sizes=sizes,
                repeats=missing,
                first=len(kept[0]),
                seed=seed,
                threads=threads,
                advance=progress.advance,
            )
        kept = [np.concatenate(both) for both in zip(kept, (more.mean, more.variance), strict=True)]
        with replacing(file) as part, part.open("wb") as opened:
            np.savez(opened, mean=kept[0], variance=kept[1])
    moments = Moments(kept[0][:repeats], kept[1][:repeats], THE_SIX, tuple(sizes))
    return Sampled(given.pair, shares, tuple(errors.tolist()), pool, discrimination(moments), repeats)


def _kept(file: Path, shape: tuple[int, ...]) -> list[NDArray[np.float64]]:
    """Means and variances of the batches that an earlier run left in the file, of none where there is no file."""
    if not file.is_file():
        return [np.empty((0, *shape)), np.empty((0, *shape))]
    with np.load(file) as found:
        return [found["mean"], found["variance"]]


def rows(of: Sampled) -> Iterator[Row]:
    """A row for each pair of thresholds, size and measure."""
    found = of.found
    for pair, head in enumerate(_heads(of)):
        for place, size in enumerate(found.sizes):
            for column, measure in enumerate(found.measures):
                yield head | {
                    **{"measure": measure, "samples": size, "p": found.p[pair, place, column]},
                    **{"p_error": found.p_error[pair, place, column], "level": found.level},
                    **{"significant": found.significant[pair, place, column], "n_repeats": of.repeats},
                }


def needs(of: Sampled) -> Iterator[Row]:
    """A row for each pair of thresholds and measure: the fewest sizes, the effect and what it asks for.

    fewest_low, fewest_high: at the ends of the 95 % interval of the average p; 0 is more than the largest size.
    """
    found = of.found
    fewest = [found.fewest(found.p + end * Z * found.p_error) for end in (0, -1, 1)]
    effects = [found.effect + end * Z * found.effect_error for end in (0, -1, 1)]
    needed = [found.needed(effect) for effect in effects]
    for pair, head in enumerate(_heads(of)):
        for column, measure in enumerate(found.measures):
            at = (pair, column)
            yield head | {
                **{"measure": measure, "fewest": fewest[0][at], "fewest_low": fewest[1][at]},
                **{"fewest_high": fewest[2][at], "effect": effects[0][at], "effect_low": effects[1][at]},
                **{"effect_high": effects[2][at], "needed": needed[0][at], "needed_low": needed[2][at]},
                **{"needed_high": needed[1][at], "n_repeats": of.repeats, "largest": found.sizes[-1]},
            }


def order(of: Sampled) -> list[tuple[str, float, float, float]]:
    """Measures by their effect between the outermost thresholds, the largest first.

    With each: its effect, and the 95 % interval of how much more it is than that of the next measure (NaN of the last).
    """
    found = of.found
    outermost = found.pairs.index((0, len(of.shares) - 1))
    effects = found.effects[:, outermost]
    ranked = np.argsort(-effects.mean(axis=0), kind="stable").tolist()
    result = []
    for one, following in zip(ranked, [*ranked[1:], None], strict=True):
        low = high = float("nan")
        if following is not None:
            ahead = effects[:, one] - effects[:, following]
            error = Z * ahead.std(ddof=1) / math.sqrt(len(ahead))
            low, high = ahead.mean() - error, ahead.mean() + error
        result.append((found.measures[one], float(effects[:, one].mean()), float(low), float(high)))
    return result


def by_difference(of: Sampled, differences: Sequence[float]) -> dict[str, list[int]]:
    """For each measure the fewest samples that tell apart every pair of thresholds of that difference; 0 for none."""
    apart = [round(of.shares[second] - of.shares[first], 2) for first, second in of.found.pairs]
    fewest = of.found.fewest()
    table: dict[str, list[int]] = {}
    for column, measure in enumerate(of.found.measures):
        table[measure] = []
        for difference in differences:
            own = fewest[[place for place, one in enumerate(apart) if one == round(difference, 2)], column]
            table[measure].append(int(own.max()) if len(own) and own.min() > 0 else 0)
    return table


def _heads(of: Sampled) -> Iterator[Row]:
    for first, second in of.found.pairs:
        yield {
            **{"language_pair": of.pair, "share": of.shares[first], "other_share": of.shares[second]},
            **{"difference": round(of.shares[second] - of.shares[first], 2)},
            **{"errors": of.errors[first], "other_errors": of.errors[second]},
            **{"n_segments": of.pool.texts, "n_words": of.pool.words, "n_sequences": len(of.pool.text)},
        }
