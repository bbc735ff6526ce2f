"""Results as a notebook shows them: short tables, figures as pictures, words in colour."""

from __future__ import annotations

import html
import io
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import Column, Table
from bmx_grid.analysis.gains import ALPHA
from bmx_grid.api.inputs import PARTS, Names, chosen_setting, listed
from bmx_grid.core.errors import ConfigError, DataMissingError, unknown
from bmx_grid.core.wording import counted, number, setting_label, visible
from bmx_grid.datasets.segments import NO_PAIR

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from bmx_grid.sweep.settings import SweepPlan

MOST_ROWS = 20
MOST_SHOWN, MOST_NAMED = 5, 10  # segments whose words are shown, ids in a message
HEADINGS = {"language_pair": "pair", "compared": "metric"}
BLUE, ORANGE = "0,114,178", "213,94,0"  # raises, lowers the score; the underline says the same without colour
PICTURE_DPI = 110  # of figures in a notebook: a page's width fits the column of text


def table_of(
    frame: pd.DataFrame,
    title: str,
    names: Sequence[str],
    columns: Mapping[str, tuple[str, str]],
    notes: Sequence[str] = (),
    stem: str = "shown",
    *,
    in_groups: bool = False,
) -> Table:
    """Rows of a frame as a table: names, of which an unknown language pair is none, then its numbers.

    columns: column -> heading and form. in_groups: whether there is a line between language pairs.
    """
    if len(frame) and "language_pair" in names and set(frame["language_pair"]) == {NO_PAIR}:
        names = [name for name in names if name != "language_pair"]
    shown = [Column(name, HEADINGS.get(name, name)) for name in names]
    for name, (heading, form) in columns.items():
        shown.append(Column(name, heading, form, marked="is_marked" if name == "p_holm" else ""))
    frame = frame.assign(is_marked=frame["p_holm"] <= ALPHA) if "p_holm" in frame else frame
    by = ["language_pair"] if in_groups else []
    return Table.of(stem, title, frame, shown, notes, by=by, names=len(names))


def table_html(table: Table) -> str:
    """A table as HTML, of at most MOST_ROWS rows."""
    import pandas as pd

    rows = [[visible(cell.shown) for cell in row] for row in table.rows]
    shown: str = pd.DataFrame(rows, columns=list(map(visible, table.header))).to_html(index=False, max_rows=MOST_ROWS)
    return shown


def paragraphs(*lines: str) -> str:
    """Texts as HTML paragraphs, escaped."""
    return "".join(f"<p>{html.escape(visible(line))}</p>" for line in lines)


def in_notebook(figure: Figure) -> Figure:
    """The figure, with a picture of itself for notebooks, a PNG in the look of all figures.

    A figure that pyplot did not make is shown as a line of text there, unless `%matplotlib inline` came first.
    """

    def picture() -> bytes:
        from bmx_grid.report.figures.canvas import style

        held = io.BytesIO()
        with style():
            figure.savefig(held, format="png", dpi=PICTURE_DPI)
        return held.getvalue()

    shown: Any = figure
    shown._repr_png_ = picture
    return figure


@dataclass(frozen=True, eq=False)
class Words:
    """The attributions of one setting's segments.

    names: data set, language pair, metric, explainer. frame: one row per word: id, system, score of the segment by the
    metric alone, side, position (from 0), word, attribution (NaN where a segment could not be explained).
    """

    names: tuple[str, str, str, str]
    frame: pd.DataFrame

    def __repr__(self) -> str:
        return f"Words({setting_label(*self.names)}: {counted(self._segments.ngroups, 'segment')})"

    def _repr_html_(self) -> str:
        more = self._segments.ngroups - MOST_SHOWN
        head = f"{setting_label(*self.names)}. Blue, solid line: raises the score; orange, wavy line: lowers it."
        rest = paragraphs(f"… and {counted(more, 'more segment')}: words(…, ids=[ID]).") if more > 0 else ""
        shown = itertools.islice(self._segments, MOST_SHOWN)
        return paragraphs(head) + "".join(_article(names, rows) for names, rows in shown) + rest

    @property
    def _segments(self) -> Any:
        return self.frame.groupby(["id", "system", "score"], sort=False, dropna=False)


def words_of(folder: Path, config: Mapping[str, Any] | None, names: Names, ids: Sequence[str] | None) -> Words:
    """The words of the one setting of the sweep in `folder` that fits `names`.

    config: of the sweep, where it ran in this process. Raises ConfigError where none or several settings fit or an id
    is unknown, DataMissingError where the configuration, data or attributions of the sweep are gone.
    """
    import pandas as pd

    from bmx_grid.analysis.examples import sides_of

    plan = _plan(_config(folder) if config is None else config, names)
    explained = [planned for planned in plan.settings if planned.setting.explainer is not None]
    if not explained:
        why = "; ".join(f"{refused.label}: {refused.reason}" for refused in plan.failed[:2])
        raise DataMissingError(f"{folder}: no setting with an explainer can be read again. {why or 'There is none.'}")
    planned = explained[chosen_setting([item.setting.names for item in explained], names, "words")]
    setting = planned.setting
    if planned.missing:
        raise DataMissingError(
            f"{setting.label}: the attributions of {len(planned.missing)} segments are not in the cache; run the sweep "
            "again with the same cache_dir."
        )
    stored, texts = setting.explanations(), setting.attributed()
    known = {segment.id for segment in setting.segments.segments}
    wanted = known if ids is None else set(listed("ids", ids))
    for name in sorted(wanted - known):
        raise ConfigError("ids: " + unknown("segment", name, sorted(known)[:MOST_NAMED]))
    rows = [
        (segment.id, segment.system, float(stored.base_scores[row]), side.name, position, word, value)
        for row, segment in enumerate(setting.segments.segments)
        if segment.id in wanted
        for side in sides_of(setting, stored, texts, row)
        for position, (word, value) in enumerate(zip(side.words, side.attributions.tolist(), strict=True))
    ]
    columns = ["id", "system", "score", "side", "position", "word", "attribution"]
    return Words(setting.names, pd.DataFrame(rows, columns=columns))


def _config(folder: Path) -> Mapping[str, Any]:
    """The configuration in the folder of a sweep. Raises DataMissingError where it is gone, or does not suffice."""
    import yaml

    path = folder / "config.yaml"
    if not path.is_file():
        raise DataMissingError(f"{folder} has no config.yaml, which says where its data and attributions are.")
    config: Mapping[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    for group in PARTS:
        for name, node in (config.get(group) or {}).items():
            if "_target_" not in node:
                raise DataMissingError(
                    f"{path}: the {group} {name} was an object of the program that ran this sweep; its words are known "
                    "to the result of that run only."
                )
    return config


def _plan(config: Mapping[str, Any], names: Names) -> SweepPlan:
    """The part of a sweep that has the settings of these names, planned again. Scores nothing."""
    from bmx_grid.commands.sweep_plan import plan_sweep

    dataset, pair, metric, _ = names
    datasets = {}
    for option, node in config["dataset"].items():
        if isinstance(node, Mapping) and pair in (node.get("language_pairs") or ()):
            node = {**node, "language_pairs": [pair]}
        datasets[node["name"] if isinstance(node, Mapping) else node.name] = option, node
    if dataset not in (None, *datasets):
        raise ConfigError("dataset: " + unknown("data set", dataset, datasets))
    metrics = config["metric"]
    if metric in metrics:  # else it may be one of the names in the files of an option
        metrics = {metric: metrics[metric]}
    kept = dict(node for name, node in datasets.items() if dataset in (None, name))
    return plan_sweep(
        {**config, "dataset": kept, "metric": metrics, "seeds": [], "leave_out": [], "dry_run": True}
    ).plan


def _article(names: tuple[Any, ...], rows: pd.DataFrame) -> str:
    """A segment as HTML: below each word its attribution, the stronger the colour, the larger it is in the segment."""
    identifier, system, score = names
    name = identifier if isinstance(system, float) or system is None else f"{identifier}:{system}"
    share = rows["attribution"].abs() / rows["attribution"].abs().max()
    rows = rows.assign(share=share.fillna(0.0))
    parts = [f"<p><b>{html.escape(visible(name))}</b>: metric alone {number(score, '.4f')}</p>"]
    for side, words in rows.groupby("side", sort=False):
        shown = " ".join(
            _word(word, value, strength)
            for word, value, strength in words[["word", "attribution", "share"]].itertuples(index=False)
        )
        parts.append(f"<p dir='auto' style='line-height:2.2'><small>{html.escape(str(side))}</small><br>{shown}</p>")
    return "".join(parts)


def _word(word: str, value: float, strength: float) -> str:
    colour, line = (BLUE, "solid 2px") if value > 0 else (ORANGE, "wavy 1.5px")
    style = f"background:rgba({colour},{strength / 2:.2f});text-decoration:underline {line}" if value else ""
    return (
        f"<span style='display:inline-block;text-align:center;line-height:1.2'><span style='{style}'>"
        f"{html.escape(visible(word))}</span><br><small>{number(value, '+.2g')}</small></span>"
    )
