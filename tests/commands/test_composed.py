"""Our configuration is the one that Hydra alone composes, and Hydra's own state is as before."""

from __future__ import annotations

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from bmx_grid.commands.compose import composed
from bmx_grid.core.configure import CONFIGS


def by_hydra(*overrides):
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return OmegaConf.to_container(compose("config", overrides=list(overrides)), resolve=True)


@pytest.mark.parametrize(
    "overrides",
    [
        pytest.param((), id="nothing"),
        pytest.param(("limit=3", "+sweep=quickstart", "explainer.lime.num_samples=9", "seed=4"), id="mixed"),
        pytest.param(("+sweep=wmt17_lime", "executor=sequential", "executor.chunk_texts=9"), id="below an option"),
        pytest.param(("dataset=[sample,tabular]", "dataset.tabular.name=mine"), id="two options"),
        pytest.param(("~metric.sentence_bleu", "+metric.mine={_target_:bmx_grid.x.X}"), id="deleted and added"),
        pytest.param(("++grid.fixed.lime={w: 0.5}", "grid.w=[0,1]", "output_dir=/elsewhere"), id="merged, replaced"),
        pytest.param(("limit=3", "limit=4", "name=mine", "cache_dir=${data_dir}"), id="twice, and interpolated"),
        pytest.param(("metric=[]", "name='a, b'"), id="no metric, and quotes"),
    ],
)
def test_composed_is_what_hydra_composes(overrides):
    assert composed(overrides) == by_hydra(*overrides)


def test_options_of_the_users_do_not_stay_in_hydra(tmp_path):
    (tmp_path / "metric").mkdir()
    (tmp_path / "metric" / "mine.yaml").write_text("mine: {_target_: bmx_grid.metrics.chrf.Chrf}\n")
    assert "mine" in composed(["metric=[mine]"], tmp_path)["metric"]
    assert "metric" not in ConfigStore.instance().repo


def test_an_environment_variable_is_read_each_time(monkeypatch):
    for folder in ("one", "other"):
        monkeypatch.setenv("BMX_CACHE_DIR", folder)
        assert composed([])["cache_dir"] == folder
