"""A notebook of the documentation, run from a fresh kernel and written as a page with its outputs.

Notebooks are committed without outputs: a diff is code and text, and what is shown is what this version computes.
"""

from __future__ import annotations

import base64
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SECONDS = 300  # for one cell
TABLE = re.compile(r"<style scoped>.*?</style>|\n\s*", re.DOTALL)


def page(path: Path, root: Path) -> tuple[str, dict[str, bytes]]:
    """Markdown of a notebook that was run, and its pictures by file name.

    root: where the package lies. Nothing is left behind: results and cache are written to a temporary folder. Raises
    nbclient's CellExecutionError, with the cell, where one fails.
    """
    pictures: dict[str, bytes] = {}
    parts = [part for cell in executed(path, root)["cells"] for part in _cell(cell, path.stem, pictures)]
    return "\n\n".join(parts) + "\n", pictures


def executed(path: Path, root: Path) -> Mapping[str, Any]:
    """The notebook with the outputs of its cells."""
    import nbformat
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory(prefix="bmx_grid-") as folder:
        known = os.environ.get("PYTHONPATH")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(root), *([known] if known else [])]),
            "BMX_CACHE_DIR": str(Path(folder) / "cache"),
        }
        # Over files in the folder, so that no port of this machine is opened.
        manager = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=str(Path(folder) / "kernel"))
        client = NotebookClient(notebook, km=manager, timeout=SECONDS, resources={"metadata": {"path": folder}})
        client.execute(env=environment)
    return notebook


def _cell(cell: Mapping[str, Any], stem: str, pictures: dict[str, bytes]) -> Iterator[str]:
    if cell["cell_type"] == "markdown":
        yield cell["source"]
        return
    yield f"```python\n{cell['source']}\n```"
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            if output["name"] == "stdout":  # standard error has progress, and what libraries say of this machine
                yield f"```text\n{output['text'].strip()}\n```"
            continue
        held = output["data"]
        if "image/png" in held:
            name = f"{stem}-{len(pictures) + 1}.png"
            pictures[name] = base64.b64decode(held["image/png"])
            yield f"![Figure of the code above]({name})"
        elif "text/html" in held:
            table = TABLE.sub("", held["text/html"]).replace(' border="1" class="dataframe"', "")
            yield f'<div class="output">{table}</div>'
        else:
            yield f"```text\n{held['text/plain']}\n```"
