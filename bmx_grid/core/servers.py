"""Rules for parts that ask a server: which one a file may name, when none may be asked, what could not be read."""

from __future__ import annotations

import contextlib
import ipaddress
import os
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any
from urllib.parse import SplitResult, urlsplit

from bmx_grid.core.errors import ConfigError

ALLOWED = "BMX_JUDGE_ALLOW"
KEY_VARIABLE = "OPENAI_API_KEY"
UNREAD_ANSWERS: list[str] = []  # answers to this process that could not be read, shortened: a sweep counts them
_dry: ContextVar[bool] = ContextVar("dry", default=False)


@contextlib.contextmanager
def asking_nobody(*, dry: bool) -> Iterator[None]:
    """In a dry run no server is asked in this block, so that no key is read."""
    before = _dry.set(dry)
    try:
        yield
    finally:
        _dry.reset(before)


def is_dry() -> bool:
    """Whether no server may be asked now."""
    return _dry.get()


def check_address(base_url: str) -> None:
    """Raise ConfigError for an address that is none, or that holds what should be secret."""
    try:
        address = urlsplit(base_url)
        is_server = address.scheme in ("http", "https") and address.hostname and address.port != 0
    except ValueError:  # as for a port that is no number
        is_server = False
    if not is_server or address.query or "@" in base_url:
        raise ConfigError("base_url: expected http(s)://HOST[:PORT]/v1 without a user name, password and query.")


def is_of_this_machine(address: SplitResult) -> bool:
    """Whether an address is on loopback, so that no other machine sees what is sent there."""
    host = address.hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return False


def may_be_in_a_file(name: str, value: Any) -> bool:
    """Whether a file of a stranger may hold this value of "base_url" or "key_variable".

    It may name servers of this machine and KEY_VARIABLE, and what the environment variable BMX_JUDGE_ALLOW lists.
    """
    entries = os.environ.get(ALLOWED, "").split(",")
    allowed = [entry.strip() for entry in entries if entry.strip()]
    if name == "key_variable":
        return value == KEY_VARIABLE or value in allowed
    try:
        address = urlsplit(value)
        return is_of_this_machine(address) or address.hostname in allowed
    except (ValueError, TypeError, AttributeError):  # no address: refused by whatever is built of it
        return True
