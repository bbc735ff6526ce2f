"""experiments/spans: the mixtures of its README are what its script computes."""

import pytest
from fakes import ROOT
from scripts import script


@pytest.mark.filterwarnings("ignore:en-de. of the references")
def test_the_table_of_mixtures_is_that_of_the_readme(data_dir):
    folder = ROOT / "experiments" / "spans"
    with script(folder / "make.py") as module:
        lines = list(module.mixture_lines(data_dir))
    assert "\n".join(lines) in (folder / "README.md").read_text(encoding="utf-8")
    assert len(lines) == 2 + 6
