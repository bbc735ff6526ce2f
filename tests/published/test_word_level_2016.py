"""experiments/word_level_2016: the claims of Logacheva et al. (2016) on the word-level submissions to WMT22."""

import csv
import json
import sys
from itertools import combinations

import numpy as np
import pytest
from discrimination import discrimination, sample_moments
from fakes import ROOT
from randomisation import approximate_randomisation
from scripts import script

from bmx_grid.measures.word_measures import THE_SIX

FOLDER = ROOT / "experiments" / "word_level_2016"
WMT22 = "wmt-qe-2022-data"
SMALL = ["--rounds", "99", "--resamples", "20", "--draws", "2", "--repeats", "5", "--sizes", "10,20"]


@pytest.fixture(scope="module")
def make():
    with script(FOLDER / "make.py") as module:
        yield module


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A data folder in the layout of WMT22: en-de with four submissions, en-ja with five, 40 sentences each."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    for pair, teams in (("en-de", "ABCD"), ("en-ja", "ABCDE")):
        gold = folder / WMT22 / "test_data-gold_labels" / "task1_word-level" / pair
        gold.mkdir(parents=True)
        words = [[*(f"w{place}" for place in range(n)), "<EOS>"] for n in rng.integers(3, 12, 40)]
        bad = [np.append(rng.random(len(line) - 1) < 0.3, False) for line in words]
        tags = [" ".join("BAD" if is_bad else "OK" for is_bad in line) for line in bad]
        for name, lines in (("mt", words), ("mt_tok", words), (f"{pair}.tags", [line.split() for line in tags])):
            (gold / f"test.2022.{name}").write_text("".join(" ".join(line) + "\n" for line in lines))
        for number, team in enumerate(teams):
            path = folder / WMT22 / "official_submissions" / "task1_word-level" / pair / f"{team} - 1 submission"
            path.mkdir(parents=True)
            rows = ["1", "1", "1"]
            for sentence, (line, true) in enumerate(zip(words, bad, strict=True)):
                turned = true ^ (rng.random(len(true)) < 0.42 + 0.03 * number)
                for place, (word, is_bad) in enumerate(zip(line, turned, strict=True)):
                    rows.append(f"{pair}\t{team}\tMT\t{sentence}\t{place}\t{word}\t{'BAD' if is_bad else 'OK'}")
            (path / "predictions.txt").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def small(make, data, tmp_path_factory):
    """The output folder of the whole experiment on a few sentences."""
    out = tmp_path_factory.mktemp("out")
    assert make.main(["--data", str(data), "--out", str(out), "--pairs", "en-de,en-ja", *SMALL]) == 0
    return out


def read(out, name):
    with (out / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_table_has_its_rows(small):
    rows = {name: len(read(small, name)) for name in ("systems", "pairs", "distinction", "synthetic")}
    assert rows == {"systems": 9 * 6, "pairs": (6 + 10) * 6, "distinction": 2 * 6 * 3, "synthetic": 2 * 6 * 6}
    assert len(read(small, "p_values")) == 2 * 10 * 2 * 6 and len(read(small, "samplings")) == 2 * 10 * 6
    assert json.loads((small / "settings.json").read_text())["rounds"] == 99
    assert {path.name for path in (small / "figures").glob("*.svg")} == {
        *("effect_sizes.svg", "p_by_samples.svg", "real_and_synthetic.svg")
    }
    for text in small.glob("*.md"):
        assert "|---|" in text.read_text(encoding="utf-8"), text.name


def test_distinction_counts_significant_pairs(small):
    pairs = read(small, "pairs")
    for row in read(small, "distinction"):
        p = [
            float(pair["p"]) for pair in pairs if all(pair[name] == row[name] for name in ("language_pair", "measure"))
        ]
        tests = {"bonferroni": len(p), "bonferroni_of_17": 136}.get(row["correction"])
        if tests is not None:
            assert int(row["d_different"]) == sum(value * tests <= 0.05 for value in p)
            assert int(row["d_pairs"]) == len(p) and int(row["d_low"]) <= int(row["d_different"]) <= int(row["d_high"])
    split = {(row["language_pair"], row["n_top"], row["n_bottom"]) for row in read(small, "distinction")}
    assert {("en-de", "2", "2"), ("en-ja", "3", "2")} <= split


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--pairs", "en-dd"], "Did you mean 'en-de'", id="pair"),
        pytest.param(["--sizes", "100,50"], "not ascending whole numbers from 2 on", id="sizes"),
        pytest.param(["--data", "nowhere"], "not found", id="no-data"),
    ],
)
def test_mistakes_are_one_sentence(make, tmp_path, capsys, arguments, message):
    assert make.main(["--out", str(tmp_path / "out"), *arguments]) == 2
    sentence = capsys.readouterr().err
    assert sentence.startswith("error: ") and message in sentence and sentence.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def submitted(make, data_dir):
    """One of the smaller language pairs and the one that reaches the paper's 30 % of errors."""
    if not (data_dir / WMT22).is_dir():
        pytest.skip(f"the submissions to WMT22 are not here (looked at {data_dir / WMT22})")
    return lambda pair: sys.modules["submissions_compared"].Submitted.read(data_dir, pair, "keep")


def test_which_submissions_to_en_de_differ_by_mcc(submitted):
    submissions = submitted("en-de")
    result = approximate_randomisation(list(submissions.statistics.values()), rounds=1999)
    names, mcc = list(submissions.statistics), result.measures.index("mcc")
    significant = {
        frozenset((names[first], names[second]))
        for (first, second), p in zip(result.pairs, result.p[:, mcc] * len(result.pairs), strict=True)
        if p <= 0.05
    }
    below_all = {frozenset(("OrganizersBaselines", name)) for name in names if name != "OrganizersBaselines"}
    assert significant == below_all | {frozenset(("Team HW-TSC", name)) for name in ("Team NJUQE", "Team papago")}


def test_all_bad_outranks_a_submission_to_en_ja_by_f1_bad_alone(make, submitted):
    rows = list(sys.modules["submissions_compared"].outranked(submitted("en-ja"), 2, 0, lambda n: None))
    by_measure = {(row["labelling"], row["measure"]): (row["value"], row["outranked"]) for row in rows}
    assert by_measure["all_bad", "f1_bad"] == (pytest.approx(0.4316, abs=5e-5), 1)
    assert [by_measure["all_bad", measure][1] for measure in ("f1_mult", "mcc", "seqcor")] == [0, 0, 0]


def test_the_order_of_the_measures_is_the_papers(make, submitted):
    """F1-mult and MCC first, phr F1-BAD last: on the pair whose submissions make 30 % of errors."""
    sampling = sys.modules["thresholds_sampled"]
    submissions = submitted("en-ja")
    pool = sampling.erring_sequences(submissions.gold, list(submissions.labellings.values()))
    assert sampling.base_of(pool) == 30
    errors = sampling.errors_at(pool, [30, 30.2])
    assert errors.tolist() == [7524, 7574]
    effects = discrimination(sample_moments(pool, errors, sizes=(3000,), repeats=4)).effect[0]
    ordered = [THE_SIX[place] for place in np.argsort(-effects)]
    assert ordered[:3] == ["f1_mult", "mcc", "f1_bad"] and ordered[-1] == "phrase_f1_bad"
    assert all(effect > 0.4 for effect in effects)


def test_the_published_table_names_what_is_computed(make):
    published = make.yaml.safe_load((FOLDER / "published.yaml").read_text(encoding="utf-8"))["table_2"]
    assert set(published["fewest"]) == set(THE_SIX)
    shares = sys.modules["thresholds_sampled"].ABOVE
    apart = {round(higher - lower, 2) for lower, higher in combinations(shares, 2)}
    assert set(published["differences"]) <= apart
    assert all(values == sorted(values, reverse=True) for values in published["fewest"].values())
