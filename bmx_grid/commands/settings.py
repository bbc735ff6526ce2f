"""The keys and groups at the top of a configuration, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bmx_grid.configure import check_seed, convert, folder_path
from bmx_grid.errors import ConfigError
from bmx_grid.segments import check_name
from bmx_grid.storage.addresses import Place, place
from bmx_grid.words.segmentation import Name as WordsName

MAX_SEEDS = 100


@dataclass(frozen=True)
class Settings:
    """The top-level keys, checked."""

    name: str
    data_dir: Path
    cache_dir: Place
    output_dir: Path
    limit: int | None
    leave_out: tuple[str, ...]
    words: WordsName
    seed: int
    seeds: tuple[int, ...]
    dry_run: bool
    on_error: Literal["continue", "stop"]
    analysis: bool
    questions: tuple[str, ...]
    figures: Literal["page", "all"]

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Settings:
        """Raises ConfigError naming the key and the value."""
        limit = convert(config["limit"], int | None, "limit")
        if limit is not None and limit < 1:
            raise ConfigError(f"limit must be at least 1 segment per language pair, or null for all; got {limit}.")
        cache = convert(config["cache_dir"], str, "cache_dir")
        cache_dir = place(cache) if "://" in cache else folder_path(cache, "cache_dir")
        name = convert(config["name"], str, "name")
        if "/" in name or not name.strip(". ") or not name.isprintable():
            raise ConfigError(
                f"name: {name[:60]!r} cannot name a sweep, whose folder and runs bear it; write a name without "
                "slashes, and another folder as output_dir=DIR."
            )
        return cls(
            name=name,
            data_dir=folder_path(config["data_dir"], "data_dir"),
            cache_dir=cache_dir,
            output_dir=folder_path(config["output_dir"], "output_dir"),
            limit=limit,
            leave_out=convert(config["leave_out"], tuple[str, ...], "leave_out"),
            words=convert(config["words"], WordsName, "words"),
            seed=check_seed(convert(config["seed"], int, "seed")),
            seeds=_seeds(config["seeds"]),
            dry_run=convert(config["dry_run"], bool, "dry_run"),
            on_error=convert(config["on_error"], Literal["continue", "stop"], "on_error"),
            analysis=convert(config["analysis"], bool, "analysis"),
            questions=_questions(config),
            figures=convert(config["figures"], Literal["page", "all"], "figures"),
        )


def _questions(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The modules of further questions, imported before anything runs. Raises ConfigError for one that is none."""
    found: tuple[str, ...] = convert(config["questions"], tuple[str, ...], "questions")
    if found:
        from bmx_grid.analysis.questions import with_others

        if config["analysis"] is False:
            raise ConfigError("questions are answered by the analysis, and analysis=false: leave out one of the two.")
        with_others(found)
    return found


def _seeds(given: Any) -> tuple[int, ...]:
    """The seeds of repeats. Raises ConfigError for a seed below 0, a repeated one, or too many."""
    seeds: tuple[int, ...] = convert(given, tuple[int, ...], "seeds")
    for seed in seeds:
        check_seed(seed, "seeds: a seed")
    twice = next((seed for at, seed in enumerate(seeds) if seed in seeds[:at]), None)
    if twice is not None:
        raise ConfigError(f"seeds: {twice} is there twice, and would give the same numbers; name each seed once.")
    if len(seeds) > MAX_SEEDS:
        raise ConfigError(f"seeds: {len(seeds)} seeds, each a run of its own; name at most {MAX_SEEDS}.")
    return seeds


def chosen_options(config: Mapping[str, Any], group: str, least: int = 1) -> list[tuple[str, Any]]:
    """The chosen options of a list group, in order. Raises ConfigError when there are fewer than `least`."""
    chosen = config.get(group)
    if chosen is None and least == 0:
        return []
    if not isinstance(chosen, Mapping) or len(chosen) < least:
        raise ConfigError(f"{group}: choose at least one, as {group}=[NAME,…].")
    for name in chosen:
        check_name(group, str(name), f"{group}.{name}")
    return [(str(name), node) for name, node in chosen.items()]


def chosen_option(config: Mapping[str, Any], group: str) -> Mapping[str, Any]:
    """The one chosen option of a group, or a key with keys below it. Raises ConfigError when it is not there."""
    node = config.get(group)
    if not isinstance(node, Mapping):
        raise ConfigError(f"{group}: expected keys below it, got {node!r}; leave its default in place.")
    return node
