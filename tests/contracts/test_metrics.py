"""What every option of configs/metric promises. A new YAML file is covered without a line here."""

import numpy as np
import pytest
from chat_server import ChatServer
from pairs import items_for, pairs_of, request_of, score

from bmx_grid.core.configure import build, load_option, options
from bmx_grid.core.errors import UnavailableError
from bmx_grid.core.identity import canonical_json
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.metrics.base import Metric
from bmx_grid.words.perturbation import ROLES, Plan

PAIRS = [
    ("The cat sat on the mat .", "A cat sat on the mat ."),
    ("He paid 3.5 euros , not 5,3 .", "He payed 3,5 euros."),
    ("one", "one"),
    ("one", "two"),
    ("", "words against an empty ground truth"),
    ("words against an empty hypothesis", ""),
    ("", ""),
    ("Größe \N{ZERO WIDTH SPACE} 漢字 \N{GRINNING FACE}", "Grösse 漢字"),
    ("two  spaces", "two  spaces here"),
    ("&quot; a &amp; b &apos;", "\" a & b '"),
    (" ".join(f"w{number}" for number in range(120)), " ".join(f"w{number}" for number in range(60, 180))),
]

SEGMENTS = SegmentSet(
    "toy",
    "de-en",
    tuple(
        Segment(str(row), output, source=truth, reference=truth, system=system)
        for system, side in (("A", 1), ("B", 0))  # B gives each pair the ground truth of the pair after it
        for row, (truth, _) in enumerate(PAIRS)
        for output in [PAIRS[(row + 1 - side) % len(PAIRS)][side]]
    ),
    Judgements({"da": np.zeros(2 * len(PAIRS))}),
)


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
        built = built.fitted(SEGMENTS)
    try:
        built.check()
    except UnavailableError as error:
        pytest.skip(str(error))
    return built.fitted(SEGMENTS)  # some metrics score only what they are fitted to


@pytest.fixture(scope="module")
def scores(metric):
    """Of all pairs at once; only read."""
    return score(metric, PAIRS)


def test_scores_are_finite_float64_one_a_pair(metric, scores):
    assert scores.dtype == np.float64
    assert scores.shape == (len(PAIRS),)
    assert np.isfinite(scores).all()
    assert score(metric, []).shape == (0,)


def test_a_pair_scores_the_same_alone_and_in_any_batch(metric, scores):
    alone = np.concatenate([score(metric, [pair]) for pair in PAIRS])
    assert scores.tolist() == pytest.approx(alone.tolist(), abs=0 if metric.score_masked([]) is not None else 1e-5)


def test_masked_scores_equal_scores_of_the_written_text_bit_for_bit(metric):
    rng = np.random.Generator(np.random.PCG64(1))
    requests = []
    for truth, hypothesis in PAIRS:
        for side, text, other in (("ground_truth", truth, hypothesis), ("hypothesis", hypothesis, truth)):
            words = tuple(text.split(" ")) if text else ()
            for replacement in ("UNKWORDZ", "", None):
                plan = Plan(words, keep=rng.random((7, len(words))) < 0.6, replacement=replacement)
                requests.append(request_of(plan, side, other))
    masked = metric.score_masked(requests)
    if masked is None:
        pytest.skip("no score_masked: the engine writes the texts")
    for request, scores in zip(requests, masked, strict=True):
        assert scores.tobytes() == score(metric, pairs_of(request)).tobytes(), request


def test_it_says_what_it_reads_and_signs_its_scores(metric):
    assert metric.reads and set(metric.reads) <= set(ROLES)
    assert list(metric.reads) == [role for role in ROLES if role in metric.reads]
    assert metric.cost in ("light", "model")
    assert metric.signature
    assert "\n" not in metric.signature


def test_statistics_of_its_own_make_each_score_and_sum_to_those_of_a_system(metric):
    if not metric.has_statistics:
        pytest.skip("the score of a system is the mean of its segments")
    items = items_for(metric, PAIRS)
    statistics = metric.statistics(items)
    assert (len(statistics), statistics.dtype) == (len(items), np.float64)
    assert metric.combine(statistics).tolist() == metric.score(items).tolist()
    resamples = np.array([[1.0] * len(items), [2.0, *[1.0] * (len(items) - 1)], [0.0, *[1.0] * (len(items) - 1)]])
    systems = metric.combine(resamples @ statistics)
    assert systems.shape == (3,) and np.isfinite(systems).all()
    for system, weights in zip(systems, resamples.astype(int), strict=True):
        drawn = [item for item, times in zip(items, weights, strict=True) for _ in range(times)]
        assert system == pytest.approx(metric.combine(metric.statistics(drawn).sum(axis=0)), abs=1e-6)


def test_a_metric_that_is_fitted_is_a_metric_of_the_same_kind(metric):
    fitted = metric.fitted(SEGMENTS)
    assert fitted.reads == metric.reads
    assert canonical_json(fitted.fingerprint())
    assert fitted == metric or fitted.fingerprint() != metric.fingerprint()
