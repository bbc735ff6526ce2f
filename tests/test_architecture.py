"""The rooms and their doors: imports point down, heavy libraries stay outside until they are used."""

import ast
import functools
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "bmx_grid"
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))
# The rooms from the ground up; a module imports from lower floors, and from its own room.
FLOORS = [
    {"core", "_version"},
    {"words"},
    {"measures", "models", "datasets"},
    {"boosts", "explainers", "metrics"},  # a metric may be a file of scores
    {"attribution"},
    {"evaluations"},
    {"sweep"},
    {"analysis"},
    {"report"},
    {"commands"},
    {"api"},
    {"__init__", "__main__"},  # the doors
]
HEAVY = {"torch", "transformers", "lime", "shap", "scipy", "sklearn", "mlflow", "matplotlib", "numba", "pandas"}
EDGE = {"hydra", "omegaconf", "mlflow"}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def module_of(path: Path) -> str:
    """A module's name; a room's for its `__init__`."""
    return name_of(path).removesuffix(".__init__")


def room_of(module: str) -> str:
    """The first part of a module's name; the doors are rooms of their own."""
    return module if module in FLOORS[-1] else module.partition(".")[0]


def floor_of(module: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if room_of(module) in rooms)


def own(path: Path) -> set[str]:
    """All that a module imports."""
    return imports(path, top_only=False)


@functools.cache
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


def test_every_module_stands_in_a_room():
    known = set().union(*FLOORS)
    assert not [name for name in map(module_of, MODULES) if room_of(name) not in known]


def test_imports_point_down():
    upward = []
    for path in MODULES:
        module = module_of(path)
        for used in imports(path, top_only=False):
            other = used.removeprefix("bmx_grid.")
            down = room_of(other) == room_of(module) or (used != other and floor_of(other) < floor_of(module))
            upward += [f"{module} imports {other}"] if used.startswith("bmx_grid.") and not down else []
    assert not upward


def test_a_contract_knows_nothing_of_its_room():
    flows = ("bmx_grid.datasets.segments", "bmx_grid.datasets.judgements")  # what a reader gives
    bases = [path for path in MODULES if path.name == "base.py"]
    rooms = {path: f"bmx_grid.{name_of(path).removesuffix('.base')}." for path in bases}
    assert len(bases) >= 6
    known = [(name_of(path), used) for path in bases for used in own(path) if used.startswith(rooms[path])]
    assert not [pair for pair in known if pair[1] not in flows]


def test_metrics_and_explainers_do_not_know_each_other():
    for room, stranger in (("metrics", "explainers"), ("explainers", "metrics")):
        of_room = [path for path in MODULES if name_of(path).startswith(f"{room}.")]
        known = [(name_of(path), used) for path in of_room for used in own(path)]
        assert of_room and not [one for one in known if one[1].startswith(f"bmx_grid.{stranger}")]


def test_heavy_libraries_are_imported_late():
    early = [(name_of(path), used) for path in MODULES for used in imports(path, top_only=True)]
    assert not [one for one in early if one[1].split(".")[0] in HEAVY]


def test_hydra_and_mlflow_stay_at_the_edge():
    inside = [path for path in MODULES if room_of(name_of(path)) not in ("commands", "sweep")]
    assert not [(name_of(path), used) for path in inside for used in own(path) if used.split(".")[0] in EDGE]


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, bmx_grid; print(sorted(set(sys.modules) & set(sys.argv[1:])))"
    found = subprocess.run([sys.executable, "-c", code, *HEAVY], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
