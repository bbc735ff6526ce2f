"""From configuration to objects: what may be built, and how mistakes are answered."""

import sys
from dataclasses import dataclass
from typing import Literal

import pytest

from bmx_grid.core.configure import ALLOWED_PACKAGES, build, convert, folder_path, load_option
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import Component, identity, runtime
from bmx_grid.metrics.base import Metric


@dataclass(frozen=True)
class Address:
    host: str
    port: int = 80


@dataclass(frozen=True)
class Example(Component):
    required: int = identity()
    ratio: float = identity(0.5)
    mode: Literal["a", "b"] = identity("a")
    names: tuple[str, ...] = identity(())
    weights: dict[str, float] | None = identity(None)
    places: tuple[Address, ...] = runtime(())
    maybe: int | None = runtime(None)
    flag: bool = runtime(False)


@pytest.fixture(autouse=True)
def _allow(monkeypatch):
    monkeypatch.setenv(ALLOWED_PACKAGES, __name__.split(".")[0])
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])


TARGET = f"{__name__}.Example"


def make(**values):
    return build({"_target_": TARGET, **values}, Component, "metric.example")


@pytest.mark.parametrize(
    ("values", "name", "expected"),
    [
        pytest.param({"required": 3}, "required", 3, id="int"),
        pytest.param({"required": 3, "ratio": 1}, "ratio", 1.0, id="an int fits a float field, as a float"),
        pytest.param({"required": 3, "mode": "b"}, "mode", "b", id="literal"),
        pytest.param({"required": 3, "names": ["x", "y"]}, "names", ("x", "y"), id="list becomes tuple"),
        pytest.param({"required": 3, "weights": {"x": 1}}, "weights", {"x": 1.0}, id="mapping"),
        pytest.param({"required": 3, "maybe": None}, "maybe", None, id="null"),
        pytest.param({"required": 3, "places": [{"host": "h"}]}, "places", (Address("h"),), id="nested dataclass"),
    ],
)
def test_values_are_converted_to_their_fields(values, name, expected):
    value = getattr(make(**values), name)
    assert value == expected
    assert type(value) is type(expected)


def test_signs_among_what_is_available_are_quoted():
    with pytest.raises(ConfigError, match=r"decimal: unknown value ';'\. Available: ',', '\.'\.$"):
        convert(";", Literal[".", ","], "decimal")


def test_a_long_value_leaves_the_way_out_in_the_message():
    with pytest.raises(ConfigError, match=r"^mode: unknown value 'x+ … x+'\. Available: a, b\.$") as caught:
        convert("x" * 6_000, Literal["a", "b"], "mode")
    assert len(str(caught.value)) == 1_003


@pytest.mark.parametrize(
    ("values", "message"),
    [
        pytest.param({}, "required must be given, as metric.example.required=VALUE", id="missing"),
        pytest.param({"required": "abc"}, r"metric.example.required: expected a whole number, got 'abc'", id="text"),
        pytest.param({"required": True}, "expected a whole number, got True", id="a bool is no number"),
        pytest.param({"required": 1, "mode": "c"}, "unknown value 'c'.*Available: a, b", id="literal"),
        pytest.param({"required": 1, "names": "x"}, "names: expected", id="text for a list"),
        pytest.param({"required": 1, "rato": 1}, "unknown key 'rato'. Did you mean 'ratio'", id="typo in a key"),
        pytest.param({"required": 1, "places": [{"prt": 1}]}, r"places\[0\]: unknown key 'prt'", id="nested typo"),
    ],
)
def test_values_that_do_not_fit_name_key_value_and_way_out(values, message):
    with pytest.raises(ConfigError, match=message):
        make(**values)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        pytest.param("os.system", "outside the packages bmx_grid", id="other package"),
        pytest.param("bmx_grid.metrics.nothing.X", r"module '.*' of '[\w.]*X' not found\.$", id="no module"),
        pytest.param(
            "bmx_grid.metrics.judge.Judge",
            r"module 'bmx_grid.metrics.judge' of .* not found; write bmx_grid.guests.judge.judge.Judge\.$",
            id="a class that was moved",
        ),
        pytest.param(
            "bmx_grid.imported.Imported",
            r"; write bmx_grid.explainers.imported_attributions.Imported or bmx_grid.metrics.imported.Imported\.$",
            id="a class of two rooms",
        ),
        pytest.param("bmx_grid.core.identity.digest", "class 'digest' not found in", id="a function is no class"),
        pytest.param("bmx_grid.core.errors.BmxError", "is not a dataclass made of Component; name", id="wrong kind"),
        pytest.param(
            "bmx_grid.metrics.base.Metric", "is abstract: it does not define reads, score, signature", id="abstract"
        ),
    ],
)
def test_only_components_of_allowed_packages_are_built(target, message):
    with pytest.raises(ConfigError, match=message):
        build({"_target_": target}, Component, "metric.x")


def test_unknown_option_gives_the_closest_name_and_the_list():
    with pytest.raises(ConfigError, match=r"unknown sweep 'quickstrat'. Did you mean 'quickstart'\? Available: "):
        load_option("sweep", "quickstrat")


def test_a_module_that_fails_when_imported_is_named(tmp_path, monkeypatch):
    (tmp_path / "failing_module.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(ALLOWED_PACKAGES, "failing_module")
    with pytest.raises(ConfigError, match="importing 'failing_module' fails: ZeroDivisionError"):
        build({"_target_": "failing_module.X"}, Component, "metric.x")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param("", "is not a path", id="empty"),
        pytest.param("a\0b", "is not a path", id="a null character"),
        pytest.param("x" * 6000, "x….* File name too long", id="6,000 characters"),
        pytest.param("\ud800", "is not a path", id="half a character"),
        pytest.param(__file__, "is a file; name a folder", id="a file"),
    ],
)
def test_paths_that_no_folder_can_have_are_refused(value, message):
    with pytest.raises(ConfigError, match=f"data_dir: .*{message}"):
        folder_path(value, "data_dir")


def test_what_a_class_refuses_is_said_with_the_key_that_was_written():
    """Several options share one class, which knows its fields only."""
    with pytest.raises(ConfigError, match="^metric.chrf_plus_plus.char_order: expected a number"):
        build({**load_option("metric", "chrf_plus_plus"), "char_order": -1}, Metric, "metric.chrf_plus_plus")
