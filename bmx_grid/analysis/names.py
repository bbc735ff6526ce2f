"""Option names as the field writes them, for drawings and pages; tables and the terminal keep what is typed."""

from __future__ import annotations

from bmx_grid.core.wording import setting_label, visible

# Option name to written name; no two options share one. Names of capital letters follow; any other name stays as it is.
WRITTEN = {
    "bertscore": "BERTScore",
    "boosted": "boosted metric",
    "chrf": "chrF",
    "chrf_plus_plus": "chrF++",
    "minilm_bertscore": "BERTScore (MiniLM)",
    "minilm_sbert": "SBERT (MiniLM)",
    "sentence_bleu": "BLEU",
    "transquest": "TransQuest",
    "word_overlap": "word overlap",
    "xbertscore": "XBERTScore",
    "xlmr_sbert": "XLMR-SBERT",
    "xmoverscore": "XMoverScore",
    "erasure": "Erasure",
    "input_marginalization": "Input Marginalization",
    "eval4nlp21": "Eval4NLP 2021",
    "mqm21": "newstest2021 (MQM)",
    "summeval": "SummEval",
    "wmt22_qe": "WMT22 QE",
}
CAPITALS = {"bleurt", "comet", "lime", "mlqe_pe", "rouge_1", "rouge_2", "rouge_l", "shap", "ter", "wer", "wmt17"}
CORRELATIONS = {"pearson": "Pearson's r", "spearman": "Spearman's ρ", "kendall": "Kendall's τ"}
LONGEST_LABEL = 44  # characters of a name where there is room for a line
SHORT_LABEL = 22  # beside the axes of a figure that is a column wide


def written(name: str) -> str:
    """The name of an option as papers write it; an unknown name as it is."""
    return name.upper().replace("_", "-") if name in CAPITALS else WRITTEN.get(name, name)


def correlation_in_words(kind: str | None) -> str:
    """The name of a correlation; of an unstated one "correlation"."""
    return "correlation" if kind is None else CORRELATIONS.get(kind, kind)


def label(name: str, longest: int = LONGEST_LABEL) -> str:
    """The written name in one line of at most `longest` characters, for places with little room."""
    text = visible(written(name))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def setting_in_words(names: tuple[str, ...]) -> str:
    """Data set, language pair, metric and explainer in one line, as the field writes them."""
    return setting_label(*map(label, names))
