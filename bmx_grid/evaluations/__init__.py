"""Evaluations: what is asked of each finished setting, one table each."""
