"""Metrics in an environment of their own: the same scores as in this process, whatever becomes of the program."""

from __future__ import annotations

import dataclasses
import threading
import venv
from pathlib import Path

import pytest
from pairs import rated
from started import wait_for

import bmx_grid as bmx
from bmx_grid.api.compose import compose_config
from bmx_grid.attribution.promises import OF_METRICS, short_items
from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import ComponentError, ConfigError, UnavailableError
from bmx_grid.guests.command import program
from bmx_grid.guests.command.metric import CommandMetric
from bmx_grid.metrics.base import Metric
from bmx_grid.words.perturbation import Item

READS = ("reference", "hypothesis")
ITEMS = short_items(READS)
SAYS = '{"name": "overlap", "version": "1", "model": "words"}'
# The share of words in common, as a program of twenty lines; STARTS is a file with a line for each start.
OVERLAP = """
import json, os, sys
with open(os.environ["STARTS"], "a") as file:
    file.write("started\\n")
print('{"name": "overlap", "version": "1", "model": "words"}', flush=True)
for line in sys.stdin:
    if not line.strip():
        sys.stdout.flush()
        continue
    texts = json.loads(line)
    one = set(texts["references"][0].split())
    other = set(texts["hypothesis"].split())
    print(len(one & other) / max(1, len(one | other)))
"""


def overlap(item: Item) -> float:
    one = set(item.text("reference").split())
    other = set(item.text("hypothesis").split())
    return len(one & other) / max(1, len(one | other))


@pytest.fixture(scope="session")
def other_python(tmp_path_factory) -> str:
    """The Python of an environment without a package."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    return str(folder / "bin" / "python")


@pytest.fixture
def written(tmp_path, other_python, monkeypatch):
    """A metric of a program with this code."""
    monkeypatch.setenv("STARTS", str(tmp_path / "starts"))
    (tmp_path / "starts").touch()
    monkeypatch.setattr(program, "STOP_SECONDS", 60.0)

    def write(code: str, **settings) -> CommandMetric:
        file = tmp_path / "metric.py"
        file.write_text(code)
        return CommandMetric(command=(other_python, str(file)), texts=READS, **settings)

    yield write
    program._stop_all()


def starts(tmp_path: Path) -> int:
    return len((tmp_path / "starts").read_text().splitlines())


def test_its_scores_are_those_of_the_program(written, tmp_path):
    metric = written(OVERLAP, batch_size=3)
    expected = [overlap(item) for item in ITEMS]
    assert metric.score(ITEMS).tolist() == expected
    assert metric.score(ITEMS[::-1]).tolist() == expected[::-1]
    assert metric.score([]).tolist() == []
    assert starts(tmp_path) == 1


@pytest.mark.parametrize("promise", OF_METRICS, ids=lambda promise: promise.__name__)
def test_it_keeps_what_metrics_promise(promise, written):
    promise(written(OVERLAP))


def test_it_is_what_its_program_says(written):
    metric = written(OVERLAP)
    assert list(metric.expand("command", [])) == ["overlap"]
    assert list(written(OVERLAP, name="mine").expand("command", [])) == ["mine"]
    said = program.describe_program(program.read_declaration(metric._full_command, 60))
    assert said == "overlap|version:1|model:words"


def test_references_are_the_first_or_all(written):
    item = Item(reference="a", hypothesis="b c", further_references=("b c",))
    best = OVERLAP.replace('texts["references"][0].split()', 'texts["references"][-1].split()')
    assert written(best).score([item]).tolist() == [0.0]
    assert written(best, references="all").score([item]).tolist() == [1.0]


@pytest.mark.parametrize("left", [1, 4])
def test_a_program_that_ends_is_started_again_with_the_texts_that_are_left(left, written, tmp_path):
    """It ends after every few texts, as one does whose memory leaks; scores are those of one that does not."""
    ending = OVERLAP.replace("for line", f"left = {left}\nfor line")
    ending += "    sys.stdout.flush()\n    left -= 1\n    if left == 0:\n        os._exit(9)\n"
    assert written(ending, batch_size=3).score(ITEMS).tolist() == [overlap(item) for item in ITEMS]
    assert starts(tmp_path) == -(-len(ITEMS) // left)


BROKEN = {
    "no such program": (None, "not found, or not executable"),
    "no line": ("import sys\nsys.exit('a library is missing')", "ended with status 1.*a library is missing.*before it"),
    "no JSON": ("print('hello')\ninput()", "first line is 'hello'. Expected a JSON object"),
    "no version": ('print(\'{"name": "x"}\')\ninput()', "Expected a JSON object"),
    "an empty name": (f"print('{SAYS}'.replace('overlap', ''))\ninput()", "Expected a JSON object"),
}


@pytest.mark.parametrize(("code", "message"), BROKEN.values(), ids=BROKEN)
def test_a_program_that_does_not_say_what_it_is_is_unavailable(code, message, written):
    metric = CommandMetric(command=("no-such-program",)) if code is None else written(code)
    with pytest.raises(UnavailableError, match=message):
        metric.check()
    # The plan goes on: `check` says what is missing.
    assert list(metric.expand("command", [])) == ["command"]


def test_a_program_that_ends_at_the_same_text_twice_is_given_up(written, tmp_path):
    code = OVERLAP.replace(
        "    texts = json", '    if "one" in line:\n        sys.exit("no such word")\n    texts = json'
    )
    with pytest.raises(UnavailableError, match="ended with status 1.*no such word.*twice at the same text.*one"):
        written(code, batch_size=1).score(ITEMS)


def test_a_program_that_waits_too_long_is_ended(written):
    code = OVERLAP.replace("    texts = json", "    import time\n    time.sleep(600)\n    texts = json")
    with pytest.raises(UnavailableError, match=r"wrote nothing for 0\.2 s, twice at the same text"):
        written(code, timeout=0.2).score(ITEMS)


@pytest.fixture
def silent(written, monkeypatch):
    """A metric whose program writes no declaration, and the timeouts of its starts."""
    starts = []
    start = program.Program.start

    def counted(command, timeout):
        starts.append(timeout)
        return start(command, timeout)

    monkeypatch.setattr(program.Program, "start", counted)
    monkeypatch.setattr(program, "START_SECONDS", 0.2)
    monkeypatch.setattr(program, "_silent", {})
    return written("import time\ntime.sleep(600)", timeout=0.2), starts


def test_a_program_that_is_silent_is_waited_for_once(silent):
    metric, starts = silent
    assert list(metric.expand("command", [])) == ["command"]
    for pair in ("de-en", "fr-en"):
        assert metric.fit(rated(ITEMS, pair)).declared == ""
    with pytest.raises(UnavailableError, match=r"wrote nothing for 0\.2 s, before it wrote its declaration"):
        metric.check()
    assert starts == [0.2]
    longer = dataclasses.replace(metric, timeout=0.3)
    with pytest.raises(UnavailableError, match=r"wrote nothing for 0\.3 s"):
        longer.check()
    assert starts == [0.2, 0.3]


def test_a_silent_program_is_started_again_later(silent, monkeypatch):
    metric, starts = silent
    monkeypatch.setattr(program, "SILENT", 0.0)
    for _ in range(2):
        with pytest.raises(UnavailableError, match="wrote nothing"):
            metric.check()
    assert starts == [0.2, 0.2]


def n_timers() -> int:
    return sum(isinstance(thread, threading.Timer) for thread in threading.enumerate())


def test_an_idle_program_is_stopped_by_one_timer(written, monkeypatch):
    monkeypatch.setattr(program, "IDLE_SECONDS", 0.5)
    metric = written(OVERLAP)
    before = n_timers()
    for _ in range(20):
        metric.score(ITEMS[:1])
    # One that ends has started the next one for a moment.
    assert n_timers() - before <= 2
    wait_for(lambda: not program._running)
    assert metric.score(ITEMS[:1]).tolist() == [overlap(ITEMS[0])]


def test_what_is_no_score_is_an_error(written):
    metric = written(OVERLAP.replace("    texts = json", "    print('loading')\n    texts = json"))
    with pytest.raises(ComponentError, match="wrote 'loading' to standard output in place of a score"):
        metric.score(ITEMS)


def test_another_program_than_planned_is_refused(written):
    metric = written(OVERLAP, declared="overlap|version:2|model:words")
    with pytest.raises(UnavailableError, match=r"version:1\|model:words now, but was overlap\|version:2"):
        metric.score(ITEMS)


KILLED = OVERLAP.replace("for line", "n_scored = 0\nfor line")
KILLED += """
    n_scored += 1
    killed = os.environ["STARTS"] + ".killed"
    if n_scored == 60 and not os.path.exists(killed):
        open(killed, "w").close()
        os.kill(os.getpid(), 9)
"""


def test_a_sweep_whose_program_is_killed_has_the_scores_of_one_that_ran_through(written, tmp_path):
    """LIME and the power mean of a metric of another environment."""
    grids = []
    for number, code in enumerate((OVERLAP, KILLED)):
        folder = tmp_path / str(number)
        run = bmx.run(
            dataset=["sample"],
            metric=written(code, batch_size=8),
            explainer="lime",
            evaluation=["grid"],
            output_dir=folder / "out",
            cache_dir=str(folder / "cache"),
            tracking="none",
            limit=4,
            settings={"grid.p.step": 10, "executor.n_jobs": 1},
            quiet=True,
        )
        assert run.n_failed == 0
        grids.append(run.grid)
    assert (tmp_path / "starts.killed").exists()
    assert len(grids[0]) > 0 and grids[0].equals(grids[1])


def test_no_command_is_no_metric():
    metric = build(load_option("metric", "command"), Metric, "metric.command")
    with pytest.raises(UnavailableError, match="no command is named: write"):
        metric.check()
    with pytest.raises(ConfigError, match="lacks the hypothesis"):
        CommandMetric(command=("x",), texts=("source",))


def test_a_file_may_name_a_command_that_the_user_lists(tmp_path, monkeypatch):
    folder = tmp_path / "mine" / "metric"
    folder.mkdir(parents=True)
    target = "_target_: bmx_grid.guests.command.metric.CommandMetric"
    (folder / "x.yaml").write_text(f"x: {{{target}, command: [touch, 'a b']}}\n")
    chosen = ["metric=[x]"], str(folder.parent)
    for listed in ("", "touch", "touch a b", "touch 'a"):
        monkeypatch.setenv("BMX_ALLOWED_COMMANDS", listed)
        with pytest.raises(ConfigError, match="metric.x.command: .* or list the whole command in .*BMX_ALLOWED_COMM"):
            compose_config(*chosen)
    monkeypatch.setenv("BMX_ALLOWED_COMMANDS", "echo\ntouch 'a b'")
    assert compose_config(*chosen)["metric"]["x"]["command"] == ["touch", "a b"]
