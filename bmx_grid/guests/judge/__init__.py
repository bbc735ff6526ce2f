"""A language model behind a server as a metric and as an explainer (docs/how-to/use_a_language_model.md)."""
