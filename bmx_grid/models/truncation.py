"""How many texts pretrained models have truncated in this process, because they were longer than the model reads."""

from __future__ import annotations

import threading
from collections import Counter

_LOCK = threading.Lock()
_TEXTS: Counter[str] = Counter()


def note(count: int, model: str) -> bool:
    """Add `count` >= 0 texts that `model` has read in part. True if they are its first: then it warns, once.

    Raises ValueError for a count below 0: the total never falls.
    """
    if count < 0:
        raise ValueError(f"{count} truncated texts of model '{model}': a count is at least 0")
    with _LOCK:
        first = count > 0 and _TEXTS[model] == 0
        if count > 0:
            _TEXTS[model] += count
    return first


def truncated() -> int:
    """How many texts models of this process have read in part so far; two readings differ by the texts between them.

    A text counts each time it is read, by each model that reads it: the encoder of a metric, its language model,
    and the masked language model of an explainer, which reads the part around a masked word.
    """
    with _LOCK:
        return _TEXTS.total()


def truncated_by_model() -> dict[str, int]:
    """The same total by what read the texts: the name of a model, or of its windows around masked words."""
    with _LOCK:
        return dict(_TEXTS)
