"""Sentence-level metrics; the options in configs/metric name their classes. Start at base.py."""
