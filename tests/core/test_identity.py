"""What belongs to a result's identity, and what does not."""

from dataclasses import dataclass, field

import pytest

from bmx_grid.core.identity import Component, canonical_json, digest, identity, runtime


@dataclass(frozen=True)
class Part(Component):
    samples: int = identity(100)
    device: str = runtime("cpu")


@dataclass(frozen=True)
class Unclassified(Component):
    samples: int = field(default=3)


def test_a_default_given_and_left_out_is_the_same_and_runtime_fields_stay_out_of_the_fingerprint():
    assert Part().fingerprint() == Part(samples=100).fingerprint() == Part(device="cuda").fingerprint()
    assert Part(device="cuda").settings("runtime") == {"device": "cuda"}


def test_identity_fields_and_versions_change_the_fingerprint():
    class Newer(Part):
        VERSION = 2

    assert digest(Part(samples=0).fingerprint()) != digest(Part().fingerprint())
    assert Newer().fingerprint()["version"] == 2


def test_a_field_without_a_role_is_refused():
    with pytest.raises(TypeError, match="Unclassified.samples is neither"):
        Unclassified().fingerprint()


@pytest.mark.parametrize(
    ("value", "other_value", "equal"),
    [
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, id="order of keys does not count"),
        pytest.param((1, 2), [1, 2], True, id="a tuple is a list"),
        pytest.param({"seed": 0}, {"seed": None}, False, id="zero is a number"),
        pytest.param({"x": 1}, {"x": 1.0}, False, id="types differ, so configuration converts first"),
    ],
)
def test_equal_values_have_one_canonical_json(value, other_value, equal):
    assert (canonical_json(value) == canonical_json(other_value)) is equal


def test_nan_has_no_place_in_an_identity():
    with pytest.raises(ValueError):
        canonical_json({"p": float("nan")})
