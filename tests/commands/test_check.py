"""`bmx-grid check`: the contract tests on a part of one's own, by its option or its class."""

import pytest

from bmx_grid.commands.check import main

METRIC = """from dataclasses import dataclass
import numpy as np
from bmx_grid.core.identity import identity
from bmx_grid.metrics.base import Metric


@dataclass(frozen=True)
class Own(Metric):
    reads = ("reference", "hypothesis")
    signature = "own"
    by_place: bool = identity(False)
    raises: bool = identity(False)

    def score(self, items):
        if self.raises:
            raise ValueError("boom")
        if self.by_place:
            return np.arange(len(items), dtype=np.float64)
        return np.array([len(item.text("hypothesis")) for item in items], dtype=np.float64)
"""
READER = """from dataclasses import dataclass
import numpy as np
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet


@dataclass(frozen=True, kw_only=True)
class Reader(DatasetReader):
    PAIRS = ("de-en",)

    def load_segments(self, data_dir, language_pair):
        segments = tuple(Segment(str(number), "output", source="Quelle", system="A") for number in range(3))
        return SegmentSet("other", language_pair, segments, Judgements({"da": np.arange(3.0)}))
"""


@pytest.fixture
def package(tmp_path, monkeypatch) -> str:
    """The name of a package with a metric and a reader, and an option of the metric in the folder conf."""
    name = f"parts_{tmp_path.name}".lower()
    (tmp_path / name).mkdir()
    (tmp_path / name / "own.py").write_text(METRIC)
    (tmp_path / name / "reader.py").write_text(READER)
    option = tmp_path / "conf" / "metric" / "own.yaml"
    option.parent.mkdir(parents=True)
    option.write_text(f"own:\n  _target_: {name}.own.Own\n  by_place: false\n  raises: false\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("BMX_ALLOWED_PACKAGES", name)
    return name


CONF = ["--config-dir", "conf"]
# arguments, with PACKAGE for the package; exit status; what is printed
CHECKED = [
    pytest.param(["own", *CONF], 0, "metric own\n  passed ", id="by its name"),
    pytest.param(["metric=own", *CONF], 0, "passed  A segment scores the same by itself", id="by group and name"),
    pytest.param(["metric=[own,chrf]", *CONF], 0, "metric chrf\n  passed ", id="two"),
    pytest.param(["PACKAGE.own.Own"], 0, "metric PACKAGE.own.Own\n  passed ", id="by its class"),
    pytest.param(
        ["own", "metric.own.by_place=true", *CONF],
        1,
        "own: a segment scores 1 among 11 segments and 0 alone",
        id="place",
    ),
    pytest.param(
        ["own", "metric.own.raises=true", *CONF], 1, "ValueError: boom (PACKAGE/own.py, line 16, in score)", id="raises"
    ),
    pytest.param(["erasure"], 0, "explainer erasure\n  passed ", id="an explainer of ours"),
    pytest.param(["sample", "dataset.sample.language_pairs=[de-en]"], 0, "dataset sample de-en\n  passed ", id="data"),
    pytest.param(
        ["PACKAGE.reader.Reader"], 1, "reader: read: the segments are of other de-en", id="a reader that breaks"
    ),
]


@pytest.mark.parametrize(("arguments", "status", "printed"), CHECKED)
def test_a_part_is_tried(package, capsys, arguments, status, printed):
    assert main([argument.replace("PACKAGE", package) for argument in arguments]) == status
    captured = capsys.readouterr()
    assert printed.replace("PACKAGE", package) in captured.out and not captured.err
    assert ("  failed  " in captured.out) is (status == 1)


MISTAKES = [
    pytest.param(["random"], "write metric=random or explainer=random", id="two of a name"),
    pytest.param(["chfr"], "unknown metric, explainer or data set 'chfr' (did you mean 'chrf'?)", id="misspelt"),
    pytest.param(["metric=nothing"], "nothing", id="no option"),
    pytest.param(["--config", "conf", "chrf"], "unknown option '--config'", id="flag"),
    pytest.param(["metric.chrf.beta=1"], "PART is missing", id="no part"),
    pytest.param(["metric=human"], "has no part to test without a data set", id="human scores"),
    pytest.param(["metric=imported"], "imported", id="a file"),
    pytest.param(["os.path.join"], "outside the packages", id="not allowed"),
    pytest.param(["PACKAGE.own.identity"], "class 'identity' not found in", id="no class"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_mistakes_are_one_sentence_and_status_2(package, capsys, arguments, message):
    assert main([argument.replace("PACKAGE", package) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.startswith("error: ") and captured.err.count("\n") == 1


@pytest.mark.parametrize("part", ["metric=", "explainer=[]", "dataset=''"])
def test_a_part_without_a_name_is_refused(part, capsys):
    assert main([part]) == 2
    assert "the name of an option is missing; write" in capsys.readouterr().err
