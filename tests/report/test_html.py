"""The page of an analysis: self-contained, complete, safe against hostile names, and true to the numbers."""

import base64
import datetime
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from some_frames import frames, verdicts
from some_results import GRID, make_result
from some_tables import P, W, flat, peaked, random_surfaces, table

from bmx_grid.analysis import headline
from bmx_grid.analysis.base import Cell, SettingKey, Table
from bmx_grid.analysis.examples import Example, ExampleSide, RankedScore
from bmx_grid.analysis.finished import AnalysisOptions, FigureOptions
from bmx_grid.analysis.finished import facts_of as facts_of_config
from bmx_grid.analysis.questions import Analysis, analyse_table
from bmx_grid.core.pages import SHARED
from bmx_grid.datasets.tabular import Sample
from bmx_grid.evaluations.grid_surface import GridEvaluation
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.measures.grid import Point, PowerRange
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.report.analysis_files import analyse_sweep, page_figures, write_analysis
from bmx_grid.report.canvas import Drawing, render
from bmx_grid.report.html import MOST_MAPS, answer_in_notebook, write_report
from bmx_grid.report.maps import MapScale, maps_of, pack_gains, scale_of
from bmx_grid.sweep.executors.local import Sequential
from bmx_grid.sweep.folder import OutputFolder
from bmx_grid.sweep.plan import make_plan
from bmx_grid.sweep.scoring import run_plan
from bmx_grid.sweep.settings import PlanOptions
from bmx_grid.sweep.tables import evaluation_tables, settings_table

HOSTILE = "<script>alert(1)</script>\"'&</td>"
VOID = {"meta", "link", "input", "img", "br", "hr"}


class Page(HTMLParser):
    """What a browser would make of a page: tags in order, texts by the tag around them, and tags left open.

    visible: the words that are shown without a click or a script; open_tables: how many tables.
    """

    def __init__(self, text):
        super().__init__()
        self.text, self.tags, self.texts, self.open, self.ids = text, [], [], [], []
        self.visible, self.open_tables = [], 0
        self.feed(text)
        self.close()

    @property
    def folded(self):
        if "details" in self.open:
            return self.open[-1] != "summary"
        return not {"head", "script", "style"}.isdisjoint(self.open)

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


def example(words=("a", "b"), names=("d", "de-en", "m", "lime"), segment="7", system=None):
    marked = tuple(place == 0 for place in range(len(words)))
    sides = (
        ExampleSide("source", words, np.linspace(-1.0, 0.5, len(words)), marked),
        ExampleSide("hypothesis", (), np.empty(0), ()),
    )
    scores = {"metric": RankedScore(0.5, 3.0), "boosted": RankedScore(0.25, 2.0), "human": RankedScore(70.0, 2.0)}
    return Example("best move", segment, system, names, 0.4, -1.4, 9, sides, **scores)


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
def test_the_answer_stands_first_and_everything_is_in_the_document_once(tmp_path, n, blank_figures):
    analysis = with_verdicts(n)
    facts = facts_of_config({"name": "a sweep", "limit": 1000, "seed": 0})
    files = write_analysis(analysis, tmp_path, list, facts=facts, figures=FigureOptions("all" if n == 1 else "page"))
    assert len(set(files)) == len(files) and all(path.is_file() for path in files)
    page = read(tmp_path)
    lead, *_ = [text for tag, text in page.texts if tag == "p"]
    assert lead == "No gain is shown." and page.visible[:2] == ["a", "sweep"]
    assert f"{2 * n} no gain shown" in " ".join(page.visible), "how many verdicts"
    shown = " ".join(page.visible)
    for line in headline.summary_lines(analysis)[1:]:  # what the verdicts mean, and what to do next
        assert " ".join(line.replace(" -", " −").replace("[-", "[−").split()) in shown
    order = ["answer", "verdicts", "maps", "numbers", "details", "of-table-settings", "how-to-read", "what-was-run"]
    assert sorted(order, key=page.ids.index) == order
    assert page.open_tables == 1, "that of the verdicts"
    assert "table-overview" not in page.ids, "no second answer beside verdicts"
    assert len(set(page.ids)) == len(page.ids)
    assert not page.having("template"), "browsers search and print what is in the document"
    assert len(page.having("img")) == len(page_figures(analysis)) and all(image["alt"] for image in page.having("img"))
    tables = {f"table-{shown.stem}" for shown in analysis.tables()}
    assert {name for name in page.ids if name.startswith("table-")} == tables
    facts = facts_of(page)
    assert facts["limit"] == "the first 1,000 segment ids of each language pair"
    assert facts["date"] == datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    assert "Python" in facts["versions"]
    assert facts["signature of the table"].startswith("table:")
    assert "table:" not in page.told("p")


def facts_of(page):
    terms, facts = ([text for tag, text in page.texts if tag == kind] for kind in ("dt", "dd"))
    return dict(zip(terms, facts, strict=True))


def rows_of(page, name):
    """The words of the rows of a table, header first; what is below another word is behind a |."""
    (table_text,) = re.findall(rf'<table id="{name}".*?</table>', page.text, flags=re.DOTALL)
    rows = []
    for row in re.findall("<tr>(.*?)</tr>", table_text, flags=re.DOTALL):
        cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.DOTALL)
        rows.append([re.sub(r"<[^>]+>", "", cell.replace("<small>", "|")).strip() for cell in cells])
    return rows


def test_a_row_of_a_verdict_has_what_a_reader_asks(tmp_path):
    surfaces = {("d", "a", f"m{number}", "lime"): peaked(0.5) for number in range(4)}
    numbers = {"baseline": 0.5, "partial_r": 0.25, "length_gain": -0.0004, "p_gain_holm": 0.0123, "pairs": 1}
    helping = {"metric": "m0", "verdict": "helps", "gain": (0.049, 0.036, 0.061), **numbers}
    kept = {"metric": "m1", "gain": (0.0, 0.0, 0.0), "verdict": "no gain shown", "n": 40}
    doubted = {"metric": "m2", "gain": (0.008, 0.001, 0.014), "verdict": "no gain shown", "p_gain_holm": 0.056}
    rows = (helping, {**doubted, "reassigned_gain": 0.002}, kept)
    page = written(tmp_path, analyse_table(table(surfaces), frames={"verdicts": verdicts(*rows)}))
    head, first, second, third = rows_of(page, "verdicts")
    assert head[:4] == ["metric, explainer", "verdict", "correlation: baseline → boosted", "gain [95 % interval]"]
    assert "reassigned attributions" in head and "segments" in head, "as rows differ in them"
    assert first[:4] == ["m0|LIME · d", "▲ helps", "0.500 → 0.549|", "+0.049|[+0.036, +0.061]"]
    assert first[5:] == ["0.000", "n/a", "+0.250", "0.012", "1,500"]
    assert second[3] == "+0.008*|[+0.001, +0.014]" and second[6] == "+0.002"
    assert third[3] == "not boosted|w = 1 was chosen"
    (drawn, *_) = [svg["aria-label"] for svg in page.having("svg") if "bar" in svg.get("class", "")]
    assert drawn == "gain +0.049, from +0.036 to +0.061; length alone 0.000"


def test_each_question_has_its_table_of_verdicts(tmp_path):
    surfaces = {("d", "a", f"m{number}", "lime"): peaked(0.5) for number in range(2)}
    rows = [{"metric": f"m{number}", "point": point} for number in range(2) for point in ("elsewhere", "published")]
    page = written(tmp_path, analyse_table(table(surfaces), frames={"verdicts": verdicts(*rows)}))
    assert [name for name in page.ids if name.startswith("verdicts")] == ["verdicts", "verdicts-published"]
    assert [len(rows_of(page, name)) for name in ("verdicts", "verdicts-published")] == [1 + 2, 1 + 2]
    titles = [text for tag, text in page.texts if tag == "h2"]
    assert titles[:2] == ["Boosts chosen on other language pairs", "Boosts at the published point"]


def test_a_column_with_one_value_is_said_once_above_the_table(tmp_path):
    rows = tuple((Cell(name), Cell("wmt"), Cell(value)) for name, value in (("a", 0.5), ("b", -0.25)))
    single = ((Cell("a"), Cell("wmt"), Cell(0.5)),)
    header = ("metric", "data set", "r")
    tables = [Table("two", "Two", header, (rows,), ()), Table("one", "One", header, (single,), ())]
    page = written(tmp_path, tables=tables)
    assert rows_of(page, "table-two") == [["metric", "r"], ["a", "0.5"], ["b", "−0.25"]]
    assert "All rows: data set wmt." in re.sub(r"\s+", " ", page.told("p"))
    assert rows_of(page, "table-one") == [list(header), ["a", "wmt", "0.5"]]


def test_counts_are_shown_where_nothing_was_judged(tmp_path):
    page = written(tmp_path)
    order = ["answer", "table-overview", "maps", "of-table-settings", "what-was-run"]
    assert sorted(order, key=page.ids.index) == order
    assert page.open_tables == 1 and "No boost was judged" in " ".join(page.visible)


def test_a_brief_table_of_another_package_is_open_beside_verdicts(tmp_path):
    """As on the terminal; those of our own questions, which verdicts stand for, are below."""
    rows = (((Cell("de-en"), Cell(-0.5)),),)
    theirs = [Table(stem, stem, ("pair", "r"), rows, (), brief=stem == "short") for stem in ("long", "short")]
    question = SimpleNamespace(__name__="theirs.question", compute=lambda given: {}, tables=lambda result: theirs)
    analysis = replace(with_verdicts(1), questions=(*with_verdicts(1).questions, question))
    page = written(tmp_path, analysis)
    order = ["verdicts", "table-short", "maps", "table-long"]
    assert page.open_tables == 2 and sorted(order, key=page.ids.index) == order


def test_a_page_of_metrics_opens_few_tables(tmp_path):
    rows = (((Cell("de-en"), Cell(-0.5)),),)
    tables = [Table(f"t{name}", f"T {name}", ("pair", "r"), rows, (), brief=True) for name in "abcd"]
    frame = pd.DataFrame({"dataset": ["toy"] * 2, "metric": ["chrf", "bleu"], "explainer": "none"}).assign(
        language_pair="de-en"
    )
    write_report(Analysis({"correlations": frame}), tmp_path / "report.html", figures=[], tables=tables)
    page = read(tmp_path)
    assert (page.open_tables, len(page.having("table"))) == (3, 4)
    assert "−0.5" in page.visible
    assert "toy · 1 language pair · 2 metrics · without an explainer" in page.told("p")


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
    drawn = [(drawing, render(drawing)) for drawing in page_figures(analysis)]
    page = written(tmp_path / "out", analysis, figures=drawn)
    assert len(page.having("script")) == 2
    assert [text for tag, text in page.texts if tag == "strong" and HOSTILE in text], "the name of a heat map"
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert len(page.having("img")) == len(drawn) == 1
    assert not [path for path in tmp_path.iterdir() if path.name != "out"]


def test_a_notebook_shows_the_tables_of_verdicts_of_the_page(tmp_path):
    rows = [{"metric": "m1", "verdict": "helps", "gain": 0.05}, {"metric": HOSTILE}, {"point": "published"}]
    analysis = analyse_table(table(random_surfaces(1)), frames={"verdicts": verdicts(*rows)})
    write_report(analysis, tmp_path / "report.html", figures=[], tables=[])
    of_page = re.findall("<table id=.verdicts.*?</table>", (tmp_path / "report.html").read_text(), flags=re.DOTALL)
    shown = answer_in_notebook(analysis, remarks=[f"1 failure {HOSTILE}"], table="", footer=HOSTILE)
    assert re.findall("<table .*?</table>", shown, flags=re.DOTALL) == of_page and len(of_page) == 2
    page = Page(shown)
    assert not page.having("script") and sum(HOSTILE in text for _, text in page.texts) == 3
    table_of_numbers = "<table><tr><td>1</td></tr></table>"
    without = Page(answer_in_notebook(None, remarks=["1 failure."], table=table_of_numbers, footer="no tables."))
    assert [text for tag, text in without.texts if tag in ("p", "td")] == ["1 failure.", "1", "no tables."]


def decoded(grids, place):
    """The gains of a setting as the page decodes them: float64[P, W]."""
    _, gains_text = grids["settings"][place]
    gains = np.frombuffer(zlib.decompress(base64.b64decode(gains_text)), dtype="<i2").reshape(len(grids["w"]), -1)
    return np.where(gains == -32768, np.nan, gains / 10_000).T


def test_the_page_holds_every_gain_to_four_decimals():
    holed = peaked(0.5)
    holed[3, 0] = np.nan
    analysis = analyse_table(table({**random_surfaces(1), ("d9", "a", "m1", "lime"): holed}))
    grids = pack_gains(analysis, scale_of(analysis))
    assert [float(power.replace("−", "-")) for power in grids["p"]] == P.tolist()
    assert [float(weight) for weight in grids["w"]] == W.tolist()
    for place, (baseline, _) in enumerate(grids["settings"]):
        np.testing.assert_allclose(decoded(grids, place), analysis.table.gains[place], rtol=0, atol=0.5e-4 + 1e-12)
        assert baseline == analysis.table.baseline[place]


def test_a_map_shows_the_nearest_power_of_each_column_and_stretches_those_around_0():
    scale = MapScale(np.arange(-300, 300) / 10, W, 0.05)
    assert scale.places[0] == 0 and scale.places[-1] == 1
    # arsinh(29.9) and arsinh(-30) by hand: 4.0915 and -4.0948; 0 is in the middle, ±1 at .8814 of them.
    zero, one = (scale.places[int(np.abs(scale.p - power).argmin())] for power in (0, 1))
    assert zero == pytest.approx(4.0948 / 8.1863, abs=1e-4) and one == pytest.approx(
        (4.0948 + 0.8814) / 8.1863, abs=1e-4
    )
    middles = (np.arange(len(scale.columns)) + 0.5) / len(scale.columns)
    distances = np.abs(scale.places[:, None] - middles)
    assert (distances[scale.columns, np.arange(len(middles))] == distances.min(axis=0)).all()
    numbers = [text for _, text in scale.powers]
    assert numbers == ["−30", "−10", "−3", "−1", "0", "1", "3", "10", "29.9"]


@pytest.mark.parametrize(
    ("powers", "shown"),
    [
        pytest.param([-np.inf, -1.0, 0.0, 1.0, np.inf], ["−inf", "−1", "0", "1", "inf"], id="infinite ones"),
        pytest.param([2.0], ["2"], id="one"),
        pytest.param([0.5, 0.75], ["0.5", "0.75"], id="none that is round"),
    ],
)
def test_a_map_has_place_for_any_powers(powers, shown):
    scale = MapScale(np.array(powers), W, 0.05)
    assert [text for _, text in scale.powers] == shown
    assert np.isfinite(scale.places).all() and set(scale.columns) == set(range(len(powers)))


def test_infinite_powers_are_on_the_page(tmp_path):
    powers = np.array([-np.inf, *P[1:-1], np.inf])
    surface = flat()
    surface[0, 0] += 0.1
    analysis = analyse_table(table({("d", "a", "m", "lime"): surface}, p=powers))
    page = written(tmp_path, analysis)
    assert (page.grids["p"][0], page.grids["p"][-1]) == ("−inf", "inf")
    (shown,) = maps_of(analysis, scale_of(analysis))
    # The lowest of three weights: its middle is at five sixths from the top.
    assert dict(shown["marks"])["best"] == pytest.approx((0.0, 5 / 6))


def test_marks_of_a_map_where_there_is_none():
    """Nothing boosts, nothing changes, nothing is defined, a control."""
    surfaces = (flat(0.5, 0.4), flat(0.5, 0.5), flat(0.5, np.nan), peaked(0.5))
    names = [("d", "a", metric, "lime") for metric in ("m0", "m1", "m2", "m3")]
    control = {("d", "a", "random", "lime"): peaked(0.5, gain=0.4)}
    analysis = analyse_table(table({**dict(zip(names, surfaces, strict=True)), **control}))
    scale = scale_of(analysis)
    maps = list(maps_of(analysis, scale))
    assert [shown["name"] for shown in maps] == ["m0", "m1", "m2", "m3", "random"], "controls last"
    marks = [{kind for kind, _ in shown["marks"]} for shown in maps]
    assert ["best" in kinds for kinds in marks] == [False, True, False, True, True]
    assert "published" not in marks[-1] and "published" in marks[3], "controls have no published point"
    assert scale.limit == 0.05, "0.1 is gained; a control and larger gains do not count"
    grids = pack_gains(analysis, scale)
    assert not decoded(grids, 1).any()
    assert np.isnan(decoded(grids, 2)[:, W != 1]).all()


def test_the_point_chosen_elsewhere_is_marked():
    names = ("d", "a", "m", "lime")
    points = frames({names: 0.01}, w=0.5, p=1.0)["points"]
    points = points[points["point"] == "elsewhere"]
    analysis = analyse_table(table({names: peaked(0.5)}), frames={"points": points})
    scale = scale_of(analysis)
    (shown,) = maps_of(analysis, scale)
    power = int(np.flatnonzero(P == 1.0)[0])
    assert dict(shown["marks"])["elsewhere"] == (scale.places[power], 0.5)


def test_maps_beyond_those_that_a_page_bears_are_folded(tmp_path):
    surfaces = {("d", f"p{number}", "m", "lime"): peaked(0.5) for number in range(MOST_MAPS + 2)}
    page = written(tmp_path, analyse_table(table(surfaces)))
    maps = [figure for figure in page.having("figure") if figure.get("class") == "map"]
    assert [int(figure["data-setting"]) for figure in maps] == list(range(MOST_MAPS + 2))
    assert "2 more heat maps" in page.told("summary")


def contrast(one, other):
    """The contrast of two colours, as the guidelines for accessible content (WCAG 2.2, 1.4.3) define it."""
    luminances = []
    for colour in (one, other):
        parts = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        luminances.append(float(linear @ [0.2126, 0.7152, 0.0722]))
    return (max(luminances) + 0.05) / (min(luminances) + 0.05)


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_all_words_can_be_read(mode):
    style = (SHARED / "page.css").read_text(encoding="utf-8")
    colours = dict(re.findall(r"--(\w+): (#\w{6})", re.findall(r":root \{(.*?)\}", style, flags=re.DOTALL)[mode]))
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    for words, ground in (("ink", "page"), ("quiet", "page"), ("ink", "head"), ("quiet", "head"), ("maybe", "page")):
        assert contrast(colours[words], colours[ground]) >= 4.5, words
    for badge in ("good", "bad"):  # the colour of the page on that of the verdict
        assert contrast(colours["page"], colours[badge]) >= 4.5, badge


def test_the_page_says_what_is_shown(tmp_path):
    of_grid = table({("d", pair, "m", "lime"): peaked(0.5) for pair in "abc"})
    known = pd.DataFrame(of_grid.settings).assign(
        baseline=of_grid.baseline, correlation="spearman", aggregation="LehmerMean", n_segments=600, n_used=500
    )
    known = known.assign(repeat_deviation=np.nan, constructed=False)
    paragraphs = written(tmp_path, analyse_table(of_grid, frames={"settings": known})).told("p")
    for words in ("w = 1 is the metric alone", "p runs from −2 to 1.9", "is Spearman's ρ", "M is Lehmer"):
        assert words in paragraphs
    assert "in-sample: lime w 0.5, p 0.5." in paragraphs
    assert not re.search("held.out", paragraphs.replace("Not held out", ""), re.IGNORECASE)
    paragraphs = written(tmp_path, analyse_table(of_grid)).told("p")
    assert (
        "is correlation" in paragraphs and "M is the power mean" in paragraphs and "w · s + (1 − w) · M" in paragraphs
    )


def test_figures_are_images_in_the_page_with_their_words(tmp_path):
    svg = b"<svg><script>alert(1)</script></svg>"
    drawing = Drawing("a", "A title", f"Gains <b>by</b> {HOSTILE}", lambda: None)
    page = written(tmp_path, figures=[(drawing, svg), (Drawing("b", "Other", "d", lambda: None), svg)])
    images = page.having("img")
    assert [base64.b64decode(image["src"].partition(",")[2]) for image in images] == [svg] * 2
    assert images[0]["alt"] == f"A title. Gains <b>by</b> {HOSTILE}"
    assert f"Gains <b>by</b> {HOSTILE}" in page.told("figcaption")
    assert len(page.having("script")) == 2


def test_words_carry_their_sign_without_colour_their_strength_and_what_people_marked(tmp_path):
    page = written(tmp_path, examples=[example(words=("low", "mid", "high"))])
    spans = [(span["class"], span.get("style")) for span in page.having("span") if "class" in span]
    words = [span for span in spans if span[0].split()[0] == "word"][2:]  # after the legend
    assert words == [("word down", "--s:1.00"), ("word down", "--s:0.25"), ("word up", "--s:0.50")]
    assert [name for name, _ in spans if name.split()[0] == "token"] == ["token marked", "token", "token"]
    assert {("small", "✗ −1"), ("small", "−0.25"), ("small", "+0.5"), ("em", "no words")} <= set(page.texts)
    texts = " ".join(text for _, text in page.texts)
    assert "Best move: segment 7" in texts
    assert "Boosted, 1 rank nearer to its rank by human score, of 9: metric 0.5 (rank 3)" in texts


def test_equal_segment_ids_are_told_apart_by_their_systems(tmp_path):
    page = written(tmp_path, examples=[example(system=None), example(system="A<b>"), example(system="B")])
    headings = [text for tag, text in page.texts if tag == "h3" and "segment" in text]
    assert headings == [f"Best move: segment 7{system}" for system in ("", " of A<b>", " of B")]


def analysed(results, folder, **fixed):
    points = {name: Point(w=w, p=p) for name, (w, p) in fixed.items()}
    tables = {"settings": settings_table(results), **evaluation_tables(GRID, results)} if results else {}
    options = AnalysisOptions(points)
    return analyse_sweep(results, options, OutputFolder(folder), tables=tables)


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
    sentence, *_ = headline.summary_lines(analysis)
    assert sentence.startswith("LIME at w 0.4, p -1.4, published (") and message in sentence
    assert set(analysis.fixed) == {"lime"}
    page = read(tmp_path)
    assert rows_of(page, "table-overview")[1][:3] == ["LIME", "0.4", "−1.4"]
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
    _, _, said = analyse_sweep(results, AnalysisOptions(fixed), OutputFolder(tmp_path), tables=tables)
    assert said.startswith("Erasure at w 0, p 1, given")
    page = read(tmp_path)
    assert [text.partition(":")[0] for tag, text in page.texts if tag == "h3"][1:] == [
        "Best move",
        "Worst move",
        "Typical",
    ]
    assert facts_of(page)["segments"] == "sample de-en 15"
    assert all(result.signature in page.told() for result in results)
