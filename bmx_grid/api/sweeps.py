"""A sweep from a notebook or another program."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.api.inputs import Function, drawn, keyed, one_name, parts_of, path, plain_value
from bmx_grid.api.kinds import PANDAS, FrameKind
from bmx_grid.api.run_results import Run, TemporaryFolder
from bmx_grid.core.configure import convert, folder_path, groups, options
from bmx_grid.core.errors import ConfigError, DataError, DataMissingError, shown
from bmx_grid.core.terminal import plain_warnings
from bmx_grid.core.wording import named, option_named

if TYPE_CHECKING:
    from types import EllipsisType

    import pandas as pd

    from bmx_grid.attribution.scorer import Scorer
    from bmx_grid.explainers.base import Explainer
    from bmx_grid.measures.correlation import Kind
    from bmx_grid.metrics.base import Metric
    from bmx_grid.sweep.settings import NotRun

    AMetric = str | Metric | Scorer | Callable[..., Any]
    AnExplainer = str | Explainer

GROUPS_OF_OBJECTS = ("dataset", "metric", "explainer")  # groups whose options may be objects


def run(
    sweep: str | None = None,
    *overrides: str,
    metric: AMetric | Sequence[AMetric] | Mapping[str, AMetric] | EllipsisType = ...,
    explainer: AnExplainer | Sequence[AnExplainer] | Mapping[str, AnExplainer] | EllipsisType | None = ...,
    limit: int | EllipsisType | None = ...,
    output_dir: str | Path | EllipsisType = ...,
    settings: Mapping[str, Any] | None = None,
    config_dir: str | Path | None = None,
    quiet: bool = False,
    **keys: Any,
) -> Run:
    """Run a sweep, exactly as `python -m bmx_grid +sweep=NAME KEY=VALUE …` does, and open what it wrote.

    >>> import bmx_grid as bmx
    >>> small = {"metric": ["chrf"], "explainer": ["erasure"], "limit": 5, "analysis": False, "tracking": "none"}
    >>> run = bmx.run("quickstart", quiet=True, **small)
    >>> run.settings[["metric", "explainer", "n_used"]].drop_duplicates()
      metric explainer  n_used
    0   chrf   erasure       5

    sweep: a name of configs/sweep; without one the sweep is defined by the keys. overrides: further ones as the command
        line takes them ("grid.fixed.lime.w=0.5"). What is left out (...) is as in the sweep.
    metric, explainer: names, objects and functions, one or several, as in `grid`; without explainers ([] or None) the
        metrics alone. limit: segments per language pair, None for all. output_dir: the folder that is written to.
    keys: further groups and keys at the top of the configuration, as in dataset=["wmt17"], data_dir="DIR", seed=1.
        settings: keys with dots, as in {"explainer.lime.num_samples": 500}.
    config_dir: a folder of options of your own, config_dir/metric/mine.yaml for metric=["mine"].
    quiet: without the summary on standard output.
    Raises BmxError for every mistake, before anything runs. Settings that fail do not raise: `Run.n_failed` counts
    them, and the summary says why.
    """
    for override in overrides:
        if not isinstance(override, str):
            raise ConfigError(
                f"overrides: expected texts such as 'limit=3', got {shown(override)}; write keys as arguments, as "
                "run('quickstart', limit=3), and keys with dots in settings={'KEY.KEY': VALUE}."
            )
    named_here = {"metric": metric, "explainer": explainer, "limit": limit, "output_dir": output_dir}
    given = {name: value for name, value in named_here.items() if value is not ...}
    values = {**given, **keys, **keyed("settings", settings)}
    folder = None if config_dir is None else path("config_dir", config_dir)
    return swept(values, one_name("sweep", sweep), overrides, folder, quiet=quiet)


def swept(
    keys: Mapping[str, Any],
    sweep: str | None = None,
    overrides: Sequence[str] = (),
    config_dir: str | Path | None = None,
    *,
    quiet: bool,
    temporary: bool = False,
    kind: FrameKind = PANDAS,
) -> Run:
    """The run of the sweep that these keys configure, in which metrics, explainers and data sets may be objects.

    temporary: into a folder that lives as long as the Run, with tables only: a page takes twice as long as the rest.
    kind: of the frames that the Run gives.
    Raises as `run`.
    """
    from bmx_grid.api.compose import composed
    from bmx_grid.api.sweep import run_sweep

    quiet = convert(plain_value(quiet), bool, "quiet")
    values = dict(keys)
    objects = {}
    for group in GROUPS_OF_OBJECTS:
        if group in values:
            values[group], objects[group] = _names_and_objects(group, values[group])
    metrics = objects.get("metric", {})
    by_function = any(isinstance(part, Function) for part in metrics.values())
    folder = TemporaryFolder() if temporary or by_function else None
    if folder is not None and temporary:
        values = {"analysis": False, **values, "output_dir": f"{folder.name}/out"}
    if folder is not None and by_function:
        # A function runs in this process, and nobody knows when its scores change.
        values = {"executor": "sequential", **values, "cache_dir": f"{folder.name}/cache"}
    lines = []
    for group in groups():
        if group in values:
            lines.append(_override(group, values.pop(group)))
    if sweep is not None:
        lines.append(f"sweep={sweep}")
    other_keys = {key: plain_value(value) for key, value in values.items()}
    config = composed([*lines, *overrides], config_dir, other_keys)
    for group, parts in objects.items():
        config[group] = {**(config.get(group) or {}), **parts}
    if config["dry_run"]:
        raise ConfigError("dry_run: a plan has no tables; see it with python -m bmx_grid … dry_run=true.")
    with redirect_stdout(io.StringIO()) if quiet else nullcontext(), plain_warnings():
        ended = run_sweep(config)
        if quiet and ended.moved:
            warnings.warn(ended.moved, stacklevel=2)
    if not ended.n_done:
        reasons = [f"{refused.label}: {refused.reason}" for refused in ended.failed]
        raise DataError(f"no setting could be run: {named(reasons, separator='; ')}") from _cause(ended.failed)
    return Run(folder_path(config["output_dir"], "output_dir"), ended.n_failed, folder, config, kind)


def _cause(failed: Sequence[NotRun]) -> BaseException | None:
    """The first exception of somebody's code that a part failed with; None if none did."""
    for refused in failed:
        if refused.error is not None and refused.error.details:
            # From another process the exception itself does not come back, but its message.
            return refused.error.__cause__ or refused.error
    return None


def _names_and_objects(group: str, value: Any) -> tuple[list[str], dict[str, Any]]:
    """The names of options among the parts that are given for a group, and the other parts by name."""
    # Of explainers there may be none: metrics alone.
    if value is None and group == "explainer":
        return [], {}
    parts = parts_of(group, value)
    # As papers write them, names may have signs that an override may not.
    names = [option_named(name, options(group)) for name, part in parts.items() if part is None]
    return names, {name: part for name, part in parts.items() if part is not None}


def _override(group: str, chosen: Any) -> str:
    """The override that chooses options of a group."""
    if isinstance(chosen, list):
        names = ",".join(map(str, chosen))
        return f"{group}=[{names}]"
    return f"{group}={chosen}"


def analyse(
    runs: Sequence[Run | str | Path], *, correlation: Kind | None = None, resamples: int = 1000, seed: int = 0
) -> pd.DataFrame:
    """Finished sweeps in comparison: per setting and point the gains of both, and their difference.

    >>> import bmx_grid as bmx
    >>> bmx.analyse(["outputs/one", "outputs/other"])  # doctest: +SKIP

    runs: two or more, each a `Run` or an output folder. correlation: None for that of the sweeps, which must be one;
    the column of this name says which. Columns low and high: the 95 % interval of the difference, on
    the segments of both, by a bootstrap of clusters. Raises as `analysis.side_by_side.side_by_side`.
    """
    from bmx_grid.analysis.side_by_side import side_by_side

    resamples, seed = drawn(resamples, seed, 1)
    one_name("correlation", correlation)
    # A text is a sequence, too: one folder.
    is_list = isinstance(runs, Sequence) and not isinstance(runs, str)
    if not is_list or len(runs) < 2:
        raise ConfigError("runs: give two or more finished sweeps, or their folders, as a list: analyse([one, other]).")
    folders = []
    for finished in runs:
        if isinstance(finished, Run):
            folders.append(finished.place)
        else:
            folders.append(path("runs", finished))
    return side_by_side(folders, correlation=correlation, resamples=resamples, seed=seed)


def runs(folder: str | Path) -> pd.DataFrame:
    """Read the settings of all finished sweeps below a folder into one frame.

    Args:
        folder: a folder that holds output folders of sweeps, at any depth.

    Returns:
        One row per setting that has a grid, with the columns of `Run.settings` and before them `sweep`, the output
        folder relative to `folder`. Results that a later run moved to `previous/` are left out.

    Raises:
        DataMissingError: the folder does not exist, or no sweep below it has settings.
        DataError: a table is damaged.

    Example:
        >>> import bmx_grid as bmx
        >>> bmx.runs("outputs").groupby("sweep")["gain"].max()  # doctest: +SKIP
    """
    import pandas as pd

    from bmx_grid.sweep.folder import CONFIG, PREVIOUS

    place = path("folder", folder)
    if not place.is_dir():
        raise DataMissingError(f"there is no folder {place}; give a folder that holds output folders of sweeps.")
    frames = []
    for config in sorted(place.rglob(CONFIG)):
        output = config.parent
        relative = output.relative_to(place)
        finished = Run(output)
        if PREVIOUS not in relative.parts and "settings" in finished.names:
            settings = finished.table("settings")
            settings.insert(0, "sweep", relative.as_posix())
            frames.append(settings)
    if not frames:
        raise DataMissingError(f"{place}: no sweep below it has a table of settings; give another folder.")
    together: pd.DataFrame = pd.concat(frames, ignore_index=True)
    return together
