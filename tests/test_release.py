"""One version: the package, its citation, its notes and its documentation name the same."""

from __future__ import annotations

import re

import yaml
from fakes import ROOT

from bmx_grid import __version__


def test_the_citation_has_the_version():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == __version__


def test_the_documentation_names_no_other_version():
    named = {}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        versions = re.findall(r"bmx[-_]grid (\d+\.\d+\.\d+)|version = \{(\d+\.\d+\.\d+)\}", text)
        for version in {first or second for first, second in versions}:
            named[page.name] = version
    assert named
    assert set(named.values()) == {__version__}, named


def test_the_notes_of_this_version_are_there_and_short():
    notes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {__version__}" in notes
    newest = notes.split("\n## ")[1]
    assert newest.count("\n") <= 60, "net changes, one line each"
