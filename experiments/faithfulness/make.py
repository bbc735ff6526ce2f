"""Are explanations faithful to the metric, and do more faithful ones boost more? WMT17: the table of README.md.

python experiments/faithfulness/make.py DATA_DIR     2 and 10 CPU-minutes; the sweeps go to outputs/faithfulness_METRIC
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # so that a checkout needs no installation

from bmx_grid.analysis.finished import load_results  # noqa: E402
from bmx_grid.analysis.verdict_rows import setting_verdicts  # noqa: E402
from bmx_grid.core.wording import format_interval  # noqa: E402
from bmx_grid.guests.faithfulness import faithful_explanations  # noqa: E402
from bmx_grid.measures.resampling import cluster_mean  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bmx_grid.analysis.questions import Analysis

LIMITS = {"sentence_bleu": 300, "minilm_bertscore": 12}  # segment ids of each of the seven language pairs
MEASURES = ("comprehensiveness", "random_removal", "sufficiency", "faithfulness")


def main(arguments: list[str]) -> int:
    """Run the sweeps, and print the table and what they say of gains."""
    (data_dir,) = arguments
    print("| metric | explainer | comprehensiveness | random removal | sufficiency | faithfulness | held-out gain |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    sentences = []
    for metric, limit in LIMITS.items():
        analysis = analysed(metric, limit, data_dir)
        print("\n".join(lines(analysis)))
        (sentence,) = analysis.compute_once(faithful_explanations.compute)["faithfulness_in_words"]
        sentences += [f"{metric}: {sentence}", *differences(metric, analysis)]
    print("\n".join(["", *sentences]))
    return 0


def analysed(metric: str, limit: int, data_dir: str) -> Analysis:
    """A sweep, run unless it is up to date, and its analysis."""
    name = f"faithfulness_{metric}"
    command = [
        *(sys.executable, "-m", "bmx_grid", f"name={name}", f"data_dir={data_dir}", f"limit={limit}"),
        *("dataset=[wmt17]", f"metric=[{metric}]", "explainer=[erasure,lime,shap,random]"),
        *("explainer.shap.max_evals=150", "grid.side=hypothesis", "evaluation=[grid,boosts,faithfulness]"),
        *("executor=sequential", "tracking=none"),
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return load_results(Path("outputs") / name).analyse()


def lines(analysis: Analysis) -> list[str]:
    """A line per explainer, the most faithful first."""
    found = analysis.compute_once(faithful_explanations.compute)
    gains = setting_verdicts(analysis).groupby("explainer")["gain"].mean()
    rows = []
    for row in found["faithfulness"].to_dict("records"):
        cells = [row["metric"], row["explainer"]]
        for name in MEASURES:
            cells.append(format_interval(row[name], row[f"{name}_low"], row[f"{name}_high"], ".3f"))
        cells.append(f"{gains[row['explainer']]:+.4f}")
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def differences(metric: str, analysis: Analysis) -> Iterator[str]:
    """How much more faithful explainers are than LIME on the same language pairs."""
    by_setting = analysis.compute_once(faithful_explanations.compute)["faithfulness_by_setting"]
    by_pair = by_setting.pivot(index="language_pair", columns="explainer", values="faithfulness")
    for explainer in ("erasure", "shap"):
        left = by_pair[explainer] - by_pair["lime"]
        mean = cluster_mean(left.to_numpy(), left.index.to_numpy())
        difference = format_interval(mean.mean, mean.low, mean.high, "+.3f")
        yield f"{metric}: faithfulness of {explainer} minus that of LIME is {difference}."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
