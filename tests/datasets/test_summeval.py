"""SummEval: its counts, correlations of sacreBLEU's metrics with it, and files that are not as they should be."""

import json
import math

import pytest
from real_data import read

from bmx_grid.core.errors import ConfigError, DataError
from bmx_grid.datasets.summeval import ASPECTS, SummEval
from bmx_grid.measures.correlation import correlate
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.sentence_bleu import SentenceBleu


@pytest.fixture(scope="module")
def summaries(data_dir):
    return read(data_dir, "summeval", "en")


def test_there_are_100_articles_of_16_systems_with_11_references(summaries, data_dir):
    assert len(summaries) == 1600 and len(summaries.systems) == 16
    assert {len(one.further_references) for one in summaries.segments} == {10}
    assert len({one.source for one in summaries.segments}) == 100
    assert tuple(summaries.judgements.scores) == ASPECTS
    assert tuple(read(data_dir, "summeval", "en", aspect="fluency").judgements.scores) == ("fluency",)
    with pytest.raises(ConfigError, match="Did you mean 'fluency'"):
        SummEval(name="summeval", aspect="fluent")


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        pytest.param(SentenceBleu(smooth_method="exp", references="all"), [0.2217, 0.1229, 0.1364, 0.2766], id="BLEU"),
        pytest.param(Chrf(), [0.1439, 0.1645, 0.1026, 0.3221], id="chrF with the first reference"),
    ],
)
def test_correlations_are_those_measured_with_sacrebleu(summaries, metric, expected):
    scores = metric.score(summaries.items(("reference", "hypothesis"), all_references=True))
    correlations = [correlate("pearson", scores, summaries.judgements.scores[aspect]) for aspect in ASPECTS]
    assert correlations == pytest.approx(expected, abs=5e-5)  # four decimals are published


DOCUMENT = {"id": "a", "source": "s", "references": ["r"]}
SUMMARY = {"id": "a", "system": "M0", "summary": "h", "expert_annotations": dict.fromkeys(ASPECTS, 1.0)}


def rated(**coherence):
    """A summary whose coherence is this, or missing."""
    return {**SUMMARY, "expert_annotations": dict.fromkeys(ASPECTS[1:], 1.0) | coherence}


@pytest.mark.parametrize(
    ("documents", "summary", "said"),
    [
        pytest.param("{", SUMMARY, r"documents.jsonl, line 1: not a JSON object", id="broken JSON"),
        pytest.param('{"id": "a"}', SUMMARY, r"documents.jsonl: the column 'source' is needed", id="no article"),
        pytest.param(DOCUMENT, {**SUMMARY, "id": "b"}, r"summaries.jsonl, line 1: .*'b'", id="another article"),
        pytest.param({**DOCUMENT, "references": []}, SUMMARY, "line 1: not a summary", id="no reference"),
        pytest.param(DOCUMENT, {**SUMMARY, "summary": None}, "line 1: not a summary", id="no text"),
        pytest.param(DOCUMENT, rated(), "summaries.jsonl, line 1: .*coherence", id="no score"),
        pytest.param(DOCUMENT, rated(coherence=math.nan), "summaries.jsonl, line 1: .*a rating is missing", id="NaN"),
        pytest.param(
            DOCUMENT, rated(coherence=math.inf), "line 1: the coherence is not a finite number: 'inf'", id="infinite"
        ),
        pytest.param(DOCUMENT, {**SUMMARY, "expert_annotations": 3}, "not a summary of SummEval", id="no object"),
    ],
)
def test_a_file_of_another_form_is_named_with_its_line(tmp_path, documents, summary, said):
    folder = tmp_path / "summeval"
    folder.mkdir()
    text = documents if isinstance(documents, str) else json.dumps(documents)
    (folder / "documents.jsonl").write_text(text)
    (folder / "summaries.jsonl").write_text(json.dumps(summary))
    with pytest.raises(DataError, match=said):
        SummEval(name="summeval").read(tmp_path, "en")
