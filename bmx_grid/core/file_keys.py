"""The keys that a file may set: an option, a sweep, a recipe or an output folder may come from a stranger.

A key that is not on the list KEYS_OF_FILES comes from the user: from the command line, from Python or from the
environment. Such keys decide where texts, secrets and work are sent, which commands run, and which pickled weights are
loaded. A file may repeat the values of this package's own options.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bmx_grid.core.configure import CONFIGS, allowed_class, targets
from bmx_grid.core.errors import ConfigError, quote_value
from bmx_grid.core.identity import canonical_json
from bmx_grid.core.secrets import ALLOWED, ALLOWED_COMMANDS, may_be_in_a_file
from bmx_grid.core.storage import place

CACHE_VARIABLE = "BMX_CACHE_DIR"
GROUPS_OF_PARTS = ("dataset", "metric", "explainer", "boost", "evaluation")  # keys below an option's name
INNER_PARTS = "parts"  # the name in KEYS_OF_FILES of the rules for all parts


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# By the group, or INNER_PARTS; "" is the top of a configuration.
KEYS_OF_FILES: Mapping[str, frozenset[str]] = {
    "": _names("""
        name limit leave_out words seed seeds dry_run on_error analysis figures questions
        dataset metric explainer boost evaluation grid aggregation executor tracking
    """),
    "grid": _names("p w side correlation max_points fixed"),
    "executor": _names("n_jobs chunk_texts devices timeout jobs device_jobs"),
    "tracking": _names("experiment timeout curves"),
    INNER_PARTS: _names("""
        name dataset language_pairs language_pair constructed first skip human_systems folder test_set reference human
        leave_out aspect path columns decimal encoding skip_rows unescape systems tags submissions file files extra gold
        recipe raters

        model revision layer dtype max_length device batch_tokens shuffled pooling ground_truth references char_order
        word_order beta lowercase tokenize smooth_method smooth_value effective_order normalized no_punct asian_support
        case_sensitive ordered measure variant stemmed memory batch_size gpus cuda sees folds flow_dropout
        language_model language_model_revision language_model_weight source_language target_language length
        language_code direction directions augment term_weights weights scale specials repeated baseline best metric
        metrics explainer aggregation max_texts minus_prior prompt temperature max_tokens
        max_completion_tokens score_from context repeat average concurrency
        timeout retries max_requests num_samples kernel_width alpha mask backend max_evals exact_up_to gap sides delta
        no_candidate errors_are tokens sub_words probabilities seed idf idf_texts

        texts higher_is_better by good good_share steps orders spans

        feature side mix p w cap shift penalties boosts grid correlation fixed max_points statistic statistics draws
        resamples smallest_gain sentences top system_score tests unit error_free_human error_free_least pooled ties
    """),
}
# Folders of this machine that are written to: a file may name these, but no address.
FOLDER_KEYS = _names("data_dir cache_dir output_dir answers log_dir")
# Keys that only the user sets, in every class: they send texts, secrets and work, and run commands.
KEYS_OF_USERS = _names("""
    address base_url command extra_body cluster cluster_options device_options key_variable uri repository sources
""")
# Keys whose values a file may have if the user lists them, and how that is done.
LISTED = {
    "base_url": f"the host in the environment variable {ALLOWED} (comma-separated)",
    "key_variable": f"the variable in the environment variable {ALLOWED} (comma-separated)",
    "command": f"the whole command in the environment variable {ALLOWED_COMMANDS} (one per line)",
}
# Keys below which names are data.
NAMES_BELOW = _names("columns files fixed gold reference weights")
# Parts whose libraries unpickle the model that they load, which can run code.
UNPICKLED = _names("bmx_grid.metrics.libraries.Comet bmx_grid.metrics.libraries.TransQuest")
OF_MODELS = _names("model revision")
# Fields that parts fill themselves, and that a recipe keeps.
OF_RECIPES = _names("explanations scores served set")
OURS = "bmx_grid."


def check_keys_of_files(config: Mapping[str, Any], keys_of_user: AbstractSet[str]) -> None:
    """Refuse keys that a file may not set, anywhere in a configuration.

    config: the whole tree, with values in place of ${…}. keys_of_user: the full keys whose values the user gave, as
    "executor.address"; all others count as a file's. Raises ConfigError that begins with the key.
    """
    check = _Check(keys_of_user, str(config.get("cache_dir")))
    for name, value in config.items():
        check.key(str(name), value, str(name), KEYS_OF_FILES[""], None)
        if name in GROUPS_OF_PARTS and isinstance(value, Mapping):
            for option, node in value.items():
                check.below(node, f"{name}.{option}", KEYS_OF_FILES[INNER_PARTS], None)
        elif name in KEYS_OF_FILES:
            check.below(value, str(name), KEYS_OF_FILES[str(name)], None)
        else:
            check.below(value, str(name), KEYS_OF_FILES[INNER_PARTS], None)


def check_keys_of_recipe(settings: Mapping[str, Any], group: str, name: str) -> None:
    """Refuse keys of the option `name` that a recipe may not set. Raises ConfigError."""
    check = _Check(frozenset(), None)
    check.below(settings, group, KEYS_OF_FILES[INNER_PARTS] | OF_RECIPES, _option_target(group, name))


@dataclass(frozen=True)
class _Check:
    """keys_of_user: as in `check_keys_of_files`. cache_dir: of the sweep; None if a file may name no folder."""

    keys_of_user: AbstractSet[str]
    cache_dir: str | None

    def below(self, node: Any, key: str, allowed: AbstractSet[str], target: str | None) -> None:
        """Check the keys below a value; target: the class of the part that the value is of, if it names no other."""
        if isinstance(node, list | tuple):
            for place_in_list, item in enumerate(node):
                self.below(item, f"{key}.{place_in_list}", allowed, target)
        if not isinstance(node, Mapping):
            return
        target = str(node.get("_target_", target or ""))
        for name, value in node.items():
            name = str(name)
            key_of_value = f"{key}.{name}"
            self.key(name, value, key_of_value, allowed, target)
            # Lists are replaced as a whole, so that every value in a user's list is the user's.
            is_of_user = key_of_value in self.keys_of_user and not isinstance(value, Mapping)
            if not (is_of_user or _are_data(name, value, target)):
                # In a list of metrics, the name is that of an option.
                self.below(value, key_of_value, KEYS_OF_FILES[INNER_PARTS], _option_target("metric", name) or target)

    def key(self, name: str, value: Any, key: str, allowed: AbstractSet[str], target: str | None) -> None:
        """Refuse one key that a file may not set. Raises ConfigError."""
        is_pickle = name in OF_MODELS and target is not None and _defined_as(target) in UNPICKLED
        if name == "_target_" or key in self.keys_of_user or (name in allowed and not is_pickle):
            return
        is_of_users = is_pickle or name in KEYS_OF_USERS or name in FOLDER_KEYS
        if not is_of_users and not (target is not None and target.startswith(OURS) and name in _field_names(target)):
            # Of a class of the user's own package, which names its keys as it likes, or of a class that lacks the key:
            # `build` refuses it and lists the known ones.
            return
        if is_of_users and isinstance(value, Mapping):
            for inner, item in value.items():
                if not _is_own_value(str(inner), item):
                    self.key(name, item, f"{key}.{inner}", allowed, target)
            return
        # Most keys are empty, and an empty value is harmless: the package's own files need not be read.
        says_nothing = value is None or (isinstance(value, list) and not value)
        if says_nothing or (name in FOLDER_KEYS and self._is_folder(key, value)) or _is_own_value(name, value):
            return
        listed = ""
        if name in LISTED:
            if may_be_in_a_file(name, value):
                return
            listed = f", or list {LISTED[name]}"
        raise ConfigError(
            f"{key}: {quote_value(value)} is named by a file, which could send texts and keys anywhere, or run code. "
            f"If you trust it, write it on the command line{listed}."
        )

    def _is_folder(self, key: str, value: Any) -> bool:
        """Whether a value is a folder of this machine, or of the cache that the user chose."""
        if self.cache_dir is None:
            return False
        if not isinstance(value, str):
            return True  # null, or what `build` refuses
        if value == os.environ.get(CACHE_VARIABLE):
            return True
        # `check_keys_of_files` checks the sweep's own cache_dir.
        if key != "cache_dir" and f"{value}/".startswith(f"{self.cache_dir}/"):
            return True
        try:
            return isinstance(place(value), Path)
        except ConfigError:  # neither: refused by whatever is built of it
            return True


def _option_target(group: str, name: str) -> str | None:
    """The path of the class of an option of this package; None if it has no such option."""
    file = CONFIGS / group / f"{name}.yaml"
    if not re.fullmatch(r"\w+", name) or not file.is_file():
        return None
    return targets(file)[0]


@functools.cache
def _defined_as(target: str) -> str:
    """The path by which a class is defined, whatever module it is taken from."""
    try:
        cls = allowed_class(target, "")
    except ConfigError:
        return target
    return f"{cls.__module__}.{cls.__qualname__}"


@functools.cache
def _field_names(target: str) -> frozenset[str]:
    """The names of the fields of the class at this path; none if it cannot be built, which `build` reports."""
    try:
        cls = allowed_class(target, "")
    except ConfigError:
        return frozenset()
    if not dataclasses.is_dataclass(cls):
        return frozenset()
    return frozenset(item.name for item in dataclasses.fields(cls))


def _are_data(name: str, value: Any, target: str) -> bool:
    """Whether the names below a key are data, so that they are no keys."""
    if name not in NAMES_BELOW or name not in _field_names(target) or not isinstance(value, Mapping):
        return False
    return "_target_" not in value and not any(isinstance(inner, Mapping | list) for inner in value.values())


def _is_own_value(name: str, value: Any) -> bool:
    """Whether an option of this package has this value for a key of this name."""
    try:
        return canonical_json(value) in _own_values().get(name, ())
    except (TypeError, ValueError):  # what JSON cannot hold
        return False


@functools.cache
def _own_values() -> Mapping[str, AbstractSet[str]]:
    """The values that this package's own files have, as JSON, by the names of their keys."""
    import yaml

    values: dict[str, set[str]] = {}

    def note(node: Any) -> None:
        if isinstance(node, list):
            for item in node:
                note(item)
        if isinstance(node, Mapping):
            for name, value in node.items():
                values.setdefault(str(name), set()).add(canonical_json(value))
                note(value)

    for file in CONFIGS.glob("*/*.yaml"):
        note(yaml.safe_load(file.read_text(encoding="utf-8")))
    return values
