"""Options are named, and defaults are one value for each name wherever it is a default."""

import dataclasses
import importlib
import inspect
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


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("evaluations.")])
def test_options_of_an_evaluation_are_named(module):
    for record in vars(MODULES[module]).values():
        if inspect.isclass(record) and issubclass(record, Evaluation) and record is not Evaluation:
            assert all(one.kw_only for one in dataclasses.fields(record)), record


# One value for each name wherever it is a default, so that a call without it means the same everywhere; but for these.
OTHERS = {
    "measures.multiplicity.cluster_mean resamples": 10_000,  # of few numbers, each of them cheap
    "measures.levels.grouped_acc_eq resamples": 0,  # no interval unless it is asked for
    "measures.levels.grouped_correlations resamples": 0,
    "evaluations.verdicts.Verdict pairs": 1,  # of a boost that cannot be made: no segment of one pair
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


def test_defaults_are_the_same_everywhere():
    found = {
        f"{module}.{owner} {name}": value for module, own in MODULES.items() for owner, name, value in defaults(own)
    }
    numbers = {where: value for where, value in found.items() if isinstance(value, int | float) and value == value}
    assert {where: numbers[where] for where in OTHERS} == OTHERS
    of_name = {}
    for where in numbers.keys() - OTHERS.keys():
        of_name.setdefault(where.rpartition(" ")[2], set()).add(numbers[where])
    assert {name: values for name, values in of_name.items() if len(values) > 1} == {}
    assert (of_name["seed"], of_name["resamples"]) == ({0}, {1000})
