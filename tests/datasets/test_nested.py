"""Items of WMT26 and the human evaluation of WMT25: records that hold all outputs for a source, as tables and spans."""

import json
import warnings

import pytest

from bmx_grid.commands.data import main as data
from bmx_grid.commands.run import compose_and_run
from bmx_grid.commands.score import main as score
from bmx_grid.core.errors import DataError
from bmx_grid.datasets.span_files import read_spans
from bmx_grid.datasets.tables import open_table
from bmx_grid.words.tags import ErrorSpan

ITEM = {
    "item_id": "eng_Latn_###_deu_Latn_###_news_###_d1_###_0",
    "src": {"text": "The quick fox", "type": "original"},
    "ref": {"text": "Der schnelle Fuchs", "type": "postedit"},
    "hyps": {"A": "Der schnelle Fuchs", "B": "Die Fuchs schnell", "C": None},
    "resources": {"image": "x.png"},
    "task1_pred": {
        "A": {"errors": [], "omission": None, "instruction_fault": None},
        "B": {"errors": [{"start": 0, "end": 3, "severity": "minor"}], "omission": "major"},
    },
    "task2_pred": {"A": 90.5, "B": 40},
}
# An excerpt of the publisher's own example.
OF_WMT25 = {
    "scores": {
        "Claude-4": {
            "human1": 66,
            "errors1": [{"start_i": 51, "end_i": 66, "severity": "minor"}],
            "annotator1": "cesdeub312",
            "human2": 100,
            "errors2": [],
            "annotator2": "cesdeuf706",
        },
        "refA": {"human1": 90, "errors1": [], "annotator1": "cesdeub302"},
    },
    "src_text": "Ina T. hodnotí sexy pokusy hvězd: Myslivcová přestřelila!",
    "tgt_text": {
        "refA": "Ina T. bewertet die sexy Versuche der Stars: Myslivcová hat es diesmal übertrieben!",
        "Claude-4": "Ina T. bewertet sexy Versuche der Stars: Myslivcová hat übertrieben!",
        "Yolu": "Ina T. bewertet sexy Auftritte der Stars: Myslivcová hat übertrieben!",
    },
    "doc_id": "cs-de_DE_#_news_#_blesk.cz.112043_#_0",
}


def written(folder, *records, name="items.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def columns(path, *names):
    table = open_table(path)
    return [table.take([name])[name] for name in names]


def test_items_of_wmt26_are_a_row_per_output(tmp_path):
    path = written(tmp_path, ITEM)
    names = ("system", "language_pair", "domain", "document", "source", "reference", "hypothesis", "task2_pred")
    assert columns(path, *names) == [
        ["A", "B"],
        ["eng_Latn-deu_Latn"] * 2,
        ["news"] * 2,
        ["news_###_d1"] * 2,
        ["The quick fox"] * 2,
        ["Der schnelle Fuchs"] * 2,
        ["Der schnelle Fuchs", "Die Fuchs schnell"],
        [90.5, 40],
    ]
    assert columns(path, "id") == [[ITEM["item_id"]] * 2]
    spans = read_spans(path).rows.value.tolist()
    assert spans == [(), (ErrorSpan(0, 3, "minor", ""), ErrorSpan(0, 0, "major", "omission"))]


def test_the_mean_of_both_rounds_is_the_score_of_wmt25_and_ends_of_spans_are_included(tmp_path):
    path = written(tmp_path, OF_WMT25)
    assert columns(path, "system", "human1", "human2", "score") == [
        ["Claude-4", "Yolu"],
        [66, None],
        [100, None],
        [83.0, None],
    ]
    assert columns(path, "reference") == [[OF_WMT25["tgt_text"]["refA"]] * 2]
    rows = read_spans(path).rows
    assert rows.rater.tolist() == ["cesdeub312", "cesdeuf706"]
    (span,) = rows.value[0]
    assert rows.text[0][span.start : span.end] == " hat übertrieben"
    assert rows.value[1] == ()


def changed(**fields):
    return {**ITEM, **fields}


MISTAKES = [
    pytest.param(
        changed(hyps={"A": 5}), "line 1, system A: expected a text, or an object with a text, got '5'", id="text"
    ),
    pytest.param(changed(item_id="7"), "item_id is '7'; expected LANGUAGES_###_DOMAIN", id="id"),
    pytest.param(changed(src=None), "no source, the field src; write a text", id="source"),
    pytest.param(changed(task2_pred={"D": 1}), "task2_pred: unknown system 'D'", id="system"),
    pytest.param({"item_id": "x"}, "no outputs", id="outputs"),
]


@pytest.mark.parametrize(("record", "message"), MISTAKES)
def test_what_is_not_as_published_is_named(record, message, tmp_path):
    path = written(tmp_path, ITEM, record)
    with pytest.raises(DataError) as error:
        open_table(path)
    assert message.replace("line 1", "line 2") in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("errors", "message"),
    [
        ([{"start": 3, "end": 1, "severity": "minor"}], "a span from 3 to 1"),
        ([{"start": 3, "end": 99, "severity": "minor"}], "ends at 99, but the text has 17 characters"),
        ([{"start": 0, "end": 1, "severity": "huge"}], "unknown severity 'huge'"),
    ],
)
def test_spans_are_checked_by_their_text(errors, message, tmp_path):
    path = written(tmp_path, changed(task1_pred={"B": {"errors": errors}}))
    with pytest.raises(DataError, match=message):
        read_spans(path)


def test_data_show_tells_both_what_can_be_judged_and_who_marked_it(tmp_path, capsys):
    assert data(["show", str(written(tmp_path, OF_WMT25))]) == 0
    shown = capsys.readouterr().out
    assert "errors of WMT25 or WMT26, 2 judged texts of 2" in shown
    assert "tabular cs-de_DE: 2 segments of 2 systems" in shown


def test_spans_without_their_texts_are_explanations_of_the_outputs_that_they_name(tmp_path, capsys):
    """Predicted errors of a file of predictions: item, system and spans, which `explainer=imported` takes."""
    items = written(tmp_path, *many(8))
    errors = {"A": {"errors": []}, "B": {"errors": [{"start": 0, "end": 3, "severity": "major"}]}}
    predicted = [{"item_id": item["item_id"], "task1_pred": errors} for item in many(8)]
    spans = written(tmp_path, *predicted, name="predicted.jsonl")
    chosen = ["dataset=[tabular]", f"dataset.tabular.path={items}", "metric=[chrf]", "explainer=[imported]"]
    where = [f"output_dir={tmp_path}/out", f"cache_dir={tmp_path}/cache", f"explainer.imported.file={spans}"]
    few = ["evaluation=[grid]", "tracking=none", "executor=sequential", "analysis=false"]
    assert compose_and_run([*chosen, *where, *few]) == 0
    assert "16 texts scored" in capsys.readouterr().out


def many(count):
    """Items of two systems, with human scores beside."""
    for number in range(count):
        yield {
            "item_id": f"eng_Latn_###_deu_Latn_###_news_###_d{number}_###_{number}",
            "src": f"The quick fox {number}",
            "ref": f"Der schnelle Fuchs {number}",
            "hyps": {"A": f"Der schnelle Fuchs {number}", "B": f"Die Fuchs {number * 7} schnell"},
            "scores": {"A": {"human1": 90 - number % 7}, "B": {"human1": 30 + number % 5}},
        }


def test_predictions_are_read_back_as_they_were_written(tmp_path, capsys):
    """`score --format wmt26` writes them, the metric `imported` reads them for the items that they are of."""
    path = written(tmp_path, *many(12))
    assert score(["--metric", "chrf", "--format", "wmt26", "-t", str(path), "--error-free-from", "95", "-q"]) == 0
    lines = capsys.readouterr().out
    of_items = [json.loads(line) for line in lines.splitlines()]
    assert [item["item_id"] for item in of_items] == [item["item_id"] for item in many(12)]
    assert of_items[0]["task2_pred"]["A"] == pytest.approx(100)
    assert {item["task3_pred"]["A"] for item in of_items} == {1}
    assert {item["task3_pred"]["B"] for item in of_items} == {0}
    predicted = tmp_path / "predicted.jsonl"
    predicted.write_text(lines, encoding="utf-8")
    chosen = ["dataset=[tabular]", f"dataset.tabular.path={path}", "metric=[chrf,imported]", "explainer=[]"]
    imported = [f"metric.imported.file={predicted}", "metric.imported.columns.score=task2_pred"]
    few = [
        "evaluation=[levels]",
        "evaluation.levels.resamples=0",
        "tracking=none",
        "executor=sequential",
        "analysis=false",
    ]
    where = [f"output_dir={tmp_path}/out", f"cache_dir={tmp_path}/cache"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert compose_and_run([*chosen, *imported, *few, *where]) == 0
    import pandas as pd

    table = pd.read_parquet(tmp_path / "out" / "tables" / "correlations.parquet")
    of_metrics = {name: rows.value.tolist() for name, rows in table.groupby("metric")}
    assert of_metrics["chrf"] == pytest.approx(of_metrics["imported"], abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-r", "x"], "reads one file of items, and nothing else: -t FILE.jsonl, without --reference"),
        (["--words", "--explainer", "lime"], "error spans; add --explainer spans"),
    ],
)
def test_predictions_need_items_alone(arguments, message, tmp_path, capsys):
    path = written(tmp_path, *many(2))
    assert score(["--metric", "chrf", "--format", "wmt26", "-t", str(path), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_scale_of_a_metric_without_higher_is_better_is_turned(tmp_path, capsys):
    path = written(tmp_path, *many(2))
    assert score(["--metric", "ter", "--format", "wmt26", "-t", str(path), "-q"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first["task2_pred"]["A"] == 0 > first["task2_pred"]["B"]


def test_items_without_human_scores_are_told_with_the_way_to_score_them(tmp_path, capsys):
    unrated = {key: value for key, value in ITEM.items() if not key.startswith("task")}
    assert data(["show", str(written(tmp_path, unrated))]) == 0
    shown = capsys.readouterr().out
    assert "2 outputs of 1 item, without a score of people" in shown
    assert "--format wmt26 -t" in shown
    predicted = {"item_id": ITEM["item_id"], "task2_pred": {"A": 1.5, "B": 2}}
    assert data(["show", str(written(tmp_path, predicted, name="predicted.jsonl"))]) == 0
    assert "metric.imported.columns.score=task2_pred" in capsys.readouterr().out


def test_an_item_that_is_there_twice_and_one_without_a_reference_are_named(tmp_path, capsys):
    twice = written(tmp_path, ITEM, ITEM)
    with pytest.raises(DataError, match="line 2: .* is the id of line 1, too"):
        open_table(twice)
    lacking = written(tmp_path, changed(ref=None), name="lacking.jsonl")
    assert score(["--metric", "chrf", "--format", "wmt26", "-t", str(lacking), "-q"]) == 2
    assert "line 1, system A: the metric reads the reference, and the item has none" in capsys.readouterr().err
