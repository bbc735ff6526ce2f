"""The best systems: what the tables show of the evaluations top_systems and difficulty."""

from some_frames import completed

from bmx_grid.analysis.base import SweepTables
from bmx_grid.guests.difficulty import best_systems

PLACE = {"dataset": "toy", "language_pair": "de-en", "explainer": "none", "human_name": "da"}


def correlation(metric, size, statistic, value, fitted="as scored"):
    ends = {"low": value - 0.1, "high": value + 0.1}
    names = {**PLACE, "metric": metric, "systems": size, "fitted": fitted}
    return {**names, "statistic": statistic, "value": value, **ends}


def rows():
    table = []
    for size in range(3, 11):
        for statistic in ("pearson", "kendall", "spearman", "pairwise_accuracy"):
            table.append(correlation("bleu", size, statistic, size / 20))
            table.append(correlation("da", size, statistic, 0.1))
            if size < 10:
                table.append(correlation("da", size, statistic, size / 15, "on these systems"))
    return table


def shown_tables(**rows_of):
    frames = SweepTables({name: completed(table, best_systems.ROW_TYPES[name]) for name, table in rows_of.items()})
    return list(best_systems.tables(best_systems.compute(frames)))


def test_all_systems_and_the_best_30_percent_with_intervals():
    (table,) = shown_tables(top_systems=rows())
    assert table.header == ("metric", "systems", "r", "τ", "ρ")
    assert [[cell.display_text for cell in row] for row in table.rows] == [
        ["bleu", "10", *["0.500 [0.400, 0.600]"] * 3],
        ["da", "10", *["0.100 [0.000, 0.200]"] * 3],
        ["bleu", "3", *["0.150 [0.050, 0.250]"] * 3],
        ["da", "3", *["0.200 [0.100, 0.300]"] * 3],  # fitted on these three, not on all
    ]


def test_the_best_30_percent_are_at_least_the_fewest_that_have_rows():
    sizes = {(3, 19): (19, 5), (3, 9): (9, 3), (4, 4): (4, 4)}
    shown = {ends: best_systems.shown_sizes(ends) for ends in sizes}
    assert shown == sizes


def test_the_histogram_and_the_words_are_shown_for_all_and_the_best_systems():
    names = {**PLACE, "metric": "da"}
    known = {**names, "tokens": 40, "references": 4}
    bins = [
        {**known, "systems": size, "low": low, "high": low + 0.5, "share": share, "mean": mean, "zero": zero}
        for size, mean, zero, shares in ((10, 0.3, 1, (0.75, 0.25)), (3, 0.1, 2, (1.0, 0.0)))
        for low, share in zip((0.0, 0.5), shares, strict=True)
    ]
    words = [
        {**names, "id": "7", "place": place, "token": token, "systems": size, "difficulty": 0.1 * place + size / 100}
        for size in (10, 3)
        for place, token in enumerate(("cat", "##s"))
    ]
    histogram, listed = shown_tables(difficulty=bins, difficult_words=words)
    assert [cell.display_text for cell in histogram.rows[0]] == ["10", "0.00", "0.50", "0.750", "0.300", "40", "4", "1"]
    assert [len(group) for group in histogram.groups] == [2, 2]
    assert [[cell.display_text for cell in row] for row in listed.rows] == [
        ["7", "cat", "10", "0.100"],
        ["7", "##s", "10", "0.200"],
        ["7", "cat", "3", "0.030"],
        ["7", "##s", "3", "0.130"],
    ]


def test_differences_of_the_metric_that_is_fitted_on_the_systems():
    def difference(metric, against, size, statistic, value, fitted="on these systems"):
        names = {**PLACE, "metric": metric, "against": against, "systems": size, "statistic": statistic}
        ends = {"low": value - 0.5, "high": value + 0.5}
        return {**names, "fitted": fitted, "against_fitted": "as scored", "difference": value, **ends}

    differences = [
        difference("da", against, size, statistic, size / 10)
        for against in ("bleu", "ter")
        for size in (3, 10)
        for statistic in ("pearson", "kendall", "pairwise_accuracy")
    ]
    differences.append(difference("bleu", "ter", 3, "pearson", 0.0, "as scored"))
    tables = {table.stem: table for table in shown_tables(top_systems=rows(), top_differences=differences)}
    (table,) = [table for stem, table in tables.items() if "differences" in stem]
    assert table.header == ("metric", "against", "statistic", "systems", "difference")
    assert {row[0].value for row in table.rows} == {"da"} and len(table.rows) == 2 * 2 * 2
    shown = {row[3].value: row[4].display_text for row in table.rows}
    assert shown == {3: "0.300 [-0.200, 0.800]", 10: "1.000 [0.500, 1.500]"}
