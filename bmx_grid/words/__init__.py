"""The words of a text: splitting and joining, perturbing, tagging them, and matching two tokenisations."""
