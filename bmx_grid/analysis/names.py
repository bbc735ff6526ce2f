"""Option names as the field writes them, for drawings and pages; tables and the terminal keep what is typed."""

from __future__ import annotations

from bmx_grid.core.wording import setting_label, visible

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
    "rouge_1": "ROUGE-1",
    "rouge_2": "ROUGE-2",
    "rouge_l": "ROUGE-L",
    "sentence_bleu": "BLEU",
    "ter": "TER",
    "transquest": "TransQuest",
    "wer": "WER",
    "word_overlap": "word overlap",
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
    "summeval": "SummEval",
    "wmt17": "WMT17",
    "wmt22_qe": "WMT22 QE",
}
CORRELATIONS = {"pearson": "Pearson's r", "spearman": "Spearman's ρ", "kendall": "Kendall's τ"}
LONGEST_LABEL = 44  # characters of a name where there is room for a line
SHORT_LABEL = 22  # beside the axes of a figure that is a column wide


def written(name: str) -> str:
    """The name of an option as papers write it; an unknown name as it is."""
    return WRITTEN.get(name, name)


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
