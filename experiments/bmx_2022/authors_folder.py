"""The grids that the authors of BMX published, read from their repository as it is: github.com/Gringham/BMX.

Below xaiMetrics/outputs/experiment_results there is one file for each setting,

    DATASET__EXPLAINER__METRIC__PAIR.tsv              of both sides' words: these are the paper's, and are read
    DATASET__EXPLAINER__METRIC__PAIR__only_hyp.tsv    of the translation's words alone: left out

with the columns corr, w and p (and one of row numbers, which is not read). Names that the tables below do not have,
such as those of the second iteration, are left out, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from bmx_grid.analysis.base import GridTable, SettingKey
from bmx_grid.analysis.load import from_arrow
from bmx_grid.core.errors import DataError, DataMissingError
from bmx_grid.core.wording import first_line

RESULTS = Path("xaiMetrics/outputs/experiment_results")
SEPARATOR = "__"
COLUMNS = {"corr": "correlation", "w": "w", "p": "p"}

# The authors' names and those of this house.
DATASETS = {
    "wmt17": "wmt17",
    "eval4_nlp_21_test": "eval4nlp21",
    "wmt_22_expl_train": "mlqe_pe",
    "wmt_22_test_sets": "wmt22_qe",
    "mqm21": "mqm21",
}
EXPLAINERS = {
    "ErasureExplainer": "erasure",
    "LimeExplainer": "lime",
    "ShapExplainer": "shap",
    "InputMarginalizationExplainer": "input_marginalization",
    "RandomExplainer": "random",
}
METRICS = {
    "BERTSCORE_REF_BASED_ROBERTA_DEFAULT": "bertscore",
    "SentenceBLEU_REF_BASED": "sentence_bleu",
    "BERTSCORE_REF_FREE_XNLI": "xbertscore",
    "XLMRSBERT": "xlmr_sbert",
    "XMoverScore_No_Mapping": "xmoverscore",
    "RandomScore": "random",
}

# The settings of sections 4.1 to 4.3, and those of 4.4 and 4.5 with LIME.
PAIRS = {
    "wmt17": ("cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en"),
    "eval4nlp21": ("ro-en", "et-en", "ru-de", "de-zh"),
    "mlqe_pe": ("ro-en", "et-en", "si-en", "ne-en", "ru-en", "en-zh", "en-de"),
    "wmt22_qe": ("en-cs", "en-ja", "en-mr", "en-yo", "km-en", "ps-en"),
    "mqm21": ("en-de", "zh-en"),
}
MAIN = ("wmt17", "eval4nlp21", "mlqe_pe")
HELD_OUT = ("wmt22_qe", "mqm21")
REFERENCE_FREE = ("xbertscore", "xlmr_sbert", "xmoverscore", "random")
METRICS_OF = {
    "wmt17": tuple(METRICS.values()),
    "eval4nlp21": REFERENCE_FREE,
    "mlqe_pe": REFERENCE_FREE,
    "wmt22_qe": REFERENCE_FREE[:3],
    "mqm21": REFERENCE_FREE[:2],
}


@dataclass(frozen=True)
class Published:
    """The grids of a folder. main: of sections 4.1 to 4.3; held_out: of WMT22 and MQM, by data set, where they are.

    left_out: how many of the folder's files were not read.
    """

    main: GridTable
    held_out: dict[str, GridTable]
    left_out: int


def settings_of_paper(dataset: str) -> set[SettingKey]:
    """The settings that the paper's figures rest on: every explainer on MAIN, LIME on HELD_OUT."""
    explainers = tuple(EXPLAINERS.values()) if dataset in MAIN else ("lime",)
    names = product((dataset,), PAIRS[dataset], METRICS_OF[dataset], explainers)
    return {SettingKey(*setting) for setting in names}


def is_complete(table: GridTable, datasets: tuple[str, ...]) -> bool:
    """Whether a table holds every setting that the paper has of these data sets."""
    wanted: set[SettingKey] = set()
    for dataset in datasets:
        wanted |= settings_of_paper(dataset)
    return wanted <= set(table.settings)


def find(folder: Path) -> Path | None:
    """Where the files of settings are: in the folder, or where the authors' repository has them; None for neither."""
    for place in (folder / RESULTS, folder):
        if any(place.glob(f"*{SEPARATOR}*.tsv")):
            return place
    return None


def read(folder: Path) -> Published:
    """The grids below a folder that `find` finds. Raises DataError naming the file."""
    files = sorted(folder.glob("*.tsv"))
    by_dataset: dict[str, list[tuple[SettingKey, Path]]] = {}
    for file in files:
        setting = _setting(file)
        if setting is not None:
            by_dataset.setdefault(setting.dataset, []).append((setting, file))
    main = [pair for dataset in MAIN for pair in by_dataset.get(dataset, [])]
    if not main:
        raise DataMissingError(
            f"{folder}: none of its {len(files)} files is of {', '.join(MAIN)} with words of both sides, such as "
            f"wmt17{SEPARATOR}LimeExplainer{SEPARATOR}XLMRSBERT{SEPARATOR}cs-en.tsv; give the authors' repository."
        )
    held_out = {dataset: _table(by_dataset[dataset], folder) for dataset in HELD_OUT if dataset in by_dataset}
    n_read = sum(len(pairs) for pairs in by_dataset.values())
    return Published(_table(main, folder), held_out, len(files) - n_read)


def _setting(file: Path) -> SettingKey | None:
    """The setting that a file's name says; None for one that is no setting of the paper."""
    names = file.stem.split(SEPARATOR)
    if len(names) != 4:
        return None
    dataset, explainer, metric, pair = names
    if dataset not in DATASETS or explainer not in EXPLAINERS or metric not in METRICS:
        return None
    setting = SettingKey(DATASETS[dataset], pair, METRICS[metric], EXPLAINERS[explainer])
    if setting.language_pair not in PAIRS[setting.dataset] or setting.metric not in METRICS_OF[setting.dataset]:
        return None
    return setting


def _table(files: list[tuple[SettingKey, Path]], folder: Path) -> GridTable:
    import pyarrow as pa

    return from_arrow(pa.concat_tables(_rows(files)), str(folder))


def _rows(files: list[tuple[SettingKey, Path]]) -> Iterator[Any]:
    """The rows of each file with the names of its setting, as tables of Arrow."""
    import pyarrow as pa

    for setting, file in files:
        numbers = _numbers(file)
        names = {**setting._asdict(), "side": "both"}
        columns = {name: pa.array([value] * len(numbers)) for name, value in names.items()}
        for name in COLUMNS:
            columns[COLUMNS[name]] = numbers.column(name)
        yield pa.table(columns)


def _numbers(file: Path) -> Any:
    """The columns of COLUMNS as float64. Raises DataError naming the file."""
    import pyarrow as pa
    from pyarrow import csv

    options = csv.ConvertOptions(include_columns=list(COLUMNS), column_types=dict.fromkeys(COLUMNS, pa.float64()))
    try:
        return csv.read_csv(file, parse_options=csv.ParseOptions(delimiter="\t"), convert_options=options)
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"{file}: not a table of the columns corr, w and p with tabs between ({first_line(error)}); copy it again."
        ) from error
