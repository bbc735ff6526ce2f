"""Tracking of sweeps."""
