"""Metrics as they are used: as a filter, and to choose among outputs for a source (Perrella et al. 2024)."""
