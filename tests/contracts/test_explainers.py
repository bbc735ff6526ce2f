"""What every option of configs/explainer promises. A new YAML file is covered without a line here."""

import dataclasses

import pytest

from bmx_grid.attribution.promises import OF_EXPLAINERS
from bmx_grid.core.configure import build, load_option, options
from bmx_grid.explainers.base import Explainer


# `imported` reads a file and `spans` asks a server: they plan no texts, and have tests of their own.
@pytest.fixture(scope="module", params=[name for name in options("explainer") if name not in ("imported", "spans")])
def explainer(request, tiny_model) -> Explainer:
    """The option as it is; where it names a model, with a small one in its place."""
    settings = load_option("explainer", request.param, 0)
    if "model" in settings:
        settings |= {"model": tiny_model("bert"), "revision": None}
    return build(settings, Explainer, f"explainer.{request.param}")


@pytest.mark.parametrize("promise", OF_EXPLAINERS, ids=lambda promise: promise.__name__)
def test_it_keeps_what_explainers_promise(explainer, promise):
    assert promise(explainer) == ""


def test_the_sides_are_in_its_fingerprint_only_if_one_is_left_out(explainer):
    assert "sides" not in explainer.fingerprint(), "what is stored of both sides is found again"
    assert dataclasses.replace(explainer, sides="hypothesis").fingerprint()["sides"] == ("hypothesis",)
