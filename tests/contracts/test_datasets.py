"""What every option of configs/dataset promises, on the real files where they are there."""

import numpy as np
import pytest
from fakes import ROOT
from real_data import read

from bmx_grid.core.configure import build, load_option, options
from bmx_grid.core.errors import DataMissingError
from bmx_grid.datasets.base import DatasetReader
from bmx_grid.datasets.reader_promises import OF_DATASETS

OWN = (
    "tabular",
    "mt_metrics_eval",
    "span_scores",
)  # their files are the user's own; each has tests
LAYOUTS = ROOT / "tests" / "layouts"  # made-up files of data sets whose licence keeps them from the tests' real data
NAMES = [name for name in options("dataset") if name not in OWN]


@pytest.fixture(scope="module", params=NAMES)
def reader(request) -> DatasetReader:
    return build(load_option("dataset", request.param), DatasetReader, f"dataset.{request.param}")


@pytest.fixture(scope="module")
def folder(reader, data_dir):
    """The folder of its files: the real data, or those that were made up in its layout, named as the option."""
    return LAYOUTS if (LAYOUTS / reader.name).is_dir() else data_dir


def test_it_is_named_as_its_option(reader, request):
    assert reader.name == request.node.callspec.params["reader"]


def test_pairs_are_read_with_texts_and_scores(reader, folder):
    """The first and the last; tests/datasets/test_published_data.py has the digest of each."""
    pairs = reader.pairs(folder)
    for pair in {pairs[0], pairs[-1]}:
        segments = read(folder, reader.name, pair)
        assert (segments.dataset, segments.language_pair) == (reader.name, pair)
        least = 4 if folder == LAYOUTS else 40
        assert len(segments) == len(segments.human_scores) >= least
        assert segments.n_rated >= least or len(segments.judgements.systems[segments.judgements.primary]) >= 4
        assert segments.human_scores.dtype == np.float64
        assert segments.judgements.primary == segments.judgements.aspects[0]
        for name, raters in segments.judgements.raters.items():
            # What the raters gave is what the score was made from.
            np.testing.assert_allclose(np.nanmean(raters, axis=1), segments.judgements.scores[name], atol=1e-6)
        assert len({(segment.id, segment.system) for segment in segments.segments}) == len(segments)
        assert not any(str(segment.system) in segment.id for segment in segments.segments)
        assert segments.has("source")
        assert all("\n" not in text and "\t" not in text for text in segments.texts("hypothesis"))


@pytest.mark.parametrize("promise", OF_DATASETS, ids=lambda promise: promise.__name__)
def test_it_keeps_what_data_sets_promise(reader, folder, promise, monkeypatch):
    """On the first pair, whose files are the fewest to read again; what the tests have read is its first reading."""
    pair = reader.pairs(folder)[0]
    known = [read(folder, reader.name, pair)]
    read_anew = type(reader).load_segments

    def read_once_more(self, place, language_pair):
        return known.pop() if known and place == folder else read_anew(self, place, language_pair)

    monkeypatch.setattr(type(reader), "load_segments", read_once_more)
    reason = promise(reader, folder, pair)
    if reason:
        pytest.skip(reason)


def test_missing_files_are_named_with_the_way_to_them(reader, tmp_path):
    pair = reader.language_pairs[0]
    if not reader.needs(pair):
        pytest.skip("its files are in the package")
    fetched = rf"or fetch the files with: python -m bmx_grid data download {reader.name} "
    way = fetched if reader.sources else "or make the files as described in docs/how-to/use_published_data.md"
    with pytest.raises(DataMissingError, match=rf"{reader.needs(pair)[0]}.*Set data_dir to the folder .*{way}"):
        reader.load_segments(tmp_path, pair)
