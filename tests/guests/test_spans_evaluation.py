"""Error spans against people's, people against each other, and error-free segments, on spans whose answer is known."""

import dataclasses
import json

import numpy as np
import pytest
from some_frames import as_table
from some_settings import translated

from bmx_grid.analysis.base import SweepTables
from bmx_grid.core.errors import ConfigError
from bmx_grid.datasets.segments import Judgements
from bmx_grid.explainers.imported_attributions import Imported
from bmx_grid.guests.spans.error_spans import compute, tables
from bmx_grid.guests.spans.evaluation import SpansEvaluation
from bmx_grid.metrics.chrf import Chrf


def spans_of(text, shift, severity):
    """The first wrong word, of one character, and so many characters before it."""
    start = text.find("x")
    wrong = start >= 0
    return [{"start": max(start - shift, 0), "end": start + 1, "severity": severity}] if wrong else []


@pytest.fixture
def planted(tmp_path):
    """A setting, and files of spans: of two raters, and of an explainer who marks a character before theirs as well."""
    setting = translated(Chrf())
    texts = [(segment, segment.hypothesis) for segment in setting.segments.segments]
    wrong = np.array([text.split().count("x") for _, text in texts])
    human = Judgements({"mqm": -1.0 * wrong, "esa": 100.0 - 20 * wrong})
    setting = dataclasses.replace(setting, segments=dataclasses.replace(setting.segments, judgements=human))
    files = {
        "gold": [("anna", 0, "major"), ("ben", 0, "minor")],
        "ours": [("", 1, "major")],
    }
    for name, raters in files.items():
        lines = []
        for segment, text in texts:
            for rater, shift, severity in raters:
                known = {"id": segment.id, "system": segment.system, "rater": rater}
                lines.append(json.dumps(known | {"spans": spans_of(text, shift, severity)}))
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    explainer = Imported(name="ours", file=str(tmp_path / "ours.jsonl"), language_pairs=("de-en",))
    setting = dataclasses.replace(setting, explainer=explainer, explainer_name="ours")
    return setting, SpansEvaluation(gold={"gold": str(tmp_path / "gold.jsonl")}, resamples=60)


def test_agreement_of_explainers_and_people_is_what_was_planted(planted):
    """Of one rater a character gets the full credit, of the other half of it; of people among themselves half."""
    setting, evaluation = planted
    (result,) = evaluation.evaluate([setting])
    rows = {(row.explainer, row.measure): row for row in result["spans"]}
    ours = rows["ours", "characters"]
    marked = [segment.hypothesis for segment in setting.segments.segments if "x" in segment.hypothesis]
    characters = sum(1 if text.startswith("x") else 2 for text in marked)
    assert ours.recall == pytest.approx(0.75)
    assert ours.precision == pytest.approx(0.75 * len(marked) / characters)
    assert rows["ours", "MPP"].recall == 1
    people = rows["gold", "characters"]
    assert (people.kind, people.f1.value, people.precision, people.recall) == ("human", 0.5, 0.5, 0.5)
    assert people.n_comparisons == 2 * people.n_segments == 2 * len(setting.segments)
    assert rows["gold", "MPP"].f1.value == 1


def test_error_free_segments_are_found_by_spans_and_by_scores_of_other_folds(planted):
    setting, evaluation = planted
    (result,) = evaluation.evaluate([setting])
    rows = {row.point: row for row in result["error_free"]}
    assert rows["no span"].mcc.value == 1, "marks just the segments that have an error"
    assert 0.2 < rows["base"].mcc.value < 1
    none = sum("x" not in segment.hypothesis for segment in setting.segments.segments)
    assert {(row.n_error_free, row.n_segments) for row in rows.values()} == {(none, len(setting.segments))}


def test_a_pair_without_error_free_segments_is_undefined_and_counted(planted):
    setting, evaluation = planted
    (result,) = dataclasses.replace(evaluation, error_free_least=101.0).evaluate([setting])
    assert [np.isnan(row.mcc.value) for row in result["error_free"]] == [True, True]
    rows = [dataclasses.replace(row, dataset="toy", language_pair="de-en") for row in result["error_free"]]
    answer = compute(SweepTables({"error_free": as_table(rows)}))
    assert answer["undefined_pairs"] == 1
    assert next(iter(tables(answer))).notes[0] == "Undefined in 1 language pair."


def test_the_sentence_names_the_best_explainer_and_the_ceiling(planted):
    setting, evaluation = planted
    (result,) = evaluation.evaluate([setting])
    rows = [dataclasses.replace(row, dataset="toy", language_pair="de-en") for row in result["spans"]]
    answer = compute(SweepTables({"spans": as_table(rows)}))
    (sentence,) = [text for text in answer["spans_in_words"] if "MPP against gold: the best F1 is" in text]
    assert "people reach 1.000" in sentence
    (table,) = tables(answer)
    assert len(table.rows) == 4


def test_what_does_not_apply_or_is_not_there_is_said(planted):
    setting, evaluation = planted
    assert "names no file" in dataclasses.replace(evaluation, gold={}).inapplicable(1, 1, [setting.segments])
    with pytest.raises(ConfigError, match="unknown human score 'esq'.*esa"):
        dataclasses.replace(evaluation, error_free_human="esq").evaluate([setting])
