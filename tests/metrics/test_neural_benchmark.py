"""The benchmark of neural metrics runs as it would on a GPU, on a tiny network; what it cannot do it says."""

import json
import os
import subprocess
import sys

import pytest
from fakes import ROOT


def benchmark(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks" / "neural.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


def test_lime_with_xbertscore_is_measured_by_segments_matrix_rate_and_ratio(tmp_path):
    pytest.importorskip("bert_score", reason="compares with the library bert-score")
    file = tmp_path / "found.json"
    (tmp_path / "pairs.tsv").write_text("Die Katze saß .\tThe cat sat .\n")
    tiny = ("--models", "xlmr", "--shape", "tiny", "--explainers", "lime", "--rounds", "1")
    done = benchmark(*tiny, "--pairs", str(tmp_path / "pairs.tsv"), "--json", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = json.loads(file.read_text())["rows"]
    assert row["label"] == "tiny xlm-r xbertscore lime"
    assert row["segments_per_second"] > 0 and row["matrix_gflops"] > 0 and 0 < row["share_of_matrix_rate"] < 1
    assert row["value"] > 0 and row["tokens"] >= 1 and row["floor"] is None  # the floor holds on a GPU
    assert "segments/s" in done.stdout and "GFLOP/s" in done.stdout


WRONG = {
    "no segment": (("--segments", "0"), "--segments 0: give 1 or more"),
    "a model that is not there": (("--models", "xlm"), "invalid choice: 'xlm'"),
    "a device that is not there": (("--device", "tpu"), "invalid choice: 'tpu'"),
    "a file that is not there": (
        ("--models", "xlmr", "--shape", "tiny", "--pairs", "no.tsv"),
        "--pairs no.tsv: cannot",
    ),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG.values(), ids=WRONG.keys())
def test_arguments_that_cannot_be_are_refused_in_a_line(arguments, said):
    done = benchmark(*arguments)
    assert done.returncode != 0 and said in done.stderr.splitlines()[-1], done.stderr


def test_without_a_gpu_it_says_so():
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    done = benchmark("--models", "xlmr", "--device", "cuda")
    assert (done.returncode, done.stderr) == (
        1,
        "--device cuda: PyTorch sees no CUDA device here; leave it out to run on the processor\n",
    )
