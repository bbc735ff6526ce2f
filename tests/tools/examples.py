"""The Python examples of the documentation, linted and typed as the package is: part of `make lint`.

A block is an example if it names its file: ```python title="mypkg/bigrams.py".
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r'```python title="(.*?)"\n(.*?)```', re.DOTALL)


def write_examples(folder: Path) -> list[Path]:
    """Write every example below a folder, as a package of its page; the files."""
    files = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for name, text in BLOCK.findall(page.read_text("utf-8")):
            file = folder / page.stem / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
            files.append(file)
    return files


def main() -> int:
    """Lint and type the examples; 1 if anything is wrong with them."""
    status = 0
    # Those of two pages may have one name: each page is typed for itself.
    with tempfile.TemporaryDirectory() as folder:
        files = write_examples(Path(folder))
        config = str(ROOT / "pyproject.toml")
        checks = [
            ["ruff", "check", "--quiet", "--config", config, *files],
            ["ruff", "format", "--quiet", "--check", "--diff", "--config", config, *files],
            ["mypy", "--no-error-summary", "--config-file", config, "--scripts-are-modules", *files],
        ]
        for check in checks:
            done = subprocess.run([sys.executable, "-m", *map(str, check)], cwd=ROOT, check=False)
            status = max(status, done.returncode)
    return status


if __name__ == "__main__":
    sys.exit(main())
