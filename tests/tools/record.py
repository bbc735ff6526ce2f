"""Record six small runs of this checkout, to compare with those of another one: `same.py OLD/record NEW/record`.

usage: record.py FOLDER      writes FOLDER/record/NAME and NAME.txt; about a minute of one core

Run it in two checkouts. Runs on WMT17 and on the published grid need BMX_DATA_DIR, else ../shared/data; without it they
are left out, and said so.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("BMX_DATA_DIR", ROOT.parent / "shared" / "data"))
SWEEPS = {
    "quickstart": "+sweep=quickstart",
    "sample": "dataset=[sample] metric=[sentence_bleu,chrf] explainer=[erasure,lime,random]"
    " boost=[power_mean_grid,share_negative,learned] evaluation=[grid,boosts,significance]",
    "seeds": "dataset=[sample] metric=[chrf] explainer=[lime] seeds=[1,2,3]",
}
ON_DATA = {
    "wmt17": "dataset=[wmt17] dataset.wmt17.language_pairs=[cs-en,de-en,fi-en,zh-en] limit=60"
    " metric=[chrf,word_overlap] explainer=[erasure] boost=[power_mean_grid,share_negative] evaluation=[grid,boosts]",
    "levels": "dataset=[wmt17] dataset.wmt17.language_pairs=[cs-en] limit=80 metric=[sentence_bleu,chrf]"
    " explainer=[] evaluation=[levels]",
}


def recorded(folder: Path, name: str, arguments: list[str]) -> None:
    """Run the command line and keep its output; what fails is part of the record."""
    command = [sys.executable, "-m", "bmx_grid", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    (folder / f"{name}.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    print(f"{name}: exit status {done.returncode}")


def main(target: str) -> None:
    folder = Path(target).resolve() / "record"  # the same in both: the name stands in pages and figures
    folder.mkdir(parents=True, exist_ok=True)
    common = ["executor=sequential", "tracking=none", f"data_dir={DATA}"]
    sweeps = SWEEPS | ON_DATA if DATA.is_dir() else SWEEPS
    for name, overrides in sweeps.items():
        places = [f"cache_dir={folder}/cache_{name}", f"output_dir={folder}/{name}"]
        recorded(folder, name, [*overrides.split(), *common, *places])
    published = DATA.parent / "expected" / "bmx_authors_grid.parquet"
    if published.is_file():
        recorded(folder, "published", ["analyse", str(published), "format=json", f"output_dir={folder}/published"])
    else:
        print("without the data: wmt17, levels and published are not recorded")


if __name__ == "__main__":
    main(*sys.argv[1:])
