"""Members that an earlier version called by another name: classes of users may define the old name for one release."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar


class AcceptsOldNames:
    """Base of contracts that users fulfil. RENAMED: old names of members that subclasses define, with the new ones."""

    RENAMED: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        renamed: dict[str, str] = {}
        for base in cls.__mro__:
            renamed |= vars(base).get("RENAMED", {})
        for old, new in renamed.items():
            # A class with both names also runs with the earlier version.
            if old not in vars(cls) or new in vars(cls):
                continue
            warnings.warn(
                f"{cls.__module__}.{cls.__qualname__} defines '{old}', which is called '{new}' now: rename it. The "
                "next release does not read the old name.",
                FutureWarning,
                stacklevel=2,
            )
            setattr(cls, new, _OldMember(old))
            _alias_for_super(cls, old, new)


class _OldMember:
    """The new name of a method, a property or a value that a class defines by an old name."""

    def __init__(self, old: str) -> None:
        self.old = old

    def __get__(self, instance: Any, owner: type) -> Any:
        return getattr(owner if instance is None else instance, self.old)


def _alias_for_super(cls: type, old: str, new: str) -> None:
    """Let `super().OLD` of a class find the member of its bases."""
    for base in cls.__mro__[1:]:
        member = vars(base).get(new)
        # An abstract member has nothing to call, and would make other subclasses of the base abstract.
        if member is not None and old not in vars(base) and not getattr(member, "__isabstractmethod__", False):
            setattr(base, old, member)


def old_names(module: str, renamed: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module that users import from. renamed: the old names in it, with the new ones."""

    def find(name: str) -> Any:
        if name not in renamed:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        new = renamed[name]
        warnings.warn(
            f"{module}.{name} is called {new} now: import {new}. The next release does not have the old name.",
            FutureWarning,
            stacklevel=2,
        )
        return getattr(sys.modules[module], new)

    return find
