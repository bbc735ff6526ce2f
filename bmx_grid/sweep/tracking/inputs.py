"""The segments that a sweep reads, as inputs of MLflow's runs: name, digest, number of rows, columns, and file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bmx_grid.segments import SegmentSet
from bmx_grid.wording import setting_label

DIGEST = 16  # hexadecimal digits shown of a fingerprint; MLflow takes 36
LONGEST_NAME = 500  # characters: MLflow's limit
CONTEXT = "evaluation"  # what MLflow calls the use of a data set in a run
TEXTS = ("source", "reference", "hypothesis")
Key = tuple[str, str]


def inputs_of(sets: Iterable[SegmentSet]) -> dict[Key, Any]:
    """An MLflow DatasetInput for each language pair of each data set, by (data set, language pair).

    MLflow itself would make them from DataFrames, and hash these again; all it needs is known already.
    """
    from mlflow.entities import Dataset, DatasetInput, InputTag

    found: dict[Key, Any] = {}
    for segments in sets:
        key = segments.dataset, segments.language_pair
        if key in found:
            continue
        dataset = Dataset(
            name=setting_label(*key)[:LONGEST_NAME],
            digest=segments.fingerprint()[:DIGEST],
            source_type="local",
            source=json.dumps({"uri": where(segments)}, ensure_ascii=False),
            schema=json.dumps({"mlflow_colspec": columns(segments)}, ensure_ascii=False),
            profile=json.dumps(profile(segments)),
        )
        found[key] = DatasetInput(dataset, [InputTag("mlflow.data.context", CONTEXT)])
    return found


def where(segments: SegmentSet) -> str:
    """The file or folder that the segments were read from, as an absolute path where it is there."""
    path = Path(segments.origin) if segments.origin else None
    return segments.origin if path is None or not path.exists() else str(path.resolve())


def columns(segments: SegmentSet) -> list[dict[str, Any]]:
    """What is known of each segment, in the form of MLflow's column specifications."""
    rows = segments.segments
    texts: dict[str, Sequence[object]] = {role: [getattr(one, role) for one in rows] for role in TEXTS}
    texts |= {"system": [one.system for one in rows], "document": [one.document for one in rows]}
    known = {name: values for name, values in texts.items() if any(value is not None for value in values)}
    found = [_column("id", "string", required=True)]
    found += [_column(name, "string", required=None not in values) for name, values in known.items()]
    scores = segments.judgements.scores.items()
    return [*found, *(_column(name, "double", required=bool(np.isfinite(of).all())) for name, of in scores)]


def profile(segments: SegmentSet) -> dict[str, int]:
    """How many rows there are, and how many of them have a human score; of how many systems, where these are named."""
    systems = {"num_systems": len(segments.systems)} if segments.systems else {}
    return {"num_rows": len(segments), "num_rated": segments.rated, **systems}


def _column(name: str, kind: str, *, required: bool) -> dict[str, Any]:
    return {"type": kind, "name": name, "required": required}
