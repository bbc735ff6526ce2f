"""The sub-word models of spBLEU (Goyal et al., 2022), which sacreBLEU keeps as files in a folder of its own."""

from __future__ import annotations

from pathlib import Path

from bmx_grid.core.errors import UnavailableError
from bmx_grid.core.identity import file_digest

FLORES = ("flores101", "flores200")  # tokenizers of sacreBLEU


def _model_of(name: str) -> tuple[Path, str]:
    """The file of a sub-word model, in sacreBLEU's folder, and the address that sacreBLEU has it from."""
    from sacrebleu import utils
    from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS

    address = SPM_MODELS[name]["url"]
    return Path(utils.SACREBLEU_DIR) / "models" / address.rpartition("/")[2], address


def content_of_model(name: str) -> str | None:
    """16 digits of the SHA-256 of a sub-word model; None without its file."""
    file, _ = _model_of(name)
    if not file.is_file():
        return None
    return file_digest(file)[:16]


def check_flores_model(name: str) -> None:
    """Raise UnavailableError without a sub-word model: sacreBLEU itself would download it in the midst of a sweep."""
    from sentencepiece import SentencePieceProcessor

    file, address = _model_of(name)
    if not file.is_file():
        raise UnavailableError(
            f"sacreBLEU's tokenizer '{name}' needs its sub-word model, and {file} is not there. Download it: "
            f"curl --create-dirs -L -o {file} {address} (SACREBLEU=FOLDER in the environment names another folder), or "
            "choose another tokenizer (tokenize=13a)."
        )
    try:
        SentencePieceProcessor(model_file=str(file))
    except (RuntimeError, OSError) as error:
        raise UnavailableError(f"{file}: cannot be read as a model of sentencepiece; download it again.") from error
