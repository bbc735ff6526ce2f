"""Drawn figures on their way into a page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

CAPTION = "Description"  # the text chunk of a PNG that holds its caption


@dataclass(frozen=True)
class Picture:
    """A figure: its title, what it shows in words, and its file (.png or .svg).

    Where `drawn` is true the words stand in the drawing already and are only read out.
    """

    title: str
    caption: str
    file: Path
    drawn: bool = False


def pictures(files: Iterable[Path]) -> list[Picture]:
    """The PNG files among `files`, titled by their names; captions come from the text inside them."""
    return [Picture(_title(file.stem), _caption(file), file, drawn=True) for file in files if file.suffix == ".png"]


def _title(stem: str) -> str:
    """fig7_lime_gain_density -> Figure 7: lime gain density."""
    words = stem.replace("_", " ")
    numbered = re.fullmatch(r"fig(\d+) (.*)", words)
    return f"Figure {numbered[1]}: {numbered[2]}" if numbered else words.capitalize()


def _caption(file: Path) -> str:
    from PIL import Image

    with Image.open(file) as image:
        return str(image.info.get(CAPTION, ""))
