"""The last bits of an attribution do not depend on how many threads linear algebra has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import hashlib
import numpy as np
from explaining import explained, side
from bmx_grid.explainers.lime import Lime
from bmx_grid.explainers.shap import Shap
found = [explained(Lime(), side(n))[1] for n in (25, 100, 130, 200)]
found += [explained(Lime(num_samples=3000), side(90))[1], explained(Shap(exact_up_to=13), side(13))[1]]
print(hashlib.sha256(b"".join(one.tobytes() for one in found)).hexdigest())
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor: there is only one thread to have")
def test_one_thread_and_two_give_the_same_bits():
    here = Path(__file__).resolve()
    path = os.pathsep.join([str(here.parent), str(here.parents[2])])
    digests = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(digests) == 1
