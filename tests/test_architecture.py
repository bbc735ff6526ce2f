"""The rooms and their doors: imports point down, heavy libraries stay outside until they are used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "bmx_grid"
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))
# From the ground up; a module imports from lower levels only. Files of one level do not know each other.
LEVELS = [
    {"errors", "identity", "text", "ragged"},
    {"files", "terminal", "segments", "perturbation", "_power_sums", "_ordered", "configure", "model_files"},
    {"aggregation", "correlation", "models"},
    {"datasets.base", "metrics.base", "embedding", "explainers.base", "grid"},
    {"datasets", "metrics", "explainers", "scoring", "results"},
    {"explain"},
    {"store", "boosting"},
    {"executors", "plan", "scorer"},
    {"runner"},
    {"analysis"},
    {"report", "tracked"},
    {"tracking"},
    {"app"},
    {"__main__", "datasets.__main__", "analysis.__main__", "score", "__init__"},
]
HEAVY = {"torch", "transformers", "lime", "shap", "scipy", "sklearn", "mlflow", "matplotlib", "numba", "pandas"}
EDGE = {"hydra", "omegaconf", "mlflow"}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def level_of(module: str) -> int:
    for number, rooms in enumerate(LEVELS):
        if module in rooms:
            return number
    parent = module.rpartition(".")[0] or module
    return next(number for number, rooms in enumerate(LEVELS) if parent in rooms)


def imports(path: Path, *, top_only: bool) -> set[str]:
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_only else list(ast.walk(tree))
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_has_its_level(path):
    level_of(name_of(path).removesuffix(".__init__"))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_down(path):
    module = name_of(path).removesuffix(".__init__")
    for used in imports(path, top_only=False):
        if used.startswith("bmx_grid."):
            other = used.removeprefix("bmx_grid.")
            room = module.rpartition(".")[0]
            same_room = room and room in (other, other.rpartition(".")[0])
            assert level_of(other) < level_of(module) or same_room, f"{module} imports {other}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_metrics_and_explainers_do_not_know_each_other(path):
    module = name_of(path)
    for room, stranger in (("metrics", "explainers"), ("explainers", "metrics")):
        if module.startswith(f"{room}."):
            assert not any(used.startswith(f"bmx_grid.{stranger}") for used in imports(path, top_only=False))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_heavy_libraries_are_imported_late(path):
    assert not {used.split(".")[0] for used in imports(path, top_only=True)} & HEAVY


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_hydra_and_mlflow_stay_at_the_edge(path):
    module = name_of(path)
    if module not in ("__main__", "tracking"):
        assert not {used.split(".")[0] for used in imports(path, top_only=False)} & EDGE


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, bmx_grid; print(sorted(set(sys.modules) & set(sys.argv[1:])))"
    found = subprocess.run([sys.executable, "-c", code, *HEAVY], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
