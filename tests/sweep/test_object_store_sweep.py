"""Sweeps with their cache in S3, a local server's: the same tables as with a folder, and nothing lost when killed."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fakes import ROOT

KILLS = int(os.environ.get("BMX_KILLS", "1"))
CHUNK = 60  # texts in one chunk
PROGRAM = f"""
import sys
from fakes import composed
from bmx_grid.commands.sweep import run
from bmx_grid.terminal import command

folder, cache, workers = sys.argv[1:]
chosen = ("+sweep=quickstart", "evaluation=[grid]", "limit=12", "dataset.sample.language_pairs=[de-en,fr-en]",
          "metric=[random]", "explainer=[erasure]", "tracking=none", "analysis=false",
          "executor.chunk_texts={CHUNK}", "executor.devices=[]", "executor.n_jobs=" + workers)
config = composed(*chosen, "output_dir=" + folder + "/out", "cache_dir=" + cache)
config["metric"] = {{"hash": {{"_target_": "fakes.SleepyMetric", "per_text": 0.001, "log": folder + "/log"}}}}
sys.exit(command(lambda: run(config), 'Interrupted.'))
"""


@pytest.fixture(scope="module")
def s3():
    """The environment of a process that talks to a server with an empty bucket named `bucket`."""
    moto = pytest.importorskip(
        "moto.server", reason='needs a local S3 server: pip install "moto[s3]" s3fs flask flask-cors'
    )
    pytest.importorskip("s3fs", reason="needs s3fs")
    import boto3

    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    own = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "geheim", "AWS_DEFAULT_REGION": "us-east-1"}
    address = f"http://{host}:{port}"
    boto3.client(
        "s3", endpoint_url=address, aws_access_key_id="key", aws_secret_access_key="geheim", region_name="us-east-1"
    ).create_bucket(Bucket="bucket")
    yield {**os.environ, **own, "AWS_ENDPOINT_URL": address, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    server.stop()


def start(folder: Path, cache: str, environment: dict[str, str], workers: int = 1) -> subprocess.Popen:
    folder.mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), cache, str(workers)],
        env={**environment, "BMX_ALLOWED_PACKAGES": "fakes"}, cwd=ROOT, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def finished(running: subprocess.Popen) -> str:
    said, _ = running.communicate(timeout=300)
    assert running.returncode == 0, said
    return said


def scored(folder: Path) -> int:
    """Texts that the metric was asked for, in all runs into a folder."""
    log = folder / "log"
    return sum(map(int, log.read_text().split())) if log.exists() else 0


def tables(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "out").glob("*.parquet"))}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The same sweep with its cache in a folder."""
    folder = tmp_path_factory.mktemp("plain")
    finished(start(folder, str(folder / "cache"), {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}))
    return folder


def test_killed_at_random_moments_it_goes_on_and_computes_hardly_anything_twice(s3, plain, tmp_path):
    expected, whole = tables(plain), scored(plain)
    draw, kills = random.Random(3), 0
    for attempt in range(20 * KILLS):
        folder, cache, own = tmp_path / str(attempt), f"s3://bucket/kills/{attempt}", 0
        while own < 4 and kills < KILLS:  # one cache is killed several times
            before = scored(folder)
            until = before + draw.randrange(0, max(whole - before, 1))
            running = start(folder, cache, s3)
            while running.poll() is None and scored(folder) <= until:
                time.sleep(0.002)
            time.sleep(draw.uniform(0, 0.1))
            ended = running.poll() is not None
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
            if ended:
                break
            kills, own = kills + 1, own + 1
            print(f"killed after {scored(folder)} of {whole} texts", flush=True)
        finished(start(folder, cache, s3))
        assert tables(folder) == expected
        # A killed chunk is scored again: CHUNK texts, and the rest of its last segment.
        assert scored(folder) <= whole + own * 2 * CHUNK
        if kills >= KILLS:
            return
    pytest.fail("the sweep ends before it can be killed")


def test_two_sweeps_at_once_share_a_cache_and_lose_nothing(s3, plain, tmp_path):
    both = [start(tmp_path / str(one), "s3://bucket/shared", s3, workers=2) for one in range(2)]
    for running in both:
        finished(running)
    for one in range(2):
        assert tables(tmp_path / str(one)) == tables(plain)
    again = finished(start(tmp_path / "again", "s3://bucket/shared", s3))
    assert scored(tmp_path / "again") == 0 and "2 cached" in again
    assert tables(tmp_path / "again") == tables(plain)


@pytest.mark.parametrize(
    ("cache", "changed", "said"),
    [
        pytest.param("s3://nobody/x", {}, "The specified bucket does not exist. Check the address", id="no bucket"),
        pytest.param("s3://bucket/x", {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": ""},
                     "Unable to locate credentials. Check the address", id="no credentials"),
        pytest.param("s3://bucket/x", {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "Could not connect to the endpoint",
                     id="refused"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_said_before_anything_is_scored(cache, changed, said, s3, tmp_path):
    environment = {**s3, "AWS_EC2_METADATA_DISABLED": "true", "HOME": str(tmp_path), **changed}
    environment = {key: value for key, value in environment.items() if value}
    out, _ = start(tmp_path / "x", cache, environment).communicate(timeout=120)
    assert f"error: cache_dir: {cache} cannot be used: {said}" in out and "geheim" not in out
    assert scored(tmp_path / "x") == 0
