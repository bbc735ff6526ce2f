"""Predictions for the evaluation task of WMT26 by a scorer: a JSON object per item (`score --format wmt26`).

`task1_pred` holds error spans, `task2_pred` scores, `task3_pred` whether an output is free of errors, each by system.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bmx_grid.attribution.explain import Explanation
from bmx_grid.attribution.scorer import Scorer
from bmx_grid.attribution.texts import PLURAL
from bmx_grid.commands.scored_text import scale_of
from bmx_grid.core.errors import ConfigError, DataError
from bmx_grid.datasets.nested import Output
from bmx_grid.datasets.tables import open_table
from bmx_grid.words.perturbation import Role
from bmx_grid.words.segmentation import split_words
from bmx_grid.words.tags import WEIGHTS

# The total weight of the words of a major error, less a tolerance for rounding.
MAJOR = WEIGHTS["major"] - 1e-9
PredictedSpan = dict[str, Any]


def outputs_in(path: Path) -> Sequence[Output]:
    """The outputs of a file of items. Raises ConfigError for another file, DataError naming line and system."""
    outputs = open_table(path).outputs
    if not outputs or any(output.hypothesis is None for output in outputs):
        raise ConfigError(f"{path}: --format wmt26 reads items with their outputs, as {{'item_id': …, 'hyps': {{…}}}}.")
    return outputs


def lists_read(outputs: Sequence[Output], roles: Sequence[Role], path: Path) -> dict[str, list[str]]:
    """The lists of texts that `Scorer.explain` takes. Raises DataError naming the line of an item that lacks one."""
    lists = {}
    for role in roles:
        texts = []
        for output in outputs:
            text: str | None = getattr(output, role)
            if text is None:
                reads = f"the metric reads the {role}, and the item has none; choose another metric"
                raise DataError(f"{path}, line {output.place}: {reads}.")
            texts.append(text)
        lists[PLURAL[role]] = texts
    return lists


def predictions(
    outputs: Sequence[Output],
    lists: Mapping[str, Any],
    scorer: Scorer,
    *,
    with_spans: bool,
    error_free_from: float | None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[str]:
    """Yield one line of predictions per item, with scores on the scale that `score` prints; higher is better.

    lists: the texts that the scorer reads, as `Scorer.explain` takes them. with_spans: adds `task1_pred`, runs of words
    with weights of errors. error_free_from: adds `task3_pred`, 1 for scores of at least this value.
    """
    scored = scorer.explain(**lists, progress=progress)
    metric = scorer.metric
    sign = 1 if metric.higher_is_better else -1
    scores = (sign * scale_of(metric) * scored.scores).tolist()
    items: dict[str, dict[str, Any]] = {}
    for row, output in enumerate(outputs):
        item = items.setdefault(output.id, {"item_id": output.id})
        if with_spans:
            spans = _spans(scored.explanations[row])
            errors = {"errors": spans, "omission": None, "instruction_fault": None}
            item.setdefault("task1_pred", {})[output.system] = errors
        # JSON has no NaN.
        score = scores[row] if math.isfinite(scores[row]) else None
        item.setdefault("task2_pred", {})[output.system] = score
        if error_free_from is not None:
            free = None if score is None else int(score >= error_free_from)
            item.setdefault("task3_pred", {})[output.system] = free
    for item in items.values():
        yield json.dumps(item, ensure_ascii=False)


def _spans(explanation: Explanation) -> list[PredictedSpan]:
    """Turn runs of words with negative attributions into spans; the severity follows from their total weight."""
    spans: list[PredictedSpan] = []
    start = 0
    previous_is_marked = False
    words = split_words(explanation.item.text("hypothesis"))
    attributions = explanation.attributions["hypothesis"].tolist()
    for word, value in zip(words, attributions, strict=True):
        is_marked = value < 0
        if is_marked and previous_is_marked:
            spans[-1]["end"] = start + len(word)
            spans[-1]["weight"] -= value
        elif is_marked:
            spans.append({"start": start, "end": start + len(word), "weight": -value})
        previous_is_marked = is_marked
        # Words are separated by single spaces.
        start += len(word) + 1
    # The weight of an error is divided over its words: only a whole run shows how severe it is.
    for span in spans:
        span["severity"] = "major" if span.pop("weight") >= MAJOR else "minor"
    return spans
