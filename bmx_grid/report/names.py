"""Option names as the field writes them, and any names made safe for drawings and file names."""

from __future__ import annotations

import hashlib
import re
import unicodedata

# Option name to written name; no two options share one. A name that is not here stays as it is.
WRITTEN = {
    "bertscore": "BERTScore",
    "bleurt": "BLEURT",
    "boosted": "boosted metric",
    "chrf": "chrF",
    "chrf_plus_plus": "chrF++",
    "comet": "COMET",
    "minilm_bertscore": "BERTScore (MiniLM)",
    "minilm_sbert": "SBERT (MiniLM)",
    "sentence_bleu": "BLEU",
    "ter": "TER",
    "transquest": "TransQuest",
    "wer": "WER",
    "xbertscore": "XBERTScore",
    "xlmr_sbert": "XLMR-SBERT",
    "xmoverscore": "XMoverScore",
    "erasure": "Erasure",
    "input_marginalization": "Input Marginalization",
    "lime": "LIME",
    "shap": "SHAP",
    "eval4nlp21": "Eval4NLP 2021",
    "mlqe_pe": "MLQE-PE",
    "mqm21": "newstest2021 (MQM)",
    "wmt17": "WMT17",
    "wmt22_qe": "WMT22 QE",
}
FACTORS = {"dataset": "data set", "language_pair": "language pair"}
CORRELATIONS = {"pearson": "Pearson's r", "spearman": "Spearman's ρ", "kendall": "Kendall's τ"}
LONGEST_LABEL = 44  # characters of a name where there is room for a line
SHORT_LABEL = 22  # beside the axes of a figure that is a column wide
LONGEST_STEM = 150  # characters of a file name, which with its suffix must stay below 255 bytes
MARK = 8  # hexadecimal digits that keep altered file names distinct


def written(name: str) -> str:
    """The name of an option as papers write it; an unknown name as it is."""
    return WRITTEN.get(name, name)


def factor_in_words(factor: str) -> str:
    """The name of a factor in a sentence: "dataset" -> "data set"."""
    return FACTORS.get(factor, factor)


def correlation_in_words(kind: str | None) -> str:
    """The name of a correlation; of an unstated one "correlation"."""
    return "correlation" if kind is None else CORRELATIONS.get(kind, kind)


def one_line(text: str) -> str:
    """`text` without line breaks, control characters and invisible marks of direction, each run of them one blank."""
    kept = "".join(" " if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") else letter for letter in text)
    return " ".join(part for part in kept.split(" ") if part)  # blanks that hold words together stay


def label(name: str, longest: int = LONGEST_LABEL) -> str:
    """The written name in one line of at most `longest` characters, for places with little room."""
    text = one_line(written(name))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def setting_in_words(names: tuple[str, ...]) -> str:
    """Data set, language pair, metric and explainer in one line."""
    return " · ".join(label(name) for name in names)


def file_stem(*parts: str) -> str:
    """A file name without suffix, from parts of any content: never a path, and no two lists of parts share one.

    Parts are joined with points. Letters, digits, "-", "+" and "_" of ASCII stay; anything else becomes "-", and
    then, as for a name that is too long, a digest of the parts is added.
    """
    safe = [re.sub(r"[^A-Za-z0-9_+-]+", "-", part) for part in parts]
    stem = ".".join(safe)
    if tuple(safe) == parts and all(parts) and len(stem) <= LONGEST_STEM:
        return stem
    return f"{stem[:LONGEST_STEM]}-{hashlib.sha256(repr(parts).encode('utf-8', 'replace')).hexdigest()[:MARK]}"
