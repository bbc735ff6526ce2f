"""A language model behind a server as a metric and as an explainer (docs/judge.md)."""
