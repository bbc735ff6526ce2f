"""Frames and series of other libraries in, the same kind out, with the numbers of pandas."""

import numpy as np
import pandas as pd
import pytest

import bmx_grid as bmx
from bmx_grid.core.errors import ConfigError

COLUMNS = {
    "id": ["1", "2", "3", "4", "5", "6"],
    "ref": ["the cat sat on the mat", "he went home", "it rains", "we have no time", "so it is", "well done"],
    "mt": ["a cat sat on a mat", "he goes at home", "it rained", "we do not have time", "so is it", "done well"],
    "DA": [0.8, 0.1, -0.9, 0.5, 0.3, None],
    "comet": [0.5, 0.3, 0.1, 0.6, 0.2, 0.9],
    "doc": [1, 1, 2, 2, None, 3],
}
# name: (a frame of columns, its class, its columns as lists)
KINDS = {
    "polars": ("polars", "DataFrame", lambda frame: frame.to_dict(as_series=False)),
    "polars, lazy": ("polars", "LazyFrame", lambda frame: frame.to_dict(as_series=False)),
    "arrow": ("pyarrow", "table", lambda frame: frame.to_pydict()),
    "dictionary": ("builtins", "dict", dict),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def kind(request):
    library, name, lists = request.param
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    return getattr(module, name), lists


def same(converted, expected):
    frame = pd.DataFrame(converted)
    pd.testing.assert_frame_equal(frame.fillna(np.nan), expected.fillna(np.nan), check_dtype=False)


def test_compare_and_grid_give_back_the_kind_that_came(kind):
    convert, lists = kind
    converted, pandas = convert(COLUMNS), pd.DataFrame(COLUMNS, dtype=object)
    compared = bmx.compare(converted, ["comet"], resamples=50)
    expected = bmx.compare(pandas, ["comet"], resamples=50)
    assert type(compared.correlations) is type(converted.collect() if hasattr(converted, "collect") else converted)
    same(lists(compared.correlations), expected.correlations)
    assert (compared.summary(), repr(compared)) == (expected.summary(), repr(expected))
    quick = {"metric": "chrf", "settings": {"grid.p.step": 10}}
    run = bmx.grid(converted, **quick)
    same(lists(run.settings), bmx.grid(pandas, **quick).settings)
    assert "chrF" in run.summary()


def test_boost_reads_series_and_gives_back_their_kind():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    rows = [[0.1, 0.3], [0.5, 0.2], [0.3], [0.2, 0.4, 0.6]]
    scores, human = [0.4, 0.9, 0.1, 0.3], [1.0, 2.0, 0.5, None]
    expected = bmx.boost(scores, rows, [1.0, 2.0, 0.5, np.nan], p=1, w=0.5)
    of_polars = bmx.boost(polars.Series(scores), polars.Series(rows), polars.Series(human), p=1, w=0.5)
    assert isinstance(of_polars.scores, polars.Series) and of_polars.scores.to_list() == expected.scores.tolist()
    assert of_polars.grid.columns[:2] == ["p", "0.0"] and len(of_polars.grid) == len(expected.grid)
    of_pandas = bmx.boost(pd.Series(scores), pd.Series(rows), p=1, w=0.5)
    assert of_pandas.scores.tolist() == expected.scores.tolist()


@pytest.mark.parametrize("value", [[1, 2], {"a": [1], "b": [1, 2]}, {"a": 1}, None])
def test_what_is_no_frame_is_refused(value):
    with pytest.raises(ConfigError, match="frame: expected a DataFrame of pandas or polars, an Arrow table or"):
        bmx.compare(value, ["a"])
