"""The folder of a sweep belongs to one run."""

import dataclasses
import json
import os

import pytest

from bmx_grid.core.configure import option_class, options
from bmx_grid.core.errors import ConfigError, StoreError
from bmx_grid.core.identity import RUNTIME
from bmx_grid.sweep.folder import PARTS, RUNTIME_KEYS_OF_PARTS, STAMP, OutputFolder, strip_runtime_keys


def write(folder, *names, text="x"):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return [folder / name for name in names]


@pytest.mark.parametrize(
    ("change", "same"),
    [
        pytest.param(lambda folder: None, True, id="nothing"),
        pytest.param(lambda folder: write(folder, "notes.txt"), True, id="a file of somebody else"),
        pytest.param(lambda folder: (folder / "grid.parquet").unlink(), False, id="a table is gone"),
        pytest.param(lambda folder: write(folder, "grid.parquet", text="y"), False, id="a table was written again"),
        pytest.param(lambda folder: os.truncate(folder / "figures" / "a.png", 0), False, id="a figure was cut"),
        pytest.param(lambda folder: (folder / STAMP).write_text("{"), False, id="the stamp is damaged"),
        pytest.param(lambda folder: (folder / STAMP).unlink(), False, id="the stamp is gone"),
    ],
)
def test_an_unchanged_run_is_known_by_its_files(tmp_path, change, same):
    folder = OutputFolder(tmp_path)
    folder.finish("run", write(tmp_path, "grid.parquet", "figures/a.png"), said="a table", n_failed=0)
    change(tmp_path)
    finished = folder.find_unchanged("run")
    assert (finished is not None) is same
    assert folder.find_unchanged("another run") is None
    assert not same or finished["said"] == "a table"


def test_what_an_earlier_run_left_is_moved_aside_and_nothing_else(tmp_path):
    folder = OutputFolder(tmp_path)
    folder.finish("0123456789", write(tmp_path, "grid.parquet", "figures/a.png", "figures/b.png"))
    write(tmp_path, "mine.parquet", "figures/mine.png")
    folder.begin([tmp_path / "figures" / "b.png", tmp_path / "figures" / "killed.png"])
    write(tmp_path, "figures/killed.png")  # the next run knows it although this one is killed
    folder = OutputFolder(tmp_path)
    kept = write(tmp_path, "grid.parquet", "figures/b.png", text="new")
    assert sorted(folder.move_aside(kept)) == ["figures/a.png", "figures/killed.png"]
    assert (tmp_path / "previous" / "01234567" / "figures" / "a.png").read_text() == "x"
    assert (tmp_path / "mine.parquet").is_file() and (tmp_path / "figures" / "mine.png").is_file()
    assert (tmp_path / "grid.parquet").read_text() == "new"


def test_all_files_of_another_configuration_are_kept_in_a_folder_of_their_own(tmp_path):
    folder = OutputFolder(tmp_path)
    assert folder.keep_other("a") is None
    folder.begin([tmp_path / "tables" / "grid.parquet"])
    files = write(tmp_path, "tables/grid.parquet", "config.yaml")
    folder.finish("0123456789", files, said="", n_failed=0, configuration="a")
    folder.claim([tmp_path / "report.html"])  # of `analyse`
    write(tmp_path, "report.html", "mine.txt")
    assert folder.keep_other("a") is None, "the same one again"
    place = folder.keep_other("b")
    assert place == tmp_path / "previous" / "01234567"
    left = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert left == {"mine.txt", STAMP}
    kept = OutputFolder(place)
    assert kept.find_unchanged("0123456789") is not None and (place / "report.html").is_file()
    assert folder.keep_other("b") is None
    folder.finish("b" * 64, write(tmp_path, "tables/grid.parquet", text="b"), said="", n_failed=0, configuration="b")
    assert folder.place_of("0123456789") == place and folder.place_of("b" * 64) == folder.place_of(None) == tmp_path
    assert folder.keep_other("c") == tmp_path / "previous" / "bbbbbbbb"
    assert (tmp_path / "previous" / "bbbbbbbb" / "tables" / "grid.parquet").read_text() == "b"


@pytest.mark.parametrize("run", ["../../..", "a/b", "", "..", None, 3.5])
@pytest.mark.parametrize("configuration", ["../a", "a"])
def test_a_stamp_cannot_move_files_out_of_the_folder(tmp_path, run, configuration):
    folder = OutputFolder(tmp_path / "out")
    (file,) = write(tmp_path / "out", "x")
    stamp = {"fingerprint": run, "configuration": configuration, "files": {"x": [1, 2]}, "claimed": []}
    (tmp_path / "out" / STAMP).write_text(json.dumps(stamp))
    kept = folder.keep_other("b")
    (found,) = tmp_path.rglob("x")
    assert found == (file if kept is None else kept / "x")
    assert kept is None or kept.parent == tmp_path / "out" / "previous"


def test_keys_that_change_where_a_sweep_runs_are_no_other_configuration():
    parts = {"boosted": {"metric": {"device": "cpu", "layer": 2}, "w": 0.5}, "timeout": {"timeout": 3, "file": "x"}}
    config = {"executor": {"devices": []}, "figures": "all", "metric": parts, "explainer": None, "limit": 3}
    kept = {"boosted": {"metric": {"layer": 2}, "w": 0.5}, "timeout": {"file": "x"}}
    assert strip_runtime_keys(config) == {"metric": kept, "explainer": None, "limit": 3}


def test_runtime_keys_of_parts_are_runtime_fields_wherever_a_part_has_them():
    seen = set()
    for group in PARTS:
        for name in options(group):
            for field in dataclasses.fields(option_class(group, name)):
                if field.name in RUNTIME_KEYS_OF_PARTS:
                    assert field.metadata["role"] == RUNTIME, (group, name, field.name)
                    seen.add(field.name)
    assert seen == RUNTIME_KEYS_OF_PARTS


@pytest.mark.parametrize("name", ["../outside.txt", "/etc/hostname", ""])
def test_a_stamp_that_names_files_elsewhere_moves_nothing(tmp_path, name):
    (tmp_path / "outside.txt").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / STAMP).write_text(json.dumps({"fingerprint": "x", "files": {name: [1, 2]}}))
    assert OutputFolder(tmp_path / "out").move_aside([]) == []
    assert (tmp_path / "outside.txt").read_text() == "mine"


RUNS = ["../../..", "..", "a/../..", "/etc", "a\0b", 5, ["x"], {"a": 1}, ""]


@pytest.mark.parametrize("run", RUNS, ids=map(repr, RUNS))
@pytest.mark.parametrize("key", ["fingerprint", "of"])
def test_a_stamp_whose_run_is_no_name_moves_nothing_over_a_file_outside(tmp_path, run, key):
    """.bashrc of the folder went over .bashrc two folders above it."""
    write(tmp_path, ".bashrc", "work/.bashrc", text="mine")
    write(tmp_path, "work/theirs/.bashrc", text="theirs")
    (tmp_path / "work" / "theirs" / STAMP).write_text(json.dumps({key: run, "files": {".bashrc": [1, 1]}}))
    folder = OutputFolder(tmp_path / "work" / "theirs")
    folder.claim([])
    folder.move_aside([])
    assert [(tmp_path / place).read_text() for place in (".bashrc", "work/.bashrc")] == ["mine", "mine"]
    left = {path.relative_to(tmp_path).parts[:2] for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {(".bashrc",), ("work", ".bashrc"), ("work", "theirs")}


LINKS = ["previous", "previous/abcdef01", "previous/abcdef01/tables"]


@pytest.mark.parametrize("link", LINKS)
def test_a_link_leads_no_file_of_an_earlier_run_out_of_the_folder(tmp_path, link):
    """It is found before hours of work, and again where the files are moved."""
    write(tmp_path, "home/tables/x", "home/abcdef01/tables/x", "home/x", text="mine")
    write(tmp_path, "theirs/tables/x", text="theirs")
    stamp = {"fingerprint": "abcdef0123", "files": {"tables/x": [1, 1]}}
    (tmp_path / "theirs" / STAMP).write_text(json.dumps(stamp))
    (tmp_path / "theirs" / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "theirs" / link).symlink_to(tmp_path / "home")
    folder = OutputFolder(tmp_path / "theirs")
    for act in (folder.claim, folder.move_aside):
        with pytest.raises(StoreError, match="leads out of .*theirs; choose another folder, or remove the link"):
            act([])
    assert {path.read_text() for path in (tmp_path / "home").rglob("x")} == {"mine"}


def test_nothing_is_written_through_a_link_out_of_the_folder(tmp_path):
    write(tmp_path, "home/x", text="mine")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "tables").symlink_to(tmp_path / "home")
    with pytest.raises(StoreError, match="leads out of"):
        OutputFolder(tmp_path / "theirs").claim([tmp_path / "theirs" / "tables" / "new.parquet"])
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["x"]
    (tmp_path / "link").symlink_to(tmp_path / "home")  # the folder itself may be a link
    OutputFolder(tmp_path / "link").claim([tmp_path / "link" / "grid.parquet"])


def test_a_file_in_the_way_is_named_with_the_way_out(tmp_path):
    folder = OutputFolder(tmp_path)
    folder.finish("0123456789", write(tmp_path, "grid.parquet"))
    write(tmp_path, "previous")
    with pytest.raises(StoreError, match=r"cannot move .*grid\.parquet of an earlier run aside: .* output_dir"):
        folder.move_aside([])


@pytest.mark.parametrize("name", ["config.yaml", "figures/a.svg", "a link"])
def test_a_file_that_no_run_wrote_is_never_replaced(tmp_path, name):
    if name == "a link":
        (tmp_path / name).symlink_to(tmp_path / "nowhere")
    else:
        write(tmp_path, name, text="mine")
    for record in (OutputFolder(tmp_path).claim, OutputFolder(tmp_path).begin):
        with pytest.raises(ConfigError, match=rf"output_dir: .*{name} was not written by bmx_grid"):
            record([tmp_path / "log.txt", tmp_path / name])
    assert not (tmp_path / STAMP).exists()


def test_files_that_a_run_or_an_analysis_left_are_replaced(tmp_path):
    folder = OutputFolder(tmp_path)
    folder.claim([tmp_path / "report.html"])
    folder.finish("run", write(tmp_path, "grid.parquet"), said="", n_failed=0)
    write(tmp_path, "report.html")
    folder.claim([tmp_path / "report.html", tmp_path / "grid.parquet"])
    assert folder.find_unchanged("run") is not None
    folder.begin([tmp_path / "grid.parquet", tmp_path / "report.html"])


FINISHED = {"fingerprint": "run", "files": {}, "said": "", "n_failed": 0}
STAMPS = {
    "without what was said": json.dumps({key: value for key, value in FINISHED.items() if key != "said"}),
    "failures that are no number": json.dumps({**FINISHED, "n_failed": "x"}),
    "files as a list": json.dumps({**FINISHED, "files": ["x"]}),
    "a claim that is no name": json.dumps({**FINISHED, "claimed": [1]}),
    "a list": "[]",
    "very deep": "[" * 100_000,
    "bytes": "\udcff",
}


@pytest.mark.parametrize("text", STAMPS.values(), ids=STAMPS)
def test_a_stamp_that_no_run_wrote_is_none(tmp_path, text):
    (tmp_path / STAMP).write_text(text, errors="surrogateescape")
    folder = OutputFolder(tmp_path)
    assert folder.find_unchanged("run") is None
    folder.begin([tmp_path / "grid.parquet"])
    assert folder.move_aside([]) == []
