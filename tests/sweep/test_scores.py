"""scores.parquet: one row per segment and setting, enough for statistics of one's own."""

import numpy as np
import pandas as pd
import pytest
from fakes import composed

from bmx_grid.commands.sweep import run

CORE = ["dataset", "language_pair", "metric", "explainer", "id", "system", "cluster", "human", "human_name", "base"]


@pytest.fixture
def sweep(tmp_path, blank_figures):
    """Run a sweep of a table of one's own; its scores as a DataFrame."""
    rows = ["id\tsystem\tsource\treference\thypothesis\tscore"]
    for number in range(8):
        for system in "ab":
            human = "" if (number, system) == (3, "b") else str(number + (system == "b") / 2)
            rows.append(
                f"{number}\t{system}\tquelle {number}\tthe ref {number % 4}\tthe hyp {number} {system}\t{human}"
            )
    (tmp_path / "mine.tsv").write_text("\n".join(rows) + "\n")

    def go(*overrides):
        own = ("dataset=[tabular]", f"dataset.tabular.path={tmp_path / 'mine.tsv'}")
        own += ("dataset.tabular.language_pairs=[de-en]", "executor=sequential", "tracking=none", "analysis=false")
        own += ("evaluation=[grid]",)
        folders = (f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}")
        assert run(composed(*own, *folders, *overrides)) == 0
        return pd.read_parquet(tmp_path / "out" / "tables" / "scores.parquet")

    return go


def test_a_row_per_segment_and_setting_with_who_and_how_much(sweep, tmp_path):
    found = sweep("metric=[chrf,random]", "explainer=[erasure,lime]")
    assert list(found.columns[: len(CORE)]) == CORE
    assert len(found) == 2 * 2 * 16
    assert (
        found.groupby(["metric", "explainer"], observed=True)
        .apply(lambda one: (one.id + one.system).nunique())
        .eq(16)
        .all()
    )
    chrf = found[found.metric == "chrf"]
    assert chrf.words_source.isna().all() and (chrf.words_reference == 3).all() and (chrf.words_hypothesis == 4).all()
    assert (found[found.metric == "random"].words_source == 2).all()
    assert np.isnan(found.human).sum() == 4  # nobody rated 3:b
    settings = pd.read_parquet(tmp_path / "out" / "tables" / "settings.parquet").set_index(["metric", "explainer"])
    for names, rows in found.groupby(["metric", "explainer"], observed=True):
        rated = rows.dropna(subset="human")
        assert np.corrcoef(rated.base, rated.human)[0, 1] == pytest.approx(settings.loc[names, "baseline"], abs=1e-12)
        boosted = np.corrcoef(rated.boosted_published, rated.human)[0, 1]
        assert boosted == pytest.approx(settings.loc[names, "fixed"], abs=1e-12)


def test_segments_that_share_a_reference_are_one_cluster(sweep):
    found = sweep("metric=[chrf]", "explainer=[erasure]")
    clusters = found.groupby("cluster").id.apply(set).tolist()
    assert sorted(map(sorted, clusters)) == [["0", "4"], ["1", "5"], ["2", "6"], ["3", "7"]]


def test_without_an_explainer_there_are_scores_and_no_boosted_ones(sweep):
    found = sweep("metric=[chrf]", "explainer=[]")
    assert set(found.explainer) == {"none"}
    assert found.base.notna().all()
    assert found.boosted_published.isna().all()


def test_limit_counts_ids_each_with_all_its_systems(sweep):
    assert len(sweep("metric=[chrf]", "explainer=[]", "limit=3")) == 6
