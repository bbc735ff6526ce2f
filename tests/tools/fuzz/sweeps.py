"""Folders of a finished sweep, one of whose files was damaged or edited, made from a seed.

    inputs(seed, count, folder)    (what was done, the folder) for each, which may be removed before the next
    answer(path)                   what `analyse` refuses it with; "" where it was analysed

Whatever was done, the answer is an analysis or one sentence.
"""

from __future__ import annotations

import contextlib
import io
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

CHOSEN = (
    *("dataset=[sample]", "dataset.sample.language_pairs=[de-en]", "limit=30", "metric=[chrf,random]"),
    *("explainer=[erasure,lime]", "explainer.lime.num_samples=20", "executor=sequential", "tracking=none"),
    *("evaluation=[grid,levels,significance,boosts,words,tasks,top_systems,difficulty]", "grid.p.step=2"),
    "analysis=false",
)
VALUES = ([1], {"a": 1}, "x", 1, -1.5, None, True, "", 10**30)
STAMPS = ("{", "[]", "null", '{"files": 1}', '{"files": {"../x": [1, 2]}}', "[" * 100_000, '{"files": {}, "said": 1}')
ALSO = ("table", "setting", "sweep")  # what a refusal may name in place of the file


def swept(folder: Path) -> Path:
    """The folder of a small sweep with every table."""
    from bmx_grid.commands.run import compose_and_run

    made = folder / "sweep"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        compose_and_run([*CHOSEN, f"output_dir={made}", f"cache_dir={folder / 'cache'}"])
    return made


def inputs(seed: int, count: int, folder: Path) -> Iterator[tuple[str, Path]]:
    rng = random.Random(seed)
    whole = swept(folder)
    files = sorted((whole / "tables").glob("*.parquet"))
    for number in range(count):
        path = folder / f"sweep{number}"
        shutil.copytree(whole, path)
        if rng.random() < 0.1:
            stamp = rng.choice(STAMPS)
            (path / ".sweep.json").write_text(stamp)
            yield f".sweep.json is {stamp[:40]}", path
            continue
        file = rng.choice(files)
        what, table = _edited(rng, pq.read_table(file))
        pq.write_table(table, path / "tables" / file.name)
        yield f"{file.name}: {what}", path


def answer(path: Path) -> str:
    from bmx_grid.commands.analyse import main

    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        status = main([str(path), "format=json", f"output_dir={path}"])
    if status not in (0, 2):
        raise AssertionError(f"status {status}: {said.getvalue()}")
    return said.getvalue().partition("error: ")[2].strip() if status == 2 else ""


def _edited(rng: random.Random, table: pa.Table) -> tuple[str, pa.Table]:
    name = rng.choice(table.column_names)
    at = table.column_names.index(name)
    kind = rng.randrange(7)
    if kind == 0:
        return f"no column {name}", table.drop_columns([name])
    if kind == 1:
        return "its first columns alone", table.select(table.column_names[: rng.randrange(5)])
    if kind == 2:
        return f"{name} twice", table.append_column(name, table.column(name))
    if kind == 3:
        return "no rows", table.slice(0, 0)
    if kind == 4:
        return f"{name} is empty", table.set_column(at, name, pa.nulls(len(table)))
    if kind == 5 and len(table) and pa.types.is_string(table.schema.field(at).type):
        cells = table.column(at).to_pylist()
        cells[rng.randrange(len(cells))] = "x"
        return f"one cell of {name} is 'x'", table.set_column(at, name, pa.array(cells))
    value = rng.choice(VALUES)
    values = pa.array([str(value) if value == 10**30 else value] * len(table))
    return f"{name} is {value!r}", table.set_column(at, name, values)
