"""The tables of an analysis, by what they tell."""
