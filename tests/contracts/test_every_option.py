"""What every option of every group promises that computes something: its identity, and its way to other processes.

And that it is checked by all of its classes.
"""

import importlib
import pickle
import pkgutil

import pytest
from fakes import composed

import bmx_grid
from bmx_grid.boosts.base import Boost
from bmx_grid.core.configure import build, load_option, option_class, options
from bmx_grid.core.identity import Component, canonical_json
from bmx_grid.evaluations.base import Evaluation
from bmx_grid.explainers.base import BOTH_SIDES, Explainer
from bmx_grid.explainers.imported_attributions import Imported
from bmx_grid.measures.aggregation import Aggregation
from bmx_grid.metrics.base import Metric

KINDS = {"metric": Metric, "explainer": Explainer, "boost": Boost, "aggregation": Aggregation, "evaluation": Evaluation}
OPTIONS = [(group, name) for group in KINDS for name in options(group) if name != "recipe"]


@pytest.mark.parametrize(("group", "name"), OPTIONS)
def test_every_field_is_classified_and_it_travels_in_a_small_parcel(group, name):
    if group == "evaluation":
        node = composed(f"evaluation=[{name}]")["evaluation"][name]
    else:
        node = load_option(group, name, 0)
    part = build(node, KINDS[group], f"{group}.{name}")
    assert canonical_json(part.fingerprint())
    parcel = pickle.dumps(part)
    assert len(parcel) < 10_000
    assert pickle.loads(parcel) == part


def walk_subclasses(cls):
    for subclass in cls.__subclasses__():
        yield subclass
        yield from walk_subclasses(subclass)


def component_classes():
    """Every class of the package that is configured: those of options, their bases, and those that options nest."""
    for module in pkgutil.walk_packages(bmx_grid.__path__, "bmx_grid."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    classes = {cls for cls in walk_subclasses(Component) if cls.__module__.startswith("bmx_grid.")}
    return sorted(classes, key=lambda cls: (cls.__module__, cls.__qualname__))


def calls_the_next_check(cls):
    # Code that says `super()` has the cell `__class__`.
    code = cls.__post_init__.__code__
    return "__class__" in code.co_freevars and "__post_init__" in code.co_names


def test_the_check_of_no_class_hides_that_of_another():
    classes = component_classes()
    assert {option_class(group, name) for group, name in OPTIONS} <= set(classes)
    checked = [cls for cls in classes if "__post_init__" in vars(cls)]
    assert len(checked) > 20
    assert [cls.__name__ for cls in checked if not calls_the_next_check(cls)] == []


@pytest.mark.parametrize(
    ("sides", "expected"),
    [("both", BOTH_SIDES), (None, BOTH_SIDES), ("hypothesis", ("hypothesis",)), (BOTH_SIDES[::-1], BOTH_SIDES)],
)
def test_an_explainer_that_is_a_file_has_its_sides_written_as_every_other(sides, expected):
    assert Imported(file="x.tsv", sides=sides).sides == expected
    assert Imported(file="x.tsv", sides=sides).fingerprint() == Imported(file="y.tsv", sides=expected).fingerprint()
