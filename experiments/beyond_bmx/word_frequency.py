"""A placebo: each word's attribution is its log frequency, which knows nothing of any metric.

python experiments/beyond_bmx/word_frequency.py          write the explanations, run the sweep, print its table
python experiments/beyond_bmx/word_frequency.py --own    the same with frequencies in the sweep's own references

The frequencies are those of words in the English sources of MLQE-PE, which are unrelated to the sweep: WMT17 with chrF
and sentence BLEU, whose seven language pairs translate into English. Those in its own references are no clean placebo:
a word that no reference has is a word that does not match. Data sets are read below BMX_DATA_DIR, as in make.py.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

from make import tables  # noqa: E402

from bmx_grid.core.configure import build, load_option  # noqa: E402
from bmx_grid.core.errors import BmxError  # noqa: E402
from bmx_grid.datasets.base import DatasetReader  # noqa: E402
from bmx_grid.datasets.segments import SegmentSet  # noqa: E402
from bmx_grid.words.perturbation import Role  # noqa: E402
from bmx_grid.words.segmentation import split_words  # noqa: E402

NAMES = {False: "beyond_word_frequency", True: "beyond_own_frequency"}
UNRELATED = ("en-de", "en-zh")  # pairs of MLQE-PE whose sources are English


def main() -> int:
    """Run the placebo; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--own", action="store_true", help="count words in the references of the sweep")
    of_own = parser.parse_args().own
    output = ROOT / "outputs" / NAMES[of_own]
    data = Path(os.environ.get("BMX_DATA_DIR") or ROOT.parent / "shared" / "data")
    try:
        judged = segment_sets("wmt17", (), data)
        if of_own:
            counts = frequencies(judged, "reference")
        else:
            counts = frequencies(segment_sets("mlqe_pe", UNRELATED, data), "source")
    except BmxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    output.mkdir(parents=True, exist_ok=True)
    explanations = output.with_suffix(".jsonl")
    explanations.write_text("\n".join(rows(judged, counts)) + "\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "bmx_grid",
        "+sweep=beyond_wmt17",
        f"output_dir={output}",
        f"name={NAMES[of_own]}",
    ]
    command += ["metric=[chrf,sentence_bleu]", "explainer=[imported]", f"explainer.imported.file={explanations}"]
    command += ["boost=[power_mean_grid,mean,learned]"]
    status = subprocess.run(command, cwd=ROOT, env={**os.environ, "BMX_DATA_DIR": str(data)}, check=False).returncode
    if not status:
        print("\n".join(tables(output)))
    return status


def segment_sets(name: str, language_pairs: tuple[str, ...], data: Path) -> list[SegmentSet]:
    """The segments of these language pairs of a data set, all by default."""
    reader = build(load_option("dataset", name), DatasetReader, f"dataset.{name}")
    return [reader.load_segments(data, pair) for pair in language_pairs or reader.pairs(data)]


def frequencies(sets: list[SegmentSet], role: Role) -> Counter[str]:
    """How often each word occurs in the texts of a role, each different text counted once."""
    counts: Counter[str] = Counter()
    for text in {text for segments in sets for text in segments.texts(role)}:
        counts.update(text.casefold().split())
    return counts


def rows(sets: list[SegmentSet], counts: Counter[str]) -> Iterator[str]:
    """A row of explainer=imported for each text of reference and hypothesis."""
    for segments in sets:
        for segment in segments.segments:
            for side, text in (("reference", segment.reference), ("target", segment.hypothesis)):
                words = split_words(text or "")
                row = {"language_pair": segments.language_pair, "id": segment.id, "side": side, "words": list(words)}
                if segment.system is not None:
                    row["system"] = segment.system
                yield json.dumps({**row, "scores": [math.log1p(counts[word.casefold()]) for word in words]})


if __name__ == "__main__":
    sys.exit(main())
