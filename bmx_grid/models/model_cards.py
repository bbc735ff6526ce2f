"""The languages that pretrained models were trained on, by their model cards, and the sizes of models."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from bmx_grid.core.documents import parse_yaml
from bmx_grid.core.errors import UnavailableError
from bmx_grid.models.files import find_file

LanguageCodes = frozenset[str]  # codes of ISO 639-1, such as en

# Languages of hub models whose card is seldom in the cache, by the last part of their id.
_OF_HUB_MODELS = {
    **dict.fromkeys(("bert-base-uncased", "roberta-large", "bart-large-cnn", "gpt2"), LanguageCodes({"en"})),
    "e5-small-enpt-q4.bin": LanguageCodes({"en", "pt"}),
}

# 10^9 bytes of model.safetensors by hub id: four per float32 parameter, which a test counts. Not a field of an option:
# a user who names another model in it would keep this one's size.
GIGABYTES = {
    "bert-base-multilingual-cased": 0.71,
    "facebook/bart-large-cnn": 1.63,
    "gpt2": 0.55,
    "joeddav/xlm-roberta-large-xnli": 2.24,
    "roberta-large": 1.42,
    "sentence-transformers/stsb-xlm-r-multilingual": 1.11,
}


def model_languages(models: Iterable[tuple[str, str | None]]) -> LanguageCodes | None:
    """The languages that every model (name, revision) knows; None if no card limits them."""
    known: LanguageCodes | None = None
    for model, revision in models:
        languages = _languages_of(model, revision)
        if languages is not None:
            known = languages if known is None else known & languages
    return known


@functools.lru_cache(maxsize=100)
def _languages_of(model: str, revision: str | None) -> LanguageCodes | None:
    try:
        card = find_file(model, revision, "README.md")
    except UnavailableError:
        card = None
    named: object = None
    if card is not None:
        named = _header(card.read_text("utf-8", errors="replace")).get("language")
    if named is None:
        return _OF_HUB_MODELS.get(model.rpartition("/")[2])
    codes = set()
    for name in named if isinstance(named, list) else [named]:
        # YAML reads the code of Norwegian as a truth value.
        codes.add("no" if name is False else str(name).lower())
    # "multilingual" and names such as "code" exclude no language
    if not all(len(code) == 2 for code in codes):
        return None
    return LanguageCodes(codes)


def _header(card: str) -> dict[str, object]:
    """The fields at the top of a model card, between two lines of dashes."""
    lines = card.splitlines()
    if not lines or lines[0] != "---" or "---" not in lines[1:]:
        return {}
    end = lines.index("---", 1)
    try:
        fields = parse_yaml("\n".join(lines[1:end]))
    except ValueError:
        # a card is for people: one that cannot be read is ignored
        return {}
    return fields if isinstance(fields, dict) else {}
