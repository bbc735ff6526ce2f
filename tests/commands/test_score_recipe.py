"""score --recipe: output that names the recipe, and one sentence for each mistake."""

import json
import re
from types import SimpleNamespace

import pytest
from some_recipe import recipe

import bmx_grid
from bmx_grid.boosts.recipe import recipes_in_words, write_recipe
from bmx_grid.commands.score import main

REFERENCES = ["The cat sat on the mat .", "Hello world", "", "a b c"]
HYPOTHESES = ["A cat sat on a mat .", "Hello there", "", "a b"]


@pytest.fixture
def score(tmp_path, capsys):
    """Run the command on the files above with the recipe mine.json; status, output, errors."""
    for name, lines in (("r", REFERENCES), ("h", HYPOTHESES)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    write_recipe(tmp_path / "mine.json", recipe("learned"))

    def go(*arguments: str, texts: bool = True, named: bool = True) -> SimpleNamespace:
        files = ["--reference", str(tmp_path / "r.txt"), "--hypothesis", str(tmp_path / "h.txt")] if texts else []
        own = ["--recipe", str(tmp_path / "mine.json")] if named else []
        capsys.readouterr()
        status = main([*own, *files, *arguments])
        out, err = capsys.readouterr()
        return SimpleNamespace(status=status, out=out, err=err)

    return go


def test_every_format_has_the_scores_and_names_the_recipe(score, tmp_path):
    scorer = bmx_grid.load(recipe=str(tmp_path / "mine.json"))
    expected = scorer.explain(REFERENCES, HYPOTHESES)
    assert "name:bleu-words|" in scorer.signature
    told = json.loads(score("--json").out)
    assert list(told) == ["signature", "scale", "mean", "unboosted", "scores"]
    assert (told["signature"], told["unboosted"]) == (scorer.signature, [3])
    assert [one["score"] for one in told["scores"]] == (100 * expected.scores).tolist()
    assert [one["base"] for one in told["scores"]] == (100 * expected.base).tolist()
    assert told["scores"][2]["score"] == told["scores"][2]["base"]
    plain = score().out
    assert plain.startswith(f"signature: {scorer.signature}\n")
    assert f"     1  {100 * expected.scores[0]:8.4f}  {100 * expected.base[0]:8.4f}" in plain


def test_segments_without_words_are_counted_and_named(score, tmp_path):
    assert score().err == "note: 1 segment without words keeps the score of the metric: 3.\n"
    for name in "rh":
        (tmp_path / f"{name}.txt").write_text("a\n" + "\n" * 8)
    said = "note: 8 segments without words keep the score of the metric: 2, 3, 4, 5, 6 and 3 more.\n"
    assert score().err == said
    (tmp_path / "r.txt").write_text("a b\n")
    (tmp_path / "h.txt").write_text("a b\n")
    assert score().err == ""


def test_an_embedded_recipe_by_name_and_the_list(score, tmp_path, monkeypatch):
    done = score("--recipe", "list", texts=False, named=False)
    assert (done.status, done.err) == (0, "")
    assert done.out == f"{recipes_in_words()}\n"
    monkeypatch.setattr("bmx_grid.boosts.recipe.FOLDER", tmp_path)
    assert score("--recipe", "mine", named=False).out == score().out
    assert score("--recipe", "list", texts=False, named=False).out.startswith("mine: sentence_bleu boosted by erasure")
    with pytest.raises(SystemExit):
        main(["--help"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(
            ("--metric", "chrf"), r'the metric chrf given here is another one \(type: "SentenceBleu" in', id="m"
        ),
        pytest.param(("--explainer", "lime"), "the explainer lime given here is another one", id="explainer"),
        pytest.param(("--set", "metric.lowercase=true"), "lowercase: false in", id="set"),
        pytest.param(("-p", "1"), "p and w are a boost of their own, and so is the recipe bleu-words", id="p"),
        pytest.param(
            ("--recipe", "mine"), "unknown recipe 'mine'. Available: .*or a file with its suffix .json", id="a name"
        ),
    ],
)
def test_a_mistake_is_one_sentence(score, arguments, said):
    done = score(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: ") and done.err.count("\n") == 1
    assert re.search(said, done.err), done.err


def test_a_damaged_recipe_and_no_metric(score, tmp_path):
    whole = (tmp_path / "mine.json").read_text()
    (tmp_path / "mine.json").write_text("{}")
    assert "mine.json is not a recipe" in score().err
    content = recipe("learned").constants | {"base_mean": 10**400}
    (tmp_path / "mine.json").write_text(json.dumps(json.loads(whole) | {"constants": content}))
    assert re.search(r"mine.json.*base_mean: 1000.* is beyond the largest number", score().err)
    done = score(named=False)
    assert (done.status, done.err.startswith("error: --metric NAME or --recipe FILE is needed")) == (2, True)
