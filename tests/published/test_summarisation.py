"""experiments/summarisation: the BLEU cells of DATScore on SummEval beside ours."""

import pytest
import yaml
from fakes import ROOT
from real_data import read
from scripts import script

FOLDER = ROOT / "experiments" / "summarisation"


@pytest.mark.parametrize(
    ("way", "ours", "furthest"),
    [
        pytest.param("first_reference", [11.4, 7.6, 7.1, 20.5], 1.9, id="one reference, with case: the nearest"),
        pytest.param("add_one", [10.7, 7.4, 7.3, 19.8], 1.2, id="add-one smoothing"),
        pytest.param("all_references", [22.2, 12.3, 13.6, 27.7], 10.4, id="all references"),
        pytest.param("lower_case", [10.5, 11.8, 9.5, 21.4], 5.5, id="lower case"),
    ],
)
def test_cells_are_those_of_the_table(data_dir, way, ours, furthest):
    summaries, expected = read(data_dir, "summeval", "en"), yaml.safe_load((FOLDER / "expected.yaml").read_text())
    with script(FOLDER / "quantities.py") as quantities:
        checks = list(quantities.PARTS[way]([summaries], expected))
    assert [check.published for check in checks] == [11.8, 6.3, 7.7, 18.6]
    assert [round(check.ours, 1) for check in checks] == ours
    assert round(max(abs(check.ours - check.published) for check in checks), 1) == furthest
