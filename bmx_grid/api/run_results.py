"""The results of a sweep as DataFrames, figures and sentences."""

from __future__ import annotations

import functools
import io
import itertools
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bmx_grid.api.inputs import as_name_list, one_name, path
from bmx_grid.api.kinds import PANDAS, FrameKind
from bmx_grid.attribution.scored import MOST_SHOWN
from bmx_grid.core.configure import convert, load_option
from bmx_grid.core.errors import ConfigError, DataError, DataMissingError, unknown
from bmx_grid.core.file_keys import check_keys_of_files
from bmx_grid.core.pages import Side, texts_in_notebook
from bmx_grid.core.storage import is_folder
from bmx_grid.core.wording import (
    escape_lines,
    escape_unprintable,
    factor_in_words,
    find_option,
    pluralize,
    setting_label,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from bmx_grid.analysis.questions import Analysis

NOTHING_RUNS = {"executor": "sequential", "tracking": "none"}
FACTORS = ("dataset", "language_pair", "metric", "explainer")
# Rows of a table that a notebook shows.
MOST_ROWS = 20
FOUR_DIGITS = "{:.4f}".format
PlotKind = Literal["verdicts", "heatmap", "curves"]
Names = Sequence[str | None]  # in the order of FACTORS; None for any


class TemporaryFolder:
    """A folder deleted with this object, without the warning of `tempfile.TemporaryDirectory`."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="bmx_grid-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


@dataclass(frozen=True, eq=False)
class Words:
    """Word attributions of the segments of one setting.

    A notebook shows coloured words.

    Attributes:
        names: Data set, language pair, metric and explainer.
        frame: DataFrame with one row per word: `id`, `system`, `score` (of the unboosted metric), `side`, `position`
            (from 0), `word`, `attribution` (NaN if the segment could not be explained).

    Example:
        >>> import bmx_grid as bmx
        >>> small = {"metric": ["chrf"], "evaluation": ["grid"], "limit": 5, "analysis": False, "tracking": "none"}
        >>> run = bmx.run("quickstart", explainer="erasure", quiet=True, **small)
        >>> words = run.words("de-en")
        >>> words
        Words(sample · de-en · chrf · erasure: 5 segments)
        >>> words.frame.columns.tolist()
        ['id', 'system', 'score', 'side', 'position', 'word', 'attribution']
    """

    names: tuple[str, str, str, str]
    frame: pd.DataFrame

    def __repr__(self) -> str:
        n_segments = self.frame["id"].nunique()
        return escape_unprintable(f"Words({setting_label(*self.names)}: {pluralize(n_segments, 'segment')})")

    def _repr_html_(self) -> str:
        """The first segments: a word in blue raises the score, one in orange lowers it."""
        segments = []
        texts = self.frame.groupby(["id", "system"], sort=False, dropna=False)
        for (identifier, _), of_segment in itertools.islice(texts, MOST_SHOWN):
            sides: list[Side] = []
            for side, rows in of_segment.groupby("side", sort=False):
                sides.append((str(side), rows["word"].tolist(), rows["attribution"].to_numpy(), [False] * len(rows)))
            segments.append((f"segment {identifier}", sides))
        return texts_in_notebook(f"{setting_label(*self.names)}.", segments)


def select_settings(settings: Sequence[Sequence[str]], names: Names) -> list[int]:
    """The positions of the settings, each its four names, that fit. Raises ConfigError for a name that none has."""
    fits = list(range(len(settings)))
    for place, (factor, name) in enumerate(zip(FACTORS, names, strict=True)):
        name = one_name(factor, name)
        if name is None:
            continue
        known = {setting[place] for setting in settings}
        name = find_option(name, sorted(known))
        if name not in known:
            raise ConfigError(f"{factor}: {unknown(factor_in_words(factor), str(name), known)}")
        fits = [row for row in fits if settings[row][place] == name]
    return fits


def select_one_setting(settings: Sequence[Sequence[str]], names: Names) -> int:
    """The position of the one setting that fits. Raises ConfigError as above, and if none or several settings fit."""
    fits = select_settings(settings, names)
    if len(fits) != 1:
        # Of no setting that fits, the first ones of all.
        candidates = [settings[row] for row in fits] or settings
        labels = "; ".join(setting_label(*setting) for setting in candidates[:4])
        raise ConfigError(f"{len(fits)} settings fit; name one by language_pair, metric, explainer, dataset: {labels}.")
    return fits[0]


def _table(name: str, doc: str) -> property:
    return property(lambda run: run.table(name), doc=doc)


@dataclass(frozen=True, eq=False)
class Run:
    """The results of a sweep: tables, figures and analysis.

    `run` and `grid` return it; `Run(FOLDER)` opens a finished sweep without running anything. Each table is a
    DataFrame; `names` lists the tables that the sweep wrote.

    Attributes:
        folder: Output folder of the sweep.
        n_failed: Number of settings or parts that failed in this run.
        settings: One row per setting with a grid: correlations of the metric, the best and the published point.
        grid: Every correlation of the grids: setting, side, w, p.
        points: Gain of each setting at the published point and at points chosen on other data.
        scores: One row per segment and setting: human score, unboosted and boosted scores.
        boosts: Held-out gain of each boost and control.
        verdicts: Verdict on each metric and explainer.
        correlations: Correlations with human scores at segment and system level.
        systems: Score and rank of each system.
        thresholds: Difference of system scores that is significant.
        tests: All comparisons with difference, interval, p-value and adjusted p-value.
        ranking: Metrics of each data set and language pair, ranked.
        selection: Median best w and p of each explainer, and the point that is used.
        ridge: Ridge regression of the gains on the factors: coefficients, intercept, R².
        ceilings: Agreement of raters, and the highest correlation that a metric can be expected to reach.
        seeds: Gain of each setting for each seed of its explainer.
        slices: Correlations and gains of the slices of `evaluation.levels.by`.
        word_tags: Agreement of attributions with published word tags.

    Raises:
        DataMissingError: The folder does not exist.
        ConfigError: `folder` is not a path.

    Example:
        >>> import bmx_grid as bmx
        >>> small = {"metric": ["chrf"], "evaluation": ["grid"], "limit": 5, "analysis": False, "tracking": "none"}
        >>> bmx.run("quickstart", explainer="erasure", quiet=True, **small)
        Run('outputs/quickstart': 4 tables)
        >>> run = bmx.Run("outputs/quickstart")
        >>> run.names
        ('grid', 'points', 'scores', 'settings')
        >>> run.grid.shape  # 4 language pairs x 6 weights x 600 powers
        (14400, 8)
    """

    folder: Path
    n_failed: int = 0
    _temporary: TemporaryFolder | None = field(default=None, repr=False)
    _config: Mapping[str, Any] | None = field(default=None, repr=False)
    _kind: FrameKind = field(default=PANDAS, repr=False)
    _fingerprint: str | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        # The dataclass is frozen.
        object.__setattr__(self, "folder", path("folder", self.folder))
        if not is_folder(self.folder):
            raise DataMissingError(f"folder not found: {self.folder}; give the output folder of a sweep.")
        from bmx_grid.sweep.folder import OutputFolder

        object.__setattr__(self, "_fingerprint", OutputFolder(self.folder).fingerprint)

    @property
    def place(self) -> Path:
        """Folder with the tables of this run.

        A later run with another configuration moves them from `folder` to a folder below `previous/`.
        """
        from bmx_grid.sweep.folder import OutputFolder

        return OutputFolder(self.folder).place_of(self._fingerprint)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the tables that the run wrote, sorted."""
        return tuple(sorted(self._tables()))

    def table(self, name: str) -> Any:
        """Read a table by its name.

        Args:
            name: One of `names`.

        Returns:
            DataFrame: The table; for a run of `grid`, of the type of its frame.

        Raises:
            DataMissingError: The run did not write this table.
            DataError: The file is damaged.
            ConfigError: `name` is not a text.

        Example:
            >>> import bmx_grid as bmx
            >>> small = {"metric": ["chrf"], "evaluation": ["grid"], "limit": 5, "analysis": False, "tracking": "none"}
            >>> run = bmx.run("quickstart", explainer="erasure", quiet=True, **small)
            >>> run.table("settings")[["language_pair", "n_used"]].head(2)
              language_pair  n_used
            0         de-en       5
            1         en-de       5
        """
        return self._kind.frame(self._frame(name))

    def _frame(self, name: str) -> pd.DataFrame:
        from bmx_grid.evaluations.stored_tables import read_frame

        tables = self._tables()
        if one_name("table", name) not in tables:
            raise DataMissingError(f"{self.folder}: {unknown('table', name, tables)} Choose its evaluation.")
        return read_frame(tables[name])

    def _tables(self) -> dict[str, Path]:
        """Name -> file."""
        from bmx_grid.sweep.folder import table_files

        return table_files(self.place)

    settings = _table("settings", "One row per setting with a grid: correlations of metric, best and published point.")
    grid = _table("grid", "Every correlation: side, w, p, correlation of each setting.")
    points = _table("points", "The gain of each setting at the published point and at those chosen on other data.")
    scores = _table("scores", "One row per segment and setting: human score, the metric alone and at each point.")
    boosts = _table("boosts", "The gain of each boost over the metric and controls, on other segments than chose it.")
    verdicts = _table("verdicts", "The verdict on each metric and explainer.")
    correlations = _table("correlations", "Correlation with human judgements at segment and system level.")
    systems = _table("systems", "The score and rank of each system.")
    thresholds = _table("thresholds", "How large a difference of systems' scores has to be.")
    tests = _table("tests", "Every comparison with difference, interval, p and adjusted p.")
    ranking = _table("ranking", "The metrics of each data set and language pair in order.")
    selection = _table("selection", "The median best w and p of each explainer, and the point that is used.")
    ridge = _table("ridge", "Which factors go with a gain: coefficients, intercept, R².")
    ceilings = _table("ceilings", "How well raters agree, and the correlation that a perfect metric could reach.")
    seeds = _table("seeds", "The gain of each setting with each seed of its explainer.")
    slices = _table("slices", "Correlations and gains of the slices that evaluation.levels.by names.")
    word_tags = _table("word_tags", "Attributions against published word tags.")

    def __getattr__(self, name: str) -> Any:
        """Any other table that the run wrote: of shared tasks, and of evaluations from outside."""
        # Python and notebooks look for names of their own, also while this object is being made.
        if name.startswith("_") or name in {item.name for item in fields(self)}:
            raise AttributeError(name)
        try:
            return self.table(name)
        except DataMissingError as error:
            raise AttributeError(f"{error} run.names lists the tables.") from error

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.names})

    @functools.cached_property
    def analysis(self) -> Analysis:
        """Analysis of the sweep; `analysis.data_frames()` returns its tables.

        Raises:
            DataMissingError: The folder has no results.
            DataError: A table is damaged.
        """
        from bmx_grid.analysis.finished import load_results

        return load_results(self.place).analyse()

    def plot(
        self,
        language_pair: str | None = None,
        metric: str | None = None,
        explainer: str | None = None,
        dataset: str | None = None,
        *,
        kind: PlotKind | None = None,
    ) -> Figure:
        """Plot the gains of the run, or the grid of settings.

        Names select settings; you can omit names that leave no choice.

        Args:
            language_pair: Language pair of the setting, such as `"de-en"`.
            metric: Metric of the setting.
            explainer: Explainer of the setting.
            dataset: Data set of the setting.
            kind: `"verdicts"`: gain of each boost with its interval, for the whole run. `"heatmap"`: gain at every p
                and w, one map per selected setting. `"curves"`: correlation over p, one line per w, for one setting.
                Default: curves if you set a name or the run has no verdicts, otherwise verdicts.

        Returns:
            Figure: A matplotlib figure. Save it with `savefig`.

        Raises:
            ConfigError: A name or `kind` is unknown, the names select no setting or too many, or the run has no
                verdicts.

        Example:
            >>> import bmx_grid as bmx
            >>> small = {"metric": ["chrf"], "evaluation": ["grid"], "limit": 5, "analysis": False, "tracking": "none"}
            >>> run = bmx.run("quickstart", explainer="erasure", quiet=True, **small)
            >>> figure = run.plot("de-en")
            >>> figure.savefig("curves.png")
            >>> figure.axes[0].get_xlabel()
            'p of the power mean'
        """
        from bmx_grid.report.canvas import style
        from bmx_grid.report.figures import boosts, correlation_over_p
        from bmx_grid.report.heatmap import heat_maps

        convert(kind, PlotKind | None, "kind")
        names = (dataset, language_pair, metric, explainer)
        is_named = any(name is not None for name in names)
        settings = self.analysis.table.settings
        drawings = [] if is_named else list(boosts(self.analysis))
        if kind == "verdicts" and is_named:
            raise ConfigError("kind: verdicts are drawn of the whole run; leave out the names, or write kind='curves'.")
        if kind == "verdicts" and not drawings:
            raise ConfigError("kind: no boost was judged in this run; write kind='heatmap' or kind='curves'.")
        with style():
            figure: Any
            if kind == "heatmap":
                figure = heat_maps(self.analysis, select_settings(settings, names))
            elif drawings and kind != "curves":
                figure = drawings[0].draw()
                if len(drawings) > 1:
                    warnings.warn("Not all boosts are drawn; report.html shows all.", stacklevel=2)
            else:
                figure = correlation_over_p(self.analysis, select_one_setting(settings, names))

        def picture() -> bytes:
            image = io.BytesIO()
            with style():
                figure.savefig(image, format="png", dpi=110)
            return image.getvalue()

        # Else a notebook shows a figure that pyplot did not make as a line of text.
        figure._repr_png_ = picture
        return figure  # type: ignore[no-any-return]

    def words(
        self,
        language_pair: str | None = None,
        metric: str | None = None,
        explainer: str | None = None,
        dataset: str | None = None,
        *,
        ids: Sequence[str] | None = None,
    ) -> Words:
        """Look up the attribution of each word in one setting.

        Reads the attributions from the cache of the sweep. You can omit names that leave no choice.

        Args:
            language_pair: Language pair of the setting, such as `"de-en"`.
            metric: Metric of the setting.
            explainer: Explainer of the setting.
            dataset: Data set of the setting.
            ids: Segment ids. Default: all segments.

        Returns:
            Words: `frame` has one row per word. A notebook shows coloured words.

        Raises:
            ConfigError: A name or id is unknown, or several settings match.
            DataMissingError: The attributions or the data of the sweep are missing.
            DataError: The configuration file of the folder is damaged or not allowed.

        Example:
            >>> import bmx_grid as bmx
            >>> small = {"metric": ["chrf"], "evaluation": ["grid"], "limit": 5, "analysis": False, "tracking": "none"}
            >>> run = bmx.run("quickstart", explainer="erasure", quiet=True, **small)
            >>> frame = run.words("de-en").frame
            >>> frame.loc[frame["side"] == "hypothesis", "word"].head(3).tolist()
            ['Unfortunately,', 'the', 'train']
        """
        import pandas as pd

        from bmx_grid.analysis.examples import sides_of
        from bmx_grid.api.sweep_plan import plan_sweep

        # Attributions are of the sweep's own seed, and a dry run sends no request to servers.
        config = {**self._configuration(), "seeds": [], "dry_run": True}
        plan = plan_sweep(config).plan
        explained = [setting for setting in plan.settings if setting.explainer is not None]
        if not explained and plan.failures:
            failure = plan.failures[0]
            raise DataMissingError(f"{self.folder}: {failure.label}: {failure.reason}")
        names = (dataset, language_pair, metric, explainer)
        place = select_one_setting([setting.names for setting in explained], names)
        setting = explained[place]
        if setting.missing:
            raise DataMissingError(f"{setting.label}: attributions are not in the cache; run the sweep again with it.")
        finished = setting.load()
        stored = finished.scores
        texts = {role: finished.words(role) for role in stored.by_role}
        segments = setting.segments.segments
        known = {segment.id for segment in segments}
        wanted = known if ids is None else set(as_name_list("ids", ids))
        for name in sorted(wanted - known):
            first_ids = sorted(known)[:10]
            raise ConfigError(f"ids: {unknown('segment', name, first_ids)}")
        rows = []
        for row, segment in enumerate(segments):
            if segment.id not in wanted:
                continue
            score = float(stored.base_scores[row])
            for side in sides_of(finished, stored, texts, row):
                values = zip(side.words, side.attributions.tolist(), strict=True)
                for position, (word, value) in enumerate(values):
                    rows.append((segment.id, segment.system, score, side.role, position, word, value))
        columns = ["id", "system", "score", "side", "position", "word", "attribution"]
        return Words(setting.names, pd.DataFrame(rows, columns=columns))

    def _configuration(self) -> Mapping[str, Any]:
        """The configuration of a sweep from this process, else of a file that may come from a stranger.

        Raises DataMissingError that names the folder as the user wrote it, and DataError.
        """
        from bmx_grid.analysis.finished import read_config
        from bmx_grid.sweep.folder import CONFIG

        if self._config is not None:
            return self._config
        file = self.place / CONFIG
        if not file.is_file():
            raise DataMissingError(
                f"{self.folder} has no {CONFIG}, which names its data and attributions; give the folder of a sweep."
            )
        # Nothing is run or tracked: the folder's own cluster and store are not looked at.
        nothing_runs = {group: load_option(group, option) for group, option in NOTHING_RUNS.items()}
        config = {**read_config(file), **nothing_runs}
        try:
            check_keys_of_files(config, frozenset())
        except ConfigError as error:
            raise DataError(f"{file}: {error}") from error
        return config

    def summary(self) -> str:
        """Summarise the sweep: the conclusion, then one row per setting or metric.

        Returns:
            str: Text for a terminal.

        Example:
            >>> import bmx_grid as bmx
            >>> small = {"metric": ["chrf"], "evaluation": ["grid"], "limit": 5, "analysis": False, "tracking": "none"}
            >>> run = bmx.run("quickstart", explainer="erasure", quiet=True, **small)
            >>> "de-en" in run.summary()
            True
        """
        from bmx_grid.analysis.base import Column, Table
        from bmx_grid.report.answer import answer_text
        from bmx_grid.report.table import as_text, terminal_width

        lines, frame = self._answer()
        answer = answer_text(self.analysis, terminal_width()) if "settings" in self.names else ""
        if answer:
            failures = [f"{pluralize(self.n_failed, 'failure')}."] if self.n_failed else []
            lines = [answer, *failures]
        table = ""
        if len(frame):
            n_names = frame.shape[1] - frame.select_dtypes("number").shape[1]
            columns = [Column(str(name), form=".4f" if kind.kind == "f" else "") for name, kind in frame.dtypes.items()]
            title = "Every setting" if len(self.analysis.table) else "Metrics alone"
            table = as_text(Table.from_rows("settings", title, frame, columns, names=n_names), terminal_width())
        return escape_lines("\n".join([*lines, "", table]).strip())

    def __repr__(self) -> str:
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        n_tables = pluralize(len(self.names), "table")
        place = repr(str(self.folder)) if self._temporary is None else "temporary"
        return f"Run({place}: {n_tables}{failed})"

    def _repr_html_(self) -> str:
        """The table of verdicts; without verdicts the answer, and numbers of every setting."""
        from bmx_grid.report.html import answer_in_notebook

        analysis = self.analysis if "settings" in self.names else None
        remarks: Sequence[str] = [f"{pluralize(self.n_failed, 'failure')}."] if self.n_failed else []
        table = ""
        if analysis is None or not analysis.has_verdicts:
            remarks, frame = self._answer()
            if len(frame):
                table = frame.to_html(index=False, max_rows=MOST_ROWS, float_format=FOUR_DIGITS)
        # A temporary folder is nothing to remember.
        place = "" if self._temporary is not None else f"{self.folder}: "
        names = ", ".join(self.names) or "no tables"
        return answer_in_notebook(analysis, remarks=remarks, table=table, footer=f"{place}{names}.")

    def _answer(self) -> tuple[Sequence[str], pd.DataFrame]:
        """The answer, and a table with the gains at the published points and their intervals."""
        import pandas as pd

        from bmx_grid.analysis.headline import summary_lines

        lines: list[str] = []
        if self.n_failed:
            failures = pluralize(self.n_failed, "failure")
            lines.append(f"{failures}.")
        # A folder without settings is that of a sweep in which all failed.
        if "settings" in self.names:
            lines = [*summary_lines(self.analysis), *lines]
        if "settings" in self.names and len(self.analysis.table):
            frame, columns = self._gains()
            names: tuple[str, ...] = FACTORS
        elif "correlations" in self.names:
            frame = self._frame("correlations")
            columns = {name: name for name in ("value", "low", "high")}
            names = (*FACTORS[:3], "level", "grouping", "statistic")
        else:
            return lines, pd.DataFrame()
        # Names with the same value in all rows are dropped, but one is needed.
        varied = [name for name in names if frame[name].nunique() > 1] or [names[-1]]
        shown = frame[[*varied, *columns]].rename(columns=columns)
        return lines, shown.dropna(axis=1, how="all")

    def _gains(self) -> tuple[pd.DataFrame, dict[str, str]]:
        """The table of settings with the gains at the published points, and the headers of the columns shown."""
        from bmx_grid.analysis.base import each_row
        from bmx_grid.analysis.points import declared_points, point_name
        from bmx_grid.evaluations.boost_evidence import PUBLISHED

        rows = self.analysis.compute_once(declared_points)
        rows = rows[rows["point"] == PUBLISHED]
        tested = rows.loc[rows["low"].notna(), [*FACTORS, "gain", "low", "high"]]
        frame = self._frame("settings").merge(tested, on=[*FACTORS], how="left")
        points = {point_name(row.explainer, row.w, row.p) for row in each_row(rows)}
        point = points.pop() if len(points) == 1 else "the published point"
        columns = {"n_used": "segments", "baseline": "baseline", "gain": f"gain at {point}"}
        columns |= {"low": "low", "high": "high", "best": "in-sample best"}
        return frame, columns
