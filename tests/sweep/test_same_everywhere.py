"""The API in one process, and the command line on a Dask cluster, give the same tables and cache, bit for bit.

Loky's are in test_sweep.py, SLURM's in test_slurm.py.
"""

import json
import os
import subprocess
import sys

import pytest
from clusters import tables
from fakes import ROOT

import bmx_grid as bmx

pytestmark = pytest.mark.processes
SMALL = {
    **{"dataset.sample.language_pairs": ["de-en"], "limit": 8, "metric": ["chrf", "sentence_bleu"]},
    **{"explainer": ["erasure", "random"], "grid.p.step": 10, "analysis": False, "tracking": "none"},
    **{"executor.chunk_texts": 60},
}


def told(folder, **keys: object) -> list[str]:
    places = {"output_dir": folder / "out", "cache_dir": folder / "cache"}
    return [f"{key}={json.dumps(value, default=str)}" for key, value in {**SMALL, **places, **keys}.items()]


def written(folder) -> dict[str, object]:
    """The tables, and the bytes of every file of the cache."""
    cache = folder / "cache"
    kept = {str(path.relative_to(cache)): path.read_bytes() for path in sorted(cache.rglob("*.parquet"))}
    assert kept
    return {**tables(folder), **kept}


@pytest.fixture(scope="module")
def from_api(tmp_path_factory):
    """What bmx_grid.run writes with executor=sequential, in this process."""
    folder = tmp_path_factory.mktemp("api")
    dotted = {key: value for key, value in SMALL.items() if "." in key}
    plain = {key: value for key, value in SMALL.items() if "." not in key}
    places = {"output_dir": folder / "out", "cache_dir": folder / "cache", "executor": "sequential"}
    assert bmx.run(settings=dotted, quiet=True, **plain, **places).n_failed == 0
    found = written(folder)
    assert {f"tables/{name}.parquet" for name in ("grid", "scores", "correlations", "tests")} <= set(found)
    return found


def test_the_command_line_writes_on_a_dask_cluster_the_tables_and_the_cache_of_the_api(tmp_path, from_api):
    distributed = pytest.importorskip("distributed", reason='pip install "bmx-grid[dask]"')
    own = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        address = {"executor.address": cluster.scheduler_address}
        command = [sys.executable, "-m", "bmx_grid", *told(tmp_path, executor="dask", **address)]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **own}, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = written(tmp_path)
    assert set(found) == set(from_api)
    assert [name for name in found if found[name] != from_api[name]] == []
