"""Texts that evaluations want scored after the explanations: a sweep that is killed while they are goes on there."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from started import Forked

CHUNK = 60
# What is run in this process, and in one that is killed.
SWEEP = f"""
import bmx_grid as bmx
from fakes import KilledMetric

def swept(folder, evaluation, after=0):
    return bmx.run(
        dataset=["sample"],
        metric=KilledMetric(log=folder + "/log", after=after),
        explainer="erasure",
        evaluation=evaluation,
        executor="sequential",
        output_dir=folder + "/out",
        cache_dir=folder + "/cache",
        tracking="none",
        limit=6,
        settings={{"executor.chunk_texts": {CHUNK}, "dataset.sample.language_pairs": ["de-en", "fr-en"]}},
        quiet=True,
    )
"""


def scored(folder: Path) -> int:
    """How many texts were scored so far."""
    return sum(map(int, (folder / "log").read_text().split()))


@pytest.fixture
def swept(tmp_path):
    names = {}
    exec(SWEEP, names)

    def run(name, evaluation):
        (tmp_path / name).mkdir(exist_ok=True)
        return names["swept"](str(tmp_path / name), evaluation)

    return run


@pytest.mark.processes
def test_killed_while_further_texts_are_scored_it_goes_on_with_the_rest(swept, forks, tmp_path):
    swept("explained", ["grid"])
    n_explained = scored(tmp_path / "explained")
    whole = swept("whole", ["grid", "faithfulness"])
    n_all = scored(tmp_path / "whole")
    n_further = n_all - n_explained
    assert n_further > 4 * CHUNK, "there is no second phase to be killed in"
    killed = tmp_path / "killed"
    killed.mkdir()
    after = n_explained + n_further // 2
    program = f"{SWEEP}\nswept({str(killed)!r}, ['grid', 'faithfulness'], {after})"
    running = Forked(forks, ["-c", program], killed)
    _, err = running.communicate()
    assert running.wait() == -signal.SIGKILL, err
    n_before = scored(killed)
    assert after <= n_before < n_all
    resumed = swept("killed", ["grid", "faithfulness"])
    # What was not saved yet, a chunk at most, is scored again; nothing of the first phase is.
    n_after = scored(killed) - n_before
    assert 0 < n_after <= n_all - n_before + CHUNK
    assert n_after < n_further
    for table in ("faithfulness", "faithfulness_curves", "grid", "scores"):
        assert resumed.table(table).equals(whole.table(table)) and len(whole.table(table)) > 0
