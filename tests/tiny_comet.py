"""Make a random COMET model, for a test: run with the Python of an environment that has unbabel-comet."""

from __future__ import annotations

import sys
from pathlib import Path

from tiny_models import tiny_xlm_roberta

SEED = 1


def main(folder: Path) -> None:
    """Write FOLDER/hparams.yaml and FOLDER/checkpoints/model.ckpt, as a model of the hub has them."""
    import pytorch_lightning
    import torch
    import yaml
    from comet.models import RegressionMetric

    torch.manual_seed(SEED)
    encoder = tiny_xlm_roberta(folder / "encoder")
    settings = {"encoder_model": "XLM-RoBERTa", "pretrained_model": str(encoder), "hidden_sizes": [16]}
    model = RegressionMetric(**settings, layer_transformation="softmax")
    checkpoint = folder / "checkpoints" / "model.ckpt"
    checkpoint.parent.mkdir()
    trainer = pytorch_lightning.Trainer(logger=False, enable_checkpointing=False, accelerator="cpu")
    trainer.strategy.connect(model)
    trainer.save_checkpoint(checkpoint, weights_only=True)
    (folder / "hparams.yaml").write_text(yaml.safe_dump({"class_identifier": "regression_metric"}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
