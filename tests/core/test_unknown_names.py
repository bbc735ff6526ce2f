"""What the message for an unknown name proposes."""

import pytest

from bmx_grid.core.errors import unknown

METRICS = ("chrf", "comet", "sentence_bleu", "gemba")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        pytest.param("chfr", "Did you mean 'chrf'?", id="a slip"),
        pytest.param("bleu", "Did you mean 'sentence_bleu'?", id="a part of the name"),
        pytest.param("BLEU", "Did you mean 'sentence_bleu'?", id="in capitals"),
        pytest.param("comet,gemba", "Separate names by blanks: comet gemba.", id="two names in one"),
        pytest.param("zz", "unknown metric 'zz'. Available", id="nothing alike"),
        pytest.param("", "unknown metric ''. Available", id="no name"),
    ],
)
def test_the_way_out_is_named(name, hint):
    assert hint in unknown("metric", name, METRICS)
