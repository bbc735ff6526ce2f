"""Classes of users that define the members of a contract by their names in the earlier version."""

import importlib
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from fakes import HashMetric

from bmx_grid.analysis.base import SweepTables
from bmx_grid.boosts.base import Boost, FittedBoost
from bmx_grid.boosts.recipe import RecipeBoost, embedded_names
from bmx_grid.core.configure import build
from bmx_grid.core.identity import Component
from bmx_grid.core.ragged import Ragged
from bmx_grid.core.renamed import AcceptsOldNames
from bmx_grid.datasets.base import DatasetReader, Published
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.evaluations.base import Evaluation
from bmx_grid.explainers.base import Explainer
from bmx_grid.metrics.base import Metric
from bmx_grid.sweep.executors.base import Executor, Job

NAMES = [
    (Component, "pretrained", "pretrained_models"),
    (Metric, "pretrained", "pretrained_models"),
    (Metric, "fitted", "fit"),
    (Metric, "given", "load_scores"),
    (Metric, "members", "expand"),
    (Metric, "of_languages", "set_languages"),
    (Metric, "with_shuffled_weights", "shuffle_weights"),
    (Metric, "is_explained", "can_be_explained"),
    (Metric, "leaves_traces", "has_side_effects"),
    (Explainer, "given", "load_attributions"),
    (Explainer, "is_given", "is_imported"),
    (Explainer, "members", "expand"),
    (Explainer, "of_metric", "only_for_metric"),
    (Explainer, "shuffles_with", "weight_shuffle_seed"),
    (Explainer, "on_both_sides", "two_sided"),
    (FittedBoost, "abstains", "keeps_base_scores"),
    (FittedBoost, "_boosted", "_boost_scores"),
    (Boost, "fixed", "fixed_fit"),
    (Boost, "restored", "from_constants"),
    (Boost, "of_attributions", "attribution_mask"),
    (DatasetReader, "read", "load_segments"),
    (Published, "read", "load_segments"),
    (Published, "_read", "_parse_segments"),
    (Evaluation, "of_scope", "evaluate_scope"),
    (Executor, "_started", "_start_workers"),
    (Executor, "kept", "keep_workers"),
]
SEGMENTS = SegmentSet("mine", "en-de", (Segment("1", "h", "s"),), Judgements({"da": np.ones(1)}))


@pytest.mark.parametrize(("contract", "old", "new"), NAMES)
def test_an_old_name_is_read_as_the_new_one_with_one_warning(contract, old, new):
    assert hasattr(contract, new), "the contract has the member"
    with pytest.warns(FutureWarning) as caught:
        mine = type("Mine", (contract,), {old: lambda self: "mine", "__module__": "mypkg.parts"})
    (message,) = [str(warning.message) for warning in caught]
    assert message.startswith(f"mypkg.parts.Mine defines '{old}', which is called '{new}' now: rename it.")
    assert getattr(mine, new) is vars(mine)[old]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        type("Child", (mine,), {"__module__": "mypkg.parts"})  # it defines none: the user has been told
        both = type("Both", (contract,), {old: lambda self: "old", new: lambda self: "new"})
    assert getattr(both, new)(None) == "new", "a class for both versions defines both names"


def test_every_renamed_member_is_in_the_table():
    found = set()
    classes = [AcceptsOldNames]
    while classes:
        contract = classes.pop()
        classes += contract.__subclasses__()
        for old, new in vars(contract).get("RENAMED", {}).items():
            found.add((contract, old, new))
    assert found == {row for row in NAMES if row[1] in vars(row[0])["RENAMED"]}


def test_methods_properties_and_values_of_a_metric():
    with pytest.warns(FutureWarning):

        @dataclass(frozen=True)
        class Mine(HashMetric):
            is_explained = False

            @property
            def leaves_traces(self):
                return True

            def fitted(self, segments):
                return Mine(salt=super().fitted(segments).salt + len(segments))

    metric = Mine(salt=4)
    assert not Mine.can_be_explained and not metric.can_be_explained
    assert metric.has_side_effects
    assert metric.fit(SEGMENTS).salt == 5


def test_super_of_an_old_name_is_the_member_of_the_nearest_base():
    @dataclass(frozen=True)
    class Near(HashMetric):
        def fit(self, segments):
            return Near(salt=7)

    with pytest.warns(FutureWarning):

        @dataclass(frozen=True)
        class Mine(Near):
            def fitted(self, segments):
                return super().fitted(segments)

    assert Mine().fit(SEGMENTS).salt == 7
    assert Near(salt=1).fit(SEGMENTS).salt == 7 and HashMetric(salt=1).fit(SEGMENTS).salt == 1, "others are unchanged"


def test_a_boost_with_old_names_is_not_abstract():
    with pytest.warns(FutureWarning):

        @dataclass(frozen=True)
        class Doubled(FittedBoost):
            weight: float

            @property
            def abstains(self):
                return self.weight == 0

            def _boosted(self, base, features):
                return base + self.weight * features[:, 0]

            def constants(self):
                return {"weight": self.weight}

    with pytest.warns(FutureWarning):

        @dataclass(frozen=True)
        class Mine(Boost):
            def names(self):
                return ("first",)

            def fit(self, kind, parts):
                return Doubled(2.0)

            def restored(self, constants):
                return Doubled(**constants)

            def features(self, truth, hypothesis):
                return np.array([row[0] for row in hypothesis.rows()])[:, None]

    boost = Mine()
    words = Ragged.from_rows([[3.0, 1.0], [5.0]])
    fitted = boost.from_constants({"weight": 2.0})
    assert boost.apply(np.array([1.0, 1.0]), words, words, fitted).tolist() == [7.0, 11.0]
    assert boost.apply(np.array([1.0, 1.0]), words, words, Doubled(0.0)).tolist() == [1.0, 1.0]


def test_an_executor_starts_its_workers_by_the_old_name():
    with pytest.warns(FutureWarning):

        @dataclass(frozen=True)
        class Mine(Executor):
            def _started(self):
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(Mine().run([Job(int)]))


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("bmx_grid.metrics.base", "pairs_of", "text_pairs"),
        ("bmx_grid.boosts.base", "Fitted", "FittedBoost"),
        ("bmx_grid.evaluations.base", "Finished", "ScoredSetting"),
        ("bmx_grid.analysis.base", "Given", "SweepTables"),
    ],
)
def test_a_module_has_the_names_that_the_documentation_imported(module, old, new):
    place = importlib.import_module(module)
    with pytest.warns(FutureWarning, match=rf"{module}\.{old} is called {new} now: import {new}\."):
        assert getattr(place, old) is getattr(place, new)
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        place.other  # noqa: B018


def test_a_recipe_keeps_the_path_and_the_fingerprint_of_its_class():
    node = {"_target_": "bmx_grid.boosts.recipe.Fixed", "recipe": embedded_names()[0]}
    boost = build(node, Boost, "boost.recipe")
    assert isinstance(boost, RecipeBoost) and boost.fingerprint()["type"] == "Fixed"


def test_questions_may_ask_by_the_old_name():
    with pytest.warns(FutureWarning, match=r"SweepTables\.ask is called compute_once now"):
        assert SweepTables({}).ask(lambda tables: tables.seed + 1) == 1
