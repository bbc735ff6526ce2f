"""The figures of one setting of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from bmx_grid.errors import ConfigError, unknown
from bmx_grid.wording import factor_in_words, setting_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bmx_grid.analysis.run import Analysis

ORDER = ("dataset", "language_pair", "metric", "explainer")
KINDS = ("curves", "heat")
Picture = Literal["curves", "heat"]
Names = tuple[str | None, str | None, str | None, str | None]  # in the order of ORDER; None for any


def drawn(analysis: Analysis, names: Names, kind: Picture) -> Figure:
    """The curves or the heat map of the one setting that fits. Raises ConfigError where none or several do."""
    from bmx_grid.analysis.basis import basis_beside
    from bmx_grid.api.shown import in_notebook
    from bmx_grid.report.figures.canvas import style
    from bmx_grid.report.figures.grid import correlation_over_p, curves_of_row, heat_map

    if kind not in KINDS:
        raise ConfigError("kind: " + unknown("kind", kind, KINDS))
    row = the_one(analysis.table.settings, names, "plot")
    curves = curves_of_row(analysis, row, basis_beside(analysis.table))
    with style():
        return in_notebook(correlation_over_p(curves) if kind == "curves" else heat_map(curves))


def the_one(settings: Sequence[Sequence[str]], names: Names, method: str) -> int:
    """The position of the one setting, each its four names, that fits; `method`: what was asked for.

    Raises ConfigError for a name that no setting has, and where none or several settings fit.
    """
    for place, (factor, name) in enumerate(zip(ORDER, names, strict=True)):
        known = {setting[place] for setting in settings}
        if name is not None and name not in known:
            raise ConfigError(f"{factor}: " + unknown(factor_in_words(factor), str(name), known))
    rows = [
        row
        for row, setting in enumerate(settings)
        if all(name is None or own == name for own, name in zip(setting, names, strict=True))
    ]
    if len(rows) != 1:
        some = "; ".join(setting_label(*settings[row]) for row in (rows or range(len(settings)))[:4])
        more = "; …" if len(rows or settings) > 4 else ""
        found = f"{len(rows)} settings fit ({some}{more}); name one" if rows else f"none fits; there are {some}{more}"
        raise ConfigError(f"{found}: {method}(language_pair, metric, explainer, dataset).")
    return rows[0]
