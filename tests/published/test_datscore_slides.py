"""experiments/datscore_2023: the slides' numbers and errata, and ablations of a finished run."""

import csv
from contextlib import ExitStack

import numpy as np
import pytest
import scripts
import yaml
from fakes import ROOT

FOLDER = ROOT / "experiments" / "datscore_2023"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    with ExitStack() as stack:
        yield lambda path: stack.enter_context(scripts.script(path))


def test_every_average_is_that_of_its_row_but_for_the_two_errata(script):
    expected = yaml.safe_load((FOLDER / "expected.yaml").read_text())
    checks = list(script(FOLDER / "quantities.py").paper([], expected))
    means = [one for one in checks if " mean of " in one.name]
    assert len(means) == 32
    assert {one.verdict for one in means} == {"agree"}
    errata = {one.name: (one.published, round(one.ours, 2)) for one in means if "printed" in one.name}
    assert errata == {
        "wmt17 mean of BLEU, into English (printed 37.8)": (39.6, 39.56),
        "wmt17 mean of BLEU, from English (printed 27.3)": (28.6, 28.56),
    }
    absent = [one for one in checks if one not in means]
    assert len(absent) == 8 * (7 + 5) + 8 * (7 + 7) + 8
    assert all(one.verdict == "not here" and one.reason.startswith("needs ") for one in absent)


def test_ablations_of_a_run_with_a_combination(script, swept, tmp_path, blank_figures, capsys):
    out = tmp_path / "out"
    parts = ("metric=[combined]", "metric.combined.metrics=[sentence_bleu,chrf,ter]", "explainer=[]")
    assert swept(*parts, "evaluation=[levels]", "dataset.sample.language_pairs=[de-en]") == 0
    ablations = script(FOLDER / "ablations.py")
    assert ablations.main([str(out), "pearson"]) == 0
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
