"""Mutation testing: small faults in the code, drawn by a seed, each of which the tests of its room must notice.

    make mutation                                   the sample of the seed, from the results kept in build/mutation
    make mutation MUTATION="--count 20 --seed 7"    another sample
    make mutation MUTATION="--show"                 the survivors of the sample with the changed line, nothing is run

The faults are those of cosmic-ray (other operators, numbers, conditions, decorators, exceptions). A place in the code
is drawn first, then one of its faults, so that an operator with many replacements does not crowd out the others.
Annotations are left alone, as nothing evaluates them, and so are the keywords `strict` and `eq` and the `*` and `/` in
the parameters of a function: they change only how another mistake is met.

cosmic-ray's own runner starts Python for each fault. Here one process has imported the libraries and forks: the child
reads the changed module in place of the file and runs pytest on the tests of that module (`test_files`), until one
fails. A fault that runs on is stopped after SECONDS of processor time, one that waits after IDLE_SECONDS without
any, and counts as caught.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import io
import json
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import tokenize
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import CodeType

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "mutation"
SECONDS = 90
IDLE_SECONDS = 300
# They hold all rooms: frozen records, defaults and versions, intervals of three clusters,
# and every number of a small sweep.
OF_ALL = tuple(f"tests/contracts/test_{name}.py" for name in ("records", "defaults", "three_clusters", "whole_sweep"))
# Room: its share of the sample, and the tests beside its own that hold it.
ROOMS: dict[str, tuple[float, tuple[str, ...]]] = {
    "measures": (0.35, OF_ALL),
    "attribution": (0.1, OF_ALL),
    "analysis": (0.3, OF_ALL),
    "evaluations": (0.25, (*OF_ALL, "tests/contracts/test_evaluations.py")),
}
NEEDED = 0.9
LIBRARIES = (
    *("numpy", "scipy.stats", "pandas", "pyarrow.parquet", "mpmath", "sklearn.linear_model"),
    *("numba", "pytest", "hydra.compose"),
)

Mutant = dict[str, str | int]


def left_alone(source: str) -> set[tuple[int, int]]:
    """(line, column) of expressions in annotations and of `strict` and `eq`, and of `*` and `/` among parameters."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    found = {one.start for one, after in pairwise(tokens) if one.string in ("*", "/") and after.string == ","}
    for node in ast.walk(ast.parse(source)):
        parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.keyword) and node.arg in ("strict", "eq"):
            parts.append(node.value)
        for part in parts:
            for inner in ast.walk(part) if part is not None else ():
                if isinstance(inner, ast.expr):
                    columns = range(inner.col_offset, inner.end_col_offset or 0)
                    found.update((inner.lineno, column) for column in columns)
    return found


def mutants(path: Path) -> dict[tuple[int, int], list[Mutant]]:
    """By (line, column): the faults that cosmic-ray can put there."""
    source = path.read_text(encoding="utf-8")
    nodes, skipped = list(ast_nodes(get_ast(source))), left_alone(source)
    places: dict[tuple[int, int], list[Mutant]] = {}
    for name in operator_names():
        if get_operator(name).arguments():
            continue  # operators that need names of variables
        operator = get_operator(name)()
        spots = [start for node in nodes for start, _ in operator.mutation_positions(node)]
        for occurrence, place in enumerate(spots):
            if tuple(place) not in skipped:
                one: Mutant = {"module": str(path.relative_to(ROOT)), "operator": name, "occurrence": occurrence}
                places.setdefault((place[0], place[1]), []).append(one)
    return places


def sample(room: str, count: int, seed: int) -> list[Mutant]:
    """`count` mutants of a room; fewer are the first of more, and a line that stays keeps its place in the order."""
    found: list[tuple[float, Mutant]] = []
    for path in sorted((ROOT / "bmx_grid" / room).glob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        seen: Counter[tuple[str, int]] = Counter()
        for (line, column), faults in sorted(mutants(path).items()):
            where = lines[line - 1], column
            seen[where] += 1
            rng = random.Random(f"{seed} {room} {path.name} {where} {seen[where]}")
            found.append((rng.random(), rng.choice(faults)))
    return [mutant for _, mutant in sorted(found, key=lambda one: one[0])[:count]]


def changed(mutant: Mutant) -> tuple[str, str]:
    """The source of the module, before and after."""
    source = (ROOT / str(mutant["module"])).read_text(encoding="utf-8")
    return source, mutate_code(source, get_operator(mutant["operator"])(), mutant["occurrence"])


def difference(mutant: Mutant) -> str:
    before, after = changed(mutant)
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0))[2:]
    return "\n".join("    " + line for line in lines)


def test_files(mutant: Mutant) -> list[str]:
    """The tests that import the module; where none does, all of its room."""
    path = Path(str(mutant["module"]))
    room = path.parent.name
    imported = re.compile(rf"from bmx_grid\.{room}(\.{path.stem} import| import [^\n]*\b{path.stem}\b)")
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    importing = [one for one in tests if imported.search(one.read_text(encoding="utf-8"))]
    own = importing or [one for one in tests if one.parent.name == room]
    return [*map(str, own), *(str(ROOT / name) for name in ROOMS[room][1])]


class Changed(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Imports one module from changed source."""

    def __init__(self, module: str, path: str, source: str) -> None:
        super().__init__(module, path)
        self.code = compile(source, path, "exec", dont_inherit=True)

    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(name, self, origin=self.path) if name == self.name else None

    def get_code(self, fullname: str) -> CodeType:
        return self.code


def outcome(mutant: Mutant, log: Path) -> str:
    """How it was caught (a test, the time, the end of the process), or "survived", or "no code" (a syntax error)."""
    path = str(ROOT / str(mutant["module"]))
    module = str(mutant["module"]).removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    try:
        finder = Changed(module, path, changed(mutant)[1])
    except (SyntaxError, TypeError, AttributeError):  # the last where cosmic-ray cannot make the fault
        return "no code"
    return verdict(test_files(mutant), log, finder)


def verdict(files: list[str], log: Path, finder: Changed | None = None) -> str:
    """What pytest says of these tests in a process of its own, with or without a changed module."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (6 << 30, 6 << 30))
        with log.open("w") as stream:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
        if finder is not None:
            sys.meta_path.insert(0, finder)
            if "njit" in finder.get_source(finder.name):  # what is compiled is kept by the date of the file
                import numba

                numba.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp()
        import pytest

        status = pytest.main(["-x", "-q", "--no-header", "-p", "no:cacheprovider", "--tb=line", "-rfE", *files])
        sys.stdout.flush()
        os._exit(int(status))
    used, until = 0, time.monotonic() + IDLE_SECONDS
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > until:  # it may be the machine that is busy
            before, used = used, processor_ticks(child)
            until = time.monotonic() + IDLE_SECONDS
            if used == before:
                os.killpg(child, signal.SIGKILL)
        time.sleep(0.02)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
        return "survived"
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    said = [line for line in log.read_text(errors="replace").splitlines() if line.startswith(("FAILED", "ERROR"))]
    return f"caught: {said[0].split(' - ')[0] if said else f'status {os.WEXITSTATUS(status)}'}"


def processor_ticks(process: int) -> int:
    """Processor time of a process so far, in the ticks of /proc; 0 where there is no /proc."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def check_unchanged(files: list[str], kept: dict[str, str], log: Path) -> None:
    """Leave with a sentence where the tests fail without a fault: they would catch everything."""
    sources = sorted((ROOT / "bmx_grid").rglob("*.py"))
    code = [path.read_text(encoding="utf-8") for path in sources]
    for file in files:
        content = [file, Path(file).read_text(encoding="utf-8"), *code]
        key = "unchanged " + hashlib.sha256("\0".join(content).encode()).hexdigest()
        if key not in kept:
            kept[key] = verdict([file], log)
        if kept[key] != "survived":
            sys.exit(f"the tests fail without a fault ({kept[key]}): mend them first, see {log}.")


def kept_under(mutant: Mutant, tests: bool) -> str:
    """The name of a kept result: it holds for this module, and where nothing was caught for these tests."""
    content = [json.dumps(mutant, sort_keys=True), (ROOT / str(mutant["module"])).read_text(encoding="utf-8")]
    if tests:
        content += [Path(file).read_text(encoding="utf-8") for file in test_files(mutant)]
    return hashlib.sha256("\0".join(content).encode()).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="faults in all rooms together")
    parser.add_argument("--seed", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=3600, help="start no other fault after this time (3600)")
    parser.add_argument("--room", choices=list(ROOMS), action="append", help="this room alone (repeatable)")
    parser.add_argument("--show", action="store_true", help="show what is kept and run nothing")
    given = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    sys.path.insert(0, str(ROOT))
    os.chdir(ROOT)
    for name in () if given.show else LIBRARIES:
        importlib.import_module(name)
    KEPT.mkdir(parents=True, exist_ok=True)
    results_file = KEPT / "results.json"
    kept: dict[str, str] = json.loads(results_file.read_text()) if results_file.is_file() else {}
    survivors: list[Mutant] = []
    rooms = given.room or list(ROOMS)
    counts: dict[str, Counter[str]] = {room: Counter() for room in rooms}
    # In turn, so that a sample that time cuts short is spread over the rooms as a whole one is.
    drawn = [
        ((number + 0.5) / share, room, mutant)
        for room in rooms
        for share in (ROOMS[room][0],)
        for number, mutant in enumerate(sample(room, round(given.count * share), given.seed))
    ]
    until = time.monotonic() + given.seconds
    for _, room, mutant in sorted(drawn, key=lambda one: one[:2]):
        caught, survived = kept_under(mutant, tests=False), kept_under(mutant, tests=True)
        said = kept.get(caught) or kept.get(survived)
        if said is None:
            if given.show or time.monotonic() > until:
                continue
            check_unchanged(test_files(mutant), kept, KEPT / "last.log")
            said = outcome(mutant, KEPT / "last.log")
            kept[survived if said == "survived" else caught] = said
            beside = results_file.with_suffix(".new")
            beside.write_text(json.dumps(kept, indent=0))
            os.replace(beside, results_file)
            print(f"{mutant['module']} {mutant['operator']} {mutant['occurrence']}: {said}", flush=True)
        counts[room][said if said in ("survived", "no code") else "caught"] += 1
        survivors += [mutant] if said == "survived" else []
    for mutant in survivors:
        print(f"survived: {mutant['module']} {mutant['operator']} {mutant['occurrence']}\n{difference(mutant)}")
    for room, count in counts.items():
        tried = count["caught"] + count["survived"]
        print(f"{room:12} {tried:4} tried  {count['caught']:4} caught  {count['survived']:4} survived")
    total = sum(counts.values(), Counter())
    tried = total["caught"] + total["survived"]
    share = total["caught"] / tried if tried else 0.0
    print(f"{'all':12} {tried:4} tried  {total['caught']:4} caught  {total['survived']:4} survived: {share:.1%} caught")
    return 0 if share >= NEEDED else 1


if __name__ == "__main__":
    sys.exit(main())
