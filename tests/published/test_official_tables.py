"""The official table of WMT23's metrics task for en-de by one key, and the keys of the other shared tasks."""

import re

import numpy as np
import pandas as pd
import pytest
from score_trees import plant

from bmx_grid.api.compose import compose_config
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
    config = compose_config([f"tasks={name}"])
    assert config["name"] == name
    assert list(config["evaluation"]) == ["tasks"]
    assert not config.get("explainer")


N_ITEMS, SYSTEMS = 12, tuple("abcde")


@pytest.fixture
def scores():
    """Scores of people and of two metrics: [systems, items], with a part in common."""
    rng = np.random.default_rng(0)
    human = rng.normal(size=(len(SYSTEMS), N_ITEMS)) + np.arange(len(SYSTEMS))[:, None]
    return {"human": human, "A": human + rng.normal(size=human.shape), "B": human + 2 * rng.normal(size=human.shape)}


def blocks_of(values):
    """Lines of a .seg.score, and of a .sys.score."""
    rows = [f"{system}\t{value}\n" for system, of_system in zip(SYSTEMS, values, strict=True) for value in of_system]
    means = [f"{system}\t{value}\n" for system, value in zip(SYSTEMS, values.mean(axis=1), strict=True)]
    return "".join(rows), "".join(means)


def planted_tree(root, pairs, human, scores):
    """A test set with the metrics A by the standard reference of each pair, B without one, and slide of systems alone.

    pairs: pair -> its references, the standard one first.
    """
    for pair, (standard, *others) in pairs.items():
        files = {
            f"sources/{pair}.jsonl": "".join(f'{{"source": "source {pair} {row}"}}\n' for row in range(N_ITEMS)),
            f"documents/{pair}.docs": "".join(f"news doc{row // 3}\n" for row in range(N_ITEMS)),
        }
        for reference in (standard, *others):
            lines = [f'{{"target": "{reference} {row}"}}\n' for row in range(N_ITEMS)]
            files[f"references/{pair}.{reference}.jsonl"] = "".join(lines)
        for system in (*SYSTEMS, "MSLC"):
            lines = [f'{{"hypothesis": "{system} {row}\\nmore"}}\n' for row in range(N_ITEMS)]
            files[f"system-outputs/{pair}/{system}.jsonl"] = "".join(lines)
        of_segments, of_systems = blocks_of(scores["human"])
        files[f"human-scores/{pair}.{human}.seg.score"] = of_segments
        files[f"human-scores/{pair}.{human}.sys.score"] = of_systems
        names = {f"A-{standard}": scores["A"], "B-src": scores["B"], f"slide-{standard}": scores["A"]}
        names |= {f"A-{other}": -scores["A"] for other in others}
        for name, values in names.items():
            of_segments, of_systems = blocks_of(values)
            files[f"metric-scores/{pair}/{name}.sys.score"] = of_systems
            if not name.startswith("slide"):
                files[f"metric-scores/{pair}/{name}.seg.score"] = of_segments
        plant(root, files)


def own_data(folder, scores):
    """A table of translations, and files of scores: two with a row per translation, slide with one per system."""
    rows = [(system, row) for system in range(len(SYSTEMS)) for row in range(N_ITEMS)]
    texts = [
        (f"{row}", SYSTEMS[system], f"doc{row // 3}", f"source {row}", f"{SYSTEMS[system]} {row}")
        for system, row in rows
    ]
    table = pd.DataFrame(texts, columns=["id", "system", "document", "source", "hypothesis"])
    table.assign(score=scores["human"].ravel()).to_csv(folder / "mine.tsv", sep="\t", index=False)
    for name in "AB":
        table[["id", "system"]].assign(score=scores[name].ravel()).to_csv(folder / f"{name}.tsv", sep="\t", index=False)
    means = pd.DataFrame({"system": SYSTEMS, "score": scores["A"].mean(axis=1)})
    means.to_csv(folder / "slide.tsv", sep="\t", index=False)
    files = ", ".join(f"{name}: {folder}/{name}.tsv" for name in ("A", "B", "slide"))
    chosen = [f"dataset.tabular.path={folder}/mine.tsv", "dataset.tabular.language_pairs=[en-de]"]
    return ["dataset=[tabular]", *chosen, "metric=[imported]", f"metric.imported.files={{{files}}}"]


# the key: its language pairs with their references, its human score, and what slide, of systems alone, lacks
KEYS = {
    "wmt24": ({"en-de": ("refB", "refA"), "ja-zh": ("refA",)}, "mqm", "en-de, ja-zh: all tasks"),
    "wmt25": ({"en-ko_KR": ("refA",), "cs-de_DE": ("refA",)}, "esa", "cs-de_DE, en-ko_KR: all tasks"),
    "iwslt26": ({}, "", "en-de: all tasks"),
}


@pytest.mark.parametrize(("pairs", "human", "lacks"), KEYS.values(), ids=KEYS)
def test_in_every_shared_task_a_metric_of_systems_alone_is_left_out(
    tmp_path, scores, request, capsys, pairs, human, lacks
):
    key = request.node.callspec.id
    data = own_data(tmp_path, scores) if key == "iwslt26" else []
    planted_tree(tmp_path / "mt-metrics-eval-v2" / key, pairs, human, scores)
    where = [f"data_dir={tmp_path}", f"cache_dir={tmp_path}/cache", f"output_dir={tmp_path}/out", "tracking=none"]
    few = ["evaluation.tasks.resamples=40", "executor=sequential", "figures=page"]
    assert compose_and_run([f"tasks={key}", *data, *where, *few]) == 0
    printed = "".join(capsys.readouterr())
    assert re.search(rf"Metrics left out of the ranking.*\n\n.*\n-+\nslide +{re.escape(lacks)}\n", printed), printed
    ranking = pd.read_parquet(tmp_path / "out" / "tables" / "task_ranking.parquet").set_index("metric")
    assert list(ranking.sort_values("value", ascending=False).index) == ["A", "B" if key == "iwslt26" else "B-src"]
    n_tasks = 2 * max(len(pairs), 1)
    assert set(zip(ranking.n_tasks, ranking.n_left_out, strict=True)) == {(n_tasks, 0)}
