"""The worked examples of the lecture, recomputed: python experiments/compare.py mt_evaluation_lecture_2024.

Part `examples` (default): every worked example against what the slide prints. Part `ranks`: how far automatic and human
scores of WMT24 English-Japanese agree, with intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from compare import Check
from scipy.stats import binomtest

from bmx_grid.analysis.base import GridTable
from bmx_grid.measures.annotators import uniform_kappa
from bmx_grid.measures.correlation import correlate
from bmx_grid.metrics.sentence_bleu import SentenceBleu
from bmx_grid.metrics.words import Wer, WordMatch
from bmx_grid.words.perturbation import Item

RESULTS = False  # the examples are in expected.yaml
LEVELS = (0.01, 0.05, 0.10)


def examples(_: Sequence[GridTable], expected: Mapping[str, Any]) -> Iterator[Check]:
    """Every worked example against what the slide prints, or against the right number where it errs."""
    ours = computed(expected["texts"])
    for one in expected["values"]:
        found = ours[one["key"]]
        if "erratum" in one:
            name = f"{one['name']} (slide: {one['published']:g})"
            yield Check(name, one["at"], one["right"], found, one.get("right_tolerance", 1e-6))
        else:
            yield Check(one["name"], one["at"], one["published"], found, one["tolerance"])
    yield from sign_test(expected["sign_test"])


def sign_test(expected: Mapping[str, Any]) -> Iterator[Check]:
    """The fewest sentences that one system must win, two-sided; -1 where no number is enough."""
    for n, row in expected["rows"].items():
        for level, published in zip(LEVELS, row, strict=True):
            won = (k for k in range(n // 2 + 1, n + 1) if binomtest(k, n).pvalue <= level)
            ours = float(next(won, -1))
            name = f"sign test, n = {n}, p <= {level:g}"
            yield Check(name, expected["at"], float(published) if published is not None else -1.0, ours, 0)


def ranks(_: Sequence[GridTable], expected: Mapping[str, Any]) -> Iterator[Check]:
    """Agreement of AutoRank with people over 12 systems; printed with its interval, there is no published value."""
    names = list(expected["wmt24_en_ja"])
    human, auto = np.array([expected["wmt24_en_ja"][name] for name in names]).T
    metrics = expected["wmt24_en_ja_metrics"]
    scores = {"AutoRank": -auto, "MetricX": [-metrics[name][1] for name in names]}
    scores["CometKiwi"] = [metrics[name][2] for name in names]
    for kind in ("pearson", "spearman", "kendall"):
        for name, own in scores.items():
            value = correlate(kind, np.asarray(own, dtype=np.float64), human)
            low, high = interval(np.asarray(own, dtype=np.float64), human, kind)
            print(f"{name}, {kind}: {value:.3f} [{low:.3f}, {high:.3f}], {len(names)} systems")
    yield from ()


def interval(x: np.ndarray[Any, Any], human: np.ndarray[Any, Any], kind: Any) -> tuple[float, float]:
    """95 % interval of a correlation by a bootstrap of systems."""
    from bmx_grid.measures import resampling
    from bmx_grid.measures.correlations_of_resamples import weighted_correlations

    times = np.concatenate(list(resampling.seeded_draws(len(x), 2000, 0)), axis=1)
    return resampling.interval(weighted_correlations(kind, x[:, None], human, times)[0], len(x))


def computed(texts: Mapping[str, Any]) -> dict[str, float]:
    """Every quantity of the slides, by its key."""
    from scipy.stats import t, ttest_1samp

    found: dict[str, float] = {}
    bleu = SentenceBleu(tokenize="none", smooth_method="none")
    for name in ("a", "b"):
        item = Item(reference=texts["reference"], hypothesis=texts[f"system_{name}"])
        for measure in ("precision", "recall", "f1"):
            found[f"{measure[0] if measure == 'f1' else measure}_{name}"] = one(
                WordMatch(measure=measure).score([item])
            )
        found[f"wer_{name}"] = one(Wer().score([item]))
        counts = bleu.statistics([item])[0]
        correct, total = counts[2:6], counts[6:10]
        found |= {f"n{order}_{name}": float(correct[order - 1] / total[order - 1]) for order in (1, 2, 3, 4)}
        found["brevity"] = min(1.0, float(counts[0] / counts[1]))
        found[f"bleu_{name}"] = (
            found["brevity"] * float(np.prod(correct / total)) ** 0.25
        )  # sacreBLEU's is exp(1 - r / c)
        found[f"bleu_{name}_standard"] = one(bleu.score([item]))
    references = [texts["reference"], *texts["further_references"]]
    known = {word for text in references for word in text.split()}
    found["multiple_words"] = float(sum(word in known for word in texts["system_a"].split()))
    for name, agreed, categories in (("fluency", 400, 5), ("adequacy", 380, 5), ("ranking", 582, 3)):
        ratings = np.stack([np.zeros(1000), np.arange(1000) >= agreed], axis=1)  # two annotators, chance 1 / categories
        found[f"kappa_{name}"] = uniform_kappa(ratings, categories, resamples=0).value
    for level in (99, 95, 90):
        found |= {f"t_{level}_{n}": float(t.ppf(0.5 + level / 200, n)) for n in (100, 300, 600)}
    sample = np.repeat([0.0, 1.0], [70, 30])
    found["variance"] = float(sample.var(ddof=1))
    low, high = ttest_1samp(sample, 0).confidence_interval(0.95)
    found["half_width"] = float(high - low) / 2
    return found


def one(values: Any) -> float:
    """The only value."""
    (value,) = values.tolist()
    return float(value)


PARTS = {"examples": examples, "ranks": ranks}
