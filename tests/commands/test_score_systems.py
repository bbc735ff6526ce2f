"""Several systems at once: the corpus scores of sacreBLEU, intervals, paired tests, and their three formats."""

import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import sacrebleu
from some_frames import as_table

from bmx_grid.commands.score import main
from bmx_grid.core.wording import distinct_names
from bmx_grid.evaluations.base import Estimate
from bmx_grid.evaluations.level_rows import ThresholdRow
from bmx_grid.measures.systems import mean, mean_terms, system_score

WORDS = ["the", "cat", "sat", "on", "a", "mat", "by", "the", "door", "of", "our", "old", "house", "and", "slept"]
RNG = np.random.default_rng(0)
REFERENCES = [" ".join(RNG.permutation(WORDS)[:9]) for _ in range(40)]
SYSTEMS = {
    "good": [text.replace("cat", "dog") for text in REFERENCES],
    "poor": [" ".join(text.split()[:6]) for text in REFERENCES],
}


@pytest.fixture
def files(tmp_path):
    for name, lines in {"ref": REFERENCES, **SYSTEMS}.items():
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


def run(files, capsys, *arguments: str, metric: str = "chrf", systems=("good", "poor")) -> str:
    named = [str(files / f"{name}.txt") for name in systems]
    capsys.readouterr()
    assert main(["--metric", metric, "-q", "-r", str(files / "ref.txt"), "-t", *named, *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == "", "quiet"
    return out


ORACLES = {
    "sentence_bleu": sacrebleu.BLEU(smooth_method="add-k", smooth_value=1),
    "chrf": sacrebleu.CHRF(),
    "ter": sacrebleu.TER(),
}


@pytest.mark.parametrize("metric", ORACLES)
def test_a_systems_score_is_the_corpus_score(files, capsys, metric):
    printed = json.loads(run(files, capsys, "--json", metric=metric))
    assert printed["system_score"] == "corpus"
    for name, lines in SYSTEMS.items():
        system = printed["systems"][f"{name}.txt"]
        assert system["score"] == pytest.approx(ORACLES[metric].corpus_score(lines, [REFERENCES]).score, abs=1e-9)
        assert system["low"] <= system["score"] <= system["high"]
    assert printed["higher_is_better"] == (metric != "ter")
    (test,) = printed["tests"]
    scores = [printed["systems"][f"{name}.txt"]["score"] for name in SYSTEMS]
    assert test["difference"] == pytest.approx(scores[0] - scores[1], abs=1e-12)
    assert test["p"] == test["p_holm"] < 0.01


def test_boosted_systems_have_the_mean_of_their_segments(files, capsys):
    printed = json.loads(run(files, capsys, "--json", "--explainer", "erasure", "-p", "1", "-w", "0.5"))
    assert printed["system_score"] == "mean"
    for name in SYSTEMS:
        assert printed["systems"][f"{name}.txt"]["score"] == pytest.approx(np.mean(printed["scores"][f"{name}.txt"]))


def test_segments_of_several_systems_are_those_of_each_alone(files, capsys):
    both = json.loads(run(files, capsys, "--json"))["scores"]
    for name in SYSTEMS:
        alone = json.loads(run(files, capsys, "--json", systems=(name,)))["scores"]
        assert both[f"{name}.txt"] == [row["score"] for row in alone]


def test_only_the_systems_are_shown_where_asked(files, capsys):
    text = run(files, capsys, "--only-system")
    assert re.search(r"^good.txt  poor.txt  +\+", text, re.MULTILINE) and "Scores of segments" not in text
    assert "scores" not in json.loads(run(files, capsys, "--only-system", "--json", systems=("good",)))


@pytest.mark.parametrize("shown", [(), ("--only-system",)], ids=["segments", "systems"])
def test_several_metrics_are_those_of_each_alone(files, capsys, monkeypatch, shown):
    raw = (files / "good.txt").read_bytes()

    def printed(*arguments):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(raw)))
        assert main([*arguments, *shown, "-q", "--set", "seed=3", "-r", str(files / "ref.txt"), "-t", "-"]) == 0
        return capsys.readouterr().out

    both = ("--metric", "chrf", "ter", "--set", "metric.chrf.word_order=2")
    plus_plus = ("--metric", "chrf", "--set", "metric.word_order=2")
    ter = ("--metric", "ter")
    alone = {"chrf": json.loads(printed(*plus_plus, "--json")), "ter": json.loads(printed(*ter, "--json"))}
    assert json.loads(printed(*both, "--json")) == {"metrics": alone}
    assert printed(*both) == f"{printed(*plus_plus)}\n\n{printed(*ter)}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "metric.lowercase=true"], "--set metric.lowercase: there are several metrics; name one: metric"),
        (["--set", "metric.wer.lowercase=true"], "name one: metric.chrf.wer.lowercase"),
        (["--recipe", "minilm_bertscore-erasure-learned"], "--recipe is for one metric, and --metric names chrf, ter"),
        (["--format", "wmt26"], "--format wmt26 is for one metric, and --metric names chrf, ter; name one."),
        (["--metric", "chrf", "tre"], "did you mean 'ter'"),
    ],
)
def test_what_does_not_go_with_several_metrics_is_refused(files, capsys, arguments, message):
    texts = ["-r", str(files / "ref.txt")] if "wmt26" not in arguments else []
    status = main(["--metric", "chrf", "ter", *arguments, *texts, "-t", str(files / "good.txt")])
    err = capsys.readouterr().err
    assert status == 2 and message.lower() in err.lower()


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CR LF"])
@pytest.mark.parametrize("metric", ORACLES)
def test_several_references_are_those_of_sacrebleu(files, capsys, metric, end):
    """A line may be empty from the second file on: fewer references of that segment."""
    other = [" ".join(reversed(text.split())) if row % 3 else "" for row, text in enumerate(REFERENCES)]
    (files / "other.txt").write_bytes("".join(f"{line}{end}" for line in other).encode())
    more = ("-r", str(files / "other.txt"), "--only-system", "--json")
    printed = json.loads(run(files, capsys, *more, metric=metric, systems=("good",)))
    expected = ORACLES[metric].corpus_score(SYSTEMS["good"], [REFERENCES, [line or None for line in other]]).score
    assert printed["systems"]["good.txt"]["score"] == pytest.approx(expected, abs=1e-9)
    assert "nrefs:var" in printed["signature"]


def test_words_of_a_file_cannot_move_the_cursor(files, capsys):
    (files / "ref.txt").write_text("a \x1b[2Jb\n")
    (files / "good.txt").write_text("a \u202ec\n")
    shown = run(files, capsys, "--words", "--explainer", "erasure", systems=("good",))
    assert "\\x1b[2Jb" in shown and "\\u202ec" in shown and "\x1b" not in shown


def test_names_are_as_long_as_they_must_be():
    assert distinct_names([Path("a/x.txt"), Path("b/x.txt")]) == ["a/x.txt", "b/x.txt"]
    assert distinct_names([Path("a/x.txt"), Path("a/y.txt")]) == ["x.txt", "y.txt"]


def thresholds(path, probability, difference, system_score):
    """A table of one threshold. probability: with the ends of its interval."""
    value, *ends = probability
    names = {"dataset": "d", "language_pair": "de-en", "metric": "chrf", "explainer": "none"}
    counts = (0.5, 9, 0)
    row = ThresholdRow("base", "mqm", value, Estimate(difference), *ends, *counts, system_score, **names)
    pq.write_table(as_table([row]), path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good.txt", "good.txt"], "repeated file"),
        (["good.txt", "poor.txt", "--words"], "one file of hypotheses"),
        (["good.txt", "short.txt"], "short.txt"),
        (["good.txt", "-r", "ref.txt", "--metric", "random"], "random compares with one reference"),
        (["good.txt", "poor.txt", "--thresholds", "nowhere"], "nowhere not found; give the folder"),
        (["good.txt", "poor.txt", "--thresholds", "scores"], "no table of thresholds"),
        (["good.txt", "poor.txt", "--thresholds", "other"], "evaluation.levels.system_score=corpus"),
        (
            ["good.txt", "poor.txt", "--thresholds", "other", "-p", "1", "-w", "0.5"],
            "an unboosted metric and two systems",
        ),
    ],
)
def test_mistakes_are_a_sentence(files, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(files)
    (files / "short.txt").write_text("one line\n")
    pd.DataFrame({"a": [1]}).to_parquet("scores")
    thresholds(Path("other"), (0.5, 0.5, 0.5), 0.5, "mean")
    assert main(["--metric", "chrf", "-r", "ref.txt", "-t", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_coverage_of_a_system_scores_interval_is_nominal():
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(300):
        _, low, high = system_score(mean_terms(rng.normal(size=40)), mean, np.arange(40), resamples=300)
        inside += low <= 0 <= high
    assert abs(inside / 300 - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 300)


def test_people_agree_with_a_difference_as_often_as_thresholds_say(files, capsys, tmp_path):
    """On a logistic curve where 3 people of 4 agree with .1, 9 of 10 agree with .2."""
    thresholds(tmp_path / "thresholds.parquet", (0.75, 0.5, 0.9), 0.1, "corpus")
    test = json.loads(run(files, capsys, "--json", "--thresholds", str(tmp_path / "thresholds.parquet")))["tests"][0]
    (people,) = test["people"]
    odds = 3 ** (abs(test["difference"]) / 100 / 0.1)
    assert people["agree"] == pytest.approx(odds / (1 + odds))
    assert people["low"] == pytest.approx(0.5)
    shown = run(files, capsys, "--thresholds", str(tmp_path / "thresholds.parquet"))
    assert "people agree, d de-en mqm" in shown
    assert f"{people['agree']:.0%} [50%, " in shown
