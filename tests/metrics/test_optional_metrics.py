"""Metrics behind libraries of their own: refused with the command where those are missing, called rightly where not."""

import importlib.machinery
import sys
import types

import pytest
from pairs import score

from bmx_grid.core.errors import UnavailableError
from bmx_grid.metrics.libraries import Comet, TransQuest

PAIRS = [("a source", "a hypothesis"), ("another", "")]


@pytest.mark.parametrize(("metric", "package"), [(Comet(), "unbabel-comet"), (TransQuest(), "transquest")])
def test_a_missing_library_is_named_with_its_command(metric, package, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for ask in (metric.check, lambda: score(metric, PAIRS)):
        with pytest.raises(UnavailableError, match=f"pip install {package}"):
            ask()


def stand_in(name: str, **contents) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    vars(module).update(contents)
    return module


def test_comet_is_asked_with_source_and_translation(monkeypatch):
    asked = {}

    class Model:
        def predict(self, rows, **options):
            asked.update(rows=rows, options=options)
            return types.SimpleNamespace(scores=[0.25, -0.5])

    def load(path):
        asked.setdefault("paths", []).append(path)
        return Model()

    library = stand_in("comet", download_model=lambda name: f"at {name}", load_from_checkpoint=load)
    monkeypatch.setitem(sys.modules, "comet", library)
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda name, revision: f"{name}/{revision}")
    assert score(Comet(model="fake/model", revision="abc", batch_size=3), PAIRS).tolist() == [0.25, -0.5]
    assert score(Comet(model="fake/model", batch_size=3), PAIRS).tolist() == [0.25, -0.5]
    assert asked["paths"] == ["fake/model/abc/checkpoints/model.ckpt", "at fake/model"]
    assert asked["rows"] == [{"src": "a source", "mt": "a hypothesis"}, {"src": "another", "mt": ""}]
    assert asked["options"] == {"batch_size": 3, "gpus": 0, "progress_bar": False}


def test_transquest_is_asked_with_pairs(monkeypatch):
    class Model:
        def __init__(self, kind, name, **options):
            assert (kind, name, options) == ("xlmroberta", "fake/model", {"num_labels": 1, "use_cuda": False})

        def predict(self, rows):
            assert rows == [list(pair) for pair in PAIRS]
            return [0.5, 0.75], None

    path = "transquest.algo.sentence_level.monotransquest.run_model"
    for part in ("transquest", *(path.rsplit(".", count)[0] for count in (3, 2, 1))):
        monkeypatch.setitem(sys.modules, part, stand_in(part, __path__=[]))
    monkeypatch.setitem(sys.modules, path, stand_in(path, MonoTransQuestModel=Model))
    assert score(TransQuest(model="fake/model"), PAIRS).tolist() == [0.5, 0.75]
