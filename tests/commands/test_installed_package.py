"""A package that registers options by an entry point: installed, listed and run, where it is allowed."""

import os

import pytest
from fakes import ROOT
from started import Forked

FILES = {
    "bmx_vowels/__init__.py": "",
    "bmx_vowels/vowels.py": """
from dataclasses import dataclass
import numpy as np
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.metrics.base import Metric

@dataclass(frozen=True)
class Vowels(Metric):
    @property
    def reads(self): return ("reference", "hypothesis")
    @property
    def signature(self): return "vowels"
    def score(self, items):
        return np.array([sum(map(item.hypothesis.count, "aeiou")) / len(item.hypothesis or "-") for item in items])

@dataclass(frozen=True)
class Gaps(Erasure):
    pass
""",
    "bmx_vowels/configs/metric/vowels.yaml": "vowels:\n  _target_: bmx_vowels.vowels.Vowels\n",
    "bmx_vowels/configs/explainer/gaps.yaml": "gaps:\n  _target_: bmx_vowels.vowels.Gaps\n",
    "bmx_vowels/configs/dataset/small.yaml": (
        "small:\n  _target_: bmx_grid.datasets.tabular.Tabular\n  name: small\n  path: small.tsv\n"
        "  language_pairs: [de-en]\n  columns: {reference: ref, hypothesis: mt, score: score}\n"
    ),
    "bmx_vowels/configs/sweep/own.yaml": "seed: 3\n",
    "bmx_vowels-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: bmx-vowels\nVersion: 1.0\n",
    "bmx_vowels-1.0.dist-info/entry_points.txt": "[bmx_grid.options]\nvowels = bmx_vowels\n",
}


@pytest.fixture
def bmx(forks, tmp_path):
    """bmx(*arguments, allowed=""): (exit status, standard output and error) of the command line beside the package."""
    for name, text in FILES.items():
        file = tmp_path / "site" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    path = os.pathsep.join([str(tmp_path / "site"), str(ROOT), os.environ.get("PYTHONPATH", "")])

    def run(*arguments, allowed=""):
        environment = {**os.environ, "PYTHONPATH": path, "BMX_ALLOWED_PACKAGES": allowed}
        program = Forked(forks, ["-m", "bmx_grid", *arguments], tmp_path, cwd=tmp_path, environment=environment)
        printed = "".join(program.communicate())
        return program.wait(), printed

    return run


def test_an_allowed_package_is_listed_and_run(bmx, tmp_path):
    status, printed = bmx("run", "--help", allowed="bmx_vowels")
    assert status == 0 and "vowels" in printed and "gaps" in printed and "small" in printed
    rows = [f"the cat sat {row}\ta cat sat {'e' * row}\t{row / 7}" for row in range(8)]
    (tmp_path / "small.tsv").write_text("\n".join(["ref\tmt\tscore", *rows]) + "\n")
    small = "dataset=[small]", "metric=[vowels]", "explainer=[gaps]", "tracking=none", "analysis=false"
    status, printed = bmx(*small, "grid.p.step=10", allowed="bmx_vowels")
    assert status == 0, printed
    status, printed = bmx("score", "-t", "small.tsv", "-r", "small.tsv", "--metric", "vowels", allowed="bmx_vowels")
    assert status == 0, printed


def test_a_package_that_is_not_allowed_is_named_with_the_way_out(bmx):
    way_out = "The installed package bmx_vowels has it: set BMX_ALLOWED_PACKAGES=bmx_vowels if you trust it."
    for arguments in (("metric=[vowels]",), ("score", "-t", __file__, "-r", __file__, "--metric", "vowels")):
        status, printed = bmx(*arguments)
        assert status == 2 and way_out in " ".join(printed.split())
    assert "vowels" not in bmx("run", "--help")[1]
    status, printed = bmx("+sweep=own", allowed="bmx_vowels")
    assert status == 2 and "own" in printed


def test_a_name_that_is_taken_is_refused(bmx, tmp_path):
    (tmp_path / "site/bmx_vowels/configs/metric/chrf.yaml").write_text("chrf:\n  _target_: bmx_vowels.vowels.Vowels\n")
    status, printed = bmx("metric=[chrf]", allowed="bmx_vowels")
    assert status == 2 and "metric=chrf is taken; leave bmx_vowels out of BMX_ALLOWED_PACKAGES" in " ".join(
        printed.split()
    )
