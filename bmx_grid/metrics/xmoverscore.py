"""XMoverScore without cross-lingual mapping (Zhao et al., 2020; paper, section 3.2 and appendix A).

Also as computed by the code of BMX's authors, which differs from the paper's text.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bmx_grid.core.errors import UnavailableError
from bmx_grid.core.identity import identity
from bmx_grid.core.ragged import Floats, Ints
from bmx_grid.metrics.base import text_pairs
from bmx_grid.metrics.encoders import NeuralMetric, TokenVectors, process_token_pairs
from bmx_grid.models.encoding import lengths_of, log_likelihoods, tokenize
from bmx_grid.models.files import check_model, model_identity
from bmx_grid.models.loading import LoadedModel, load_model
from bmx_grid.models.model_cards import model_languages
from bmx_grid.words.perturbation import Item, Role

MOST_WEIGHT = 1_000_000


def normalised_likelihood(loaded: LoadedModel, texts: Sequence[str], batch_tokens: int | None) -> Floats:
    """float64[n] in [0, 1]: exp(l)^(1/n), where l is the mean log-probability of all n tokens but the first.

    That is one over the perplexity, drawn to 1 by the length, as the authors of BMX add it to XMoverScore (the
    original XMoverScore adds l itself). A text of less than two tokens scores 0, as in their code.
    """
    ids = tokenize(loaded, texts, None, specials=False)
    lengths = lengths_of(ids)
    total = log_likelihoods(loaded, ids, np.ones_like(lengths), batch_tokens)
    scored = lengths >= 2
    likelihoods = np.zeros(len(texts))
    means = total[scored] / (lengths[scored] - 1)
    likelihoods[scored] = np.exp(means / lengths[scored])
    return likelihoods


@dataclass(frozen=True, kw_only=True)
class XMoverScore(NeuralMetric):
    """1 minus the earth mover's distance between the token embeddings (unigrams) of both texts.

    Every token, special ones included, weighs the same; the cost is the Euclidean distance of unit vectors.
    layer: the hidden layer whose output is compared.
    flow_dropout: of the flows that are not 0, that share is left out of the sum, the smallest ones, but never
        flows as large as the largest of that share (so with equal weights and sizes nothing is left out).
    language_model: adds `language_model_weight` times `normalised_likelihood` of the hypothesis; None for none,
        as in the paper's text. The authors' code adds 0.1 times that of GPT-2.
    The empty text consists of its two special tokens. Texts are read unchanged.

    The authors' code does more than the paper describes: it detokenises both texts, restores the case of the
    hypothesis, and leaves out flows by the rounding of its solver, also some of those that are equal in exact numbers
    (up to .19 per pair). `AuthorsXMoverScore` (option xmoverscore_authors) does the same.
    """

    VERSION = 2

    layer: int = identity(least=1)
    flow_dropout: float = identity(0.3, least=0, below=1)
    language_model: str | None = identity(None)
    language_model_revision: str | None = identity(None)
    language_model_weight: float = identity(0.1, least=-MOST_WEIGHT, most=MOST_WEIGHT)

    def fingerprint(self) -> dict[str, object]:
        """Settings, with the commits of hub models and the contents of local ones."""
        settings = super().fingerprint()
        if self.language_model is not None:
            identity_of_model = model_identity(self.language_model, self.language_model_revision)
            for key, value in identity_of_model.items():
                settings[f"language_model_{key}"] = value
        return settings

    def known_languages(self, role: Role) -> frozenset[str] | None:
        models = self.pretrained_models()
        # the language model reads hypotheses only
        return model_languages(models if role == "hypothesis" else models[:1])

    def pretrained_models(self) -> tuple[tuple[str, str | None], ...]:
        if self.language_model is None:
            return super().pretrained_models()
        return (*super().pretrained_models(), (self.language_model, self.language_model_revision))

    def check(self) -> None:
        super().check()
        if self.language_model is not None:
            check_model(self.language_model, self.language_model_revision)

    def score(self, items: Sequence[Item]) -> Floats:
        if not items:
            return np.empty(0)
        loaded = self._load_model()
        pairs = text_pairs(items, self.ground_truth)
        scores = np.empty(len(items))
        likely: dict[str, float] = {}
        if self.language_model is not None:  # first: if it cannot be loaded, nothing is scored in vain
            language_model = load_model(
                "causal_lm", self.language_model, self.language_model_revision, dtype=self.precision, device=self.device
            )
            texts = list(dict.fromkeys(hypothesis for _, hypothesis in pairs))
            likelihoods = normalised_likelihood(language_model, texts, self.batch_tokens)
            likely = dict(zip(texts, likelihoods, strict=True))

        def take(batch: Ints, truth: TokenVectors, hypothesis: TokenVectors) -> None:
            scores[batch] = self._compare(truth, hypothesis)

        tokens = functools.partial(tokenize, loaded, max_length=self.max_length)
        process_token_pairs(loaded, pairs, tokens, take, self.batch_tokens)
        if likely:
            likelihood_of_items = np.array([likely[hypothesis] for _, hypothesis in pairs])
            scores += self.language_model_weight * likelihood_of_items
        return scores

    def _compare(self, truth: TokenVectors, hypothesis: TokenVectors) -> Floats:
        """float64[B] scores of B pairs, without the language model."""
        import torch

        # the faster way through a matrix product is off by 1e-4 where two vectors are the same
        mode = "donot_use_mm_for_euclid_dist"
        truth_vectors, truth_mask, _ = truth
        hypothesis_vectors, hypothesis_mask, _ = hypothesis
        costs = torch.cdist(truth_vectors, hypothesis_vectors, compute_mode=mode).cpu().numpy()
        n_rows = truth_mask.sum(dim=1).tolist()
        n_columns = hypothesis_mask.sum(dim=1).tolist()
        distances = []
        for padded_cost, rows, columns in zip(costs, n_rows, n_columns, strict=True):
            cost = padded_cost[:rows, :columns].astype(np.float64)
            distances.append(moved_distance(cost, self.flow_dropout))
        return 1 - np.array(distances)


def moved_distance(cost: Floats, dropout: float) -> float:
    """The cost of moving n equal piles onto m equal piles, without the smallest flows.

    cost: float64[n, m]. Both sides have mass 1. Of the k flows that are not 0, those below the
    max(int(dropout * k), 1)-th smallest are left out. 0 when both sides are empty, and 2, the largest distance of
    unit vectors, when one is. Among optimal flows of the same cost, POT's choice decides which flows are left out.
    """
    import ot

    rows, columns = cost.shape
    if rows == 0 or columns == 0:
        return 0.0 if rows == columns else 2.0  # POT fails on empty problems
    # n piles of m and m piles of n: whole numbers, so that an optimal flow is whole too and ties are exact
    supply = np.full(rows, float(columns))
    demand = np.full(columns, float(rows))
    flow = np.rint(ot.emd(supply, demand, cost))
    return _cost_of_flow(flow, cost, dropout) / float(rows * columns)


def _cost_of_flow(flow: Floats, cost: Floats, dropout: float) -> float:
    """What flows cost without the smallest ones, which are set to 0 in `flow`."""
    sizes = np.sort(flow[flow != 0])
    if dropout > 0 and len(sizes):
        rank = max(int(len(sizes) * dropout), 1)
        flow[flow < sizes[rank - 1]] = 0
    return float((flow * cost).sum())


_LIBRARIES = ("sacremoses", "truecase", "nltk", "pyemd")
_SENTENCES = "tokenizers/punkt_tab/english/"  # NLTK's data, which word_tokenize needs


@functools.lru_cache(maxsize=50_000)
def detokenize(text: str, language: str) -> str:
    """The text with its words, separated by single spaces, joined again by sacremoses' rules for a language."""
    from sacremoses import MosesDetokenizer

    return str(MosesDetokenizer(lang=language).detokenize(text.split(" ")))


@functools.lru_cache(maxsize=50_000)
def truecase(text: str) -> str:
    """The English text, tokenised again, each word in its most likely casing; unknown words are in title case."""
    return str(_truecaser().get_true_case(text))


@functools.cache
def _truecaser() -> Any:
    """The library's English model. Of equally likely casings it takes the first of a set, whose order changes from
    process to process; this model takes the first in the order of code points.
    """
    import truecase

    library = truecase.TrueCaser()
    casings_of_word = library.word_casing_lookup
    library.word_casing_lookup = {word: sorted(casings) for word, casings in casings_of_word.items()}
    return library


@dataclass(frozen=True, kw_only=True)
class AuthorsXMoverScore(XMoverScore):
    """XMoverScore with the steps that the code of BMX's authors takes and the paper does not mention.

    Both texts are put together by sacremoses' MosesDetokenizer. source_language: whose rules apply to the ground truth
    (such as "de"); None for the rules common to all languages, which give the same texts for all 3,920 sources of
    WMT17. The hypothesis is English, and tokenised and cased again by the library truecase.
    Flows are left out as pyemd has them: it rounds them to about a millionth, each mass with 1e-9 added, so that flows
    that ought to be equal differ, and those below the threshold by that rounding are left out, too. Measured on the 140
    pairs of the sample (embedded MiniLM, layer 6): the authors' score is never below ours, above it by .003 at the
    median, by more than .01 for a quarter of the pairs and by .19 at most. Distances that differ by 1e-7, as between
    batches, move it by 4e-8 at most.

    Perturbed texts go through the same steps: a mask UNKWORDZ becomes "Unkwordz", double spaces vanish.
    Not followed: the authors' distances are float32 matrix products (off by up to 1e-4 if two vectors are the
    same), and of equally likely casings truecase takes one by the hash seed of the process. The authors' libraries
    are older versions of those used by this class. Raises UnavailableError (check) when a library or its
    data are missing.
    """

    VERSION = 1

    REMOVED_FIELDS: ClassVar[Mapping[str, Any]] = {"detokenize": True, "truecase": True, "transport": "pyemd"}

    source_language: str | None = identity(None)

    def check(self) -> None:
        super().check()
        lacking = [name for name in _LIBRARIES if importlib.util.find_spec(name) is None]
        if lacking:
            raise UnavailableError(
                f"metric 'xmoverscore_authors' needs {', '.join(lacking)}: `pip install {' '.join(lacking)}`, or "
                'in a checkout `pip install ".[authors]"` for all that the code of the paper\'s authors uses.'
            )
        import nltk

        try:
            nltk.data.find(_SENTENCES)
        except LookupError as error:
            raise UnavailableError(
                "metric 'xmoverscore_authors': the library truecase splits texts with data of NLTK that no package "
                "carries: run `python -m nltk.downloader punkt_tab`."
            ) from error

    def score(self, items: Sequence[Item]) -> Floats:
        return super().score([self._prepare_item(item) for item in items])

    def _prepare_item(self, item: Item) -> Item:
        """The item with its texts as the encoder and the language model read them."""
        language = self.source_language or "any"
        truth = detokenize(item.text(self.ground_truth), language)
        hypothesis = truecase(detokenize(item.text("hypothesis"), "en"))
        return item.replace_text(self.ground_truth, truth).replace_text("hypothesis", hypothesis)

    def _compare(self, truth: TokenVectors, hypothesis: TokenVectors) -> Floats:
        pairs = zip(_drop_padding(truth), _drop_padding(hypothesis), strict=True)
        distances = [rounded_distance(left, right, self.flow_dropout) for left, right in pairs]
        return 1 - np.array(distances)


def _drop_padding(side: TokenVectors) -> list[Floats]:
    """float64[L, D] vectors of the tokens of each text."""
    texts, masks, _ = side
    rows = []
    for vectors, mask in zip(texts, masks, strict=True):
        rows.append(vectors[mask].double().cpu().numpy())
    return rows


def rounded_distance(left: Floats, right: Floats, dropout: float) -> float:
    """The cost of moving n equal piles onto m equal piles by pyemd, without the flows that its rounding makes small.

    left: float64[n, D], right: float64[m, D], unit vectors. As in the authors' code, the problem has n + m places on
    both sides, each of mass 1e-9 at least, and of the k flows that are not 0 those below the
    max(int(dropout * k), 1)-th smallest are left out.
    """
    from pyemd import emd_with_flow
    from scipy.spatial.distance import cdist

    n = len(left)
    m = len(right)
    vectors = np.concatenate([left, right])
    costs = cdist(vectors, vectors)
    sizes = [n, m]
    supply = np.repeat([1 / n, 0.0], sizes) + 1e-9
    demand = np.repeat([0.0, 1 / m], sizes) + 1e-9
    _, flow = emd_with_flow(supply, demand, costs)
    # the left piles are in the first n rows, the right ones in the last m columns
    between = np.array(flow)[:n, n:]
    return _cost_of_flow(between, costs[:n, n:], dropout)
