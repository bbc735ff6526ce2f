"""BERTScore against the library bert-score on the same models, and its own promises."""

import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from neural import EMPTY, MINILM, MINILM_FOLDER, NAMES, PAIRS
from pairs import score

from bmx_grid.metrics import encoders
from bmx_grid.metrics.encoders import BertScore
from bmx_grid.models import encoding
from bmx_grid.models.encoding import HeldStates

pytestmark = pytest.mark.filterwarnings("ignore:model '.*tokens:UserWarning")


def library_scores(folder: str, layer: int, pairs) -> list[float]:
    """Each pair alone: in a batch the library lets padding be matched."""
    from bert_score import BERTScorer

    scorer = BERTScorer(model_type=folder, num_layers=layer, device="cpu")
    return [float(scorer.score([hypothesis], [truth])[2]) for truth, hypothesis in pairs]


def with_a_blank_first(folder: str, copy: Path) -> str:
    """A copy whose tokenizer puts a blank before a text, as bert-score asked of RoBERTa's slow tokenizer.

    transformers 5 does not heed that request any more, so that the library alone would not show the paper's scores.
    """
    shutil.copytree(folder, copy)
    path = copy / "tokenizer.json"
    settings = json.loads(path.read_text())
    settings["pre_tokenizer"]["add_prefix_space"] = True
    path.write_text(json.dumps(settings))
    return str(copy)


@pytest.mark.parametrize("layer", [1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_equals_bert_score_on_tiny_models(tiny_model, tmp_path, name, layer):
    folder = tiny_model(name)
    oracle = with_a_blank_first(folder, tmp_path / "copy") if name == "roberta" else folder
    found = score(BertScore(model=folder, layer=layer, device="cpu"), PAIRS)
    assert found.tolist() == pytest.approx(library_scores(oracle, layer, PAIRS), abs=1e-5)


def test_equals_bert_score_on_a_real_model():
    found = score(BertScore(model=MINILM, layer=6, device="cpu"), PAIRS)
    assert found.tolist() == pytest.approx(library_scores(MINILM_FOLDER, 6, PAIRS), abs=1e-5)


def test_empty_texts_score_nothing(tiny_model):
    assert score(BertScore(model=tiny_model("bert"), layer=2), EMPTY).tolist() == [0.0] * len(EMPTY)


def test_the_same_text_twice_scores_one(tiny_model):
    assert score(BertScore(model=tiny_model("xlm_roberta"), layer=2), [PAIRS[1]])[0] == pytest.approx(1, abs=1e-6)


def test_each_text_is_embedded_once(tiny_model, monkeypatch):
    seen = []

    def counting(loaded, ids):
        seen.extend(tuple(one) for one in ids)
        return encoding.hidden_states(loaded, ids)

    monkeypatch.setattr(encoders, "hidden_states", counting)
    truth, hypothesis = "The cat sat on the mat .", "A dog ran across the road ."
    pairs = [(truth, hypothesis)]
    pairs += [(truth, " ".join(["UNKWORDZ"] * k + ["road ."])) for k in range(9)]
    pairs += [(" ".join(["UNKWORDZ"] * k + ["mat ."]), hypothesis) for k in range(9)]
    score(BertScore(model=tiny_model("bert"), layer=1), pairs)
    assert len(seen) == len(set(seen)) == 20


def test_held_tokens_stay_within_the_budget(tiny_model, monkeypatch):
    """Else the vectors of a whole chunk would be in memory at once."""
    held, original = [], HeldStates.__init__

    def recording(self, *arguments, **named):
        original(self, *arguments, **named)
        held.append(len(self.flat))

    monkeypatch.setattr(HeldStates, "__init__", recording)
    rng = np.random.Generator(np.random.PCG64(0))
    texts = [" ".join(rng.choice(["the", "cat", "sat", "on", "mat", "a", "dog", "ran"], 12)) for _ in range(400)]
    score(BertScore(model=tiny_model("bert"), layer=1, batch_tokens=100), list(itertools.pairwise(texts)))
    assert max(held) <= 8 * 100 + 64
    assert sum(held) > 4_000


def test_bfloat16_is_another_identity_close_by():
    exact = BertScore(model=MINILM, layer=6)
    rough = BertScore(model=MINILM, layer=6, dtype="bfloat16")
    assert exact.fingerprint() != rough.fingerprint()
    try:
        scores = score(rough, PAIRS)
    except RuntimeError as error:  # PyTorch's own, told to do without the AVX-512 that its oneDNN finds
        if "avx512" in str(error):
            pytest.skip(f"PyTorch cannot compute in bfloat16 here: {error}")
        raise
    difference = np.abs(score(exact, PAIRS) - scores).max()
    assert 0 < difference < 0.02
