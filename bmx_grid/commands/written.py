"""The tables of a sweep, written below its folder, and how files are listed for the user."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bmx_grid.storage.files import write_text

FIRST = ("report.html", "settings.csv")

if TYPE_CHECKING:
    import pyarrow as pa

    from bmx_grid.commands.planned import Sweep
    from bmx_grid.sweep.evaluated import Outcome
    from bmx_grid.sweep.results import SettingResult


def write_seeds(
    sweep: Sweep, results: Sequence[SettingResult], repeats: Sequence[tuple[int, Outcome]]
) -> dict[str, pa.Table]:
    """Write the gains of all seeds, the sweep's own among them; the table by name, or none. Raises StoreError."""
    from bmx_grid.sweep.complete import complete
    from bmx_grid.sweep.repeats import seeds_table
    from bmx_grid.sweep.results import write_parquet

    grid = sweep.grid
    if grid is None or not repeats:
        return {}
    repeated = {planned.setting.names for settings in sweep.plan.repeats.values() for planned in settings}
    found = {sweep.settings.seed: [result for result in results if result.names in repeated]}
    for seed in sweep.plan.repeats:
        found[seed], _ = complete([outcome for of, outcome in repeats if of == seed], {grid.key: grid})
    made = seeds_table(found, grid)
    write_parquet(made, sweep.settings.output_dir / "seeds.parquet")
    return {"seeds": made}


def write_tables(
    sweep: Sweep, results: Sequence[SettingResult], outcomes: Sequence[Outcome]
) -> tuple[dict[str, pa.Table], list[Path]]:
    """Write the tables of a sweep; these by name, and their files. Raises StoreError."""
    from bmx_grid.sweep.ceilings import ceilings_table
    from bmx_grid.sweep.results import evaluation_tables, settings_table, write_csv, write_parquet
    from bmx_grid.sweep.scores import scores_table

    out = sweep.settings.output_dir
    written: list[Path] = []
    tables: dict[str, pa.Table] = {}
    if results:
        for one in sweep.evaluations.values():
            tables |= evaluation_tables(one, results)
        tables |= {"settings": settings_table(results), "scores": scores_table(results)}
        ceilings = ceilings_table(planned.setting.segments for planned in sweep.plan.settings)
        tables |= {} if ceilings is None else {"ceilings": ceilings}
        for name, table in tables.items():
            write_parquet(table, out / f"{name}.parquet")
            written.append(out / f"{name}.parquet")
        write_csv(tables["settings"], out / "settings.csv")
        written.append(out / "settings.csv")
    details = [f"{outcome.label}\n{outcome.details}" for outcome in outcomes if outcome.details]
    if details:
        write_text(out / "errors.txt", "\n".join(details))
        written.append(out / "errors.txt")
    return tables, written


def write_chosen(sweep: Sweep, results: Sequence[SettingResult]) -> list[Path]:
    """Write a recipe for each boost that an evaluation chose; their files. Raises StoreError."""
    from bmx_grid.sweep.recipes import FOLDER, chosen_boosts, recipes_of, write_recipes

    chosen = chosen_boosts(results)
    settings = [planned.setting for planned in sweep.plan.settings]
    recipes, refused = recipes_of(chosen, settings, seed=sweep.settings.seed, date=today())
    for sentence in refused:
        print(sentence, file=sys.stderr)
    return write_recipes(sweep.settings.output_dir / FOLDER, recipes)


def today() -> str:
    """YYYY-MM-DD."""
    return datetime.date.today().isoformat()


def listed(out: Path, written: Sequence[Path]) -> list[str]:
    """Files and folders of a sweep as they are listed for the user, each once: first what to open first."""
    names = [path.relative_to(out).parts for path in written if path.is_file()]
    found = dict.fromkeys(parts[0] if len(parts) == 1 else f"{parts[0]}/" for parts in names)
    return [*(one for one in FIRST if one in found), *(one for one in found if one not in FIRST)]
