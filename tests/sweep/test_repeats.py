"""Seeds: random explainers again with other draws, kept per seed."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from bmx_grid.core.errors import ConfigError

SMALL = (
    *("+sweep=quickstart", "explainer=[erasure,lime]", "executor=sequential", "tracking=none", "analysis=false"),
    *("dataset.sample.language_pairs=[de-en,en-de]", "explainer.lime.num_samples=12", "limit=12"),
    *("evaluation=[grid]", "leave_out=[]", "grid.p.start=-2", "grid.p.stop=2", "grid.p.step=0.5"),
)


@pytest.fixture
def noted(sweep, tmp_path):
    """The small sweep with a metric that notes its calls; the number of failures."""

    def go(*overrides: str, out: str = "out", target: str = "HashMetric") -> int:
        metric = {"_target_": f"fakes.{target}", "log": str(tmp_path / "calls")}
        return sweep(*overrides, out=out, metrics={"hash": metric})

    return go


def calls(folder: Path) -> int:
    """How many texts were scored since the last time."""
    log = folder / "calls"
    count = sum(map(int, log.read_text().split())) if log.is_file() else 0
    log.unlink(missing_ok=True)
    return count


def gains(path: Path) -> dict[tuple, float]:
    rows = pq.read_table(path / "tables" / "seeds.parquet").to_pylist()
    return {tuple(row[name] for name in ("language_pair", "explainer", "seed", "point")): row["gain"] for row in rows}


def test_random_explainers_have_gains_of_every_seed_at_every_point_which_are_those_of_a_sweep_with_it(noted, tmp_path):
    assert noted("seeds=[2,0,1]") == 0
    by_key = gains(tmp_path / "out")
    points = ("published", "cross_fitted", "elsewhere", "best")
    expected = {(pair, "lime", seed, point) for pair in ("de-en", "en-de") for seed in range(3) for point in points}
    assert set(by_key) == expected, "and deterministic ones none"
    assert np.isfinite(list(by_key.values())).all()
    # not at the published point: its gains here are 1e-9, which is rounding
    assert len({round(by_key["de-en", "lime", seed, "best"], 6) for seed in range(3)}) == 3
    tables = [pq.read_table(tmp_path / "out" / "tables" / f"{name}.parquet") for name in ("settings", "scores", "grid")]
    assert [table.num_rows for table in tables] == [4, 4 * 12, 4 * 8 * 6]
    for seed in (0, 2):
        assert noted(f"seed={seed}", out=str(seed)) == 0
        for row in pq.read_table(tmp_path / str(seed) / "tables" / "settings.parquet").to_pylist():
            if row["explainer"] == "lime":
                key = row["language_pair"], "lime", seed
                assert by_key[*key, "best"] == row["best"] - row["baseline"]
                assert by_key[*key, "published"] == pytest.approx(row["fixed"] - row["baseline"], abs=1e-12)


def test_cached_seeds_score_nothing_and_a_further_one_only_its_own(noted, tmp_path, capsys):
    assert noted() == 0
    alone = calls(tmp_path)
    assert noted("seeds=[0,1]") == 0
    one_more = calls(tmp_path)
    assert 0 < one_more < alone  # LIME again, without Erasure
    before = (tmp_path / "out" / "tables" / "seeds.parquet").read_bytes()
    assert noted("seeds=[0,1]") == 0
    assert calls(tmp_path) == 0
    assert "is up to date" in capsys.readouterr().out
    assert noted("seeds=[1,0]", out="new") == 0
    assert calls(tmp_path) == 0
    assert (tmp_path / "new" / "tables" / "seeds.parquet").read_bytes() == before
    assert noted("seeds=[1,7]", out="new") == 0
    assert 0 < calls(tmp_path) <= one_more + 12
    assert {key[2] for key in gains(tmp_path / "new")} == {0, 1, 7}  # the seed of the sweep always


@pytest.mark.parametrize(
    "more", [("leave_out=[*/*/*/lime]", "seeds=[1,2]"), ("seeds=[0]",)], ids=["no draws", "its own"]
)
def test_where_nothing_is_repeated_there_is_a_sentence_and_no_table(noted, tmp_path, capsys, more):
    assert noted(*more) == 0
    assert "nothing is repeated" in " ".join(capsys.readouterr().out.split())
    assert not (tmp_path / "out" / "tables" / "seeds.parquet").exists()


def test_the_plan_shows_what_seeds_cost_and_scores_nothing(noted, tmp_path, capsys):
    assert noted("seeds=[1,4]", "dry_run=true") == 0
    printed = capsys.readouterr().out
    for seed in (1, 4):
        assert f"sample · de-en · hash · lime · seed {seed} " in printed
    assert "erasure · seed" not in printed and calls(tmp_path) == 0


def test_what_failed_fails_with_every_seed(noted, tmp_path):
    assert noted("seeds=[1]", target="BrokenMetric") == 6
    assert not (tmp_path / "out" / "tables" / "seeds.parquet").exists()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        pytest.param(["seeds=[0,-1]"], "seeds: a seed must be 0 or more, .* got -1", id="negative"),
        pytest.param(["seeds=[1,2,1]"], "a seed is repeated", id="twice"),
        pytest.param([f"seeds={list(range(101))}".replace(" ", "")], "at most 100", id="too many"),
        pytest.param(["seeds=[0.5]"], "seeds", id="no whole number"),
        pytest.param(["seeds=[1]", "evaluation=[boosts]"], "add grid to evaluation", id="without a grid"),
    ],
)
def test_seeds_that_cannot_be_are_refused(noted, overrides, message):
    with pytest.raises(ConfigError, match=message):
        noted(*overrides)
