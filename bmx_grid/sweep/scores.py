"""The table of scores: one row per segment and setting, for your own statistics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bmx_grid.evaluations.base import NAMES, Columns, Finished
from bmx_grid.sweep.results import SettingResult, in_order, repeated
from bmx_grid.words.perturbation import ROLES

if TYPE_CHECKING:
    import pyarrow as pa

    from bmx_grid.segments import SegmentSet

HUMAN = "human"  # the primary human score; others are named human.ASPECT


def segment_rows(setting: Finished, evaluated: Iterable[Columns]) -> dict[str, Any]:
    """The columns of one setting, N values each: who, human scores, base score, words per text, then `evaluated`.

    evaluated: what evaluations say of segments. words_ROLE is null for a text that is neither read by the metric nor
    explained. Human scores are NaN for unrated segments.
    """
    segments = setting.segments
    columns: dict[str, Any] = {
        "id": [segment.id for segment in segments.segments],
        "system": [segment.system for segment in segments.segments],
        "cluster": list(setting.clusters),
        **human_columns(segments),
        "base": setting.scores.base_scores,
    }
    for role in ROLES:
        known = role in setting.worded
        columns[f"words_{role}"] = setting.word_counts(role) if known else [None] * len(setting.items)
    for found in evaluated:
        columns |= found
    return columns


def human_columns(segments: SegmentSet) -> dict[str, Any]:
    """The primary human score as `human`, its name, and every further one as human.ASPECT."""
    judged = segments.judgements
    further = {f"{HUMAN}.{name}": judged.scores[name] for name in judged.aspects[1:]}
    return {HUMAN: segments.human_scores, "human_name": [judged.primary] * len(segments), **further}


def scores_table(results: Iterable[SettingResult]) -> pa.Table:
    """NAMES, then the columns of all settings; null where a setting does not have a column that another has."""
    import pyarrow as pa

    done = in_order(results)
    kinds: dict[str, Any] = {}
    for result in done:
        for name, values in result.scores.items():
            kinds.setdefault(name, _kind(name, values))
    sizes = [result.n_segments for result in done]
    table: dict[str, Any] = {name: repeated([getattr(result, name) for result in done], sizes) for name in NAMES}
    for name, kind in kinds.items():
        parts = [
            pa.array(result.scores[name], kind) if name in result.scores else pa.nulls(size, kind)
            for result, size in zip(done, sizes, strict=True)
        ]
        table[name] = pa.concat_arrays(parts)
    return pa.table(table)


def _kind(name: str, values: Any) -> Any:
    """The Arrow type of a column; those of the core are known even where all their values are null."""
    import pyarrow as pa

    if name in ("id", "system", "cluster", "human_name"):
        return pa.string()
    return pa.int32() if name.startswith("words_") else pa.array(values).type
