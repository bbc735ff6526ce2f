"""The (p, w) each explainer is evaluated at, and how it may be described: where it was chosen and is judged."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bmx_grid.analysis import medians
from bmx_grid.analysis.base import working
from bmx_grid.analysis.best import best_points
from bmx_grid.analysis.given import NOWHERE, Given, Point
from bmx_grid.analysis.medians import Median, explainer_medians
from bmx_grid.analysis.table import GridTable, Setting
from bmx_grid.errors import ConfigError
from bmx_grid.measures.grid import nearest_point
from bmx_grid.wording import counted, named, point_in_words, setting_label

Provenance = Literal["in-sample", "as published", "held out", "chosen elsewhere", "given", "none"]
# Leiter, Nguyen, Eger 2022, section 4.2 and Figure 5: chosen on all settings of these data sets together.
PUBLISHED: Mapping[str, Point] = {
    "erasure": Point(p=-0.3, w=0.6),
    "lime": Point(p=-1.4, w=0.4),
    "shap": Point(p=-0.95, w=0.6),
    "input_marginalization": Point(p=-13.1, w=0.8),
}
PAPERS_DATASETS = frozenset(("wmt17", "eval4nlp21", "mlqe_pe"))
METRIC_ALONE = Point(p=float("nan"), w=1.0)  # to decline to boost


@dataclass(frozen=True)
class ChosenPoints:
    """By explainer of the settings that are not controls; an explainer without a point is only in the last two.

    asked: the (p, w) asked for; used: the grid points they are evaluated at (`nearest_point`), NaN outside the grid.
    origins: where the point comes from, in words. provenance: how numbers at it may be described:
        "in-sample": chosen where it is judged. "as published": the paper's own point, in-sample on the paper's own
        data sets. "held out": chosen on another table, which shares no segments with this one.
        "chosen elsewhere": chosen on another table that shares segments (a data set and language pair) with this one.
        "given": by the user, from an unknown source. "none": there is no point.
    """

    asked: Mapping[str, Point] = working()
    used: Mapping[str, Point] = working()
    origins: Mapping[str, str] = working()
    provenance: Mapping[str, Provenance] = working()

    def in_words(
        self, explainers: Sequence[str] | None = None, written: Callable[[str], str] = str, minus: str = "-"
    ) -> str:
        """The points asked for and used, and where they come from: one sentence per origin.

        written: how the name of an explainer is shown; minus: the sign of a negative p.
        """
        by_origin: dict[str, list[str]] = {}
        for name in self.origins if explainers is None else explainers:
            by_origin.setdefault(self.origins[name], []).append(f"{written(name)} {self.point_in_words(name, minus)}")
        return " ".join(f"Points, {origin}: {'; '.join(told)}." for origin, told in by_origin.items())

    def point_in_words(self, explainer: str, minus: str = "-") -> str:
        """The point asked for, and the grid point used where it is another."""
        asked, used = self.asked.get(explainer), self.used.get(explainer, NOWHERE)
        if asked is None:
            return "no point"
        wanted, taken = (point_in_words(one.w, one.p, minus) for one in (asked, used))
        return wanted if wanted == taken else f"{wanted} (used {taken})"


def compute(given: Given) -> ChosenPoints:
    """The points of the options, else the medians of the selected table."""
    real, options = given.real, given.options
    other = options.select_from
    if other is None:
        chosen: Mapping[str, Median] = given.ask(medians.compute).medians
        source, provenance = "median of the best points of this table", _in_sample()
    else:
        chosen = explainer_medians(other, best_points(other, options.tie))
        source, provenance = f"median of the best points of {other.origin}", _elsewhere(real, other)
    asked: dict[str, Point] = {}
    origins: dict[str, str] = {}
    kinds: dict[str, Provenance] = {}
    for name in real.factor_levels("explainer"):
        if name in options.fixed:
            asked[name] = options.fixed[name]
            kinds[name], origins[name] = _given(name, asked[name], real.factor_levels("dataset"))
        elif name in chosen:
            asked[name], kinds[name] = chosen[name], provenance[0]
            origins[name] = f"{source}, {provenance[1]}"
            if chosen[name].n == 0:
                asked[name] = METRIC_ALONE
                origins[name] += ", where no point improves any setting, so that nothing is boosted"
        else:
            kinds[name], origins[name] = "none", f"none: {source} has no {name}"
    used = {name: grid_point(real, point) for name, point in asked.items()}
    for name, point in used.items():
        if point is NOWHERE:
            kinds[name] = "none"
            origins[name] += f", p = {asked[name].p:g}, w = {asked[name].w:g}, which is not in this grid"
    return ChosenPoints(asked, used, origins, kinds)


def grid_point(table: GridTable, point: Point) -> Point:
    """The point of the table's grid that `point` is evaluated at; METRIC_ALONE where its w is 1, NOWHERE outside."""
    at = nearest_point(table.p, table.w, point.p, point.w)
    if at is None:
        return NOWHERE
    w = float(table.w[at[1]])
    return METRIC_ALONE if w == 1 else Point(float(table.p[at[0]]), w)


def check_selection(table: GridTable, other: GridTable) -> None:
    """Refuse to judge points where they were chosen: settings of `other` that are settings of `table`.

    Settings are the same when their names are, or the numbers of their grids. Raises ConfigError naming the overlap.
    """
    known = {setting: setting for setting in _real(table)}
    by_numbers = {digest: setting for setting, digest in _digests(table).items()}
    there = _digests(other)
    found = (known.get(one) or by_numbers.get(there[one]) for one in _real(other))
    shared = [one for one in found if one is not None]
    if not shared:
        return
    if len(shared) == len(_real(table)) == len(_real(other)):
        what = f"select.from={other.origin} is the analysed table itself ({counted(len(shared), 'setting')})"
    else:
        told = named([one.label for one in shared], separator="; ")
        what = f"select.from={other.origin} shares {counted(len(shared), 'setting')} with it: {told}"
    raise ConfigError(
        f"{table.origin}: {what}. Points would be judged where they were chosen: leave select.from out, or name a "
        "table without these settings."
    )


def shared_segments(table: GridTable, other: GridTable) -> list[str]:
    """Data sets and language pairs, "wmt17 · de-en", that both tables have: there they rest on the same segments."""
    pairs = [{(one.dataset, one.language_pair) for one in _real(each)} for each in (table, other)]
    return [setting_label(*pair) for pair in sorted(pairs[0] & pairs[1])]


def _in_sample() -> tuple[Provenance, str]:
    return "in-sample", "in-sample (chosen where it is judged)"


def _elsewhere(table: GridTable, other: GridTable) -> tuple[Provenance, str]:
    shared = shared_segments(table, other)
    if not shared:
        return "held out", "held out (no data set and language pair in common)"
    return "chosen elsewhere", f"chosen elsewhere (on the same segments: {named(shared)})"


def _given(explainer: str, point: Point, datasets: Sequence[str]) -> tuple[Provenance, str]:
    published = PUBLISHED.get(explainer)
    if published is None or (published.p, published.w) != (point.p, point.w):
        return "given", "given (what it was chosen on is not known here)"
    own = [name for name in datasets if name in PAPERS_DATASETS]
    if not own:
        return "as published", "as published (chosen on other data)"
    if len(own) == len(datasets):
        return "as published", "as published (in-sample: the paper chose it on these data sets)"
    return "as published", f"as published (in-sample on {', '.join(own)}; elsewhere chosen on other data)"


def _real(table: GridTable) -> list[Setting]:
    return [one for one, control in zip(table.settings, table.is_control, strict=True) if not control]


def _digests(table: GridTable) -> dict[Setting, str]:
    """SHA-256 of the grid of each setting that is not a control; constant grids, all alike, have their own."""
    found = {}
    for row, setting in enumerate(table.settings):
        if table.is_control[row]:
            continue
        numbers = table.correlation[row]
        own = "" if numbers.min() < numbers.max() else str((id(table), row))
        found[setting] = hashlib.sha256(numbers.tobytes() + own.encode()).hexdigest()
    return found
