"""Sweeps from Python: DataFrames, and mistakes in one sentence."""

from importlib import resources
from pathlib import Path

import pandas as pd
import pytest

import bmx_grid as bmx
from bmx_grid.commands.compose import composed
from bmx_grid.core.errors import BmxError, ConfigError, DataError, DataMissingError

SMALL = {"metric": ["chrf"], "explainer": ["erasure"], "limit": 6, "tracking": "none", "executor": "sequential"}
SMALL |= {"analysis": False}
STEP = {"grid.p.step": 5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("api with a 'quote' and a space")


@pytest.fixture(scope="module")
def sweep(folder) -> bmx.Run:
    return bmx.run(
        "quickstart", output_dir=folder / "out", cache_dir=folder / "cache", settings=STEP, quiet=True, **SMALL
    )


def test_tables_are_data_frames_and_the_answer_comes_first(sweep):
    assert len(sweep.grid) == 4 * len(composed(["grid.p.step=5"])["grid"]["w"]) * 12  # 4 language pairs of the sample
    assert len(sweep.scores) == 24
    assert {"low", "high", "p_holm"} <= set(sweep.tests)
    assert "settings" in sweep.analysis.data_frames()
    assert all(isinstance(sweep.table(name), pd.DataFrame) for name in sweep.names)
    assert repr(sweep) == f"Run({str(sweep.folder)!r}: {len(sweep.names)} tables)"
    first, *_, last = sweep.summary().splitlines()
    assert first.startswith("Erasure on chrF: ") and last.split()[0] in set(sweep.settings["language_pair"])
    row = sweep.settings.set_index("language_pair").loc["de-en"]
    test = sweep.tests.query("language_pair == 'de-en' and test == 'perm_inputs' and point == 'published'").iloc[0]
    numbers = (row["baseline"], row["fixed_gain"], test["low"], test["high"])
    assert all(f"{value:.4f}" in sweep._repr_html_() for value in numbers)


@pytest.mark.parametrize("side", ["reference", "hypothesis"])
def test_the_words_of_a_segment_are_those_that_the_scorer_explains(sweep, side):
    found = sweep.words("de-en", ids=["de-en-001"])
    own = found.frame.query("side == @side")
    sample = resources.files("bmx_grid.datasets").joinpath("sample.tsv").read_text(encoding="utf-8")
    names, _, row = (line.split("\t") for line in sample.splitlines()[:1] + sample.splitlines()[:2])
    texts = dict(zip(names, row, strict=True))
    scored = bmx.load("chrf", "erasure").explain([texts["reference"]], [texts["hypothesis"]])
    assert own["word"].tolist() == texts[side].split(" ")
    assert own["attribution"].tolist() == scored.explanations[0].attributions[side].tolist()
    assert own["score"].unique().tolist() == scored.base.tolist()
    assert "underline solid" in found._repr_html_(), "a word that raises the score"


def test_a_setting_is_drawn(sweep):
    figure = sweep.plot("de-en")
    assert figure.axes and "de-en" in figure.texts[0].get_text()
    assert figure._repr_png_().startswith(b"\x89PNG"), "a notebook shows figures that pyplot did not make only so"


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda run: run.table("ranks"), DataMissingError, "unknown table 'ranks'.*Choose its evaluation"),
        (lambda run: run.plot(), ConfigError, "4 settings fit; name one by"),
        (lambda run: run.words("de-en", "chrff"), ConfigError, "Did you mean 'chrf'"),
        (lambda run: run.words("de-en", ids=["de-en-01"]), ConfigError, "Did you mean 'de-en-001'"),
        (lambda run: bmx.analyse([run]), ConfigError, "two or more"),
        (lambda run: bmx.analyse([run, None]), ConfigError, "runs: expected a path, got None"),
        (lambda run: bmx.load("chrf").score(iter("a"), iter("b")), DataError, "references: expected a list of texts"),
        (lambda run: bmx.Run(run.folder / "elsewhere"), DataMissingError, "there is no folder"),
    ],
)
def test_what_is_not_there_is_said(sweep, ask, error, said):
    with pytest.raises(error, match=said):
        ask(sweep)


def test_words_need_their_cache(sweep, tmp_path):
    (tmp_path / "config.yaml").write_text(
        (sweep.folder / "config.yaml").read_text().replace(str(sweep.folder.parent / "cache"), str(tmp_path / "none"))
    )
    with pytest.raises(DataMissingError, match="not in the cache"):
        bmx.Run(tmp_path).words("de-en")
    (tmp_path / "config.yaml").unlink()
    with pytest.raises(DataMissingError, match=r"no config\.yaml"):
        bmx.Run(tmp_path).words("de-en")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"metric": ["chrff"]}, "Did you mean 'chrf'"),
        ({"limt": 3}, "limit"),
        ({"limit": 0}, "at least 1"),
        ({"limit": object()}, "not a supported primitive type"),
        ({"dry_run": True}, "a plan has no tables"),
        ({"dataset": ["wmt17"], "data_dir": "/nowhere"}, "no setting could be run"),
        ({"settings": {"metric.chrf.no.such": {"a": 1}}}, "unknown key"),
    ],
)
def test_mistakes_are_errors_with_a_sentence(folder, keys, said):
    with pytest.raises(BmxError, match=said) as caught:
        bmx.run(None, quiet=True, **{**SMALL, "output_dir": folder / "bad", **keys})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["a 'quote'", "back\\' quote", "a,b", "[x]", "ü ¿", "", "null", "3", "a\\\n"])
def test_every_text_reaches_the_configuration_as_it_is(value):
    assert composed([], None, {"data_dir": value})["data_dir"] == value


def test_another_program_that_uses_hydra_keeps_its_state(tmp_path):
    from hydra import compose, initialize_config_dir

    (tmp_path / "mine.yaml").write_text("a: 1")
    with initialize_config_dir(str(tmp_path), version_base="1.3"):
        composed(["limit=3"])
        assert compose("mine").a == 1


def test_a_notebook_shows_a_mistake_as_its_sentence(capsys):
    """IPython's own way to show an exception, which prints the frames of every other one."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    try:
        shell.run_cell("import bmx_grid\nbmx_grid.run('quickstartt')")
        said = capsys.readouterr().out
        assert said.startswith("ConfigError: unknown sweep 'quickstartt'. Did you mean 'quickstart'?")
        assert "Traceback" not in said and len(said.strip().splitlines()) == 1
    finally:
        shell.history_manager.end_session()
