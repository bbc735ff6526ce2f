"""Figures and tables. This room computes nothing."""
