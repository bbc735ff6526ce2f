"""The page of an analysis: self-contained, complete, safe against hostile names, and true to the numbers."""

import base64
import datetime
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy.stats import rankdata
from some_frames import frames, verdicts
from some_results import GRID, make_result
from some_tables import P, W, flat, peaked, random_surfaces, settings_of, table

from bmx_grid.analysis import headline
from bmx_grid.analysis.base import Cell, Table
from bmx_grid.analysis.examples import Example, Side, WordExample, choose_examples, ranks, strengths
from bmx_grid.analysis.gains import at_points
from bmx_grid.analysis.questions import analyse
from bmx_grid.analysis.table import Options, Setting
from bmx_grid.datasets.tabular import Sample
from bmx_grid.evaluations.grid import GridEvaluation, PowerRange
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.explainers.random import Random
from bmx_grid.measures.grid import Point, boosted_scores
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.report.analysis_files import analyse_sweep, page_figures, write_analysis
from bmx_grid.report.figures.canvas import Drawing, save
from bmx_grid.report.page.html import LEVELS, UNDEFINED, heat_maps, write_metrics_report, write_report
from bmx_grid.sweep.executors.local import Sequential
from bmx_grid.sweep.plan import make_plan
from bmx_grid.sweep.runner import run_plan
from bmx_grid.sweep.settings import SweepPlan

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
        (found,) = [text for tag, text in self.texts if tag == "script" and text.startswith("{")]
        return json.loads(found)


def written(tmp_path, analysis=None, **parts):
    analysis = analyse(table(random_surfaces(0))) if analysis is None else analysis
    path = tmp_path / "report.html"
    write_report(analysis, path, **{"figures": [], "tables": [], **parts})
    page = Page(path.read_text(encoding="utf-8"))
    assert page.open == []
    return page


def example(words=("a", "b"), names=("d", "de-en", "m", "lime"), segment="7"):
    sides = (
        Side("source", words, np.linspace(-1.0, 0.5, len(words))),
        Side("hypothesis", (), np.empty(0)),
    )
    return Example(segment, names, 0.4, -1.4, sides, 0.5, 0.25, 70.0, 3.0, 1.0, 2.0, 9)


def with_verdicts(*rows, n=12):
    surfaces = {("d", pair, f"m{at}", "lime"): peaked(0.5) for at in range(n) for pair in "abc"}
    rows = rows or [{"metric": f"m{at}", "boost": boost} for at in range(n) for boost in ("learned", "share")]
    return analyse(table(surfaces), frames={"verdicts": verdicts(*rows)})


def test_a_page_needs_no_network_and_no_other_file(tmp_path):
    page = written(tmp_path, examples=[example()])
    links = [value for _, attributes in page.tags for name, value in attributes.items() if name in ("src", "href")]
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"url\(|@import|https?://|fetch\(|XMLHttp", page.text)
    (policy,) = [one["content"] for one in page.having("meta") if "http-equiv" in one]
    assert policy.startswith("default-src 'none'")


@pytest.mark.parametrize("n", [pytest.param(1, id="a-metric"), pytest.param(60, id="many-metrics")])
def test_the_answer_stands_first_and_all_else_is_folded(tmp_path, n, blank_figures):
    analysis = with_verdicts(n=n)
    write_analysis(analysis, tmp_path)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert len(page.visible) <= 900
    assert page.open_tables <= 6
    leads, shown = headline.answer(analysis), " ".join(page.visible)
    for line in [leads[0], *leads[n:]]:  # with what the verdicts mean, and what to do next
        assert " ".join(line.replace(" -", " −").replace("[-", "[−").split()) in shown
    assert [one for one in page.ids if not one.startswith("table-")][:2] == ["answer", *page.ids[1:2]]
    order = ["answer", "figure-boosts", "verdicts", "counts", "settings", "tables", "what-was-run"]
    order = [name for name in order if name in page.ids]
    assert {"answer", "verdicts", "counts", "settings", "tables", "what-was-run"} <= set(order)
    assert sorted(order, key=page.ids.index) == order
    assert len(set(page.ids)) == len(page.ids)
    assert ("more-answers" in page.ids) == (n > 12)


def test_a_page_of_metrics_opens_few_tables(tmp_path):
    made = [
        Table(f"t{at}", f"T {at}", ("pair", "r"), (((Cell("de-en"), Cell(-0.5)),),), (), brief=True) for at in "abcd"
    ]
    write_metrics_report(tmp_path / "report.html", title="Metrics", introduction=["Two metrics: x."], tables=made)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.open_tables == len(made[:3])
    assert {"Metrics", "−0.5"} <= set(page.visible)
    assert len(page.having("table")) == len(made)


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"examples": [example(words=(HOSTILE, "b"))]}, id="words"),
        pytest.param({"examples": [example(names=("d", HOSTILE, "m", "lime"))]}, id="names-of-an-example"),
        pytest.param({"examples": [example(segment=HOSTILE)]}, id="segment-id"),
        pytest.param({"facts": [(HOSTILE, HOSTILE)]}, id="facts"),
        pytest.param({"date": HOSTILE}, id="date"),
        pytest.param(
            {"tables": [Table("t", HOSTILE, (HOSTILE,), (((Cell(HOSTILE),),),), (HOSTILE,))]},
            id="table",
        ),
    ],
)
def test_hostile_text_is_shown_and_never_run(tmp_path, parts):
    page = written(tmp_path, **parts)
    assert len(page.having("script")) == 2
    assert any(HOSTILE in text for _, text in page.texts)
    assert "alert(1)" not in "".join(text for tag, text in page.texts if tag in ("script", "style"))


def test_hostile_names_of_settings_stay_text_in_the_table_and_in_the_data(tmp_path):
    surfaces = {(HOSTILE, HOSTILE, HOSTILE, name): peaked(0.5) for name in ("lime", HOSTILE)}
    found = table({("d", "a", "m", name): peaked(0.5) for name in ("lime", "shap")})
    page = written(tmp_path, analyse(replace(found, settings=tuple(Setting(*names) for names in surfaces))))
    assert len(page.having("script")) == 2
    assert {tuple(one["names"]) for one in page.grids["settings"]} == set(surfaces)
    assert ("th", HOSTILE) in page.texts


def test_half_characters_do_not_stop_a_page(tmp_path):
    page = written(tmp_path, examples=[example(words=("a\ud800", "b"))])
    assert any("a?" in text or "a\ufffd" in text for _, text in page.texts)


def decoded(grids, at):
    """The gains of a setting as the page decodes them: float64[P, W], w = 1 is 0."""
    one = grids["settings"][at]
    low, high = np.frombuffer(zlib.decompress(base64.b64decode(one["gains"])), dtype=np.uint8).reshape(2, -1)
    changes = (low + 256 * high.astype(np.int64)).reshape(-1, len(grids["p"]))
    whole = (np.cumsum(changes, axis=1) % 65536).astype(np.uint16).view(np.int16).T
    found = np.zeros((len(grids["p"]), len(grids["w"])))
    found[:, np.array(grids["w"]) != 1] = np.where(whole == UNDEFINED, np.nan, whole * one["step"])
    return found


def test_the_heat_map_holds_every_gain_to_half_a_step(tmp_path):
    surfaces = random_surfaces(1)
    holed = peaked(0.5)
    holed[3, 0] = np.nan
    surfaces["d9", "a", "m1", "lime"] = holed
    analysis = analyse(table(surfaces))
    grids = heat_maps(analysis)
    best = analysis.ask(at_points)[["best_w", "best_p", "best"]]
    assert (grids["p"], grids["w"]) == (P.tolist(), W.tolist())
    for at, one in enumerate(grids["settings"]):
        gains = analysis.table.gains[at]
        np.testing.assert_allclose(decoded(grids, at), gains, rtol=0, atol=one["step"] / 2 + 1e-12)
        assert one["step"] <= np.nanmax(np.abs(gains)) / LEVELS + 1e-18
        assert one["best"] == best.iloc[at].tolist()


def test_a_setting_that_changes_nothing_has_gains_of_zero():
    analysis = analyse(table({("d", "a", "m", "lime"): flat(0.5, 0.5), ("d", "b", "m", "lime"): peaked(0.5)}))
    assert not decoded(heat_maps(analysis), 0).any()


def test_where_the_metric_alone_is_best_there_is_no_best_point(tmp_path):
    analysis = analyse(table({("d", "a", "m", "lime"): flat(0.5, 0.4), ("d", "b", "m", "lime"): peaked(0.5)}))
    page = written(tmp_path, analysis)
    assert [(one["best"] is None, one["alone"]) for one in page.grids["settings"]] == [(True, True), (False, False)]
    assert ("td", "metric alone") in page.texts
    assert ("td", "−2") not in page.texts  # the lowest p, which the rule gives


def test_a_setting_that_is_undefined_but_for_the_metric_alone_is_null_in_the_data(tmp_path):
    surfaces = {("d", "a", "m", "lime"): flat(0.5, np.nan), ("d", "b", "m", "lime"): peaked(0.5)}
    page = written(tmp_path, analyse(table(surfaces)))
    first = page.grids["settings"][0]
    assert (first["baseline"], first["best"], first["alone"], first["fixed"]) == (0.5, None, True, None)
    assert np.isnan(decoded(page.grids, 0)[:, W != 1]).all()


def test_controls_have_no_fixed_point_and_are_not_shown_first():
    surfaces = {("d", "a", "random", "lime"): peaked(0.5, gain=0.4), ("d", "a", "m", "lime"): peaked(0.5)}
    grids = heat_maps(analyse(table(surfaces)))
    fixed = {one["names"][2]: one["fixed"] for one in grids["settings"]}
    assert fixed["random"] is None
    assert fixed["m"] is not None
    assert grids["settings"][grids["first"]]["names"][2] == "m"


def test_every_setting_has_a_row_of_its_numbers_and_undefined_ones_say_so(tmp_path):
    surfaces = {("d", "a", "random", "lime"): flat(), ("d", "a", "m", "lime"): peaked(0.5)}
    analysis = analyse(table(surfaces))
    page = written(tmp_path, analysis)
    cells = [text for tag, text in page.texts if tag == "td"]
    rows = {cells[at]: cells[at + 2 : at + 11] for at in (1, 13)}
    assert rows["random"][4:] == ["n/a"] * 4 + ["metric alone"]
    assert rows["m"][0] == "0.5000"
    best = analysis.ask(at_points).set_index("metric")["gain"]["m"]
    assert rows["m"][2] == f"{best:+.4f}"


def test_the_counts_are_folded_with_the_brief_table(tmp_path):
    surfaces = {
        ("d", pair, "m", "lime"): surface for pair, surface in zip("abc", [peaked(0.5)] * 2 + [flat()], strict=True)
    }
    page = written(tmp_path, analyse(table(surfaces)), tables=analyse(table(surfaces)).tables())
    assert "2 of 3 settings are better, 1 equal or worse" in page.told("p")
    assert "For 1 of 3 settings the best is the metric alone" in page.told("p")
    assert page.ids.index("counts") < page.ids.index("table-overview") < page.ids.index("settings")


def test_only_gains_that_survive_are_bold(tmp_path):
    gains = {("d", pair, "m", "lime"): gain for pair, gain in zip("abc", (0.1, 0.02, -0.03), strict=True)}
    holm = dict(zip(gains, (0.01, 0.5, 0.01), strict=True))
    made = table({names: peaked(0.5, gain=gain) for names, gain in gains.items()})
    verdict = verdicts({"gain": -0.02})
    options = Options(fixed={"lime": Point(0.5, 0.5)})
    analysis = analyse(made, options, frames={**frames(gains, holm=holm), "verdicts": verdict})
    page = written(tmp_path, analysis, tables=analysis.tables())
    bold = [text for tag, text in page.texts if tag == "strong" and text[0] in "+−"]
    # its tested gain, its gain in the table of results, and the setting's fixed gain
    assert sorted(bold) == ["+0.1000", "+0.1000 [+0.0900, +0.1100]", "+0.10000"]


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        pytest.param(
            {"correlation": "spearman"},
            ["Spearman's ρ with human scores", "500 to 502 segments per language pair, 1,503 in 3 language pairs"],
            id="known",
        ),
        pytest.param(None, ["is correlation with human scores", "the table does not say how many"], id="nothing-known"),
        pytest.param({"aggregation": "LehmerMean"}, ["M is LehmerMean with the parameter p"], id="another-mean"),
    ],
)
def test_the_page_says_what_is_shown_and_on_what_it_rests(tmp_path, known, expected):
    of_grid = table({("d", pair, "m", "lime"): peaked(0.5) for pair in "abc"})
    beside = {} if known is None else {"settings": settings_of(of_grid, **known)}
    page = written(tmp_path, analyse(of_grid, frames=beside))
    first = " ".join([text for tag, text in page.texts if tag == "p"])
    for words in ("w · s + (1 − w) · M", "w = 1 is the metric alone", "p runs from −2 to 1.9", *expected):
        assert words in first


@pytest.mark.parametrize(
    ("dataset", "point", "told"),
    [
        pytest.param("d", None, "in-sample (chosen where it is judged)", id="this-table"),
        pytest.param("d", Point(0.5, 0.5), "given (what it was chosen on is not known here)", id="given"),
        pytest.param("d", Point(-1.4, 0.4), "as published (chosen on other data)", id="published"),
        *(
            pytest.param(name, Point(-1.4, 0.4), "as published (in-sample: the paper chose it on these", id=name)
            for name in ("wmt17", "eval4nlp21", "mlqe_pe")
        ),
    ],
)
def test_where_points_come_from_is_said_and_these_are_never_called_held_out(tmp_path, dataset, point, told):
    options = Options(fixed={} if point is None else {"lime": point})
    analysis = analyse(table(random_surfaces(0, datasets=(dataset,))), options)
    page = written(tmp_path, analysis, tables=analysis.tables())
    lead = " ".join(text for tag, text in page.texts if tag == "p")
    assert told in lead
    assert not re.search("held.out", lead.replace("Not held out", ""), re.IGNORECASE)


def test_the_random_control_is_not_in_the_headline(tmp_path):
    surfaces = random_surfaces(0, explainers=("lime", "random"))
    analysis = analyse(table(surfaces))
    page = written(tmp_path, analysis, tables=[one for one in analysis.tables() if one.brief])
    assert "controls" not in page.ids
    assert ("th", "all") in page.texts
    assert not [text for tag, text in page.texts if tag == "th" and text == "random"]


def test_figures_are_images_in_the_page_with_their_words(tmp_path):
    file = tmp_path / "a.svg"
    file.write_text("<svg><script>alert(1)</script></svg>")
    drawing = Drawing("boosts", "A title", f"Gains <b>by</b> {HOSTILE}", lambda: None)
    page = written(tmp_path, figures=[(drawing, file), (Drawing("b", "Other", "d", lambda: None), file)])
    assert [base64.b64decode(one["src"].partition(",")[2]) for one in page.having("img")] == [file.read_bytes()] * 2
    assert page.having("img")[0]["alt"] == f"A title. Gains <b>by</b> {HOSTILE}"
    assert f"Gains <b>by</b> {HOSTILE}" in page.told("figcaption")
    assert len(page.having("script")) == 2
    assert page.ids.index("figure-boosts") < page.ids.index("figures") < page.ids.index("figure-b")


def test_a_page_of_hostile_names_with_its_figures_runs_nothing(tmp_path):
    found = table({("d", "a", name, "lime"): peaked(0.5) for name in "abc"})
    names = [Setting(HOSTILE, HOSTILE, name, HOSTILE) for name in ("m", HOSTILE, "a\nb")]
    known = {**dict(zip(("dataset", "language_pair", "metric", "explainer"), names[1], strict=True)), "pairs": 1}
    analysis = analyse(replace(found, settings=tuple(names)), frames={"verdicts": verdicts(known)})
    drawn = [(one, save(one, tmp_path / "out")) for one in page_figures(analysis)]
    page = written(tmp_path / "out", analysis, figures=drawn)
    assert len(page.having("script")) == 2
    assert not [one for _, attributes in page.tags for one in attributes if one.startswith("on")]
    assert len(page.having("img")) == len(drawn) == 1
    assert not [path for path in tmp_path.iterdir() if path.name != "out"]


def test_words_carry_their_sign_without_colour_and_strength_within_the_segment(tmp_path):
    page = written(tmp_path, examples=[example(words=("low", "mid", "high"))])
    words = [one for one in page.having("span") if "word" in one.get("class", "").split()][2:]  # after the legend
    assert [one["class"] for one in words] == ["word down", "word down", "word up"]
    assert [one["style"] for one in words] == ["--s:1.00", "--s:0.25", "--s:0.50"]
    assert {("small", "−1"), ("small", "−0.25"), ("small", "+0.5")} <= set(page.texts)
    assert ("em", "no words") in page.texts


def test_marked_words_are_framed_and_have_a_sign_beside_their_attribution(tmp_path):
    sides = (
        Side("source", ("x",), np.array([1.0])),
        Side("hypothesis", ("low", "high"), np.array([-1.0, 0.5]), (True, False)),
    )
    one = WordExample("7", ("d", "de-en", "m", "lime"), True, sides, 1.0, 0.5, 1, 2, 0.625)
    page = written(tmp_path, word_examples=[one])
    assert "right-and-wrong" in page.ids
    tokens = [one["class"] for one in page.having("span") if "token" in one.get("class", "").split()]
    assert tokens == ["token", "token marked", "token"]
    assert {("small", "✗ −1"), ("small", "+0.5"), ("p", "source (no word tags)"), ("p", "hypothesis")} <= set(
        page.texts
    )
    assert any(
        text.startswith("AUC 1.00 (mean of the setting 0.62): 1 of 2 words of the hypothesis are marked, and 50% of")
        for _, text in page.texts
    )
    assert "right-and-wrong" not in written(tmp_path).ids


def test_strength_is_relative_to_both_sides_and_undefined_attributions_have_none():
    sides = [Side("a", ("x", "y"), np.array([-4.0, np.nan])), Side("b", ("z",), np.array([1.0]))]
    assert [one.tolist() for one in strengths(sides)] == [[1.0, 0.0], [0.25]]
    assert strengths([Side("a", ("x",), np.array([0.0]))])[0].tolist() == [0.0]


def test_ranks_are_those_of_scipy():
    scores = np.random.default_rng(0).integers(0, 5, size=40).astype(float)
    np.testing.assert_array_equal(ranks(scores), rankdata(-scores))


def test_everything_of_an_analysis_is_written_once_and_shown(tmp_path, blank_figures):
    analysis = with_verdicts()
    files = write_analysis(analysis, tmp_path, every_figure=True)
    assert len(set(files)) == len(files)
    assert all(path.is_file() for path in files)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert len(page.having("img")) == len(page_figures(analysis)) < len(files)
    assert all(one["alt"] for one in page.having("img"))
    shown = {f"table-{one.stem}" for one in analysis.tables()}
    assert {name for name in page.ids if name.startswith("table-")} == shown
    told = dict(zip([t for k, t in page.texts if k == "dt"], [t for k, t in page.texts if k == "dd"], strict=True))
    assert told["date"] == datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    assert "Python" in told["versions"]
    assert page.told("p").count("table:") == 1  # the signature


class TestSweep:
    """The analysis at the end of a sweep."""

    def go(self, results, folder, **fixed):
        grid = replace(GRID, fixed={name: Point(w=w, p=p) for name, (w, p) in fixed.items()})
        return analyse_sweep(results, SweepPlan((), (), (), {}), grid, folder)

    @pytest.mark.parametrize(
        ("results", "told"),
        [
            pytest.param([], "0 finished", id="nothing"),
            pytest.param([make_result(explainer="random")], "0 finished", id="a-control"),
            pytest.param(
                [make_result(seed, language_pair=str(seed), w=(0.0, 0.4)) for seed in range(3)],
                "w = 1",
                id="no-baseline",
            ),
        ],
    )
    def test_what_cannot_be_analysed_is_said_and_nothing_written(self, tmp_path, results, told):
        found = self.go(results, tmp_path)
        assert found.analysis is None
        assert found.note.startswith("no analysis: ")
        assert told in found.note
        assert list(tmp_path.iterdir()) == []

    def test_a_single_setting_is_analysed(self, tmp_path):
        found = self.go([make_result()], tmp_path, lime=(0.4, -1.4))
        sentence, *_ = headline.answer(found.analysis)
        assert sentence.startswith("LIME at w 0.4, p -1.4, as published (chosen on other data): the mean gain over 1")
        page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
        assert page.visible[page.visible.index("LIME") :][:5] == ["LIME", "at", "w", "0.4,", "p"]

    def test_the_page_of_a_sweep_says_what_it_rests_on(self, tmp_path, blank_figures):
        results = [make_result(seed, language_pair=f"l{seed}") for seed in range(3)]
        found = self.go(results, tmp_path, lime=(0.4, -1.4), shap=(0.6, -0.95))
        assert "report.html" in {path.name for path in found.files}
        assert set(found.analysis.options.fixed) == {"lime"}
        page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
        assert "Pearson's r with human scores, segment by segment (38 segments per language pair, 114" in page.told("p")


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """A finished sweep of two language pairs, and what analyses it: results, plan, grid."""
    folder = tmp_path_factory.mktemp("sweep")
    explainers = {"erasure": Erasure(), "random": Random()}
    plan = make_plan(
        {"sample": Sample(name="sample", language_pairs=("de-en", "en-de"))},
        {"chrf": Chrf()},
        explainers,
        data_dir=folder,
        cache_dir=folder / "cache",
        limit=15,
        seed=0,
    )
    fixed = {"erasure": Point(w=0.0, p=1.0)}
    grid = GridEvaluation(p=PowerRange(-1, 2, 1), w=(0.0, 0.5, 1.0), fixed=fixed)
    options = {"executor": Sequential(), "stop_on_error": True, "progress": lambda *_: None}
    return [one.result for one in run_plan(plan, {"grid": grid}, **options)], plan, grid


def test_examples_are_the_segments_that_move_most_ranks(sweep):
    results, plan, grid = sweep
    spec = grid.spec
    found = choose_examples(results, plan, spec)
    assert {one.names[3] for one in found} == {"erasure"}
    gains = {one.names: one.fixed_gain for one in results if one.explainer == "erasure"}
    assert {one.names for one in found} == {max(gains, key=gains.__getitem__)}
    (setting,) = [one.setting for one in plan.settings if one.setting.label == " · ".join(found[0].names)]
    stored = setting.slot.load(setting.keys)
    boosted = boosted_scores(
        spec.aggregation, spec.side, 1.0, 0.0, stored.base_scores, stored.ground_truth, stored.hypothesis
    )
    moved = rankdata(-stored.base_scores) - rankdata(-boosted)
    ids = [one.id for one in setting.segments.segments]
    assert [moved[ids.index(one.segment)] for one in found] == [moved.max(), moved.min()]
    for one in found:
        row = ids.index(one.segment)
        segment = setting.segments.segments[row]
        assert [" ".join(side.words) for side in one.sides] == [segment.reference, segment.hypothesis]
        np.testing.assert_array_equal(one.sides[1].attributions, stored.hypothesis[row])
        assert (one.score, one.boosted, one.human) == (
            stored.base_scores[row],
            boosted[row],
            setting.segments.human_scores[row],
        )
        assert (one.w, one.p, one.n) == (0.0, 1.0, len(ids))


def test_a_finished_sweep_is_shown_with_its_words_signatures_and_segments(sweep, tmp_path, blank_figures):
    results, plan, grid = sweep
    found = analyse_sweep(results, plan, grid, tmp_path)
    assert found.note == ""
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert len(page.having("article")) == 2
    told = " ".join(text for _, text in page.texts)
    assert all(one.signature in told for one in results)
    assert ("td", "30") in page.texts  # segments of the sample
