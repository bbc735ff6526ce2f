"""The tables of docs/reference have each option, and the properties that its class has.

Tables of options are filled in when the site is built (docs/site/reference.py).
"""

import re
import tomllib

import pytest
from fakes import ROOT
from scripts import script

from bmx_grid.core.configure import load_option, option_class, options

METRICS_PAGE = "metrics_and_explainers.md"


def filled(page: str) -> str:
    """A page of the reference as the site has it."""
    with script(ROOT / "docs" / "site" / "reference.py") as module:
        return module.fill_tables((ROOT / "docs" / "reference" / page).read_text(encoding="utf-8"))


def rows(page: str, header: str) -> dict[str, list[str]]:
    """The cells of a table of options, by the name in their first cell."""
    _, _, below = filled(page).partition(f"| {header} |")
    found: dict[str, list[str]] = {}
    for line in below.partition("\n\n")[0].splitlines()[2:]:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        name = re.match(r"\[`(\w+)`\]", cells[0])[1]
        assert name not in found, f"two rows of {name}"
        found[name] = cells
    return found


METRICS = rows(METRICS_PAGE, "metric")


@pytest.mark.parametrize(
    ("group", "page"),
    [
        ("metric", METRICS_PAGE),
        ("explainer", METRICS_PAGE),
        ("boost", METRICS_PAGE),
        ("sweep", "sweeps.md"),
        ("tasks", "sweeps.md"),
        ("dataset", "sweeps.md"),
    ],
)
def test_a_table_has_a_description_of_each_option(group, page):
    table = rows(page, group)
    assert list(table) == options(group)
    for name, cells in table.items():
        assert len(cells[1].split()) >= 3, f"the first line of configs/{group}/{name}.yaml does not say what it is"


@pytest.mark.parametrize("name", options("metric"))
def test_a_row_has_the_properties_of_its_metric(name):
    """What the class says, and what its description says in words."""
    option = load_option("metric", name, seed=0)
    first, describes, reads, needs = METRICS[name]
    assert ("*" in first) == ("references" in option), "several references"
    assert ("↓" in first) == (option_class("metric", name).__name__ in ("Ter", "Wer", "Per"))
    if "lower is better" in describes:
        assert "↓" in first
    if "no download" in describes:
        assert needs == ""
    if describes.startswith("Reference-free"):
        assert reads == "source"
    if describes.startswith("sacreBLEU"):
        assert reads == "reference"


def test_placebos_are_called_so():
    placebos = {name for name in options("metric") if option_class("metric", name).is_placebo is True}
    assert {name for name, cells in METRICS.items() if cells[1].startswith("Placebo")} == placebos


def test_what_a_metric_needs_is_an_extra_of_the_package_or_a_download():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for name, cells in METRICS.items():
        for extra in re.findall(r"`(\w+)`", cells[3]):
            assert extra in extras, name
    assert METRICS["e5_sbert"][3] == "`multilingual`"
    assert METRICS["bertscore"][3] == "download"
    assert METRICS["xmoverscore_authors"][3] == "`authors`, download"
    assert METRICS["chrf"][3] == ""


@pytest.mark.parametrize(
    ("explainer", "key"),
    [("lime", "num_samples"), ("shap", "max_evals"), ("shap", "exact_up_to"), ("partition_shap", "max_evals")],
)
def test_a_row_has_the_default_of_its_explainer(explainer, key):
    shown = rows(METRICS_PAGE, "explainer")[explainer][1]
    assert re.search(rf"\b{load_option('explainer', explainer)[key]}\b", shown)
