"""Promises of every metric and explainer, checked on short texts by `bmx-grid check` and the tests.

A promise takes the part, and raises ComponentError if the part breaks it. It returns why the part does not make it; ""
if it is kept. Its docstring is the promise.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from bmx_grid.attribution.contracts import (
    attributions_of,
    check_explainer,
    check_metric,
    check_same_scores,
    check_scores,
    combine_statistics,
    describe_item,
    fit_metric,
    plan_of,
    statistics_of,
)
from bmx_grid.attribution.explain import count_texts, explain_items, score_requests
from bmx_grid.core.errors import ComponentError, exception_line
from bmx_grid.core.identity import Component, identity
from bmx_grid.core.ragged import Floats
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics.base import Metric
from bmx_grid.words.perturbation import Item, Plan, Request, Role

# Ground truth and hypothesis: what breaks metrics, from empty texts to unusual signs.
PAIRS = [
    ("The cat sat on the mat .", "A cat sat on the mat ."),
    ("He paid 3.5 euros , not 5,3 .", "He payed 3,5 euros."),
    ("one", "one"),
    ("one", "two"),
    ("", "words against an empty ground truth"),
    ("words against an empty hypothesis", ""),
    ("", ""),
    ("Größe \N{ZERO WIDTH SPACE} 漢字 \N{GRINNING FACE}", "Grösse 漢字"),
    ("two  spaces", "two  spaces here"),
    ("&quot; a &amp; b &apos;", "\" a & b '"),
    (" ".join(f"w{number}" for number in range(120)), " ".join(f"w{number}" for number in range(60, 180))),
]
WORDS = {
    "one word": ("one",),
    "two words": ("one", "two"),
    "repeated words": ("no", "no", "no", "yes"),
    "seven words": tuple("abcdefg"),
    "eight words": tuple("abcdefgh"),
    "an empty word": ("two", "", "spaces"),
    "unusual characters": ("Größe", "漢字", "\N{ZERO WIDTH SPACE}", "\N{NO-BREAK SPACE}", "&amp;", "\\1", "a.b"),
    "the mask as a word": ("UNKWORDZ", "x", "[MASK]"),
    "forty words": tuple(f"w{number}" for number in range(40)),
}
ALONE_TOLERANCE = 1e-5  # of float32, in which models round a text by itself otherwise than with longer ones


@dataclass(frozen=True)
class TextHash(Metric):
    """A meaningless metric for explainers: a number in [0, 1) made of all texts, and of a salt in place of weights."""

    reads: ClassVar[tuple[Role, ...]] = ("source", "hypothesis")
    signature: ClassVar[str] = "text_hash"

    salt: int = identity(0)

    def shuffle_weights(self, seed: int) -> Metric:
        return replace(self, salt=self.salt + 1 + seed)

    def score(self, items: Sequence[Item]) -> Floats:
        scores = []
        for item in items:
            content = "\0".join([str(self.salt), *item.texts().values()]).encode()
            number = int.from_bytes(hashlib.blake2b(content, digest_size=6).digest(), "big")
            scores.append(number / 2**48)
        return np.array(scores, dtype=np.float64)


def short_items(reads: Sequence[Role], pairs: Sequence[tuple[str, str]] = PAIRS) -> list[Item]:
    """The items of pairs for a metric that reads these roles: every ground truth is the same text."""
    items = []
    for truth, hypothesis in pairs:
        source = truth if "source" in reads else None
        reference = truth if "reference" in reads else None
        items.append(Item(source=source, reference=reference, hypothesis=hypothesis))
    return items


def short_segments() -> SegmentSet:
    """Two systems' outputs for the pairs, unrated; the second system has the ground truth of the pair after."""
    segments = []
    for row, (truth, hypothesis) in enumerate(PAIRS):
        following, _ = PAIRS[(row + 1) % len(PAIRS)]
        for system, output in (("A", hypothesis), ("B", following)):
            segments.append(Segment(str(row), output, source=truth, reference=truth, system=system))
    segments.sort(key=lambda segment: str(segment.system))
    return SegmentSet("toy", "de-en", tuple(segments), Judgements({"da": np.zeros(len(segments))}))


def says_what_it_is(metric: Metric) -> str:
    """Its name, the roles that it reads and its costs have the types that `Metric` requires."""
    check_metric(metric)
    return ""


def scores_every_segment(metric: Metric) -> str:
    """Its scores are real numbers, one per segment, and none for no segment."""
    for pairs in (PAIRS, PAIRS[:1], []):
        items = short_items(metric.reads, pairs)
        scores = check_scores(metric, metric.score(items), items)
        _require(not np.isinf(scores).any(), metric, "score: expected finite numbers, got an infinite one")
    return ""


def scores_alike_in_any_batch(metric: Metric) -> str:
    """A segment scores the same by itself, in any batch and in any order."""
    items = short_items(metric.reads)
    together = check_scores(metric, metric.score(items), items)
    backwards = check_scores(metric, metric.score(items[::-1]), items)[::-1]
    alone = np.concatenate([check_scores(metric, metric.score([item]), [item]) for item in items])
    # A metric that scores masks without texts promises the same bits.
    tolerance = 0.0 if metric.score_masked([]) is not None else ALONE_TOLERANCE
    batch = f"among {len(items)} segments"
    check_same_scores(metric, items, together, alone, tolerance, batch, "alone")
    check_same_scores(metric, items, together, backwards, tolerance, batch, "in the opposite order")
    return ""


def scores_masks_as_texts(metric: Metric) -> str:
    """Its scores of masked texts equal those of the written texts, bit for bit."""
    rng = np.random.Generator(np.random.PCG64(1))
    requests = []
    for item in short_items(metric.reads):
        for role, text in item.texts().items():
            words = tuple(text.split(" ")) if text else ()
            for replacement in ("UNKWORDZ", "", None):
                plan = Plan(words, keep=rng.random((7, len(words))) < 0.6, replacement=replacement)
                requests.append(Request(plan, role, item))
    masked = metric.score_masked(requests)
    if masked is None:
        return "no score_masked: texts are written"
    for request, scores in zip(requests, masked, strict=True):
        items = list(request.items())
        is_same = scores.tobytes() == metric.score(items).tobytes()
        _require(
            is_same, metric, f"score_masked: other scores than of the written texts of {describe_item(request.item)}"
        )
    return ""


def sums_statistics(metric: Metric) -> str:
    """Its statistics make each score, and sum to those of a system."""
    if not metric.has_statistics:
        return "the score of a system is the mean of its segments"
    items = short_items(metric.reads)
    statistics = statistics_of(metric, items)
    is_same = combine_statistics(metric, statistics).tolist() == metric.score(items).tolist()
    _require(is_same, metric, "statistics: `combine` of the statistics of a segment is not its score")
    counts = np.ones((3, len(items)))
    counts[1, 0] = 2
    counts[2, 0] = 0
    systems = combine_statistics(metric, counts @ statistics)
    for score, weights in zip(systems, counts.astype(int), strict=True):
        drawn = [item for item, times in zip(items, weights, strict=True) for _ in range(times)]
        of_drawn = combine_statistics(metric, statistics_of(metric, drawn).sum(axis=0))
        is_sum = np.isclose(score, of_drawn, rtol=0, atol=1e-6)
        _require(bool(is_sum), metric, f"combine: {score:g} of summed statistics, and {of_drawn:g} of the texts")
    return ""


def fits_a_set(metric: Metric) -> str:
    """Fitted to a set it reads the same, and is the same metric or has another fingerprint."""
    fitted = fit_metric(metric, short_segments())
    _require(fitted.reads == metric.reads, metric, f"fitted: it reads {fitted.reads}, and before {metric.reads}")
    is_told_apart = fitted == metric or fitted.fingerprint() != metric.fingerprint()
    _require(is_told_apart, metric, "fitted: another metric with the same fingerprint")
    return ""


def can_be_sent(part: Component) -> str:
    """Another process can be sent it, with the same fingerprint."""
    try:
        sent = pickle.loads(pickle.dumps(part))
    # Objects that cannot be pickled raise errors of many types.
    except Exception as error:
        raise ComponentError(
            f"{type(part).__name__}: cannot be sent to another process: {exception_line(error)}. Write it so that "
            "pickle can: keep models and open files out of its fields."
        ) from error
    _require(sent.fingerprint() == part.fingerprint(), part, "its fingerprint is another one in another process")
    return ""


def says_what_it_is_of_explainers(explainer: Explainer) -> str:
    """Its name and whether it draws have the types that `Explainer` requires."""
    check_explainer(explainer)
    return ""


def explains_every_word(explainer: Explainer) -> str:
    """Its attributions are real numbers, one per word, and the same bits from the same generator."""
    for words in WORDS.values():
        attributions = _attributions(explainer, words)
        _require(bool(np.isfinite(attributions).all()), explainer, f"attribute: not finite, for the words {words}")
        is_same = _attributions(explainer, words).tobytes() == attributions.tobytes()
        _require(is_same, explainer, f"plan: other attributions from the same generator, for the words {words}")
    return ""


def plans_what_it_announced(explainer: Explainer) -> str:
    """It plans as many texts as `count_texts` returns; with a model, no more."""
    for words in WORDS.values():
        plan = plan_of(explainer, words, _generator())
        announced = explainer.count_texts(len(words))
        # How many texts a model proposes is known at most.
        is_right = len(plan) <= announced if explainer.pretrained_models() else len(plan) == announced
        _require(is_right, explainer, f"count_texts: {announced} for {len(words)} words, and {len(plan)} planned")
        _require(len(plan) == len(plan.render()), explainer, "plan: other texts than it has rows")
    return ""


def draws_as_it_says(explainer: Explainer) -> str:
    """The seed matters if, and only if, it is stochastic; NumPy's global generator is left as it is."""
    before = repr(np.random.get_state(legacy=False))  # noqa: NPY002
    words = WORDS["forty words"]
    is_same = _attributions(explainer, words, 0).tobytes() == _attributions(explainer, words, 1).tobytes()
    after = repr(np.random.get_state(legacy=False))  # noqa: NPY002
    _require(before == after, explainer, "it draws from NumPy's global generator; draw from `rng`")
    if is_same is explainer.stochastic:
        seeds = "the same attributions" if is_same else "other attributions"
        raise ComponentError(
            f"{explainer.signature}: stochastic is {explainer.stochastic}, and two seeds have {seeds}."
        )
    return ""


def explains_alike_in_any_batch(explainer: Explainer) -> str:
    """A segment is explained alike by itself, together with others and in any order."""
    pairs = [("a b c", "d e f g"), ("h", "i j k l m n o p q r"), ("a b c", "x"), ("", "y z"), ("z", "")]
    items = short_items(TextHash.reads, pairs)
    together = explain_items(TextHash(), explainer, items, seed=3)
    backwards = explain_items(TextHash(), explainer, items[::-1], seed=3)[::-1]
    for row, item in enumerate(items):
        (alone,) = explain_items(TextHash(), explainer, [item], seed=3)
        for explanation in (together[row], backwards[row]):
            for role, values in alone.attributions.items():
                is_same = explanation.attributions[role].tobytes() == values.tobytes()
                _require(is_same, explainer, f"the batch changes the attributions of {describe_item(item)}")
    return ""


def explains_one_side_alone(explainer: Explainer) -> str:
    """A side explained without the other has the same attributions as with it."""
    item = Item(source="ein kleines Haus", hypothesis="a small house")
    one_side = replace(explainer, sides="hypothesis")
    both = explain_items(TextHash(), explainer.two_sided, [item], seed=1)[0].attributions
    alone = explain_items(TextHash(), one_side, [item], seed=1)[0].attributions
    _require(set(alone) == {"hypothesis"}, explainer, f"sides=hypothesis: explained {', '.join(alone)}")
    is_same = alone["hypothesis"].tobytes() == both["hypothesis"].tobytes()
    _require(is_same, explainer, "sides=hypothesis: other attributions than with sides=both")
    n_texts = count_texts(TextHash(), one_side, item)
    expected = 1 + explainer.count_texts(3)
    _require(n_texts == expected, explainer, f"sides=hypothesis: {n_texts} texts counted, expected {expected}")
    return ""


def _generator(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def _attributions(explainer: Explainer, words: tuple[str, ...], seed: int = 0) -> Floats:
    plan = plan_of(explainer, words, _generator(seed))
    request = Request(plan, "hypothesis", Item(source="source", hypothesis=" ".join(words)))
    scores = score_requests(TextHash(), [request])[0]
    return attributions_of(explainer, request, scores)


def _require(is_kept: bool, part: Component, fault: str) -> None:
    if not is_kept:
        name = part.signature if isinstance(part, Metric | Explainer) else type(part).__name__
        raise ComponentError(f"{name}: {fault}.")


OF_METRICS: tuple[Callable[[Metric], str], ...] = (
    says_what_it_is,
    scores_every_segment,
    scores_alike_in_any_batch,
    scores_masks_as_texts,
    sums_statistics,
    fits_a_set,
    can_be_sent,
)
OF_EXPLAINERS: tuple[Callable[[Explainer], str], ...] = (
    says_what_it_is_of_explainers,
    explains_every_word,
    plans_what_it_announced,
    draws_as_it_says,
    explains_alike_in_any_batch,
    explains_one_side_alone,
    can_be_sent,
)
