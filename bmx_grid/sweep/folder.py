"""The folder of a sweep: everything in it belongs to one run, and an unchanged run leaves it untouched.

Results of another configuration are never replaced: all files of that run are moved to a folder below `previous/`,
which is then a sweep's folder like any other. So are single files that an earlier run of the same configuration wrote
and this one does not have (settings that are gone, tables of a run in which now everything fails).
Files of somebody else, which are those that no stamp names, are neither moved nor replaced.

The stamp .sweep.json records the run of every file. Its keys:

    fingerprint    of all that the files depend on; null from the first file of a run until its last
    of             meanwhile: the fingerprint of the run that is replaced
    configuration  digest of the keys of the configuration that results depend on
    files          size and time of each file that the run left, by name
    claimed        the names that runs of this folder may write
    said, n_failed, tracked   output, failures and tracked runs, which an unchanged run reports again

config.yaml is the configuration that made the files of the folder. A repeated run that differs in runtime keys only,
such as another executor or device, makes no file and keeps config.yaml.

Recipes of the boosts that a sweep chose are one file for each metric, explainer and boost.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bmx_grid.boosts.recipe import Identity, Recipe, read_recipe
from bmx_grid.core.configure import convert
from bmx_grid.core.documents import read_json
from bmx_grid.core.errors import BmxError, ConfigError, StoreError
from bmx_grid.core.storage import inside, write_text
from bmx_grid.core.terminal import say
from bmx_grid.core.wording import file_stem
from bmx_grid.evaluations.verdicts import HELPS, HURTS
from bmx_grid.sweep.judge import SettingResult
from bmx_grid.sweep.settings import Setting

# Runtime keys of the configuration, which cannot change results: configurations that differ in these keys only are one
# sweep, for the folder and for a tracking store.
RUNTIME_KEYS = frozenset(
    ("executor", "tracking", "data_dir", "cache_dir", "output_dir", "dry_run", "on_error", "figures")
)
# Runtime fields of metrics and explainers. Other excluded fields name files to read.
PARTS = ("metric", "explainer")
RUNTIME_KEYS_OF_PARTS = frozenset(
    (
        *("device", "batch_tokens", "batch_size", "gpus", "cuda", "memory", "cache_dir"),
        *("answers", "base_url", "key_variable", "concurrency", "timeout", "retries", "max_requests"),
    )
)
LOCK = ".sweep.lock"  # held while a run writes to the folder
STAMP = ".sweep.json"  # which run the folder belongs to, and the files it left
PREVIOUS = "previous"
RUN = re.compile(r"\w+")  # a fingerprint
CONFIG = "config.yaml"
# Folders below that of the sweep.
TABLES = "tables"
RECIPES = "recipes"
FOLDERS = (TABLES, RECIPES, "figures", PREVIOUS)


@contextmanager
def alone(folder: Path) -> Iterator[bool]:
    """Let no other run write to a sweep's folder in this block; whether one did when it began, and was waited for.

    Raises StoreError for a folder that cannot be made or written to.
    """
    from filelock import FileLock, Timeout

    inside(folder, LOCK)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK, timeout=0)
        waited = False
        try:
            lock.acquire()
        except Timeout:
            waited = True
            say(f"another run is writing to {folder}/: waiting until it ends")
            lock.acquire(timeout=-1)
    except OSError as error:
        raise StoreError(f"output_dir: {folder} cannot be written: {error.strerror or error}") from error
    try:
        yield waited
    finally:
        lock.release()


def strip_runtime_keys(config: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a configuration that its results depend on."""
    kept = {key: node for key, node in config.items() if key not in RUNTIME_KEYS}
    for group in PARTS:
        parts = kept.get(group)
        if isinstance(parts, Mapping):
            kept[group] = {name: _drop_runtime_keys(part) for name, part in parts.items()}
    return kept


def _drop_runtime_keys(node: Any) -> Any:
    """Parts without their runtime keys, and the parts that they are made of."""
    if isinstance(node, Mapping):
        kept = {key: value for key, value in node.items() if key not in RUNTIME_KEYS_OF_PARTS}
        return {key: _drop_runtime_keys(value) for key, value in kept.items()}
    if isinstance(node, list | tuple):
        return [_drop_runtime_keys(value) for value in node]
    return node


def table_path(folder: Path, name: str) -> Path:
    """The path of a sweep's table: below tables/, or in a folder of tables without a sweep."""
    path = folder / TABLES / f"{name}.parquet"
    return path if path.is_file() else folder / f"{name}.parquet"


def table_files(folder: Path) -> dict[str, Path]:
    """The tables in a sweep's folder, by name, from the places of `table_path`."""
    files = [*sorted(folder.glob("*.parquet")), *sorted(folder.glob(f"{TABLES}/*.parquet"))]
    return {file.stem: file for file in files}


@dataclass(frozen=True)
class OutputFolder:
    """The folder of one sweep."""

    path: Path

    def find_unchanged(self, fingerprint: str) -> dict[str, Any] | None:
        """The stamp of the last run if it was the same run and all its files are unchanged; else None."""
        stamp = self._stamp()
        if stamp.get("fingerprint") != fingerprint or stamp["files"] != self._states(stamp["files"]):
            return None
        # A stamp may have been edited: check the output to repeat.
        is_whole = isinstance(stamp.get("said"), str) and isinstance(stamp.get("n_failed"), int)
        return stamp if is_whole else None

    def claim(self, files: Iterable[Path]) -> None:
        """Record that these files may be written from now on. Also shows whether the folder can be written to.

        Raises ConfigError for an existing file that the stamp does not name, StoreError if the folder is not writable
        or a link leads out of it.
        """
        stamp = self._stamp()
        names = set(map(self._name, files))
        for name in (*FOLDERS, *names):
            inside(self.path, name)
        for name in stamp["files"]:
            self._aside(stamp, name)
        for name in sorted(names - {*stamp["files"], *stamp["claimed"]}):
            if os.path.lexists(self.path / name):
                raise ConfigError(
                    f"output_dir: {self.path / name} was not written by bmx_grid (it is not named in "
                    f"{self.path / STAMP}); choose another output_dir, or move the file."
                )
        self._write({**stamp, "claimed": sorted({*stamp["claimed"], *names})})

    def begin(self, files: Iterable[Path]) -> None:
        """`claim`, and record that the run which the folder belonged to is replaced. Raises ConfigError, StoreError."""
        files = list(files)
        self.claim(files)
        stamp = self._stamp()
        names = {**{self._name(file): [0, 0] for file in files}, **stamp["files"]}
        of = stamp.get("fingerprint") or stamp.get("of")
        begun = {"fingerprint": None, "of": of, "configuration": stamp.get("configuration")}
        self._write({**begun, "files": names, "claimed": stamp["claimed"]})

    def keep_other(self, configuration: str) -> Path | None:
        """Move all files of a run of another configuration to a folder below previous/; that folder, None if none are.

        configuration: digest of the keys that the next run's results depend on. Raises StoreError.
        """
        stamp = self._stamp()
        names = sorted({*stamp["files"], *stamp["claimed"]}) if stamp["files"] else []
        is_other = stamp.get("configuration") != configuration
        moved = self._move(stamp, names) if is_other else []
        place = self._place(stamp)
        if moved:
            OutputFolder(place)._write(stamp)
        if is_other:
            self._write({"configuration": configuration, "files": {}, "claimed": stamp["claimed"]})
        return place if moved else None

    def place_of(self, fingerprint: str | None) -> Path:
        """The folder of this run's files, this one or one below previous/; this one if it is unknown."""
        current = self._stamp()
        if fingerprint is None or current.get("fingerprint") == fingerprint:
            return self.path
        place = self._place({"fingerprint": fingerprint})
        is_there = OutputFolder(place).fingerprint == fingerprint
        return place if is_there else self.path

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint of the run that owns the folder; None if no run ended in it."""
        value = self._stamp().get("fingerprint")
        return value if isinstance(value, str) else None

    def move_aside(self, keep: Iterable[Path]) -> list[str]:
        """Move files of earlier runs, except `keep`, to a folder below previous/; return their names.

        Only files that a run is known to have written are touched. Raises StoreError.
        """
        kept = set(map(self._name, keep))
        stamp = self._stamp()
        return self._move(stamp, [name for name in stamp["files"] if name not in kept])

    def _place(self, stamp: Mapping[str, Any]) -> Path:
        """The folder below previous/ for the run of a stamp."""
        run = str(stamp.get("fingerprint") or stamp.get("of") or stamp.get("configuration") or "older")
        # A stamp may have been edited, and its run becomes a path.
        return self.path / PREVIOUS / (run[:8] if RUN.fullmatch(run) else "older")

    def _move(self, stamp: Mapping[str, Any], names: Iterable[str]) -> list[str]:
        """Move files of a stamp's run to its place; return the names of existing ones. Raises StoreError."""
        moved = []
        for name in names:
            if not (self.path / name).is_file():
                continue
            target = self._aside(stamp, name)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(self.path / name, target)
            except OSError as error:
                raise StoreError(
                    f"cannot move {self.path / name} of an earlier run aside: {error.strerror or error}. Fix the "
                    "folder's permissions, or choose another output_dir."
                ) from error
            moved.append(name)
        return moved

    def finish(self, fingerprint: str, written: Iterable[Path], **note: Any) -> None:
        """Stamp the folder with this run, its files, and a note to show when the run is repeated. Raises StoreError."""
        names = sorted({self._name(path) for path in written if path.is_file()})
        claimed = self._stamp()["claimed"]
        self._write({"fingerprint": fingerprint, "files": self._states(names), "claimed": claimed, **note})

    def _aside(self, stamp: Mapping[str, Any], name: str) -> Path:
        """The new place of an earlier run's file. Raises StoreError if a link leads out of the folder."""
        place = self._name(self._place(stamp))
        return inside(self.path, f"{place}/{name}")

    def _name(self, path: Path) -> str:
        return path.relative_to(self.path).as_posix()

    def _stamp(self) -> dict[str, Any]:
        """The stamp of the last run; empty if it is missing or not written by a run.

        A stamp is a file like any other, and may have been edited. It only saves work: without one a run is repeated.
        """
        nothing: dict[str, Any] = {"files": {}, "claimed": []}
        try:
            stamp: dict[str, Any] = convert(read_json(self.path / STAMP), dict[str, Any], STAMP)
            stamp["files"] = convert(stamp.get("files"), dict[str, Any], "files")
            claimed = convert(stamp.get("claimed", []), tuple[str, ...], "claimed")
            stamp["claimed"] = list(claimed)
            # A name such as ../x would have files outside the folder moved.
            for name in (*stamp["files"], *claimed):
                inside(self.path, name)
            for key in ("fingerprint", "of"):
                # It names a folder below previous/.
                run = convert(stamp.get(key), str | None, key)
                if run is not None and not RUN.fullmatch(run):
                    return nothing
        except (OSError, ValueError, ConfigError, StoreError):
            return nothing
        return stamp

    def _write(self, stamp: dict[str, Any]) -> None:
        write_text(self.path / STAMP, json.dumps(stamp, ensure_ascii=False, indent=1))

    def _states(self, names: Iterable[str]) -> dict[str, list[int]]:
        """Size and time of existing files, by name."""
        states = {}
        for name in names:
            path = self.path / name
            if path.is_file():
                status = path.stat()
                states[name] = [status.st_size, status.st_mtime_ns]
        return states


def helping_recipes(files: Sequence[Path]) -> list[Path]:
    """The recipes among these files whose boost helps, and that can score new texts."""
    helping = []
    for path in files:
        if path.parent.name == RECIPES:
            recipe = read_recipe(path)
            if recipe.verdict == HELPS and not recipe.uses_files:
                helping.append(path)
    return helping


def recipes_of(
    results: Iterable[SettingResult], settings: Sequence[Setting], *, date: str
) -> tuple[list[Recipe], list[str]]:
    """A recipe for each boost that an evaluation chose, and a sentence for each metric and explainer that has none.

    Chosen are those in `chosen` of an evaluation's result, each the fields of a recipe; boosts that hurt are left out:
    nobody needs such a recipe. settings: of the sweep, whose parts the recipes are for. date: YYYY-MM-DD.
    A metric that is fitted to each data set is another one for new texts, and has no recipe.
    """
    chosen: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for result in results:
        for evaluated in result.evaluated.values():
            helpful = [boost for boost in getattr(evaluated, "chosen", ()) if boost["verdict"] != HURTS]
            if helpful:
                chosen.setdefault((result.metric, result.explainer), []).extend(helpful)
    by_names: dict[tuple[str, str], list[Setting]] = {}
    for setting in settings:
        by_names.setdefault((setting.metric_name, setting.explainer_name), []).append(setting)
    recipes: list[Recipe] = []
    refused: list[str] = []
    for names, boosts in sorted(chosen.items()):
        try:
            parts = _parts(by_names[names])
        except BmxError as error:
            refused.append(f"no recipe for {names[0]} x {names[1]}: {error}")
            continue
        for boost in boosts:
            name = file_stem(*names, boost["boost_name"], separator="-")
            recipes.append(Recipe(**boost, name=name, date=date, **parts).add_signature())
    return recipes, refused


def _parts(settings: Sequence[Setting]) -> dict[str, Any]:
    """The metric and the explainer that these settings share, and the seed where something is random."""
    first = settings[0]
    if first.explainer is None:
        raise ConfigError("the metric has no explainer.")
    if not first.words.plain:
        raise ConfigError(f"it was chosen with words={first.words.name}, but `score` splits words at spaces only.")
    if any(setting.metric.recipe_fingerprint() != first.metric.recipe_fingerprint() for setting in settings):
        raise ConfigError(
            "the metric differs between its data sets and language pairs (it is fitted to them, or its prompt names "
            "the languages), so its recipe does not apply to new texts."
        )
    return {
        "metric": Identity.from_part("metric", first.metric_name, first.metric, first.metric.signature),
        "explainer": Identity.from_part("explainer", first.explainer_name, first.explainer, first.explainer.signature),
        "seed": first.seed if first.explainer.stochastic else None,
    }
