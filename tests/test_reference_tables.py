"""The tables of docs/reference that are written by hand have each option, and the properties that its class has."""

import re
import tomllib

import pytest
from fakes import ROOT

from bmx_grid.core.configure import build, load_option, option_class, options
from bmx_grid.metrics.base import Metric

# Settings without which an option of a user's own parts cannot be made.
REQUIRED = {
    "judge": {"model": "m", "prompt": "gemba_da_noref"},
    "likelihood": {"model": "m"},
    "command": {"command": ["program"]},
}


def rows(page: str, header: str) -> dict[str, list[str]]:
    """The cells of all tables of a page whose header begins with a word, by the name in their first cell."""
    text = (ROOT / "docs" / "reference" / page).read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for table in re.findall(rf"^\| {header} \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, flags=re.MULTILINE):
        for line in table.splitlines():
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            name = re.match(r"`(?:tasks=)?(\w+)`", cells[0])[1]
            assert name not in found, f"two rows of {name}"
            found[name] = cells
    return found


METRICS = rows("metrics_and_explainers.md", "metric")


@pytest.mark.parametrize(
    ("group", "page", "header"),
    [
        ("metric", "metrics_and_explainers.md", "metric"),
        ("explainer", "metrics_and_explainers.md", "explainer"),
        ("boost", "metrics_and_explainers.md", "boost"),
        ("sweep", "sweeps.md", "sweep"),
        ("tasks", "sweeps.md", "key"),
        ("dataset", "sweeps.md", "data set"),
    ],
)
def test_a_table_has_one_row_for_each_option(group, page, header):
    assert sorted(rows(page, header)) == options(group)


@pytest.mark.parametrize("name", options("metric"))
def test_a_row_has_the_properties_of_its_metric(name):
    option = load_option("metric", name, seed=0)
    metric = build(option | REQUIRED.get(name, {}), Metric, name)
    mark, reads, computes, _ = METRICS[name]
    compared = [role for role in metric.reads if role != "hypothesis"]
    assert reads == (", ".join(compared) or "–")
    assert ("*" in mark) == ("references" in option), "several references"
    assert ("↓" in mark) == (not metric.higher_is_better)
    assert computes.startswith("placebo") == metric.is_placebo


@pytest.mark.parametrize("name", options("metric"))
def test_a_row_has_what_its_metric_needs(name):
    """An extra of the package, a model from a hub, or a key that must be set."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    option = load_option("metric", name)
    needs = METRICS[name][3]
    for code in re.findall(r"`(\w+)=`", needs):
        assert not option[code]
    for extra in re.findall(r"`(\w+)`", needs):
        assert extra in extras
    model = str(option.get("model") or "")
    is_downloaded = model != "" and not model.startswith("package:")
    assert ("download" in needs) == is_downloaded


@pytest.mark.parametrize(
    ("explainer", "key"),
    [("lime", "num_samples"), ("shap", "max_evals"), ("shap", "exact_up_to"), ("partition_shap", "max_evals")],
)
def test_a_row_has_the_default_of_its_explainer(explainer, key):
    shown = " ".join(rows("metrics_and_explainers.md", "explainer")[explainer])
    assert re.search(rf"\b{load_option('explainer', explainer)[key]}\b", shown)


def test_the_tables_of_a_sweep_are_those_of_its_evaluations():
    text = (ROOT / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
    table = text.partition("| evaluation | tables | hold |\n|---|---|---|\n")[2].partition("\n\n")[0]
    shown: dict[str, list[str]] = {}
    evaluation = ""
    for line in table.splitlines():
        name, tables = re.findall(r"[^|]+", line)[:2]
        evaluation = name.strip(" `") or evaluation
        shown.setdefault(evaluation, []).extend(re.findall(r"`(\w+)`", tables))
    written = {name: sorted(option_class("evaluation", name).ROWS) for name in options("evaluation")}
    assert {name: sorted(tables) for name, tables in shown.items()} == written
