"""Statistics of metrics and human judgements: arrays in, numbers out; no texts, no files, no configuration.

A library of its own that requires only NumPy, SciPy and Numba (docs/how-to/use_the_statistics.md).

| name | purpose |
|---|---|
| `correlate`, `kendall_tau_c` | Pearson's r, Spearman's rho, Kendall's tau-b and tau-c |
| `grouped_correlations`, `within_groups` | mean correlation within sources or systems; correlation of each group |
| `grouped_acc_eq`, `spa`, `pairwise_correlations` | pairwise accuracy with ties, soft pairwise accuracy, PDP |
| `compare`, `compare_systems` | test two metrics at segment or system level |
| `compare_agreement`, `Scores` | test two metrics in acc_eq, soft or plain pairwise accuracy |
| `compare_sums` | test two means or corpus scores, from sums over segments |
| `williams` | Williams' test of two correlations |
| `holm`, `benjamini_hochberg` | adjust p-values for multiple tests |
| `resampled_correlations`, `interval`, `cluster_mean` | bootstrap of correlations, intervals, means over clusters |
| `rank_ranges`, `outliers` | rank ranges and clusters of systems, outlying systems |
| `krippendorff_alpha`, `uniform_kappa`, `reliability` | agreement of annotators, ceiling of any metric |
| `rank_words`, `statistics`, `label_measures` | word attributions and word labels against true labels |
| `Labels`, `Ragged` | packed labels and numbers of the words of texts; lists of lists are accepted too |
| `character_sums`, `span_sums`, `agreement_with_interval` | error spans: F1 of characters and of spans (MPP) |
| `compute_grid`, `GridSpec`, `PowerRange` | correlations of all points of a p x w grid |
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bmx_grid.core.ragged import Labels as Labels
    from bmx_grid.core.ragged import Ragged as Ragged
    from bmx_grid.measures.agreement import spa as spa
    from bmx_grid.measures.agreement_tests import Scores as Scores
    from bmx_grid.measures.agreement_tests import compare_agreement as compare_agreement
    from bmx_grid.measures.annotators import krippendorff_alpha as krippendorff_alpha
    from bmx_grid.measures.annotators import reliability as reliability
    from bmx_grid.measures.annotators import uniform_kappa as uniform_kappa
    from bmx_grid.measures.correlation import correlate as correlate
    from bmx_grid.measures.correlation import kendall_tau_c as kendall_tau_c
    from bmx_grid.measures.correlations_of_resamples import resampled_correlations as resampled_correlations
    from bmx_grid.measures.grid import GridSpec as GridSpec
    from bmx_grid.measures.grid import PowerRange as PowerRange
    from bmx_grid.measures.grid import compute_grid as compute_grid
    from bmx_grid.measures.grouped import grouped_acc_eq as grouped_acc_eq
    from bmx_grid.measures.grouped import grouped_correlations as grouped_correlations
    from bmx_grid.measures.grouped import within_groups as within_groups
    from bmx_grid.measures.multiple_tests import benjamini_hochberg as benjamini_hochberg
    from bmx_grid.measures.multiple_tests import holm as holm
    from bmx_grid.measures.paired_tests import compare as compare
    from bmx_grid.measures.paired_tests import compare_sums as compare_sums
    from bmx_grid.measures.paired_tests import williams as williams
    from bmx_grid.measures.pairwise import pairwise_correlations as pairwise_correlations
    from bmx_grid.measures.resampling import cluster_mean as cluster_mean
    from bmx_grid.measures.resampling import interval as interval
    from bmx_grid.measures.span_agreement import agreement_with_interval as agreement_with_interval
    from bmx_grid.measures.span_agreement import character_sums as character_sums
    from bmx_grid.measures.span_agreement import span_sums as span_sums
    from bmx_grid.measures.system_tests import compare_systems as compare_systems
    from bmx_grid.measures.systems import outliers as outliers
    from bmx_grid.measures.systems import rank_ranges as rank_ranges
    from bmx_grid.measures.word_measures import label_measures as label_measures
    from bmx_grid.measures.word_measures import rank_words as rank_words
    from bmx_grid.measures.word_measures import statistics as statistics

_MODULES = {
    "bmx_grid.core.ragged": ("Labels", "Ragged"),
    "agreement": ("spa",),
    "agreement_tests": ("Scores", "compare_agreement"),
    "annotators": ("krippendorff_alpha", "reliability", "uniform_kappa"),
    "correlation": ("correlate", "kendall_tau_c"),
    "grid": ("GridSpec", "PowerRange", "compute_grid"),
    "grouped": ("grouped_acc_eq", "grouped_correlations", "within_groups"),
    "pairwise": ("pairwise_correlations",),
    "multiple_tests": ("benjamini_hochberg", "holm"),
    "paired_tests": ("compare", "compare_sums", "williams"),
    "correlations_of_resamples": ("resampled_correlations",),
    "resampling": ("cluster_mean", "interval"),
    "span_agreement": ("agreement_with_interval", "character_sums", "span_sums"),
    "system_tests": ("compare_systems",),
    "systems": ("outliers", "rank_ranges"),
    "word_measures": ("label_measures", "rank_words", "statistics"),
}
_PLACES: dict[str, str] = {}
for _module, _names in _MODULES.items():
    _PLACES.update(dict.fromkeys(_names, _module))
__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    """The names above, imported when they are first used."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place = _PLACES[name]
    module = place if "." in place else f"{__name__}.{place}"
    return getattr(importlib.import_module(module), name)
