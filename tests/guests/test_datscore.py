"""BARTScore and DATScore on tiny models: directions, term weights by hand, translations kept, and what is refused."""

import numpy as np
import pytest
from pairs import rated

from bmx_grid.core.errors import ConfigError
from bmx_grid.guests.datscore import datscore
from bmx_grid.guests.datscore.bartscore import BartScore, score_of
from bmx_grid.guests.datscore.combined import one_vs_rest
from bmx_grid.guests.datscore.datscore import DatScore
from bmx_grid.guests.datscore.kept_values import open_values
from bmx_grid.guests.datscore.language_codes import languages_of, load_translator
from bmx_grid.guests.datscore.translation import target_log_probabilities, translate
from bmx_grid.words.perturbation import Item

ITEMS = [
    Item("Die Katze saß auf der Matte .", "The cat sat on the mat .", "A cat sat on the mat ."),
    Item("Die Katze saß auf der Matte .", "The cat sat on the mat .", "The mat ."),
    Item("Ein Hund lief über die Straße .", "A dog ran across the road .", "Nobody saw it yesterday ."),
    Item("Er zahlte gestern 3,5 Euro .", "He paid 3.5 euros yesterday .", ""),
]
LANGUAGES = {"source_language": "de", "target_language": "en"}
pytestmark = pytest.mark.filterwarnings("ignore:datscore:UserWarning")


def test_term_weights_by_hand():
    likely, entropy = np.array([-1.0, -2.0, -3.0]), np.array([0.5, 0.0, 2.0])
    sums = np.array([3.0, likely.sum(), (entropy * likely).sum(), entropy.sum()])
    assert [score_of(sums, entropy=False, length=length) for length in ("sum", "mean")] == [-6.0, -2.0]
    scores = [score_of(sums, entropy=True, length=length) for length in ("sum", "mean")]
    assert scores == pytest.approx([-0.5 - 6.0, -6.5 / 3])
    assert score_of(np.zeros(4), entropy=True, length="mean") == 0.0


def test_bartscore_of_directions(tiny_model):
    def of_direction(direction, **settings):
        return BartScore(model=tiny_model("m2m100"), direction=direction, **LANGUAGES, **settings)

    loaded = load_translator(tiny_model("m2m100"), None, "float32", "auto")
    with_code = of_direction("reference->hypothesis", language_code="scored").score(ITEMS)
    for item, score in zip(ITEMS, with_code, strict=True):
        likely, *_ = target_log_probabilities(
            loaded, [item.reference], [item.hypothesis], languages_of(loaded, "en", "en")
        )
        assert score == pytest.approx(likely.values.mean(), abs=1e-6)
    both = of_direction("reference->hypothesis").score(ITEMS), of_direction("hypothesis->reference").score(ITEMS)
    assert of_direction("f").score(ITEMS).tolist() == pytest.approx(np.mean(both, axis=0).tolist(), abs=1e-6)
    assert of_direction("f").reads == ("reference", "hypothesis")
    assert of_direction("source->hypothesis").reads == ("source", "hypothesis")
    assert of_direction("f").count_texts(ITEMS[0], 3) == 6
    assert (of_direction("f", length="sum").score(ITEMS) < of_direction("f").score(ITEMS)).all()


def test_languages_come_from_the_pair(tiny_model):
    metric = BartScore(model=tiny_model("m2m100"), direction="source->hypothesis")
    with pytest.raises(ConfigError, match="give the pair"):
        metric.score(ITEMS)
    fitted = metric.fit(rated(ITEMS))
    assert fitted.fingerprint() != metric.fingerprint()
    stated = BartScore(model=tiny_model("m2m100"), direction="source->hypothesis", **LANGUAGES)
    assert fitted.score(ITEMS).tolist() == stated.score(ITEMS).tolist()


def plain_datscore(folder: str, augment: str) -> tuple[np.ndarray, list[str]]:
    """Entropy-weighted means of every direction, each pair of texts on its own."""
    loaded = load_translator(folder, None, "float32", "auto")
    texts = {role: [getattr(item, role) for item in ITEMS] for role in ("source", "reference", "hypothesis")}
    language_of = {"source": "de", "reference": "en", "hypothesis": "en"}
    for role in ("source", "reference"):
        into = languages_of(loaded, language_of[role], augment)
        name = f"{role}.{augment}"
        texts[name] = [translate(loaded, [text], into)[0] for text in texts[role]]
        language_of[name] = augment
    columns, names = [], []
    for text in ("source", "reference", f"source.{augment}", f"reference.{augment}"):
        for given_text, forced_text in ((text, "hypothesis"), ("hypothesis", text)):
            pair = languages_of(loaded, language_of[given_text], language_of[forced_text])
            results = [
                target_log_probabilities(loaded, [x], [y], pair)
                for x, y in zip(texts[given_text], texts[forced_text], strict=True)
            ]
            used = [(likely.values[~is_code], entropy.values[~is_code]) for likely, entropy, is_code in results]
            columns.append([(likely * entropy).sum() / len(likely) for likely, entropy in used])
            names.append(f"{given_text}->{forced_text}")
    return np.array(columns).T, names


def test_equal_to_a_plain_loop_over_directions(tiny_model, tmp_path):
    folder = tiny_model("m2m100")
    columns, names = plain_datscore(folder, "fr")
    metric = DatScore(model=folder, augment=("fr",), cache_dir=str(tmp_path)).fit(rated(ITEMS))
    assert list(metric.part_names) == names
    near = {"rel": 1e-6, "abs": 2e-6}  # of float32, whose last digit at -30 is 2e-6 already
    part_scores = metric.part_scores(ITEMS)
    assert part_scores.tolist() == [pytest.approx(row, **near) for row in columns.tolist()]
    weights = one_vs_rest(part_scores, names)[0]
    assert metric.score(ITEMS).tolist() == pytest.approx((part_scores @ weights).tolist(), rel=1e-12)


@pytest.mark.parametrize(
    ("settings", "reads"),
    [
        ({"ground_truth": "source"}, ("source", "hypothesis")),
        ({"ground_truth": "reference", "augment": ("fr",)}, ("reference", "hypothesis")),
        ({"directions": ("source->hypothesis",)}, ("source", "reference", "hypothesis")),
    ],
    ids=str,
)
def test_it_reads_what_it_is_given(tiny_model, settings, reads):
    metric = DatScore(model=tiny_model("m2m100"), weights="equal", **LANGUAGES, **settings)
    assert metric.reads == reads
    items = [Item(**{role: getattr(item, role) for role in reads}) for item in ITEMS]
    assert np.isfinite(metric.score(items)).all()
    assert metric.count_texts(items[0]) == len(metric.part_names) + len(settings.get("augment", ()))


def test_nothing_is_scored_or_translated_twice(tiny_model, tmp_path, monkeypatch):
    scored, translated = [], []

    def counting(loaded, sources, targets, languages, **options):
        scored.extend(zip(sources, targets, [languages.target] * len(sources), strict=True))
        return target_log_probabilities(loaded, sources, targets, languages, **options)

    def translating(loaded, texts, *rest):
        translated.extend(texts)
        return translate(loaded, texts, *rest)

    monkeypatch.setattr("bmx_grid.guests.datscore.bartscore.target_log_probabilities", counting)
    monkeypatch.setattr(datscore, "translate", translating)
    settings = {"model": tiny_model("m2m100"), "augment": ("fr",), "cache_dir": str(tmp_path)}
    metric = DatScore(**settings).fit(rated(ITEMS))
    first = metric.score(ITEMS[:2])
    assert len(translated) == len(set(translated)) == 6  # three sources, three references
    assert len(scored) == len(set(scored)) == 8 * len(ITEMS)
    open_values.cache_clear()  # as in another process, with other weights
    assert DatScore(**settings).fit(rated(ITEMS)).score(ITEMS).tolist()[:2] == first.tolist()
    DatScore(**settings, term_weights="uniform", length="sum").fit(rated(ITEMS)).score(ITEMS)
    assert (len(translated), len(scored)) == (6, 8 * len(ITEMS))
    metric.score([ITEMS[0].replace_text("hypothesis", "A cat sat .")])
    assert (len(translated), len(scored)) == (6, 8 * len(ITEMS) + 8)  # the source's translation is known


def test_a_translation_into_a_texts_own_language_is_refused_while_planning(tiny_model):
    with pytest.raises(ConfigError, match="the source of fr-en is in fr already"):
        DatScore(model=tiny_model("m2m100"), augment=("fr",)).fit(rated(ITEMS, "fr-en"))
