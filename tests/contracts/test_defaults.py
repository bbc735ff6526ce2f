"""Versions of results, and defaults: one value for each name wherever it is a default."""

import dataclasses
import importlib
import inspect
import math
import pkgutil

import pytest

import bmx_grid
from bmx_grid.evaluations.base import Evaluation

ROOMS = ("measures", "attribution", "analysis", "evaluations")
MODULES = {
    name.removeprefix("bmx_grid."): importlib.import_module(name)
    for room in ROOMS
    for _, name, _ in pkgutil.iter_modules([f"{bmx_grid.__path__[0]}/{room}"], f"bmx_grid.{room}.")
    if not name.endswith("__main__")
}


@pytest.mark.parametrize(
    ("name", "version"),
    [
        pytest.param("evaluations.boosts.BoostEvaluation", 3, id="boosts: verdicts beyond score and length"),
        pytest.param("evaluations.levels.LevelsEvaluation", 3, id="levels: thresholds were added"),
        pytest.param(
            "evaluations.significance.SignificanceEvaluation", 3, id="significance: placebos are families of their own"
        ),
        pytest.param("evaluations.top_systems.TopSystemsEvaluation", 2, id="top systems: differences were added"),
        pytest.param("evaluations.grid.GridEvaluation", 1, id="grid"),
        pytest.param("evaluations.words.WordsEvaluation", 1, id="words"),
    ],
)
def test_a_version_is_raised_by_hand_where_results_change(name, version):
    """It is part of what results are kept under: another number computes every setting anew."""
    module, _, record = name.rpartition(".")
    assert version == getattr(MODULES[module], record).VERSION


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("evaluations.")])
def test_options_of_an_evaluation_are_named(module):
    for record in vars(MODULES[module]).values():
        if inspect.isclass(record) and issubclass(record, Evaluation) and record is not Evaluation:
            assert all(one.kw_only for one in dataclasses.fields(record)), record


# One value for each name wherever it is a default, so that a call without it means the same everywhere.
DEFAULTS = {
    "all_references": False,
    "alpha": 0.05,
    "bootstrap": True,
    "brief": False,
    "clusters": 0,
    "copies": 1,
    "data": False,
    "ddof": 0,
    "draws": 3,
    "folds": 10,
    "longest": 44,
    "lost": False,
    "marked": False,
    "max_pairs": 1_000_000,
    "max_points": 1_000_000,
    "max_texts": 100_000,
    "n_all_bad": 0,
    "n_all_ok": 0,
    "n_empty": 0,
    "n_texts": 0,
    "n_undefined": 0,
    "names": 1,
    "plateau": 0,
    "precision": 0.0,
    "rank_resamples": 0,
    "references": 100,
    "resamples": 1000,
    "seed": 0,
    "sentences": 5,
    "skip_refused": False,
    "smallest_gain": 0.005,
    "splits": 100,
    "tried": 1,
    "width": 0,
}
OTHERS = {
    "evaluations.words._names most": 3,  # examples in a table
    "evaluations.levels.__init__ resamples": 0,  # no draws unless an interval is asked for
    "measures.cluster_means.cluster_mean resamples": 10_000,  # of few numbers, each of them cheap
    "measures.levels.grouped_acc_eq resamples": 0,  # no interval unless it is asked for
    "measures.levels.grouped_correlations resamples": 0,
    "evaluations.verdicts.Verdict pairs": 1,  # of a boost that cannot be made: no segment of one pair
    "evaluations.verdicts.Verdict n": 0,
    "evaluations.verdicts.Verdict clusters": 0,
    "measures.weighted_grids.of precision": 2e-14,  # of means, which a sample is made of
}


def defaults(module):
    """(name of function or record, of parameter or field, default) for those that are numbers."""
    owners = [module, *(one for one in vars(module).values() if inspect.isclass(one))]
    for owner in owners:
        if owner is not module and owner.__module__ != module.__name__:
            continue
        if dataclasses.is_dataclass(owner):
            yield from ((owner.__name__, one.name, one.default) for one in dataclasses.fields(owner))
        for name, one in list(vars(owner).items()):
            function = inspect.unwrap(getattr(one, "__func__", one))
            made = name == "__init__" and dataclasses.is_dataclass(owner)  # of the fields above
            if inspect.isfunction(function) and function.__module__ == module.__name__ and not made:
                yield from ((name, part.name, part.default) for part in inspect.signature(function).parameters.values())


@pytest.mark.parametrize("module", MODULES)
def test_defaults_are_the_same_everywhere(module):
    for owner, name, value in defaults(MODULES[module]):
        if isinstance(value, int | float) and not math.isnan(value):
            assert value == OTHERS.get(f"{module}.{owner} {name}", DEFAULTS.get(name)), (owner, name)


def test_other_defaults_are_those_of_something():
    found = {f"{module}.{owner} {name}" for module, own in MODULES.items() for owner, name, _ in defaults(own)}
    assert set(OTHERS) <= found
    assert set(DEFAULTS) <= {name.rpartition(" ")[2] for name in found}
