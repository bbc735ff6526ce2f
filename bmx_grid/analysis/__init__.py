"""Draw conclusions from a table of grids: selection, evaluation, regression, densities. Numbers only."""
