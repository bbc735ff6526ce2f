"""Where a run comes from: the command as it was typed, and the commit of the code that ran."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bmx_grid.masking import masked_argument

PACKAGE = Path(__file__).resolve().parents[2]
SECONDS = 5.0  # for git to answer
LONGEST = 5000  # characters: MLflow's limit for the value of a tag is 8,000, of older servers refuse more than 5,000


def command(arguments: Sequence[str] | None = None) -> str:
    """The command of this process as a person would type it again, without passwords; `sys.argv` for None."""
    program, *given = sys.argv if arguments is None else arguments
    path = Path(program)
    if path.name == "__main__.py":
        typed = f"python -m {path.parent.name}"
    else:
        typed = shlex.quote(path.name) if path.name else "python"
    return " ".join([typed, *(shlex.quote(masked_argument(one)) for one in given)])[:LONGEST]


def source() -> dict[str, str]:
    """Command and commit under MLflow's names; the commit only where the package lies in its own checkout.

    `uncommitted_changes` is set where the package differs from that commit.
    """
    # Of the type LOCAL, pages show what follows the last slash: a file's name, and of a command a piece of a path.
    found = {"mlflow.source.name": command(), "mlflow.source.type": "JOB"}
    with suppress(OSError, subprocess.SubprocessError):
        top, commit, *_ = _git("rev-parse", "--show-toplevel", "HEAD").split("\n")
        if Path(top) == PACKAGE.parent:
            found["mlflow.source.git.commit"] = commit
            if _git("status", "--porcelain", "--untracked-files=no", "--", PACKAGE.name):
                found["uncommitted_changes"] = "true"
    return found


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(PACKAGE.parent), *arguments], capture_output=True, text=True, timeout=SECONDS, check=True
    ).stdout
