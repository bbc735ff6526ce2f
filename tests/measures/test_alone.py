"""The room of statistics stands alone: it loads nothing of the house but six modules, and reads no file."""

import subprocess
import sys
from pathlib import Path

import numpy as np

import bmx_grid.measures as measures
from bmx_grid.core.configure import convert, load_option
from bmx_grid.measures.grid import PAPER_P, PAPER_W, PowerRange

ALLOWED = {"bmx_grid", "bmx_grid._version", "bmx_grid.core", "bmx_grid.core.errors", "bmx_grid.core.identity"}
ALLOWED |= {"bmx_grid.core.ragged", "bmx_grid.core.renamed", "bmx_grid.core.threads", "bmx_grid.core.wording"}
PROGRAM = """
import sys, pkgutil, importlib
import numpy, scipy.stats, scipy.sparse, scipy.special, numba
opened = []
sys.addaudithook(lambda event, of: opened.append(str(of[0])) if event == "open" else None)
import bmx_grid.measures as room
for module in pkgutil.iter_modules(room.__path__):
    importlib.import_module(f"{room.__name__}.{module.name}")
for name in room.__all__:
    getattr(room, name)
print(*sorted(name for name in sys.modules if name.split(".")[0] == "bmx_grid"))
print(*sorted({name for name in opened if "bmx_grid" in name and not name.endswith((".py", ".pyc", ".so"))}))
"""


def test_it_loads_six_modules_of_the_house_and_reads_no_file():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    loaded, opened = done.stdout.split("\n")[:2]
    others = {name for name in loaded.split() if not name.startswith("bmx_grid.measures")}
    assert others <= ALLOWED
    files = [name for name in opened.split() if ".pyc." not in name and not Path(name).is_dir()]
    assert not files


def test_its_front_door_is_what_its_modules_have():
    for name in measures.__all__:
        assert getattr(measures, name).__module__.startswith(("bmx_grid.measures.", "bmx_grid.core.ragged"))
        assert f"`{name}`" in (measures.__doc__ or ""), name


def test_the_papers_grid_is_the_one_of_the_option():
    paper = load_option("grid", "paper")
    assert convert(paper["p"], PowerRange, "grid.p") == PAPER_P
    assert tuple(paper["w"]) == PAPER_W
    assert np.array_equal(PAPER_P.values(), np.arange(-300, 300) / 10)
