"""Pretrained models: finding them, loading them, and running texts through them."""
