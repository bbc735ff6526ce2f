"""An extension of griffe, which reads docstrings for MkDocs: "Example" is the heading that it knows as "Examples"."""

from __future__ import annotations

import re
from typing import Any

import griffe

HEADING = re.compile(r"^Example:$", re.MULTILINE)


class ExampleHeading(griffe.Extension):
    """Shows examples as code; under an unknown heading they would be a quotation."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = HEADING.sub("Examples:", obj.docstring.value)
