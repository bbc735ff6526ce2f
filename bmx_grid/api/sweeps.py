"""A sweep from a notebook or another program, and its results as DataFrames."""

from __future__ import annotations

import functools
import html
import io
import itertools
import math
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmx_grid.api.inputs import Function, drawn, keyed, listed, parts_of, path, plain_value
from bmx_grid.api.kinds import FrameKind
from bmx_grid.core.configure import groups
from bmx_grid.core.errors import ConfigError, DataError, DataMissingError, unknown
from bmx_grid.core.terminal import plain_warnings
from bmx_grid.core.wording import counted, factor_in_words, named, setting_label, visible

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from bmx_grid.analysis.questions import Analysis
    from bmx_grid.measures.correlation import Kind

FACTORS = ("dataset", "language_pair", "metric", "explainer")
GROUPS_OF_OBJECTS = ("dataset", "metric", "explainer")  # groups whose options may be objects
# Rows of a table, and segments with their words, that a notebook shows.
MOST_ROWS = 20
MOST_SHOWN = 5
Names = tuple[str | None, str | None, str | None, str | None]  # in the order of FACTORS; None for any


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
    >>> small = {"metric": ["chrf"], "explainer": ["erasure"], "limit": 5, "analysis": False, "tracking": "none"}
    >>> run = bmx.run("quickstart", quiet=True, **small)
    >>> run.settings[["metric", "explainer", "n_used"]].drop_duplicates()
      metric explainer  n_used
    0   chrf   erasure       5

    sweep: a name of configs/sweep; without one the sweep is defined by the keys. overrides: further ones as the command
        line takes them ("grid.fixed.lime.w=0.5"). keys: groups and keys at the top of the configuration, as in
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
    kind: FrameKind | None = None,
) -> Run:
    """The run of the sweep that these keys configure, in which metrics, explainers and data sets may be objects.

    temporary: into a folder that lives as long as the Run, with tables only: a page takes twice as long as the rest.
    kind: of the frames that the Run gives.
    Raises as `run`.
    """
    from bmx_grid.api.compose import composed
    from bmx_grid.api.sweep import run_sweep

    values = dict(keys)
    objects = {}
    for group in GROUPS_OF_OBJECTS:
        if group in values:
            parts = {} if values[group] is None and group == "explainer" else parts_of(group, values[group])
            values[group] = [name for name, part in parts.items() if part is None]
            objects[group] = {name: part for name, part in parts.items() if part is not None}
    by_function = any(isinstance(part, Function) for part in objects.get("metric", {}).values())
    folder = _Temporary() if temporary or by_function else None
    if folder is not None and temporary:
        values = {"analysis": False, **values, "output_dir": f"{folder.name}/out"}
    if folder is not None and by_function:
        values = {"executor": "sequential", **values, "cache_dir": f"{folder.name}/cache"}
    chosen = {group: values.pop(group) for group in groups() if group in values}
    lines = [
        f"{group}=[{','.join(map(str, of))}]" if isinstance(of, list) else f"{group}={of}"
        for group, of in chosen.items()
    ]
    lines += [] if sweep is None else [f"sweep={sweep}"]
    config = composed([*lines, *overrides], config_dir, {key: plain_value(value) for key, value in values.items()})
    for group, parts in objects.items():
        config[group] = {**(config.get(group) or {}), **parts}
    if config["dry_run"]:
        raise ConfigError("dry_run: a plan has no tables; see it with python -m bmx_grid … dry_run=true.")
    with redirect_stdout(io.StringIO()) if quiet else nullcontext(), plain_warnings():
        ended = run_sweep(config)
    if not ended.n_done:
        reasons = named([f"{refused.label}: {refused.reason}" for refused in ended.failed], separator="; ")
        raise DataError(f"no setting could be run: {reasons}")
    return Run(Path(config["output_dir"]), ended.n_failed, folder, config, kind or FrameKind())


class _Temporary:
    """A folder that goes with this object, without the warning that `tempfile.TemporaryDirectory` gives then."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="bmx_grid-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


@dataclass(frozen=True, eq=False)
class Words:
    """The attributions of one setting's segments.

    names: data set, language pair, metric, explainer. frame: one row per word: id, system, score of the segment by the
    metric alone, side, position (from 0), word, attribution (NaN where a segment could not be explained).
    """

    names: tuple[str, str, str, str]
    frame: pd.DataFrame

    def __repr__(self) -> str:
        return f"Words({setting_label(*self.names)}: {counted(self.frame['id'].nunique(), 'segment')})"

    def _repr_html_(self) -> str:
        """The first segments: a word in blue raises the score, one in orange lowers it."""
        parts = [_paragraph(f"{setting_label(*self.names)}. Blue: raises the score; orange, wavy line: lowers it.")]
        by_text = self.frame.groupby(["id", "system", "side"], sort=False, dropna=False)
        for (identifier, _, side), rows in itertools.islice(by_text, 2 * MOST_SHOWN):
            largest = rows["attribution"].abs().max() or 1.0
            shown = [_word(word, value, largest) for word, value in zip(rows["word"], rows["attribution"], strict=True)]
            parts.append(f"<p dir='auto'><small>{html.escape(f'{identifier}, {side}')}</small> {' '.join(shown)}</p>")
        return "".join(parts)


def _word(word: str, value: float, largest: float) -> str:
    colour, line = ("0,114,178", "solid") if value > 0 else ("213,94,0", "wavy")
    style = f"background:rgba({colour},{abs(value) / largest / 2:.2f});text-decoration:underline {line}"
    return f"<span style='{style if abs(value) > 0 else ''}' title='{value:+.4g}'>{html.escape(visible(word))}</span>"


def _paragraph(line: str) -> str:
    return f"<p>{html.escape(visible(line))}</p>"


def chosen_setting(settings: Sequence[Sequence[str]], names: Names) -> int:
    """The position of the one setting, each its four names, that fits.

    Raises ConfigError for a name that no setting has, and where none or several settings fit.
    """
    for place, (factor, name) in enumerate(zip(FACTORS, names, strict=True)):
        known = {setting[place] for setting in settings}
        if name is not None and name not in known:
            raise ConfigError(f"{factor}: " + unknown(factor_in_words(factor), str(name), known))
    fits = [all(name in (None, known) for known, name in zip(setting, names, strict=True)) for setting in settings]
    rows = [row for row, fit in enumerate(fits) if fit]
    if len(rows) != 1:
        some = "; ".join(setting_label(*settings[row]) for row in (rows or range(len(settings)))[:4])
        raise ConfigError(f"{len(rows)} settings fit; name one by language_pair, metric, explainer, dataset: {some}.")
    return rows[0]


def _table(name: str, doc: str) -> property:
    return property(lambda run: run.table(name), doc=doc)


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
    _temporary: _Temporary | None = field(default=None, repr=False)
    _config: Mapping[str, Any] | None = field(default=None, repr=False)
    _kind: FrameKind = field(default=FrameKind(), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", path("folder", self.folder))
        if not self.folder.is_dir():
            raise DataMissingError(f"there is no folder {self.folder}; give the output folder of a sweep.")

    @property
    def names(self) -> tuple[str, ...]:
        """The tables that the run wrote, sorted by name."""
        return tuple(sorted(self._tables()))

    def table(self, name: str) -> Any:
        """A table by its name, one of `names`: a pandas DataFrame, or what `grid` was given.

        Raises DataMissingError for a table that the run did not write, DataError for a damaged file.
        """
        return self._kind.frame(self._frame(name))

    def _frame(self, name: str) -> pd.DataFrame:
        from bmx_grid.evaluations.stored_tables import read_frame

        tables = self._tables()
        if name not in tables:
            raise DataMissingError(f"{self.folder}: {unknown('table', name, tables)} Choose its evaluation.")
        return read_frame(tables[name])

    def _tables(self) -> dict[str, Path]:
        """Name -> file."""
        from bmx_grid.sweep.output import table_files

        return table_files(self.folder)

    settings = _table("settings", "One row per setting with a grid: correlations of metric, best and published point.")
    grid = _table("grid", "Every correlation: side, w, p, correlation of each setting.")
    scores = _table("scores", "One row per segment and setting: human score, the metric alone and at each point.")
    correlations = _table("correlations", "Correlation with human judgements at segment and system level.")
    tests = _table("tests", "Every comparison with difference, interval, p and adjusted p.")
    verdicts = _table("verdicts", "The verdict on each metric and explainer.")

    @functools.cached_property
    def analysis(self) -> Analysis:
        """The analysis of the grid; `analysis.data_frames()` has each of its tables."""
        from bmx_grid.analysis.load import load_table, tables_beside
        from bmx_grid.analysis.questions import analyse_table

        table = load_table(self.folder)
        return analyse_table(table, tables_beside(table))

    def plot(
        self,
        language_pair: str | None = None,
        metric: str | None = None,
        explainer: str | None = None,
        dataset: str | None = None,
    ) -> Figure:
        """The grid of one setting: correlation over p with a line per w.

        A matplotlib figure, `.axes` and all; a notebook shows it. Names may be left out where they leave no choice.
        Raises ConfigError for an unknown name, and where several settings fit.
        """
        from bmx_grid.report.canvas import style
        from bmx_grid.report.figures import correlation_over_p

        row = chosen_setting(self.analysis.table.settings, (dataset, language_pair, metric, explainer))
        with style():
            figure: Any = correlation_over_p(self.analysis, row)

        def picture() -> bytes:  # else a notebook shows a figure that pyplot did not make as a line of text
            figure.savefig(held := io.BytesIO(), format="png", dpi=110)
            return held.getvalue()

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
        """The attribution of each word, in one setting: `frame` has a row per word, a notebook shows coloured words.

        ids: of segments; all without. The sweep is planned again, and the attributions are those in its cache:
        DataMissingError says if they, or the sweep's data, are gone. Names as for `plot`.
        """
        import pandas as pd

        from bmx_grid.analysis.examples import sides_of
        from bmx_grid.api.sweep_plan import plan_sweep

        plan = plan_sweep({**self._configuration(), "seeds": [], "dry_run": True}).plan
        explained = [setting for setting in plan.settings if setting.explainer is not None]
        if not explained and plan.failed:
            raise DataMissingError(f"{self.folder}: {plan.failed[0].label}: {plan.failed[0].reason}")
        names = (dataset, language_pair, metric, explainer)
        setting = explained[chosen_setting([item.names for item in explained], names)]
        if setting.missing:
            raise DataMissingError(f"{setting.label}: attributions are not in the cache; run the sweep again with it.")
        finished = setting.finished()
        stored = finished.scores
        texts = {role: finished.words_of(role) for role in stored.by_role}
        known = {segment.id for segment in setting.segments.segments}
        wanted = known if ids is None else set(listed("ids", ids))
        for name in sorted(wanted - known):
            raise ConfigError("ids: " + unknown("segment", name, sorted(known)[:10]))
        rows = []
        for row, segment in enumerate(setting.segments.segments):
            if segment.id not in wanted:
                continue
            of_segment = (segment.id, segment.system, float(stored.base_scores[row]))
            for side in sides_of(setting, stored, texts, row):
                values = zip(side.words, side.attributions.tolist(), strict=True)
                for position, (word, value) in enumerate(values):
                    rows.append((*of_segment, side.role, position, word, value))
        columns = ["id", "system", "score", "side", "position", "word", "attribution"]
        return Words(setting.names, pd.DataFrame(rows, columns=columns))

    def _configuration(self) -> Mapping[str, Any]:
        """That of the sweep where it ran in this process, else that in its folder. Raises DataMissingError."""
        import yaml

        file = self.folder / "config.yaml"
        if self._config is None and not file.is_file():
            raise DataMissingError(f"{self.folder} has no config.yaml, which says where its data and attributions are.")
        return yaml.safe_load(file.read_text(encoding="utf-8")) if self._config is None else self._config

    def summary(self) -> str:
        """The answer first, a line per metric and explainer; then a table of the settings, or of the metrics alone."""
        lines, frame = self._answer()
        shown = frame.to_string(index=False, float_format="{:.4f}".format) if len(frame) else ""
        return "\n".join([*lines, "", shown]).strip()

    def __repr__(self) -> str:
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        return f"Run({str(self.folder)!r}: {counted(len(self.names), 'table')}{failed})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the answer, and numbers of every setting; of metrics alone, correlations."""
        lines, frame = self._answer()
        table = frame.to_html(index=False, max_rows=MOST_ROWS, float_format="{:.4f}".format) if len(frame) else ""
        names = f"{self.folder}: {', '.join(self.names) or 'no tables'}."
        return "".join([*map(_paragraph, lines), table, _paragraph(names)])

    def _answer(self) -> tuple[Sequence[str], pd.DataFrame]:
        """The answer, and a table with the gains at the fixed points and their intervals."""
        import pandas as pd

        from bmx_grid.analysis.gains import declared_points
        from bmx_grid.analysis.headline import answer
        from bmx_grid.analysis.points import point_name
        from bmx_grid.evaluations.boost_evidence import PUBLISHED

        lines = [f"{counted(self.n_failed, 'failure')}."] if self.n_failed else []
        names = tuple[str, ...](FACTORS)
        columns = {name: name for name in ("value", "low", "high")}
        if "grid" in self.names:
            rows = [row for row in self.analysis.ask(declared_points) if row.point == PUBLISHED]
            tested = [(*row.setting, row.gain, row.low, row.high) for row in rows if not math.isnan(row.low)]
            gains = pd.DataFrame(tested, columns=[*FACTORS, "gain", "low", "high"])
            frame = self._frame("settings").merge(gains, on=list(FACTORS), how="left")
            where = {point_name(row.explainer, row.w, row.p) for row in rows}
            gain = f"gain at {where.pop() if len(where) == 1 else 'the fixed point'}"
            columns = {"n_used": "segments", "baseline": "metric alone", "gain": gain}
            columns |= {"low": "low", "high": "high", "best": "in-sample best"}
            lines = [*answer(self.analysis), *lines]
        elif "correlations" in self.names:
            frame = self._frame("correlations")
            names = (*FACTORS[:3], "level", "grouping", "statistic")
        else:
            return lines, pd.DataFrame()
        varied = [name for name in names if frame[name].nunique() > 1] or list(names[-1:])
        return lines, frame[[*varied, *columns]].rename(columns=columns).dropna(axis=1, how="all")


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
    return side_by_side(folders, correlation=correlation, resamples=count, seed=seed)
