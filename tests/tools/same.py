"""Are two runs the same? Compares the folders of two sweeps, or two stores, and says what differs.

usage: same.py OLD NEW [TOLERANCE]      0, the default: equal bit for bit (NaN equals NaN)

Parquet: columns, types, rows in their order; JSON: values; else: bytes, without report.html's date and log.txt's
seconds. A file that only one folder has is a difference. Exit status 1 if anything differs.
"""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

IGNORED = {".sweep.json"}
VARYING = re.compile(
    rb"[\d.]+ s\b|table:[^|<]+\||\d{4}-\d\d-\d\d|written to \S+|the page: \S+|(output|cache|data)_dir: .*"
)


def frame(path):
    table = pq.read_table(path)
    data = table.to_pandas()
    types = [(field.name, str(field.type)) for field in table.schema]
    return data.astype(dict.fromkeys(data.select_dtypes("category"), object)), types


def difference(old, new, tolerance):
    if old.suffix == ".parquet":
        (a, schema_a), (b, schema_b) = frame(old), frame(new)
        if schema_a != schema_b:
            gone = [column for column in schema_a if column not in schema_b]
            new_columns = [column for column in schema_b if column not in schema_a]
            return f"columns: {gone} -> {new_columns}"
        if len(a) != len(b):
            return f"{len(a)} -> {len(b)} rows"
        for name in a:
            x, y = a[name], b[name]
            if x.dtype.kind == "f":
                gap = np.where(x.isna() & y.isna(), 0, np.abs(x - y))
                if not np.all(gap <= tolerance):
                    return f"{name}: up to {np.nanmax(gap):.1e} apart, {(~(gap <= tolerance)).sum()} rows"
            elif [repr(v) for v in x] != [repr(v) for v in y]:
                return f"{name}: other values"
        return ""
    a, b = (VARYING.sub(b"", path.read_bytes()) for path in (old, new))
    if old.suffix == ".json":
        return "" if json.loads(a) == json.loads(b) else "other values"
    return "" if a == b else f"other bytes ({len(a)} -> {len(b)})"


def main(old, new, tolerance="0"):
    old, new = Path(old), Path(new)
    files = set()
    for folder in (old, new):
        paths = (path for path in folder.rglob("*") if path.is_file() and path.name not in IGNORED)
        files.update(path.relative_to(folder) for path in paths)
    found = 0
    for name in sorted(files):
        missing = [str(folder) for folder in (old, new) if not (folder / name).is_file()]
        text = f"not in {missing[0]}" if missing else difference(old / name, new / name, float(tolerance))
        if text:
            found += 1
            print(f"{name}: {text}")
    print(f"{len(files)} files, {found} differ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
