"""Some of the bad tables and archives of tests/fuzz: read, or answered with one sentence that names the file."""

import pytest
from fuzz import archives, tables


@pytest.mark.parametrize(
    ("module", "count"), [pytest.param(tables, 80, id="tables"), pytest.param(archives, 60, id="archives")]
)
def test_bad_files_are_read_or_refused_in_one_sentence(module, count, tmp_path):
    refused = 0
    for reason, path in module.inputs(seed=8, count=count, folder=tmp_path):
        said = module.answer(path)  # anything else than a BmxError fails the test
        refused += said != ""
        assert said == "" or path.name in said, (reason, said)
        assert said.isprintable() and len(said.replace(str(path), "")) < 1000, (reason, said)
    assert count / 2 < refused < count, "the inputs are neither all good nor all bad"


@pytest.mark.parametrize("module", [tables, archives], ids=["tables", "archives"])
def test_the_same_seed_gives_the_same_files(module, tmp_path):
    found = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        found.append([(reason, path.read_bytes()) for reason, path in module.inputs(3, 20, tmp_path / name)])
    assert found[0] == found[1]
