"""COMET in an environment of its own: explained and boosted, with the scores of its own `predict`.

`make test-comet` makes the environment. Elsewhere BMX_COMET_PYTHON names the Python of one.
"""

from __future__ import annotations

import json
import os
import subprocess

import numpy as np
import pytest
from fakes import ROOT

import bmx_grid as bmx
from bmx_grid.attribution.promises import OF_METRICS, short_items
from bmx_grid.guests.command.metric import CommandMetric

PYTHON = os.environ.get("BMX_COMET_PYTHON")
pytestmark = pytest.mark.skipif(not PYTHON, reason="`make test-comet` makes an environment with COMET")
TEXTS = ("source", "reference", "hypothesis")
PREDICT = """
import json, sys, comet
model = comet.load_from_checkpoint(sys.argv[1])
rows = json.load(sys.stdin)
scores = model.predict(rows, batch_size=4, gpus=0, progress_bar=False, num_workers=0).scores
print("\\n" + json.dumps(scores))
"""


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("comet")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    maker = [PYTHON, str(ROOT / "tests" / "tiny_comet.py"), str(folder)]
    subprocess.run(maker, env=environment, check=True, capture_output=True)
    return str(folder / "checkpoints" / "model.ckpt")


@pytest.fixture(scope="module")
def metric(checkpoint) -> CommandMetric:
    command = (PYTHON, "package:bmx_grid/adapters/comet.py", "--model", checkpoint)
    return CommandMetric(command=command, texts=TEXTS, batch_size=4)


def test_its_scores_are_those_of_the_library(metric, checkpoint):
    items = [item for item in short_items(TEXTS) if item.hypothesis]
    rows = [{"src": item.source, "mt": item.hypothesis, "ref": item.reference} for item in items]
    said = subprocess.run(
        [PYTHON, "-c", PREDICT, checkpoint], input=json.dumps(rows), capture_output=True, text=True, check=True
    )
    expected = json.loads(said.stdout.splitlines()[-1])
    # float32, of texts that stand in other batches
    np.testing.assert_allclose(metric.score(items), expected, atol=1e-5)


@pytest.mark.parametrize("promise", OF_METRICS, ids=lambda promise: promise.__name__)
def test_it_keeps_what_metrics_promise(promise, metric):
    promise(metric)


def test_a_sweep_explains_and_boosts_it(metric, tmp_path):
    run = bmx.run(
        dataset=["sample"],
        metric=metric,
        explainer="lime",
        evaluation=["grid"],
        output_dir=tmp_path / "out",
        cache_dir=str(tmp_path / "cache"),
        tracking="none",
        limit=4,
        settings={"grid.p.step": 10, "explainer.lime.num_samples": 20, "executor.n_jobs": 1},
        quiet=True,
    )
    assert run.n_failed == 0
    assert run.grid["correlation"].notna().all()
    assert set(run.grid["metric"]) == {"comet"}
