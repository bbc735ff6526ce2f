"""Sentence embeddings against the library sentence-transformers on the same models."""

import numpy as np
import pytest
from neural import EMPTY, MINILM, MINILM_FOLDER, NAMES, PAIRS
from pairs import score

from bmx_grid.metrics.encoders import SentenceEmbedding

pytestmark = pytest.mark.filterwarnings("ignore:model '.*tokens:UserWarning")


def cosines(model, pairs) -> list[float]:
    """Blanks at the ends go, as the releases of the paper's time did; they matter to tokenizers other than BERT's."""
    texts = [[pair[side].strip() for pair in pairs] for side in (0, 1)]
    left, right = (np.asarray(model.encode(side), dtype=np.float64) for side in texts)
    return ((left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)).tolist()


def library_model(folder: str, pooling: str, max_length: int):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    words = Transformer(folder, max_seq_length=max_length)
    return SentenceTransformer(modules=[words, Pooling(32, pooling_mode=pooling)], device="cpu")


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("name", NAMES)
def test_equals_sentence_transformers_on_tiny_models(tiny_model, name, pooling):
    metric = SentenceEmbedding(model=tiny_model(name), pooling=pooling, max_length=20, device="cpu")
    expected = cosines(library_model(tiny_model(name), pooling, 20), [*PAIRS, *EMPTY])
    assert score(metric, [*PAIRS, *EMPTY]).tolist() == pytest.approx(expected, abs=1e-5)


def test_equals_sentence_transformers_on_a_real_model():
    from sentence_transformers import SentenceTransformer

    metric = SentenceEmbedding(model=MINILM, max_length=256, device="cpu")
    expected = cosines(SentenceTransformer(MINILM_FOLDER, device="cpu"), [*PAIRS, *EMPTY])
    assert score(metric, [*PAIRS, *EMPTY]).tolist() == pytest.approx(expected, abs=1e-5)
