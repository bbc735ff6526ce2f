"""Results tables from files and rows, and everything that can be wrong with them; the tables beside them."""

import gzip
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from some_frames import NAMES, frames, verdicts
from some_tables import P, W, flat, peaked, random_surfaces, rows, table

from bmx_grid.analysis import metrics_and_people
from bmx_grid.analysis.base import SweepTables
from bmx_grid.analysis.load import from_arrow, load_table, sibling_tables
from bmx_grid.core.errors import DataError, DataMissingError
from bmx_grid.evaluations.base import columns_of
from bmx_grid.evaluations.level_rows import CorrelationRow
from bmx_grid.evaluations.stored_tables import Tables
from bmx_grid.evaluations.word_level import WordsRow
from bmx_grid.sweep import tables

SURFACES = random_surfaces(0)
ONE = ("d1", "a", "m1", "lime")
ARROW = rows(SURFACES)
FIRST = pc.and_(
    pc.and_(*(pc.equal(ARROW[n], v) for n, v in zip(NAMES[:2], ONE[:2], strict=True))), pc.equal(ARROW["metric"], "m1")
)


def without(mask):
    return ARROW.filter(pc.invert(mask))


def replaced(column, values):
    return ARROW.set_column(ARROW.column_names.index(column), column, pa.array(values))


def first(*values, then):
    """A column that begins with these values."""
    return [*values, *[then] * (ARROW.num_rows - len(values))]


def test_rows_in_any_order_become_the_same_arrays():
    shuffled = ARROW.take(np.random.default_rng(1).permutation(ARROW.num_rows))
    for arrow in (ARROW, shuffled, ARROW.sort_by([("w", "descending"), ("p", "descending")])):
        results_table = from_arrow(arrow)
        assert np.array_equal(results_table.p, P) and np.array_equal(results_table.w, W)
        assert sorted(SURFACES) == sorted(map(tuple, results_table.settings))
        for row, names in enumerate(results_table.settings):
            assert np.array_equal(results_table.correlation[row], SURFACES[tuple(names)])
            assert results_table.baseline[row] == SURFACES[tuple(names)][0, -1]
        assert results_table.left_out == ()


def test_every_kind_of_file_gives_the_same_table(tmp_path):
    csv.write_csv(ARROW, tmp_path / "t.csv")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    pq.write_table(ARROW, tmp_path / "t.parquet", row_group_size=50)
    for file in tmp_path.iterdir():
        assert np.array_equal(load_table(file).correlation, from_arrow(ARROW).correlation), file


def test_powers_with_the_rounding_of_a_loop_are_those_of_the_grid():
    noisy = np.array([-2.0 + 0.1 * step for step in range(len(P))])
    assert not np.array_equal(noisy, P)
    assert np.array_equal(table({ONE: flat()}, p=noisy).p, P)


WIDER = rows({("d9", "a", "m", "lime"): np.pad(flat(), ((0, 5), (0, 0)), mode="edge")}, p=np.arange(-20, 25) / 10)
BROKEN_TEXT = pa.array([b"m\xff"] * ARROW.num_rows, pa.binary()).view(pa.string())
PERCENT = pc.multiply(ARROW["w"], 100.0).combine_chunks()
REFUSED = {
    "columns missing": (ARROW.drop_columns(["side", "p"]), "no column side, p; a results table has"),
    "empty": (ARROW.slice(0, 0), "no rows"),
    "no baseline at all": (without(pc.equal(ARROW["w"], 1.0)), "no row has w = 1"),
    "two sides": (
        replaced("side", first("hypothesis", then="both")),
        "the sides both and hypothesis; keep the",
    ),
    "unknown side": (replaced("side", first(then="bothe")), "unknown side 'bothe'"),
    "no name": (replaced("metric", first("m", None, then="m")), "row 2 has no metric"),
    "lists for names": (replaced("metric", [[1]] * ARROW.num_rows), "list<item: int64>, not names; write them as text"),
    "broken text": (
        replaced("metric", BROKEN_TEXT),
        "holds string, not names; write them as text in UTF-8",
    ),
    "a path": (replaced("explainer", first("x", "x", "x/../../../tmp/evil", then="x")), "row 3: the explainer "),
    "a line break": (replaced("explainer", first("x", "x", "l\n\\input{/etc}", then="x")), "row 3: the explainer "),
    "an empty name": (replaced("explainer", first("x", "x", "", then="x")), "row 3: the explainer "),
    "words": (replaced("correlation", first(then="high")), "holds string, not numbers; correct"),
    "1.5": (replaced("correlation", first(0.1, 1.5, then=0.0)), "row 2 has a correlation outside [-1, 1]: 1.5"),
    "no p": (replaced("p", first(0.0, float("nan"), then=0.0)), "row 2 has no p"),
    "no w": (replaced("w", first(0.0, 1.0, None, then=0.0)), "row 3 has no w"),
    "infinite w": (replaced("w", first(0.0, float("inf"), then=0.0)), "row 2 has w outside [0, 1]"),
    "percent": (replaced("w", PERCENT), "row 2 has w outside [0, 1]"),
    "only NaN": (
        replaced("correlation", first(then=float("nan"))),
        "no setting is left to analyse. Left out: 12",
    ),
    "a setting without w = 1": (
        without(pc.and_(FIRST, pc.equal(ARROW["w"], 1.0))),
        "no row for d1 · a · m1 · lime at w = 1, p = -2: 40 of 120 points of this setting are missing. Run",
    ),
    "a hole": (
        without(pc.and_(FIRST, pc.equal(ARROW["p"], 0.3))),
        "d1 · a · m1 · lime at w = 0, p = 0.3: 3 of 120 points of this setting are missing. Run it again, or",
    ),
    "a hole of every setting": (
        without(pc.equal(pc.add(ARROW["p"], ARROW["w"]), -2.0)),
        "1 of 120 points of this setting are missing, and 11 other settings lack points, too",
    ),
    "of another grid": (pa.concat_tables([ARROW, WIDER]), "points of this setting are missing"),
    "no grid": (replaced("p", np.arange(1.0 * ARROW.num_rows)), "of 4,320 points of this setting are missing"),
    "rows twice": (
        pa.concat_tables([ARROW, ARROW.slice(0, 7)]),
        "t.csv: row 1441 repeats d1 · a · m1 · lime at w = 0, p = -2; keep one row for each point",
    ),
}


@pytest.mark.parametrize(("arrow", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_analysed_is_named(arrow, message):
    with pytest.raises(DataError, match=re.escape(message)):
        from_arrow(arrow, origin="t.csv")


def test_awkward_names_are_names():
    for name in ("数" * 16, "XMoverScore (en) 2.0", "chrF++", "متر", "m" * 50):
        assert table({(name, name, name, name): flat()}).settings == ((name,) * 4,)


def test_files_that_are_not_there_or_no_table(tmp_path):
    with pytest.raises(DataMissingError, match=r"results table not found: .*grid\.parquet"):
        load_table(tmp_path)
    (tmp_path / "other.parquet").touch()
    with pytest.raises(DataMissingError, match=r"grid\.parquet \(that folder holds other\.parquet\); give a"):
        load_table(tmp_path)
    for name, text in {"t.parquet": "PAR1 and then not", "t.csv": "a,b\n1\n"}.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(DataError, match=f"{name}: not a readable"):
            load_table(tmp_path / name)


def test_undefined_points_are_counted_and_settings_without_a_baseline_left_out():
    holes, dead, wobbly = peaked(-1.0), flat(), flat()
    holes[3, 1] = holes[5, 2] = np.nan
    dead[:, 2] = np.nan
    wobbly[7, 2] += 0.01
    surfaces = {"a": holes, "b": dead, "c": wobbly}
    results_table = table({("d", pair, "m", "lime"): surface for pair, surface in surfaces.items()})
    assert [setting.language_pair for setting in results_table.settings] == ["a"]
    assert results_table.baseline[0] == 0.5
    undefined, differing, points = results_table.left_out
    assert undefined.startswith("1 setting: the baseline is undefined") and "(e.g. d · b · m · lime)" in undefined
    assert differing == "1 setting: the baseline, at w = 1, differs between powers p (e.g. d · c · m · lime)"
    assert points == "2 points: undefined (NaN) correlations (e.g. d · a · m · lime: 2)"


GAINS = {("d", pair, "m", "lime"): gain for pair, gain in zip("abcd", (0.1, 0.02, -0.03, 0.01), strict=True)}
FRAMES = {**frames(GAINS), "verdicts": verdicts({})}


@pytest.fixture
def folder(tmp_path):
    """A grid with tables beside it."""
    pq.write_table(rows({names: peaked(0.5, gain=gain) for names, gain in GAINS.items()}), tmp_path / "grid.parquet")
    for name, frame in FRAMES.items():
        arrow = pa.Table.from_pandas(frame)
        codes = arrow.column("dataset").dictionary_encode()
        pq.write_table(arrow.set_column(0, "dataset", codes), tmp_path / f"{name}.parquet")
    return tmp_path


@pytest.mark.parametrize(
    ("baseline", "known"),
    [
        pytest.param(0.5, {*FRAMES, "settings"}, id="of this grid"),
        pytest.param(0.5 + 1e-13, {*FRAMES, "settings"}, id="a baseline rounded otherwise"),
        pytest.param(None, set(), id="nothing says that the files belong together"),
    ],
)
def test_tables_beside_a_grid_are_read_and_those_of_another_grid_are_not(folder, baseline, known):
    if baseline is not None:
        names = {name: [setting[place] for setting in GAINS] for place, name in enumerate(NAMES)}
        basis = {"correlation": ["pearson"] * 4, "aggregation": ["PowerMean"] * 4, "n_used": [500] * 4}
        basis |= {"repeat_deviation": [np.nan] * 4, "constructed": [False] * 4}
        pq.write_table(pa.table({**names, **basis, "baseline": [baseline] * 4}), folder / "settings.parquet")
    tables = sibling_tables(load_table(folder))
    assert set(tables) == (known and {*known, "grid"})
    for name in known & set(FRAMES):
        assert tables[name]["dataset"].tolist() == FRAMES[name]["dataset"].tolist(), "names, not codes"
    if known:
        (folder / "words.parquet").write_bytes(b"PAR1 and no more")
        with pytest.raises(DataError, match=r"words\.parquet: not a readable Parquet file \(.*\); run the sweep again"):
            sibling_tables(load_table(folder)).checked_table("words", WordsRow)


def beside(folder, table):
    """A folder with SURFACES, the settings of a sweep, and a table of correlations that `table` makes of a good one."""
    kinds = {**dict.fromkeys(NAMES, "text"), **CORRELATIONS}
    good = pa.table({name: [{"text": "x", "number": 0.5, "count": 1}[kind]] for name, kind in kinds.items()})
    pq.write_table(table(good), folder / "correlations.parquet")
    pq.write_table(ARROW, folder / "grid.parquet")
    results_table = load_table(folder)
    settings = pd.DataFrame(results_table.settings).assign(
        baseline=results_table.baseline, correlation="pearson", aggregation="PowerMean", n_used=9
    )
    settings = settings.assign(repeat_deviation=np.nan, constructed=False)
    settings.to_parquet(folder / "settings.parquet")
    return folder


CORRELATIONS = columns_of(CorrelationRow)


def with_column(name, values):
    return lambda table: table.set_column(table.column_names.index(name), name, pa.array(values))


EDITED = {
    "a column less": (lambda table: table.drop_columns(["value"]), "no column value"),
    "a column twice": (lambda table: table.append_column("value", table["value"]), "more than one column value"),
    "another column twice": (
        lambda table: table.append_column("mine", table["value"]).append_column("mine", table["value"]),
        "more than one column mine",
    ),
    "a row twice": (lambda table: pa.concat_tables([table, table]), "row 2 repeats x · x · x · x · x"),
    "a row of the same thing": (
        lambda table: pa.concat_tables([table, with_column("value", [0.25])(table)]),
        "row 2 repeats x · x · x · x · x",
    ),
    "lists for numbers": (with_column("value", [[1.0]]), "the column value holds list<"),
    "lists for texts": (with_column("point", [["base"]]), "the column point holds list<"),
    "structures": (with_column("metric", [{"a": 1}]), "the column metric holds struct<"),
    "texts for counts": (with_column("n_segments", ["1"]), "the column n_segments holds string, not counts"),
    "an empty cell": (with_column("level", pa.array([None], pa.string())), "the column level has empty cells"),
    "nothing but empty cells": (with_column("low", pa.nulls(1)), "the column low holds null, not numbers"),
}


@pytest.mark.parametrize(("edit", "message"), EDITED.values(), ids=EDITED)
def test_a_table_beside_it_that_was_edited_is_named(tmp_path, edit, message):
    with pytest.raises(DataError, match=rf"correlations\.parquet: .*{re.escape(message)}.*: run the sweep again"):
        sibling_tables(load_table(beside(tmp_path, edit))).checked_table("correlations", CorrelationRow)
    with pytest.raises(DataError, match=re.escape(message)):
        SweepTables(sibling_tables(load_table(tmp_path))).compute_once(metrics_and_people.compute)


@pytest.mark.parametrize("version", ["an earlier version", "bmx-grid 0.1.0"])
def test_settings_of_an_earlier_version_are_not_read_and_that_is_said(tmp_path, version, monkeypatch):
    file = beside(tmp_path, lambda table: table) / "settings.parquet"
    older = pq.read_table(file).drop_columns(["constructed"])
    if version == "an earlier version":
        pq.write_table(older, file)
    else:
        monkeypatch.setattr(tables, "__version__", "0.1.0")
        tables.write_parquet(older, file)
    with pytest.warns(UserWarning, match=rf"settings\.parquet: no column constructed; it was written by {version}, or"):
        assert not sibling_tables(load_table(tmp_path))


def test_a_table_beside_it_without_rows_is_read(tmp_path):
    frames = sibling_tables(load_table(beside(tmp_path, lambda table: table.slice(0, 0))))
    assert len(frames["correlations"]) == 0
    assert metrics_and_people.compute(SweepTables(frames))["correlations"].empty


def test_a_table_is_looked_up_by_its_name_without_reading_it(tmp_path):
    damaged = tmp_path / "settings.parquet"
    damaged.write_bytes(b"no table")
    tables = Tables({"settings": damaged})
    assert "settings" in tables
    assert "grid" not in tables


def test_a_sweep_whose_settings_all_failed_names_its_log(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "log.txt").write_text("failed")
    with pytest.raises(DataMissingError, match=r"holds no results: no setting .*log\.txt"):
        load_table(tmp_path)
