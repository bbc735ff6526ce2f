"""A recipe as a model of MLflow: `mlflow.pyfunc.load_model` gives its boosted scores of new texts.

MLflow copies this file into the recipe's folder and runs it to load the model: nothing is pickled.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import mlflow.models
import mlflow.pyfunc
import pandas as pd
from mlflow.pyfunc.model import PythonModel
from mlflow.types import ColSpec, DataType, Schema

import bmx_grid
from bmx_grid.attribution.scorer import Scorer

RECIPE = "recipe"  # the name of the file among the model's artifacts


class BoostedScores(PythonModel):
    """A frame with the columns source, reference and hypothesis that the metric reads to a frame with `score`."""

    scorer: Scorer

    def load_context(self, context: Any) -> None:
        self.scorer = bmx_grid.load(recipe=context.artifacts[RECIPE])

    def predict(self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:
        texts = {role: model_input[role].tolist() for role in self.scorer.reads}
        scores = self.scorer.score(texts["hypothesis"], references=texts.get("reference"), sources=texts.get("source"))
        return pd.DataFrame({"score": scores}, index=model_input.index)


def save_model(folder: Path, recipe: Path) -> Path:
    """Write the model of a recipe, with its signature, into a new folder; that folder."""
    reads = bmx_grid.load(recipe=recipe).reads
    signature = mlflow.models.ModelSignature(
        inputs=Schema([ColSpec(DataType.string, role) for role in reads]),
        outputs=Schema([ColSpec(DataType.double, "score")]),
    )
    with warnings.catch_warnings():
        # It advises an example of the input.
        warnings.filterwarnings("ignore", category=UserWarning, module="mlflow")
        mlflow.pyfunc.save_model(
            folder,
            python_model=__file__,
            artifacts={RECIPE: str(recipe)},
            signature=signature,
            pip_requirements=[f"bmx_grid=={bmx_grid.__version__}"],
        )
    return folder


mlflow.models.set_model(BoostedScores())
