"""Sweeps with their cache in S3, a local server's: the same tables as with a folder, and nothing lost when killed."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from clusters import PATHS
from fakes import ROOT

from bmx_grid.core.terminal import command

pytestmark = pytest.mark.processes
KILLS = int(os.environ.get("BMX_KILLS", "1"))
CHUNK = 60  # texts in one chunk
HERE = Path(__file__).parent  # where the program below finds this module
ALONE = ("executor=sequential",)
WORKERS = ("executor=loky", "executor.devices=[]")
PROGRAM = """
import sys
from test_object_store_sweep import sweep
from bmx_grid.core.terminal import command

sys.exit(command(lambda: sweep(*sys.argv[1:]), 'Interrupted.'))
"""


def sweep(folder: str, cache: str, *executor: str) -> int:
    """The sweep, in this process."""
    from fakes import composed

    from bmx_grid.commands.sweep import run

    chosen = ("+sweep=quickstart", "evaluation=[grid]", "limit=12", "dataset.sample.language_pairs=[de-en,fr-en]",
              "metric=[random]", "explainer=[erasure]", "tracking=none", "analysis=false")  # fmt: skip
    config = composed(
        *chosen, *executor, f"executor.chunk_texts={CHUNK}", f"output_dir={folder}/out", f"cache_dir={cache}"
    )
    config["metric"] = {"hash": {"_target_": "fakes.SleepyMetric", "per_text": 0.001, "log": f"{folder}/log"}}
    return run(config)


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
    yield {**own, "AWS_ENDPOINT_URL": address}
    server.stop()


def start(folder: Path, cache: str, environment: dict[str, str], *executor: str) -> subprocess.Popen:
    folder.mkdir(parents=True, exist_ok=True)
    own = {**os.environ, **environment, "BMX_ALLOWED_PACKAGES": "fakes", "PYTHONPATH": f"{PATHS}{os.pathsep}{HERE}"}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), cache, *(executor or ALONE)], env=own, cwd=ROOT,
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
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


@pytest.fixture(autouse=True)
def _fakes(monkeypatch):
    monkeypatch.setenv("BMX_ALLOWED_PACKAGES", "fakes")


@pytest.fixture
def here(s3, monkeypatch):
    """here(name=value, …): this process talks to the server, with these settings in place of its own."""
    from s3fs import S3FileSystem

    def settings(**changed: str) -> None:
        for name, value in {**s3, **changed}.items():
            monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name, raising=False)

    S3FileSystem.clear_instance_cache()  # each was made with the settings of its time
    yield settings
    S3FileSystem.clear_instance_cache()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The same sweep with its cache in a folder."""
    folder = tmp_path_factory.mktemp("plain")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BMX_ALLOWED_PACKAGES", "fakes")
        assert sweep(str(folder), str(folder / "cache"), *ALONE) == 0
    return folder


def test_killed_at_random_moments_it_goes_on_and_computes_hardly_anything_twice(s3, plain, tmp_path):
    expected, whole = tables(plain), scored(plain)
    draw, kills = random.Random(3), 0
    for attempt in range(20 * KILLS):
        folder, cache, own = tmp_path / str(attempt), f"s3://bucket/kills/{attempt}", 0
        while own < 4 and kills < KILLS:  # one cache is killed several times
            before = scored(folder)
            until = before + draw.randrange(0, max(whole - before, 1))
            running = start(folder, cache, s3, *WORKERS, "executor.n_jobs=1")
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


def test_two_sweeps_at_once_share_a_cache_and_lose_nothing(s3, here, plain, tmp_path, capsys):
    ways = ALONE, (*WORKERS, "executor.n_jobs=2")
    both = [start(tmp_path / str(one), "s3://bucket/shared", s3, *way) for one, way in enumerate(ways)]
    for running in both:
        finished(running)
    for one in range(2):
        assert tables(tmp_path / str(one)) == tables(plain)
    here()
    (tmp_path / "again").mkdir()
    assert sweep(str(tmp_path / "again"), "s3://bucket/shared", *ALONE) == 0
    assert scored(tmp_path / "again") == 0 and "2 cached" in capsys.readouterr().out
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
def test_what_cannot_be_used_is_said_before_anything_is_scored(cache, changed, said, here, tmp_path, capsys):
    here(AWS_EC2_METADATA_DISABLED="true", HOME=str(tmp_path), **changed)
    assert command(lambda: sweep(str(tmp_path / "x"), cache, *ALONE)) == 2
    shown = capsys.readouterr()
    assert f"error: cache_dir: {cache} cannot be used: {said}" in shown.err
    assert "geheim" not in shown.out + shown.err
    assert scored(tmp_path / "x") == 0
