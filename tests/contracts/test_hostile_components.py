"""A metric or an explainer that breaks its contract fails its own settings, with a reason, and no other setting."""

import pytest
from tools.fuzz import components

# group, hook, what the hook does, and what the reason says
BROKEN = [
    ("metric", "score", "raises", "ValueError: boom"),
    ("metric", "score", "raises a BaseException", "Strange: boom"),
    ("metric", "score", "raises what cannot be printed", "Mute: (its message cannot be printed)"),
    ("metric", "score", "escapes", "ValueError: ?[31mred?"),
    ("metric", "score", "exits", "SystemExit: 0"),
    ("metric", "score", "raises GeneratorExit", "GeneratorExit: boom"),
    ("metric", "score", "says much", f"ValueError: {'x' * 400}"),
    ("explainer", "plan", "says much in a sentence of ours", f"{'x' * 500} … {'x' * 500}"),
    ("metric", "cost", "says much in a sentence of ours", "x" * 500),
    ("metric", "fit", "exits", "SystemExit: 0"),
    ("metric", "score", "None", "hash|salt:0: scores: expected "),
    ("metric", "score", "complex", "real numbers, got values of type complex128"),
    ("metric", "score", "texts", "real numbers, got values of type <U"),
    ("metric", "score", "NaN", "hash|salt:0: no score for "),
    ("metric", "score_masked", "a dict", "arrays, got 1."),
    ("metric", "statistics", "complex", "hash|salt:0: statistics: expected "),
    ("metric", "statistics", "NaN", "hash|salt:0: statistics: expected real numbers, got NaN"),
    ("metric", "signature", "raises", "ValueError: boom"),
    ("metric", "signature", "None", "HostileHashMetric.signature: expected one line of text, got None"),
    ("metric", "fingerprint", "an object", "HostileHashMetric: its identity fields cannot be written as JSON"),
    ("metric", "reads", "texts", "HostileHashMetric.reads: expected a tuple of source, reference, hypothesis"),
    ("metric", "cost", "a text", "HostileHashMetric.cost: expected light or model, got '1.0'"),
    ("metric", "count_texts", "a text", "hash|salt:0: count_texts: expected a whole number of texts, got '1.0'"),
    (
        "metric",
        "load_scores",
        "a number",
        "HostileHashMetric.load_scores: expected an AttributionSet or None, got a float",
    ),
    ("explainer", "attribute", "one too few", "attributions of the words of the source, for source '"),
    ("explainer", "attribute", "one too few", ": expected 8 real numbers, got 7."),
    ("explainer", "attribute", "NaN", ": expected 8 real numbers, got 8 NaN."),
    ("explainer", "attribute", "two dimensions", ": expected 8 real numbers, got an array of shape (8, 1)."),
    ("explainer", "plan", "None", "plan: expected a Plan, got a NoneType"),
    ("explainer", "plan", "other words", "plan: its words are others, for the words '"),
    ("explainer", "plan", "masks of numbers", "plan: its masks are not an array of bool"),
    ("explainer", "count_texts", "minus one", "count_texts: expected a whole number of texts, got -1"),
    ("explainer", "stochastic", "a text", "HostileErasure.stochastic: expected True or False, got '1.0'"),
    ("explainer", "load_attributions", "None", "HostileErasure.load_attributions: expected explanations, got None"),
    ("explainer", "only_for_metric", "a number", "HostileErasure.only_for_metric: expected a name or None"),
]


@pytest.mark.parametrize(
    ("group", "hook", "way", "reason"), [pytest.param(*row, id=" ".join(row[:3])) for row in BROKEN]
)
def test_what_breaks_its_contract_fails_alone(group, hook, way, reason, tmp_path):
    reasons = components.answer(group, hook, way, tmp_path)
    assert any(reason in sentence for sentence in reasons), reasons
    assert max(map(len, reasons)) < 3_000


@pytest.mark.parametrize("number", range(0, 40, 10))
def test_generated_components_fail_alone(number, tmp_path):
    _, *which = list(components.inputs(seed=5, count=40))[number]
    components.answer(*which, tmp_path)
