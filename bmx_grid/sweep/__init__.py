"""A sweep: its settings, their execution and their results."""
