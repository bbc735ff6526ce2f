"""Sentence-level metrics: one file and one configs/metric/*.yaml each. Start at base.py."""
