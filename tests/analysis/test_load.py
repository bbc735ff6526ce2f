"""Results tables from files and rows, and everything that can be wrong with them."""

import gzip
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from some_tables import P, W, flat, peaked, random_surfaces, rows, table

from bmx_grid.analysis.load import from_arrow, load_table, read_frame
from bmx_grid.analysis.table import FACTORS
from bmx_grid.core.errors import DataError, DataMissingError

SURFACES = random_surfaces(0)
ONE = ("d1", "a", "m1", "lime")


def without(arrow, mask):
    return arrow.filter(pc.invert(mask))


def of(arrow, names):
    return pc.and_(
        pc.and_(pc.equal(arrow["dataset"], names[0]), pc.equal(arrow["language_pair"], names[1])),
        pc.and_(pc.equal(arrow["metric"], names[2]), pc.equal(arrow["explainer"], names[3])),
    )


def replaced(arrow, column, values):
    return arrow.set_column(arrow.column_names.index(column), column, values)


@pytest.mark.parametrize("order", ["as written", "shuffled", "w slowest"])
def test_rows_in_any_order_become_the_same_arrays(order):
    arrow = rows(SURFACES)
    if order == "shuffled":
        arrow = arrow.take(np.random.default_rng(1).permutation(arrow.num_rows))
    elif order == "w slowest":
        arrow = arrow.sort_by([("w", "descending"), ("p", "descending")])
    found = from_arrow(arrow)
    assert np.array_equal(found.p, P)
    assert np.array_equal(found.w, W)
    assert sorted(SURFACES) == sorted(tuple(one) for one in found.settings)
    for row, one in enumerate(found.settings):
        assert np.array_equal(found.correlation[row], SURFACES[tuple(one)])
        assert found.baseline[row] == SURFACES[tuple(one)][0, -1]
    assert found.left_out == ()


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_files_hold_the_same(tmp_path, suffix):
    arrow = rows(SURFACES)
    file = tmp_path / f"t{suffix}"
    if suffix == ".parquet":
        pq.write_table(arrow, file, row_group_size=50)
    else:
        csv.write_csv(arrow, tmp_path / "t.csv")
        if suffix == ".csv.gz":
            file.write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    assert np.array_equal(load_table(file).correlation, from_arrow(arrow).correlation)


def test_powers_with_the_rounding_of_a_loop_are_those_of_the_grid():
    noisy = np.array([-2.0 + 0.1 * step for step in range(len(P))])
    assert not np.array_equal(noisy, P)
    assert np.array_equal(table({ONE: flat()}, p=noisy).p, P)


HOSTILE = {
    "a path": "x/../../../tmp/evil",
    "a parent folder": "..",
    "a line break": "lime\n\\input{/etc/passwd}",
    "a tag": "<script>alert(1)</script>",
    "a formula": "=cmd|' /C calc'!A0",
    "an escape": "\x1b[2J",
    "a turned line": "abc\u202egpj",
    "nothing": "",
    "81 characters": "m" * 81,
}
ARROW = rows(SURFACES)
FIRST = of(ARROW, ONE)


@pytest.mark.parametrize(
    ("arrow", "message"),
    [
        pytest.param(ARROW.drop_columns(["side", "p"]), "no column side, p; a results table has", id="columns missing"),
        pytest.param(ARROW.slice(0, 0), "no rows", id="empty"),
        pytest.param(without(ARROW, pc.equal(ARROW["w"], 1.0)), "no row has w = 1", id="no baseline at all"),
        pytest.param(
            replaced(ARROW, "side", pa.array(["hypothesis"] * 3 + ["both"] * (ARROW.num_rows - 3))),
            r"sides both \(1,437 rows\) and hypothesis \(3 rows\); choose one with side=",
            id="two sides",
        ),
        pytest.param(
            replaced(ARROW, "side", pa.array(["bothe"] * ARROW.num_rows)), "unknown side 'bothe'", id="unknown side"
        ),
        pytest.param(
            replaced(ARROW, "metric", pa.array(["m", None] * (ARROW.num_rows // 2))),
            "row 2 has no metric",
            id="no name",
        ),
        pytest.param(
            replaced(ARROW, "metric", pa.array([[1]] * ARROW.num_rows)),
            "column metric holds list<.*>, not names; write them as text",
            id="lists for names",
        ),
        pytest.param(
            replaced(ARROW, "metric", pa.array([b"m\xff"] * ARROW.num_rows, pa.binary()).view(pa.string())),
            "column metric holds text that is not UTF-8",
            id="broken text",
        ),
        *[
            pytest.param(
                replaced(ARROW, column, pa.array(["fine", "fine", name] + ["fine"] * (ARROW.num_rows - 3))),
                f"row 3: the {said} .* cannot be part of file names",
                id=f"{column}: {why}",
            )
            for column, said in (
                ("explainer", "explainer"),
                ("dataset", "data set"),
                ("language_pair", "language pair"),
            )
            for why, name in HOSTILE.items()
        ],
        pytest.param(
            replaced(ARROW, "correlation", pa.array(["high"] * ARROW.num_rows)),
            "column correlation holds string, not numbers",
            id="words for numbers",
        ),
        pytest.param(
            replaced(ARROW, "correlation", pa.array([0.1, 1.5, -2.5] + [0.0] * (ARROW.num_rows - 3))),
            r"row 2 has the correlation 1.5, which is not within \[-1, 1\]",
            id="no correlation",
        ),
        pytest.param(
            replaced(ARROW, "p", pa.array([0.0, float("inf")] + [0.0] * (ARROW.num_rows - 2))),
            "row 2 has no finite p",
            id="infinite p",
        ),
        pytest.param(
            replaced(ARROW, "w", pa.array([0.0, 1.0, None] + [0.0] * (ARROW.num_rows - 3))),
            "row 3 has no finite w",
            id="no w",
        ),
        pytest.param(
            replaced(ARROW, "w", pc.multiply(ARROW["w"], 100.0)), r"w = 50 is outside \[0, 1\]", id="w in percent"
        ),
        pytest.param(
            replaced(pa.concat_tables([ARROW] * 5), "p", pa.array(np.arange(5.0 * ARROW.num_rows))),
            "share no grid",
            id="no common grid",
        ),
        pytest.param(
            replaced(ARROW, "correlation", pa.array([float("nan")] * ARROW.num_rows)),
            r"no setting is left to analyse\. Left out: 12 settings: the correlation at w = 1.* undefined",
            id="only NaN",
        ),
    ],
)
def test_what_cannot_be_analysed_is_named(arrow, message):
    with pytest.raises(DataError, match=message):
        from_arrow(arrow)


@pytest.mark.parametrize("name", ["数" * 16, "XMoverScore (en) 2.0", "chrF++", "متر", "m" * 50], ids=len)
def test_awkward_names_are_names(name):
    assert table({(name, name, name, name): flat()}).settings == ((name,) * 4,)


def test_a_file_name_cannot_write_more_than_its_line():
    with pytest.raises(DataError) as caught:
        from_arrow(ARROW.slice(0, 0), origin="a\nerror: all is lost\x1b[31m")
    assert str(caught.value).startswith("a\\nerror: all is lost\\x1b[31m: the table has no rows")


def test_files_that_are_not_there_or_no_table(tmp_path):
    with pytest.raises(DataMissingError, match=r"no results table .*grid\.parquet"):
        load_table(tmp_path)
    (tmp_path / "t.parquet").write_text("PAR1 and then not")
    with pytest.raises(DataError, match=r"t\.parquet: not a readable"):
        load_table(tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("a,b\n1\n")
    with pytest.raises(DataError, match=r"t\.csv: not a readable"):
        load_table(tmp_path / "t.csv")
    with pytest.raises(DataError, match=r"this one a, b\.$"):
        from_arrow(pa.table({"a": [1], "b": [2]}))
    with pytest.raises(DataError, match=r"this one none\.$"):
        from_arrow(pa.table({}))


def test_one_side_of_two_is_taken_and_the_other_counted():
    both, hypothesis = rows({ONE: peaked(-1.0)}), rows({ONE: peaked(1.0)}, side="hypothesis")
    found = from_arrow(pa.concat_tables([both, hypothesis]), side="hypothesis")
    assert found.side == "hypothesis"
    assert found.p[np.argmax(found.correlation[0].max(axis=1))] == 1.0
    assert found.left_out == ("120 rows: another side than hypothesis (e.g. both: 120)",)
    other = from_arrow(pa.concat_tables([both, hypothesis]), side="both")
    assert other.p[np.argmax(other.correlation[0].max(axis=1))] == -1.0
    with pytest.raises(DataError, match="no row of side 'hypothesis'"):
        from_arrow(both, side="hypothesis")


TWICE = pa.concat_tables([ARROW, ARROW.slice(0, 7)])
WIDER = rows({("d9", "a", "m", "lime"): np.pad(flat(), ((0, 5), (0, 0)), mode="edge")}, p=np.arange(-20, 25) / 10)


@pytest.mark.parametrize(
    ("arrow", "message"),
    [
        pytest.param(
            without(ARROW, pc.and_(FIRST, pc.equal(ARROW["w"], 1.0))),
            "t.csv: no row for d1 · a · m1 · lime at w = 1, p = -2: 40 of 120 points of this setting are missing. Run",
            id="a setting without w = 1",
        ),
        pytest.param(
            without(ARROW, pc.and_(FIRST, pc.equal(ARROW["p"], 0.3))),
            "d1 · a · m1 · lime at w = 0, p = 0.3: 3 of 120 points of this setting are missing. Run it again, or",
            id="a hole",
        ),
        pytest.param(
            without(ARROW, pc.equal(pc.add(ARROW["p"], ARROW["w"]), -2.0)),
            "1 of 120 points of this setting are missing, and 11 other settings lack points, too",
            id="of every setting",
        ),
        pytest.param(pa.concat_tables([ARROW, WIDER]), "points of this setting are missing", id="of another grid"),
        pytest.param(
            TWICE,
            "t.csv: d1 · a · m1 · lime at w = 0, p = -2 is given 2 times, in rows 1 and 1441, and 6 other points too",
            id="rows twice",
        ),
        pytest.param(
            pa.concat_tables([ARROW.slice(1), ARROW.slice(1, 1)]),
            "is given 2 times",
            id="a row twice in place of a missing one",
        ),
    ],
)
def test_a_missing_point_or_a_repeated_row_is_refused_by_name(arrow, message):
    with pytest.raises(DataError, match=re.escape(message)):
        from_arrow(arrow, origin="t.csv")


@pytest.mark.parametrize(
    ("n_w", "said"),
    [
        pytest.param(20, "points of this setting are missing", id="20 per row"),
        pytest.param(21, "1 settings with 6,000 different p and 21 different w in 6,000 rows share no grid", id="21"),
    ],
)
def test_tables_that_share_no_grid_are_refused_before_their_common_grid_is_laid_out(n_w, said):
    columns = {name: [value] * 6000 for name, value in zip(FACTORS, ONE, strict=True)}
    numbers = {"p": np.arange(6000.0), "w": np.arange(6000) % n_w / (n_w - 1), "correlation": np.zeros(6000)}
    with pytest.raises(DataError, match=said):
        from_arrow(pa.table({**columns, "side": ["both"] * 6000, **numbers}))


def test_undefined_points_are_counted_and_settings_without_a_baseline_left_out():
    holes, dead, wobbly = peaked(-1.0), flat(), flat()
    holes[3, 1] = holes[5, 2] = np.nan
    dead[:, 2] = np.nan
    wobbly[7, 2] += 0.01
    found = table({("d", name, "m", "lime"): one for name, one in zip("abc", (holes, dead, wobbly), strict=True)})
    assert [one.language_pair for one in found.settings] == ["a"]
    assert found.baseline[0] == 0.5
    undefined, varying, points = found.left_out
    assert undefined.startswith("1 setting: ") and undefined.endswith("(e.g. d · b · m · lime)")
    assert varying.startswith("1 setting: ") and varying.endswith("(e.g. d · c · m · lime)")
    assert points == "2 points: undefined (NaN) correlations (e.g. d · a · m · lime: 2)"


def test_a_damaged_table_beside_the_grid_is_named_with_the_way_out(tmp_path):
    file = tmp_path / "words.parquet"
    file.write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match=r"words\.parquet: not a readable Parquet file \(.*\); run the sweep again\."):
        read_frame(file)
