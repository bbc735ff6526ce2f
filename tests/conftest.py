"""Fixtures for all tests: real data and published results where they are there."""

from __future__ import annotations

import functools
import gc
import importlib.util
import logging
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

# Before any library reads them: no test asks a model hub, and tiny networks are slower on several threads.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A tester's own MLflow server gets nothing of the tests.
os.environ.pop("MLFLOW_TRACKING_URI", None)
os.environ.pop("MLFLOW_EXPERIMENT_NAME", None)

import omegaconf
import pytest
import slurm_here
import tiny_models
from fakes import ROOT, composed, draw_nothing
from forks import server
from omegaconf import grammar_parser

# A sixth of each composition parses the same references again; nothing changes the trees.
omegaconf.base.parse = omegaconf._utils.parse = functools.lru_cache(10_000)(grammar_parser.parse)

# Nothing is garbage before the tests run: until `pytest_collection_finish` it is not looked for, a second per process.
gc.disable()

FIRST = ("test_doc_pages.py", "test_interrupts.py", "test_judged_sweep.py", "test_sweep.py", "test_tracking_faults.py")


def libraries_are_compiled() -> bool:
    """Whether a Python has imported what the tests import: packages are installed uncompiled."""
    torch = importlib.util.find_spec("torch")
    assert torch is not None and torch.origin is not None
    if sys.dont_write_bytecode or not os.access(sys.prefix, os.W_OK):
        return True  # as far as they will ever be
    return Path(importlib.util.cache_from_source(torch.origin)).exists()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[object]:
    """In a new environment one process imports the libraries, and the others wait: else each one compiles them all."""
    from filelock import FileLock

    with ExitStack() as alone:
        if not libraries_are_compiled():
            alone.enter_context(FileLock(Path(sys.prefix, ".compiling")))
            if libraries_are_compiled():
                alone.close()
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files of the longest tests are begun first, so that no process is left with one of them at the end.

    Before them those that start processes: they wait, while other tests compute.
    """

    def place(item: pytest.Item) -> tuple[bool, int]:
        name = item.path.name
        return item.get_closest_marker("processes") is None, FIRST.index(name) if name in FIRST else len(FIRST)

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """The garbage collector leaves alone what is loaded by now, which stays: a tenth of the time went there."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of downloaded data sets; skips where there is none."""
    folder = Path(os.environ.get("BMX_DATA_DIR") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"real data are not here: set BMX_DATA_DIR (looked at {folder})")
    return folder


@pytest.fixture(scope="session")
def authors_grid() -> Path:
    """The published grid of the paper's authors; skips where it is not."""
    path = Path(os.environ.get("BMX_DATA_DIR") or ROOT.parent / "shared" / "data").parent / "expected"
    path = path / "bmx_authors_grid.parquet"
    if not path.is_file():
        pytest.skip(f"the authors' published grid is not here (looked at {path})")
    return path


@pytest.fixture(scope="session")
def authors_analysis(authors_grid):
    """The analysis of the published grid, made once; only read."""
    from bmx_grid.analysis.load import load_table
    from bmx_grid.analysis.questions import analyse_table

    return analyse_table(load_table(authors_grid))


@pytest.fixture(scope="session")
def slurm(tmp_path_factory) -> Iterator[dict[str, object]]:
    """Options of the cluster of executor=slurm for the controller here; skips if there is and may be none."""
    pytest.importorskip("dask_jobqueue", reason='pip install ".[slurm]"')
    if reason := slurm_here.why_not():
        pytest.skip(reason)
    with slurm_here.controller(tmp_path_factory.mktemp("slurm")) as keys:
        yield keys


@pytest.fixture
def no_text_truncated(monkeypatch) -> None:
    """As in a new process: no model has truncated a text, so that the next one is the first and is warned of."""
    from bmx_grid.models import encoding

    monkeypatch.setattr(encoding, "_TRUNCATED", Counter())


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory) -> Callable[[str], str]:
    """Folder of a tiny random model by its architecture: bert, roberta, xlm_roberta or gpt2; made once."""
    folder = tmp_path_factory.mktemp("models")
    return functools.cache(lambda name: str(getattr(tiny_models, f"tiny_{name}")(folder / name)))


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """The folder that all processes of one run of the tests have in common."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def template(tmp_path_factory) -> Path:
    """A fresh database of MLflow, made once for all processes of the tests: MLflow takes seconds for it."""
    folder = shared_folder(tmp_path_factory) / "template"
    from filelock import FileLock

    with FileLock(folder.with_suffix(".lock")):
        if not (folder / "made").exists():
            from bmx_grid.sweep.tracking import MlflowTracker

            tracker = MlflowTracker(experiment="template")
            tracker.start("template", "name: template\nseed: 0\n", folder / "out")
            tracker.finish([])
            (folder / "made").touch()
    return folder / "mlflow.db"


@pytest.fixture(scope="session")
def forks(tmp_path_factory) -> Iterator[str]:
    """The address of the server of forks.py, the same for all processes of the tests."""
    with server(shared_folder(tmp_path_factory)) as address:
        yield address


@pytest.fixture
def swept(tmp_path):
    """swept(*overrides, out="out", **groups): the exit status of a quick sweep to folders of the test.

    groups: in place of those that are composed.
    """
    from bmx_grid.api.sweep import run_sweep

    def go(*overrides: str, out: str = "out", **groups) -> int:
        folders = (f"output_dir={tmp_path / out}", f"cache_dir={tmp_path / 'cache'}")
        quick = ("executor=sequential", "tracking=none", "analysis=false")
        return run_sweep(composed(*folders, *quick, *overrides) | groups).n_failed

    return go


@pytest.fixture
def swept_table(swept, tmp_path):
    """swept_table(lines, *overrides, **groups): the same of a table with these lines, the first one its header."""

    def go(lines, *overrides: str, **groups) -> int:
        path = tmp_path / "mine.tsv"
        path.write_text("\n".join([*lines, ""]), encoding="utf-8")
        table = ("dataset=[tabular]", f"dataset.tabular.path={path}", "dataset.tabular.language_pairs=[de-en]")
        return swept(*table, *overrides, **groups)

    return go


@pytest.fixture
def blank_figures(monkeypatch) -> None:
    """Figures are written as ever, with nothing drawn in them: for sweeps that are run for what they compute."""
    draw_nothing(monkeypatch)


@pytest.fixture(autouse=True)
def _logging_as_before(monkeypatch) -> Iterator[None]:
    """Hydra sets up logging for its process, here to a stream that pytest closes after the test.

    It closes all handlers that there are. That of absl, which rouge_score imports, closes its stream: pytest's own, of
    all later tests.
    """
    monkeypatch.setattr(logging, "_handlerList", [])
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


@pytest.fixture(autouse=True)
def no_server_is_remembered():
    """A server of an earlier test may have had the port of this one's, and what it answered is kept for a minute."""
    judges = sys.modules.get("bmx_grid.guests.judge.server")
    if judges is not None:
        judges._NAMES.clear()
