"""Executors: they run jobs."""
