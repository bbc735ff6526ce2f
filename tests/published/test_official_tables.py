"""The official table of WMT23's metrics task for en-de by one key, and the keys of the other shared tasks."""

import pandas as pd
import pytest

from bmx_grid.api.compose import composed
from bmx_grid.commands.run import compose_and_run
from bmx_grid.core.configure import options

# Pearson's r of systems, of segments, and acc_eq: the findings of WMT23 (Freitag et al. 2023), en-de.
PUBLISHED = {
    "XCOMET-Ensemble": (0.980, 0.695, 0.604),
    "MetricX-23": (0.977, 0.585, 0.603),
    "MetricX-23-QE-src": (0.969, 0.626, 0.596),
    "COMET": (0.990, 0.432, 0.574),
    "BLEURT-20": (0.990, 0.484, 0.572),
    "CometKiwi-src": (0.946, 0.475, 0.569),
    "docWMT22CometDA": (0.990, 0.394, 0.559),
    "YiSi-1": (0.925, 0.366, 0.542),
    "MaTESe": (0.918, 0.554, 0.528),
    "BERTscore": (0.891, 0.325, 0.528),
    "f200spBLEU": (0.919, 0.237, 0.526),
    "BLEU": (0.917, 0.192, 0.520),
    "chrF": (0.866, 0.232, 0.519),
    "prismRef": (0.920, 0.516, 0.518),
}


def test_wmt23_is_ranked_by_one_key(data_dir, tmp_path):
    if not (data_dir / "mt-metrics-eval-v2" / "wmt23" / "metric-scores").is_dir():
        pytest.skip("the test set wmt23 of mt-metrics-eval is not there")
    where = [f"data_dir={data_dir}", f"cache_dir={tmp_path}/cache", f"output_dir={tmp_path}/out", "tracking=none"]
    few = ["evaluation.tasks.resamples=40", "executor=sequential", "figures=page"]
    with pytest.warns(UserWarning, match="metrics read refA"):
        assert compose_and_run(["tasks=wmt23", *where, *few]) == 0
    scores = pd.read_parquet(tmp_path / "out" / "tables" / "task_scores.parquet")
    table = scores.pivot_table(index="metric", columns="statistic", values="value")
    for metric, published in PUBLISHED.items():
        computed = table.loc[metric, ["system_pearson", "pearson", "acc_eq"]].round(3).tolist()
        assert computed == pytest.approx(published, abs=1e-9), metric
    assert "synthetic_ref" not in set(pd.read_parquet(tmp_path / "out" / "tables" / "human_ranking.parquet").system)


@pytest.mark.parametrize("name", ["wmt23", "wmt24", "wmt25", "iwslt26"])
def test_each_shared_task_is_one_key(name):
    assert name in options("tasks")
    config = composed([f"tasks={name}"])
    assert config["name"] == name
    assert list(config["evaluation"]) == ["tasks"]
    assert not config.get("explainer")
