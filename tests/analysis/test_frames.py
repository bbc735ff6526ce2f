"""The tables beside a grid: which are read, and that those of another grid are not."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from some_frames import NAMES, frames, verdicts
from some_tables import peaked, rows

from bmx_grid.analysis.load import frames_beside, frames_of, load_table
from bmx_grid.analysis.table import Basis, Frames

GAINS = {("d", pair, "m", "lime"): gain for pair, gain in zip("abcd", (0.1, 0.02, -0.03, 0.01), strict=True)}
FRAMES = {**frames(GAINS), "verdicts": verdicts({}, {"boost": "spread"})}


@pytest.fixture
def folder(tmp_path):
    """A grid with tables beside it, one of them damaged."""
    pq.write_table(rows({names: peaked(0.5, gain=gain) for names, gain in GAINS.items()}), tmp_path / "grid.parquet")
    for name, frame in FRAMES.items():
        made = pa.Table.from_pandas(frame)
        codes = made.column("dataset").dictionary_encode()
        pq.write_table(made.set_column(0, "dataset", codes), tmp_path / f"{name}.parquet")
    (tmp_path / "seeds.parquet").write_bytes(b"PAR1 damaged")
    of_pairs = pa.table({name: ["a"] for name in ("dataset", "language_pair", "human")})
    pq.write_table(of_pairs, tmp_path / "ceilings.parquet")
    pq.write_table(of_pairs.select(["dataset", "human"]), tmp_path / "ranks.parquet")
    return tmp_path


def settings(baseline):
    """The table that says which grid the files belong to."""
    names = {name: [one[at] for one in GAINS] for at, name in enumerate(NAMES)}
    basis = {"correlation": ["pearson"] * 4, "aggregation": ["PowerMean"] * 4, "n_segments": [500] * 4}
    return pa.table({**names, **basis, "baseline": [baseline] * 4, "n_used": [500] * 4})


@pytest.mark.parametrize(
    ("baseline", "known"),
    [
        pytest.param(0.5, {*FRAMES, "ceilings", "settings"}, id="readable tables of settings or language pairs"),
        pytest.param(0.5 + 1e-13, {*FRAMES, "ceilings", "settings"}, id="a baseline rounded otherwise"),
        pytest.param(0.5 + 1e-9, set(), id="of another grid"),
        pytest.param(None, set(), id="nothing says that the files belong together"),
    ],
)
def test_tables_beside_a_grid_are_read_and_those_of_another_grid_are_not(folder, baseline, known):
    if baseline is not None:
        pq.write_table(settings(baseline), folder / "settings.parquet")
    found = frames_beside(load_table(folder))
    assert set(found) == known
    for name in known & set(FRAMES):
        assert found[name]["dataset"].tolist() == FRAMES[name]["dataset"].tolist(), "names, not codes"


def test_large_tables_are_left_to_the_user(monkeypatch):
    monkeypatch.setattr("bmx_grid.analysis.load.MOST_ROWS", 3)
    made = {"points": pa.table({"w": [1.0] * 3}), "scores": pa.table({"base": [1.0] * 4}), "grid": pa.table({"p": [0]})}
    assert set(frames_of(made)) == {"points"}


def of_settings(**changes):
    import pandas as pd

    names = {"dataset": "wmt17", "language_pair": ["cs-en", "cs-en", "de-en"], "metric": "chrf", "explainer": "lime"}
    counts = {"n_segments": [120, 120, 600], "n_used": [100, 99, 560]}
    return {
        "settings": pd.DataFrame({**names, "correlation": "pearson", "aggregation": "PowerMean", **counts, **changes})
    }


def test_the_basis_counts_the_most_segments_of_any_setting_of_a_pair():
    cs, de = ("wmt17", "cs-en"), ("wmt17", "de-en")
    assert Frames(of_settings()).basis == Basis("pearson", "PowerMean", {cs: 120, de: 600}, {cs: 100, de: 560})
    assert Frames({}).basis == Basis()
    found = Frames(of_settings(correlation=["pearson", "kendall", "pearson"])).basis
    assert (found.correlation, found.aggregation) == (None, "PowerMean"), "what settings do not share is not known"
