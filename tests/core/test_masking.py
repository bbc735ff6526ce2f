"""Passwords never reach a file or a screen; addresses without one stay as they are."""

import pytest

from bmx_grid.core.wording import masked, masked_address


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
    assert masked_address(text) == expected


def test_a_configuration_is_masked_at_any_depth_and_left_alone():
    config = {
        "tracking": {"uri": "http://me:s@h"},
        "w": [0.2, "http://me:s@h"],
        "token": "abc",
        "n": None,
        "mask": "UNK",
    }
    hidden = masked(config)
    assert hidden == {
        "tracking": {"uri": "http://me:***@h"},
        "w": [0.2, "http://me:***@h"],
        "token": "***",
        "n": None,
        "mask": "UNK",
    }
    assert config["tracking"]["uri"] == "http://me:s@h"
