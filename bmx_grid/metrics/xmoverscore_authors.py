"""XMoverScore as the code of BMX's authors computes it, where that differs from the paper's text."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bmx_grid.errors import UnavailableError
from bmx_grid.identity import identity
from bmx_grid.metrics._matching import TokenVectors
from bmx_grid.metrics.xmoverscore import XMoverScore
from bmx_grid.words.perturbation import Item

_TO_DETOKENISE = ("sacremoses",)
_TO_TRUECASE = ("truecase", "nltk")
_SENTENCES = "tokenizers/punkt_tab/english/"  # NLTK's data, which word_tokenize needs


def check_libraries(metric: str, names: tuple[str, ...]) -> None:
    """Raise UnavailableError, with the command that installs them, when libraries are missing."""
    lacking = [name for name in names if importlib.util.find_spec(name) is None]
    if lacking:
        raise UnavailableError(
            f"metric '{metric}' needs {', '.join(lacking)}: `pip install {' '.join(lacking)}`, or "
            '`pip install "bmx-grid[authors]"` for all that the code of the paper\'s authors uses.'
        )


def check_text_libraries(metric: str, detokenize: bool, truecase: bool) -> None:
    """Raise UnavailableError when a library or data that the two steps need are missing."""
    check_libraries(metric, (*(_TO_DETOKENISE if detokenize else ()), *(_TO_TRUECASE if truecase else ())))
    if truecase:
        import nltk

        try:
            nltk.data.find(_SENTENCES)
        except LookupError as error:
            raise UnavailableError(
                f"metric '{metric}': the library truecase splits texts with data of NLTK that no package carries: "
                "run `python -m nltk.downloader punkt_tab`, or set truecase=false."
            ) from error


@functools.lru_cache(maxsize=50_000)
def detokenized(text: str, language: str) -> str:
    """The text with its words, separated by single spaces, joined again by sacremoses' rules for a language."""
    found: str = _detokenizer(language).detokenize(text.split(" "))
    return found


@functools.lru_cache(maxsize=50_000)
def truecased(text: str) -> str:
    """The English text, tokenised again, each word in its most likely casing; unknown words are in title case."""
    found: str = _truecaser().get_true_case(text)
    return found


@functools.cache
def _detokenizer(language: str) -> Any:
    from sacremoses import MosesDetokenizer

    return MosesDetokenizer(lang=language)


@functools.cache
def _truecaser() -> Any:
    """The library's English model. Of equally likely casings it takes the first of a set, whose order changes from
    process to process; here it is the first in the order of code points.
    """
    import truecase

    found = truecase.TrueCaser()
    found.word_casing_lookup = {word: sorted(casings) for word, casings in found.word_casing_lookup.items()}
    return found


@dataclass(frozen=True, kw_only=True)
class AuthorsXMoverScore(XMoverScore):
    """XMoverScore with the steps that the code of BMX's authors takes and the paper does not mention.

    detokenize: both texts are put together by sacremoses' MosesDetokenizer. source_language: whose rules apply to
        the ground truth (such as "de"); None for the rules common to all languages, which give the same texts for all
        3,920 sources of WMT17. The hypothesis is English.
    truecase: the hypothesis is tokenised and cased again by the library truecase, with its English model.
    transport: "pyemd" leaves out flows as the authors do; "exact" as XMoverScore does. pyemd rounds the flows to
        about a millionth, each mass with 1e-9 added, so that flows that ought to be equal differ, and those below
        the threshold by that rounding go as well. Measured on the 140 pairs of the sample (embedded MiniLM, layer
        6): the authors' score is never below ours, above it by .003 at the median, by more than .01 for a quarter
        of the pairs and by .19 at most. Distances that differ by 1e-7, as between batches, move it by 4e-8 at most.

    Perturbed texts go through the same steps: a mask UNKWORDZ becomes "Unkwordz", double spaces vanish.
    Not followed: the authors' distances are float32 matrix products (off by up to 1e-4 where two vectors are the
    same), and of equally likely casings truecase takes one by the hash seed of the process. The authors' libraries
    are older versions of those used here. Raises UnavailableError (check) when a library or its data are missing.
    """

    VERSION = 1

    detokenize: bool = identity(True)
    source_language: str | None = identity(None)
    truecase: bool = identity(True)
    transport: Literal["exact", "pyemd"] = identity("pyemd")

    def check(self) -> None:
        super().check()
        check_text_libraries("xmoverscore_authors", self.detokenize, self.truecase)
        if self.transport == "pyemd":
            check_libraries("xmoverscore_authors", ("pyemd",))

    def score(self, items: Sequence[Item]) -> NDArray[np.float64]:
        return super().score([self._prepared(item) for item in items])

    def _prepared(self, item: Item) -> Item:
        truth = self.prepare(item.text(self.ground_truth), "truth")
        said = self.prepare(item.text("hypothesis"), "hypothesis")
        return item.with_text(self.ground_truth, truth).with_text("hypothesis", said)

    def prepare(self, text: str, side: Literal["truth", "hypothesis"]) -> str:
        """The text as the encoder and the language model read it."""
        if self.detokenize:
            text = detokenized(text, self.source_language or "any" if side == "truth" else "en")
        return truecased(text) if self.truecase and side == "hypothesis" else text

    def _compare(self, truth: TokenVectors, hypothesis: TokenVectors) -> NDArray[np.float64]:
        if self.transport == "exact":
            return super()._compare(truth, hypothesis)
        found = [
            1
            - rounded_distance(
                left[mask].double().cpu().numpy(), right[other].double().cpu().numpy(), self.flow_dropout
            )
            for left, mask, right, other in zip(
                truth.vectors, truth.mask, hypothesis.vectors, hypothesis.mask, strict=True
            )
        ]
        return np.array(found)


def rounded_distance(left: NDArray[np.float64], right: NDArray[np.float64], dropout: float) -> float:
    """What it costs to move n equal piles onto m equal piles by pyemd, without the flows that its rounding makes small.

    left: float64[n, D], right: float64[m, D], unit vectors. As in the authors' code, the problem has n + m places on
    both sides, each of mass 1e-9 at least, and of the k flows that are not 0 those below the
    max(int(dropout * k), 1)-th smallest are left out.
    """
    from pyemd import emd_with_flow
    from scipy.spatial.distance import cdist

    n, m = len(left), len(right)
    vectors = np.concatenate([left, right])
    costs = cdist(vectors, vectors)
    supply = np.repeat([1 / n, 0.0], [n, m]) + 1e-9
    demand = np.repeat([0.0, 1 / m], [n, m]) + 1e-9
    flow = np.array(emd_with_flow(supply, demand, costs)[1])[:n, n:]
    moved = np.sort(flow[flow != 0])
    if dropout > 0 and len(moved):
        flow[flow < moved[max(int(len(moved) * dropout), 1) - 1]] = 0
    return float((flow * costs[:n, n:]).sum())
