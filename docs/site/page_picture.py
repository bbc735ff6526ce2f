"""The picture of a page for the documentation.

python docs/site/page_picture.py outputs/quickstart/report.html docs/page.png
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SIZE = (1280, 1180)
COLOURS = 256


def browser() -> str | None:
    """A browser that is installed and takes pictures without a screen; None without one."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def take(page: Path, picture: Path) -> None:
    """Write the first screen of a page on a desktop as a PNG."""
    program = browser()
    if program is None:
        raise SystemExit(f"No browser found. Install one of {', '.join(BROWSERS)}.")
    width, height = SIZE
    with tempfile.TemporaryDirectory() as profile:
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}"]
        flags += [f"--window-size={width},{height}", f"--screenshot={picture.absolute()}"]
        subprocess.run([program, *flags, page.absolute().as_uri()], check=True, capture_output=True, timeout=120)
    # A page has few colours: a picture with a palette is a third of the size.
    with Image.open(picture) as image:
        small = image.convert("RGB").quantize(COLOURS, Image.Quantize.FASTOCTREE)
    small.save(picture, optimize=True)


def main(arguments: Sequence[str]) -> None:
    """Take the picture that the arguments name."""
    page, picture = map(Path, arguments)
    take(page, picture)


if __name__ == "__main__":
    main(sys.argv[1:])
