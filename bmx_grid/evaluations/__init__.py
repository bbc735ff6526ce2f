"""Evaluations: each computes tables from finished settings."""
