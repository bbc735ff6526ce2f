"""Scoring files and lists of texts: the sweep's numbers, readable output, one sentence for each mistake."""

import dataclasses
import gzip
import io
import json
import re
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from bert_scores import bert_scorer
from neural import MINILM_FOLDER
from pairs import score as score_pairs
from real_data import read
from scipy.stats import pearsonr
from some_recipe import recipe

import bmx_grid
from bmx_grid.attribution.boosted import BoostedMetric
from bmx_grid.boosts.recipe import recipes_in_words, write_recipe
from bmx_grid.commands.score import main
from bmx_grid.core.configure import load_option
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.metrics.chrf import Chrf

REFERENCES = ["The cat sat on the mat .", "Hello world", "", "tab\there and\u2028there"]
HYPOTHESES = ["A cat sat on a mat .", "Hello there", "", "tab\there or\u2028there"]
BOOST = ("-p", "-0.3", "-w", "0.6")
CHOSEN = ("--metric", "chrf", "--explainer", "erasure")


@pytest.fixture
def score(tmp_path, capsys):
    """Run the command on the files above (or others), with chrF and Erasure; status, output, errors."""
    for name, lines in (("r", REFERENCES), ("h", HYPOTHESES)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def go(*arguments: str, chosen: tuple[str, ...] = CHOSEN, **files: str | None) -> SimpleNamespace:
        files = {"reference": str(tmp_path / "r.txt"), "hypothesis": str(tmp_path / "h.txt")} | files
        options = [part for side, name in files.items() if name is not None for part in (f"--{side}", name)]
        capsys.readouterr()
        status = main([*chosen, *options, *arguments])
        out, err = capsys.readouterr()
        return SimpleNamespace(status=status, out=out, err=err)

    return go


@pytest.mark.parametrize(
    ("metric", "explainer", "side"),
    [
        pytest.param("chrf", "shap", "hypothesis", id="shap x chrf, hypothesis"),
        pytest.param("boosted", "erasure", "both", id="two iterations"),
    ],
)
def test_a_file_gets_the_numbers_of_the_sweep(metric, explainer, side, tmp_path, score):
    p, w = -1.4, 0.4
    chosen = {
        "dataset.sample.language_pairs": ["de-en"],
        "grid.side": side,
        f"grid.fixed.{explainer}": {"p": p, "w": w},
    }
    folders = {"output_dir": tmp_path / "out", "cache_dir": tmp_path / "cache"}
    quick = {"limit": 12, "tracking": "none", "executor": "sequential", "analysis": False, "evaluation": ["grid"]}
    parts = {"dataset": ["sample"], "metric": [metric], "explainer": [explainer]}
    swept = bmx_grid.run(**parts, **quick, **folders, settings=chosen, quiet=True)
    sample = read(tmp_path, "sample", "de-en").head(12)
    for role in ("source", "reference", "hypothesis"):
        (tmp_path / role).write_text("".join(f"{getattr(segment, role)}\n" for segment in sample.segments))
    arguments = ("--metric", metric, "--explainer", explainer, "-p", str(p), "-w", str(w), "--set", f"side={side}")
    done = score(*arguments, "--json", **{role: str(tmp_path / role) for role in ("source", "reference", "hypothesis")})
    assert done.status == 0, done.err
    printed = json.loads(done.out)
    ours = [row["score"] for row in printed["scores"]]
    assert printed["scale"] == 100 and printed["mean"] == pytest.approx(np.mean(ours))
    assert ours == pytest.approx(100 * swept.scores["boosted_published"], abs=1e-9)
    assert [row["base"] for row in printed["scores"]] == pytest.approx(100 * swept.scores["base"], abs=1e-9)
    point = swept.grid.query("p == @p and w == @w")["correlation"].item()
    assert pearsonr(ours, sample.human_scores).statistic == pytest.approx(point, abs=1e-12)


@pytest.mark.parametrize("more_references", [False, True])
def test_idf_weights_are_of_the_scored_references_as_in_bert_score(score, tmp_path, more_references):
    pytest.importorskip("bert_score")
    references = [["the cat sat on the mat", "a cat sat"], ["the dog barks"], ["he went home", "he is at home"]]
    hypotheses = ["a cat sat on mat", "the dog barked", "he went house"]
    if not more_references:
        references = [texts[:1] for texts in references]
    files = []
    for number in range(max(map(len, references))):
        file = tmp_path / f"references{number}.txt"
        file.write_text("".join(f"{texts[number] if number < len(texts) else ''}\n" for texts in references))
        files.append(str(file))
    (tmp_path / "h.txt").write_text("".join(f"{text}\n" for text in hypotheses))
    chosen = ("--metric", "minilm_bertscore", "--explainer", "none", "--set", "metric.idf=true")
    done = score("--json", "-r", *files, chosen=chosen, reference=None)
    assert done.status == 0, done.err
    sentences = [text for texts in references for text in texts]
    options = {"num_layers": 6, "nthreads": 0, "device": "cpu"}
    library = bert_scorer(MINILM_FOLDER, **options, idf=True, idf_sents=sentences)
    expected = []
    for hypothesis, texts in zip(hypotheses, references, strict=True):
        # each pair alone: in a batch the library lets padding be matched
        expected.append(max(float(library.score([hypothesis], [text])[2]) for text in texts))
    assert [row["score"] for row in json.loads(done.out)["scores"]] == pytest.approx(expected, abs=1e-5)


def test_json_holds_what_was_promised(score):
    plain = json.loads(score("--json", *BOOST).out)
    worded = json.loads(score("--json", *BOOST, "--words").out)
    assert list(plain) == ["signature", "scale", "mean", "scores"]
    assert [list(row) for row in plain["scores"]] == [["score", "base"]] * 4
    assert plain["signature"] == BoostedMetric(Chrf(), Erasure(), -0.3, 0.6).signature
    words = worded["scores"][1].pop("words")
    assert [entry["word"] for entry in words["reference"]] == ["Hello", "world"]
    assert [entry["word"] for entry in words["hypothesis"]] == ["Hello", "there"] and len(words) == 2
    fall = score_pairs(Chrf(), [("Hello world", "Hello there"), ("Hello world", " there")])
    assert words["hypothesis"][0]["attribution"] == pytest.approx(100 * (fall[0] - fall[1]))


def test_text_shows_scores_mean_signature_and_words(score):
    plain, worded = score(*BOOST).out, score("--words", *BOOST).out
    first, mean = load_and_score()[0], load_and_score().mean()
    assert re.search(f"^1 +{100 * first:.4f}", plain, re.MULTILINE)
    assert plain.startswith(f"The mean score of 4 segments is {100 * mean:.4f}, of the metric alone ")
    assert plain.splitlines()[-1].startswith("signature: boosted|metric:(chrF2|")
    assert "reference" not in plain
    assert "  reference: Hello +" in worded


def load_and_score():
    return bmx_grid.load("chrf", explainer="erasure", p=-0.3, w=0.6).score(HYPOTHESES, references=REFERENCES)


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_without_a_boost_scores_are_the_metrics_and_words_are_shown(score, form):
    expected = score_pairs(Chrf(), list(zip(REFERENCES, HYPOTHESES, strict=True)))
    for explainer in ("erasure", "lime"):
        done = score("--words", "--explainer", explainer, *form)
        assert done.status == 0, done.err
        assert (repr(float(100 * expected[1])) if form else f"{100 * expected[1]:.4f}") in done.out
        assert f"{explainer}|" in done.out and Chrf().signature in done.out and "boosted|" not in done.out
        assert "Hello" in done.out
    assert bmx_grid.load("chrf", "erasure").score(HYPOTHESES, references=REFERENCES).tolist() == expected.tolist()


@pytest.mark.parametrize("explainer", ["erasure", "lime", "shap"])
def test_the_papers_median_stands_for_the_one_that_is_not_given(explainer):
    median = load_option("grid", "paper")["fixed"][explainer]
    boost = bmx_grid.load("chrf", explainer, w=0.0).boost
    assert (boost.p, boost.w) == (median["p"], 0.0)
    boost = bmx_grid.load("chrf", explainer, p=0.0).boost
    assert (boost.p, boost.w) == (0.0, median["w"])


def test_settings_of_the_command_are_typed(score):
    sets = ("--set", "explainer.num_samples=7", "--set", "metric.lowercase=true")
    signature = json.loads(score("-p", "-1.4", "--explainer", "lime", *sets, "--json").out)["signature"]
    assert "num_samples:7|" in signature and "case:lc" in signature


def test_gzip_and_standard_input(score, tmp_path, monkeypatch):
    plain = score("--json").out
    packed = gzip.compress((tmp_path / "h.txt").read_bytes())
    (tmp_path / "h.gz").write_bytes(packed)
    assert score("--json", hypothesis=str(tmp_path / "h.gz")).out == plain
    for content in (packed, (tmp_path / "h.txt").read_bytes()):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        assert score("--json", hypothesis="-").out == plain


def write(path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "files", "message"),
    [
        pytest.param((), {"hypothesis": b"one\ntwo\n"}, r"r.txt has 4 lines.*x has 2 lines", id="lengths"),
        pytest.param((), {"reference": b"", "hypothesis": b""}, "no lines to score", id="empty"),
        pytest.param((), {"reference": None}, "chrf reads the reference: give it with --reference", id="no side"),
        pytest.param((), {"hypothesis": b"\xff\n"}, "line 1: byte 0xff is not UTF-8", id="encoding"),
        pytest.param(("--metric", "chf"), {}, "unknown metric 'chf'. Did you mean 'chrf'", id="metric"),
        pytest.param(("--metric", "imported"), {}, "metric.imported: no file is named", id="imported"),
        pytest.param(("-w", "1.5"), {}, "w = 1.5 is outside", id="w"),
        pytest.param(("--explainer", "none", "--words"), {}, "--explainer is none", id="words without explainer"),
        pytest.param(("--set", "metric.lowrcase=1"), {}, "Did you mean 'lowercase'", id="unknown setting"),
        pytest.param(
            ("--set", "seed=3", "--set", "metric.beta=0"),
            {},
            "metric.beta: expected a number at least 1",
            id="the second",
        ),
        pytest.param(("--set", "seed"), {}, "cannot be read as KEY=VALUE", id="no value"),
        pytest.param(
            ("--words", "--set", "max_texts=9"), {}, "segment 1: 17 texts would be scored", id="too many texts"
        ),
    ],
)
def test_a_mistake_is_one_sentence_and_status_2(arguments, files, message, score, tmp_path):
    paths = {side: None if text is None else write(tmp_path / f"{side}.x", text) for side, text in files.items()}
    done = score(*arguments, **paths)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert re.search(message, done.err)


@pytest.fixture
def by_recipe(tmp_path, score):
    """The same with the recipe mine.json in place of a metric."""
    write_recipe(tmp_path / "mine.json", recipe("learned"))

    def go(*arguments: str, texts: bool = True, named: bool = True, **files: str | None) -> SimpleNamespace:
        option = ("--recipe", str(tmp_path / "mine.json")) if named else ()
        if not texts:
            files = {"reference": None, "hypothesis": None}
        return score(*option, *arguments, chosen=(), **files)

    return go


@pytest.mark.parametrize("read_from", ["files", "gzip", "standard input"])
def test_crlf_ends_lines_as_lf_does(by_recipe, tmp_path, monkeypatch, read_from):
    """The third segment is blank: it has no word and no attribution, and keeps the score of the metric."""
    arguments = ("--json", "--words")
    expected = by_recipe(*arguments)
    for name in "rh":
        path = tmp_path / f"{name}.txt"
        crlf = path.read_bytes().replace(b"\n", b"\r\n")
        path.write_bytes(gzip.compress(crlf) if read_from == "gzip" else crlf)
    files = {}
    if read_from == "standard input":
        content = (tmp_path / "h.txt").read_bytes()
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        files["hypothesis"] = "-"
    done = by_recipe(*arguments, **files)
    assert (done.out, done.err) == (expected.out, expected.err)


def test_every_format_has_the_scores_and_names_the_recipe(by_recipe, tmp_path):
    scorer = bmx_grid.load(recipe=str(tmp_path / "mine.json"))
    expected = scorer.explain(HYPOTHESES, references=REFERENCES)
    assert "name:bleu-words|" in scorer.signature
    printed = json.loads(by_recipe("--json").out)
    assert list(printed) == ["signature", "scale", "mean", "unboosted", "scores"]
    assert (printed["signature"], printed["unboosted"]) == (scorer.signature, [3])
    assert [row["score"] for row in printed["scores"]] == (100 * expected.scores).tolist()
    assert [row["base"] for row in printed["scores"]] == (100 * expected.base).tolist()
    assert printed["scores"][2]["score"] == printed["scores"][2]["base"]
    plain = by_recipe().out
    assert plain.endswith(f"signature: {scorer.signature}\n")
    assert re.search(f"^1 +{100 * expected.scores[0]:.4f} +{100 * expected.base[0]:.4f}$", plain, re.MULTILINE)


def test_segments_without_words_are_counted_and_named(by_recipe, tmp_path):
    verdict = by_recipe("--only-system").err.splitlines(keepends=True)[0]
    assert by_recipe().err == f"{verdict}note: 1 segment without words keeps the score of the metric: 3.\n"
    for name in "rh":
        (tmp_path / f"{name}.txt").write_text("a\n" + "\n" * 8)
    note = "note: 8 segments without words keep the score of the metric: 2, 3, 4, 5, 6 and 3 more.\n"
    assert by_recipe().err == f"{verdict}{note}"
    (tmp_path / "r.txt").write_text("a b\n")
    (tmp_path / "h.txt").write_text("a b\n")
    assert by_recipe().err == verdict


@pytest.mark.parametrize("form", [(), ("--json",), ("--only-system",)])
def test_the_verdict_of_a_recipe_is_a_note(by_recipe, tmp_path, form):
    path = tmp_path / "mine.json"
    write_recipe(path, dataclasses.replace(recipe("learned"), verdict="no gain\x1b[2J shown"))
    note = (
        f"note: recipe {path}: no gain\\x1b[2J shown, held-out gain +0.0330 [+0.0250, +0.0420], partial r +0.0300 "
        "(each language pair by the others, without shared references).\n"
    )
    assert by_recipe(*form).err.startswith(note)
    assert by_recipe(*form, "--quiet").err == ""


def test_an_embedded_recipe_by_name_and_the_list(by_recipe, tmp_path, monkeypatch):
    done = by_recipe("--recipe", "list", texts=False, named=False)
    assert (done.status, done.err) == (0, "")
    assert done.out.split() == recipes_in_words().split()
    monkeypatch.setattr("bmx_grid.boosts.recipe.FOLDER", tmp_path)
    assert by_recipe("--recipe", "mine", named=False).out == by_recipe().out
    assert by_recipe("--recipe", "list", texts=False, named=False).out.startswith(
        "mine: sentence_bleu boosted by erasure"
    )
    with pytest.raises(SystemExit):
        main(["--help"])


def test_what_does_not_go_with_a_recipe_is_one_sentence(by_recipe):
    done = by_recipe("--set", "metric.lowercase=true")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: ") and done.err.count("\n") == 1 and "lowercase: false in" in done.err


def test_a_damaged_recipe_and_no_metric(by_recipe, tmp_path):
    intact = (tmp_path / "mine.json").read_text()
    (tmp_path / "mine.json").write_text("{}")
    assert "mine.json is not a recipe" in by_recipe().err
    content = recipe("learned").constants | {"base_mean": 10**400}
    (tmp_path / "mine.json").write_text(json.dumps(json.loads(intact) | {"constants": content}))
    assert re.search(r"mine.json.*base_mean: 1000.* is beyond the largest number", by_recipe().err)
    done = by_recipe(named=False)
    assert (done.status, done.err.startswith("error: --metric NAME or --recipe FILE is needed")) == (2, True)


@pytest.mark.parametrize(
    ("name", "content", "status", "message"),
    [
        pytest.param("t.csv", b"ref,mt\na,b\n", 0, "t.csv: each line is scored as one text", id="a table of commas"),
        pytest.param("t.tsv", b"ref\tmt\na\tb\n", 0, "t.tsv: each line is scored as one text", id="a table of tabs"),
        pytest.param("t.jsonl", b'{"mt": "a"}\n', 0, "t.jsonl: each line is scored as one text", id="objects"),
        pytest.param("t.xlsx", b"PK\x03\x04...", 2, "t.xlsx is a workbook", id="a workbook"),
        pytest.param("t.parquet", b"PAR1...", 2, "t.parquet is a workbook or another archive", id="Parquet"),
        pytest.param("t.txt", b"a, b\n", 0, "", id="a comma in a text"),
    ],
)
def test_tables_are_not_taken_for_texts_in_silence(name, content, status, message, tmp_path, capsys):
    table = tmp_path / name
    table.write_bytes(content)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert main(["--metric", "chrf", "-r", str(table), "-t", str(table), "--only-system"]) == status
    said = capsys.readouterr().err + " ".join(str(warning.message) for warning in caught)
    assert message in said
    assert message or "each line" not in said
