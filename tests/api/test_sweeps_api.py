"""Sweeps from Python: DataFrames in and out, and mistakes in one sentence."""

import copy
import csv
import dataclasses
import json
import re
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import some_frames
import yaml

import bmx_grid as bmx
from bmx_grid.api.compose import compose_config
from bmx_grid.api.sweep import objective
from bmx_grid.api.sweep_plan import OF_THE_SWEEP
from bmx_grid.commands.run import compose_and_run
from bmx_grid.core.configure import option_class, options
from bmx_grid.core.errors import BmxError, ConfigError, DataError, DataMissingError
from bmx_grid.report.analysis_files import OF_ANALYSIS

SMALL = {"metric": ["chrf"], "explainer": ["erasure"], "limit": 6, "tracking": "none", "executor": "sequential"}
SMALL |= {"analysis": False}
STEP = {"grid.p.step": 5}
FEW = STEP | {f"evaluation.{name}.resamples": 100 for name in ("levels", "significance", "boosts")}
MEASURED = ["seconds", "n_texts", "cached"]  # of a run, not of its result


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("api with a 'quote' and a space")


@pytest.fixture(scope="module")
def sweep(folder) -> bmx.Run:
    return bmx.run(
        "quickstart", output_dir=folder / "out", cache_dir=folder / "cache", settings=FEW, quiet=True, **SMALL
    )


def test_tables_are_data_frames_and_the_answer_comes_first(sweep):
    assert (
        len(sweep.grid) == 4 * len(compose_config(["grid.p.step=5"])["grid"]["w"]) * 12
    )  # 4 language pairs of the sample
    assert len(sweep.scores) == 24
    assert {"low", "high", "p_holm"} <= set(sweep.tests)
    assert "settings" in sweep.analysis.data_frames()
    assert repr(sweep) == f"Run({str(sweep.folder)!r}: {len(sweep.names)} tables)"
    first, *_, last = sweep.summary().splitlines()
    assert sweep.settings["constructed"].all()
    assert "constructed sample: not evidence (sample)." in sweep.summary() and "Next: " not in sweep.summary()
    assert first == "Too little data to show a gain." and last.split()[0] in set(sweep.settings["language_pair"])
    row = sweep.settings.set_index("language_pair").loc["de-en"]
    test = sweep.tests.query("language_pair == 'de-en' and test == 'perm_inputs' and point == 'published'").iloc[0]
    numbers = (row["baseline"], row["fixed"] - row["baseline"], test["low"], test["high"], row["best"])
    assert {"gain at w 0.6, p 0", "in-sample best"} <= set(re.split("  +|\n", sweep.summary()))
    places = [sweep.summary().index(f"{value:.4f}") for value in numbers]
    assert places == sorted(places)
    shown = sweep._repr_html_()
    assert "Too little data to show a gain." in shown and shown.count("</table>") == 2, "chosen elsewhere, published"
    assert shown.count('<th scope="row">') == (sweep.verdicts["language_pair"] == "all").sum()


def test_every_table_is_an_attribute(sweep, tmp_path):
    words = {"words"}  # a method, of the words of a segment
    for name in set(sweep.names) - words:
        pd.testing.assert_frame_equal(getattr(sweep, name), sweep.table(name))
        assert name in dir(sweep)
    of_evaluations = {table for option in options("evaluation") for table in option_class("evaluation", option).ROWS}
    of_guests = {table for table in of_evaluations if "guests" in str(owner(table))}
    known = {*of_evaluations, *OF_THE_SWEEP, *OF_ANALYSIS} - of_guests - words
    assert {name for name in known if isinstance(getattr(bmx.Run, name, None), property)} == known
    (tmp_path / "tables").mkdir()
    sweep.settings.to_parquet(tmp_path / "tables" / "task_scores.parquet")
    assert len(bmx.Run(tmp_path).task_scores) == len(sweep.settings)
    assert copy.copy(sweep).folder == sweep.folder
    with pytest.raises(DataMissingError, match="unknown table 'ridge'"):
        assert sweep.ridge
    with pytest.raises(AttributeError, match="unknown table 'verdict'. Did you mean 'verdicts'"):
        assert sweep.verdict
    assert not hasattr(sweep, "_ipython_display_")


def owner(table):
    """The evaluation that writes a table."""
    classes = [option_class("evaluation", option) for option in options("evaluation")]
    return next(cls for cls in classes if table in cls.ROWS)


def test_tables_are_those_that_the_command_writes(sweep, tmp_path, blank_figures):
    keys = [f"{name}={json.dumps(value)}" for name, value in {**SMALL, **FEW}.items()]
    folders = (f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}")
    assert compose_and_run(["+sweep=quickstart", *keys, *folders]) == 0
    written = {path.stem: pd.read_parquet(path) for path in tmp_path.rglob("tables/*.parquet")}
    assert sweep.names == tuple(sorted(written))
    for name, expected in written.items():
        tables = [frame.drop(columns=MEASURED, errors="ignore") for frame in (sweep.table(name), expected)]
        pd.testing.assert_frame_equal(*tables, check_dtype=False, check_categorical=False)


def test_another_configuration_leaves_the_results_of_the_first_beside_its_own(tmp_path, blank_figures, capsys):
    folders = {"output_dir": tmp_path / "out", "cache_dir": tmp_path / "cache"}
    arguments = [f"{key}={value}" for key, value in folders.items()]
    chosen = {**SMALL, "evaluation": ["grid"]}
    keys = [f"{name}={json.dumps(value)}" for name, value in {**chosen, **STEP}.items()]
    assert compose_and_run(["+sweep=quickstart", *arguments, *keys]) == 0
    first = bmx.Run(tmp_path / "out")
    before = first.scores
    later = {**chosen, **folders, "settings": STEP, "quiet": True}
    same = bmx.run("quickstart", **{**later, "executor": "loky"})
    assert same.place == first.place == tmp_path / "out" and not (tmp_path / "out" / "previous").exists()
    capsys.readouterr()
    second = bmx.run("quickstart", **{**later, "limit": 4})
    (warning,) = capsys.readouterr().err.splitlines()
    assert re.match("warning: all files of an earlier run moved to .*previous.* set name=NAME", warning)
    assert (len(first.scores), len(second.scores)) == (4 * 6, 4 * 4)
    pd.testing.assert_frame_equal(first.scores, before)
    (place,) = (tmp_path / "out" / "previous").iterdir()
    assert first.place == place and second.place == tmp_path / "out"
    pd.testing.assert_frame_equal(bmx.Run(place).settings, first.settings)
    assert yaml.safe_load((place / "config.yaml").read_text())["limit"] == 6
    compared = bmx.analyse([first, second], resamples=40)
    assert len(compared)
    capsys.readouterr()
    assert compose_and_run(["+sweep=quickstart", *arguments, *keys]) == 0
    printed = capsys.readouterr().out
    assert printed.count("all files of an earlier run moved to") == 1 and "\n0 texts scored" in printed
    pd.testing.assert_frame_equal(bmx.Run(tmp_path / "out").scores, before)
    assert len(second.scores) == 4 * 4


def test_boosts_of_a_scorers_explanations_have_the_numbers_of_the_sweep(sweep):
    with resources.files("bmx_grid.datasets").joinpath("sample.tsv").open() as file:
        sample = pd.read_csv(file, sep="\t", quoting=csv.QUOTE_NONE).query("language_pair == 'de-en'")[:6]
    explained = bmx.load("chrf", "erasure").explain(
        sample["hypothesis"].tolist(), references=sample["reference"].tolist()
    )
    of_pair = {name: sweep.table(name).query("language_pair == 'de-en'") for name in ("points", "scores", "grid")}
    point = of_pair["points"].set_index("point").loc["published"]
    boosted = bmx.boost(explained.base, explained.explanations, sample["score"], p=point["p"], w=point["w"])
    assert boosted.scores == pytest.approx(of_pair["scores"]["boosted_published"].to_numpy(), abs=1e-12)
    assert (boosted.gain.difference, boosted.gain.x) == pytest.approx((point["gain"], point["correlation"]), abs=1e-12)
    expected = of_pair["grid"].pivot(index="p", columns="w", values="correlation")
    assert boosted.grid.loc[expected.index, expected.columns].to_numpy() == pytest.approx(
        expected.to_numpy(), abs=1e-12
    )


@pytest.fixture(scope="module")
def whole_pair(folder):
    """A sweep of one whole language pair, the texts of the pair, and its boost at the published point from arrays."""
    keys = {"metric": ["chrf"], "explainer": ["erasure"], "analysis": False, "tracking": "none"}
    keys |= {"evaluation": ["grid", "significance", "boosts"], "cache_dir": folder / "cache"}
    settings = {**STEP, "dataset.sample.language_pairs": ["de-en"]}
    run = bmx.run("quickstart", output_dir=folder / "pair", settings=settings, quiet=True, **keys)
    with resources.files("bmx_grid.datasets").joinpath("sample.tsv").open() as file:
        texts = pd.read_csv(file, sep="\t", quoting=csv.QUOTE_NONE).query("language_pair == 'de-en'")
    explained = bmx.load("chrf", "erasure").explain(
        texts["hypothesis"].tolist(), references=texts["reference"].tolist()
    )
    point = run.table("points").set_index("point").loc["published"]
    arguments = explained.base, explained.explanations, texts["score"]
    labels = {"clusters": run.scores["cluster"].tolist(), "systems": texts["system"].tolist()}
    # chrF reads no source, which is controlled for all the same.
    read = {"source": "source", "ground_truth": "reference", "hypothesis": "hypothesis"}
    labels["texts"] = {side: texts[column].tolist() for side, column in read.items()}
    return run, texts, bmx.boost(*arguments, p=point["p"], w=point["w"], **labels)


def test_a_gain_has_one_interval_in_tests_verdicts_and_arrays(whole_pair):
    run, _, boosted = whole_pair
    row = run.verdicts.query("point == 'published'").iloc[0]
    test = run.tests.query("point == 'published' and test == 'perm_inputs'").iloc[0]
    interval = pytest.approx((row["gain_low"], row["gain_high"]), abs=1e-12)
    assert (test["low"], test["high"]) == interval
    assert (boosted.gain.low, boosted.gain.high) == interval
    for name in ("gain", "partial_r"):
        estimate = getattr(boosted.verdict, name)
        of_sweep = row[[name, f"{name}_low", f"{name}_high"]].tolist()
        assert [estimate.value, estimate.low, estimate.high] == pytest.approx(of_sweep, abs=1e-9), name
    assert boosted.summary().count(str(boosted.verdict.gain)) == 1, "said once"


def test_compare_of_a_boost_and_its_metric_has_the_numbers_of_the_sweep(whole_pair):
    run, texts, boosted = whole_pair
    row = run.verdicts.query("point == 'published'").iloc[0]
    frame = texts.assign(alone=boosted.base, boosted=boosted.scores)
    verdict = bmx.compare(frame, ["alone", "boosted"], human="score").verdicts.iloc[0]
    assert verdict["compared"] == "boosted"
    for name in ("gain", "gain_low", "gain_high", "partial_r", "partial_r_low", "partial_r_high"):
        assert verdict[name] == pytest.approx(row[name], abs=1e-9), name


@pytest.mark.parametrize("side", ["reference", "hypothesis"])
def test_the_words_of_a_segment_are_those_that_the_scorer_explains(sweep, side):
    words = sweep.words("de-en", ids=["de-en-001"])
    of_side = words.frame.query("side == @side")
    sample = resources.files("bmx_grid.datasets").joinpath("sample.tsv").read_text(encoding="utf-8")
    names, _, row = (line.split("\t") for line in sample.splitlines()[:1] + sample.splitlines()[:2])
    texts = dict(zip(names, row, strict=True))
    scored = bmx.load("chrf", "erasure").explain([texts["hypothesis"]], references=[texts["reference"]])
    assert of_side["word"].tolist() == texts[side].split(" ")
    assert of_side["attribution"].tolist() == scored.explanations[0].attributions[side].tolist()
    assert of_side["score"].unique().tolist() == scored.base.tolist()
    raising = dataclasses.replace(words, frame=of_side.assign(attribution=0.5))._repr_html_()
    words_shown = raising.split('class="text"')[1]
    assert words_shown.count('"word up"') == len(of_side) and '"word down"' not in words_shown


@pytest.fixture
def texts() -> pd.DataFrame:
    words = ["the", "cat", "sat", "on", "a", "mat", "by", "the", "door", "of", "our", "house"]
    rng = np.random.default_rng(2)
    refs = [" ".join(rng.permutation(words)[:7]) for _ in range(10)]
    hyps = [" ".join(rng.permutation(ref.split())[:5]) for ref in refs]
    return pd.DataFrame({"ref": refs, "mt": hyps, "DA": rng.normal(size=10), "remark": "unused"})


def test_a_frame_gets_its_grid(texts, tmp_path, blank_figures, recwarn):
    quick = {"executor": "sequential", "settings": STEP, "cache_dir": tmp_path}
    result = bmx.grid(texts, "chrf", "erasure", **quick)
    base = [
        bmx.load("chrf", None).score([h], references=[r])[0] for r, h in zip(texts["ref"], texts["mt"], strict=True)
    ]
    assert result.scores["base"].tolist() == base
    assert result.settings["baseline"][0] == pytest.approx(scipy.stats.pearsonr(base, texts["DA"])[0], abs=1e-12)
    assert result.words().frame["word"].tolist()[:7] == texts["ref"][0].split()
    folder = result.folder
    assert folder.is_dir() and not (folder / "report.html").exists()
    kept = bmx.grid(texts, output_dir=tmp_path / "kept", **quick)
    assert (kept.folder / "report.html").is_file()
    del result
    assert not folder.exists(), "a temporary folder goes with the result"
    assert not [warning for warning in recwarn if warning.category is ResourceWarning]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda texts: bmx.grid(texts.drop(columns="DA")), "no column for score among ref, mt, remark"),
        (lambda texts: bmx.grid(texts.assign(DA="x")), "the frame, row 1.*'x'.*number"),
        (lambda texts: bmx.grid(texts.to_dict("records")), "expected a DataFrame of pandas or polars, .* got a list"),
        (lambda texts: bmx.grid(texts.assign(lp="de-en"), language_pair="de-en"), "leave language_pair out"),
    ],
)
def test_mistakes_name_the_frame_and_the_way_out(texts, ask, message):
    with pytest.raises(BmxError, match=message) as caught:
        ask(texts)
    assert "bmx_grid-" not in str(caught.value), "no temporary path"


def test_a_setting_is_drawn(sweep):
    figure = sweep.plot("de-en")
    assert figure.axes and "de-en" in figure.texts[0].get_text()
    assert figure._repr_png_().startswith(b"\x89PNG"), "a notebook shows figures that pyplot did not make only so"


def test_settings_are_drawn_as_heat_maps(sweep):
    """A row of pixels per w, upwards, blue for a gain: that of w = 1 is the baseline, and as empty as the paper."""
    figure = sweep.plot("de-en", "chrf", kind="heatmap")
    axes = figure.axes[0]
    (image,) = axes.images
    grid = sweep.grid.query("language_pair == 'de-en' and metric == 'chrf'")
    table = grid.pivot(index="w", columns="p", values="correlation")
    gains = (table - table.loc[1.0].iloc[0]).to_numpy()[::-1, [0, -1]]  # the ends of the powers are the ends of the map
    pixels = np.asarray(image.get_array())[:, [0, -1]]
    assert (pixels[0, :, 3] == 0).all() and len(pixels) == len(table)
    is_blue = pixels[..., 2] > pixels[..., 0]
    assert is_blue[pixels[..., 3] > 0].tolist() == (gains > 0)[pixels[..., 3] > 0].tolist()
    assert [label.get_text() for label in axes.get_yticklabels()] == [f"{w:g}" for w in table.index]
    (point,) = sweep.points.query("language_pair == 'de-en' and point == 'published'").itertuples()
    (mark,) = [line for line in axes.lines if line.get_marker() == "x"]
    assert 1 - mark.get_ydata()[0] == pytest.approx((table.index.get_loc(point.w) + 0.5) / len(table))
    assert len([axes for axes in sweep.plot(kind="heatmap").axes if axes.images]) == 4, "one of each language pair"
    with pytest.raises(ConfigError, match="kind: .*heatmap"):
        sweep.plot("de-en", "chrf", kind="heat")


def test_without_a_name_verdicts_are_drawn(sweep):
    axes = sweep.plot().axes[0]
    assert axes.get_xlabel() == "gain in Pearson's r"
    gains = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
    assert gains == sweep.verdicts.query("language_pair == 'all' and point != 'published'")["gain"].tolist()


def test_the_curves_of_a_setting_have_the_marks_of_its_map(sweep):
    curves, plane = sweep.plot("de-en"), sweep.plot("de-en", kind="heatmap")
    marks = [[line.get_label() for line in axes.lines if line.get_marker() in "oxs"] for axes in curves.axes]
    marks = [[name for name in names if not name.startswith("w =")] for names in marks]
    assert sorted(marks[0]) == sorted(line.get_label() for line in plane.axes[0].lines)


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda run: run.table("ranks"), DataMissingError, "unknown table 'ranks'.*Choose its evaluation"),
        (lambda run: run.plot(kind="curves"), ConfigError, "4 settings fit; name one by"),
        (lambda run: run.plot("de-en", kind="verdicts"), ConfigError, "leave out the names"),
        (lambda run: run.plot("de-fr", kind="heatmap"), ConfigError, "unknown language pair 'de-fr'"),
        (lambda run: run.words("de-en", "chrff"), ConfigError, "Did you mean 'chrf'"),
        (lambda run: run.words("de-en", ids=["de-en-01"]), ConfigError, "Did you mean 'de-en-001'"),
        (lambda run: bmx.analyse([run]), ConfigError, "two or more"),
        (lambda run: bmx.analyse([run, None]), ConfigError, "runs: expected a path, got None"),
        (
            lambda run: bmx.load("chrf").score(iter("b"), references=["a"]),
            DataError,
            "hypotheses: expected a list of texts",
        ),
        (lambda run: bmx.Run(run.folder / "elsewhere"), DataMissingError, "folder not found"),
    ],
)
def test_what_is_not_there_is_said(sweep, ask, error, message):
    with pytest.raises(error, match=message):
        ask(sweep)


OF_A_STRANGER = {
    "a cache elsewhere": ({"cache_dir": "s3://theirs/x"}, "cache_dir: 's3://theirs/x' is named by a file"),
    "a server": (
        {"metric": {"m": {"_target_": "bmx_grid.guests.judge.judge.Judge", "base_url": "http://elsewhere.invalid/v1"}}},
        "metric.m.base_url: 'http://elsewhere.invalid/v1' is named by a file",
    ),
    "no keys": (None, "expected the configuration of a sweep"),
}


@pytest.mark.parametrize(("keys", "message"), OF_A_STRANGER.values(), ids=OF_A_STRANGER)
def test_the_configuration_of_a_strangers_folder_sends_nothing_anywhere(sweep, tmp_path, keys, message):
    config = yaml.safe_load((sweep.folder / "config.yaml").read_text())
    text = "[]" if keys is None else yaml.safe_dump(config | keys)
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(DataError, match=f"config.yaml: {message}"):
        bmx.Run(tmp_path).words("de-en")


def test_words_of_a_folder_need_neither_its_cluster_nor_its_tracking_store(sweep, tmp_path):
    config = yaml.safe_load((sweep.folder / "config.yaml").read_text())
    config["executor"] = {"_target_": "bmx_grid.sweep.executors.dask.Dask", "address": "tcp://127.0.0.1:1"}
    config["tracking"] = {"_target_": "bmx_grid.sweep.tracking.MlflowTracker", "uri": "http://127.0.0.1:1"}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    assert len(bmx.Run(tmp_path).words("de-en").frame)


def test_words_need_their_cache(sweep, tmp_path):
    config = yaml.safe_load((sweep.folder / "config.yaml").read_text()) | {"cache_dir": str(tmp_path / "none")}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    with pytest.raises(DataMissingError, match="not in the cache"):
        bmx.Run(tmp_path).words("de-en")
    (tmp_path / "config.yaml").unlink()
    with pytest.raises(DataMissingError, match=r"no config\.yaml"):
        bmx.Run(tmp_path).words("de-en")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"metric": ["chrff"]}, "Did you mean 'chrf'"),
        ({"limt": 3}, "limit"),
        ({"limit": 0}, "at least 1"),
        ({"limit": object()}, "not a supported primitive type"),
        ({"dry_run": True}, "does not support dry_run"),
        ({"dataset": ["wmt17"], "data_dir": "/nowhere"}, "no setting could be run"),
        ({"settings": {"metric.chrf.no.such": {"a": 1}}}, "unknown key"),
    ],
)
def test_mistakes_are_errors_with_a_sentence(folder, keys, message):
    with pytest.raises(BmxError, match=message) as caught:
        bmx.run(None, quiet=True, **{**SMALL, "output_dir": folder / "bad", **keys})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["a 'quote'", "back\\' quote", "a,b", "[x]", "ü ¿", "", "null", "3", "a\\\n"])
def test_every_text_reaches_the_configuration_as_it_is(value):
    assert compose_config([], None, {"data_dir": value})["data_dir"] == value


def test_another_program_that_uses_hydra_keeps_its_state(tmp_path):
    from hydra import compose, initialize_config_dir

    (tmp_path / "mine.yaml").write_text("a: 1")
    with initialize_config_dir(str(tmp_path), version_base="1.3"):
        compose_config(["limit=3"])
        assert compose("mine").a == 1


def test_a_notebook_shows_a_mistake_as_its_sentence(capsys):
    """IPython's own way to show an exception, which prints the frames of every other one."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    try:
        shell.run_cell("import bmx_grid\nbmx_grid.run('quickstartt')")
        printed = capsys.readouterr().out
        assert printed.startswith("ConfigError: unknown sweep 'quickstartt'. Did you mean 'quickstart'?")
        assert "Traceback" not in printed and len(printed.strip().splitlines()) == 1
    finally:
        shell.history_manager.end_session()


@pytest.mark.parametrize(
    ("rows", "reached"),
    [
        pytest.param([{"gain": 0.01}, {"gain": -0.02, "metric": "m2"}], 0.01, id="the largest"),
        pytest.param([{"gain": 0.01}, {"gain": 0.2, "point": "published"}], 0.01, id="in-sample on the paper's data"),
        pytest.param([{"gain": 0.01}, {"gain": 0.2, "language_pair": "de-en"}], 0.01, id="one pair of several"),
        pytest.param([{"gain": -0.01}, {"gain": 0.2, "explainer": "random"}], -0.01, id="a control"),
        pytest.param([{"gain": float("nan")}], float("nan"), id="undefined: no correlation in its place"),
        pytest.param([], 0.5, id="no verdicts: the correlation of the best metric"),
    ],
)
def test_a_sweep_reached_the_gain_of_a_boost_chosen_on_other_data(rows, reached, tmp_path):
    frames = {"settings": some_frames.settings({}, {"baseline": 0.4})}
    if rows:
        frames["verdicts"] = some_frames.verdicts(*rows)
    for name, frame in frames.items():
        frame.to_parquet(tmp_path / f"{name}.parquet")
    assert objective(tmp_path) == pytest.approx(reached, nan_ok=True)
