"""Boost machine-translation metrics with explainability, over whole grids of settings.

`python -m bmx_grid --help` is the command line; README.md shows it at work. Importing the
package loads no model library: each room imports what it needs when it is used.
"""

__version__ = "0.1.0"
