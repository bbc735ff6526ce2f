"""What a dry run says of time and downloads; no number of seconds here depends on how fast a machine is."""

import dataclasses
import re
import time

import pytest
from fakes import AbsentMetric, HashMetric, KillerMetric, SleepyMetric
from huggingface_hub import constants

from bmx_grid.api import dry_run
from bmx_grid.api.dry_run import NOT_HERE, SLOW, TIMED_TEXTS, TRACES, TimePerText, duration, seconds_per_text
from bmx_grid.models.model_cards import GIGABYTES
from bmx_grid.words.perturbation import Item

TWO = (Item(source="a b c", hypothesis="d e"), Item(source="f", hypothesis=""))
PER_TEXT = 2.0
FOREVER = 1e6


@dataclasses.dataclass(frozen=True)
class Clocked(HashMetric):
    """A hash that takes PER_TEXT seconds of a clock that only it moves."""

    now = [0.0]  # noqa: RUF012  # of the class

    def score(self, items):
        self.now[0] += PER_TEXT * len(items)
        return super().score(items)


@pytest.fixture
def empty_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)


def test_a_text_takes_the_time_of_all_texts_divided_by_their_number(monkeypatch):
    monkeypatch.setattr(time, "perf_counter", lambda: Clocked.now[0])
    requests = dry_run._requests(TWO)
    assert TIMED_TEXTS - len(requests) < sum(len(request.plan) for request in requests) <= TIMED_TEXTS
    distinct = len({item for request in requests for item in request.items()})  # of repeats a metric scores one
    assert seconds_per_text(Clocked(), TWO) == TimePerText(
        PER_TEXT * distinct / sum(len(request.plan) for request in requests)
    )


def test_what_cannot_be_timed_says_why():
    assert seconds_per_text(HashMetric(), [Item(source="", hypothesis="")]) == TimePerText(
        None, "its texts have no words"
    )
    assert seconds_per_text(AbsentMetric(), TWO).why == "the model 'x' is not here: get it with y"


def test_a_metric_that_ends_its_process_ends_no_dry_run():
    killed = dry_run._run_with_time_limit(FOREVER, {"killer": lambda: seconds_per_text(KillerMetric(), TWO)})["killer"]
    assert killed.seconds is None and "terminated" in killed.why


def test_a_metric_that_does_not_end_is_cut_off(tmp_path):
    works = {
        "endless": lambda: seconds_per_text(SleepyMetric(seconds=FOREVER), TWO),
        "after it": lambda: seconds_per_text(HashMetric(log=str(tmp_path / "log")), TWO),
    }
    assert dry_run._run_with_time_limit(1, works) == {
        "endless": TimePerText(None, SLOW),
        "after it": TimePerText(None, SLOW),
    }
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0, "0 s"), (0.2, "1 s"), (59.5, "60 s"), (61, "2 minutes"), (60 * 119, "119 minutes"), (7201, "3 hours")],
)
def test_a_time_is_said_as_people_do_and_rounded_up(seconds, words):
    assert duration(seconds) == words


def test_the_whole_sweep_is_the_sum_and_names_what_is_not_in_it(swept, capsys, monkeypatch):
    times = {"chrf": TimePerText(500.0), "ter": TimePerText(None, "of a reason")}
    monkeypatch.setattr(dry_run, "time_metrics", lambda plan: times)
    chosen = ("metric=[chrf,ter]", "explainer=[]", "evaluation=[levels]", "limit=10", "dry_run=true")
    assert swept("dataset=[sample]", "dataset.sample.language_pairs=[de-en]", *chosen) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "texts to score with chrf: 10; about 84 minutes" in lines
    assert "texts to score with ter: 10; not timed: of a reason" in lines
    last = "the whole sweep takes about 84 minutes in one process on this machine, without scoring with ter"
    assert lines[-1] == last


def test_a_sweep_says_minutes_sends_nothing_and_writes_nothing(swept, capsys, tmp_path):
    judged = "metric.combined.metrics=[chrf,{judge:{model:m,prompt:plain}}]"
    chosen = "metric=[chrf,combined]", judged, "explainer=[erasure]"
    assert swept("dataset=[sample]", *chosen, "limit=5", "dry_run=true") == 0
    printed = capsys.readouterr().out
    assert re.search(r"^texts to score with chrf: [\d,]+; about \d+ s$", printed, flags=re.MULTILINE)
    assert re.search(rf"^texts to score with combined: [\d,]+; not timed: {TRACES}$", printed, flags=re.MULTILINE)
    assert list(tmp_path.iterdir()) == []


def test_models_that_are_not_here_are_named_once_with_their_size(swept, capsys, empty_cache):
    chosen = "metric=[xmoverscore,xbertscore]", "explainer=[input_marginalization]"
    another_model = "metric.xbertscore.model=some/model", "metric.xbertscore.revision=null"
    assert swept("dataset=[sample]", *chosen, *another_model, "limit=3", "dry_run=true") == 0
    named = re.findall("^to download: (.*)$", capsys.readouterr().out, flags=re.MULTILINE)
    both = "bert-base-multilingual-cased (xmoverscore, input_marginalization), 0.71 GB"
    assert named == [both, "some/model (xbertscore), size unknown"]


def test_a_model_that_is_not_here_is_not_fetched_to_be_timed(swept, capsys, empty_cache, monkeypatch):
    monkeypatch.setattr("bmx_grid.metrics.encoders.check_model", lambda *_: None)  # as if the hub had it
    chosen = "metric=[xbertscore]", "explainer=[erasure]"
    assert swept("dataset=[sample]", *chosen, "limit=3", "dry_run=true") == 0
    assert f"not timed: {NOT_HERE}" in capsys.readouterr().out


def test_sizes_are_those_of_the_networks():
    import torch
    import transformers as library

    xlmr = {"vocab_size": 250_002, "max_position_embeddings": 514, "type_vocab_size": 1}
    large = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
    bart = {"vocab_size": 50_264}
    roberta = {"vocab_size": 50_265, "max_position_embeddings": 514, "type_vocab_size": 1}
    networks = {
        "bert-base-multilingual-cased": (library.BertForMaskedLM, library.BertConfig(vocab_size=119_547)),
        "facebook/bart-large-cnn": (library.BartForConditionalGeneration, library.BartConfig(**bart)),
        "gpt2": (library.GPT2LMHeadModel, library.GPT2Config()),
        "joeddav/xlm-roberta-large-xnli": (
            library.XLMRobertaForSequenceClassification,
            library.XLMRobertaConfig(**xlmr, **large, num_labels=3),
        ),
        "roberta-large": (library.RobertaForMaskedLM, library.RobertaConfig(**roberta, **large)),
        "sentence-transformers/stsb-xlm-r-multilingual": (library.XLMRobertaModel, library.XLMRobertaConfig(**xlmr)),
    }
    causal_masks = {"gpt2": 12 * 1024 * 1024}  # its file holds one for each layer
    assert networks.keys() == GIGABYTES.keys()
    for name, (network, config) in networks.items():
        with torch.device("meta"):
            count = sum(parameter.numel() for parameter in network(config).parameters())
        bytes_of_file = 4 * (count + causal_masks.get(name, 0))
        assert bytes_of_file / 1e9 == pytest.approx(GIGABYTES[name], abs=0.006), name
