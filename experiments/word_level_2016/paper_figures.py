"""Figures of this experiment: real and synthetic labellings by each measure, p values by samples, effect sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from paper_tables import LABELLINGS, NAMES
from synthetic import SYNTHETIC
from thresholds_sampled import BASE, Sampled, Z

from bmx_grid.measures.word_measures import THE_SIX
from bmx_grid.report.canvas import (
    BLUE,
    DASHES,
    INK,
    LINES,
    MARKERS,
    PAGE,
    PAPER,
    QUIET,
    RED,
    Drawing,
    canvas,
    thin_grid,
)

Row = Mapping[str, Any]

LEAST_P, P_TICKS = 1e-8, (1, 0.01, 1e-4, 1e-6, 1e-8)


def drawings(ranked: Sequence[Row], synthetic: Sequence[Row], found: Sequence[Sampled]) -> Iterator[Drawing]:
    """The figures that the rows are enough for."""
    if ranked and synthetic:
        draws = max(row["n_draws"] for row in synthetic)
        yield Drawing(
            "real_and_synthetic",
            "Real submissions and synthetic labellings",
            "WMT22 word-level submissions (dots, 95 % bootstrap intervals over segments) and synthetic labellings "
            f"(open marks, mean of {draws} draws where they are random; an undefined MCC is left out) by the six "
            "measures. A synthetic labelling outranks the submissions to its left.",
            lambda: _real_and_synthetic(ranked, synthetic),
        )
    if found:
        one = next((one for one in found if one.shares[0] == BASE), found[0])
        yield Drawing(
            "p_by_samples",
            f"p values by number of samples, {one.pair}",
            f"Average p value of {one.repeats:,} unpaired t-tests between {one.shares[0]:g} % errors and more, by the "
            f"number of samples of each ({one.pair}, {one.pool.words:,} words). Dashed: .05 divided by the "
            f"{len(one.found.pairs)} pairs of thresholds. Averages below 1e-8 are not drawn.",
            lambda: _p_by_samples(one),
        )
        yield Drawing(
            "effect_sizes",
            "Effect sizes of a difference of 0.2 percentage points",
            "Difference of the means of each measure between the outermost shares of errors, in standard deviations, "
            f"with 95 % intervals over {found[0].repeats:,} repetitions (mostly narrower than the marks). Measures "
            "are in the order of the paper's Table 2.",
            lambda: _effects(found),
        )


def _real_and_synthetic(ranked: Sequence[Row], synthetic: Sequence[Row]) -> Any:
    figure, axes = canvas(PAGE, 5.2, columns=3, rows=2, sharey=True)
    pairs = list(dict.fromkeys(row["language_pair"] for row in ranked))
    for panel, measure in zip(axes, THE_SIX, strict=True):
        for place, pair in enumerate(pairs):
            own = [row for row in ranked if (row["language_pair"], row["measure"]) == (pair, measure)]
            for step, row in zip(np.linspace(-0.1, -0.4, len(own)), own, strict=True):
                panel.plot([row["low"], row["high"]], [-place - step] * 2, color=BLUE, linewidth=1)
                panel.plot(row["value"], -place - step, "o", color=BLUE, markersize=3, label="submission")
            for mark, (name, row) in enumerate(
                (row["labelling"], row)
                for row in synthetic
                if (row["language_pair"], row["measure"]) == (pair, measure)
            ):
                marker = MARKERS[mark % len(MARKERS)]
                style = {"color": RED, "markersize": 4.5, "markerfacecolor": PAPER, "linestyle": "none"}
                panel.plot(row["value"], -place - 0.2, marker, label=LABELLINGS[name], **style)
        panel.set_title(NAMES[measure])
        panel.set_yticks([-place for place in range(len(pairs))], pairs)
        panel.set_ylim(-len(pairs) + 0.4, 0.6)
        thin_grid(panel, "x")
    labels = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    figure.legend(labels.values(), labels.keys(), loc="outside lower center", ncols=len(SYNTHETIC) // 2 + 1)
    return figure


def _p_by_samples(one: Sampled) -> Any:
    others = range(1, len(one.shares))
    figure, axes = canvas(PAGE, 2.6, columns=len(others), sharey=True)
    for panel, other in zip(axes, others, strict=True):
        p = one.found.p[one.found.pairs.index((0, other))]
        for column, measure in enumerate(one.found.measures):
            shown = np.where(p[:, column] > LEAST_P, p[:, column], np.nan)
            look = {"color": LINES[column], "linestyle": DASHES[column], "marker": MARKERS[column]}
            panel.plot(one.found.sizes, shown, label=NAMES[measure], markersize=3, linewidth=1.1, **look)
        panel.axhline(one.found.level, color=INK, linewidth=0.8, linestyle="--")
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_ylim(LEAST_P, 1.5)
        panel.set_xlim(one.found.sizes[0] / 1.5, one.found.sizes[-1] * 1.5)
        # Ticks and labels of our own: those of logarithmic axes are formulas, which these figures do not typeset.
        ticks = [10**power for power in range(1, 7) if one.found.sizes[0] <= 10**power <= one.found.sizes[-1]]
        panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        panel.set_yticks(P_TICKS, [f"{tick:g}".replace("e-0", "e-") for tick in P_TICKS])
        panel.minorticks_off()
        panel.set_xlabel("samples")
        panel.set_title(f"{one.shares[0]:g} against {one.shares[other]:g} %")
        thin_grid(panel)
    axes[0].set_ylabel("average p value")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(one.found.measures))
    return figure


def _effects(found: Sequence[Sampled]) -> Any:
    measures = ("f1_mult", "mcc", "f1_bad", "phrase_f1_mult", "seqcor", "phrase_f1_bad")
    figure, axes = canvas(PAGE, 1.9, columns=len(found), sharey=True)
    for panel, one in zip(axes, found, strict=True):
        outermost = one.found.pairs.index((0, len(one.shares) - 1))
        for place, measure in enumerate(measures):
            column = one.found.measures.index(measure)
            effect, error = one.found.effect[outermost, column], Z * one.found.effect_error[outermost, column]
            panel.plot([effect - error, effect + error], [-place] * 2, color=QUIET, linewidth=1.2)
            panel.plot(effect, -place, "o", color=BLUE, markersize=3.5)
        panel.set_yticks([-place for place in range(len(measures))], [NAMES[name] for name in measures])
        panel.set_title(f"{one.pair}, from {one.shares[0]:g} %")
        panel.set_xlim(0, 1.06 * float(one.found.effect[outermost].max()))
        thin_grid(panel)
    figure.supxlabel("effect size", fontsize=8)
    return figure
