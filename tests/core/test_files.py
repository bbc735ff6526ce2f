"""Files written in one step, also beside processes that tidy up."""

from pathlib import Path

import pytest

from bmx_grid.core.errors import StoreError
from bmx_grid.core.storage import replacing


def test_the_folder_of_a_file_under_way_is_never_empty(tmp_path):
    """Or another process that removes empty folders would take it away before the file is opened."""
    with replacing(tmp_path / "parts" / "chunk") as part:
        with pytest.raises(OSError):
            (tmp_path / "parts").rmdir()
        part.write_text("rows")
    assert (tmp_path / "parts" / "chunk").read_text() == "rows"


def test_a_folder_removed_as_soon_as_it_was_made_is_made_again(tmp_path, monkeypatch):
    made = []
    touch = Path.touch

    def late(self, *given, **options):
        made.append(self)
        if len(made) < 4:
            self.parent.rmdir()
        return touch(self, *given, **options)

    monkeypatch.setattr(Path, "touch", late)
    with replacing(tmp_path / "parts" / "chunk") as part:
        part.write_text("rows")
    assert (tmp_path / "parts" / "chunk").read_text() == "rows" and len(made) == 4


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write"), replacing(tmp_path / "file" / "x") as part:
        part.write_text("")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
