"""How many tokens a text of a model may have: the smallest of the limits that its files and its network have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bmx_grid.core.errors import UnavailableError, quote_value

# The keys of config.json that hold a limit, over all architectures of transformers. Many have none: Mamba has no
# positions, and those of BLOOM and XLNet are relative.
LIMIT_KEYS = (
    *("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length", "max_sequence_length"),
    *("max_encoder_position_embeddings", "max_decoder_position_embeddings"),
)
OF_TOKENIZER = "model_max_length"  # the key of tokenizer_config.json
NO_LIMIT = 2**31 - 1  # tokens; tokenizers cannot count the 1e30 that transformers writes for no limit
_LEAST = 4  # tokens: a text with begin and end, of two tokens


def check_limits(model: str, path: Path | None, settings: Mapping[str, Any]) -> None:
    """Raise UnavailableError for a limit in a model's config.json or tokenizer_config.json that cannot be one."""
    for key in (*LIMIT_KEYS, OF_TOKENIZER):
        value = settings.get(key)
        if value is None:
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        # configurations of relative positions hold -1
        is_none = key != OF_TOKENIZER and value == -1
        if not is_number or not (value >= _LEAST or is_none) or value % 1:
            raise UnavailableError(
                f"model '{model}': {key} in {path} is {quote_value(value)}, and must be a whole number of tokens, "
                f"{_LEAST} or more. Correct the file, or download it again."
            )


def token_limit(tokenizer: Any, network: Any) -> int:
    """Tokens that a text may have, special tokens included; NO_LIMIT if nothing limits them."""
    config = network.config.get_text_config()
    limits = [getattr(config, key, None) for key in LIMIT_KEYS]
    limits.append(tokenizer.model_max_length)
    limits += _table_limits(network)
    smallest = NO_LIMIT
    for limit in limits:
        if limit is not None and limit > 0:
            smallest = int(min(smallest, limit))
    return smallest


def _table_limits(network: Any) -> list[int]:
    """The number of positions in each table of absolute positions that texts can use."""
    limits = []
    for name, module in network.named_modules():
        own_name = name.rpartition(".")[2]
        weights: Any = getattr(module, "weight", None)
        # Tables are embeddings, or as in I-BERT of a class of their own. A name such as `relative_position_embedding`
        # is of a table of distances.
        is_of_positions = own_name == "wpe" or ("position" in own_name and "relative" not in own_name)
        if weights is None or not hasattr(module, "padding_idx") or not is_of_positions:
            continue
        # RoBERTa and its like count positions from the one after the padding's, BART and its like from `offset`.
        first = getattr(module, "offset", 0)
        if module.padding_idx is not None:
            first = module.padding_idx + 1
        limits.append(len(weights) - first)
    return limits
