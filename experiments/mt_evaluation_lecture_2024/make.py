"""How reliable published human judgements are: agreement, standardised scores, on MLQE-PE and newstest2021.

python experiments/mt_evaluation_lecture_2024/make.py [PART…]

agreement   MLQE-PE: Krippendorff's alpha and Fleiss' kappa of the annotators, by language pair
scores      MLQE-PE: the published z-scores recomputed from the raw ones, and who rated what
mqm         newstest2021: raters who judged the same translation, written by several systems

Data sets are read below BMX_DATA_DIR (default: ../shared/data). Intervals are 95 %, by a bootstrap of segments.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # so that a checkout needs no installation
sys.path.insert(0, str(Path(__file__).resolve().parent))

from raters import Floats, Ints, by_their_scales, identical_translations, of_annotators  # noqa: E402

from bmx_grid.core.configure import build, load_option  # noqa: E402
from bmx_grid.core.errors import BmxError, ConfigError, unknown  # noqa: E402
from bmx_grid.datasets.base import DatasetReader  # noqa: E402
from bmx_grid.datasets.segments import SegmentSet  # noqa: E402
from bmx_grid.measures.annotators import (  # noqa: E402
    Agreement,
    Scale,
    krippendorff_alpha,
    reliability,
    standardize_ratings,
    uniform_kappa,
)

BINS = (10, 29, 50, 69, 90)  # the highest scores of the five lower of six categories (Guzmán et al. 2019)
LEVELS: tuple[Scale, ...] = ("ordinal", "interval")
EXACT = 1e-9
Row = Sequence[object]


def main(arguments: list[str]) -> int:
    """Print the parts that are asked for, or all; the exit status."""
    data_dir = Path(os.environ.get("BMX_DATA_DIR") or ROOT.parent / "shared" / "data")
    try:
        for name in arguments:
            if name not in PARTS:
                raise ConfigError(unknown("part", name, PARTS))
        for name in arguments or PARTS:
            header, rows = PARTS[name]
            print(f"\n{name}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
            for row in rows(data_dir):
                print(f"| {' | '.join(map(str, row))} |", flush=True)
    except BmxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def mlqe_pe(data_dir: Path) -> Iterator[tuple[str, Floats, Floats, Ints]]:
    """Language pair, raw and standardised scores float64[N, R], and the annotator of each rating."""
    reader = build(load_option("dataset", "mlqe_pe"), DatasetReader, "dataset.mlqe_pe")
    for pair in reader.pairs(data_dir):
        found: SegmentSet = reader.load_segments(data_dir, pair)
        raw, z = (found.judgements.raters[name] for name in ("mean", "z_mean"))
        yield pair, raw, z, by_their_scales(raw, z)


def agreement(data_dir: Path) -> Iterator[Row]:
    """Of all ratings as they are, as standardised, and by the first and the last three columns alone."""
    for pair, raw, z, _ in mlqe_pe(data_dir):
        alphas = [shown(krippendorff_alpha(raw, level)) for level in LEVELS]
        categories = np.where(np.isfinite(raw), np.searchsorted(BINS, raw), np.nan)
        kappa, reached = uniform_kappa(categories, len(BINS) + 1), reliability(raw)
        halves = [
            shown(krippendorff_alpha(part, "interval")) if raw.shape[1] == 6 else "–"
            for part in (raw[:, :3], raw[:, 3:])
        ]
        yield (
            *(pair, raw.shape[1], *alphas, shown(krippendorff_alpha(z, "interval")), *halves),
            *(shown(kappa), f"{1 - kappa.observed:.3f}", f"{reached['icc_1']:.3f}", f"{reached['icc_k']:.3f}"),
        )


def scores(data_dir: Path) -> Iterator[Row]:
    """How many ratings the rule of z-scores reproduces from the published part, and what is left."""
    for pair, raw, z, annotator in mlqe_pe(data_dir):
        people = of_annotators(raw, annotator)
        published = of_annotators(z, annotator)
        apart = [np.nanmax(np.abs(standardize_ratings(people, ddof=ddof) - published), axis=0) for ddof in (0, 1)]
        exact = apart[0] < EXACT
        ratings = np.isfinite(people).sum(axis=0)
        worst = f"{apart[0][exact].max():.0e}" if exact.any() else "–"
        by_sample = f"{apart[1][exact].min():.4f}" if exact.any() else "–"
        rest = f"{apart[0][~exact].max():.3f}" if (~exact).any() else "–"
        ours = np.nanmean(standardize_ratings(people), axis=1)
        close = np.corrcoef(ours, z.mean(axis=1))[0, 1]
        yield (
            *(pair, people.shape[1], int((annotator < 0).sum()), f"{ratings[exact].sum():,} of {raw.size:,}"),
            *(worst, by_sample, rest, f"{close:.4f}", f"{np.abs(ours - z.mean(axis=1)).max():.3f}"),
        )


def mqm(data_dir: Path) -> Iterator[Row]:
    """How far raters of MQM agree on one text, and with themselves."""
    for pair in ("en-de", "zh-en"):
        rows, twice = identical_translations(data_dir, pair)
        ordinal, interval = (krippendorff_alpha(rows, level) for level in LEVELS)
        themselves = krippendorff_alpha(np.array(twice), "interval")
        of_all = interval.n_items, interval.n_annotators, shown(ordinal), shown(interval)
        yield pair, *of_all, len(twice), shown(themselves)


def shown(found: Agreement) -> str:
    """Value and interval."""
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


PARTS: dict[str, tuple[Sequence[str], Callable[[Path], Iterator[Row]]]] = {
    "agreement": (
        (
            *("pair", "ratings", "α ordinal", "α interval", "α of z", "α columns 1–3", "α columns 4–6"),
            *("κ of 6 categories, chance 1/6", "p(A)", "ICC(1,1)", "ICC(1,k)"),
        ),
        agreement,
    ),
    "scores": (
        (
            *("pair", "annotators", "unknown", "ratings reproduced", "to", "by ddof = 1 no nearer than"),
            *("others, off by at most", "r of z_mean", "z_mean off by at most"),
        ),
        scores,
    ),
    "mqm": (
        ("pair", "translations", "raters", "α ordinal", "α interval", "twice by one rater", "α interval of these"),
        mqm,
    ),
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
