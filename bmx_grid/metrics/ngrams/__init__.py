"""Scoring masked texts without writing them out."""
