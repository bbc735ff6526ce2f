"""Promises of metrics and explainers, checked at their use: a broken one is a ComponentError that names it.

A text in a language that a metric does not know breaks no promise: it is a warning, before anything is scored.
"""

from __future__ import annotations

import numbers
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from bmx_grid.core.errors import ComponentError, ConfigError, quote_value
from bmx_grid.core.identity import canonical_json
from bmx_grid.core.ragged import Floats
from bmx_grid.core.wording import pluralize
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics.base import Cost, Metric
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.perturbation import ROLES, Item, Plan, Request, Role

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet
    from bmx_grid.words.segmentation import PairWords

CODE = re.compile("[a-z]{2}")  # of ISO 639-1: other names of languages are not compared
LANGUAGE_PAIR = re.compile(r"[^\s-]+-[^\s-]+")
MOST_PAIRS = 8
LANGUAGE_NAMES = {"en": "English"}
INDEPENDENT = "A score must not depend on its batch: compute it from the texts of its own segment only."


def check_metric(metric: Metric) -> None:
    """Raise ComponentError if an attribute of a metric is not of the type that `Metric` requires."""
    _check_identity(metric, "higher_is_better", "reads_all_references", "may_be_undefined")
    reads = metric.reads
    is_ordered = isinstance(reads, tuple) and reads == tuple(role for role in ROLES if role in reads)
    wanted = f"a tuple of {', '.join(ROLES)}, in this order and with the hypothesis"
    _check(metric, "reads", wanted, is_right=is_ordered and "hypothesis" in reads)
    costs = get_args(Cost)
    _check(metric, "cost", " or ".join(costs), is_right=metric.cost in costs)
    for role in reads:
        languages = metric.known_languages(role)
        is_right = languages is None or isinstance(languages, frozenset)
        if not is_right:
            name = type(metric).__name__
            raise ComponentError(f"{name}.known_languages: expected a frozenset or None, got {quote_value(languages)}.")


def check_explainer(explainer: Explainer) -> None:
    """Raise ComponentError if an attribute of an explainer is not of the type that `Explainer` requires."""
    _check_identity(explainer, "stochastic", "writes_texts")
    _check(explainer, "only_for_metric", "a name or None", is_right=isinstance(explainer.only_for_metric, str | None))


def _check(component: Metric | Explainer, name: str, wanted: str, *, is_right: bool) -> None:
    if not is_right:
        value = quote_value(getattr(component, name))
        raise ComponentError(f"{type(component).__name__}.{name}: expected {wanted}, got {value}.")


def _check_identity(component: Metric | Explainer, *flags: str) -> None:
    """Raise ComponentError unless the signature is a line of text, fingerprints are JSON, and flags are booleans."""
    for name in flags:
        is_flag = isinstance(getattr(component, name), bool)
        _check(component, name, "True or False", is_right=is_flag)
    signature = component.signature
    # a line feed is not printable
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


def fit_metric(metric: Metric, segments: SegmentSet) -> Metric:
    """A metric fitted to segments. Raises ComponentError unless it is one."""
    fitted = metric.fit(segments)
    if not isinstance(fitted, Metric):
        raise ComponentError(f"{type(metric).__name__}.fit: expected a Metric, got a {type(fitted).__name__}.")
    if fitted is not metric:
        check_metric(fitted)
    return fitted


def scores_from_file(metric: Metric, segments: SegmentSet) -> AttributionSet | None:
    """`Metric.load_scores`. Raises ComponentError unless its scores are real numbers, one of each segment."""
    given: Any = metric.load_scores(segments)  # of a class of somebody else's
    if given is None:
        return None
    if not isinstance(given, AttributionSet):
        kind = type(given).__name__
        raise ComponentError(f"{type(metric).__name__}.load_scores: expected an AttributionSet or None, got a {kind}.")
    real_numbers(metric, "scores of a file", given.base_scores, len(segments))
    system_scores = list(given.systems.values())
    real_numbers(metric, "scores of a file", system_scores, len(system_scores))
    return given


def words_from_file(explainer: Explainer, segments: SegmentSet, words: PairWords) -> tuple[Explainer, AttributionSet]:
    """`Explainer.load_attributions`. Raises ComponentError unless there is one attribution per word."""
    imported = explainer.load_attributions(segments, words)
    if imported is None:
        raise ComponentError(f"{type(explainer).__name__}.load_attributions: expected explanations, got None.")
    known, explanations = imported
    check_explainer(known)
    for role, rows in explanations.by_role.items():
        n_words = [len(row) for row in explanations.attributed[role]]
        if rows.lengths.tolist() != n_words:
            raise ComponentError(
                f"{known.signature}: load_attributions: expected an attribution per word of each {role}."
            )
    return known, explanations


def plan_of(explainer: Explainer, words: tuple[str, ...], rng: np.random.Generator) -> Plan:
    """`Explainer.plan`. Raises ComponentError unless it is a plan of texts for these words."""
    plan = explainer.plan(words, rng)
    if not isinstance(plan, Plan):
        raise ComponentError(f"{explainer.signature}: plan: expected a Plan, got a {type(plan).__name__}.")
    texts = plan.texts or ()
    fault = ""
    if tuple(plan.words) != words:
        fault = "words are others"
    elif plan.keep is not None and np.asarray(plan.keep).dtype != np.bool_:
        fault = "masks are not an array of bool"
    # a text is itself a sequence of texts, of one character each
    elif isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        fault = "texts are not a sequence of texts"
    if fault:
        raise ComponentError(f"{explainer.signature}: plan: its {fault}, for the words {' '.join(words)!r}.")
    return plan


def attributions_of(explainer: Explainer, request: Request, scores: Floats) -> Floats:
    """float64[words], exactly one attribution per word. Raises ComponentError for anything else."""
    n_words = len(request.plan.words)
    label = f"attributions of the words of the {request.role}, for {describe_item(request.item)}"
    attributions = real_numbers(explainer, label, explainer.attribute(request.plan, scores), n_words)
    n_undefined = np.isnan(attributions).sum()
    # NaN is an answer if a score itself is not finite
    if n_undefined and np.isfinite(scores).all():
        raise ComponentError(
            f"{explainer.signature}: {label}: expected {n_words:,} real numbers, got {n_undefined:,} NaN."
        )
    return attributions


def check_explanations(
    explainer: Explainer, items: Sequence[Item], returned: Sequence[Mapping[Role, Floats]], words: PairWords
) -> list[dict[Role, Floats]]:
    """What `Explainer.explain` returned. Raises ComponentError unless each word of each text has a real number."""
    if len(returned) != len(items):
        raise ComponentError(f"{explainer.signature}: explain: expected {len(items):,} items, got {len(returned):,}.")
    checked = []
    for item, returned_of_item in zip(items, returned, strict=True):
        label = f"explain: {describe_item(item)}"
        attributions = {}
        for role, text in item.texts().items():
            n_words = len(words.words(role, text))
            attributions[role] = real_numbers(explainer, label, returned_of_item.get(role), n_words)
        checked.append(attributions)
    return checked


def check_scores(metric: Metric, scores: object, items: Sequence[Item]) -> Floats:
    """`scores` as float64[n], one per item.

    Raises ComponentError for another number of scores, and for a NaN of a metric that promises none.
    """
    checked = real_numbers(metric, "scores", scores, len(items))
    lacking = np.flatnonzero(np.isnan(checked))
    if len(lacking) and not metric.may_be_undefined:
        item = items[lacking[0]]
        raise ComponentError(f"{metric.signature}: no score for {describe_item(item)}.")
    return checked


def check_same_scores(
    metric: Metric, items: Sequence[Item], scores: Floats, again: Floats, tolerance: float, first: str, second: str
) -> None:
    """Raise ComponentError for the first item whose two scores differ by more than a tolerance.

    first, second: in which batch it scored so.
    """
    is_same = np.isclose(scores, again, rtol=0, atol=tolerance, equal_nan=True)
    for row in np.flatnonzero(~is_same).tolist():
        raise ComponentError(
            f"{metric.signature}: a segment scores {scores[row]:g} {first} and {again[row]:g} {second}. {INDEPENDENT} "
            f"The segment: {describe_item(items[row])}."
        )


def statistics_of(metric: Metric, items: Sequence[Item]) -> Floats:
    """`Metric.statistics`. Raises ComponentError unless each of the n items has a row of real numbers."""
    statistics = real_numbers(metric, "statistics", metric.statistics(items), len(items), None)
    if np.isnan(statistics).any() and not metric.may_be_undefined:
        raise ComponentError(f"{metric.signature}: statistics: expected real numbers, got NaN.")
    return statistics


def combine_statistics(metric: Metric, sums: Floats) -> Floats:
    """`Metric.combine`. Raises ComponentError unless it gives one real number per row of sums."""
    shape = np.shape(sums)[:-1]
    return real_numbers(metric, "scores", metric.combine(sums), *shape)


def whole_number(component: Metric | Explainer, count: object) -> int:
    """A number of texts. Raises ComponentError for another type or a negative number."""
    if not isinstance(count, numbers.Integral) or count < 0:
        raise ComponentError(
            f"{component.signature}: count_texts: expected a whole number of texts, got {quote_value(count)}."
        )
    return int(count)


def real_numbers(component: Metric | Explainer, label: str, values: object, *shape: int | None) -> Floats:
    """`values` as float64 of this shape; None allows any length.

    Raises ComponentError, which calls them by their label, for another shape and for values that float64 would change:
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
        elif not (array.ndim == len(shape) and all(map(_fits, array.shape, shape))):
            wrong = f"{len(array):,}" if array.ndim == 1 else f"an array of shape {array.shape}"
        else:
            return array.astype(np.float64, copy=False)
    lengths = ["any number of" if length is None else f"{length:,}" for length in shape]
    wanted = " × ".join(lengths)
    raise ComponentError(f"{component.signature}: {label}: expected {wanted} real numbers, got {wrong}.")


def _fits(size: int, length: int | None) -> bool:
    return length in (None, size)


def describe_item(item: Item) -> str:
    """The texts of an item in words, for messages."""
    texts = [f"{role} {text!r}" for role, text in item.texts().items()]
    return " and ".join(texts)


def check_pair_of_languages(language_pair: str) -> None:
    """Raise ConfigError for anything but two names with a dash between them."""
    if not isinstance(language_pair, str) or not LANGUAGE_PAIR.fullmatch(language_pair):
        raise ConfigError(
            f"language_pair: {quote_value(language_pair, 60)} is no language pair; write the codes of the language of "
            "the source and of that of the translation with a dash between them, such as de-en."
        )


def unknown_languages(metric: Metric, language_pair: str) -> tuple[str, ...]:
    """The languages of a pair that a metric reads and does not know, sorted."""
    source, _, target = language_pair.partition("-")
    unknown = set()
    for role in metric.reads:
        known = metric.known_languages(role)
        # de_CH and de-AT are German
        code = re.split("[_-]", source if role == "source" else target)[0].lower()
        if known is not None and CODE.fullmatch(code) and code not in known:
            unknown.add(code)
    return tuple(sorted(unknown))


def warn_of_languages(read: Iterable[tuple[str, Metric, str]]) -> None:
    """Warn once of each group of metrics with languages that they do not know.

    read: the name of a metric, the metric, and a language pair that it is to score.
    """
    pairs: dict[str, dict[str, None]] = {}  # by metric, each pair once and in order
    known: dict[str, set[str]] = {}
    for name, metric, language_pair in read:
        if unknown_languages(metric, language_pair):
            pairs.setdefault(name, {})[language_pair] = None
            for role in metric.reads:
                known.setdefault(name, set()).update(metric.known_languages(role) or ())
    names: dict[tuple[str, str], list[str]] = {}  # metrics by the end of their sentence
    for name, language_pairs in pairs.items():
        languages = ", ".join(LANGUAGE_NAMES.get(code, code) for code in sorted(known[name]))
        shown_pairs = ", ".join(language_pairs)
        if len(language_pairs) > MOST_PAIRS:
            shown_pairs = pluralize(len(language_pairs), "language pair")
        names.setdefault((languages, shown_pairs), []).append(name)
    for (languages, shown_pairs), metrics in names.items():
        know = "knows" if len(metrics) == 1 else "know"
        warnings.warn(
            f"{', '.join(metrics)} {know} {languages} only. Texts of {shown_pairs} are in other languages, so that "
            "their scores mean little. Choose a multilingual metric, such as e5_sbert or e5_xbertscore.",
            stacklevel=2,
        )
