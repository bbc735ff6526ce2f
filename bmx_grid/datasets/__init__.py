"""Data sets: one file and one configs/dataset/*.yaml each. Start at base.py.

`python -m bmx_grid data` lists, downloads, verifies and shows them.
"""
