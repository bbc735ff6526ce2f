"""What metrics and explainers promise, checked where it is used: a broken promise is a ComponentError that names it."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, get_args

import numpy as np

from bmx_grid.core.errors import ComponentError, shown
from bmx_grid.core.identity import canonical_json
from bmx_grid.core.ragged import Floats
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics.base import Cost, Metric
from bmx_grid.words.perturbation import ROLES, Item, Plan, Request, Role

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet
    from bmx_grid.words.segmentation import PairWords


def check_metric(metric: Metric) -> None:
    """Raise ComponentError where what a metric says of itself is not of the kind that `Metric` asks for."""
    _check_identity(metric)
    is_right = isinstance(metric.reads, tuple) and metric.reads == tuple(role for role in ROLES if role in metric.reads)
    wanted = f"a tuple of {', '.join(ROLES)}, in this order and with the hypothesis"
    _check(metric, "reads", wanted, is_right=is_right and "hypothesis" in metric.reads)
    _check(metric, "cost", " or ".join(get_args(Cost)), is_right=metric.cost in get_args(Cost))
    for name in ("higher_is_better", "reads_all_references", "may_be_undefined"):
        _check(metric, name, "True or False", is_right=isinstance(getattr(metric, name), bool))


def check_explainer(explainer: Explainer) -> None:
    """Raise ComponentError where what an explainer says of itself is not of the kind that `Explainer` asks for."""
    _check_identity(explainer)
    for name in ("stochastic", "writes_texts"):
        _check(explainer, name, "True or False", is_right=isinstance(getattr(explainer, name), bool))
    _check(explainer, "of_metric", "a name or None", is_right=isinstance(explainer.of_metric, str | None))


def _check(component: Metric | Explainer, name: str, wanted: str, *, is_right: bool) -> None:
    if not is_right:
        value = shown(getattr(component, name))
        raise ComponentError(f"{type(component).__name__}.{name}: expected {wanted}, got {value}.")


def _check_identity(component: Metric | Explainer) -> None:
    """Raise ComponentError where a component's signature is no line of text, or its fingerprints are not JSON."""
    signature = component.signature
    is_line = isinstance(signature, str) and bool(signature) and signature.isprintable()
    _check(component, "signature", "one line of text", is_right=is_line)
    for fingerprint in (component.fingerprint(), component.recipe_fingerprint()):
        try:
            if not isinstance(fingerprint, dict):
                raise TypeError(f"a {type(fingerprint).__name__} is not a dict")
            canonical_json(fingerprint).encode()
        except (TypeError, ValueError) as error:
            name = type(component).__name__
            raise ComponentError(f"{name}: its identity fields cannot be written as JSON: {error}.") from error


def fitted_to(metric: Metric, segments: SegmentSet) -> Metric:
    """A metric fitted to segments. Raises ComponentError unless it is one."""
    fitted = metric.fitted(segments)
    if not isinstance(fitted, Metric):
        raise ComponentError(f"{type(metric).__name__}.fitted: expected a Metric, got a {type(fitted).__name__}.")
    if fitted is not metric:
        check_metric(fitted)
    return fitted


def plans_of(explainer: Explainer, sides: Sequence[tuple[str, ...]], rngs: Sequence[np.random.Generator]) -> list[Plan]:
    """One plan per side. Raises ComponentError for anything else."""
    plans = [explainer.plan(words, rng) for words, rng in zip(sides, rngs, strict=True)]
    for words, plan in zip(sides, plans, strict=True):
        if not isinstance(plan, Plan):
            raise ComponentError(f"{explainer.signature}: plan: expected a Plan, got a {type(plan).__name__}.")
        texts = plan.texts or ()
        faults = {
            "words are others": tuple(plan.words) != words,
            "masks are not an array of bool": plan.keep is not None and np.asarray(plan.keep).dtype != np.bool_,
            "texts are not a sequence of texts": isinstance(texts, str) or not all(isinstance(t, str) for t in texts),
        }
        for fault in [fault for fault, is_there in faults.items() if is_there]:
            raise ComponentError(f"{explainer.signature}: plan: its {fault}, for the words {' '.join(words)!r}.")
    return plans


def attributions_of(explainer: Explainer, request: Request, scores: Floats) -> Floats:
    """float64[words], exactly one attribution per word. Raises ComponentError for anything else."""
    n_words = len(request.plan.words)
    what = f"attributions of the words of the {request.role}, for {described(request.item)}"
    attributions = real_numbers(explainer, what, explainer.attribute(request.plan, scores), n_words)
    if np.isnan(attributions).any() and np.isfinite(scores).all():
        found = f"got {np.isnan(attributions).sum():,} NaN"
        raise ComponentError(f"{explainer.signature}: {what}: expected {n_words:,} real numbers, {found}.")
    return attributions


def explained(
    explainer: Explainer, items: Sequence[Item], found: Sequence[Mapping[Role, Floats]], words: PairWords
) -> list[dict[Role, Floats]]:
    """What `Explainer.explain` returned. Raises ComponentError unless each word of each text has a real number."""
    if len(found) != len(items):
        raise ComponentError(f"{explainer.signature}: explain: expected {len(items):,} items, got {len(found):,}.")
    checked = []
    for item, by_role in zip(items, found, strict=True):
        what = f"explain: {described(item)}"
        texts = item.texts().items()
        sizes = {role: len(words.words(role, text)) for role, text in texts}
        checked.append({role: real_numbers(explainer, what, by_role.get(role), size) for role, size in sizes.items()})
    return checked


def checked_scores(metric: Metric, scores: object, items: Sequence[Item]) -> Floats:
    """`scores` as float64[n], one per item.

    Raises ComponentError for another number of them, and for a NaN of a metric that promises none.
    """
    checked = real_numbers(metric, "scores", scores, len(items))
    lacking = np.flatnonzero(np.isnan(checked))
    if len(lacking) and not metric.may_be_undefined:
        raise ComponentError(f"{metric.signature}: no score for {described(items[lacking[0]])}.")
    return checked


def statistics_of(metric: Metric, items: Sequence[Item]) -> Floats:
    """`Metric.statistics`. Raises ComponentError unless each of the n items has a row of real numbers."""
    statistics = real_numbers(metric, "statistics", metric.statistics(items), len(items), None)
    if np.isnan(statistics).any() and not metric.may_be_undefined:
        raise ComponentError(f"{metric.signature}: statistics: expected real numbers, got NaN.")
    return statistics


def combined(metric: Metric, sums: Floats) -> Floats:
    """`Metric.combine`. Raises ComponentError unless it gives one real number per row of sums."""
    return real_numbers(metric, "scores", metric.combine(sums), *np.shape(sums)[:-1])


def whole_number(component: Metric | Explainer, count: object) -> int:
    """A number of texts. Raises ComponentError for what is none."""
    if not isinstance(count, numbers.Integral) or count < 0:
        raise ComponentError(
            f"{component.signature}: count_texts: expected a whole number of texts, got {shown(count)}."
        )
    return int(count)


def real_numbers(of: Metric | Explainer, what: str, values: object, *shape: int | None) -> Floats:
    """`values` as float64 of this shape; None stands for any length.

    Raises ComponentError, which says what they are, for another shape and for values that float64 would change:
    complex, masked, text, None.
    """
    try:
        array = np.asarray(values)
    except ValueError:
        wrong = "rows of different lengths"
    else:
        if array.dtype.kind not in "biuf":
            wrong = "None" if values is None else f"values of type {array.dtype}"
        elif np.ma.is_masked(values):
            wrong = "masked values"
        elif array.ndim != len(shape) or any(shape[axis] not in (None, size) for axis, size in enumerate(array.shape)):
            wrong = f"{len(array):,}" if array.ndim == 1 else f"an array of shape {array.shape}"
        else:
            return array.astype(np.float64, copy=False)
    wanted = " × ".join("any number of" if length is None else f"{length:,}" for length in shape)
    raise ComponentError(f"{of.signature}: {what}: expected {wanted} real numbers, got {wrong}.")


def described(item: Item) -> str:
    """The texts of an item in words, for messages."""
    return " and ".join(f"{role} {text!r}" for role, text in item.texts().items())
