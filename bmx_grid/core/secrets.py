"""Secrets that are never shown (passwords, tokens), and the servers that a key may be sent to."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any
from urllib.parse import SplitResult, urlsplit

from bmx_grid.core.errors import ConfigError

MASK = "***"
# scheme://user:secret@host. A secret may hold "/" or "@" although it should be percent-encoded, so that everything up
# to the last "@" of the word belongs to it; digits that end the host are a port.
_USER = re.compile(r"(\w[\w+.-]*://[^\s:@/]*):(?!\d*(?:[/?#\s'\"]|$))\S*@")
# An address as a whole: its secret may hold blanks, too.
_WHOLE = re.compile(r"\A(\w[\w+.-]*://[^\s:@/]*):(?=[^@]*\s)(?!\d*[/?#])[\s\S]*@")
_TOKEN = re.compile(r"(https?://)[^\s:@/]+@", re.IGNORECASE)  # https://token@host
_SECRETS = frozenset({"password", "passwd", "pwd", "token", "secret", "api_key", "apikey", "access_key"})
_ANY_SECRET = "|".join(sorted(_SECRETS))
_QUERY = re.compile(rf"([?&](?:{_ANY_SECRET})=)[^&#\s'\"]+", re.IGNORECASE)
# KEY=VALUE of a command line, or KEY: VALUE in a mapping on it; the rest of the word may belong to the secret.
_VALUE = re.compile(rf"((?:^|[\s.{{,+~-])(?:{_ANY_SECRET})['\"]?\s*[=:]\s*).+", re.IGNORECASE | re.DOTALL)


def mask_address(text: str) -> str:
    """`text` with the secrets of all addresses in it replaced by ***.

    >>> mask_address("cannot reach http://me:secret@host:5000/x")
    'cannot reach http://me:***@host:5000/x'

    Secrets are the password in front of the host, a lone token in its place, and query parameters such as password=.
    """
    if "://" not in text:
        return text
    # First the secrets that hold blanks: the other patterns stop at the first one.
    text = _WHOLE.sub(rf"\1:{MASK}@", text)
    text = _USER.sub(rf"\1:{MASK}@", text)
    text = _TOKEN.sub(rf"\1{MASK}@", text)
    return _QUERY.sub(rf"\1{MASK}", text)


def mask_argument(argument: str) -> str:
    """An argument of a command line without its secrets: those in addresses, and the values of keys such as `token`.

    >>> mask_argument("tracking.password=secret")
    'tracking.password=***'
    """
    return _VALUE.sub(rf"\1{MASK}", mask_address(argument))


def mask_secrets(config: Any) -> Any:
    """A copy of a configuration (mappings, lists, plain values) without its secrets.

    Masked are those in addresses (see `mask_address`) and the values of keys such as `password` and `token`.
    """
    if isinstance(config, Mapping):
        copy = {}
        for key, value in config.items():
            # A key such as "token" may also name a part of its own, which is masked value by value.
            is_secret = str(key).lower() in _SECRETS and isinstance(value, str)
            copy[mask_secrets(key)] = MASK if is_secret else mask_secrets(value)
        return copy
    if isinstance(config, list | tuple):
        return [mask_secrets(value) for value in config]
    if isinstance(config, str):
        return mask_address(config)
    return config


ALLOWED = "BMX_JUDGE_ALLOW"
ALLOWED_COMMANDS = "BMX_ALLOWED_COMMANDS"  # command lines, one per line, as a shell reads them
KEY_VARIABLE = "OPENAI_API_KEY"
UNREAD_ANSWERS: list[str] = []  # answers to this process that could not be read, shortened: a sweep counts them
_dry: ContextVar[bool] = ContextVar("dry", default=False)


@contextlib.contextmanager
def asking_nobody(*, dry: bool) -> Iterator[None]:
    """In a dry run no server is called in this block, so that no key is read."""
    before = _dry.set(dry)
    try:
        yield
    finally:
        _dry.reset(before)


def is_dry() -> bool:
    """Whether no server may be called now."""
    return _dry.get()


def check_address(base_url: str) -> None:
    """Raise ConfigError for an invalid address, or for one that holds a secret."""
    try:
        address = urlsplit(base_url)
        is_server = address.scheme in ("http", "https") and address.hostname and address.port != 0
    except ValueError:  # as for a port that is no number
        is_server = False
    if not is_server or address.query or "@" in base_url:
        raise ConfigError("base_url: expected http(s)://HOST[:PORT]/v1 without a user name, password and query.")


def is_of_this_machine(address: SplitResult) -> bool:
    """Whether an address is on loopback, so that no other machine sees the data sent to it."""
    host = address.hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return False


def may_be_in_a_file(name: str, value: Any) -> bool:
    """Whether a file of a stranger may hold this value of "base_url", "key_variable" or "command".

    It may name servers of this machine and KEY_VARIABLE, and the servers and commands that the environment
    variables BMX_JUDGE_ALLOW and BMX_ALLOWED_COMMANDS list.
    """
    if name == "command":
        return _is_allowed_command(value)
    entries = os.environ.get(ALLOWED, "").split(",")
    allowed = [entry.strip() for entry in entries if entry.strip()]
    if name == "key_variable":
        return value == KEY_VARIABLE or value in allowed
    try:
        address = urlsplit(value)
        return is_of_this_machine(address) or address.hostname in allowed
    except (ValueError, TypeError, AttributeError):  # no address: refused by whatever is built of it
        return True


def _is_allowed_command(words: Any) -> bool:
    for line in os.environ.get(ALLOWED_COMMANDS, "").splitlines():
        try:
            allowed = shlex.split(line)
        except ValueError:  # a quotation mark without its pair
            continue
        if allowed and words == allowed:
            return True
    return False
