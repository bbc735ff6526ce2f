"""Sweeps with their cache in S3, a local server's: the same tables as with a folder, and nothing lost when killed."""

import os
import random
import signal
import time
from pathlib import Path

import pytest
from fakes import composed
from started import Forked

from bmx_grid.api.sweep import run_sweep
from bmx_grid.core.terminal import command

pytestmark = pytest.mark.processes
KILLS = int(os.environ.get("BMX_KILLS", "1"))
CHUNK = 60  # texts in one chunk
ALONE = ("executor=sequential",)
WORKERS = ("executor=loky", "executor.devices=[]", "executor.n_jobs=2")
PROGRAM = f"import sys; sys.path.append({str(Path(__file__).parent)!r}); "
PROGRAM += "from test_object_store_sweep import sweep; sys.exit(sweep(*sys.argv[1:]))"


def sweep(folder: str, cache: str, *executor: str) -> int:
    """The sweep, in this process."""
    chosen = ("+sweep=quickstart", "evaluation=[grid]", "limit=12", "dataset.sample.language_pairs=[de-en,fr-en]",
              "metric=[random]", "explainer=[erasure]", "tracking=none", "analysis=false")  # fmt: skip
    config = composed(
        *chosen, *executor, f"executor.chunk_texts={CHUNK}", f"output_dir={folder}/out", f"cache_dir={cache}"
    )
    config["metric"] = {"hash": {"_target_": "fakes.SleepyMetric", "per_text": 0.001, "log": f"{folder}/log"}}
    return run_sweep(config).n_failed


@pytest.fixture
def s3(monkeypatch):
    """This process and those it starts talk to a server with an empty bucket named `bucket`."""
    moto = pytest.importorskip("moto.server", reason='needs a local S3 server: pip install "moto[s3]" s3fs flask')
    s3fs = pytest.importorskip("s3fs", reason="needs s3fs")
    import boto3

    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "geheim", "AWS_DEFAULT_REGION": "us-east-1"}
    of_tests = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "BMX_ALLOWED_PACKAGES": "fakes"}
    for name, value in {**keys, **of_tests}.items():
        monkeypatch.setenv(name, value)
    boto3.client("s3").create_bucket(Bucket="bucket")
    s3fs.S3FileSystem.clear_instance_cache()  # each was made with the settings of its time
    yield
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.fixture
def begun(s3, forks):
    """begun(folder, cache, *executor): the sweep in a process of its own."""

    def begin(folder: Path, cache: str, *executor: str) -> Forked:
        return Forked(forks, ["-c", PROGRAM, str(folder), cache, *executor], folder)

    return begin


def finished(running: Forked) -> str:
    out, err = running.communicate(timeout=300)
    assert running.returncode == 0, out + err
    return out


def scored(folder: Path) -> int:
    """Texts that the metric was asked for, in all runs into a folder."""
    log = folder / "log"
    return sum(map(int, log.read_text().split())) if log.exists() else 0


def tables(folder: Path) -> dict[str, bytes]:
    by_name = {path.name: path.read_bytes() for path in sorted((folder / "out").rglob("*.parquet"))}
    assert by_name
    return by_name


def test_killed_and_beside_another_sweep_it_loses_nothing_and_computes_hardly_anything_twice(begun, tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()
    assert sweep(str(plain), str(plain / "cache"), *ALONE) == 0
    expected, n_texts = tables(plain), scored(plain)
    draw = random.Random(3)
    for attempt in range(KILLS):
        folder, cache = tmp_path / str(attempt), f"s3://bucket/kills/{attempt}"
        running = begun(folder, cache, *WORKERS)
        until = draw.randrange(0, n_texts // 2)
        while running.poll() is None and scored(folder) <= until:
            time.sleep(0.002)
        assert running.poll() is None, "the sweep ends before it can be killed"
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        both = [begun(folder, cache, *ALONE), begun(tmp_path / "beside", cache, *WORKERS)]
        for running in both:
            finished(running)
        assert tables(folder) == tables(tmp_path / "beside") == expected
        # A killed chunk is scored again: CHUNK texts of each worker, and the rest of its last segment.
        assert scored(folder) <= n_texts + 4 * CHUNK
        assert "2 cached" in finished(begun(tmp_path / "again", cache, *ALONE))
        assert scored(tmp_path / "again") == 0 and tables(tmp_path / "again") == expected


def test_what_cannot_be_used_is_said_before_anything_is_scored(s3, tmp_path, capsys):
    assert command(lambda: sweep(str(tmp_path / "x"), "s3://nobody/x", *ALONE)) == 2
    shown = capsys.readouterr()
    assert "error: cache_dir: cannot use s3://nobody/x: The specified bucket does not exist. Check" in shown.err
    assert "geheim" not in shown.out + shown.err
    assert scored(tmp_path / "x") == 0
