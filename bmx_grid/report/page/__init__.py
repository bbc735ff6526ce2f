"""One page for one analysis, without a network."""
