"""A sweep on a machine with two CUDA devices, which are simulated: one process per device, light work elsewhere."""

import pytest
from fakes import composed
from where_done import noted

from bmx_grid.commands.sweep import run
from bmx_grid.core import devices
from bmx_grid.core.configure import ALLOWED_PACKAGES, load_option

pytestmark = pytest.mark.processes
TWO = {"cuda:0", "cuda:1"}


@pytest.fixture
def two_devices(monkeypatch):
    """As on a machine with two cards and a PyTorch for CUDA; `where_done.DeviceMetric` does the same in workers."""
    monkeypatch.setattr("joblib.cpu_count", lambda: 1)  # one process for what needs no device
    monkeypatch.setattr(devices, "_torch_knows_cuda", lambda: True)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    monkeypatch.setenv(ALLOWED_PACKAGES, "fakes,where_done")


def who(folder) -> dict[str, dict[str, set[str]]]:
    """What was done -> process -> the devices that it did it on."""
    found: dict[str, dict[str, set[str]]] = {}
    for what, process, device in (path.name.split() for path in folder.iterdir()):
        found.setdefault(what, {}).setdefault(process, set()).add(device)
    return found


def test_each_device_has_a_process_of_its_own_and_statistics_have_none(tmp_path, two_devices, blank_figures):
    (tmp_path / "notes").mkdir()
    noted(str(tmp_path / "notes"), "main", "None")
    config = composed(
        *("dataset.sample.language_pairs=[de-en,fr-en]", "limit=6", "explainer=[erasure,random]", "grid.p.step=10"),
        *("evaluation=[levels]", "analysis=false", "tracking=none", "executor.chunk_texts=1"),
        *(f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}", "executor=loky", "executor.n_jobs=1"),
    )
    notes = {"folder": str(tmp_path / "notes")}
    config["metric"] = {"large": {"_target_": "where_done.DeviceMetric", **notes}}
    config["evaluation"] = {
        "levels": {**load_option("evaluation", "levels", 0), "_target_": "where_done.NotingEvaluation", **notes}
    }
    assert run(config) == 0
    first = who(tmp_path / "notes")
    main = set(first["main"])
    assert all(len(own) == 1 for own in first["score"].values()), "a process had both devices"
    assert sorted(device for own in first["score"].values() for device in own) == sorted(TWO)
    assert not main & set(first["score"])
    # Evaluated anew, from the store, in workers: again on none of the devices.
    for path in (tmp_path / "notes").iterdir():
        path.unlink()
    config["limit"] = 5
    assert run(config) == 0
    second = who(tmp_path / "notes")
    assert "score" not in second
    assert set().union(*second["evaluate"].values()) == {"None"}
    assert set(second["evaluate"]) - main, "nothing was evaluated by a worker"
