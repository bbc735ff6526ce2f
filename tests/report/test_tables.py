"""The table at the end of a sweep."""

import dataclasses
import functools
import re

import numpy as np
import pytest
from some_results import at_point, make_result, with_grid

from bmx_grid.analysis.tested import GainInterval
from bmx_grid.measures.best import first_within_rounding, plateau_within_no_change
from bmx_grid.measures.grid import PAPER_W
from bmx_grid.report.table import columns_of
from bmx_grid.report.terminal import MOST_ROWS, WIDEST, in_words, sweep_table
from bmx_grid.sweep.settings import Refused

FIXED = {"erasure": (0.6, -0.3), "lime": (0.4, -1.4), "shap": (0.6, -0.95), "input_marginalization": (0.8, -13.1)}
WIDE = 120


@pytest.fixture(scope="session")
def authors_results(authors_grid):
    """The settings of the published grid with these names."""
    import pyarrow.parquet as pq

    def find(**names):
        table = pq.read_table(authors_grid, filters=[(key, "==", name) for key, name in names.items()]).to_pandas()
        found = []
        for (dataset, pair, metric, explainer), rows in table.groupby(
            ["dataset", "language_pair", "metric", "explainer"], observed=True
        ):
            p = tuple(rows["p"].unique().tolist())
            grid = rows["correlation"].to_numpy().reshape(len(p), len(PAPER_W))
            row, column = divmod(int(first_within_rounding(grid[None])[0]), len(PAPER_W))
            result = with_grid(
                make_result(dataset=dataset, language_pair=pair, metric=metric, explainer=explainer, p=p, w=PAPER_W),
                correlation=grid,
                baseline=float(grid[0, -1]),
                best=float(grid[row, column]),
                best_p=p[row],
                best_w=PAPER_W[column],
                plateau=int(plateau_within_no_change(grid[None], np.array(PAPER_W)).members.sum()),
            )
            w, p_fixed = FIXED.get(explainer, (np.nan, np.nan))
            at = float(grid[p.index(p_fixed), PAPER_W.index(w)]) if p_fixed in p else np.nan
            found.append(at_point(result, at, p=p_fixed, w=w))
        return found

    return find


def row(table, *names):
    """The cells of the one line that starts with these names, by columns two blanks apart."""
    (line,) = [line for line in table.splitlines() if line.split()[: len(names)] == list(names)]
    return [cell for cell in line.split("  ") if cell.strip()][len(names) :]


def cells(table, *names):
    return [cell.strip() for cell in row(table, *names)]


def test_a_row_gives_baseline_best_point_gain_fixed_point_and_shifted_share():
    result = with_grid(make_result(), baseline=0.70717, best=0.72335, best_w=0.4, best_p=-5.2, share_shifted=0.254)
    result = at_point(result, 0.7, p=-1.4, w=0.4)
    found = cells(sweep_table([result], [], WIDE), "de-en", "chrf", "lime")
    assert found == ["0.7072", "0.7234", "w 0.4, p -5.2", "+0.0162", "0.7000", "-0.0072", "25%"]


def test_a_best_point_at_w_1_is_the_metric_alone_and_a_plateau_is_shown():
    result = with_grid(make_result(), best_w=1.0, best_p=-30.0, plateau=1600)
    found = cells(sweep_table([result], [], WIDE), "de-en", "chrf", "lime")
    assert found[2] == "metric alone"
    assert found[-1] == "1,600"
    assert "-30" not in sweep_table([result], [], WIDE)


def test_undefined_numbers_are_said_and_counted():
    nothing = dict.fromkeys(("baseline", "best", "best_w", "best_p", "share_shifted"), np.nan)
    result = with_grid(make_result(), **nothing, plateau=0, n_undefined=1234)
    result = at_point(result, np.nan, p=-1.4, w=0.4)
    table = sweep_table([result, make_result(language_pair="zh-en")], [], WIDE)
    assert cells(table, "de-en", "chrf", "lime") == ["n/a", "n/a", "no point", *["n/a"] * 4]
    assert "undefined: 1,234 grid points, in 1 of 2 settings" in table
    assert "nan" not in table


def test_zero_is_a_number():
    result = with_grid(make_result(), baseline=0.0, best=-1e-8, best_w=0.0, best_p=0.0, share_shifted=0.0)
    found = cells(sweep_table([result], [], WIDE), "de-en", "chrf", "lime")
    assert found[:4] == ["0.0000", "0.0000", "w 0, p 0", "-0.00000001"]
    assert found[6] == "0%"


def test_data_sets_have_a_table_each_and_rows_do_not_depend_on_the_order_of_results():
    results = [make_result(dataset=name, language_pair=pair) for name in ("b", "a") for pair in ("zh-en", "cs-en")]
    table = sweep_table(results, [], WIDE)
    assert table == sweep_table(results[::-1], [], WIDE)
    heads = [line for line in table.splitlines() if "correlation with human scores" in line]
    assert [head[:2] for head in heads] == ["a:", "b:"]
    assert heads[0].startswith("a: Pearson correlation")


def test_failures_are_listed_with_their_reasons_also_when_nothing_else_is_there():
    table = sweep_table([], [Refused("wmt17 · comet", "comet is not installed: pip install it")])
    assert table == "failed: 1\n  wmt17 · comet: comet is not installed: pip install it"
    assert sweep_table([], []) == "no setting was run"


@functools.cache  # they are only read, and take longer to make than the table of them
def many(count, **names):
    return [
        at_point(make_result(seed, language_pair=f"x{seed:03}", **names), 0.5 + seed / 1000, p=-1.4, w=0.4)
        for seed in range(count)
    ]


@pytest.mark.parametrize("width", [40, 80, 100, 120, 300])
@pytest.mark.parametrize("count", [4, MOST_ROWS, MOST_ROWS + 1, 500])
@pytest.mark.parametrize("name", ["m", "input_marginalization", "m" * 80, "数" * 80], ids=["1", "21", "80", "80 wide"])
def test_every_line_fits_the_terminal(width, count, name):
    results = many(count, metric=name, explainer=name, dataset=name)
    table = sweep_table(results, [Refused(f"d · {name}", "the reason of it " * 20)], width)
    words = [line for line in table.splitlines() if name not in line]
    assert max(map(columns_of, words)) <= min(width, WIDEST)
    rows = [line for line in table.splitlines() if line.startswith(("x0", "x1"))]
    assert all(columns_of(line) <= min(width, WIDEST) for line in rows)
    assert not any(line != line.rstrip() for line in table.splitlines())


def test_the_least_important_columns_are_left_out_first():
    results = [make_result(metric="input_marginalization", explainer="input_marginalization", language_pair="de-en")]
    heads = {}
    for width in (50, 80, 100, 120):
        lines = sweep_table(results, [], width).splitlines()
        heads[width] = next(line for line in lines if line.startswith("pair")).split("  ")[1:]
        heads[width] = [name.strip() for name in heads[width] if name.strip()][2:]
    assert heads == {
        120: ["baseline", "best", "at", "gain", "fixed", "fixed gain", "shifted"],
        100: ["baseline", "at", "gain", "fixed gain"],
        80: ["baseline", "at", "gain", "fixed gain"],
        50: ["baseline", "fixed gain"],
    }
    told = " ".join(sweep_table(results, [], 50).split())
    assert "shifted: segments" not in told and "best, at, gain: the best" not in told
    assert "no room here for best, at, gain, fixed, shifted (settings.csv); a wider terminal shows" in told
    assert "no room here" not in " ".join(sweep_table(results, [], WIDE).split())  # no plateau that could be shown


def test_intervals_that_have_no_room_are_in_files_that_are_named():
    results = many(30)
    tested = {one.names: GainInterval(0.0, 0.1, survives=False) for one in results}
    told = " ".join(sweep_table(results, [], 45, tested=tested).split())
    assert "95 % interval of mean gains (tables/gains_by_factor.csv)" in told


def test_gains_that_are_undefined_are_counted_apart_and_named():
    results = [*many(30), at_point(make_result(90, language_pair="zz-zz"), np.nan, p=-1.4, w=0.4)]
    table = sweep_table([*results, at_point(make_result(91, explainer="random"), np.nan)], [], 80)
    assert cells(table, "lime", "chrf")[0] == "30"
    told = " ".join(table.split())
    assert "no fixed gain is defined for 1 setting: toy · zz-zz · chrf · lime" in told
    assert "controls (random): 1 setting; mean gain " in told and "at best points, which is chance" in told


def test_an_explainer_without_a_fixed_point_is_named():
    results = [*many(30), at_point(make_result(91, explainer="mine"), np.nan)]
    told = " ".join(sweep_table(results, [], 80).split())
    assert "not in the first table, no fixed (w, p) is given for the explainer: mine: 1 setting" in told


def test_controls_take_one_line_and_no_place_among_the_settings():
    random = many(30, explainer="random", metric="zzz") + many(2, metric="random")
    table = sweep_table([*many(30, explainer="lime"), *random], [], 80)
    assert table.startswith("30 settings of toy;") and "zzz" not in table
    fixed = np.mean([one.fixed_gain for one in random])
    told = " ".join(table.split())
    one = rf"controls \(random\): 32 settings; mean gain \{fixed:+.4f} \[(\S+), (\S+)\] at fixed points \(of 32\), "
    found = re.search(one, told)
    assert found is not None and float(found[1]) <= fixed <= float(found[2])
    assert sweep_table(random, [], 80).startswith("controls (random): 32 settings")


def test_gains_and_losses_are_those_that_survive_the_correction():
    results = many(30)
    tested = {one.names: GainInterval(-0.1, 0.1, survives=False) for one in results}
    for one in results[-3:]:
        tested[one.names] = GainInterval(0.001, 0.1, survives=True)
    tested[results[0].names] = GainInterval(-0.1, -0.001, survives=False, lost=True)
    table = sweep_table(results, [], 80, tested=tested)
    assert cells(table, "lime", "chrf")[-2:] == ["3", "1"]
    told = " ".join(table.split())
    assert "gains, losses: how many single ones survive Holm's correction at 0.05" in told
    assert told.count("gains losses") == 1 and "better" not in told, "elsewhere better means a gain above 1e-5"


def test_any_number_of_explainers_and_metrics_is_summed_up():
    results = [one for name in range(40) for one in many(2, metric=f"metric{name}")]
    table = sweep_table(results, [], 80)
    assert len(table.splitlines()) < 60
    assert "16 further pairs of explainer and metric: settings.csv" in table


def test_the_width_is_that_of_the_terminal(monkeypatch):
    results = many(3, metric="m" * 60)
    for columns in (60, 90):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert sweep_table(results, []) == sweep_table(results, [], columns)


def test_many_settings_are_counted_by_explainer_and_metric_and_the_ends_are_shown():
    table = sweep_table([*many(60, explainer="lime"), *many(40, explainer="shap", metric="bleu")], [], 80)
    assert len(table.splitlines()) < 40
    assert "100 settings of toy; gain at the fixed (w, p) of its explainer" in table.replace("\n", " ")
    assert "nothing was tested" in table
    # fixed is 0.5 + seed / 1000 over a baseline of 0.5: only seed 0 gains nothing.
    found = {name: cells(table, *name) for name in (("lime", "chrf"), ("shap", "bleu"))}
    assert [(*one[:2], *one[3:]) for one in found.values()] == [
        ("60", "+0.0295", "59", "1"),
        ("40", "+0.0195", "39", "1"),
    ]
    low, high = map(float, found["lime", "chrf"][2].strip("[]").split(","))
    assert (low, high) == pytest.approx((0.0295 - 0.0045, 0.0295 + 0.0045), abs=0.0004)  # 2 standard errors of 60 pairs
    most, least = (table.split(f"the 5 that gain {word}\n")[1].split("\n\n")[0] for word in ("most", "least"))
    assert [line.split()[0] for line in most.splitlines()[2:7]] == ["x059", "x058", "x057", "x056", "x055"]
    assert [line.split()[0] for line in least.splitlines()[2:7]][-2:] == ["x000", "x000"]
    assert table.endswith("all settings, with their best points: settings.csv")


@pytest.mark.parametrize("count", [3, 30], ids=["a row each", "summed up"])
def test_fixed_gains_have_their_intervals_and_only_those_that_survive_are_marked(count):
    results = many(count)
    tested = {one.names: GainInterval(one.fixed_gain - 0.01, one.fixed_gain + 0.01, survives=False) for one in results}
    last = results[-1]
    tested[last.names] = GainInterval(last.fixed_gain - 0.001, last.fixed_gain + 0.001, survives=True)
    table = sweep_table(results, [], WIDE, tested=tested)
    gain = last.fixed_gain
    assert f"[{gain - 0.001:+.4f}, {gain + 0.001:+.4f}]†" in table
    assert "[-0.0100, +0.0100]" in table  # the first setting gains nothing
    assert table.count("†") == 2  # that one, and the note that explains the mark
    assert "†: it survives Holm's correction at .05" in table.replace("\n  ", " ")
    assert "†" not in sweep_table(results, [], WIDE)


def test_the_answer_stands_before_the_table_in_lines_that_fit():
    told = in_words(["lime: " + "word " * 40, "Nothing was tested."], width=60)
    assert told[0].startswith("lime: word")
    assert told[-1] == ""
    assert max(len(line) for part in told for line in part.splitlines()) <= 60
    assert in_words([], width=60) == []


def test_without_fixed_points_the_summary_is_of_best_points():
    results = [at_point(one, np.nan) for one in many(30)]
    table = sweep_table(results, [], 80)
    assert "gain at its best (w, p)" in table
    assert "fixed gain" not in table


def test_metrics_alone_have_no_gains_to_count_however_many_they_are():
    alone = [dataclasses.replace(one, explainer="none", evaluated={}) for one in many(MOST_ROWS + 1)]
    assert sweep_table(alone, [], 80) == ""
    boosted = many(MOST_ROWS + 2, explainer="lime")
    assert sweep_table([*alone, *boosted], [], 80) == sweep_table(boosted, [], 80)


def test_where_there_is_nothing_to_note_the_table_is_the_last_line():
    alone = with_grid(make_result(explainer="none"), correlation=np.empty((0, 0)))
    assert sweep_table([alone], [], 80) == sweep_table([alone], [], 80).strip()


def test_names_cannot_command_a_terminal():
    table = sweep_table([make_result(metric="\x1b[2Jm\n")], [Refused("a\nb", "c\x07")], 80)
    assert "\x1b" not in table and "\x07" not in table
    assert "a\\nb: c\\x07" in table


def test_the_authors_numbers_look_as_published(authors_results):
    """Figure 3b of the paper: XBERTScore, et-en, LIME."""
    (result,) = authors_results(dataset="eval4nlp21", language_pair="et-en", metric="xbertscore", explainer="lime")
    found = cells(sweep_table([result], [], WIDE), "et-en", "xbertscore", "lime")
    assert found[:6] == ["0.7072", "0.7234", "w 0.4, p -5.2", "+0.0162", "0.7206", "+0.0135"]
