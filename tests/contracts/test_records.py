"""Every record of the rooms that compute is frozen: a result cannot be changed after it was computed or cached."""

import dataclasses
import importlib
import pkgutil

import pytest

import bmx_grid

ROOMS = ("measures", "attribution", "analysis", "evaluations", "boosts")
MODULES = [
    name
    for room in ROOMS
    for _, name, _ in pkgutil.iter_modules([f"{bmx_grid.__path__[0]}/{room}"], f"bmx_grid.{room}.")
    if not name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_records_are_frozen(name):
    module = importlib.import_module(name)
    records = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == name]
    for record in filter(dataclasses.is_dataclass, records):
        assert record.__dataclass_params__.frozen, record


@pytest.mark.parametrize("name", MODULES)
def test_what_is_read_without_parentheses_is_so_in_every_class(name):
    """A class that overrides a property of another one has a property, or a plain value."""
    module = importlib.import_module(name)
    for record in [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == name]:
        for base in record.__mro__[1:]:
            for own in set(vars(record)) & {key for key, one in vars(base).items() if isinstance(one, property)}:
                assert not callable(vars(record)[own]), (record, own)


def test_records_are_found():
    assert {f"bmx_grid.{room}" for room in ROOMS} == {name.rpartition(".")[0] for name in MODULES}
