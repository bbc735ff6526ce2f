"""The documentation: its Python runs as it stands there, its site builds, and every key is explained."""

import inspect
import os
import re
import subprocess
import sys

import pytest
from fakes import ROOT

from bmx_grid.configure import CONFIGS, groups, options

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_blocks_of_the_page_on_python_run(tmp_path, monkeypatch, blank_figures):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BMX_CACHE_DIR", str(tmp_path / "cache"))
    known: dict[str, object] = {}
    for number, block in enumerate(BLOCKS, start=1):
        exec(compile(block, f"docs/python.md, block {number}", "exec"), known)
    assert (tmp_path / "heat.png").stat().st_size > 10_000
    assert len(known["beside"]) >= 4 * 4 and len(known["found"].settings) == 1


def test_every_page_made_from_code_has_every_option_and_column():
    sys.path.insert(0, str(ROOT / "docs" / "site"))
    import reference

    shown = reference.configuration()
    for group in groups():
        for name in options(group):
            assert f"### {group}: {name}\n" in shown
    written = reference.files()
    assert "## grid.parquet" in written and "| `p_holm` | number |" in written
    assert all(f"## bmx-grid {name}".rstrip() in reference.commands() for name in reference.COMMANDS)


@pytest.mark.parametrize(("group", "name"), [(group, name) for group in groups() for name in options(group)])
def test_every_key_of_an_option_is_explained(group, name):
    """By a comment beside it, or by name in the docstring of its class."""
    sys.path.insert(0, str(ROOT / "docs" / "site"))
    import reference

    cls = reference.class_of(group, name)
    if cls is None:
        pytest.skip("a combination of options, or of keys that are explained beside it")
    text = (CONFIGS / group / f"{name}.yaml").read_text(encoding="utf-8")
    told = " ".join(inspect.getdoc(one) or "" for one in cls.__mro__ if one.__module__.startswith("bmx_grid"))
    for key in re.findall(r"^  (\w+):", text, flags=re.MULTILINE):
        if key == "_target_":
            continue
        beside = re.search(rf"^  {key}:.*#", text, flags=re.MULTILINE)
        assert beside or re.search(rf"\b{key}\b", told), f"{key}: say what it is for"


def test_the_site_builds_without_a_warning(tmp_path):
    told = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(
        told, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "reference" / "api" / "index.html").is_file()
    assert "fonts.googleapis" not in (tmp_path / "index.html").read_text(encoding="utf-8")
