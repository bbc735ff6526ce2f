"""A recipe as a model of MLflow: the scores of `load(recipe=…)`, with a signature, without a pickle."""

from __future__ import annotations

import mlflow
import pandas as pd
import pytest
from some_recipe import recipe
from tracked import address, started

import bmx_grid as bmx
from bmx_grid.api.tracked_sweep import _save_models
from bmx_grid.boosts.recipe import write_recipe

FRAME = pd.DataFrame(
    {
        "reference": ["the cat sat on the mat", "a dog ran across the road"],
        "hypothesis": ["a cat sat on the mat", "one dog"],
    },
    index=[7, 3],
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The folder of the model, and the file of the recipe."""
    from bmx_grid.api.recipe_model import save_model

    folder = tmp_path_factory.mktemp("model")
    path = folder / "bleu-words.json"
    write_recipe(path, recipe())
    return save_model(folder / "saved", path), path


def test_a_loaded_model_scores_as_the_recipe(model):
    folder, path = model
    scores = mlflow.pyfunc.load_model(str(folder)).predict(FRAME)
    expected = bmx.load(recipe=path).score(FRAME["hypothesis"].tolist(), references=FRAME["reference"].tolist())
    assert scores["score"].tolist() == expected.tolist()
    assert scores.index.tolist() == [7, 3]


def test_its_signature_is_texts_to_a_score(model):
    signature = mlflow.models.get_model_info(str(model[0])).signature
    assert [(column.name, column.type.name) for column in signature.inputs] == [
        ("reference", "string"),
        ("hypothesis", "string"),
    ]
    assert [(column.name, column.type.name) for column in signature.outputs] == [("score", "double")]
    with pytest.raises(mlflow.MlflowException, match="reference"):
        mlflow.pyfunc.load_model(str(model[0])).predict(FRAME[["hypothesis"]])


def test_nothing_in_it_is_pickled(model):
    # Python keeps what it has compiled of the model's code.
    files = [path for path in model[0].rglob("*") if path.is_file() and path.parent.name != "__pycache__"]
    suffixes = {path.suffix for path in files}
    assert suffixes == {"", ".json", ".py", ".txt", ".yaml"}


def test_a_sweep_logs_it_as_an_artifact_of_its_run(model, tmp_path, monkeypatch):
    folder = tmp_path / "out"
    tracker = started(folder)
    saved = model[0].rename(tmp_path / "bleu-words")
    tracker.headline({}, "All is well.", [saved], {})
    tracker.finish([])
    saved.rename(model[0])
    assert tracker.failure is None
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address(folder))
    (run,) = mlflow.search_runs(search_all_experiments=True)["run_id"]
    loaded = mlflow.pyfunc.load_model(f"runs:/{run}/models/bleu-words")
    assert loaded.predict(FRAME)["score"].notna().all()


def test_a_model_that_cannot_be_saved_is_a_warning(model, tmp_path, monkeypatch):
    """A sweep never ends with its tracker."""
    recipes = tmp_path / "recipes"
    recipes.mkdir()
    path = recipes / "bleu-words.json"
    write_recipe(path, recipe())
    monkeypatch.setattr("mlflow.pyfunc.save_model", lambda *_, **__: (tmp_path / "nowhere" / "file").read_text())
    with pytest.warns(UserWarning, match="recipe bleu-words is not logged as a model to MLflow: No such file"):
        assert _save_models([path], tmp_path) == []
