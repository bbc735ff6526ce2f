"""Every worked example of the lecture, as experiments/compare.py recomputes it."""

from test_compare import compare, reproduced, shown  # noqa: F401


def test_every_worked_example_of_the_lecture_agrees(compare, capsys):  # noqa: F811
    assert compare.main(["mt_evaluation_lecture_2024"]) == 0
    told = capsys.readouterr().out
    assert told.splitlines()[-1] == "46 agree, 0 differ"
    assert reproduced(told) == shown("mt_evaluation_lecture_2024")


def test_ranks_are_printed_with_intervals(compare, capsys):  # noqa: F811
    assert compare.main(["mt_evaluation_lecture_2024", "--part", "ranks"]) == 0
    assert "AutoRank, kendall: 0.646 [0.027, 0.966], 12 systems" in capsys.readouterr().out
