"""What the authors of BMX do to texts before XMoverScore: Moses detokenisation, and true casing of the hypothesis."""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

from bmx_grid.errors import UnavailableError

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
