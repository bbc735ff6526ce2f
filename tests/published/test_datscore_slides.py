"""experiments/datscore_2023: the slides' numbers and errata; parts alone, left out, and each way of weighting."""

import csv
import functools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import yaml
from fakes import ROOT
from parts import ablations
from scripts import script
from some_tables import peaked, table

from bmx_grid.guests.datscore.combined import one_vs_rest, weighted_sums
from bmx_grid.measures.correlation import correlate

FOLDER = ROOT / "experiments" / "datscore_2023"


def test_every_average_is_that_of_its_row_but_for_the_two_errata():
    expected = yaml.safe_load((FOLDER / "expected.yaml").read_text())
    with script(FOLDER / "quantities.py") as quantities:
        checks = list(quantities.paper([], expected))
    means = [check for check in checks if " mean of " in check.name]
    assert len(means) == 32
    assert {check.verdict for check in means} == {"agree"}
    errata = {check.name: (check.published, round(check.ours, 2)) for check in means if "printed" in check.name}
    assert errata == {
        "wmt17 mean of BLEU, into English (printed 37.8)": (39.6, 39.56),
        "wmt17 mean of BLEU, from English (printed 27.3)": (28.6, 28.56),
    }
    absent = [check for check in checks if check not in means]
    assert len(absent) == 8 * (7 + 5) + 8 * (7 + 7) + 8
    assert all(check.verdict == "not here" and check.reason.startswith("needs ") for check in absent)


def test_ablations_of_a_run_with_a_combination(swept, tmp_path, blank_figures, capsys):
    out = tmp_path / "out"
    parts = ("metric=[combined]", "metric.combined.metrics=[sentence_bleu,chrf,ter]", "explainer=[]")
    assert swept(*parts, "evaluation=[levels]", "dataset.sample.language_pairs=[de-en]") == 0
    with script(FOLDER / "ablations.py") as command:
        assert command.main([str(out), "pearson"]) == 0
    rows = list(csv.DictReader((out / "ablations-combined.csv").open(encoding="utf-8")))
    assert [(row["kind"], row["name"]) for row in rows[:4]] == [
        ("whole", "all"),
        ("alone", "sentence_bleu"),
        ("alone", "chrf"),
        ("alone", "ter"),
    ]
    assert float(rows[1]["correlation"]) - float(rows[0]["correlation"]) == pytest.approx(float(rows[1]["difference"]))
    assert np.isclose(sum(float(row["weight"]) for row in rows if row["kind"] == "alone"), 1)
    assert (out / "ablations-combined.png").stat().st_size > 1_000
    assert "| left out | ter |" in capsys.readouterr().out


RNG = np.random.default_rng(4)
HUMAN = RNG.normal(size=60)
PARTS = HUMAN[:, None] * [1.0, 0.5, 0.1] + RNG.normal(size=(60, 3))
OTHER = PARTS + RNG.normal(size=(60, 3))
NAMES = ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["pearson", "kendall"])
def test_every_variant_by_hand(kind):
    correlation_of = functools.partial(correlate, kind)
    rows = ablations({"entropy": PARTS, "uniform": OTHER}, NAMES, HUMAN, kind)
    by_name = {(row.kind, row.name): row for row in rows}
    weights = one_vs_rest(PARTS, NAMES)[0]
    of_all = correlation_of(weighted_sums(PARTS, weights), HUMAN)
    assert by_name["whole", "all"].correlation == of_all
    for column, name in enumerate(NAMES):
        assert by_name["alone", name].correlation == correlation_of(PARTS[:, column], HUMAN)
        assert by_name["alone", name].weight == weights[column]
        rest = [kept for kept in range(3) if kept != column]
        again = one_vs_rest(PARTS[:, rest], ["x", "y"])[0]
        assert by_name["left out", name].correlation == correlation_of(weighted_sums(PARTS[:, rest], again), HUMAN)
    assert by_name["weighting", "entropy, one_vs_rest"].correlation == of_all
    assert by_name["weighting", "entropy, equal"].correlation == correlation_of(PARTS.mean(axis=1), HUMAN)
    uniform = one_vs_rest(OTHER, NAMES)[0]
    assert by_name["weighting", "uniform, one_vs_rest"].correlation == correlation_of(
        weighted_sums(OTHER, uniform), HUMAN
    )
    assert len(by_name) == 1 + 3 + 3 + 4
    assert all(row.difference == row.correlation - of_all for row in by_name.values())


def test_a_run_of_another_model_is_named_and_not_held_against_the_slides(tmp_path):
    expected = yaml.safe_load((FOLDER / "expected.yaml").read_text())
    names = {"dataset": "wmt17", "language_pair": "cs-en", "metric": "bertscore"}
    grid = table({(*names.values(), "lime"): peaked(0.5)})
    for model, verdict, reason in (
        ("roberta-large", "DIFFERS", "needs"),
        ("tiny", "not here", "this run's model is tiny"),
    ):
        settings = pd.DataFrame([{**names, "signature": f"bertscore|version:1|model:{model}|layer:17 || lime"}])
        settings.to_parquet(tmp_path / "settings.parquet")
        with script(FOLDER / "quantities.py") as quantities, script(ROOT / "experiments" / "compare.py") as compare:
            checks = quantities.paper([replace(grid, origin=str(tmp_path / "grid.parquet"))], expected)
            (line,) = [line for line in compare.lines(checks) if line.startswith("wmt17 BERTScore, cs-en")]
        assert verdict in line and reason in line
