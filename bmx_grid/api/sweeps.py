"""A sweep from a notebook or another program."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.api.inputs import Function, as_dict, check_resampling, one_name, parts_of, path, plain_value
from bmx_grid.api.kinds import PANDAS, FrameKind
from bmx_grid.api.run_results import Run, TemporaryFolder
from bmx_grid.core.configure import convert, folder_path, groups, options
from bmx_grid.core.errors import ConfigError, DataError, DataMissingError, quote_value
from bmx_grid.core.terminal import plain_warnings
from bmx_grid.core.wording import find_option, join_names

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

MLFLOW_RUN = re.compile(r"\b[0-9a-f]{32}/artifacts$")  # the folder of a run, in every store
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
    """Run a sweep and return its results.

    Does the same as `bmx-grid +sweep=NAME KEY=VALUE ...` and shares its cache. Keys that you leave out keep the values
    of the sweep.

    Args:
        sweep: Name of a sweep in `configs/sweep`. Without a name, the keys define the sweep.
        *overrides: Further overrides in command-line syntax, such as `"grid.fixed.lime.w=0.5"`.
        metric: Name, object or function, a list, or a dictionary by name, as in `grid`.
        explainer: Name or object, a list, or a dictionary by name. `[]` or `None` runs the metrics
            without explainers.
        limit: Number of sources per language pair; `None` for all.
        output_dir: Folder for the results.
        settings: Dictionary of keys that contain dots, such as `{"explainer.lime.num_samples": 500}`.
        config_dir: Folder with options of your own: `config_dir/metric/mine.yaml` provides `metric=["mine"]`.
        quiet: If true, print no summary.
        **keys: Further groups and top-level keys, such as `dataset=["wmt17"]`, `data_dir="DIR"`, `seed=1`.

    Returns:
        Run: The finished sweep. `Run.settings` has one row per data set, language pair, metric and explainer.
            `Run.n_failed` counts failed settings; they do not raise an error if another setting succeeds.

    Raises:
        ConfigError: An argument, key or name is invalid.
        DataError: No setting could run. The message lists the reasons.

    Example:
        >>> import bmx_grid as bmx
        >>> small = {"metric": ["chrf"], "explainer": ["erasure"], "limit": 5, "analysis": False, "tracking": "none"}
        >>> run = bmx.run("quickstart", quiet=True, **small)
        >>> run.settings[["metric", "explainer", "n_used"]].drop_duplicates()
          metric explainer  n_used
        0   chrf   erasure       5
    """
    for override in overrides:
        if not isinstance(override, str):
            raise ConfigError(
                f"overrides: expected texts such as 'limit=3', got {quote_value(override)}; write keys as arguments, "
                "as run('quickstart', limit=3), and keys with dots in settings={'KEY.KEY': VALUE}."
            )
    named_here = {"metric": metric, "explainer": explainer, "limit": limit, "output_dir": output_dir}
    given = {name: value for name, value in named_here.items() if value is not ...}
    values = {**given, **keys, **as_dict("settings", settings)}
    folder = None if config_dir is None else path("config_dir", config_dir)
    return run_keys(values, one_name("sweep", sweep), overrides, folder, quiet=quiet)


def run_keys(
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
    from bmx_grid.api.compose import compose_config
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
    config = compose_config([*lines, *overrides], config_dir, other_keys)
    for group, parts in objects.items():
        config[group] = {**(config.get(group) or {}), **parts}
    if config["dry_run"]:
        raise ConfigError("bmx.run does not support dry_run. Run `bmx-grid run … dry_run=true` in a terminal.")
    with redirect_stdout(io.StringIO()) if quiet else nullcontext(), plain_warnings():
        ended = run_sweep(config)
        if quiet and ended.moved:
            warnings.warn(ended.moved, stacklevel=2)
    if not ended.n_done:
        reasons = [f"{refused.label}: {refused.reason}" for refused in ended.failed]
        raise DataError(f"no setting could be run: {join_names(reasons, separator='; ')}") from _cause(ended.failed)
    return Run(folder_path(config["output_dir"], "output_dir"), ended.n_failed, folder, config, kind)


def _cause(failed: Sequence[NotRun]) -> BaseException | None:
    """The first exception of somebody's code that a part failed with; None if none did."""
    for refused in failed:
        if refused.error is not None and refused.error.details:
            # From another process the exception itself does not come back, but its message.
            return refused.error.__cause__ or refused.error
    return None


def _names_and_objects(group: str, value: Any) -> tuple[list[str], dict[str, Any]]:
    """The names of options in an argument for a group, and its other parts by name."""
    # Of explainers there may be none: metrics without an explainer.
    if value is None and group == "explainer":
        return [], {}
    parts = parts_of(group, value)
    # As papers write them, names may have signs that an override may not.
    names = [find_option(name, options(group)) for name, part in parts.items() if part is None]
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
    """Compare the gains of finished sweeps.

    Args:
        runs: Two or more sweeps, each a `Run` or an output folder.
        correlation: `"pearson"`, `"spearman"` or `"kendall"`. Default: the correlation of the sweeps.
        resamples: Number of bootstrap resamples of clusters.
        seed: Seed of the resampling.

    Returns:
        DataFrame: One row per setting and point that two sweeps share. `difference` is the gain of b minus the gain of
            a on the segments that both rated and scored; `low` and `high` are its 95 % interval.

    Raises:
        ConfigError: Fewer than two sweeps, the same sweep twice, or sweeps with different correlations.
        DataMissingError: A folder does not exist, or has no `scores.parquet`.
        DataError: A segment has different human scores in two sweeps, or no setting is in two sweeps.

    Example:
        >>> import bmx_grid as bmx
        >>> small = {"metric": ["chrf"], "explainer": "erasure", "evaluation": ["grid"], "limit": 5, "analysis": False}
        >>> small |= {"tracking": "none", "quiet": True}
        >>> cased = bmx.run("quickstart", output_dir="cased", **small)
        >>> lower = bmx.run("quickstart", output_dir="lower", settings={"metric.chrf.lowercase": True}, **small)
        >>> frame = bmx.analyse([cased, lower], resamples=100)
        >>> frame[["run_a", "run_b", "language_pair"]].drop_duplicates().head(2).to_dict("list")
        {'run_a': ['cased', 'cased'], 'run_b': ['lower', 'lower'], 'language_pair': ['de-en', 'en-de']}
    """
    from bmx_grid.analysis.side_by_side import compare_sweeps

    resamples, seed = check_resampling(resamples, seed, 1)
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
    return compare_sweeps(folders, correlation=correlation, resamples=resamples, seed=seed)


def runs(folder: str | Path) -> pd.DataFrame:
    """Read the settings of all finished sweeps below a folder into one frame.

    Args:
        folder: Folder that holds output folders of sweeps, at any depth.

    Returns:
        DataFrame: One row per setting with a grid: `sweep`, the output folder relative to `folder`, and the columns of
            `Run.settings`. Results in a folder `previous`, and copies among MLflow's artifacts, do not count.

    Raises:
        DataMissingError: The folder does not exist, or no sweep below it has settings.
        DataError: A table is damaged.

    Example:
        >>> import bmx_grid as bmx
        >>> small = {"explainer": "erasure", "evaluation": ["grid"], "limit": 5, "analysis": False, "tracking": "none"}
        >>> for metric in ("chrf", "sentence_bleu"):
        ...     run = bmx.run("quickstart", metric=metric, output_dir=f"outputs/both/{metric}", quiet=True, **small)
        >>> bmx.runs("outputs/both")["sweep"].unique().tolist()
        ['chrf', 'sentence_bleu']
    """
    import pandas as pd

    from bmx_grid.sweep.folder import CONFIG, PREVIOUS

    place = path("folder", folder)
    if not place.is_dir():
        raise DataMissingError(f"folder not found: {place}; give a folder that holds output folders of sweeps.")
    frames = []
    for config in sorted(place.rglob(CONFIG)):
        output = config.parent
        relative = output.relative_to(place)
        is_copy = MLFLOW_RUN.search(output.as_posix()) is not None
        finished = Run(output)
        if PREVIOUS not in relative.parts and not is_copy and "settings" in finished.names:
            settings = finished.table("settings")
            settings.insert(0, "sweep", relative.as_posix())
            frames.append(settings)
    if not frames:
        raise DataMissingError(f"{place}: no sweep below it has a table of settings; give another folder.")
    together: pd.DataFrame = pd.concat(frames, ignore_index=True)
    return together
