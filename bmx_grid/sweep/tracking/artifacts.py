"""Files of runs, laid out as MLflow's pages show them: the same names in all runs, and images that charts find."""

from __future__ import annotations

import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WIDEST = 480  # pixels of the copy of an image that pages of charts show
REFUSED = re.compile(r"[^a-zA-Z0-9_\-./ ]")  # what MLflow refuses in the name of an image


@contextmanager
def laid_out(files: Mapping[str, Path]) -> Iterator[Path]:
    """A temporary folder with copies of those files that exist, by their names in the store (`a.png`, `tables/b.csv`).

    The folder is sent as a whole: the names in the store are not those on disk.
    """
    with tempfile.TemporaryDirectory(prefix="bmx-grid-") as folder:
        for name, path in files.items():
            if path.is_file():
                place = Path(folder) / name
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)
        yield Path(folder)


def add_image(folder: Path, image: Path, key: str, run_id: str, when: int) -> bool:
    """Lay an image out for MLflow's charts, as `MlflowClient.log_image` does; whether it could be read.

    key: the name of the chart; up to the first / the name of its group. when: milliseconds. log_image gives each call
    a random name, so that a run that is completed after an interrupt would show the image twice; here the name follows
    from the run.
    """
    from mlflow import Image

    try:
        picture: Any = Image(str(image))
        width, height = picture.size
        narrow = min(width, WIDEST)
        small = picture.resize((narrow, max(1, round(height * narrow / width))))
    except (OSError, SyntaxError):  # no image, or half of one; Pillow raises SyntaxError for broken PNG files
        return False
    stem = image_stem(key, run_id, when)
    place = folder / "images"
    place.mkdir(exist_ok=True)
    shutil.copyfile(image, place / f"{stem}.png")
    small.save(str(place / f"{stem}+compressed.webp"))
    return True


def image_stem(key: str, run_id: str, when: int) -> str:
    """The name of an image file, without suffix, from which MLflow's pages read key, step and time."""
    plain = REFUSED.sub("_", key).replace("/", "~")
    return f"{plain}+step+0+timestamp+{when}+{uuid.uuid5(uuid.NAMESPACE_OID, run_id + key)}"
