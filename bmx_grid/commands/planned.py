"""A planned sweep: what it will run and write, and how it is known again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bmx_grid.commands.settings import Settings
from bmx_grid.identity import digest
from bmx_grid.wording import file_stem

if TYPE_CHECKING:
    from bmx_grid.evaluations.base import Evaluation
    from bmx_grid.evaluations.grid import GridEvaluation
    from bmx_grid.sweep.executors.base import Executor
    from bmx_grid.sweep.settings import SweepPlan
    from bmx_grid.sweep.tracking.base import Tracker


@dataclass(frozen=True)
class Sweep:
    """A planned sweep and the parts that run it. `config` is the whole configuration as YAML."""

    settings: Settings
    plan: SweepPlan
    evaluations: Mapping[str, Evaluation]
    executor: Executor
    tracker: Tracker
    config: str
    config_digest: str

    @property
    def grid(self) -> GridEvaluation | None:
        """The grid among the evaluations, which the analysis rests on."""
        from bmx_grid.evaluations.grid import GridEvaluation

        return next((one for one in self.evaluations.values() if isinstance(one, GridEvaluation)), None)

    def fingerprints(self) -> dict[str, str]:
        """Of every planned setting, by its label."""
        from bmx_grid.sweep.evaluated import fingerprint

        return {
            one.label: fingerprint(one, self.plan.clusters_of(one), self.evaluations, self.settings.seed)
            for one in (planned.setting for planned in self.plan.settings)
        }

    def is_tracked(self) -> bool:
        """Whether nothing is left to track."""
        from bmx_grid.sweep.tracking.base import NoTracker

        if isinstance(self.tracker, NoTracker):
            return True
        out = self.settings.output_dir
        return self.tracker.is_complete(self.settings.name, self.config, out, self.fingerprints())

    def fingerprint(self) -> str:
        """SHA-256 of all that the files of this sweep depend on, known before anything is computed."""
        from bmx_grid._version import __version__

        of_settings = list(self.fingerprints().values())
        refused = [(one.label, one.reason) for one in (*self.plan.left_out, *self.plan.failed)]
        return digest([__version__, self.config_digest, of_settings, refused])


def planned_files(sweep: Sweep) -> list[str]:
    """The files that a sweep may write for its settings, tables and recipes, named below its folder."""
    from bmx_grid.sweep.recipes import FOLDER, recipe_name

    stems = [file_stem(*planned.setting.names) for planned in sweep.plan.settings]
    tables = [f"{table}.parquet" for one in sweep.evaluations.values() for table in one.ROWS]
    tables += ["ceilings.parquet", *(["seeds.parquet"] if sweep.plan.repeats else [])]
    explained = dict.fromkeys(one.setting.names[2:] for one in sweep.plan.settings if one.setting.explainer is not None)
    boosts = dict.fromkeys(name for one in sweep.evaluations.values() for name in one.chooses)
    recipes = [f"{FOLDER}/{recipe_name(*names, boost)}.json" for names in explained for boost in boosts]
    files = [f"figures/{stem}.png" for stem in stems]
    files += [*(f"settings/{stem}.{suffix}" for stem in stems for suffix in ("parquet", "png")), *tables]
    return [*files, *recipes]
