"""A notebook of the documentation: run from a fresh kernel, and written as a page of the site.

python docs/site/run_notebook.py docs/tutorial.ipynb    # writes the outputs into the notebook
"""

from __future__ import annotations

import base64
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SECONDS = 300  # for one cell
TABLE = re.compile(r"<style scoped>.*?</style>|\n\s*", re.DOTALL)


def page(path: Path) -> tuple[str, dict[str, bytes]]:
    """Markdown of a notebook with its outputs, and its pictures by file name."""
    import nbformat

    pictures: dict[str, bytes] = {}
    cells = nbformat.read(path, as_version=4)["cells"]
    parts = [part for cell in cells for part in _cell(cell, path.stem, pictures)]
    return "\n\n".join(parts) + "\n", pictures


def executed(path: Path) -> Any:
    """The notebook with the outputs of its cells, and nothing of this machine.

    Nothing is left behind: results and cache are written to a temporary folder. Raises nbclient's CellExecutionError,
    with the cell, if one fails.
    """
    import nbformat
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    language = dict(notebook["metadata"])
    with tempfile.TemporaryDirectory(prefix="bmx_grid-") as folder:
        known = os.environ.get("PYTHONPATH")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), *([known] if known else [])]),
            "BMX_CACHE_DIR": str(Path(folder) / "cache"),
        }
        # Over files in the folder, so that no port of this machine is opened.
        manager = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=str(Path(folder) / "kernel"))
        client = NotebookClient(notebook, km=manager, timeout=SECONDS, resources={"metadata": {"path": folder}})
        client.execute(env=environment)
    notebook["metadata"] = language
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        if cell["cell_type"] == "code":
            # Standard error has progress, and what libraries say of this machine.
            cell["outputs"] = [output for output in cell["outputs"] if output.get("name") != "stderr"]
    return notebook


def _cell(cell: Mapping[str, Any], stem: str, pictures: dict[str, bytes]) -> Iterator[str]:
    if cell["cell_type"] == "markdown":
        yield cell["source"]
        return
    yield f"```python\n{cell['source']}\n```"
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
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


def main(arguments: Sequence[str]) -> None:
    """Run a notebook, and write it with its outputs: to itself, or to a second path."""
    import nbformat

    source, *target = map(Path, arguments)
    nbformat.write(executed(source), target[0] if target else source)


if __name__ == "__main__":
    main(sys.argv[1:])
