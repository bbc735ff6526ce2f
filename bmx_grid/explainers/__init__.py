"""Word-level explainers: one file and one configs/explainer/*.yaml each. Start at base.py."""
