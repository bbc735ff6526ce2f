"""What is said on a terminal: before a sweep runs, which numbers will be undefined; at its end, what failed."""

import numpy as np
import pytest
from some_results import make_result

from bmx_grid.core.errors import UnavailableError
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.models.files import check_model
from bmx_grid.report.table import WIDTH, sentences, width_of
from bmx_grid.report.terminal_lines import cautions, failures, setting_line
from bmx_grid.sweep.plan import make_plan
from bmx_grid.sweep.settings import NotRun, PlanOptions

NAN = np.nan


def cautions_of(tmp_path, human, sources, pairs=("de-en",)):
    """The cautions of a metric alone on segments with these human scores and sources."""

    class Given(DatasetReader):
        def pairs(self, data_dir):
            return pairs

        def needs(self, language_pair):
            return []

        def load_segments(self, data_dir, language_pair):
            segments = tuple(
                Segment(str(number), f"{language_pair} {source}", f"{language_pair} the same as {source}", f"h{number}")
                for number, source in enumerate(sources)
            )
            return SegmentSet(self.name, language_pair, segments, Judgements({"da": np.array(human, float)}), "here")

    options = PlanOptions(data_dir=tmp_path, cache_dir=tmp_path)
    return cautions(make_plan({"toy": Given(name="toy")}, {"chrf": Chrf()}, {}, options))


@pytest.mark.parametrize(
    ("human", "sources", "expected"),
    [
        pytest.param([1, 2, 3, 4], "abcd", (), id="nothing to say"),
        pytest.param([1, 2, NAN, NAN], "abcd", ("de-en has 2 rated segments; a correlation needs 3",), id="two rated"),
        pytest.param([0.5, 0.5, 0.5, NAN], "abcd", ("all 3 human scores of toy · de-en are 0.5; a",), id="all alike"),
        pytest.param([1, 2, 3, NAN], "aaab", ("of toy · de-en are 1 cluster (those that share",), id="an unrated one"),
        pytest.param([7, 7, 7, 7], "aabb", ("all 4 human scores", "are 2 clusters"), id="both"),
    ],
)
def test_what_will_be_undefined_is_said_once(tmp_path, human, sources, expected):
    lines = cautions_of(tmp_path, human, sources)
    assert len(lines) == len(expected)
    for line, part in zip(lines, expected, strict=True):
        assert line.startswith("warning: ") and part in line and line.endswith(".")


def test_of_many_parts_five_are_named(tmp_path):
    pairs = ("cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en")
    (line,) = cautions_of(tmp_path, [3, 3, 3], "abc", pairs)
    assert "ru-en are 3 and 2 more; a correlation" in line and "tr-en" not in line


def test_failures_for_one_reason_are_one_line_that_cannot_command_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    refused = [NotRun("failed", name, "no model") for name in "abcde"]
    refused.append(NotRun("failed", "f\nb\x1b[2J", "c\x07"))
    expected = ["failed: 6", "  a and 4 more: no model", "  f\\nb\\x1b[2J: c\\x07"]
    assert failures(refused).splitlines() == expected and failures([]) == ""


@pytest.mark.parametrize("width", [40, 80, 300])
def test_every_line_fits_the_terminal(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = sentences(["LIME on chrF: " + "word " * 60, "短い " * 60])
    printed = f"{lines}\n{failures([NotRun('failed', 'd', 'the reason of it ' * 20)])}"
    assert max(map(width_of, printed.splitlines())) <= 2 * min(width, WIDTH)


def test_the_line_of_a_setting_has_the_correlation_of_the_metric_and_no_gain(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    line = setting_line(make_result(), 1, 9, set())
    assert ": baseline 0.5000, " in line and "gain" not in line and "published" not in line
    failed = NotRun("failed", "sample · de-en · a_metric · lime", "the reason of it " * 9)
    for text in (line, setting_line(failed, 1, 9, set())):
        assert max(map(width_of, text.splitlines())) <= 80


def test_models_that_are_missing_for_one_cause_are_one_block(monkeypatch):
    monkeypatch.setattr("bmx_grid.models.files.hub_is_closed", lambda: True)
    models = [("org/a", None), ("org/b", None), ("c", "f" * 40)]
    refused = []
    for model, revision in models:
        with pytest.raises(UnavailableError) as caught:
            check_model(model, revision)
        refused.append(NotRun("failed", f"setting of {model}", str(caught.value)))
    printed = " ".join(failures([*refused, refused[0], NotRun("failed", "other", "no model")]).split())
    assert printed.startswith(
        "failed: 5 setting of org/a and 2 more: model 'MODEL' (revision REVISION) cannot be loaded: "
    )
    assert printed.count("cannot be loaded") == 2
    assert "MODEL and REVISION are: org/a main, org/b main" in printed
    assert f"setting of c: model 'c' (revision {'f' * 40})" in printed and printed.endswith("other: no model")
