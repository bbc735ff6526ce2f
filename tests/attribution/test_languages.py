"""Metrics say which languages they know, and texts in others are warned of once, before anything is scored."""

import warnings

import pytest
from fakes import HashMetric, composed

from bmx_grid.api.sweep_plan import plan_sweep
from bmx_grid.attribution.contracts import unknown_languages, warn_of_languages
from bmx_grid.core.configure import build, load_option
from bmx_grid.metrics.base import Metric
from bmx_grid.models.model_cards import model_languages


def option(name: str, **settings) -> Metric:
    return build({**load_option("metric", name, 0), **settings}, Metric, f"metric.{name}")


# metric, settings, language pair, and the languages of its texts that the metric's model was not trained on
READ = [
    pytest.param("minilm_bertscore", {}, "de-en", (), id="the source is not read"),
    pytest.param("minilm_bertscore", {}, "en-de", ("de",), id="an English model on German"),
    pytest.param("minilm_bertscore", {"ground_truth": "source"}, "de-fr", ("de", "fr"), id="both texts are read"),
    pytest.param("minilm_sbert", {}, "en-de_CH", ("de",), id="a regional code"),
    pytest.param("minilm_sbert", {}, "zh-en_GB", (), id="regional English"),
    pytest.param("minilm_sbert", {}, "none", (), id="no pair is known"),
    pytest.param("minilm_sbert", {}, "old-new", (), id="no codes of languages"),
    pytest.param("e5_sbert", {}, "en-de", (), id="a multilingual model"),
    pytest.param("bertscore", {}, "en-cs", ("cs",), id="RoBERTa, whose card is not in the cache"),
    pytest.param("xmoverscore_authors", {}, "de-en", (), id="GPT-2 reads the hypothesis alone"),
    pytest.param("xmoverscore_authors", {}, "en-de", ("de",), id="GPT-2 on German hypotheses"),
    pytest.param("meteor", {}, "en-ru", ("ru",), id="stems and synonyms of English"),
    pytest.param("combined", {}, "en-de", ("de",), id="a combination of English models"),
    pytest.param("boosted", {"metric": "minilm_sbert"}, "en-de", ("de",), id="boosted"),
    pytest.param("chrf", {}, "en-de", (), id="no model"),
]


@pytest.mark.parametrize(("name", "settings", "language_pair", "unknown"), READ)
def test_a_metric_knows_the_languages_that_its_model_was_trained_on(name, settings, language_pair, unknown):
    assert unknown_languages(option(name, **settings), language_pair) == unknown


# the top of a model card, and the languages that it limits a model to
CARDS = [
    pytest.param("language: en", {"en"}, id="one"),
    pytest.param("language:\n- de\n- fr", {"de", "fr"}, id="two"),
    pytest.param("language: no", {"no"}, id="Norwegian, a truth value in YAML"),
    pytest.param("language:\n- multilingual\n- en", None, id="multilingual"),
    pytest.param("license: mit", None, id="not named"),
    pytest.param("language: [", None, id="no YAML"),
]


@pytest.mark.parametrize(("card", "languages"), CARDS)
def test_a_model_card_names_the_languages(tmp_path, card, languages):
    (tmp_path / "README.md").write_text(f"---\n{card}\n---\n\n# A model\nlanguage: ja\n")
    known = model_languages([(str(tmp_path), None)])
    assert known == (None if languages is None else frozenset(languages))


def test_metrics_that_know_the_same_are_named_in_one_warning():
    minilm = option("minilm_sbert")
    read = [("a", minilm, "en-de"), ("a", minilm, "en-de"), ("b", minilm, "en-de"), ("c", HashMetric(), "en-de")]
    with pytest.warns(UserWarning, match="^a, b know English only. Texts of en-de are in other languages") as warned:
        warn_of_languages(read)
    assert len(warned) == 1


def test_a_sweep_warns_while_it_is_planned(tmp_path):
    config = composed(
        *("dataset=[sample]", "metric=[minilm_sbert,chrf]", "explainer=[]", "evaluation=[levels]", "tracking=none"),
        *(f"cache_dir={tmp_path}", "limit=2"),
    )
    with pytest.warns(UserWarning, match="^minilm_sbert knows English only. Texts of .*en-de.* are in other"):
        plan_sweep(config)
    config["leave_out"] = ["*/en-de/minilm_sbert/*"]
    with warnings.catch_warnings(action="error"):
        plan_sweep(config)
