"""Tables of benchmarks/README.md are those that their scripts write."""

import re

from fakes import ROOT
from scripts import script

README = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")


def test_linear_layers_by_onednn_are_quicker_and_score_the_same():
    written = README.partition("<!-- linear_layers.py -->\n")[2].partition("<!-- end -->")[0]
    with script(ROOT / "benchmarks" / "linear_layers.py") as benchmark:
        header = benchmark.HEADER
        metrics = list(benchmark.METRICS)
    assert header in written.splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in written.splitlines() if line.startswith("| `")]
    assert [row[0] for row in rows] == [f"`{metric}`" for metric in metrics]
    for *_, ratios, scores, attributions in rows:
        median, least, most = map(float, re.findall(r"[\d.]+", ratios))
        assert least <= median <= most
        assert median > benchmark.FLOOR
        assert max(float(scores), float(attributions)) <= 1e-6
