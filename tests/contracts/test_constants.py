"""Constants and defaults that no result shows: sizes of blocks, guards of digits, what is kept, what is left out.

A neighbour of most of these numbers gives the same results in other memory, time or last digits, so that no other test
can see it. Each was chosen by a measurement, or by a convention: who changes one measures anew and says why here.
"""

import dataclasses
import importlib
import inspect
import math
import pkgutil

import pytest

import bmx_grid
from bmx_grid.evaluations.base import Evaluation
from bmx_grid.evaluations.verdicts import Judged

ROOMS = ("measures", "attribution", "analysis", "evaluations")
MODULES = {
    name.removeprefix("bmx_grid."): importlib.import_module(name)
    for room in ROOMS
    for _, name, _ in pkgutil.iter_modules([f"{bmx_grid.__path__[0]}/{room}"], f"bmx_grid.{room}.")
    if not name.endswith("__main__")
}


@pytest.mark.parametrize(
    ("name", "size"),
    [
        pytest.param("measures.resampling.CELLS", "16 MiB", id="resamples x pairs"),
        pytest.param("measures.resampling.AT_ONCE", "1 MiB", id="one pass over sorted pairs, in a processor's cache"),
        pytest.param("measures.resampling.EXACT_CELLS", "32 MiB", id="an enumeration of resamples"),
        pytest.param("measures.agreement.SIGNS_AT_ONCE", "16 MiB", id="signs of items x permutations"),
        pytest.param("measures.grid_means.WHOLE_CELLS", "512 MiB", id="all means of a setting"),
        pytest.param("measures.grid_means.CELLS", "256 MiB", id="means that are made together"),
        pytest.param("measures.grid_parts.CELLS", "16 MiB", id="segments x p of parts"),
        pytest.param("measures.grid_resampling.KEPT_CELLS", "128 MiB", id="points x resamples that are kept"),
        pytest.param("measures.weighted_grids.MOMENT_CELLS", "64 MiB", id="segments x moments"),
        pytest.param("measures.weighted_grids.BLEND_CELLS", "256 KiB", id="p x resamples, in a processor's cache"),
        pytest.param("measures.weighted_grids.WEIGHT_CELLS", "1 GiB", id="resamples x clusters"),
        pytest.param("evaluations.base.KEPT", "16 MiB", id="means of a setting that are kept"),
    ],
)
def test_arrays_of_float64_have_the_size_that_is_said(name, size):
    module, _, constant = name.rpartition(".")
    number, unit = size.split()
    assert getattr(MODULES[module], constant) * 8 == int(number) * {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[unit]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("measures.agreement.MAX_PAIRS", 1_000_000, id="pairs of segments for the calibration of ties"),
        pytest.param("measures.agreement.PAIRS_AT_ONCE", 500, id="pairs of systems in a permutation test"),
        pytest.param("measures.grid.MAX_POINTS", 1_000_000, id="8 MB of correlations of one setting"),
        pytest.param("measures.levels.SMALL", 32, id="groups up to this size are quicker together"),
        pytest.param("measures.resampling.SIGNS", 3000, id="9 million signs of 4 bytes: 36 MB"),
        pytest.param("measures.resampling.STRIPS", 4, id="more save fewer products than they cost"),
        pytest.param("measures.resampling.TOGETHER", 32, id="fewer read all pairs for little"),
        pytest.param("measures.power_sums.BLOCK_WORDS", 7000, id="no power of two"),
        pytest.param("measures.power_sums.EVEN_AT_LEAST", 8, id="below, two tables cost more than they save"),
        pytest.param("measures.power_sums.PIECE_WORDS", 96, id="longer rows are added up in pieces, for the digits"),
        pytest.param(
            "measures.power_sums.SMALL_EXPONENT", 0.5, id="up to here sums are taken pairwise, for the digits"
        ),
        pytest.param("measures.aggregation.NEAR_ZERO", 0.05, id="|p| below goes through expm1, for the digits"),
        pytest.param("measures.aggregation.PRECISION", 2e-14, id="the error of a mean that mpmath confirms"),
        pytest.param("measures.aggregation.SAFE_LOG", 450.0, id="half of it further no power overflows: exp(709)"),
        pytest.param("measures.correlation.CANCELLED", 1e-3, id="variance that must be left to trust moments"),
        pytest.param("measures.correlation.CENTRED", 1 / 400, id="variance below which means are centred first"),
        pytest.param("measures.correlation.ROUNDED", 1e-4, id="spread from which the scores' own rounding shows"),
        pytest.param("measures.resampling.LOST", 1e-6, id="variance that must be left of a resample's moments"),
        pytest.param("measures.weighted_grids.LOST", 1e-7, id="variance that must be left of a grid's moments"),
        pytest.param("measures.weighted_grids.ROUNDED", 1e3, id="times the rounding: a spread is looked at again"),
        pytest.param("measures.weighted_grids.FEW", 16, id="clusters up to this size are added segment by segment"),
        pytest.param("measures.placebos.NEGLIGIBLE", 1e-10, id="singular values below are those of collinear columns"),
        pytest.param("measures.best.TIE", 1e-12, id="correlations are not more exact"),
        pytest.param("measures.grid.EQUALLY_NEAR", 1e-9, id="grids carry rounding"),
        pytest.param("measures.one_vs_rest._NOTHING", 1e-9, id="of the sum of weights: below is rounding"),
        pytest.param("attribution.scorer.TEXTS_AT_ONCE", 5000, id="fills batches, and the progress display moves"),
        pytest.param("attribution.store.ATTEMPTS", 100, id="listings of a folder that changes meanwhile"),
        pytest.param("attribution.stored_tables.GROUP_ROWS", 65_536, id="rows that are damaged together"),
        pytest.param("analysis.density.BINS", 4096, id="within 1 % of the peak of the exact estimate"),
        pytest.param("analysis.density.POINTS", 256, id="enough to draw"),
        pytest.param("analysis.density.REACH", 4.0, id="less than 1e-4 of a value's mass lies outside"),
        pytest.param("analysis.load.DECIMALS", 10, id="published grids carry the rounding of their loops"),
        pytest.param("analysis.load.NOT_CONSTANT", 1e-6, id="rows with w = 1 differ by rounding only"),
        pytest.param("analysis.load.MOST_CELLS", 20, id="cells of the common grid for every row"),
        pytest.param("analysis.frames.MOST_ROWS", 200_000, id="of a table that is read whole"),
        pytest.param("analysis.boosts.MOST_ROWS", 12, id="fit a screen"),
        pytest.param("analysis.words.MOST_ROWS", 12, id="fit a screen"),
        pytest.param("analysis.words.MOST_SETTINGS", 400, id="rows of a table that is read"),
        pytest.param("analysis.shown.MOST_ROWS", 48, id="of a forest of single settings"),
        pytest.param("analysis.said.MOST_SINGLES", 4, id="single gains in a sentence"),
        pytest.param("analysis.tested.SAME", 1e-6, id="a gain and the difference that was tested, by rounding"),
        pytest.param("analysis.basis.EQUAL", 1e-12, id="baselines written twice from one number"),
        pytest.param("analysis.plausibility.RESAMPLES", 1000, id="as everywhere"),
        pytest.param("analysis.regression.RESAMPLES", 1000, id="as everywhere"),
        pytest.param(
            "evaluations.significance.NEAR", 10, id="p values up to ten times the smallest are looked at again"
        ),
        pytest.param("evaluations.significance.ENOUGH", 4, id="times the resamples that show one difference"),
        pytest.param("evaluations.significance.MOST_RESAMPLES", 200_000, id="of a family"),
    ],
)
def test_constants_are_what_was_measured(name, value):
    module, _, constant = name.rpartition(".")
    assert getattr(MODULES[module], constant) == value


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        pytest.param("measures.agreement._kept_signs", 4, id="the same signs for every metric and pair of systems"),
        pytest.param("measures.resampling._kept_draws", 4, id="the same draws for every metric and point"),
        pytest.param("measures.ordered.compiled", None, id="a kernel is compiled once in a process"),
        pytest.param("evaluations.agreement._known_rows", 8, id="the metric alone is the same with every explainer"),
        pytest.param("evaluations.base._statistics", 8, id="the same for every explainer"),
        pytest.param("evaluations.tagged_words._carried", 4, id="the same for every metric and explainer"),
    ],
)
def test_what_is_asked_again_is_kept(name, kept):
    module, _, function = name.rpartition(".")
    assert getattr(MODULES[module], function).cache_parameters()["maxsize"] == kept


@pytest.mark.parametrize(
    ("name", "version"),
    [
        pytest.param("evaluations.boosts.BoostEvaluation", 2, id="boosts"),
        pytest.param("evaluations.levels.LevelsEvaluation", 2, id="levels: ranks of systems were added"),
        pytest.param("evaluations.placebos.PlaceboEvaluation", 2, id="placebos"),
        pytest.param("evaluations.significance.SignificanceEvaluation", 2, id="significance"),
        pytest.param("evaluations.top_systems.TopSystemsEvaluation", 2, id="top systems: differences were added"),
        pytest.param("evaluations.grid.GridEvaluation", 1, id="grid"),
        pytest.param("evaluations.words.WordsEvaluation", 1, id="words"),
    ],
)
def test_a_version_is_raised_by_hand_where_results_change(name, version):
    """It is part of what results are kept under: another number computes every setting anew."""
    module, _, record = name.rpartition(".")
    assert version == getattr(MODULES[module], record).VERSION


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("evaluations.")])
def test_options_of_an_evaluation_are_named(module):
    for record in vars(MODULES[module]).values():
        if inspect.isclass(record) and issubclass(record, (Evaluation, Judged)) and record is not Evaluation:
            assert all(one.kw_only for one in dataclasses.fields(record)), record


def test_tables_beside_a_results_table_are_named():
    (frames,) = [one for one in dataclasses.fields(MODULES["analysis.given"].Given) if one.name == "frames"]
    assert frames.kw_only


# One value for each name wherever it is a default, so that a call without it means the same everywhere.
DEFAULTS = {
    "alpha": 0.05,
    "bootstrap": True,
    "brief": False,
    "clusters": 0,
    "clusters_better": 0,
    "confidence": 0.95,
    "copies": 1,
    "data": False,
    "ddof": 0,
    "draws": 3,
    "exact": False,
    "folds": 10,
    "independent": False,
    "lost": False,
    "many": False,
    "marked": False,
    "max_pairs": 1_000_000,
    "max_points": 1_000_000,
    "max_texts": 100_000,
    "n_texts": 0,
    "names": 1,
    "precision": 0.0,
    "rank_resamples": 0,
    "references": 100,
    "resamples": 1000,
    "seed": 0,
    "sentences": 5,
    "skip_refused": False,
    "splits": 100,
    "strict": False,
    "survives": False,
    "width": 0,
}
OTHERS = {
    "analysis.shown.pairs_to_compare most": 5,  # a figure has room for them
    "evaluations.tagged_words._names most": 3,  # examples in a table
    "evaluations.agreement.__init__ resamples": 0,  # no draws unless an interval is asked for
    "measures.cluster_means.cluster_mean resamples": 10_000,  # of few numbers, each of them cheap
    "measures.levels.grouped_acc_eq resamples": 0,  # no interval unless it is asked for
    "measures.levels.grouped_correlations resamples": 0,
    "measures.weighted_grids.of precision": 2e-14,  # of means, which a sample is made of
}


def defaults(module):
    """(name of function or record, of parameter or field, default) for those that are numbers."""
    owners = [module, *(one for one in vars(module).values() if inspect.isclass(one))]
    for owner in owners:
        if owner is not module and owner.__module__ != module.__name__:
            continue
        if dataclasses.is_dataclass(owner):
            yield from ((owner.__name__, one.name, one.default) for one in dataclasses.fields(owner))
        for name, one in list(vars(owner).items()):
            function = inspect.unwrap(getattr(one, "__func__", one))
            made = name == "__init__" and dataclasses.is_dataclass(owner)  # of the fields above
            if inspect.isfunction(function) and function.__module__ == module.__name__ and not made:
                yield from ((name, part.name, part.default) for part in inspect.signature(function).parameters.values())


@pytest.mark.parametrize("module", MODULES)
def test_defaults_are_the_same_everywhere(module):
    for owner, name, value in defaults(MODULES[module]):
        if isinstance(value, int | float) and not math.isnan(value):
            assert value == OTHERS.get(f"{module}.{owner} {name}", DEFAULTS.get(name)), (owner, name)


def test_other_defaults_are_those_of_something():
    found = {f"{module}.{owner} {name}" for module, own in MODULES.items() for owner, name, _ in defaults(own)}
    assert set(OTHERS) <= found
    assert set(DEFAULTS) <= {name.rpartition(" ")[2] for name in found}
