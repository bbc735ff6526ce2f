"""Pretrained models: where they lie, how they load, texts through them."""
