"""The settings of all sweeps below a folder."""

from __future__ import annotations

import shutil

import pytest

import bmx_grid as bmx
from bmx_grid.core.errors import DataMissingError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two sweeps, one of which is further down and has an earlier run; the other one is tracked."""
    place = tmp_path_factory.mktemp("outputs")
    for name, metric, tracking in (("one", "chrf", "mlflow"), ("deep/other", "sentence_bleu", "none")):
        settings = {"grid.p.step": 10, "dataset.sample.language_pairs": ["de-en"]}
        if tracking == "mlflow":
            settings["tracking.uri"] = f"sqlite:///{place / 'mlflow.db'}"
        bmx.run(
            dataset=["sample"],
            metric=metric,
            explainer="erasure",
            evaluation=["grid"],
            limit=5,
            output_dir=place / name,
            cache_dir=str(place / "cache"),
            tracking=tracking,
            analysis=False,
            settings=settings,
            quiet=True,
        )
    shutil.copytree(place / "one", place / "deep" / "other" / "previous" / "abc")
    return place


def test_settings_of_all_sweeps_are_one_frame(folder):
    settings = bmx.runs(folder)
    assert settings[["sweep", "metric", "explainer"]].values.tolist() == [
        ["deep/other", "sentence_bleu", "erasure"],
        ["one", "chrf", "erasure"],
    ]
    one = settings[settings["sweep"] == "one"].drop(columns="sweep").reset_index(drop=True)
    assert one.equals(bmx.Run(folder / "one").settings)


def test_mlflows_copy_of_a_sweep_is_not_a_sweep(folder):
    (copy,) = folder.glob("mlruns/*/artifacts/config.yaml")
    assert bmx.Run(copy.parent).settings.equals(bmx.Run(folder / "one").settings)
    with pytest.raises(DataMissingError, match="no sweep below it"):
        bmx.runs(folder / "mlruns")


def test_no_sweep_is_an_error(tmp_path):
    with pytest.raises(DataMissingError, match="no sweep below it has a table of settings"):
        bmx.runs(tmp_path)
    with pytest.raises(DataMissingError, match="folder not found: .*nowhere"):
        bmx.runs(tmp_path / "nowhere")
