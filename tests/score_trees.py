"""Trees in the layout of mt-metrics-eval: a small one, and real segments written as one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def blocks(**scores: tuple[float | None, ...]) -> str:
    """A file of the scores of each system's segments."""
    return "".join(f"{system} {score}\n" for system, of_segments in scores.items() for score in of_segments)


TREE = {
    "sources/en-de.txt": "s1\ns2\ns3\n",
    "documents/en-de.docs": "news\tdoc1\nnews\tdoc1\nsocial\tdoc2\n",
    "references/en-de.refA.txt": "a1\na2\na3\n",
    "references/en-de.refB.txt": "b1\nb2\nb3\n",
    "system-outputs/en-de/refA.txt": "a1\na2\na3\n",
    "system-outputs/en-de/refB.txt": "b1\nb2\nb3\n",
    "system-outputs/en-de/sysA.txt": "A 1\nA 2\nA 3\n",
    "system-outputs/en-de/sysB.txt": "B 1\nB 2\nB 3\n",
    "system-outputs/en-de/.hidden.txt": "",
    "human-scores/en-de.mqm.seg.score": "refB 0\nrefB 0\nrefB None\nsysA -1\nsysA None\nsysA -5\n"
    "sysB\t0\nsysB\t-0.1\nsysB\tNone\n",
    "human-scores/en-de.mqm.sys.score": "sysB -0.05\nsysA -3\nrefB 0\n",
    "human-scores/en-de.mqm.domain.score": "news sysA -1\n",
    "human-scores/en-de.mqm.merged.seg.rating": "not a score\n",
    "human-scores/en-de.wmt-raw.seg.score": "sysB 70\nsysB 80\nsysB 90\n",
    "human-scores/en-de.wmt-z.sys.score": "sysA None\nsysB 0.2\n",
    "metric-scores/en-de/BLEU-refA.sys.score": "sysA 20\nsysB 30\nrefB 40\n",
    "metric-scores/en-de/COMET-refA.seg.score": blocks(sysA=(0.1, 0.2, 0.3), refB=(1, 1, 1), sysB=(0.4, 0.5, 0.6)),
    "metric-scores/en-de/COMET-refA.sys.score": "sysA 0.2\nrefB 1\nsysB 0.5\n",
    "metric-scores/en-de/COMET-refA.domain.score": "news sysA 0.2\n",
    "metric-scores/en-de/COMET-refB.seg.score": blocks(sysA=(1, 1, 1), sysB=(1, 1, 1), refA=(1, 1, 1)),
    "metric-scores/en-de/QE-src.seg.score": blocks(sysA=(1,) * 3, sysB=(2,) * 3, refA=(3,) * 3, refB=(0.7, 0.8, 0.9)),
    "sources/cs-uk.txt": "c1\n",
    "system-outputs/cs-uk/sysA.txt": "u1\n",
    "human-scores/cs-uk.da-sqm.seg.score": "sysA 80\n",
    "sources/en-zh.txt": "z1\n",
    "system-outputs/en-zh/sysA.txt": "z1\n",
}


def plant(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files below the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
