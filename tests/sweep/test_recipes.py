"""A sweep writes what it chose as recipes, and `score` and `load` reach the same scores with them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pyarrow.parquet as pq
import pytest
from fakes import composed
from real_data import read
from some_results import make_result

import bmx_grid
from bmx_grid.api.sweep import run_sweep
from bmx_grid.attribution.boosted import as_arrays
from bmx_grid.boosts.base import Boost, Part
from bmx_grid.boosts.recipe import ChosenOn, HeldOut, Identity, read_recipe
from bmx_grid.commands.score import main
from bmx_grid.core.configure import ALLOWED_PACKAGES, build, load_option
from bmx_grid.core.identity import identity
from bmx_grid.evaluations.base import OF_SETS, Evaluation
from bmx_grid.explainers.lime import Lime
from bmx_grid.metrics.base import Metric
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.sweep.folder import recipes_of
from bmx_grid.words.segmentation import WHITESPACE

SMALL = (
    *("dataset=[sample]", "dataset.sample.language_pairs=[de-en,fr-en]", "limit=20", "evaluation=[grid]"),
    *("executor=sequential", "tracking=none", "analysis=false", "grid.p.step=1.0"),
)


@dataclass(frozen=True)
class Row:
    n: int


@dataclass(frozen=True, kw_only=True)
class Choosing(Evaluation):
    """Fits boosts on all segments of a metric and an explainer. gain, verdict: what it claims."""

    ROWS: ClassVar[Mapping[str, type]] = {"choosing": Row}
    SCOPE: ClassVar[tuple[str, ...]] = OF_SETS

    boosts: tuple[str, ...] = identity(("share_negative",))
    gain: float = identity(0.03)
    verdict: str = identity("helps")

    def evaluate_scope(self, settings):
        chosen = [boost for name in self.boosts if (boost := self._chosen(name, settings))]
        return [SimpleNamespace(chosen=chosen if setting is settings[0] else (), choosing=()) for setting in settings]

    def _chosen(self, name, settings):
        boost = build(load_option("boost", name), Boost, name)
        parts, chosen_on = [], []
        for setting in settings:
            base, human = setting.scores.base_scores, setting.segments.human_scores
            features = boost.features(setting.scores.ground_truth, setting.scores.hypothesis)
            used = np.isfinite(human) & np.isfinite(features).all(axis=1)
            labels, clusters = np.unique(np.array(setting.clusters)[used], return_inverse=True)
            parts.append(Part(base[used], features[used], human[used], clusters))
            counts = int(used.sum()), len(labels)
            chosen_on.append(ChosenOn(*setting.names[:2], *counts, setting.segments.judgements.primary))
        fitted, how = boost.fit("pearson", parts), "nowhere: this is a test"
        gain = HeldOut.from_estimate(self.gain, self.gain - 0.01, self.gain + 0.01, how)
        chosen = {"boost_name": name, "boost": boost, "chosen_on": tuple(chosen_on), "gain": gain}
        chosen |= {"partial_r": HeldOut(None, None, None, how), "verdict": self.verdict}
        return None if fitted.keeps_base_scores else chosen | {"constants": fitted.constants()}


@pytest.fixture
def sweep(tmp_path, monkeypatch, blank_figures):
    """Run a sweep with the evaluation above; its recipes by name."""
    monkeypatch.setenv(ALLOWED_PACKAGES, "test_recipes")

    def go(*overrides, **choosing):
        folders = (f"output_dir={tmp_path / 'out'}", f"cache_dir={tmp_path / 'cache'}")
        config = composed(*SMALL, *folders, *overrides)
        if choosing.pop("chooses", True):
            config["evaluation"]["choosing"] = {"_target_": "test_recipes.Choosing", **choosing}
        assert run_sweep(config).n_failed == 0
        return {path.stem: read_recipe(path) for path in sorted((tmp_path / "out" / "recipes").glob("*"))}

    return go


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """References and hypotheses of the segments that the sweep chose on, both language pairs."""
    folder = tmp_path_factory.mktemp("none")
    segments = [*read(folder, "sample", "de-en").head(20).segments, *read(folder, "sample", "fr-en").head(20).segments]
    return [segment.reference for segment in segments], [segment.hypothesis for segment in segments]


BOOSTS = ["share_negative", "mean", "spread", "sum", "learned", "power_mean_grid"]


@pytest.mark.parametrize(
    ("metric", "explainer", "settings"),
    [
        pytest.param("chrf", "erasure", (), id="chrf x erasure"),
        pytest.param(
            "sentence_bleu",
            "lime",
            ("seed=7", "metric.sentence_bleu.lowercase=true", "explainer.lime.num_samples=30"),
            id="own settings, and a seed that changes every draw",
        ),
    ],
)
def test_recipes_of_a_sweep_score_as_the_sweep_did(sweep, texts, tmp_path, capsys, metric, explainer, settings):
    references, hypotheses = texts
    recipes = sweep(f"metric=[{metric}]", f"explainer=[{explainer}]", *settings, boosts=BOOSTS)
    assert recipes, "some of the boosts gain on the segments they are chosen on"
    assert set(recipes) <= {f"{metric}-{explainer}-{boost}" for boost in BOOSTS}
    for name, recipe in recipes.items():
        path = tmp_path / "out" / "recipes" / f"{name}.json"
        scorer = bmx_grid.load(recipe=path)
        scored = scorer.explain(hypotheses, references=references)
        explained = as_arrays(scored.explanations)
        features = recipe.boost.features(explained.ground_truth, explained.hypothesis)
        expected = recipe.fitted_boost().scores(explained.base_scores, features)
        assert scored.scores.tobytes() == expected.tobytes()
        assert not np.array_equal(scored.scores, scored.base)
        # each segment alone, as a new one would come
        for row in (0, 25):
            alone = scorer.score([hypotheses[row]], references=[references[row]])
            assert alone[0] == scored.scores[row]
        for side, lines in zip(("r", "h"), texts, strict=True):
            (tmp_path / side).write_text("".join(f"{line}\n" for line in lines))
        files = ("--reference", str(tmp_path / "r"), "--hypothesis", str(tmp_path / "h"))
        capsys.readouterr()
        assert main(["--recipe", str(path), "--json", *files]) == 0
        printed = json.loads(capsys.readouterr().out)
        # the command prints chrF on sacreBLEU's scale
        assert [line["score"] / 100 for line in printed["scores"]] == pytest.approx(scored.scores.tolist(), rel=1e-12)
        assert f"name:{name}|" in printed["signature"] and recipe.signature in printed["signature"]


def test_a_recipe_says_what_it_was_chosen_on_and_has_the_attributions_of_the_sweep(sweep, texts, tmp_path):
    references, hypotheses = texts
    chosen = ("metric=[chrf]", "explainer=[lime]", "seed=7", "explainer.lime.num_samples=30")
    recipes = sweep(*chosen, boosts=["learned", "spread", "mean"], gain=0.25)
    recipe = next(iter(recipes.values()))
    assert [(part.dataset, part.language_pair, part.segments, part.human) for part in recipe.chosen_on] == [
        ("sample", "de-en", 20, "score"),
        ("sample", "fr-en", 20, "score"),
    ]
    assert (recipe.gain.value, recipe.gain.low, recipe.gain.how) == (0.25, 0.24, "nowhere: this is a test")
    assert recipe.metric == Identity.from_part("metric", "chrf", Chrf(), Chrf().signature)
    assert (recipe.partial_r.value, recipe.metric.settings, recipe.seed, len(recipe.date)) == (None, {}, 7, 10)
    stored = pq.read_table(next((tmp_path / "cache").rglob("sample.de-en.parts/*.parquet"))).to_pydict()
    by_key = dict(zip(stored["key"], stored["hypothesis_attributions"], strict=True))
    for explained in bmx_grid.load(recipe=recipe).explain(hypotheses, references=references).explanations[:20]:
        assert by_key[explained.key] == explained.attributions["hypothesis"].tolist()


def test_boosts_that_hurt_or_abstain_have_no_recipe_and_those_of_another_run_are_moved_aside(sweep, tmp_path):
    erasure = ("metric=[chrf]", "explainer=[erasure]")
    assert sweep("metric=[random]", "explainer=[random]", "limit=2", boosts=["share_negative"]) == {}
    assert sweep(*erasure, boosts=["mean"], verdict="hurts") == {}
    assert not (tmp_path / "out" / "recipes").exists()
    left = set(sweep(*erasure, boosts=["learned", "sum"]))
    assert left and sweep(*erasure, chooses=False) == {}
    assert {path.stem for path in (tmp_path / "out" / "previous").rglob("recipes/*")} == left


def test_a_metric_that_is_fitted_to_its_data_sets_has_no_recipe():
    """Its identity differs from data set to data set, and no constants are for new texts."""
    parts = {"metric_name": "chrf", "explainer_name": "lime", "explainer": Lime(), "words": WHITESPACE}
    settings = [SimpleNamespace(metric=Chrf(beta=beta), **parts) for beta in (1.0, 2.0)]
    result = make_result()
    assert recipes_of([result], settings, date="2026-01-01") == ([], []), "nothing was chosen"
    names = ("boost_name", "boost", "constants", "chosen_on", "gain", "partial_r", "verdict")
    chosen = dict.fromkeys(names)
    result = replace(result, evaluated={"x": SimpleNamespace(chosen=(chosen,))})
    recipes, (refused,) = recipes_of([result], settings, date="2026-01-01")
    assert recipes == []
    assert refused.startswith("no recipe for chrf x lime: the metric differs between its data sets and")


def test_a_metric_of_ones_own_is_written_with_its_class(monkeypatch):
    monkeypatch.setenv(ALLOWED_PACKAGES, "fakes")
    from fakes import HashMetric

    identity_of_metric = Identity.from_part("metric", "mine", HashMetric(salt=3), "s")
    assert identity_of_metric.node("metric") == {"_target_": "fakes.HashMetric", "salt": 3}
    assert build(identity_of_metric.node("metric"), Metric, "metric") == HashMetric(salt=3)
