"""The page of an analysis: self-contained, complete, safe against hostile names, and true to the numbers."""

import base64
import datetime
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from some_frames import verdicts
from some_results import GRID, make_result
from some_tables import P, W, flat, peaked, random_surfaces, table

from bmx_grid.analysis import headline
from bmx_grid.analysis.base import Cell, SettingKey, Table
from bmx_grid.analysis.examples import Example, ExampleSide, RankedScore
from bmx_grid.analysis.finished import AnalysisOptions
from bmx_grid.analysis.gains import at_points
from bmx_grid.analysis.questions import Analysis, analyse_table
from bmx_grid.datasets.tabular import Sample
from bmx_grid.evaluations.grid_surface import GridEvaluation
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.measures.grid import Point, PowerRange
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.report.analysis_files import analyse_sweep, page_figures, write_analysis
from bmx_grid.report.canvas import Drawing, save
from bmx_grid.report.html import LEVELS, NO_GAIN_HERE, heat_maps, write_metrics_report, write_report
from bmx_grid.sweep.executors.local import Sequential
from bmx_grid.sweep.folder import OutputFolder
from bmx_grid.sweep.plan import make_plan
from bmx_grid.sweep.scoring import run_plan
from bmx_grid.sweep.settings import PlanOptions, SweepPlan
from bmx_grid.sweep.tables import evaluation_tables, settings_table

HOSTILE = "<script>alert(1)</script>\"'&</td>"
VOID = {"meta", "link", "input", "img", "br", "hr"}


class Page(HTMLParser):
    """What a browser would make of a page: tags in order, texts by the tag around them, and tags left open.

    visible: the words that are shown when it is opened; open_tables: how many tables.
    """

    def __init__(self, text):
        super().__init__()
        self.text, self.tags, self.texts, self.open, self.ids = text, [], [], [], []
        self.visible, self.open_tables = [], 0
        self.feed(text)
        self.close()

    @property
    def folded(self):
        return not {"head", "template", "script", "style", "noscript"}.isdisjoint(self.open)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        self.open_tables += tag == "table" and not self.folded
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes another tag"

    def handle_data(self, data):
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data.strip()))
            self.visible += [] if self.folded else data.split()

    def having(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]

    def told(self, *tags):
        return " ".join(text for tag, text in self.texts if not tags or tag in tags)

    @property
    def grids(self):
        (data,) = [text for tag, text in self.texts if tag == "script" and text.startswith("{")]
        return json.loads(data)


def read(folder):
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert page.open == []
    return page


def written(tmp_path, analysis=None, **parts):
    analysis = analyse_table(table(random_surfaces(0))) if analysis is None else analysis
    write_report(analysis, tmp_path / "report.html", **{"figures": [], "tables": analysis.tables(), **parts})
    return read(tmp_path)


def example(words=("a", "b"), names=("d", "de-en", "m", "lime"), segment="7"):
    marked = tuple(place == 0 for place in range(len(words)))
    sides = (
        ExampleSide("source", words, np.linspace(-1.0, 0.5, len(words)), marked),
        ExampleSide("hypothesis", (), np.empty(0), ()),
    )
    scores = {"metric": RankedScore(0.5, 3.0), "boosted": RankedScore(0.25, 2.0), "human": RankedScore(70.0, 2.0)}
    return Example(segment, names, 0.4, -1.4, 9, sides, **scores)


def with_verdicts(n=12):
    surfaces = {("d", pair, f"m{number}", "lime"): peaked(0.5) for number in range(n) for pair in "abc"}
    rows = [{"metric": f"m{number}", "boost": boost} for number in range(n) for boost in ("learned", "share")]
    return analyse_table(table(surfaces), frames={"verdicts": verdicts(*rows)})


def test_a_page_needs_no_network_and_no_other_file(tmp_path):
    page = written(tmp_path, examples=[example()])
    links = [value for _, attributes in page.tags for name, value in attributes.items() if name in ("src", "href")]
    assert links and all(link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"url\(|@import|https?://|fetch\(|XMLHttp", page.text)
    (policy,) = [attributes["content"] for attributes in page.having("meta") if "http-equiv" in attributes]
    assert policy.startswith("default-src 'none'")


@pytest.mark.parametrize("n", [pytest.param(1, id="a metric"), pytest.param(60, id="many metrics")])
def test_the_answer_stands_first_and_all_else_is_folded_and_written_once(tmp_path, n, blank_figures):
    analysis = with_verdicts(n)
    files = write_analysis(analysis, tmp_path, list, every_figure=n == 1)
    assert len(set(files)) == len(files) and all(path.is_file() for path in files)
    page = read(tmp_path)
    assert len(page.visible) <= 900 and page.open_tables == 0
    leads, shown = headline.answer(analysis), " ".join(page.visible)
    for line in [leads[0], *leads[n:]]:  # with what the verdicts mean, and what to do next
        assert " ".join(line.replace(" -", " −").replace("[-", "[−").split()) in shown
    order = ["answer", "figure-boosts", "verdicts", "settings", "tables", "what-was-run"]
    assert sorted(order, key=page.ids.index) == order
    assert not {"counts", "table-overview"} & set(page.ids), "no second answer beside verdicts"
    assert len(set(page.ids)) == len(page.ids)
    assert ("more-answers" in page.ids) == (n > 12)
    assert len(page.having("img")) == len(page_figures(analysis)) and all(image["alt"] for image in page.having("img"))
    tables = {f"table-{shown.stem}" for shown in analysis.tables()} | {"table-verdicts-beside"}
    assert {name for name in page.ids if name.startswith("table-")} == tables
    terms, facts = ([text for tag, text in page.texts if tag == kind] for kind in ("dt", "dd"))
    stated = dict(zip(terms, facts, strict=True))
    assert stated["date"] == datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    assert "Python" in stated["versions"]
    assert stated["signature of the table"].startswith("table:")
    assert "table:" not in page.told("p")


def test_verdicts_stand_in_tables_that_fit_a_page_each_with_its_kind_of_point(tmp_path):
    surfaces = {("d", "a", f"m{number}", "lime"): peaked(0.5) for number in range(2)}
    rows = [{"metric": f"m{number}", "point": point} for number in range(2) for point in ("elsewhere", "published")]
    page = written(tmp_path, analyse_table(table(surfaces), frames={"verdicts": verdicts(*rows)}))
    shown = {
        name: re.search(rf'<table id="{name}">.*?</table>', page.text, flags=re.DOTALL)[0]
        for name in page.ids
        if name.startswith("table-verdicts")
    }
    assert list(shown) == ["table-verdicts", "table-verdicts-2", "table-verdicts-beside"]
    assert [text.count("<tr>") for text in shown.values()] == [1 + 2, 1 + 2, 1 + 4]
    assert [text.count('<th scope="col"') for text in shown.values()][:2] == [11, 11]
    assert "over the metrics" not in page.told("th"), "a column without a number in any row"
    titles = page.told("h3")
    assert titles.index("Chosen on other language pairs") < titles.index("At the fixed points (grid.fixed)")


def test_counts_are_shown_where_nothing_was_judged(tmp_path):
    order = ["answer", "counts", "table-overview", "settings", "tables", "what-was-run"]
    ids = written(tmp_path).ids
    assert sorted(order, key=ids.index) == order


def test_a_page_of_metrics_opens_few_tables(tmp_path):
    rows = (((Cell("de-en"), Cell(-0.5)),),)
    tables = [Table(f"t{name}", f"T {name}", ("pair", "r"), rows, (), brief=True) for name in "abcd"]
    frame = pd.DataFrame({"dataset": ["toy"] * 2, "metric": ["chrf", "bleu"], "explainer": "none"})
    write_metrics_report(Analysis({"correlations": frame}), tmp_path / "report.html", tables=tables)
    page = read(tmp_path)
    assert (page.open_tables, len(page.having("table"))) == (3, 4)
    assert {"Metrics", "−0.5"} <= set(page.visible)
    assert "2 metrics on toy, without an explainer." in page.told("p")


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"examples": [example(words=(f"{HOSTILE}\ud800", "b"))]}, id="words"),
        pytest.param({"examples": [example(names=("d", HOSTILE, "m", "lime"))]}, id="names of an example"),
        pytest.param({"examples": [example(segment=HOSTILE)]}, id="segment id"),
        pytest.param({"facts": [(HOSTILE, HOSTILE)]}, id="facts"),
        pytest.param({"tables": [Table("t", HOSTILE, (HOSTILE,), (((Cell(HOSTILE),),),), (HOSTILE,))]}, id="table"),
    ],
)
def test_hostile_text_is_shown_and_never_run(tmp_path, parts):
    page = written(tmp_path, **parts)
    assert len(page.having("script")) == 2
    assert any(HOSTILE in text for _, text in page.texts)
    assert "alert(1)" not in page.told("script", "style")


def test_a_page_of_hostile_names_with_its_figures_runs_nothing(tmp_path):
    names = [SettingKey(HOSTILE, HOSTILE, name, HOSTILE) for name in ("m", HOSTILE, "a\nb")]
    results_table = replace(table({("d", "a", name, "lime"): peaked(0.5) for name in "abc"}), settings=tuple(names))
    analysis = analyse_table(results_table, frames={"verdicts": verdicts({**names[1]._asdict(), "pairs": 1})})
    drawn = [(drawing, save(drawing, tmp_path / "out")) for drawing in page_figures(analysis)]
    page = written(tmp_path / "out", analysis, figures=drawn)
    assert len(page.having("script")) == 2
    assert {tuple(setting["names"]) for setting in page.grids["settings"]} == set(map(tuple, names))
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert len(page.having("img")) == len(drawn) == 1
    assert not [path for path in tmp_path.iterdir() if path.name != "out"]


def decoded(grids, place):
    """The gains of a setting as the page decodes them: float64[P, W], w = 1 is 0."""
    setting = grids["settings"][place]
    low, high = np.frombuffer(zlib.decompress(base64.b64decode(setting["gains"])), dtype=np.uint8).reshape(2, -1)
    changes = (low + 256 * high.astype(np.int64)).reshape(-1, len(grids["p"]))
    counts = (np.cumsum(changes, axis=1) % 65536).astype(np.uint16).view(np.int16).T
    gains = np.zeros((len(grids["p"]), len(grids["w"])))
    gains[:, np.array(grids["w"]) != 1] = np.where(counts == NO_GAIN_HERE, np.nan, counts * setting["step"])
    return gains


def test_the_heat_map_holds_every_gain_to_half_a_step():
    holed = peaked(0.5)
    holed[3, 0] = np.nan
    analysis = analyse_table(table({**random_surfaces(1), ("d9", "a", "m1", "lime"): holed}))
    grids = heat_maps(analysis)
    best = analysis.ask(at_points)
    assert (grids["p"], grids["w"]) == (P.tolist(), W.tolist())
    for place, setting in enumerate(grids["settings"]):
        gains = analysis.table.gains[place]
        np.testing.assert_allclose(decoded(grids, place), gains, rtol=0, atol=setting["step"] / 2 + 1e-12)
        assert setting["step"] <= np.nanmax(np.abs(gains)) / LEVELS + 1e-18
        assert setting["best"] == best.loc[place, ["best_w", "best_p", "best"]].tolist()


def test_infinite_powers_are_in_the_page_as_texts_that_scripts_read_as_numbers(tmp_path):
    powers = np.array([-np.inf, *P[1:-1], np.inf])
    surface = flat()
    surface[0, 0] += 0.1
    page = written(tmp_path, analyse_table(table({("d", "a", "m", "lime"): surface}, p=powers)))
    assert (page.grids["p"][0], page.grids["p"][-1]) == ("-Infinity", "Infinity")
    (setting,) = page.grids["settings"]
    assert setting["best"][:2] == [0.0, "-Infinity"]


def test_points_of_the_heat_map_where_there_is_none():
    """Nothing boosts, nothing changes, nothing is defined, a control."""
    surfaces = (flat(0.5, 0.4), flat(0.5, 0.5), flat(0.5, np.nan), peaked(0.5))
    names = [("d", "a", metric, "lime") for metric in ("m0", "m1", "m2", "m3")]
    control = {("d", "a", "random", "lime"): peaked(0.5, gain=0.4)}
    grids = heat_maps(analyse_table(table({**dict(zip(names, surfaces, strict=True)), **control})))
    settings = grids["settings"]
    assert [setting["best"] is None for setting in settings] == [True, False, True, False, False]
    assert [setting["alone"] for setting in settings] == [True, False, True, False, False]
    assert settings[-1]["fixed"] is None and settings[3]["fixed"] is not None, "controls have no fixed point"
    assert not decoded(grids, 1).any()
    assert np.isnan(decoded(grids, 2)[:, W != 1]).all() and settings[2]["baseline"] == 0.5
    assert settings[grids["first"]]["names"][2] == "m3", "of those that are no controls"


def test_the_page_says_what_is_shown(tmp_path):
    of_grid = table({("d", pair, "m", "lime"): peaked(0.5) for pair in "abc"})
    known = pd.DataFrame(of_grid.settings).assign(
        baseline=of_grid.baseline, correlation="spearman", aggregation="LehmerMean", n_segments=600, n_used=500
    )
    known = known.assign(repeat_deviation=np.nan, constructed=False)
    paragraphs = written(tmp_path, analyse_table(of_grid, frames={"settings": known})).told("p")
    for words in ("w = 1 is the metric alone", "p runs from −2 to 1.9", "is Spearman's ρ", "M is Lehmer"):
        assert words in paragraphs
    assert "in-sample (chosen where it is judged): lime w 0.5, p 0.5." in paragraphs
    assert not re.search("held.out", paragraphs.replace("Not held out", ""), re.IGNORECASE)
    paragraphs = written(tmp_path, analyse_table(of_grid)).told("p")
    assert (
        "is correlation" in paragraphs and "M is the power mean" in paragraphs and "w · s + (1 − w) · M" in paragraphs
    )


def test_figures_are_images_in_the_page_with_their_words(tmp_path):
    file = tmp_path / "a.svg"
    file.write_text("<svg><script>alert(1)</script></svg>")
    drawing = Drawing("boosts", "A title", f"Gains <b>by</b> {HOSTILE}", lambda: None)
    page = written(tmp_path, figures=[(drawing, file), (Drawing("b", "Other", "d", lambda: None), file)])
    images = page.having("img")
    assert [base64.b64decode(image["src"].partition(",")[2]) for image in images] == [file.read_bytes()] * 2
    assert images[0]["alt"] == f"A title. Gains <b>by</b> {HOSTILE}"
    assert f"Gains <b>by</b> {HOSTILE}" in page.told("figcaption")
    assert len(page.having("script")) == 2
    assert page.ids.index("figure-boosts") < page.ids.index("figures") < page.ids.index("figure-b")


def test_words_carry_their_sign_without_colour_their_strength_and_what_people_marked(tmp_path):
    page = written(tmp_path, examples=[example(words=("low", "mid", "high"))])
    spans = [(span["class"], span.get("style")) for span in page.having("span") if "class" in span]
    words = [span for span in spans if span[0].split()[0] == "word"][2:]  # after the legend
    assert words == [("word down", "--s:1.00"), ("word down", "--s:0.25"), ("word up", "--s:0.50")]
    assert [name for name, _ in spans if name.split()[0] == "token"] == ["token marked", "token", "token"]
    assert {("small", "✗ −1"), ("small", "−0.25"), ("small", "+0.5"), ("em", "no words")} <= set(page.texts)
    texts = " ".join(text for _, text in page.texts)
    assert "Rises by 1 of 9 ranks" in texts and "nearer to its rank by human" in texts


def analysed(results, folder, **fixed):
    points = {name: Point(w=w, p=p) for name, (w, p) in fixed.items()}
    tables = {"settings": settings_table(results), **evaluation_tables(GRID, results)} if results else {}
    options = AnalysisOptions(points)
    return analyse_sweep(results, SweepPlan((), ()), options, OutputFolder(folder), tables=tables)


@pytest.mark.parametrize(
    ("results", "message"),
    [
        pytest.param([make_result(explainer="random")], "0 finished", id="a control"),
        pytest.param([make_result(seed, language_pair=str(seed), w=(0.0, 0.4)) for seed in range(3)], "w = 1", id="w"),
    ],
)
def test_what_cannot_be_analysed_is_said_and_nothing_written(tmp_path, results, message):
    analysis, files, note = analysed(results, tmp_path)
    assert (analysis, files) == (None, []) and note.startswith("no analysis: ") and message in note
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("dataset", "message"), [("wmt17", "in-sample on wmt17"), ("toy", "on other data")])
def test_a_sweep_is_analysed_at_its_declared_points(tmp_path, dataset, message):
    analysis, *_ = analysed([make_result(dataset=dataset)], tmp_path, lime=(0.4, -1.4), shap=(0.6, -0.95))
    sentence, *_ = headline.answer(analysis)
    assert sentence.startswith("LIME at w 0.4, p -1.4, as published (") and message in sentence
    assert set(analysis.fixed) == {"lime"}
    page = read(tmp_path)
    assert page.visible[page.visible.index("LIME") :][:5] == ["LIME", "at", "w", "0.4,", "p"]
    assert "Pearson's r with human scores, segment by segment" in page.told("p")


def test_a_finished_sweep_is_shown_with_its_words_and_signatures(tmp_path, blank_figures):
    data = {"sample": Sample(name="sample", language_pairs=("de-en",))}
    scope = PlanOptions(data_dir=tmp_path, cache_dir=tmp_path / "cache", limit=15)
    plan = make_plan(data, {"chrf": Chrf()}, {"erasure": Erasure()}, scope)
    fixed = {"erasure": Point(w=0.0, p=1.0)}
    grid = GridEvaluation(p=PowerRange(-1, 2, 1), w=(0.0, 0.5, 1.0), fixed=fixed)
    options = {"executor": Sequential(), "stop_on_error": True, "progress": lambda *_: None}
    results = list(run_plan(plan, {"grid": grid}, **options))
    tables = {"settings": settings_table(results), **evaluation_tables(grid, results)}
    _, _, said = analyse_sweep(results, plan, AnalysisOptions(fixed), OutputFolder(tmp_path), tables=tables)
    assert said.startswith("Erasure at w 0, p 1, given")
    page = read(tmp_path)
    assert len(page.having("article")) == 2
    assert all(result.signature in page.told() for result in results)
