"""The library bert-score, which scores of `BertScore` are held against."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any


def bert_scorer(folder: str, **settings: Any) -> Any:
    """bert_score.BERTScorer of the model in a folder.

    The library looks for t5 and scibert in the path of a model, and a checkout may have any path: it sees none of it.
    """
    from bert_score import BERTScorer

    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        Path("model").symlink_to(folder)
        return BERTScorer(model_type="model", **settings)
