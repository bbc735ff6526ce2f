"""Wording of messages and docstrings: idioms that other projects of the field do not use; and names of functions."""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize

import pytest
from fakes import ROOT
from idioms import IDIOMS

# How often per 1,000 words at most: the highest rate among sacreBLEU, scikit-learn's metrics, shap, lime, torchmetrics
# and MLflow's client, in docstrings with comments and in messages. 0 in messages allows none.
LIMITS = {
    "what is": (0.85, 0),
    "of these": (0.89, 0.44),
    "say": (0.02, 0),
    "ask": (0.64, 0),
    "tell": (0.15, 1.13),
    "stand": (0.21, 0),
    "no ... is there": (0.77, 1.44),
    "each once": (1.91, 0),
    "here, there": (1.07, 0.36),
    "anyway, as well, alone, beside": (0.78, 0.44),
    "goes, comes": (0.09, 0),
    "where for if": (0.36, 0.09),
    "given": (5.06, 5.66),
}
PREPOSITION = re.compile("of|without|by|beside|in|on|at|under|within|over|among|across|instead|until|for|with")
# Words that end in -ed are participles but for these.
NOUNS = {"seed", "need", "speed", "embed", "feed"}
IRREGULAR = re.compile(
    "said|told|given|drawn|chosen|shown|found|kept|made|read|built|cut|left|held|known|written|bound"
)
MESSAGES = {"print", "warn", "warning", "info", "error", "debug", "warn_user"}


def literals(node: ast.AST) -> list[str]:
    if isinstance(node, ast.JoinedStr):
        return ["".join(str(part.value) if isinstance(part, ast.Constant) else " x " for part in node.values)]
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    return [text for child in ast.iter_child_nodes(node) for text in literals(child)]


@functools.cache
def texts_of_package() -> dict[str, list[tuple[str, str]]]:
    """kind -> (path:line, text) of docstrings with comments, of messages, and names of functions."""
    found: dict[str, list[tuple[str, str]]] = {"docstrings": [], "messages": [], "names": []}
    for path in sorted((ROOT / "bmx_grid").rglob("*.py")):
        source, name = path.read_text(encoding="utf-8"), path.relative_to(ROOT)
        for node in ast.walk(ast.parse(source)):
            place = f"{name}:{getattr(node, 'lineno', 1)}"
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                found["docstrings"].append((place, ast.get_docstring(node) or ""))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found["names"].append((place, node.name))
            called = getattr(node, "func", None)
            if isinstance(node, ast.Raise) or getattr(called, "attr", getattr(called, "id", "")) in MESSAGES:
                found["messages"] += [(place, text) for text in literals(node)]
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT and not re.search("noqa|type: ignore", token.string):
                found["docstrings"].append((f"{name}:{token.start[0]}", token.string.lstrip("# ")))
    return found


@pytest.mark.parametrize("kind", ["docstrings", "messages"])
@pytest.mark.parametrize("idiom", IDIOMS)
def test_idioms_are_as_rare_as_elsewhere(idiom, kind):
    regex = IDIOMS[idiom]
    texts = texts_of_package()[kind]
    n_words = sum(len(re.findall(r"[a-z][\w'-]*", text.lower())) for _, text in texts)
    limit = LIMITS[idiom][kind == "messages"] * n_words / 1000
    found = [f"{place}: {match.group()}" for place, text in texts for match in re.finditer(regex, text.lower())]
    assert len(found) <= limit, "\n".join(found)


def first_word(name: str) -> tuple[str, bool]:
    first, _, rest = name.strip("_").partition("_")
    return first, bool(rest)


def test_names_of_functions_are_not_phrases_without_a_verb():
    found = [
        f"{place} {name}" for place, name in texts_of_package()["names"] if PREPOSITION.fullmatch(first_word(name)[0])
    ]
    assert len(found) <= 15, "\n".join(found)


def test_no_function_is_named_by_a_participle():
    found = []
    for place, name in texts_of_package()["names"]:
        first, has_more = first_word(name)
        is_participle = IRREGULAR.fullmatch(first) or (first.endswith("ed") and first not in NOUNS)
        if is_participle and not has_more and not name.startswith("__"):
            found.append(f"{place} {name}")
    assert not found, "\n".join(found)
