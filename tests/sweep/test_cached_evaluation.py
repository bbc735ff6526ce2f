"""Cached settings are evaluated by the workers where that is worth it, with the same results."""

import pytest

from bmx_grid.sweep import judge
from bmx_grid.sweep.executors.base import WorkerLost
from bmx_grid.sweep.executors.local import Sequential

FILES = ("grid", "points", "scores", "tests", "settings")
SMALL = (
    *("+sweep=quickstart", "metric=[sentence_bleu,chrf]", "explainer=[erasure]", "evaluation=[grid,significance]"),
    *("evaluation.significance.resamples=40", "dataset.sample.language_pairs=[de-en,fr-en]", "limit=12"),
    *("tracking=none", "analysis=false"),
)


@pytest.fixture
def tables(sweep, tmp_path):
    """The tables of the small sweep, written to the folder `out`."""

    def go(out: str, *overrides: str) -> dict[str, bytes]:
        assert sweep(*overrides, out=out) == 0
        return {name: (tmp_path / out / "tables" / f"{name}.parquet").read_bytes() for name in FILES}

    return go


def test_workers_find_what_this_process_finds(tables, monkeypatch):
    first = tables("scored", "executor=sequential")
    assert tables("here", "executor=sequential") == first
    monkeypatch.setattr(judge, "WORTH_WORKERS", 0.0)
    assert tables("worked", "executor=loky", "executor.n_jobs=2") == first


def test_a_lost_worker_loses_no_setting(tables, monkeypatch):
    expected = tables("scored", "executor=sequential")
    monkeypatch.setattr(judge, "WORTH_WORKERS", 0.0)
    ended, lost_after = Sequential.run, []

    def lost(self, jobs):
        lost_after.append(next(ended(self, jobs)))
        yield lost_after[-1]
        raise WorkerLost("killed")

    monkeypatch.setattr(Sequential, "run", lost)
    assert tables("lost", "executor=sequential") == expected
    assert len(lost_after) >= 2, "both the settings alone, and what they say of each other, were sent to workers"
