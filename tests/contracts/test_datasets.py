"""What every option of configs/dataset promises, on the real files where they are there."""

import numpy as np
import pytest

from bmx_grid.configure import build, load_option, options
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.errors import DataMissingError

NAMES = [name for name in options("dataset") if name != "tabular"]  # the user's own file has tests of its own


@pytest.fixture(scope="module", params=NAMES)
def reader(request) -> DatasetReader:
    return build(load_option("dataset", request.param), DatasetReader, f"dataset.{request.param}")


def test_it_is_named_as_its_option(reader, request):
    assert reader.name == request.node.callspec.params["reader"]


def test_every_pair_is_read_with_texts_and_scores(reader, data_dir):
    for pair in reader.pairs(data_dir):
        segments = reader.read(data_dir, pair)
        assert (segments.dataset, segments.language_pair) == (reader.name, pair)
        assert len(segments) == len(segments.human_scores) >= 40
        assert segments.rated >= 40
        assert segments.human_scores.dtype == np.float64
        assert segments.has("source")
        assert all("\n" not in text and "\t" not in text for text in segments.hypotheses)


def test_reading_twice_gives_the_same(reader, data_dir):
    pair = reader.pairs(data_dir)[0]
    assert reader.read(data_dir, pair).fingerprint() == reader.read(data_dir, pair).fingerprint()


def test_missing_files_are_named_with_the_command_that_fetches_them(reader, tmp_path):
    pair = reader.language_pairs[0]
    if not reader.needs(pair):
        pytest.skip("embedded: nothing to download")
    with pytest.raises(DataMissingError, match=rf"python -m bmx_grid\.datasets download {reader.name}"):
        reader.read(tmp_path / "nowhere", pair)
