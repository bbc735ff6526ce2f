"""What may be said of the points that settings are evaluated at: as published, held out, in-sample, …"""

import dataclasses

import pytest
from fakes import ROOT
from some_tables import flat, peaked, table

from bmx_grid.analysis.given import Given, Options, Point
from bmx_grid.analysis.points import PUBLISHED, check_selection, shared_segments
from bmx_grid.analysis.run import analyse
from bmx_grid.analysis.signature import signature
from bmx_grid.errors import ConfigError


def one(dataset="d", pair="a", metric="m", explainer="lime", p=-1.4, gain=0.1):
    return {(dataset, pair, metric, explainer): peaked(p, gain=gain)}


AS_PUBLISHED = Options(fixed={"lime": PUBLISHED["lime"]})


@pytest.mark.parametrize(
    ("surfaces", "options", "provenance", "words", "stems"),
    [
        pytest.param(one(), None, "in-sample", "in-sample (chosen where it is judged)", [], id="medians of the table"),
        *[
            pytest.param(
                one(dataset),
                AS_PUBLISHED,
                "as published",
                "as published (in-sample: the paper chose it on these data sets)",
                [f"as_published_{dataset}"],
                id=f"the paper's point on the paper's {dataset}",
            )
            for dataset in ("wmt17", "eval4nlp21", "mlqe_pe")
        ],
        pytest.param(
            one("mqm21"),
            AS_PUBLISHED,
            "as published",
            "as published (chosen on other data)",
            ["as_published_mqm21"],
            id="the paper's point on other data",
        ),
        pytest.param(
            {**one("mine"), **one("wmt17")},
            AS_PUBLISHED,
            "as published",
            "as published (in-sample on wmt17; elsewhere chosen on other data)",
            ["as_published_mine", "as_published_wmt17"],
            id="both",
        ),
        pytest.param(
            one("wmt17"),
            Options(fixed={"lime": Point(p=-1.4, w=0.5)}),
            "given",
            "given (what it was chosen on is not known here)",
            [],
            id="a point of the user",
        ),
        pytest.param(
            one("wmt17"),
            Options(fixed={"lime": PUBLISHED["erasure"]}),
            "given",
            "given (what it was chosen on is not known here)",
            [],
            id="the paper's point of another explainer",
        ),
        pytest.param(
            one("wmt17"),
            Options(select_from=table(one("x", p=0.3))),
            "held out",
            "median of the best points of the table, held out (no data set and language pair in common)",
            ["held_out_wmt17"],
            id="chosen on other segments",
        ),
        pytest.param(
            one("wmt17"),
            Options(select_from=table(one("wmt17", metric="n", p=0.3))),
            "chosen elsewhere",
            "median of the best points of the table, chosen elsewhere (on the same segments: wmt17 · a)",
            ["chosen_elsewhere_wmt17"],
            id="chosen on the same segments with another metric",
        ),
        pytest.param(
            one("wmt17"),
            Options(select_from=table(one("x", explainer="shap", p=0.3))),
            "none",
            "none: median of the best points of the table has no lime",
            [],
            id="nothing was chosen for it",
        ),
        pytest.param(
            one("wmt17"),
            Options(fixed={"lime": Point(p=-13.1, w=0.4)}),
            "none",
            "given (what it was chosen on is not known here), p = -13.1, w = 0.4, which is not in this grid",
            [],
            id="outside the grid",
        ),
    ],
)
def test_provenance(surfaces, options, provenance, words, stems):
    analysis = analyse(table(surfaces), options)
    assert analysis.points.provenance == {"lime": provenance}
    assert analysis.origins["lime"].endswith(words)
    assert analysis.is_held_out is (provenance == "held out")
    found = [one for one in analysis.tables() if one.stem.startswith(("as_", "held_", "chosen_"))]
    assert [one.stem for one in found] == stems
    for made in found:
        assert ("held out" in " ".join([made.title, *made.notes])) is (provenance == "held out")
    said = " ".join(analysis.answers()["bmx_grid.analysis.headline"].counts)
    assert words in said


def test_an_analysis_without_points_is_not_called_held_out():
    analysis = analyse(table(one(metric="random", explainer="random")))
    assert analysis.points.provenance == {}
    assert analysis.is_held_out is False
    assert signature(analysis).endswith("|points:none")


def test_the_papers_points_are_those_of_the_configuration():
    import yaml

    fixed = yaml.safe_load((ROOT / "configs" / "grid" / "paper.yaml").read_text())["fixed"]
    assert {name: (point["w"], point["p"]) for name, point in fixed.items()} == {
        name: (point.w, point.p) for name, point in PUBLISHED.items()
    }


def test_a_signature_names_a_table_by_file_and_folder():
    other = dataclasses.replace(table(one("x", p=0.9)), origin="/a/b/other/grid.parquet")
    made = dataclasses.replace(table(one("d", "a")), origin="/a/b/c/grid.parquet")
    said = dict(part.partition(":")[::2] for part in signature(Given(made, Options(select_from=other))).split("|"))
    assert said["table"] == "c/grid.parquet"
    assert said["select.from"].partition("@")[0] == "other/grid.parquet"
    assert len(said["select.from"].partition("@")[2]) == len(said["sha256"]) == 12


def test_tables_whose_numbers_differ_have_other_signatures():
    made = table(one("d", "a"))
    at, correlation = made.p.copy(), made.correlation.copy()
    at[-1] += 1
    correlation[0, 0, 0] += 1e-12
    others = [made, dataclasses.replace(made, p=at), dataclasses.replace(made, correlation=correlation)]
    assert len({signature(Given(other, Options())) for other in others}) == 3
    assert len({signature(Given(made, Options(select_from=other))) for other in others}) == 3


def test_points_say_what_was_asked_and_what_is_used():
    analysis = analyse(table(one(explainer="shap")), Options(fixed={"shap": Point(p=-0.95, w=0.5)}))
    assert signature(analysis).endswith("|points:shap(w0.5,p-1)")
    said = analysis.points.in_words()
    assert said == "Points, given (what it was chosen on is not known here): shap w 0.5, p -0.95 (used w 0.5, p -1)."
    for made in analysis.tables():
        if made.stem in ("overview", "results_d", "gains_by_factor", "ridge_coefficients", "gain_and_baseline"):
            assert any("p -0.95 (used w 0.5, p -1)" in note for note in made.notes), made.stem


def test_a_table_that_nothing_improves_declines_to_boost():
    analysis = analyse(
        table({("d", "a", "m", "lime"): flat(), ("d", "b", "m", "lime"): flat()}), Options(tie="mildest")
    )
    assert analysis.points.asked["lime"].words == "metric alone"
    assert analysis.fixed.gain.tolist() == [0.0, 0.0]
    assert "nothing is boosted" in analysis.origins["lime"]


MAIN = {**one("d", "a"), **one("d", "b", p=0.3), **one("d", "a", metric="random", p=1.0)}


@pytest.mark.parametrize(
    ("other", "message"),
    [
        pytest.param(MAIN, r"select\.from=the table is the analysed table itself \(2 settings\)", id="itself"),
        pytest.param(
            {**one("d", "b", p=-1.0), **one("x", p=0.9)},
            r"select\.from=the table shares 1 setting with it: d · b · m · lime\. .* leave select\.from out",
            id="a setting of the same names",
        ),
        pytest.param(
            {**one("renamed", "q", p=0.3), **one("x", p=1.7)},
            r"shares 1 setting with it: d · b · m · lime\.",
            id="the same numbers under other names",
        ),
    ],
)
def test_points_are_not_judged_where_they_were_chosen(other, message):
    with pytest.raises(ConfigError, match=message):
        analyse(table(MAIN), Options(select_from=table(other)))


def test_controls_and_constant_grids_are_no_overlap():
    check_selection(table(MAIN), table({**one("x", p=0.7), **one("d", "a", metric="random", p=1.0)}))
    check_selection(table({("d", "a", "m", "lime"): flat(0.5, 0.5)}), table({("x", "b", "m", "lime"): flat(0.5, 0.5)}))


def test_shared_segments_are_data_sets_and_language_pairs():
    assert shared_segments(table(MAIN), table({**one("d", "a", "n"), **one("x", "b")})) == ["d · a"]
