"""Functions of at most two statements that are called in one place: each is a name to look up for what one line says.

usage: short_functions.py [FOLDER]   one line per function: file, line, name; the count at the end

Statements are counted at every depth, without the docstring. Not counted: methods that Python or another class calls
(of two underscores, decorated, of a name that is defined several times, or of a class with a base), and functions that
are handed over without a call.
"""

from __future__ import annotations

import ast
import collections
import sys
from pathlib import Path
from typing import NamedTuple

MOST_STATEMENTS = 2


class Definition(NamedTuple):
    """A function: where it is, and whether others may call it without naming it."""

    place: str
    name: str
    is_called_by_others: bool


def n_statements(function: ast.FunctionDef) -> int:
    """The number of statements in a function, without its docstring."""
    count = sum(isinstance(node, ast.stmt) for node in ast.walk(function)) - 1
    return count - (ast.get_docstring(function, clean=False) is not None)


def definitions_of(tree: ast.Module, path: Path) -> list[tuple[Definition, int]]:
    """Each function of a module, with its number of statements."""
    methods = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.bases:
            methods.update(inner for inner in node.body if isinstance(inner, ast.FunctionDef))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            is_public_method = node in methods and not node.name.startswith("_")
            others = bool(node.decorator_list) or node.name.startswith("__") or is_public_method
            found.append((Definition(f"{path}:{node.lineno}", node.name, others), n_statements(node)))
    return found


def uses(tree: ast.Module) -> tuple[collections.Counter[str], collections.Counter[str]]:
    """How often each name is called in a module, and how often it is read at all."""
    called: collections.Counter[str] = collections.Counter()
    read: collections.Counter[str] = collections.Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called[getattr(node.func, "id", getattr(node.func, "attr", ""))] += 1
        if isinstance(node, ast.Name | ast.Attribute):
            read[getattr(node, "id", getattr(node, "attr", ""))] += 1
    return called, read


def short_functions(root: Path) -> list[Definition]:
    """The short functions below a folder that are called once: of private names within their module."""
    short = []
    of_modules = {}
    n_defined: collections.Counter[tuple[str, str]] = collections.Counter()
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        of_modules[str(path)] = uses(tree)
        for definition, count in definitions_of(tree, path):
            scope = str(path) if definition.name.startswith("_") else ""
            n_defined[scope, definition.name] += 1
            if count <= MOST_STATEMENTS and not definition.is_called_by_others:
                short.append((scope, definition))
    everywhere = (collections.Counter[str](), collections.Counter[str]())
    for called, read in of_modules.values():
        everywhere[0].update(called)
        everywhere[1].update(read)
    once = []
    for scope, definition in short:
        called, read = of_modules.get(scope, everywhere)
        if n_defined[scope, definition.name] == called[definition.name] == read[definition.name] == 1:
            once.append(definition)
    return once


def main() -> None:
    found = short_functions(Path(sys.argv[1] if len(sys.argv) > 1 else "bmx_grid"))
    for definition in found:
        print(definition.place, definition.name)
    print(len(found))


if __name__ == "__main__":
    main()
