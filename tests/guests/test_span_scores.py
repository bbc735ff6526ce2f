"""Scores of error spans: by hand, those of the official script, and those that WMT23 published."""

from __future__ import annotations

import numpy as np
import pytest
from real_data import read

from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import ConfigError, DataError
from bmx_grid.datasets.base import DatasetReader

HEADER = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\n"
# Segment, rater, category and severity of each error.
ERRORS = [
    ("1", "r1", "Accuracy/Mistranslation", "Major"),
    ("1", "r1", "Fluency/Punctuation", "Minor"),
    ("1", "r2", "Fluency/Punctuation", "Major"),
    ("2", "r1", "No-error", "No-error"),
    ("3", "r1", "Non-translation!", "Major"),
    ("3", "r2", "Style/Awkward", "Minor"),
    ("3", "r2", "Fluency/Grammar", "Neutral"),
]


def official(errors):
    """Minus the mean over raters of their points, as mt_metrics_eval/converters/score_mqm.py computes them."""
    weights = {"Major": 5, "Minor": 1, "Neutral": 0, "Major/Non-translation!": 25, "Minor/Fluency/Punctuation": 0.1}
    points = {}
    for segment, rater, category, severity in errors:
        items = [severity, *category.split("/")]
        while items and "/".join(items) not in weights:
            items = items[:-1]
        of_raters = points.setdefault(segment, {})
        of_raters.setdefault(rater, []).append(weights.get("/".join(items), 0))
    return {segment: -np.mean([sum(values) for values in of.values()]) for segment, of in points.items()}


@pytest.fixture
def scored(tmp_path):
    """The segments 1 to 4 of a table, judged by errors."""

    def made(errors, **settings):
        texts = ["id\tsystem\tsource\thypothesis\tscore"]
        texts += [f"{number}\ta\ts{number}\tword word\t{number}" for number in range(1, 5)]
        (tmp_path / "my.tsv").write_text("\n".join(texts) + "\n")
        lines = []
        for segment, rater, category, severity in errors:
            text = "word word" if severity == "No-error" else "<v>word</v> word"
            lines.append(f"a\td\t{segment}\t{segment}\t{rater}\ts{segment}\t{text}\t{category}\t{severity}\n")
        (tmp_path / "errors.tsv").write_text(HEADER + "".join(lines))
        node = load_option("dataset", "span_scores") | {
            "dataset": {"tabular": {"path": str(tmp_path / "my.tsv")}},
            "file": str(tmp_path / "errors.tsv"),
            "language_pairs": ["en-de"],
        }
        reader = build({**node, **settings}, DatasetReader, "dataset.span_scores")
        return reader.load_segments(tmp_path, "none")

    return made


def test_points_are_those_of_the_official_script(scored):
    judgements = scored(ERRORS).judgements
    expected = official(ERRORS)
    assert expected == {"1": pytest.approx(-(5.1 + 5) / 2), "2": 0, "3": -(25 + 1) / 2}
    np.testing.assert_allclose(judgements.scores["mqm"], [expected["1"], expected["2"], expected["3"], np.nan])
    np.testing.assert_allclose(judgements.raters["mqm"], [[-5.1, -5.0], [0.0, np.nan], [-25.0, -1.0], [np.nan, np.nan]])
    assert judgements.primary == "mqm" and judgements.scores["score"].tolist() == [1, 2, 3, 4]


def test_a_severity_without_a_weight_is_refused_and_may_get_one(scored):
    errors = [*ERRORS, ("4", "r1", "Accuracy/Omission", "Critical")]
    with pytest.raises(DataError, match=r"errors.tsv: the severity 'critical' has no official weight; write .*weights"):
        scored(errors)
    assert scored(errors, weights={"critical": 25}).judgements.scores["mqm"][3] == -25
    assert scored(errors, weights={"Critical/Accuracy": 9, "critical": 25}).judgements.scores["mqm"][3] == -9
    with pytest.raises(ConfigError, match="weights.minor is -1"):
        scored(errors, weights={"minor": -1})


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"dataset": None}, "no data set is named; write"), ({"file": None}, "no file of error spans is named")],
)
def test_what_is_not_named_is_an_error(settings, message, scored):
    with pytest.raises(ConfigError, match=message):
        scored(ERRORS, **settings)


def test_wmt23_is_scored_as_published(data_dir):
    """Errors of English to German: the published scores of segments come from these ratings."""
    file = data_dir / "mt-metrics-eval-v2/wmt23/human-scores/en-de.mqm.merged.seg.rating"
    published = read(data_dir, "mt_metrics_eval", "en-de", test_set="wmt23")
    if not file.is_file():
        pytest.skip(f"needs {file.name} below BMX_DATA_DIR")
    node = load_option("dataset", "span_scores") | {
        "dataset": {"mt_metrics_eval": {"test_set": "wmt23"}},
        "file": str(file),
        "extra": "ignore",
    }
    scored = build(node, DatasetReader, "dataset.span_scores").load_segments(data_dir, "en-de")
    np.testing.assert_allclose(scored.human_scores, published.judgements.scores["mqm"], atol=1e-6)
