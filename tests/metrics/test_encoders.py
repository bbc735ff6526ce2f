"""BERTScore and sentence embeddings against the libraries of their authors on the same models, and own promises."""

import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from bert_scores import bert_scorer
from neural import EMPTY, MINILM, MINILM_FOLDER, PAIRS, embedded
from pairs import score

from bmx_grid.core.errors import ConfigError
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.metrics._idf import idf_weights
from bmx_grid.metrics.encoders import BertScore, SentenceEmbedding
from bmx_grid.metrics.xmoverscore import XMoverScore
from bmx_grid.models.encoding import HeldStates

pytestmark = pytest.mark.filterwarnings("ignore:model '.*tokens:UserWarning")


def library_scores(folder: str, layer: int, pairs) -> list[float]:
    """Each pair alone: in a batch the library lets padding be matched."""
    scorer = bert_scorer(folder, num_layers=layer, device="cpu")
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


@pytest.mark.parametrize(("name", "layer"), [("bert", 1), ("roberta", 3), ("xlm_roberta", 2), (MINILM, 6)])
def test_equals_bert_score(tiny_model, tmp_path, name, layer):
    model, folder = (MINILM, MINILM_FOLDER) if name == MINILM else (tiny_model(name), tiny_model(name))
    oracle = with_a_blank_first(folder, tmp_path / "copy") if name == "roberta" else folder
    scores = score(BertScore(model=model, layer=layer, device="cpu"), [*PAIRS, *EMPTY])
    assert scores.tolist() == pytest.approx([*library_scores(oracle, layer, PAIRS), *[0.0] * len(EMPTY)], abs=1e-5)


def test_bert_score_reads_no_network_into_the_path_of_a_checkout(tiny_model, tmp_path):
    """It takes a model below a folder t5 for a T5 network, whose weights are then drawn at random."""
    folder = tmp_path / "t5"
    folder.mkdir()
    link = folder / "bert"
    link.symlink_to(tiny_model("bert"))
    assert library_scores(str(link), 1, PAIRS) == library_scores(tiny_model("bert"), 1, PAIRS)


@pytest.mark.parametrize(("idf", "baseline"), [(True, 0.0), (False, 0.83), (True, -0.5)])
@pytest.mark.parametrize(("name", "layer"), [("bert", 1), ("roberta", 3), (MINILM, 6)])
def test_idf_and_baseline_equal_bert_score(tiny_model, tmp_path, name, layer, idf, baseline):
    model, folder = (MINILM, MINILM_FOLDER) if name == MINILM else (tiny_model(name), tiny_model(name))
    oracle = with_a_blank_first(folder, tmp_path / "copy") if name == "roberta" else folder
    references = [truth for truth, _ in PAIRS]
    table = tmp_path / "baseline.tsv"
    table.write_text("LAYER,P,R,F\n" + "".join(f"{row},.1,.2,{baseline}\n" for row in range(9)))
    settings = {"num_layers": layer, "device": "cpu", "nthreads": 0}
    texts = {"idf": True, "idf_sents": references} if idf else {}
    rescaled = {"lang": "en", "rescale_with_baseline": baseline != 0, "baseline_path": str(table)}
    scorer = bert_scorer(oracle, **settings, **texts, **rescaled)
    expected = [float(scorer.score([hypothesis], [truth])[2]) for truth, hypothesis in PAIRS]
    # with transformers 5 the library cannot read the empty text, whose raw score is 0 (bert_score.utils)
    expected += [-baseline / (1 - baseline)] * len(EMPTY)
    metric = BertScore(
        model=model, layer=layer, device="cpu", idf=idf, baseline=baseline, idf_texts=tuple(references) if idf else ()
    )
    # up to 1 / (1 - baseline) times the rounding of float32
    assert score(metric, [*PAIRS, *EMPTY]).tolist() == pytest.approx(expected, abs=1e-5 / (1 - baseline))


def test_idf_weighs_by_the_ground_truths_of_the_set_once_for_each_id():
    texts = {"1": "the cat", "2": "the cat cat", "3": "the dog"}
    rows = [Segment(key, f"{system} cat", None, text, system) for key, text in texts.items() for system in "AB"]
    segments = SegmentSet("toy", "de-en", tuple(rows), Judgements({"da": np.arange(6.0)}))
    settings = {"model": MINILM, "layer": 6, "ground_truth": "reference"}
    metric = BertScore(**settings, idf=True)
    fitted = metric.fit(segments)
    assert fitted.idf_texts == tuple(texts.values())
    identity = {key: fitted.fingerprint()[key] for key in ("idf", "idf_of")}
    assert identity["idf"] is True and identity["idf_of"] in fitted.signature
    assert fitted.fingerprint() != metric.fit(segments.head(2)).fingerprint()
    assert BertScore(**settings).fit(segments) == BertScore(**settings)
    assert not {"idf", "idf_of", "baseline"} & set(BertScore(**settings).fingerprint())
    with pytest.raises(ConfigError, match=r'name the texts: settings=\{"metric.idf": True, "metric.idf_texts": refer'):
        score(metric, PAIRS)


def test_idf_weights_are_those_by_hand():
    """Of 3 texts token 0 is in all, 1 in two (twice in one of them), 2 in one, 3 in none."""
    weights = idf_weights(4, [(0, 1), (0, 1, 1), (0, 2)])
    assert weights.tolist() == pytest.approx([0, np.log(4 / 3), np.log(2), np.log(4)])


def test_each_text_is_embedded_once(tiny_model, monkeypatch):
    texts = embedded(monkeypatch)
    truth, hypothesis = "The cat sat on the mat .", "A dog ran across the road ."
    pairs = [(truth, hypothesis)]
    pairs += [(truth, "UNKWORDZ " * k + "road .") for k in range(9)]
    pairs += [("UNKWORDZ " * k + "mat .", hypothesis) for k in range(9)]
    score(BertScore(model=tiny_model("bert"), layer=1), pairs)
    assert len(texts) == len(set(texts)) == 20


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


def cosines(model, pairs) -> list[float]:
    """Blanks at the ends go, as the releases of the paper's time did; they matter to tokenizers other than BERT's."""
    texts = [[pair[side].strip() for pair in pairs] for side in (0, 1)]
    left, right = (np.asarray(model.encode(side), dtype=np.float64) for side in texts)
    return ((left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)).tolist()


@pytest.mark.parametrize(
    ("name", "pooling"), [("bert", "mean"), ("roberta", "cls"), ("xlm_roberta", "mean"), (MINILM, "mean")]
)
def test_equals_sentence_transformers(tiny_model, name, pooling):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    if name == MINILM:
        metric = SentenceEmbedding(model=MINILM, max_length=256, device="cpu")
        library = SentenceTransformer(MINILM_FOLDER, device="cpu")
    else:
        metric = SentenceEmbedding(model=tiny_model(name), pooling=pooling, max_length=20, device="cpu")
        modules = [Transformer(tiny_model(name), max_seq_length=20), Pooling(32, pooling_mode=pooling)]
        library = SentenceTransformer(modules=modules, device="cpu")
    expected = cosines(library, [*PAIRS, *EMPTY])
    assert score(metric, [*PAIRS, *EMPTY]).tolist() == pytest.approx(expected, abs=1e-5)


SOME = [*PAIRS, *EMPTY, *((hypothesis, truth) for truth, hypothesis in PAIRS)]
METRICS = {BertScore: {"layer": 2}, SentenceEmbedding: {}, XMoverScore: {"layer": 2, "language_model": "gpt2"}}


@pytest.mark.parametrize("kind", METRICS)
def test_the_budget_does_not_change_scores(tiny_model, kind):
    settings = {name: tiny_model(value) if value == "gpt2" else value for name, value in METRICS[kind].items()}
    expected = [score(kind(model=tiny_model("bert"), **settings), [pair])[0] for pair in SOME]
    for batch_tokens in (1, 40, 100_000):
        scores = score(kind(model=tiny_model("bert"), batch_tokens=batch_tokens, **settings), SOME)
        assert scores.tolist() == pytest.approx(expected, abs=1e-5)
