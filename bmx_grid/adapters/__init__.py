"""Programs for environments of their own, each one file without dependencies but the library that it is for.

`metric=[command]` starts them by their path, `package:bmx_grid/adapters/comet.py`, with the Python of the environment.
"""
