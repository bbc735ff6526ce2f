"""Evaluations: what is computed from each finished setting, one table each."""
