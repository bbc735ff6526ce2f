"""Score with a COMET model: `ENVIRONMENT/bin/python comet.py --model Unbabel/wmt22-comet-da`.

For `metric=[command]`, in an environment of its own: `pip install unbabel-comet 'setuptools<81'`. This file
needs no other file: it may be copied.

It writes a line with its name and version. Then it reads one JSON object per line with source, hypothesis and,
if the model needs them, references; after each empty line it writes a score per line. It ends with its input.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import sys
from typing import Any, TextIO

# Python looks for modules in the folder of the file that it runs first, in which `comet` is this file.
sys.path[:] = [folder for folder in sys.path if folder != os.path.dirname(os.path.abspath(__file__))]


def main() -> None:
    options = parse_arguments()
    # Libraries print: standard output holds scores alone.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    version = importlib.metadata.version("unbabel-comet")
    checkpoint, model_name = find_checkpoint(options.model, options.revision)
    write(output, [json.dumps({"name": options.name, "version": version, "model": model_name})])
    model = None
    batch = []
    for line in sys.stdin.buffer:
        if line.strip():
            batch.append(json.loads(line))
            continue
        model = model or load_model(checkpoint)
        write(output, score_batch(model, batch))
        batch = []


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Score with a COMET model, for metric=[command] of bmx_grid.")
    parser.add_argument("--model", required=True, help="a hub id such as Unbabel/wmt22-comet-da, or a checkpoint.ckpt")
    parser.add_argument("--revision", help="of the model on the hub, its commit; the newest without")
    parser.add_argument("--name", default="comet", help="of the metric in tables (default: comet)")
    return parser.parse_args()


def find_checkpoint(model: str, revision: str | None) -> tuple[str, str]:
    """The checkpoint of a model, and a name that another model does not have: with its commit, or of its content."""
    if model.endswith(".ckpt"):
        with open(model, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return model, f"{os.path.basename(model)}@{digest[:12]}"
    import huggingface_hub

    folder = huggingface_hub.snapshot_download(model, revision=revision)
    return os.path.join(folder, "checkpoints", "model.ckpt"), f"{model}@{os.path.basename(folder)[:12]}"


def load_model(checkpoint: str) -> Any:
    """The model on its device. Checkpoints are pickled: load only models whose publisher you trust."""
    import comet
    import torch

    device = os.environ.get("BMX_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
    return comet.load_from_checkpoint(checkpoint).eval().to(device)


def score_batch(model: Any, batch: list[dict[str, Any]]) -> list[str]:
    """A score per text of a batch, without the set-up that `predict` of the library makes for each call."""
    import torch

    rows = [comet_row(row, model.requires_references()) for row in batch]
    with torch.inference_mode():
        inputs = move_to_device(model.prepare_for_inference(rows), model.device)
        scores = model.predict_step(inputs)["scores"]
    return [repr(float(score)) for score in scores.reshape(-1)]


def comet_row(row: dict[str, Any], needs_reference: bool) -> dict[str, str]:
    """The keys that COMET reads."""
    texts = {"src": row["source"], "mt": row["hypothesis"]}
    if needs_reference:
        if not row.get("references"):
            sys.exit("this model compares with a reference: write metric.command.texts=[source,reference,hypothesis]")
        texts["ref"] = row["references"][0]
    return texts


def move_to_device(inputs: Any, device: Any) -> Any:
    """Tensors of a batch, or of several kinds of input, on the model's device."""
    if isinstance(inputs, dict):
        return {key: tensor.to(device) for key, tensor in inputs.items()}
    return tuple(move_to_device(part, device) for part in inputs)


def write(output: TextIO, lines: list[str]) -> None:
    output.writelines(line + "\n" for line in lines)
    output.flush()


if __name__ == "__main__":
    main()
