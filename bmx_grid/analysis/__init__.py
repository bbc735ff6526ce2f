"""From a table of grids to conclusions: selection, evaluation, regression, densities. Numbers only."""
