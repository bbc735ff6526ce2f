"""Cached settings are evaluated by the workers where that is worth it, with the same results."""

import pytest

from bmx_grid.sweep import quicker
from bmx_grid.sweep.executors.base import WorkerLost
from bmx_grid.sweep.executors.local import Sequential

FILES = ("grid", "points", "scores", "tests", "settings")
SMALL = (
    "+sweep=quickstart",
    "metric=[sentence_bleu,chrf]",
    "explainer=[erasure]",
    "evaluation=[grid,significance]",
    "evaluation.significance.resamples=40",
    "dataset.sample.language_pairs=[de-en,fr-en]",
    "limit=12",
    "tracking=none",
    "analysis=false",
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
    here = tables("here", "executor=sequential")
    monkeypatch.setattr(quicker, "WORTH_WORKERS", 0.0)
    asked = []
    real = quicker._numbered
    monkeypatch.setattr(quicker, "_numbered", lambda *parts: asked.append(parts[0]) or real(*parts))
    assert tables("worked", "executor=sequential") == here == first
    assert asked == [0, 1, 2, 3, 0, 1], "four settings alone, then what the pairs of each metric say of each other"


def test_a_lost_worker_loses_no_setting(tables, monkeypatch):
    expected = tables("scored", "executor=sequential")
    monkeypatch.setattr(quicker, "WORTH_WORKERS", 0.0)
    ended = Sequential.run

    def lost(self, jobs):
        found = ended(self, jobs)
        yield next(found)
        raise WorkerLost("killed")

    monkeypatch.setattr(Sequential, "run", lost)
    assert tables("lost", "executor=sequential") == expected


def test_real_workers_can_be_asked(tables, monkeypatch):
    expected = tables("scored", "executor=sequential")
    monkeypatch.setattr(quicker, "WORTH_WORKERS", 0.0)
    assert tables("loky", "executor=loky", "executor.n_jobs=2") == expected
