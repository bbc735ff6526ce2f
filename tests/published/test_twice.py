"""experiments/bmx_real/twice.py: the table of two iterations."""

import pyarrow.parquet as pq
from fakes import ROOT
from scripts import script
from some_tables import peaked, rows


def test_iterations_of_a_setting_stand_in_one_row(tmp_path, capsys):
    first, second = ("eval4nlp21", "et-en", "m", "erasure"), ("eval4nlp21", "et-en", "m_boosted", "erasure")
    alone = ("eval4nlp21", "et-en", "other", "erasure")
    surfaces = {first: peaked(-1.4), second: peaked(-1.4), alone: peaked(1.4)}
    pq.write_table(rows(surfaces), tmp_path / "grid.parquet")
    with script(ROOT / "experiments" / "bmx_real" / "twice.py") as twice:
        assert twice.main([]) == 2
        assert twice.main([str(tmp_path / "nowhere.parquet")]) == 2
        capsys.readouterr()
        assert twice.main([str(tmp_path / "grid.parquet")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 3, "the third metric has no second iteration"
    assert printed[2].startswith("| eval4nlp21 et-en | m |")
    assert printed[2].endswith(" | 0.0000 | 1.0000 |")
