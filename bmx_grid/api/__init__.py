"""The Python interface: sweeps, tables and arrays in, pandas DataFrames and arrays out.

It shares code and cache with the command line, and returns the same numbers.
"""
