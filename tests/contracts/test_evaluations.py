"""What every option of configs/evaluation promises. A new YAML file is covered without a line here."""

import dataclasses
from typing import ClassVar

import numpy as np
import pytest
from fakes import HashMetric, composed
from some_settings import finished, made_elsewhere, tagged

from bmx_grid.core.configure import ALLOWED_PACKAGES, build, options
from bmx_grid.core.errors import ConfigError
from bmx_grid.evaluations.base import Evaluation, columns_of
from bmx_grid.explainers.erasure import Erasure

SETTINGS = {
    "thirty segments": lambda: finished(),
    "the metric alone": lambda: finished(explainer=None),
    "nobody rated": lambda: finished(human=np.full(30, np.nan)),
    "some rated": lambda: finished(human=np.where(np.arange(30) % 3 == 0, np.nan, np.arange(30.0))),
    "all judgements equal": lambda: finished(human=np.ones(30)),
    "two segments": lambda: finished(n=2),
    "no segments": lambda: finished(n=0),
    "words are tagged": lambda: tagged(),
    "words are tagged, and labelled elsewhere": lambda: made_elsewhere(
        tagged(),
        values=[-1.0 * row for row in tagged().segments.judgements.tags["hypothesis"].labels.rows()],
        labels=True,
    ),
    "one tagged segment": lambda: tagged(n=1),
}


@pytest.fixture(scope="module", params=options("evaluation"))
def evaluation(request) -> Evaluation:
    config = composed(f"evaluation=[{request.param}]")
    return build(config["evaluation"][request.param], Evaluation, f"evaluation.{request.param}")


@pytest.fixture(scope="module")
def quick(evaluation) -> Evaluation:
    """The evaluation with the fewest draws, of which no promise depends: they are most of the time it takes.

    Of the tests' resamples 400 are left: with fewer each of them is done again, with more.
    """
    fewest = {"resamples": 400 if "tests" in evaluation.ROWS else 40}
    return dataclasses.replace(evaluation, **{name: n for name, n in fewest.items() if hasattr(evaluation, name)})


def completed(evaluation, setting):
    """The result of a sweep of one setting."""
    (result,) = evaluation.evaluate([setting])
    return result


@pytest.mark.parametrize("setting", SETTINGS)
def test_rows_have_the_declared_columns_and_types(quick, setting):
    evaluation, finished_setting = quick, SETTINGS[setting]()
    result = completed(evaluation, finished_setting)
    for table, columns in evaluation.columns(result).items():
        assert len({len(column) for column in columns.values()}) == 1
        for name, kind in columns_of(evaluation.ROWS[table]).items():
            values = [value.item() if isinstance(value, np.generic) else value for value in columns[name]]
            expected = {"text": str, "number": float, "count": int, "flag": bool}[kind]
            assert all(isinstance(value, expected) for value in values), name
    for values in evaluation.segment_columns(result).values():
        assert len(values) == len(finished_setting.segments)


def test_the_same_setting_gives_the_same_rows(quick):
    first, second = (quick.columns(completed(quick, finished())) for _ in range(2))
    for table, columns in first.items():
        for name, values in columns.items():
            np.testing.assert_array_equal(np.asarray(values), np.asarray(second[table][name]))


def test_what_is_left_out_has_the_value_of_its_file(evaluation):
    """Made in Python or of its file, it is the same evaluation."""
    of_class = {field.name: field.default for field in dataclasses.fields(evaluation) if field.init}
    of_file = {name: getattr(evaluation, name) for name in of_class}
    defaults = {name: value for name, value in of_class.items() if value is not dataclasses.MISSING}
    assert defaults == {name: of_file[name] for name in defaults}


def test_it_asks_no_metric(quick):
    class Silent(HashMetric):
        def score(self, items):
            raise AssertionError("an evaluation reads stored scores only")

    setting = finished()
    completed(quick, dataclasses.replace(setting, metric=Silent(), explainer=Erasure()))


@pytest.mark.parametrize(
    ("option", "n_segments", "seconds"),
    [
        pytest.param("grid", 1000, 1000 * 600 * 6 / 4e7, id="600 p and 6 w, 4e7 points a second"),
        pytest.param("significance", 100, 0.2 + 100 * 1000 * 600 / 1e9, id="1,000 resamples"),
        # the grid, 10 folds, 1,000 resamples of 6 scores
        pytest.param("boosts", 560, 11 / 400 + 600 * 560 / 4e7 + 6 * 560 * 1000 / 1e7 + 1.5 * 0.28**2, id="boosts"),
    ],
)
def test_the_estimate_of_a_dry_run_is(option, n_segments, seconds):
    evaluation = build(composed(f"evaluation=[{option}]")["evaluation"][option], Evaluation, f"evaluation.{option}")
    assert evaluation.cost(n_segments) == pytest.approx(seconds)


@dataclasses.dataclass(frozen=True)
class Half:
    n: int


class WithoutAnswer(Evaluation):
    ROWS: ClassVar = {"half": Half}


def test_an_evaluation_without_an_answer_is_not_built(monkeypatch):
    monkeypatch.setenv(ALLOWED_PACKAGES, __name__)
    with pytest.raises(ConfigError, match="is abstract"):
        build({"_target_": f"{__name__}.WithoutAnswer"}, Evaluation, "evaluation.half")
