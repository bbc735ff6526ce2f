"""Names with signs that steer a terminal: escaped wherever a result is printed."""

import numpy as np
import pandas as pd
import pytest

import bmx_grid as bmx
from bmx_grid.core.terminal import Progress, plain_warnings, say
from bmx_grid.core.wording import escape_lines

ESCAPE = "\x1b]0;PWNED\x07"
HOSTILE = {"escape": ESCAPE, "C1": "\x9b31m", "turned": "a\u202eb", "delete": "a\x7f", "return": "a\rb"}


def is_safe(text):
    return text == escape_lines(text)


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_names_of_columns_are_escaped_in_what_is_shown_of_a_comparison(name):
    rng = np.random.default_rng(0)
    human = rng.normal(size=60)
    scores = {name: human + rng.normal(size=60), "m": human + rng.normal(size=60)}
    frame = pd.DataFrame({"id": range(60), "human": human, **scores})
    compared = bmx.compare(frame, metrics=[name, "m"], human="human", resamples=100)
    of_polars = bmx.compare(frame.to_dict("list"), metrics=[name, "m"], human="human", resamples=100)
    for shown in (repr(compared), repr(of_polars), compared.summary()):
        assert is_safe(shown) and escape_lines(name) in shown


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_what_is_said_has_no_signs_that_steer_a_terminal(name, capsys):
    from warnings import warn

    say(f"one {name}\ntwo")
    with Progress(0) as progress:
        progress.say(name)
    with plain_warnings():
        exec(compile("warn(name)", "bmx_grid/here.py", "exec"), {"warn": warn, "name": name})
    said = capsys.readouterr()
    assert is_safe(said.out) and is_safe(said.err)
    assert said.out.count("\n") == 3 and escape_lines(name) in said.err


def test_a_sweep_escapes_names_in_its_log_stamp_and_summary(tmp_path, capsys):
    frame = pd.DataFrame(
        {
            "id": [f"{ESCAPE}{n}" for n in range(8)],
            "system": [ESCAPE] * 8,
            "ref": [f"the cat {n}" for n in range(8)],
            "mt": [f"a cat {n} {'is ' * n}{ESCAPE}" for n in range(8)],
            "score": [0.1, 0.7, 0.2, 0.9, 0.4, 0.3, 0.8, 0.6],
        }
    )
    folders = {"output_dir": tmp_path / "out", "cache_dir": tmp_path / "cache"}
    run = bmx.grid(frame, "chrf", "erasure", settings={"grid.p.step": 5}, analysis=False, quiet=False, **folders)
    shown = capsys.readouterr()
    for text in (shown.out, shown.err, repr(run), run.summary(), repr(run.words())):
        assert is_safe(text)
    for file in ("log.txt", ".sweep.json", "config.yaml"):
        assert is_safe((tmp_path / "out" / file).read_text())


def test_a_mistake_escapes_the_names_that_it_quotes():
    frame = pd.DataFrame({"ref": ["a b"] * 4, "mt": ["a c"] * 4, "score": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(bmx.BmxError, match="cannot be part of file names") as caught:
        bmx.grid(frame, metric={ESCAPE: bmx.load("chrf")})
    assert is_safe(str(caught.value))
