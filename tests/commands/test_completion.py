"""What the shell completes: commands, flags, groups, keys and names of options; and bash itself."""

import os
import shutil
import subprocess
import sys

import pytest

from bmx_grid.commands.completion import SCRIPT, completions, main


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("bmx-grid sc", ["score "]),
        ("bmx-grid ", ["run ", "analyse ", "metric=", "+sweep=", "limit=", "--config-dir "]),
        ("bmx-grid +sweep=quick", ["+sweep=quickstart "]),
        ("bmx-grid run metric=[ch", ["metric=[chrf", "metric=[chrf_plus_plus"]),
        ("bmx-grid 'metric=[chrf,ch", ["metric=[chrf,chrf_plus_plus"]),
        ("bmx-grid executor=d", ["executor=dask "]),
        ("bmx-grid dry_run=", ["dry_run=false ", "dry_run=true "]),
        ("bmx-grid explainer.li", ["explainer.lime."]),
        ("bmx-grid explainer.lime.num", ["explainer.lime.num_samples="]),
        ("bmx-grid metric.chrf.lowercase=t", ["metric.chrf.lowercase=true "]),
        ("bmx-grid grid.corr", ["grid.correlation="]),
        ("bmx-grid score --metric chrf_", ["chrf_plus_plus "]),
        ("bmx-grid compare --by it", ["item "]),
        ("bmx-grid data show sam", ["sample "]),
        ("bmx-grid data down", ["download "]),
        ("bmx-grid analyse out form", ["format="]),
        ("bmx-grid explainer.nothing.", []),
    ],
)
def test_what_a_line_may_become(line, some):
    completed = completions(line)
    assert set(some) <= set(completed)
    assert bool(completed) is bool(some) and all(
        text.startswith(line.rpartition(" ")[2].lstrip("'")) for text in completed
    )


def test_bash_completes_with_the_script(tmp_path):
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    (tmp_path / "bmx-grid").write_text(f'#!/bin/sh\nexec {sys.executable} -m bmx_grid "$@"\n')
    (tmp_path / "bmx-grid").chmod(0o755)
    ask = 'COMP_LINE="bmx-grid metric=[chrf_"; COMP_POINT=${#COMP_LINE}; _bmx_grid; printf "<%s>" "${COMPREPLY[@]}"'
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", "-c", f'COMP_WORDBREAKS=" =:"\n{SCRIPT}\n{ask}']
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert process.stdout == "<[chrf_plus_plus>"


def test_the_command_prints_the_script_of_bash_alone(capsys):
    assert main(["bash"]) == 0 and capsys.readouterr().out == SCRIPT
    assert main(["fish"]) == 2 and "bash" in capsys.readouterr().err
