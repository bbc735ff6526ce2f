"""Language codes of translation models: each family names languages, and marks them in its texts, in its own way.

| family | model_type | code of German | position |
|---|---|---|---|
| M2M-100 | m2m_100 | de | before the source and before the target |
| NLLB | m2m_100 | deu_Latn | before (with `legacy_behaviour` behind) the source and the target |
| mBART | mbart | de_DE | behind both; the decoder starts with that of the target |
| mBART-50 | mbart | de_DE | before both |
| BART | bart | none | nowhere: both texts are of one language |

A language is named by its code in a data set ("de") or by the model's own ("deu_Latn").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from bmx_grid.core.errors import ConfigError, UnavailableError, unknown
from bmx_grid.models.files import check_model, find_file, read_object
from bmx_grid.models.loading import Device, Dtype, LoadedModel, load_model

_NLLB_CODE = re.compile("[a-z]{3}_[A-Z][a-z]{3}")
FAMILIES = ("m2m_100", "mbart", "bart")
# ISO 639-1 -> NLLB's code, in the script that the language is mostly written in today
_NLLB_TABLE = """
af:afr_Latn am:amh_Ethi ar:arb_Arab as:asm_Beng az:azj_Latn ba:bak_Cyrl be:bel_Cyrl bg:bul_Cyrl bn:ben_Beng
bs:bos_Latn ca:cat_Latn cs:ces_Latn cy:cym_Latn da:dan_Latn de:deu_Latn el:ell_Grek en:eng_Latn es:spa_Latn
et:est_Latn eu:eus_Latn fa:pes_Arab fi:fin_Latn fr:fra_Latn ga:gle_Latn gl:glg_Latn gu:guj_Gujr ha:hau_Latn
he:heb_Hebr hi:hin_Deva hr:hrv_Latn hu:hun_Latn hy:hye_Armn id:ind_Latn ig:ibo_Latn is:isl_Latn it:ita_Latn
ja:jpn_Jpan ka:kat_Geor kk:kaz_Cyrl km:khm_Khmr kn:kan_Knda ko:kor_Hang ky:kir_Cyrl lt:lit_Latn lv:lvs_Latn
mk:mkd_Cyrl ml:mal_Mlym mn:khk_Cyrl mr:mar_Deva ms:zsm_Latn mt:mlt_Latn my:mya_Mymr nb:nob_Latn ne:npi_Deva
nl:nld_Latn nn:nno_Latn pa:pan_Guru pl:pol_Latn ps:pbt_Arab pt:por_Latn ro:ron_Latn ru:rus_Cyrl sd:snd_Arab
si:sin_Sinh sk:slk_Latn sl:slv_Latn so:som_Latn sq:als_Latn sr:srp_Cyrl sv:swe_Latn sw:swh_Latn ta:tam_Taml
te:tel_Telu tg:tgk_Cyrl th:tha_Thai tl:tgl_Latn tr:tur_Latn uk:ukr_Cyrl ur:urd_Arab uz:uzn_Latn vi:vie_Latn
xh:xho_Latn yo:yor_Latn zh:zho_Hans zu:zul_Latn
"""
NLLB = dict(entry.split(":") for entry in _NLLB_TABLE.split())


@dataclass(frozen=True)
class Languages:
    """A language pair as a model knows it.

    source, target: the model's codes; None for a model without any.
    code: the token of the target's code, an input of the model, not a prediction; None without one.
    """

    source: str | None = None
    target: str | None = None
    code: int | None = None


def check_translator(model: str, revision: str | None = None) -> None:
    """Raise UnavailableError when a translation model is unavailable, or is of another kind. Loads no weights."""
    check_model(model, revision)
    config = find_file(model, revision, "config.json")
    # A model that only the hub has is checked when it is loaded.
    if config is None:
        return
    settings = read_object(model, config)
    kind = settings.get("model_type")
    has_encoder = settings.get("is_encoder_decoder")
    if kind not in FAMILIES or not has_encoder:
        why = "with unknown language codes" if has_encoder else "without an encoder for the source"
        raise UnavailableError(f"model '{model}' is a {kind}, {why}; name M2M-100, NLLB, mBART or BART.")


def load_translator(model: str, revision: str | None, dtype: Dtype, device: Device) -> LoadedModel:
    """The model, loaded once per process. Raises UnavailableError when it is unavailable or no translation model."""
    check_translator(model, revision)
    loaded = load_model("seq2seq", model, revision, dtype=dtype, device=device)
    check_translator(model, revision)  # once more: a model of the hub is in the cache now
    return loaded


def languages_of(loaded: LoadedModel, source: str | None, target: str | None) -> Languages:
    """The pair in the model's codes. source, target: codes of the data set or of the model, None if unknown.

    Raises ConfigError for a missing language that the model needs, for one that it does not know, and for two languages
    of a model for one.
    """
    if loaded.network.config.model_type == "bart":
        if source != target:
            raise ConfigError(
                f"model '{loaded.name}' is a BART without language codes, which reads and writes one language, not "
                f"{source} and {target}: name a multilingual model, or a direction between texts of one language."
            )
        return Languages()
    known = known_languages(loaded.tokenizer)
    source_code = _code(loaded, known, source, "source")
    target_code = _code(loaded, known, target, "target")
    return Languages(source_code, target_code, known[target_code])


def use(tokenizer: Any, languages: Languages) -> None:
    """Set the tokenizer to the pair, by which it marks texts from now on; one without languages is left as it is."""
    if languages.source is not None:
        tokenizer.src_lang = languages.source
        tokenizer.tgt_lang = languages.target


def known_languages(tokenizer: Any) -> dict[str, int]:
    """Token by code of the languages that a multilingual tokenizer knows; none for BART."""
    by_code = getattr(tokenizer, "lang_code_to_id", None)
    if by_code:
        return {code: int(token) for code, token in by_code.items()}
    # NLLB keeps its codes, such as deu_Latn, among the tokens that were added to its vocabulary
    added = tokenizer.get_added_vocab()
    return {code: token for code, token in added.items() if _NLLB_CODE.fullmatch(code)}


def _code(loaded: LoadedModel, known: dict[str, int], language: str | None, role: str) -> str:
    """The model's code of a language. Raises ConfigError if the language is missing or not known."""
    if language is None:
        raise ConfigError(
            f"model '{loaded.name}' needs the language of the {role}: in a sweep it is taken from the "
            f"language pair; elsewhere give the pair (score --language-pair de-en, load(…, language_pair='de-en'))."
        )
    for code in (language, NLLB.get(language)):
        if code in known:
            return code
    # mBART's codes have a country: de is de_DE. A language that two countries have has to be named in full.
    with_country = [code for code in known if code.partition("_")[0] == language]
    if len(with_country) == 1:
        return with_country[0]
    raise ConfigError(f"model '{loaded.name}': " + unknown("language", language, known))
