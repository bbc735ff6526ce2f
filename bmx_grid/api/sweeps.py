"""A sweep from a notebook or another program, and its results as DataFrames."""

from __future__ import annotations

import functools
import io
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bmx_grid.api.inputs import FACTORS, PARTS, Function, chosen_setting, drawn, keyed, override_value, parts_of, path
from bmx_grid.core.errors import BmxError, ConfigError, DataError, DataMissingError, unknown
from bmx_grid.core.terminal import plain_warnings
from bmx_grid.core.wording import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from bmx_grid.analysis.base import Table
    from bmx_grid.analysis.questions import Analysis
    from bmx_grid.api.notebook import Words
    from bmx_grid.measures.correlation import Kind

PICTURES = ("curves", "heat")
SETTINGS = "settings.csv"
Picture = Literal["curves", "heat"]


def run(
    sweep: str | None = None,
    *overrides: str,
    settings: Mapping[str, Any] | None = None,
    config_dir: str | Path | None = None,
    quiet: bool = False,
    **keys: Any,
) -> Run:
    """Run a sweep, exactly as `python -m bmx_grid +sweep=NAME KEY=VALUE …` does, and open what it wrote.

    >>> import bmx_grid as bmx
    >>> run = bmx.run("quickstart", metric=["chrf"], explainer=["erasure"], limit=5, tracking="none", quiet=True)
    >>> run.settings[["metric", "explainer", "n_used"]].drop_duplicates()
      metric explainer  n_used
    0   chrf   erasure       5

    sweep: a name of configs/sweep; without one the sweep is defined by the keys. overrides: further ones as the command
        line takes them ("+grid.fixed.lime.w=0.5"). keys: groups and keys at the top of the configuration, as in
        metric=["chrf"], explainer=[], limit=50, data_dir="DIR", output_dir="DIR"; metrics and explainers may be
        objects and functions, as in `grid`. settings: keys with dots, as in {"explainer.lime.num_samples": 500}.
    config_dir: a folder of options of your own, config_dir/metric/mine.yaml for metric=["mine"].
    quiet: without the summary on standard output.
    Raises BmxError for every mistake, before anything runs. Settings that fail do not raise: `Run.n_failed` counts
    them, and the summary says why.
    """
    return swept({**keys, **keyed("settings", settings)}, sweep, overrides, config_dir, quiet=quiet)


def swept(
    keys: Mapping[str, Any],
    sweep: str | None = None,
    overrides: Sequence[str] = (),
    config_dir: str | Path | None = None,
    *,
    quiet: bool,
    temporary: bool = False,
) -> Run:
    """The run of the sweep that these keys configure, in which metrics, explainers and data sets may be objects.

    temporary: into a folder that lives as long as the Run, with tables only: a page takes twice as long as the rest.
    Raises as `run`.
    """
    from bmx_grid.commands.compose import composed
    from bmx_grid.commands.sweep import run_sweep

    values, objects = dict(keys), {}
    for group in PARTS:
        if group in values:
            parts = {} if values[group] is None and group == "explainer" else parts_of(group, values[group])
            values[group] = [name for name, part in parts.items() if part is None]
            objects[group] = {name: part for name, part in parts.items() if part is not None}
    by_function = any(isinstance(part, Function) for part in objects.get("metric", {}).values())
    folder = tempfile.TemporaryDirectory(prefix="bmx_grid-") if temporary or by_function else None
    if folder is not None and temporary:
        values = {"analysis": False, **values, "output_dir": f"{folder.name}/out"}
    if folder is not None and by_function:
        values = {"executor": "sequential", **values, "cache_dir": f"{folder.name}/cache"}
    lines = [f"{key}={override_value(value)}" for key, value in values.items()]
    config = composed([*([] if sweep is None else [f"+sweep={override_value(sweep)}"]), *lines, *overrides], config_dir)
    for group, named in objects.items():
        config[group] = {**(config.get(group) or {}), **named}
    if config["dry_run"]:
        raise ConfigError("dry_run: a plan has no tables; see it with python -m bmx_grid … dry_run=true.")
    with redirect_stdout(io.StringIO()) if quiet else nullcontext(), plain_warnings():
        ended = run_sweep(config)
    if not ended.n_done:
        reasons = "; ".join(f"{refused.label}: {refused.reason}" for refused in ended.failed[:3])
        more = len(ended.failed) - 3
        raise DataError(f"no setting could be run: {reasons}{f'; and {more} more' if more > 0 else ''}")
    return Run(Path(config["output_dir"]), ended.n_failed, folder, config)


@dataclass(frozen=True, eq=False)
class Run:
    """The results of a sweep: the tables of its folder as DataFrames, figures, and the analysis.

    >>> import bmx_grid as bmx
    >>> run = bmx.Run("outputs/quickstart")  # doctest: +SKIP
    >>> print(run.summary())  # doctest: +SKIP
    >>> run.table("verdicts"), run.plot("de-en")  # doctest: +SKIP

    folder: its output folder. n_failed: settings or parts that failed when it was run here.
    """

    folder: Path
    n_failed: int = 0
    _temporary: tempfile.TemporaryDirectory[str] | None = field(default=None, repr=False)
    _config: Mapping[str, Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", path("folder", self.folder))
        if not self.folder.is_dir():
            raise DataMissingError(f"there is no folder {self.folder}; give the output folder of a sweep.")

    @property
    def names(self) -> tuple[str, ...]:
        """The tables that the run wrote, sorted by name."""
        return tuple(sorted(self._tables()))

    def table(self, name: str) -> pd.DataFrame:
        """A table by its name, one of `names`.

        Raises DataMissingError for a table that the run did not write, DataError for a damaged file.
        """
        from bmx_grid.analysis.load import read_frame

        tables = self._tables()
        if name not in tables:
            raise DataMissingError(
                f"{self.folder}: {unknown('table', name, tables)} Each evaluation writes its own; name it in "
                "evaluation, and run the sweep again."
            )
        if name != "settings":
            return read_frame(tables[name])
        import pandas as pd

        return pd.read_csv(tables[name])

    def _tables(self) -> dict[str, Path]:
        """Name -> file."""
        files = [*self.folder.glob("*.parquet"), *self.folder.glob("tables/*.parquet"), *self.folder.glob(SETTINGS)]
        return {file.stem: file for file in files}

    @property
    def settings(self) -> pd.DataFrame:
        """One row per setting with a grid: correlation of the metric alone, best point, gain, and their basis."""
        return self.table("settings")

    @property
    def grid(self) -> pd.DataFrame:
        """Every correlation: side, w, p, correlation of each setting."""
        return self.table("grid")

    @property
    def scores(self) -> pd.DataFrame:
        """One row per segment and setting: human score, score of the metric alone and at each declared point."""
        return self.table("scores")

    @property
    def correlations(self) -> pd.DataFrame:
        """Correlation with human judgements at segment and system level, with intervals."""
        return self.table("correlations")

    @property
    def tests(self) -> pd.DataFrame:
        """Every comparison with difference, interval, p and adjusted p."""
        return self.table("tests")

    @property
    def verdicts(self) -> pd.DataFrame:
        """The verdict on each metric and explainer."""
        return self.table("verdicts")

    @functools.cached_property
    def analysis(self) -> Analysis:
        """The analysis of the grid; `analysis.data_frames()` has each of its tables."""
        from bmx_grid.analysis.load import frames_beside, load_table
        from bmx_grid.analysis.questions import analyse

        table = load_table(self.folder)
        return analyse(table, frames=frames_beside(table))

    def plot(
        self,
        language_pair: str | None = None,
        metric: str | None = None,
        explainer: str | None = None,
        dataset: str | None = None,
        *,
        kind: Picture = "curves",
    ) -> Figure:
        """The grid of one setting: "curves", correlation over p with a line per w, or "heat", the p x w plane.

        A matplotlib figure, `.axes` and all; a notebook shows it. Names may be left out where they leave no choice.
        Raises ConfigError for an unknown name, and where several settings fit.
        """
        from bmx_grid.api.notebook import in_notebook
        from bmx_grid.report.figures.canvas import style
        from bmx_grid.report.figures.grid import correlation_over_p, curves_of_row, heat_map

        if kind not in PICTURES:
            raise ConfigError("kind: " + unknown("kind", kind, PICTURES))
        names = (dataset, language_pair, metric, explainer)
        row = chosen_setting(self.analysis.table.settings, names, "plot")
        curves = curves_of_row(self.analysis, row)
        with style():
            return in_notebook(correlation_over_p(curves) if kind == "curves" else heat_map(curves))

    def words(
        self,
        language_pair: str | None = None,
        metric: str | None = None,
        explainer: str | None = None,
        dataset: str | None = None,
        *,
        ids: Sequence[str] | None = None,
    ) -> Words:
        """The attribution of each word, in one setting: `frame` has a row per word, a notebook shows coloured words.

        ids: of segments; all without. The attributions are those in the cache of the sweep: DataMissingError says if
        they, or the sweep's data, are gone. Names as for `plot`.
        """
        from bmx_grid.api.notebook import words_of

        return words_of(self.folder, self._config, (dataset, language_pair, metric, explainer), ids)

    def summary(self) -> str:
        """The answer first, a line per metric and explainer; then a table of the settings, or of the metrics alone."""
        from bmx_grid.report.table import as_text

        lines, table = self._answer()
        return "\n".join([*lines, *([] if table is None else ["", as_text(table)])]).strip()

    def __repr__(self) -> str:
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        where = "temporary" if self._is_temporary() else repr(str(self.folder))
        return f"Run({where}: {counted(len(self.names), 'table')}{failed})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the answer, and the gain of every setting; of metrics alone, correlations."""
        from bmx_grid.api.notebook import paragraphs, table_html

        try:
            lines, table = self._answer()
        except BmxError as error:
            lines, table = [str(error)], None
        names = f"Tables: {', '.join(self.names) or 'none'}."
        where = [] if self._is_temporary() else [f"{self.folder}."]
        return paragraphs(*lines) + ("" if table is None else table_html(table)) + paragraphs(" ".join([*where, names]))

    def _is_temporary(self) -> bool:
        return self._temporary is not None and self.folder.is_relative_to(self._temporary.name)

    def _answer(self) -> tuple[Sequence[str], Table | None]:
        from bmx_grid.analysis.gains import PUBLISHED, declared_points
        from bmx_grid.analysis.headline import answer
        from bmx_grid.api.notebook import table_of

        lines = [f"{counted(self.n_failed, 'failure')}."] if self.n_failed else []
        ends = {name: (name, "+.4f") for name in ("low", "high")}
        if "grid" in self.names:
            frame = self.settings
            tested = declared_points(self.analysis.frames)
            tested = tested[tested["point"] == PUBLISHED][[*FACTORS, *ends]]
            frame = frame.merge(tested, on=list(FACTORS), how="left")
            columns = {"n_used": ("segments", ""), "baseline": ("metric alone", ".4f")}
            if frame["fixed_gain"].notna().any():
                columns |= {"fixed_gain": ("gain", "+.4f"), **ends}
            columns |= {"gain": ("gain of the best point (in-sample)", "+.4f")}
            return [*answer(self.analysis), *lines], table_of(frame, "Settings", varied(frame, FACTORS), columns)
        if "correlations" in self.names:
            frame = self.correlations
            names = varied(frame, (*FACTORS[:3], "level", "grouping", "statistic"))
            columns = {name: (name, ".4f") for name in ("value", "low", "high")}
            return lines, table_of(frame, "Correlation with human judgements", names, columns)
        return lines, None


def varied(frame: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """The columns that hold several values, or the last of them where none does."""
    return [name for name in names if frame[name].nunique() > 1] or list(names[-1:])


def analyse(
    runs: Sequence[Run | str | Path], *, correlation: Kind = "pearson", resamples: int = 1000, seed: int = 0
) -> pd.DataFrame:
    """Finished sweeps in comparison: per setting and point the gains of both, and their difference.

    >>> import bmx_grid as bmx
    >>> bmx.analyse(["outputs/one", "outputs/other"])  # doctest: +SKIP

    runs: two or more, each a `Run` or an output folder. Columns low and high: the 95 % interval of the difference, on
    the segments of both, by a bootstrap of clusters. Raises as `analysis.side_by_side.side_by_side`.
    """
    from bmx_grid.analysis.side_by_side import side_by_side

    count, seed = drawn(resamples, seed, 1)
    if isinstance(runs, Run | str | Path) or not isinstance(runs, Sequence) or len(runs) < 2:
        raise ConfigError("runs: give two or more finished sweeps, or their folders, as a list: analyse([one, other]).")
    folders = [item.folder if isinstance(item, Run) else path("runs", item) for item in runs]
    return side_by_side(folders, correlation=correlation, resamples=count, seed=seed).frame
