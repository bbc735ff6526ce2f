"""From segments, a metric and an explainer to stored attributions."""
