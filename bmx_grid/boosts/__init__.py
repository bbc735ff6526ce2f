"""Features of a segment's attributions, mixed with the metric's score."""
