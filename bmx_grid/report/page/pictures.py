"""Figures for a page: inline SVG that follows the page's light, dark and print colours.

Only what drawings are made of is let through, so that nothing in a file can run or load anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from bmx_grid.errors import StoreError
from bmx_grid.report.figures.palette import PROPERTIES

SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
TAGS = {"svg", "g", "defs", "path", "use", "clipPath", "rect", "text", "tspan", "pattern"}
ATTRIBUTES = {
    *("id", "d", "x", "y", "width", "height", "viewBox", "transform", "style", "clip-path"),
    *("patternUnits", "fill", "stroke", "opacity"),
}
PAINT = {"fill", "stroke"}
FAMILY = re.compile(r"font-family:[^;]*;? ?")  # the page has a font
DROPPED = {"metadata", "title", "style"}  # what the page states itself
LARGER = 1.35  # times its size on paper that a figure may have on a screen
POINT = 4 / 3  # CSS pixels
NARROW = 400  # CSS pixels that any figure may be shrunk to


@dataclass(frozen=True)
class Picture:
    """A figure: its title, what it shows in words, and its file (.svg)."""

    title: str
    caption: str
    file: Path


def pictures(files: Iterable[Path]) -> list[Picture]:
    """The SVG files among `files`, with the title and caption that lie beside each as text."""
    found = []
    for file in files:
        if file.suffix == ".svg":
            title, _, caption = _text(file.with_suffix(".txt")).partition("\n\n")
            found.append(Picture(title, caption.strip(), file))
    return found


def inline(file: Path, prefix: str) -> str:
    """The drawing of an SVG file as an element for a page, ids prefixed, colours as properties of the page.

    Raises StoreError when the file cannot be read or holds something that drawings do not.
    """
    if file.suffix != ".svg":
        raise StoreError(f"{file}: a page shows figures of the kind .svg, not '{file.suffix}'.")
    try:
        root = ElementTree.fromstring(_text(file))
    except ElementTree.ParseError as error:
        raise StoreError(f"{file} is no SVG drawing ({error}). Delete it and draw it again.") from error
    _clean(root, file, prefix)
    numbers = [float(number) for number in root.get("viewBox", "").split()]
    if root.tag != f"{SVG}svg" or len(numbers) != 4:
        raise StoreError(f"{file} is no SVG drawing with a viewBox. Delete it and draw it again.")
    for name in ("width", "height"):
        root.attrib.pop(name, None)
    width = numbers[2] * POINT
    # A wide one scrolls on a phone, where it could not be read if it were shrunk.
    root.set("style", f"max-width: {width * LARGER:.0f}px" + f"; min-width: {width:.0f}px" * (width > NARROW))
    root.set("aria-hidden", "true")
    ElementTree.register_namespace("", SVG[1:-1])
    text = ElementTree.tostring(root, encoding="unicode")
    return text.replace(f' xmlns="{SVG[1:-1]}"', "", 1)  # HTML knows it


def _clean(element: ElementTree.Element, file: Path, prefix: str) -> None:
    """Drop metadata, refuse what does not belong, rename ids and colours; in place, to the last child."""
    for child in list(element):
        if not isinstance(child.tag, str) or child.tag.rpartition("}")[2] in DROPPED:
            element.remove(child)
    name = element.tag.removeprefix(SVG)
    if name not in TAGS:
        raise StoreError(f"{file} holds <{name}>, which no drawing of this program has. Delete it and draw it again.")
    for key, value in list(element.attrib.items()):
        if key == f"{XLINK}href":
            del element.attrib[key]
            if not value.startswith("#"):
                raise StoreError(f"{file} refers to {value[:60]!r}, outside itself. Delete it and draw it again.")
            element.set("href", f"#{prefix}-{value[1:]}")
        elif key == "id":
            if name == "g" and not re.fullmatch(r"[mp][0-9a-f]{10}", value):
                del element.attrib[key]  # names of parts, which nothing refers to
            else:
                element.set(key, f"{prefix}-{value}")
        elif key not in ATTRIBUTES or (key in PAINT and value != "none"):
            del element.attrib[key]
            if key in PAINT:  # a property has no place in an attribute
                element.set("style", f"{element.get('style', '')};{key}:{_recoloured(value)}".strip(";"))
        else:
            element.set(key, _recoloured(FAMILY.sub("", value).replace("url(#", f"url(#{prefix}-")))
    for child in element:
        _clean(child, file, prefix)


def _recoloured(value: str) -> str:
    """Colours of the palette as properties of the page."""
    for colour, name in PROPERTIES.items():
        value = value.replace(colour, f"var({name})")
    return value


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise StoreError(f"cannot read the figure {file}: {reason}. Draw it again.") from error
