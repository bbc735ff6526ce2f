"""What every option of configs/metric promises. A new YAML file is covered without a line here."""

import pytest
from chat_server import ChatServer

from bmx_grid.attribution.promises import OF_METRICS, short_segments
from bmx_grid.core.configure import build, load_option, options
from bmx_grid.core.errors import UnavailableError
from bmx_grid.core.identity import canonical_json
from bmx_grid.metrics.base import Metric

SEGMENTS = short_segments()


# `imported` reads the user's file and `human` what people said: they score no texts, and have tests of their own.
NAMES = [name for name in options("metric") if name not in ("imported", "human")]
FITTED = ["minilm_difficulty_bertscore"]  # which promise the same once they are fitted


@pytest.fixture(scope="module")
def chat_server():
    with ChatServer().running() as server:
        yield server


@pytest.fixture(scope="module", params=[*NAMES, *(f"{name}, fitted" for name in FITTED)])
def metric(request) -> Metric:
    name, _, fitted = request.param.partition(", ")
    node = {key: 0 if value == "${seed}" else value for key, value in load_option("metric", name).items()}
    if name == "judge":
        server = request.getfixturevalue("chat_server")
        node |= {"model": "m", "base_url": server.url, "prompt": "gemba_da_noref"}
    if name == "likelihood":
        node |= {"model": request.getfixturevalue("tiny_model")("gpt2")}
    built = build(node, Metric, f"metric.{name}")
    if fitted:
        built = built.fit(SEGMENTS)
    try:
        built.check()
    except UnavailableError as error:
        pytest.skip(str(error))
    return built.fit(SEGMENTS)  # some metrics score only what they are fitted to


@pytest.mark.parametrize("promise", OF_METRICS, ids=lambda promise: promise.__name__)
def test_it_keeps_what_metrics_promise(metric, promise):
    reason = promise(metric)
    if reason:
        pytest.skip(reason)


def test_its_identity_is_text(metric):
    assert canonical_json(metric.fit(SEGMENTS).fingerprint())
