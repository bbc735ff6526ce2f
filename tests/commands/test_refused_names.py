"""Names of files and folders that the file system refuses: one sentence, from every command and call that takes one."""

import os
from importlib import import_module

import pytest

import bmx_grid as bmx

# Refused by the system when they are looked up, each in another way.
NAMES = {
    "too long": "x" * 5000,
    "a part too long": "x" * 300,
    "too deep": "x/" * 2500,
    "an unknown user": "~nobody_of_this_name/x",
    "a zero byte": "a\0b",
    "a circle": "circle",
    "below a file": "file/x",
}
COMMANDS = {
    "analyse": ["analyse", "{}"],
    "analyse, several": ["analyse", "{}", "{}"],
    "analyse, a key": ["analyse", "file", "select.from={}"],
    "analyse, an unknown key": ["analyse", "{}=x"],
    "compare": ["compare", "{}", "--metrics", "a"],
    "data show": ["data", "show", "{}"],
    "data show, a data set": ["data", "show", "wmt17", "data_dir={}"],
    "check": ["check", "chrf", "--config-dir", "{}"],
    "check, a model": ["check", "bertscore", "metric.bertscore.model={}"],
    "score": ["score", "--metric", "chrf", "--explainer", "none", "--reference", "{}", "--hypothesis", "file"],
    "score, a recipe": ["score", "--recipe", "{}", "--reference", "file", "--hypothesis", "file"],
    "run, options": ["run", "--config-dir", "{}", "dry_run=true"],
}
CALLS = {
    "Run": bmx.Run,
    "analyse": lambda name: bmx.analyse([name, f"{name}y"]),
    "load": lambda name: bmx.load(recipe=name),
    "run": lambda name: bmx.run("quickstart", config_dir=name, dry_run=True),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.symlink("circle", "circle")
    (tmp_path / "file").write_text("a cat\n")


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_command_refuses_it_in_one_sentence(arguments, name, folder, capsys):
    command, *rest = [argument.replace("{}", name) for argument in arguments]
    status = import_module(f"bmx_grid.commands.{command}").main(rest)
    said = capsys.readouterr().err.splitlines()
    assert status == 2 and said[-1].startswith("error: "), said


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_refuses_it_in_one_sentence(call, name, folder):
    with pytest.raises(bmx.BmxError) as caught:
        call(name)
    assert "\n" not in str(caught.value)


def test_data_sets_of_a_folder_that_is_none_are_missing(folder, capsys):
    for name in NAMES.values():
        assert import_module("bmx_grid.commands.data").main(["list", f"data_dir={name}"]) == 0
        assert "missing" in capsys.readouterr().out


@pytest.mark.parametrize("word", ["x" * 5000, "a\tb", "\x1b[31m"], ids=["long", "a tab", "an escape"])
@pytest.mark.parametrize("arguments", [["--level", "{}"], ["--seed", "{}"], ["--nope", "{}"]], ids=" ".join)
def test_a_mistake_in_arguments_is_one_printable_line(arguments, word, capsys):
    whole = ["file", "--metrics", "a", *(argument.replace("{}", word) for argument in arguments)]
    with pytest.raises(SystemExit):
        import_module("bmx_grid.commands.compare").main(whole)
    mistake = capsys.readouterr().err.split("error: ")[1].removesuffix("\n")
    assert mistake.isprintable() and len(mistake) <= 600
