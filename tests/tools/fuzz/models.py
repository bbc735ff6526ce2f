"""Folders of a tiny model, one of whose files was edited or damaged, made from a seed.

    inputs(seed, count, folder)    (what was done, the folder) for each, which may be removed before the next
    answer(path)                   what the model is refused with; "" where it gave finite scores

Whatever was done, the answer is scores or one sentence. A limit of tokens that cannot be one is refused with its file
and key; one that does not limit these texts changes no score.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tiny_models import tiny_roberta

from bmx_grid.core.errors import BmxError
from bmx_grid.metrics.encoders import BertScore
from bmx_grid.words.perturbation import Item

# fmt: off
VALUES: list[Any] = [
    "x", "", None, True, -1, 0, 1.5, 10**6, 10**9, 10**30, [], [1], {}, {"a": 1}, "../../x", "語", "pickle",
    float("nan"),
]
NAMES = ["../other.safetensors", "/etc/passwd", "pytorch_model.bin", "none.safetensors", "", "a/b.safetensors", 1, None]
RAW = [b"", b"[]", b"null", b"1", b"{", b"\xff\xfe", b"[" * 20_000, b'{"a": 1, "a": 2}', b'{"model": []}', b"{}"]
# fmt: on
ALSO = ("model",)  # what a refusal may name in place of the folder
FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")
# Keys of config.json and of tokenizer_config.json that hold a limit of tokens.
KEYS = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length", "max_sequence_length")
OF_TOKENIZER = "model_max_length"
# Limits that cannot be, and such as do not matter for short texts: (value, whether a tokenizer may have it).
IMPOSSIBLE: list[Any] = [0, 2, 3, "64", "", "x", True, 1.5, -5, -1.5, [], [64], {}, float("nan")]
HARMLESS: list[Any] = [64, 64.0, 1000, 10**6, 10**30, None]
SHAPES = ("max_position_embeddings",)  # of tables: another value does not fit the weights
WORKING: dict[Path, bool] = {}  # whether a folder must be refused or must work; others may do either
TEXTS = (Item(reference="the cat sat", hypothesis="a cat sits"), Item(reference="he went home", hypothesis=""))


def inputs(seed: int, count: int, folder: Path) -> Iterator[tuple[str, Path]]:
    rng = random.Random(seed)
    whole = tiny_roberta(folder / "whole")
    for number in range(count):
        path = folder / f"model{number}"
        shutil.copytree(whole, path)
        yield rng.choice((_edited, _edited, _edited, _raw, _indexed, _missing, _limited, _limited))(rng, path), path


def _edited(rng: random.Random, path: Path) -> str:
    """A value of another kind, anywhere in one of the JSON files, or a key more."""
    file = rng.choice([path / name for name in FILES[:3] if (path / name).is_file()])
    content = json.loads(file.read_text())
    inner = content
    while (deeper := [value for value in inner.values() if isinstance(value, dict) and value]) and rng.random() < 0.5:
        inner = rng.choice(deeper)
    key = rng.choice([*inner, "transformers_weights", "auto_map", "quantization_config", "num_hidden_layers"])
    inner[key] = rng.choice(VALUES)
    file.write_text(json.dumps(content))
    return f"{file.name}: {key} is {inner[key]!r}"


def _limited(rng: random.Random, path: Path) -> str:
    """A limit of tokens."""
    key = rng.choice([*KEYS, OF_TOKENIZER, OF_TOKENIZER])
    file = path / ("tokenizer_config.json" if key == OF_TOKENIZER else "config.json")
    is_possible = rng.random() < 0.5
    value = rng.choice(HARMLESS if is_possible else IMPOSSIBLE)
    content = json.loads(file.read_text())
    content[key] = value
    file.write_text(json.dumps(content))
    if key not in SHAPES or not is_possible:
        WORKING[path] = is_possible
    return f"{file.name}: {key} is {value!r}, {'possible' if is_possible else 'impossible'}"


def _raw(rng: random.Random, path: Path) -> str:
    """Something else in place of a file, or a part of it."""
    file = rng.choice([path / name for name in FILES if (path / name).is_file()])
    whole = file.read_bytes()
    raw = rng.choice([*RAW, whole[: rng.randrange(len(whole))], b"\xff" * 16 + whole])
    file.write_bytes(raw)
    return f"{file.name}: {raw[:20]!r}, {len(raw)} bytes"


def _indexed(rng: random.Random, path: Path) -> str:
    """An index of weights that names other files, with the weights or without."""
    name = rng.choice(NAMES)
    named = rng.choice([{"weight_map": {"a": name}}, {"weight_map": [name]}, {"weight_map": name}, {}, [name]])
    (path / "model.safetensors.index.json").write_text(json.dumps(named))
    if rng.random() < 0.5:
        (path / "model.safetensors").unlink()
    return f"index: {named}"


def _missing(rng: random.Random, path: Path) -> str:
    file = rng.choice(sorted(file for file in path.iterdir() if file.is_file()))
    file.unlink()
    return f"no {file.name}"


def answer(path: Path) -> str:
    """The sentence that a user reads about this model."""
    try:
        metric = BertScore(model=str(path), layer=1, ground_truth="reference", device="cpu")
        metric.check()
        scores = metric.score(list(TEXTS))
    except BmxError as error:
        if WORKING.get(path):
            raise AssertionError(f"a limit that can be: {error}") from error
        return str(error)
    if not np.isfinite(scores).all():
        raise AssertionError(f"the scores are {scores}")
    if path in WORKING:
        assert WORKING[path], "an impossible limit was accepted"
        whole = BertScore(model=str(path.parent / "whole"), layer=1, ground_truth="reference", device="cpu")
        assert np.allclose(scores, whole.score(list(TEXTS)), rtol=1e-5), "other scores"
    return ""
