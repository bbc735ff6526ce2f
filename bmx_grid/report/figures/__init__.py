"""The figures of a setting and of an analysis."""
