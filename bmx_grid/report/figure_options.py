"""Which figures of an analysis are written, and in which formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bmx_grid.core.configure import convert

FigureFormat = Literal["svg", "png", "pdf"]


@dataclass(frozen=True)
class FigureOptions:
    """which: "page", those of report.html, or "all", those of the BMX paper and of each setting, too."""

    which: Literal["page", "all"] = "page"
    format: tuple[FigureFormat, ...] = ("svg",)


def figure_options(value: Any) -> FigureOptions:
    """The options in a configuration; figures=all stands for figures.which=all. Raises ConfigError."""
    node = value if isinstance(value, Mapping) else {"which": value}
    options: FigureOptions = convert(node, FigureOptions, "figures")
    return options
