"""The public names say what they take, return and raise; their examples run, and their mistakes raise what they say."""

from __future__ import annotations

import dataclasses
import doctest
import functools
import inspect
import re
import shutil
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from idioms import IDIOMS

import bmx_grid as bmx
from bmx_grid import measures
from bmx_grid.core import errors

MODULES = {"bmx_grid": bmx, "measures": measures}
HEADINGS = re.compile(r"^(Args|Attributes|Returns|Raises|Example):$", re.MULTILINE)
ENTRY = re.compile(r"^    (\*{0,2}\w+): \S", re.MULTILINE)
SUMMARY = 80  # characters of a first line
NO_VERBS = {"A", "An", "The", "What", "How", "Whether", "Which", "All", "Every", "Each", "Some", "This", "That"}


def public_objects() -> dict[str, Any]:
    """Function, class, method or property by its name, as bmx_grid.Run.plot."""
    objects = {}
    for prefix, module in MODULES.items():
        for name in module.__all__:
            value = getattr(module, name)
            if name == "__version__":
                continue
            objects[f"{prefix}.{name}"] = value
            if isinstance(value, type):
                for member, part in members_of(value).items():
                    objects[f"{prefix}.{name}.{member}"] = part
    return objects


def members_of(cls: type) -> dict[str, Any]:
    """The public methods and properties that a class defines itself; tables of a Run are among its Attributes."""
    members = {}
    for name, value in vars(cls).items():
        if isinstance(value, classmethod | staticmethod):
            value = value.__func__
        is_code = inspect.isfunction(value) or isinstance(value, property | functools.cached_property)
        is_table = isinstance(value, property) and value.fget.__name__ == "<lambda>"
        if is_code and not is_table and (not name.startswith("_") or name == "__call__"):
            members[name] = value
    return members


OBJECTS = public_objects()
CLASSES = {name: value for name, value in OBJECTS.items() if isinstance(value, type)}
FUNCTIONS = {name: value for name, value in OBJECTS.items() if inspect.isfunction(value)}


def sections_of(value: Any) -> dict[str, str]:
    """The text below each heading of a docstring."""
    _, *parts = HEADINGS.split(inspect.cleandoc(value.__doc__ or ""))
    return dict(zip(parts[::2], parts[1::2], strict=True))


def entries(section: str) -> list[str]:
    """The names that a section explains, in order."""
    return ENTRY.findall(section)


def parameters_of(function: Any) -> list[str]:
    """The parameters as a caller writes them: *args and **keys with their stars."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parameters = inspect.signature(function).parameters.values()
    return [stars.get(part.kind, "") + part.name for part in parameters if part.name not in ("self", "cls")]


@pytest.mark.parametrize("name", OBJECTS)
def test_a_docstring_begins_with_one_short_sentence_and_has_no_idiom(name):
    text = inspect.cleandoc(OBJECTS[name].__doc__ or "")
    first, *rest = text.split("\n")
    assert len(first) <= SUMMARY and first.endswith((".", ";")), first
    assert not rest or not rest[0], "a blank line follows"
    prose = text.lower()
    used = [idiom for idiom, pattern in IDIOMS.items() if re.search(pattern, prose)]
    assert not used
    assert "+SKIP" not in text


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_its_sections_and_explains_its_parameters(name):
    function = FUNCTIONS[name]
    sections = sections_of(function)
    expected = parameters_of(function)
    assert entries(sections.get("Args", "")) == expected
    assert ("Args" in sections) == bool(expected)
    returned = re.match(r"\n    (\S.*?): \S", sections["Returns"])
    assert returned, "the type, a colon, and what it holds"
    assert "\n    >>> " in sections["Example"]
    verb = inspect.cleandoc(function.__doc__).split()[0]
    assert verb not in NO_VERBS and not re.search("[^s]s$", verb), "a verb in the imperative"
    own_raise = re.search(r"^ +raise \w", inspect.getsource(function), re.MULTILINE)
    assert not own_raise or "Raises" in sections


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_explains_its_attributes(name):
    cls = CLASSES[name]
    sections = sections_of(cls)
    explained = entries(sections["Attributes"])
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else []
    public = [field.name for field in fields if not field.name.startswith("_")]
    assert [attribute for attribute in explained if attribute in public] == public
    assert all(hasattr(cls, attribute) for attribute in explained if attribute not in public)
    assert "\n    >>> " in sections["Example"]


def test_the_tables_of_a_run_are_among_its_attributes():
    explained = set(entries(sections_of(bmx.Run)["Attributes"]))
    tables = {name for name, value in vars(bmx.Run).items() if isinstance(value, property)}
    assert tables - members_of(bmx.Run).keys() <= explained


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder with one cache for all examples: several open the same sweep."""
    return tmp_path_factory.mktemp("examples")


@pytest.mark.parametrize("name", [name for name in OBJECTS if name.count(".") == 1])
def test_examples_print_what_they_show(name, folder, monkeypatch, blank_figures):
    """Those of a class and of its methods, each with nothing known from the one before."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("BMX_CACHE_DIR", str(folder / "cache"))
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    count = 0
    for test in doctest.DocTestFinder().find(OBJECTS[name], name, globs={}):
        count += len(test.examples)
        runner.run(test)
    assert count >= 2
    assert runner.summarize(verbose=False).failed == 0


FRAME = {
    "ref": ["the cat sat on the mat", "he went home", "it rains in spring", "we have no time"],
    "mt": ["a cat sat on a mat", "he walks home", "it rains", "we do not have time"],
    "DA": [0.8, 0.1, -0.9, 0.5],
}
SCORED = {"human": [1, 2, 3, 4], "a": [1, 2, 4, 3]}
THREE = [1.0, 2.0, 3.0]
TABLE = np.ones((2, 3))
LABELLED = [[0, 1]]
OTHER_WORDS = [[0, 1, 1]]


def agreeing(**labels: Any) -> measures.Scores:
    scores = np.array(THREE)
    return measures.Scores(scores, scores, scores, np.arange(3), **{"system": None, **labels})


def systems(**options: Any) -> object:
    return measures.compare_systems(THREE, THREE, THREE, THREE, **options)


# Name -> exception -> a call that raises it. `at` has the folders of two finished sweeps, without a shared setting.
MISTAKES: dict[str, dict[str, Any]] = {
    "bmx_grid.load": {
        "ConfigError": lambda at: bmx.load("chrff"),
        "DataError": lambda at: bmx.load(recipe="nonesuch.json"),
        "UnavailableError": lambda at: bmx.load("comet", None),
    },
    "bmx_grid.run": {
        "ConfigError": lambda at: bmx.run("quickstart", metric=["chrff"]),
        "DataError": lambda at: bmx.run(
            "quickstart", metric="comet", explainer=[], tracking="none", quiet=True, output_dir=at.tmp
        ),
    },
    "bmx_grid.analyse": {
        "ConfigError": lambda at: bmx.analyse([at.first]),
        "DataMissingError": lambda at: bmx.analyse([at.first, at.tmp / "nowhere"]),
        "DataError": lambda at: bmx.analyse([at.first, at.second]),
    },
    "bmx_grid.runs": {
        "DataMissingError": lambda at: bmx.runs(at.tmp / "nowhere"),
        "DataError": lambda at: bmx.runs(damaged(at, "tables/settings.parquet").folder),
    },
    "bmx_grid.grid": {
        "ConfigError": lambda at: bmx.grid(3),
        "DataError": lambda at: bmx.grid({**FRAME, "DA": ["good"] * 4}),
    },
    "bmx_grid.boost": {
        "ConfigError": lambda at: bmx.boost([0.1], [[1]], p=1),
        "DataError": lambda at: bmx.boost([0.1, 0.2], [[1]], p=1, w=0.5),
    },
    **{
        f"bmx_grid.Boosted.{name}": {"ConfigError": lambda at, name=name: getattr(unrated(), name)}
        for name in ("verdict", "gain", "result", "grid")
    },
    "bmx_grid.compare": {
        "ConfigError": lambda at: bmx.compare(SCORED, "b", human="human"),
        "DataError": lambda at: bmx.compare({**SCORED, "a": ["good"] * 4}, "a", human="human"),
    },
    "bmx_grid.Run": {
        "DataMissingError": lambda at: bmx.Run(at.tmp / "nowhere"),
        "ConfigError": lambda at: bmx.Run(3),
    },
    "bmx_grid.Run.table": {
        "DataMissingError": lambda at: bmx.Run(at.first).table("verdicts"),
        "DataError": lambda at: damaged(at, "tables/grid.parquet").table("grid"),
        "ConfigError": lambda at: bmx.Run(at.first).table(3),
    },
    "bmx_grid.Run.analysis": {
        "DataMissingError": lambda at: bmx.Run(at.tmp).analysis,
        "DataError": lambda at: damaged(at, "tables/grid.parquet").analysis,
    },
    "bmx_grid.Run.plot": {"ConfigError": lambda at: bmx.Run(at.first).plot(metric="chrff")},
    "bmx_grid.Run.words": {
        "ConfigError": lambda at: at.run.words(ids=["nobody"]),
        "DataMissingError": lambda at: bmx.Run(at.tmp).words(),
        "DataError": lambda at: damaged(at, "config.yaml").words(),
    },
    "bmx_grid.Scorer": {"ConfigError": lambda at: bmx.Scorer(bmx.load("chrf").metric, seed=-1)},
    "bmx_grid.Scorer.torch_metric": {"UnavailableError": lambda at: without_torchmetrics(at)},
    **{
        f"bmx_grid.Scorer.{name}": {"DataError": lambda at, name=name: getattr(bmx.load("chrf", None), name)(["a"])}
        for name in ("__call__", "items")
    },
    **{
        f"bmx_grid.Scorer.{name}": {
            "DataError": lambda at, name=name: getattr(bmx.load("chrf", None), name)(["a"]),
            "ExplainError": lambda at, name=name: getattr(bounded(), name)(["a b c"], references=["a b"]),
        }
        for name in ("corpus_score", "statistics", "count_texts")
    },
    **{
        f"bmx_grid.Scorer.{name}": {
            "ConfigError": lambda at, name=name: getattr(bounded(), name)(["a"], references=["a"], progress=3),
            "DataError": lambda at, name=name: getattr(bmx.load("chrf", None), name)(["a"]),
            "ExplainError": lambda at, name=name: getattr(bounded(), name)(["a b c"], references=["a b"]),
        }
        for name in ("score", "explain")
    },
    "measures.correlate": {
        "ConfigError": lambda at: measures.correlate("pearsn", THREE, THREE),
        "ValueError": lambda at: measures.correlate("pearson", THREE, [1]),
    },
    "measures.kendall_tau_c": {"ValueError": lambda at: measures.kendall_tau_c(THREE, [1])},
    "measures.resampled_correlations": {
        "ConfigError": lambda at: measures.resampled_correlations("pearsn", TABLE, np.ones(2), np.arange(2), 10, 0)
    },
    **{
        f"measures.{name}": {
            "ConfigError": lambda at, name=name: getattr(measures, name)("pearsn", THREE, THREE, THREE),
            "ValueError": lambda at, name=name: getattr(measures, name)("pearson", THREE, THREE, [1]),
        }
        for name in ("grouped_correlations", "within_groups")
    },
    **{
        f"measures.{name}": {"ValueError": lambda at, name=name: getattr(measures, name)(THREE, THREE, [1])}
        for name in ("grouped_acc_eq", "pairwise_correlations")
    },
    "measures.compare": {
        "ConfigError": lambda at: measures.compare(THREE, THREE, THREE, unit="words"),
        "ValueError": lambda at: measures.compare(THREE, THREE, THREE, unit="systems"),
    },
    "measures.compare_agreement": {
        "ConfigError": lambda at: measures.compare_agreement("acc", agreeing()),
        "ValueError": lambda at: measures.compare_agreement("acc_eq", agreeing()),
    },
    "measures.compare_systems": {
        "ConfigError": lambda at: systems(statistic="pearsn"),
        "ValueError": lambda at: systems(confidence=95),
    },
    "measures.compare_sums": {
        "ConfigError": lambda at: measures.compare_sums(TABLE, TABLE, sum, alternative="better"),
        "ValueError": lambda at: measures.compare_sums(TABLE, TABLE[:1], sum),
    },
    "measures.williams": {
        "ConfigError": lambda at: measures.williams(0.6, 0.4, 0.5, 100, "better"),
        "ValueError": lambda at: measures.williams(1.6, 0.4, 0.5, 100),
    },
    "measures.holm": {"ValueError": lambda at: measures.holm([1.5])},
    "measures.benjamini_hochberg": {"ValueError": lambda at: measures.benjamini_hochberg([1.5])},
    "measures.interval": {"ValueError": lambda at: measures.interval(np.ones(3), 3, confidence=95)},
    "measures.cluster_mean": {"ValueError": lambda at: measures.cluster_mean(THREE, [1])},
    "measures.rank_ranges": {"ValueError": lambda at: measures.rank_ranges(np.ones(3), np.ones((5, 2)))},
    "measures.krippendorff_alpha": {
        "ConfigError": lambda at: measures.krippendorff_alpha(TABLE, "nominl"),
        "ValueError": lambda at: measures.krippendorff_alpha(THREE, "interval"),
    },
    "measures.uniform_kappa": {"ValueError": lambda at: measures.uniform_kappa(THREE, 2)},
    "measures.reliability": {"ValueError": lambda at: measures.reliability(THREE)},
    "measures.statistics": {"ValueError": lambda at: measures.statistics(LABELLED, OTHER_WORDS)},
    "measures.label_measures": {"ValueError": lambda at: measures.label_measures(np.ones((2, 18)), [1])},
    "measures.rank_words": {
        "ConfigError": lambda at: measures.rank_words(LABELLED, [[0.1, 0.2]], ties="random"),
        "ValueError": lambda at: measures.rank_words(LABELLED, [[0.1]]),
    },
    "measures.PowerRange.values": {"ConfigError": lambda at: measures.PowerRange(0, 1, 0.3).values()},
    "measures.GridSpec": {"ConfigError": lambda at: measures.GridSpec(w=(2,))},
    "measures.compute_grid": {
        "DataError": lambda at: grid_of_rows([[-1e8, 1.0]] * 3),
        "ValueError": lambda at: grid_of_rows([[1.0]] * 2),
    },
    "measures.Labels.of": {"ValueError": lambda at: measures.Labels.of([["OK", "BAD"]])},
}


def unrated() -> bmx.Boosted:
    return bmx.boost([0.1], [[1.0]], p=1, w=0.5)


def bounded() -> bmx.Scorer:
    """Boosted, with too few texts to explain a segment of several words."""
    return bmx.load("chrf", "erasure", p=1, w=0.5, settings={"max_texts": 4})


def damaged(at: Any, name: str) -> bmx.Run:
    """A copy of a finished sweep, with one file cut off."""
    shutil.copytree(at.first, at.tmp / "copy")
    file = at.tmp / "copy" / name
    file.write_bytes(file.read_bytes()[:20] + b"{")
    return bmx.Run(at.tmp / "copy")


def without_torchmetrics(at: Any) -> object:
    at.monkeypatch.setitem(sys.modules, "torchmetrics", None)
    at.monkeypatch.delitem(sys.modules, "bmx_grid.attribution.torch_metric", raising=False)
    return bmx.load("chrf", None).torch_metric()


def grid_of_rows(rows: list[list[float]]) -> object:
    attributions = measures.Ragged.from_rows(rows)
    nothing = measures.Ragged.from_rows([[]] * 3)
    return measures.compute_grid(measures.GridSpec(), np.ones(3), nothing, attributions, np.array(THREE))


@pytest.fixture(scope="module")
def two_sweeps(tmp_path_factory):
    """Small finished sweeps without a setting in common."""
    place = tmp_path_factory.mktemp("sweeps")
    small = {"evaluation": ["grid"], "analysis": False, "cache_dir": place / "cache", "settings": {"grid.p.step": 10}}
    run = bmx.grid(FRAME, "chrf", output_dir=place / "first", **small)
    bmx.grid(FRAME, "sentence_bleu", output_dir=place / "second", **small)
    return run, place


@pytest.mark.parametrize("name", OBJECTS)
def test_what_a_docstring_says_is_raised_is_raised_by_a_mistake(name, two_sweeps, tmp_path, monkeypatch):
    documented = entries(sections_of(OBJECTS[name]).get("Raises", ""))
    mistakes = MISTAKES.get(name, {})
    assert sorted(documented) == sorted(mistakes)
    run, place = two_sweeps
    at = SimpleNamespace(run=run, first=place / "first", second=place / "second", tmp=tmp_path, monkeypatch=monkeypatch)
    for exception, call in mistakes.items():
        kind = getattr(errors, exception, ValueError)
        with pytest.raises(kind) as caught:
            call(at)
        assert type(caught.value).__name__ == exception or exception == "DataError"
