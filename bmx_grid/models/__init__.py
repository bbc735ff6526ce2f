"""Pretrained models: where they are found, how they load, and running texts through them."""
