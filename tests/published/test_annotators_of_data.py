"""experiments/mt_evaluation_lecture_2024/make.py: annotators of MLQE-PE and newstest2021."""

import numpy as np
import pytest
from fakes import ROOT
from real_data import read
from scripts import script

from bmx_grid.measures.annotators import krippendorff_alpha, standardize_ratings

FOLDER = ROOT / "experiments" / "mt_evaluation_lecture_2024"


@pytest.fixture(scope="module")
def make():
    with script(FOLDER / "make.py") as module:
        yield module


def test_annotators_are_known_by_their_scales(make):
    """Two columns of one annotator each, two from a pool of five, who rated other segments, too."""
    rng = np.random.default_rng(0)
    people = np.stack(
        [np.zeros(200, int), np.ones(200, int), *(2 + rng.permuted(np.tile(np.arange(5), (200, 1)), axis=1)[:, :2].T)],
        axis=1,
    )
    raw = rng.integers(0, 101, size=people.shape).astype(float)
    mean, deviation = rng.uniform(40, 60, size=7), rng.uniform(10, 30, size=7)
    z = (raw - mean[people]) / deviation[people]
    numbered = make.by_their_scales(raw, z)
    numbers = {(int(a), int(b)) for a, b in zip(people.ravel(), numbered.ravel(), strict=True)}
    assert len(numbers) == 7 and {b for _, b in numbers} == set(range(7)), "each is one number, and all are found"
    wide = make.of_annotators(raw, numbered)
    assert np.isfinite(wide).sum() == raw.size and (np.isfinite(wide).sum(axis=1) == 4).all()


def ratings(data_dir, pair):
    raters = read(data_dir, "mlqe_pe", pair).judgements.raters
    return raters["mean"], raters["z_mean"]


@pytest.mark.parametrize(("pair", "annotators", "reproduced"), [("en-de", 21, 3000), ("ru-en", 12, 0)])
def test_published_z_scores_of_mlqe_pe(make, data_dir, pair, annotators, reproduced):
    """Divided by the deviation of all ratings of the annotator; where some of these are not published they differ."""
    raw, z = ratings(data_dir, pair)
    who = make.by_their_scales(raw, z)
    assert who.max() + 1 == annotators and (who >= 0).all()
    people, published = make.of_annotators(raw, who), make.of_annotators(z, who)
    apart = np.nanmax(np.abs(standardize_ratings(people) - published), axis=0)
    assert np.isfinite(people)[:, apart < 1e-12].sum() == reproduced
    assert (apart[apart > 1e-12] > 1e-3).all(), "reproduced or not: nothing between"


def test_published_agreement_of_mlqe_pe(data_dir):
    raw, z = ratings(data_dir, "en-zh")
    values = [krippendorff_alpha(scores, "interval", resamples=0).value for scores in (raw, z, raw[:, :3], raw[:, 3:])]
    assert values == pytest.approx([0.244, 0.350, 0.067, 0.823], abs=5e-4)


def test_raters_of_mqm_meet_on_identical_translations(make, data_dir, monkeypatch, capsys):
    monkeypatch.setenv("BMX_DATA_DIR", str(data_dir))
    assert make.main(["mqm"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[:3] for line in lines if line.startswith(("| en", "| zh"))] == [
        ["| en-de", "973", "13"],
        ["| zh-en", "592", "9"],
    ]
