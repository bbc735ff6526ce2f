"""Arguments of the wrong kind: columns in place of their names, and keys in place of overrides."""

import inspect

import numpy as np
import pandas as pd
import pytest

import bmx_grid as bmx
from bmx_grid.core.errors import BmxError, ConfigError

N = 24
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "seg_id": [str(row // 3) for row in range(N)],
        "system": list("ABC") * 8,
        "ref": [f"ref {row // 3} x" for row in range(N)],
        "mt": [f"mt {row} x" for row in range(N)],
        "score": RNG.normal(size=N),
    }
)
FRAME["m1"] = FRAME["score"] + RNG.normal(size=N)
COMPARED = {"frame": FRAME, "metrics": ["m1"], "human": "score", "resamples": 50}
BOOSTED = {"scores": FRAME["m1"], "attributions": [[0.1, 0.2]] * N, "human": FRAME["score"], "p": 1, "w": 0.5}
SCORED = {"frame": FRAME, "limit": 4}
SWEPT = {"sweep": "quickstart", "limit": 2, "quiet": True, "dry_run": True}
# A function of the front door with arguments that it takes, and the names of those that are names or numbers.
CALLS = {
    "compare": (COMPARED, ["human", "by", "level", "statistic", "resamples", "seed", "language_pair", "decimal"]),
    "grid": (SCORED, ["language_pair", "decimal", "metric", "explainer", "output_dir", "quiet"]),
    "boost": (BOOSTED, ["side", "correlation", "p", "w", "resamples", "seed"]),
    "run": (SWEPT, ["sweep", "metric", "explainer", "limit", "output_dir", "config_dir", "quiet", "settings"]),
    "load": ({"metric": "chrf"}, ["metric", "explainer", "p", "w", "recipe", "language_pair", "settings"]),
    "analyse": ({"runs": ["one", "other"]}, ["correlation", "resamples", "seed", "runs"]),
}
NAMED = [(function, argument) for function, (_, arguments) in CALLS.items() for argument in arguments]
COLUMNS = {
    "series": FRAME["score"],
    "texts": FRAME["system"].astype(object),
    "array": FRAME["score"].to_numpy(),
    "no dimensions": np.array({"m1"}),
    "dictionary of a series": {"a": FRAME["score"]},
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize(("function", "argument"), NAMED)
def test_a_column_in_place_of_a_name_or_number_is_one_sentence(function, argument, column, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments, _ = CALLS[function]
    with pytest.raises(BmxError) as caught:
        getattr(bmx, function)(**{**arguments, argument: column})
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 1_500


@pytest.mark.parametrize(
    "texts", [5, "a b", map(str, range(N)), np.array("a"), {"hypothesis": 5}], ids=lambda x: type(x).__name__
)
def test_texts_that_are_no_list_are_refused(texts):
    with pytest.raises(BmxError, match=r"texts of the hypothesis: expected a list of 24 texts, got a \w+\."):
        bmx.boost(**BOOSTED, texts=texts)


@pytest.mark.parametrize("override", [{"limit": 3}, 5, None, ["limit=3"]], ids=str)
def test_a_key_in_place_of_an_override_is_refused_with_the_way_to_write_it(override):
    with pytest.raises(ConfigError, match=r"overrides: expected texts .* run\('quickstart', limit=3\)"):
        bmx.run("quickstart", override, quiet=True)


def test_the_signature_of_a_sweep_names_what_is_given_most():
    assert {"metric", "explainer", "limit", "output_dir", "settings"} <= set(inspect.signature(bmx.run).parameters)


def test_the_package_shows_its_public_names_only():
    assert dir(bmx) == sorted(bmx.__all__)
    assert {"run", "Run", "grid", "compare", "boost", "analyse", "load", "BmxError"} <= set(dir(bmx))


IDS = np.arange(N) // 3


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param({"seg_id": IDS}, id="an array in a dictionary"),
        pytest.param({"seg_id": list(IDS)}, id="NumPy's numbers in a list"),
        pytest.param(pd.DataFrame({"seg_id": np.array(list(IDS), dtype=object)}), id="a column of objects"),
        pytest.param(pd.DataFrame({"seg_id": IDS.astype(np.uint8)}), id="small numbers"),
    ],
)
def test_whole_numbers_of_numpy_are_ids_as_those_of_python_are(frame):
    rest = {"system": list("ABC") * 8, "score": FRAME["score"].tolist(), "m1": FRAME["m1"].tolist()}
    expected = bmx.compare({"seg_id": IDS.tolist(), **rest}, ["m1"], human="score", resamples=40)
    whole = frame.assign(**rest) if isinstance(frame, pd.DataFrame) else {**frame, **rest}
    compared = bmx.compare(whole, ["m1"], human="score", resamples=40)
    assert compared.n_clusters == expected.n_clusters == 8
    correlations = pd.DataFrame(compared.correlations)
    pd.testing.assert_frame_equal(correlations, pd.DataFrame(expected.correlations), check_dtype=False)


class Unprintable:
    """Raises wherever it is shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


@pytest.mark.parametrize("column", ["seg_id", "system", "ref", "mt", "score", "m1"])
def test_a_value_that_cannot_be_printed_is_named_by_its_type(column):
    frame = FRAME.astype({column: object})
    frame.loc[3, column] = Unprintable()
    with pytest.raises(BmxError, match=r"row 4: .*a Unprintable \(it cannot be printed\)"):
        bmx.compare(**{**COMPARED, "frame": frame})


@pytest.mark.parametrize("column", ["seg_id", "system", "ref", "mt", "score", "m1"])
@pytest.mark.parametrize("value", [np.array([1.0, 2.0]), np.array([]), pd.Series([1])], ids=["two", "none", "a series"])
def test_an_array_in_a_cell_is_refused_with_its_row(column, value):
    """As Parquet's lists are in pandas. What an array is equal to has no truth value."""
    values = FRAME[column].tolist()
    values[3] = value
    frame = FRAME.assign(**{column: pd.Series(values, dtype=object)})
    with pytest.raises(BmxError, match="row 4: "):
        bmx.compare(**{**COMPARED, "frame": frame})


def test_ids_that_cannot_be_are_named_by_their_column():
    frame = FRAME.assign(seg_id=IDS + 0.5).drop(columns=["ref", "mt"])
    with pytest.raises(BmxError, match=r"seg_id.*0\.5"):
        bmx.compare(frame, ["m1"], human="score", resamples=40)
