"""Numbers, points and names as people read them; passwords never reach a file or a screen."""

import math
import re

import pytest

from bmx_grid.core.secrets import mask_address, mask_secrets
from bmx_grid.core.wording import (
    LONGEST_STEM,
    P_VALUE,
    escape_unprintable,
    file_stem,
    format_interval,
    join_names,
    number,
    p_in_words,
    point_in_words,
)

NAN = float("nan")


@pytest.mark.parametrize(
    ("value", "form", "expected"),
    [
        pytest.param(0.12345, ".4f", "0.1235", id="decimals"),
        pytest.param(-0.00001, ".4f", "0.0000", id="what rounds to 0 has no minus"),
        pytest.param(-0.000012, "+.4f", "-0.00001", id="a small loss has the digits it needs"),
        pytest.param(-3.2e-10, "+.4f", "0.0000", id="less than scores can tell from 0"),
        pytest.param(4e-17, "+.4f", "0.0000", id="what rounding leaves of 0"),
        pytest.param(0.0, "+.4f", "0.0000", id="no gain has no sign"),
        pytest.param(-0.0, "+.4f", "0.0000", id="minus 0 is no loss"),
        pytest.param(NAN, ".4f", "n/a", id="undefined"),
        pytest.param(math.inf, ".4f", "inf", id="infinite, as a power may be"),
        pytest.param(-math.inf, "+.4f", "-inf", id="infinite below 0"),
        pytest.param(None, ".4f", "", id="no value"),
        pytest.param(0.04649, P_VALUE, "0.046", id="a p value"),
        pytest.param(0.001, P_VALUE, "0.001", id="the smallest that is written out"),
        pytest.param(9.99e-4, P_VALUE, "< 0.001", id="a smaller one"),
        pytest.param(0.0, P_VALUE, "< 0.001", id="no p value is 0"),
    ],
)
def test_a_number_is_written_without_false_signs_and_digits(value, form, expected):
    assert number(value, form) == expected


@pytest.mark.parametrize(("value", "expected"), [(0.031, "p = 0.031"), (1e-9, "p < 0.001"), (NAN, "p = n/a")])
def test_p_values_in_a_sentence(value, expected):
    assert p_in_words(value) == expected


@pytest.mark.parametrize(
    ("value", "low", "high", "expected"),
    [
        pytest.param(0.1, -0.05, 0.2, "+0.1000 [-0.0500, +0.2000]", id="with its interval"),
        pytest.param(0.1, NAN, NAN, "+0.1000 (why)", id="without one"),
        pytest.param(0.1, -0.05, NAN, "+0.1000 (why)", id="half an interval is none"),
        pytest.param(NAN, NAN, NAN, "n/a", id="undefined"),
        pytest.param(1e-5, 0.0, 2e-5, "+0.00001 [0.0000, +0.00002]", id="small"),
    ],
)
def test_a_number_with_its_interval(value, low, high, expected):
    assert format_interval(value, low, high, without="(why)") == expected


def test_many_names_in_a_row_are_cut_with_their_count():
    assert (join_names(["a"]), join_names(["a", "b", "c"]), join_names(list("abcde"))) == (
        "a",
        "a, b, c",
        "a, b, c and 2 more",
    )
    assert join_names(list("abcde"), most=2, separator="; ") == "a; b and 3 more"


@pytest.mark.parametrize(
    ("w", "p", "expected"),
    [
        pytest.param(0.4, -1.4, "w 0.4, p -1.4", id="a point"),
        pytest.param(0.0, 0.0, "w 0, p 0", id="zeros are numbers"),
        pytest.param(1.0, -30.0, "baseline", id="w = 1: p means nothing"),
        pytest.param(1.0, NAN, "baseline", id="w = 1 without p"),
        pytest.param(NAN, NAN, "no point", id="none"),
        pytest.param(0.5, NAN, "no point", id="no p"),
    ],
)
def test_a_point_is_written_with_what_it_means(w, p, expected):
    assert point_in_words(w, p) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("数据 metric", "数据 metric", id="other scripts stay"),
        pytest.param("a\nb\r\tc", r"a\nb\r\tc", id="line breaks"),
        pytest.param("\x1b[2J", r"\x1b[2J", id="a command of the terminal"),
        pytest.param("a\u2028b", r"a\u2028b", id="a line break of Unicode"),
        pytest.param("a\u202eb", r"a\u202eb", id="a turned line"),
        pytest.param("a\udc80", r"a\udc80", id="half a character, of a file name that is not UTF-8"),
    ],
)
def test_text_is_one_visible_line_that_can_be_written(text, expected):
    assert escape_unprintable(text) == expected
    escape_unprintable(text).encode("utf-8")


def test_file_names_fit_and_tell_names_apart():
    assert file_stem("wmt17", "de-en", "chrf", "lime") == "wmt17.de-en.chrf.lime"
    long = [file_stem("数" * 80, "de-en", "m", name) for name in ("lime", "shap")]
    assert max(len(stem.encode()) for stem in long) <= LONGEST_STEM
    assert long[0] != long[1]
    assert file_stem("a.b", "c") != file_stem("a", "b.c")
    assert file_stem("a/b") != file_stem("a_b")
    settings = [("a", "b.c"), ("a.b", "c"), ("a/b", "c"), ("a-b", "c"), ("", "a"), ("a",), ("x" * 300,), ("a\nb", "c")]
    assert len({file_stem(*names) for names in settings}) == len(settings)


@pytest.mark.parametrize("name", ["../../x", "a\nb", "<script>", "a\u202eb", "half\udc80", 'a"b', "a\0b"])
def test_no_sign_in_a_file_name_can_do_harm(name):
    assert re.fullmatch(r"[\w+.,() -]+", file_stem(name, "y"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("http://me:secret@host:5000/x", "http://me:***@host:5000/x", id="password"),
        pytest.param("https://:secret@host", "https://:***@host", id="no user"),
        pytest.param("https://token@host", "https://***@host", id="a lone token"),
        pytest.param("postgresql://me@host/db", "postgresql://me@host/db", id="a database user is no secret"),
        pytest.param("postgresql+psycopg2://me:s@host/db", "postgresql+psycopg2://me:***@host/db", id="with a driver"),
        pytest.param("http://me:a@b@host", "http://me:***@host", id="an @ in the password"),
        pytest.param("http://me:a/b@host", "http://me:***@host", id="a slash in the password"),
        pytest.param("mysql://h/db?user=x&password=secret&b=1", "mysql://h/db?user=x&password=***&b=1", id="query"),
        pytest.param("tracking.uri=http://me:s@h, more", "tracking.uri=http://me:***@h, more", id="inside a sentence"),
        pytest.param("http://a:b@c and http://d:e@f", "http://a:***@c and http://d:***@f", id="two addresses"),
        pytest.param("http://host:5000/path@v2", "http://host:5000/path@v2", id="a port is no password"),
        pytest.param("http://host:5000", "http://host:5000", id="a port at the end"),
        pytest.param("sqlite:///outputs/mlflow.db", "sqlite:///outputs/mlflow.db", id="a file"),
        pytest.param("me@example.org: a:b", "me@example.org: a:b", id="no address"),
    ],
)
def test_secrets_in_addresses_are_masked(text, expected):
    assert mask_address(text) == expected


def test_a_configuration_is_masked_at_any_depth_and_left_alone():
    config = {"tracking": {"uri": "http://me:s@h"}, "w": [0.2, "http://me:s@h"], "n": None, "mask": "UNK"}
    hidden = {"tracking": {"uri": "http://me:***@h"}, "w": [0.2, "http://me:***@h"], "n": None, "mask": "UNK"}
    assert mask_secrets({**config, "token": "abc"}) == {**hidden, "token": "***"}
    assert config["tracking"]["uri"] == "http://me:s@h"
