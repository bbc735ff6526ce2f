"""What must not be shown: passwords in addresses, and values of keys such as `token`, wherever something is printed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

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
# KEY=VALUE of a command line, or KEY: VALUE in a mapping there; the rest of the word may belong to the secret.
_VALUE = re.compile(rf"((?:^|[\s.{{,+~-])(?:{_ANY_SECRET})['\"]?\s*[=:]\s*).+", re.IGNORECASE | re.DOTALL)


def masked_address(text: str) -> str:
    """`text` with the secrets of all addresses in it replaced by ***.

    >>> masked_address("cannot reach http://me:secret@host:5000/x")
    'cannot reach http://me:***@host:5000/x'

    Secrets are the password in front of the host, a lone token there, and query parameters such as password=.
    """
    if "://" not in text:
        return text
    # First the secrets that hold blanks: the other patterns stop at the first one.
    text = _WHOLE.sub(rf"\1:{MASK}@", text)
    text = _USER.sub(rf"\1:{MASK}@", text)
    text = _TOKEN.sub(rf"\1{MASK}@", text)
    return _QUERY.sub(rf"\1{MASK}", text)


def masked_argument(argument: str) -> str:
    """An argument of a command line without its secrets: those in addresses, and what is given to keys such as `token`.

    >>> masked_argument("tracking.password=secret")
    'tracking.password=***'
    """
    return _VALUE.sub(rf"\1{MASK}", masked_address(argument))


def masked(config: Any) -> Any:
    """A copy of a configuration (mappings, lists, plain values) without its secrets.

    Masked are those in addresses (see `masked_address`) and the values of keys such as `password` and `token`.
    """
    if isinstance(config, Mapping):
        copy = {}
        for key, value in config.items():
            # A key such as "token" may also name a part of its own, which is masked value by value.
            is_secret = str(key).lower() in _SECRETS and isinstance(value, str)
            copy[masked(key)] = MASK if is_secret else masked(value)
        return copy
    if isinstance(config, list | tuple):
        return [masked(value) for value in config]
    if isinstance(config, str):
        return masked_address(config)
    return config
