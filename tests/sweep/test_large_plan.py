"""Plans of very many settings: what settings share is found once."""

import pytest

from bmx_grid.sweep import plan as planning

SMALL = (
    *("dataset=[sample]", "metric=[chrf,sentence_bleu]", "explainer=[erasure,random]", "evaluation=[grid]"),
    *("limit=4", "tracking=none", "analysis=false", "executor=sequential"),
)
PAIRS = 4


@pytest.fixture
def plan(sweep, capsys):
    """plan(*overrides) -> what the command prints."""
    return lambda *overrides: (sweep(*overrides), capsys.readouterr().out)[1]


def test_folders_are_listed_once_per_metric_and_explainer(plan, monkeypatch):
    listed, names_in = [], planning.names_in
    monkeypatch.setattr(planning, "names_in", lambda folder: listed.append(folder) or names_in(folder))
    said = plan("dry_run=true")
    assert f"{4 * PAIRS} settings (0 cached)" in said
    assert len(listed) == 4


def test_cached_settings_are_found_among_others(plan):
    plan("dataset.sample.language_pairs=[de-en]", "metric=[chrf]")
    said = plan("dry_run=true")
    assert f"{4 * PAIRS} settings (2 cached)" in said
    assert [line.split()[2] for line in said.splitlines() if "de-en · chrf" in line] == ["cached", "cached"]
