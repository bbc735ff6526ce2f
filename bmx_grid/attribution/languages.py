"""A warning, before anything is scored, of texts in languages that a metric does not know."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable

from bmx_grid.core.wording import counted
from bmx_grid.metrics.base import Metric

CODE = re.compile("[a-z]{2}")  # of ISO 639-1: other names of languages are not compared
MOST_PAIRS = 8
NAMES = {"en": "English"}


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
    names: dict[tuple[str, str], list[str]] = {}  # by what is said of them
    for name, language_pairs in pairs.items():
        languages = ", ".join(NAMES.get(code, code) for code in sorted(known[name]))
        shown_pairs = ", ".join(language_pairs)
        if len(language_pairs) > MOST_PAIRS:
            shown_pairs = counted(len(language_pairs), "language pair")
        names.setdefault((languages, shown_pairs), []).append(name)
    for (languages, shown_pairs), metrics in names.items():
        know = "knows" if len(metrics) == 1 else "know"
        warnings.warn(
            f"{', '.join(metrics)} {know} {languages} only. Texts of {shown_pairs} are in other languages, of which "
            "these scores say little. Choose a multilingual metric, such as e5_sbert or e5_xbertscore.",
            stacklevel=2,
        )
