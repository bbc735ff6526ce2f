"""Options by the names that papers and our own pages write, wherever their own names are taken."""

import pytest

import bmx_grid as bmx
from bmx_grid.api.compose import compose_config
from bmx_grid.core.configure import load_option, options
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.wording import display_name, find_option

GROUPS = ("dataset", "metric", "explainer")
NAMES = [(group, name) for group in GROUPS for name in options(group)]


@pytest.mark.parametrize(("group", "name"), NAMES)
def test_every_option_has_one_written_name(group, name):
    known = options(group)
    assert find_option(display_name(name), known) == find_option(name, known) == name
    assert load_option(group, display_name(name)) == load_option(group, name)


@pytest.mark.parametrize(
    ("lines", "same"),
    [
        (["metric=[chrF,BLEU]", "explainer=[LIME]"], ["metric=[chrf,sentence_bleu]", "explainer=[lime]"]),
        (["metric=[chrF]", "metric.chrF.lowercase=true"], ["metric=[chrf]", "metric.chrf.lowercase=true"]),
        (["explainer=[Input Marginalization]"], ["explainer=[input_marginalization]"]),
        (["metric=['BERTScore (MiniLM)']"], ["metric=[minilm_bertscore]"]),
        (["explainer=[LIME]", "grid.fixed.LIME.w=0.5"], ["explainer=[lime]", "grid.fixed.lime.w=0.5"]),
        (["metric=[TER]", "++metric.TER.normalized=true"], ["metric=[ter]", "++metric.ter.normalized=true"]),
    ],
)
def test_overrides_take_written_names(lines, same):
    assert compose_config(lines) == compose_config(same)


def test_a_name_that_nobody_writes_is_still_unknown():
    with pytest.raises(ConfigError, match="unknown metric 'chrFF'"):
        compose_config(["metric=[chrFF]"])
    with pytest.raises(ConfigError, match="unknown metric 'LIME'"):
        load_option("metric", "LIME")


def test_sweeps_scorers_and_plots_take_written_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = {"limit": 3, "tracking": "none", "executor": "sequential", "quiet": True, "evaluation": ["grid"]}
    settings = {"explainer.LIME.num_samples": 10, "grid.p.step": 5}
    run = bmx.run("quickstart", metric="chrF", explainer=["LIME"], settings=settings, analysis=False, **small)
    assert set(run.settings["metric"]) == {"chrf"} and set(run.settings["explainer"]) == {"lime"}
    assert run.words("de-en", "chrF", "LIME").names == ("sample", "de-en", "chrf", "lime")
    assert bmx.load("chrF", "Erasure").signature == bmx.load("chrf", "erasure").signature
    assert bmx.load("BLEU", "LIME", p=1).boost == bmx.load("sentence_bleu", "lime", p=1).boost
