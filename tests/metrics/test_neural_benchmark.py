"""The benchmark of neural metrics runs as it would on a GPU, on a tiny network; what it cannot do it says."""

import json
import sys

import pytest
from fakes import ROOT
from scripts import script


@pytest.fixture
def benchmark(monkeypatch, capsys):
    """benchmark(arguments…) -> status, standard output and standard error of the script, which runs in this process."""

    def run(*arguments: str) -> tuple[int, str, str]:
        path = ROOT / "benchmarks" / "neural.py"
        monkeypatch.setattr(sys, "argv", [str(path), *arguments])
        monkeypatch.syspath_prepend(path.parent)
        for library in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # what is not set, `harness` sets for good
            monkeypatch.setenv(library, "1")
        with script(path) as module:
            try:
                status = module.main()
            except SystemExit as ended:
                status = ended.code
        said = capsys.readouterr()
        if isinstance(status, str):
            return 1, said.out, said.err + status + "\n"
        return status, said.out, said.err

    return run


def test_lime_with_xbertscore_is_measured_by_segments_matrix_rate_and_ratio(benchmark, tmp_path):
    pytest.importorskip("bert_score", reason="compares with the library bert-score")
    file = tmp_path / "found.json"
    (tmp_path / "pairs.tsv").write_text("Die Katze saß .\tThe cat sat .\n")
    tiny = ("--models", "xlmr", "--shape", "tiny", "--explainers", "lime", "--rounds", "1")
    status, out, err = benchmark(*tiny, "--pairs", str(tmp_path / "pairs.tsv"), "--json", str(file))
    assert status == 0, out + err
    (row,) = json.loads(file.read_text())["rows"]
    assert row["label"] == "tiny xlm-r xbertscore lime"
    assert row["segments_per_second"] > 0 and row["matrix_gflops"] > 0 and 0 < row["share_of_matrix_rate"] < 1
    assert row["value"] > 0 and row["tokens"] >= 1 and row["floor"] is None  # the floor holds on a GPU
    assert "segments/s" in out and "GFLOP/s" in out
