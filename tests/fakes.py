"""Meaningless metrics for tests: one that counts its calls, and three that fail in their own ways."""

from __future__ import annotations

import copy
import dataclasses
import functools
import hashlib
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bmx_grid.core.configure import CONFIGS, groups
from bmx_grid.core.errors import UnavailableError
from bmx_grid.core.identity import identity, runtime
from bmx_grid.metrics.base import Cost, Metric, text_pairs
from bmx_grid.words.perturbation import Item, Role

if TYPE_CHECKING:
    import pytest
    from omegaconf import DictConfig

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class HashMetric(Metric):
    """A cheap, meaningless metric: a hash of both texts in [0, 1), every call noted in a file."""

    salt: int = identity(0)
    log: str = runtime("")

    @property
    def reads(self) -> tuple[Role, ...]:
        return ("source", "hypothesis")

    @property
    def signature(self) -> str:
        return f"hash|salt:{self.salt}"

    @property
    def has_side_effects(self) -> bool:  # type: ignore[override]
        return bool(self.log)

    def shuffle_weights(self, seed: int) -> Self:
        return dataclasses.replace(self, salt=self.salt + 1 + seed)

    def score(self, items: Sequence[Item]) -> np.ndarray:
        if self.log:
            with Path(self.log).open("a") as file:
                file.write(f"{len(items)}\n")
        texts = (f"{self.salt}\0{a}\0{b}".encode() for a, b in text_pairs(items, "source"))
        numbers = [int.from_bytes(hashlib.blake2b(text, digest_size=6).digest(), "big") for text in texts]
        return np.array(numbers, dtype=np.float64) / 2**48


@dataclass(frozen=True)
class SlowMetric(HashMetric):
    """A hash that says it is a large model."""

    @property
    def cost(self) -> Cost:
        return "model"


@dataclass(frozen=True)
class SleepyMetric(HashMetric):
    """A hash that sleeps for each batch and for each text, so that its process can be killed meanwhile."""

    seconds: float = runtime(0.0)
    per_text: float = runtime(0.0)

    def score(self, items: Sequence[Item]) -> np.ndarray:
        time.sleep(self.seconds + self.per_text * len(items))
        return super().score(items)


@dataclass(frozen=True)
class KilledMetric(HashMetric):
    """A hash whose process is killed, by nobody's hand, when so many texts were scored."""

    after: int = runtime(0)

    def score(self, items: Sequence[Item]) -> np.ndarray:
        scores = super().score(items)
        if self.after and sum(map(int, Path(self.log).read_text().split())) >= self.after:
            os.kill(os.getpid(), signal.SIGKILL)
        return scores


@dataclass(frozen=True)
class BrokenMetric(HashMetric):
    """Fails as a library behind a metric might."""

    def score(self, items: Sequence[Item]) -> np.ndarray:
        raise ValueError("boom")


@dataclass(frozen=True)
class ExitingMetric(HashMetric):
    """Leaves, as a script does."""

    def score(self, items: Sequence[Item]) -> np.ndarray:
        sys.exit(0)


@dataclass(frozen=True)
class UnpicklableMetric(HashMetric):
    """Holds what no other process can be sent."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "lock", threading.Lock())


@dataclass(frozen=True)
class AbsentMetric(HashMetric):
    """A metric whose model is unavailable."""

    def check(self) -> None:
        raise UnavailableError("the model 'x' is not here: get it with y")


@dataclass(frozen=True)
class KillerMetric(HashMetric):
    """Ends its process as the kernel does when memory runs out."""

    def score(self, items: Sequence[Item]) -> np.ndarray:
        os.kill(os.getpid(), signal.SIGKILL)
        return np.empty(0)


def draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures of sweeps are written as ever, with nothing drawn in them."""
    from matplotlib.figure import Figure

    from bmx_grid.report import analysis_files
    from bmx_grid.report.canvas import Drawing, save

    def blank() -> Figure:
        return Figure(figsize=(0.1, 0.1))

    def save_blank(drawing: Drawing, *to: Any) -> Path:
        return save(dataclasses.replace(drawing, draw=blank), *to)

    monkeypatch.setattr(analysis_files, "save", save_blank)


def composed(*overrides: str) -> dict[str, Any]:
    """The configuration that the command line would compose, as plain values.

    Hydra takes longest over the files, so each choice of options is composed once; then Hydra's own code gives the
    values, as it does at the end of every composition.
    """
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from omegaconf import OmegaConf

    parsed = OverridesParser.create().parse_overrides(list(overrides))
    names = groups()
    options = [
        override for override in parsed if override.key_or_group in names and not isinstance(override.value(), dict)
    ]
    config = copy.deepcopy(_of_options(tuple(str(override.input_line) for override in options)))
    ConfigLoaderImpl._apply_overrides_to_config([override for override in parsed if override not in options], config)
    plain = OmegaConf.to_container(config, resolve=True)
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


@functools.cache
def _of_options(chosen: tuple[str, ...]) -> DictConfig:
    from hydra import compose, initialize_config_dir

    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return compose("config", overrides=list(chosen))
