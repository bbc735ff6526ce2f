"""A DataFrame of segments in, a sweep's tables out: your own data without files or configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.api.inputs import Columns, FrameTable, keyed, numbers, path, roles_of
from bmx_grid.api.sweeps import Run, swept
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import digest, identity, runtime
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.judgements import Judgements
from bmx_grid.datasets.segments import NO_PAIR, SegmentSet
from bmx_grid.datasets.tables import Table
from bmx_grid.datasets.tabular import Rows
from bmx_grid.measures.correlation import FEWEST

if TYPE_CHECKING:
    import pandas as pd

    from bmx_grid.attribution.scorer import Scorer
    from bmx_grid.explainers.base import Explainer
    from bmx_grid.metrics.base import Metric

    AMetric = str | Metric | Scorer | Callable[..., Any]

NAME = "frame"


@dataclass(frozen=True, kw_only=True)
class Frame(DatasetReader):
    """A data set that is in memory: its sets of segments by language pair."""

    name: str = runtime(NAME)
    sets: Mapping[str, SegmentSet] = runtime()
    content: str = identity()

    def read(self, data_dir: Path, language_pair: str) -> SegmentSet:
        return self.sets[language_pair]


def frame_reader(sets: Sequence[SegmentSet]) -> Frame:
    """The data set of these sets of segments, each of a language pair of its own."""
    by_pair = {segments.language_pair: segments for segments in sets}
    content = digest([segments.fingerprint() for segments in sets])[:16]
    return Frame(sets=by_pair, language_pairs=tuple(by_pair), content=content)


def segment_sets(
    table: Table, roles: Mapping[str, tuple[str, ...]], language_pair: str | None
) -> list[tuple[SegmentSet, list[int]]]:
    """The segments of a table by language pair, in order of appearance, each set with the numbers of its rows.

    roles: role -> columns. Raises DataError naming the row of what cannot be used, ConfigError for a language pair that
    is given twice.
    """
    if not isinstance(language_pair, str | None):
        raise ConfigError(f"language_pair: expected a text, such as 'de-en', got {language_pair!r:.60}.")
    if "language_pair" in roles and language_pair is not None:
        raise ConfigError(
            f"language_pair={language_pair!r}: {table.path} has a column for it, {roles['language_pair'][0]!r}; leave "
            "one out."
        )
    for name in roles["score"]:
        numbers(table, name, FEWEST)
    pairs = () if "language_pair" in roles else (language_pair or NO_PAIR,)
    parsed = Rows(table, roles, pairs, str(table.path))
    sets = []
    for pair, rows in parsed.by_pair.items():
        judgements = Judgements({name: parsed.scores[name][rows] for name in roles["score"]})
        sets.append((SegmentSet(NAME, pair, parsed.segments(rows), judgements, str(table.path)), rows))
    return sets


def grid(
    frame: pd.DataFrame,
    metric: AMetric | Sequence[AMetric] | Mapping[str, AMetric] = "chrf",
    explainer: str | Explainer | Sequence[str | Explainer] = "erasure",
    *,
    columns: Columns | None = None,
    language_pair: str | None = None,
    output_dir: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    quiet: bool = True,
    **keys: Any,
) -> Run:
    """The p x w grid of a DataFrame's segments, with intervals, tests and placebos: a sweep over this frame.

    >>> import bmx_grid as bmx
    >>> import pandas as pd
    >>> frame = pd.DataFrame({
    ...     "ref": ["the cat sat on the mat", "he went home", "it rains in spring", "we have no time"],
    ...     "mt": ["a cat sat on a mat", "he goes at home", "it rains", "we do not have time"],
    ...     "DA": [0.8, 0.1, -0.9, 0.5],
    ... })
    >>> def overlap(hypotheses, references):
    ...     return [len({*h.split()} & {*r.split()}) / len(r.split()) for h, r in zip(hypotheses, references)]
    >>> run = bmx.grid(frame, metric=overlap, explainer="erasure", settings={"grid.p.step": 5})
    >>> run.settings[["metric", "explainer", "n_used"]]
        metric explainer  n_used
    0  overlap   erasure       4

    frame: one row per segment (and system), with columns for hypothesis, human score (higher is better), and source or
        reference; id, system, document and language_pair if there are any. Usual names (src, ref, mt, DA, …) are
        recognised; columns: role -> column, for others. language_pair: of a frame without such a column.
    metric: a name of an option, a function, an object (`bmx_grid.load("chrf")`), a list of these, or a dictionary of
        them by name. The parameters of a function say what it reads: `f(hypotheses, references)`, `f(hypotheses,
        sources)` or all three are called with lists of texts, and return as many scores, higher is better. It runs in
        this process, and a sweep with a function keeps nothing in the cache: nobody knows when its scores change.
    explainer: likewise a name or an object. settings, keys: as `run` takes them.
    output_dir: where the sweep is written, with its page and figures; without one, a temporary folder that lives as
        long as the result and has the tables only.
    Attributions are kept in cache_dir as those of any sweep. Nothing is logged to MLflow unless tracking="mlflow".
    Raises DataError for rows that cannot be used, and as `run`.
    """
    table = FrameTable(frame)
    roles = roles_of(table, columns, ("hypothesis", "score"))
    sets = [segments for segments, _ in segment_sets(table, roles, language_pair)]
    chosen = {"metric": metric, "explainer": explainer, "dataset": {NAME: frame_reader(sets)}}
    return swept_frame({**keys, **keyed("settings", settings), **chosen}, output_dir, quiet)


def swept_frame(keys: Mapping[str, Any], output_dir: str | Path | None, quiet: bool) -> Run:
    """A sweep over a frame: into a temporary folder unless there is an output_dir, and untracked unless asked for."""
    where = {} if output_dir is None else {"output_dir": path("output_dir", output_dir)}
    return swept({"tracking": "none", "name": NAME, **keys, **where}, quiet=quiet, temporary=output_dir is None)
