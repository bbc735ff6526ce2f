"""The time left of a sweep on a clock of its own: fast and slow metrics in both orders, one worker and several."""

import heapq
import itertools

import pytest

from bmx_grid.core.terminal import Progress, interval
from bmx_grid.sweep.time_left import ScoredTexts, TimeLeft

SECONDS = {"slow": 1.0, "fast": 0.002}  # of a text
LOADING = {"slow": 40.0, "fast": 0.5}  # seconds, once in each worker
TEXTS = {"slow": 600, "fast": 60_000}
CHUNK = {"slow": 50, "fast": 5_000}  # texts
SHORT = 5.0  # seconds that no estimate needs to be right about


def run(order, n_workers=1, evaluating=0.0):
    """(seconds to the end, TimeLeft) as chunks end, on workers that take them in this order of metrics.

    evaluating: seconds after each chunk, in which nothing is scored, as of a sweep in one process.
    """
    now = [0.0]
    left = TimeLeft(TEXTS, lambda: now[0])
    chunks = [metric for metric in order for _ in range(TEXTS[metric] // CHUNK[metric])]
    workers = [(0.0, number) for number in range(n_workers)]
    loaded = set()
    ends = []
    for metric in chunks:
        start, worker = heapq.heappop(workers)
        loading = 0.0 if (metric, worker) in loaded else LOADING[metric]
        loaded.add((metric, worker))
        seconds = SECONDS[metric] * CHUNK[metric]
        end = start + loading + seconds
        ends.append((end, ScoredTexts(metric, CHUNK[metric], seconds, loading, str(worker))))
        heapq.heappush(workers, (end + evaluating, worker))
    whole = max(end for end, _ in ends)
    ends.sort(key=lambda pair: pair[0])
    for end, same in itertools.groupby(ends, key=lambda pair: round(pair[0], 6)):
        now[0] = end
        for _, done in same:
            left.record_scored(done)
        yield whole - end, left


@pytest.mark.parametrize("order", [*itertools.permutations(TEXTS)], ids=" then ".join)
@pytest.mark.parametrize(("n_workers", "evaluating"), [(1, 0.0), (1, 2.0), (4, 0.0)])
def test_the_time_left_is_right_within_a_factor_of_two(order, n_workers, evaluating):
    n_timed = 0
    for truth, left in run(order, n_workers, evaluating):
        if left.untimed_metrics:
            continue
        n_timed += 1
        assert truth / 2 - SHORT <= left.seconds() <= 2 * truth + SHORT, (truth, left.describe())
    assert n_timed > 2


@pytest.mark.parametrize("order", [*itertools.permutations(TEXTS)], ids=" then ".join)
def test_a_metric_that_was_not_timed_is_named(order):
    first, second = order
    said = [left.describe() for _, left in run(order)]
    n_first = TEXTS[first] // CHUNK[first]  # one worker: nothing ends together
    assert all(line.endswith(f"{second} untimed") for line in said[:n_first])
    assert not any("untimed" in line for line in said[n_first:])
    assert said[0].startswith("over "), "what is known is said"
    assert said[-1] == "00:00 left"


def test_several_metrics_are_counted_and_a_long_name_is_cut():
    left = TimeLeft({"fast": 20, "a": 1, "b": 1}, lambda: 10.0)
    left.record_scored(ScoredTexts("fast", 10, 10.0))
    assert left.describe() == "over 00:10 left, 2 metrics untimed"
    assert TimeLeft({"a_metric_of_a_very_long_name": 1}).describe() == "a_metric_of_a… untimed"


def test_what_the_cache_has_costs_nothing():
    left = TimeLeft({"slow": 0, "fast": 1_000}, lambda: 10.0)
    left.record_scored(ScoredTexts("fast", 500, 10.0))
    assert left.untimed_metrics == [] and left.describe() == "00:10 left"


def test_what_is_dropped_takes_no_time():
    left = TimeLeft({"slow": 100, "fast": 1_000}, lambda: 10.0)
    left.record_scored(ScoredTexts("fast", 500, 10.0))
    left.record_dropped("slow", 100)
    left.record_dropped("fast", 250)
    assert left.describe() == "00:05 left"


def test_a_line_of_progress_ends_with_it(monkeypatch, capsys):
    from bmx_grid.core import terminal

    now = [0.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    left = TimeLeft({"{slow}": 100, "fast": 1_000}, lambda: now[0])
    with Progress(1_100, time_left=left.describe) as progress:
        for seconds, metric, n_texts in ((40.0, "fast", 500), (30.0, "{slow}", 50)):
            now[0] += seconds
            left.record_scored(ScoredTexts(metric, n_texts, seconds))
            progress.advance(n_texts)
    assert capsys.readouterr().err.splitlines() == [
        "scoring: 500 of 1.10k texts (45%), over 00:40 left, {slow} untimed",
        "scoring: 550 of 1.10k texts (50%), 01:10 left",
    ]


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "00:00"), (170, "02:50"), (9970.4, "2:46:10")])
def test_times_are_written_as_on_a_clock(seconds, text):
    assert interval(seconds) == text
