"""A sweep from a notebook or another program, and what it found as DataFrames."""

from __future__ import annotations

import functools
import io
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.api.given import drawn, keyed, path
from bmx_grid.api.overrides import override_value, place
from bmx_grid.errors import BmxError, ConfigError, DataError, DataMissingError, unknown
from bmx_grid.terminal import plain_warnings
from bmx_grid.wording import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from bmx_grid.analysis.run import Analysis
    from bmx_grid.api.plots import Picture
    from bmx_grid.api.words import Words
    from bmx_grid.measures.correlation import Kind

WRITES = {  # table -> the evaluation that writes it
    "grid": "grid",
    "correlations": "levels",
    "systems": "levels",
    "tests": "significance",
    "selection": "significance",
    "ranking": "significance",
    "verdicts": "boosts",
    "boosts": "boosts",
}


def run(
    sweep: str | None = None,
    *overrides: str,
    settings: Mapping[str, Any] | None = None,
    config_dir: str | Path | None = None,
    quiet: bool = False,
    **keys: Any,
) -> Run:
    """Run a sweep, exactly as `python -m bmx_grid +sweep=NAME KEY=VALUE …` does, and open what it wrote.

    >>> found = run("quickstart", metric=["chrf"], limit=5, quiet=True)  # doctest: +SKIP
    >>> found.settings[["language_pair", "baseline", "gain"]]  # doctest: +SKIP

    sweep: a name of configs/sweep; without one the sweep is what the keys say. overrides: further ones as the command
        line takes them ("+grid.fixed.lime.w=0.5"). keys: groups and keys at the top of the configuration, as in
        metric=["chrf"], explainer=[], limit=50, data_dir="DIR", output_dir="DIR". settings: keys with dots, as in
        {"explainer.lime.num_samples": 500}.
    config_dir: a folder of options of your own, config_dir/metric/mine.yaml for metric=["mine"].
    quiet: without the summary on standard output.
    Raises BmxError for every mistake, before anything runs. Settings that fail do not raise: `Run.n_failed` counts
    them, and the summary says why.
    """
    from bmx_grid.commands.compose import composed
    from bmx_grid.commands.sweep import run_sweep

    named = [] if sweep is None else [f"+sweep={override_value(sweep)}"]
    given = {**keys, **keyed("settings", settings)}
    mappings = {key: value for key, value in given.items() if isinstance(value, Mapping)}
    plain = [f"{key}={override_value(value)}" for key, value in given.items() if key not in mappings]
    config = composed([*named, *plain, *overrides], config_dir)
    for key, value in mappings.items():
        place(config, key, value)
    if config["dry_run"]:
        raise ConfigError("dry_run: a plan has no tables; see it with python -m bmx_grid … dry_run=true.")
    with redirect_stdout(io.StringIO()) if quiet else nullcontext(), plain_warnings():
        ended = run_sweep(config)
    if not ended.n_done:
        reasons = "; ".join(f"{one.label}: {one.reason}" for one in ended.failed[:3])
        more = len(ended.failed) - 3
        raise DataError(f"no setting could be run: {reasons}{f'; and {more} more' if more > 0 else ''}")
    return Run(Path(config["output_dir"]), ended.n_failed)


@dataclass(frozen=True, eq=False)
class Run:
    """What a sweep wrote: the tables of its folder as DataFrames, figures, and the analysis.

    folder: its output folder; a finished sweep is opened by `Run("outputs/wmt17")`. n_failed: settings or parts that
    failed when it was run here.
    """

    folder: Path
    n_failed: int = 0
    _keeps: object = field(default=None, repr=False)  # a temporary folder, which goes when nobody needs it

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", path("folder", self.folder))
        if not self.folder.is_dir():
            raise DataMissingError(f"there is no folder {self.folder}; give the output folder of a sweep.")

    @property
    def names(self) -> tuple[str, ...]:
        """The tables that there are."""
        return tuple(sorted(path.stem for path in (self.folder / "tables").glob("*.parquet")))

    def table(self, name: str) -> pd.DataFrame:
        """A table by its name: NAME.parquet of the folder.

        Raises DataMissingError where the sweep wrote none, DataError for a damaged file.
        """
        from bmx_grid.analysis.frames import read_frame

        path = self.folder / "tables" / f"{name}.parquet"
        if not path.is_file():
            if name not in WRITES:
                raise DataMissingError(f"{self.folder}: " + unknown("table", name, self.names))
            raise DataMissingError(
                f"{self.folder} has no {name}.parquet: add {WRITES[name]} to evaluation, and run the sweep again."
            )
        return read_frame(path)

    @property
    def settings(self) -> pd.DataFrame:
        """One row per setting with a grid: correlation of the metric alone, best point, gain, and what it rests on."""
        import pandas as pd

        path = self.folder / "settings.csv"
        if not path.is_file():
            raise DataMissingError(f"{self.folder} has no settings.csv: its settings have no explainer, or all failed.")
        return pd.read_csv(path)

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
        """Agreement with people at segment and system level, with intervals."""
        return self.table("correlations")

    @property
    def systems(self) -> pd.DataFrame:
        """Scores of whole systems."""
        return self.table("systems")

    @property
    def tests(self) -> pd.DataFrame:
        """Every comparison with difference, interval, p and adjusted p."""
        return self.table("tests")

    @property
    def verdicts(self) -> pd.DataFrame:
        """What is established for each metric and explainer."""
        return self.table("verdicts")

    @functools.cached_property
    def analysis(self) -> Analysis:
        """The analysis of the grid; `analysis.data_frames()` has each of its tables."""
        from bmx_grid.analysis.frames import frames_beside
        from bmx_grid.analysis.load import load_table
        from bmx_grid.analysis.run import analyse

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
        Raises ConfigError for a name that there is not, and where several settings fit.
        """
        from bmx_grid.api.plots import drawn

        return drawn(self.analysis, (dataset, language_pair, metric, explainer), kind)

    def words(
        self,
        language_pair: str | None = None,
        metric: str | None = None,
        explainer: str | None = None,
        dataset: str | None = None,
        *,
        ids: Sequence[str] | None = None,
    ) -> Words:
        """What each word contributes, in one setting: `frame` has a row per word, a notebook shows coloured words.

        ids: of segments; all without. The attributions are those in the cache of the sweep: DataMissingError says where
        they, or the sweep's data, are gone. Names as for `plot`.
        """
        from bmx_grid.api.words import words_of

        return words_of(self.folder, (dataset, language_pair, metric, explainer), ids)

    def __repr__(self) -> str:
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        return f"Run({str(self.folder)!r}{failed}: {', '.join(self.names) or 'no tables'})"

    def _repr_html_(self) -> str:
        """What a notebook shows: what is established, and the gain of every setting; of metrics alone, correlations."""
        from bmx_grid.api.shown import paragraphs, table_html

        failed = f", {counted(self.n_failed, 'failure')}" if self.n_failed else ""
        head = f"Tables: {', '.join(self.names) or 'none'}{failed}."
        if self._keeps is None:  # nobody looks into a temporary folder
            head = f"{self.folder}. {head}"
        try:
            sentences, table = self._found()
        except BmxError as error:
            return paragraphs(head, str(error))
        return paragraphs(head, *sentences) + ("" if table is None else table_html(table))

    def _found(self) -> tuple[Sequence[str], pd.DataFrame | None]:
        from bmx_grid.analysis import headline
        from bmx_grid.api.plots import ORDER
        from bmx_grid.api.shown import of_columns, of_several

        if "grid" in self.names:
            table = self.settings.merge(self._intervals(), on=list(ORDER), how="left")
            at = "fixed_gain" if table["fixed_gain"].notna().any() else "gain"
            columns = {"n_used": "segments", "baseline": "metric alone", at: "gain", "low": "low", "high": "high"}
            columns |= {} if at == "fixed_gain" else {"gain": "gain of the best point (in-sample)"}
            names = {name: name.replace("_", " ") for name in of_several(table, ORDER)}
            return self.analysis.ask(headline.compute).leads, of_columns(table, names | columns)
        if "correlations" in self.names:
            table = self.correlations
            names = {name: name.replace("_", " ") for name in of_several(table, [*ORDER[:3], "level", "grouping"])}
            return (), of_columns(
                table, {**names, "statistic": "statistic", "value": "value", "low": "low", "high": "high"}
            )
        return (), None

    def _intervals(self) -> pd.DataFrame:
        """The 95 % interval of each setting's gain at its published point."""
        import pandas as pd

        from bmx_grid.analysis.frames import frames_beside
        from bmx_grid.analysis.tested import gains_with_intervals
        from bmx_grid.api.plots import ORDER

        found = gains_with_intervals(frames_beside(self.analysis.table))
        rows = [(*names, one.low, one.high) for names, one in found.items()]
        return pd.DataFrame(rows, columns=[*ORDER, "low", "high"])


def analyse(
    runs: Sequence[Run | str | Path], *, correlation: Kind = "pearson", resamples: int = 1000, seed: int = 0
) -> pd.DataFrame:
    """Finished sweeps beside each other: per setting and point the gains of both, and their difference.

    runs: two or more, each a `Run` or an output folder. Columns low and high: the 95 % interval of the difference, on
    the segments of both, by a bootstrap of clusters. Raises as `analysis.side_by_side.side_by_side`.
    """
    from bmx_grid.analysis.side_by_side import side_by_side

    count, seed = drawn(resamples, seed, 1)
    if isinstance(runs, Run | str | Path) or not isinstance(runs, Sequence) or len(runs) < 2:
        raise ConfigError("runs: give two or more finished sweeps, or their folders, as a list: analyse([one, other]).")
    folders = [one.folder if isinstance(one, Run) else path("runs", one) for one in runs]
    return side_by_side(folders, correlation=correlation, resamples=count, seed=seed).frame
