"""All language pairs of WMT23 by one key, in the layout that mt-metrics-eval downloads, against its published rules.

The official files of en-de also stand for he-en and zh-en here, with other names, references and lists of systems.
"""

import itertools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bmx_grid.commands.run import compose_and_run

MACHINES = (
    "AIRC",
    "GPT4-5shot",
    "Lan-BridgeMT",
    "NLLB_Greedy",
    "NLLB_MBR_BLEU",
    "ONLINE-A",
    "ONLINE-B",
    "ONLINE-G",
    "ONLINE-M",
    "ONLINE-W",
    "ONLINE-Y",
    "ZengHuiMT",
)
# Of each pair: the lines of en-de, its standard reference, the others, and system -> the one of en-de that it is.
PAIRS = {
    "en-de": (range(60), "refA", ("synthetic_ref",), {name: name for name in MACHINES} | {"refA": "refA"}),
    "he-en": (
        range(100, 148),
        "refB",
        ("refA",),
        {f"{name}.he": name for name in MACHINES[:7]} | {"refA": "ONLINE-W", "refB": "refA"},
    ),
    "zh-en": (
        range(300, 340),
        "refA",
        ("synthetic_ref",),
        {f"Z{name}": name for name in MACHINES[2:]} | {"refA": "refA"},
    ),
}
OUTLIER = {"synthetic_ref": "synthetic_ref"}
# Reference-free metrics have their whole name.
RANKED = ("BLEU", "COMET", "YiSi-1", "XCOMET-XXL", "CometKiwi-src", "MetricX-23-QE-src")
# What a metric lacks, and why: as its row says.
LACKING = {
    "BERTscore": "he-en: all tasks",  # has no scores of the human translation that is judged there
    "MaTESe": "en-de, he-en, zh-en: acc_eq, pearson",  # has no file of segments
    "chrF": "he-en: all tasks",  # was computed there by another reference alone
    "f200spBLEU": "he-en: acc_eq, pearson",  # has None for every segment
    "prismRef": "zh-en: all tasks",  # has no file
}


def scores_of(path):
    """system -> its scores in a file of en-de."""
    rows = pd.read_csv(path, sep="\t", header=None, names=["system", "score"], na_values="None", keep_default_na=False)
    return {system: group.score.to_numpy(float) for system, group in rows.groupby("system")}


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_scores(stem, scores, levels=("seg", "sys")):
    """Both levels of a metric or of people; a system without any score has none of its own."""
    rows = [(system, value) for system, values in scores.items() for value in values]
    shown = [f"{system}\t{None if np.isnan(value) else repr(float(value))}" for system, value in rows]
    rated = {system: values for system, values in scores.items() if not np.isnan(values).all()}
    means = [f"{system}\t{float(np.nanmean(values))!r}" for system, values in rated.items()]
    for level, lines in (("seg", shown), ("sys", means)):
        if level in levels:
            write(Path(f"{stem}.{level}.score"), lines)


def whole_tree(official, root):
    """Write the three pairs below `root`; pair -> human scores, and metric -> scores by the standard reference."""
    human = scores_of(official / "human-scores/en-de.mqm.seg.score")
    files = {path.name.removesuffix(".seg.score"): path for path in official.glob("metric-scores/en-de/*.seg.score")}
    metrics = {}
    for stem, path in files.items():
        name = stem.removesuffix("-refA")
        if name in (*RANKED, *LACKING):
            metrics[name] = scores_of(path)
    texts = {path.stem: path.read_text("utf-8").split("\n") for path in official.glob("system-outputs/en-de/*.txt")}
    sources = (official / "sources/en-de.txt").read_text("utf-8").split("\n")
    documents = (official / "documents/en-de.docs").read_text("utf-8").split("\n")
    people = {}
    by_metric = {}
    for pair, (lines, standard, others, system_of) in PAIRS.items():
        rows = list(lines)
        outputs = system_of | (OUTLIER if "synthetic_ref" in others else {})
        write(root / f"sources/{pair}.txt", [sources[row] for row in rows])
        write(root / f"documents/{pair}.docs", [documents[row] for row in rows])
        for system, original in outputs.items():
            write(root / f"system-outputs/{pair}/{system}.txt", [texts[original][row] for row in rows])
        for reference in (standard, *others):
            write(root / f"references/{pair}.{reference}.txt", [texts[outputs[reference]][row] for row in rows])
        judged = {system: human[original][rows] for system, original in system_of.items()}
        # The standard reference is listed, but nobody rated it, as some lines of all systems.
        judged[standard] = np.full(len(rows), np.nan)
        for values in judged.values():
            values[:3] = np.nan
        write_scores(root / f"human-scores/{pair}.mqm", judged)
        people[pair] = {system: values for system, values in judged.items() if system != standard}
        by_metric[pair] = {}
        for name, of_systems in metrics.items():
            scores = {}
            for system, original in outputs.items():
                # A metric scored what it did not read; refA of en-de was scored by reference-free metrics alone.
                if original in of_systems:
                    scores[system] = of_systems[original][rows]
            by_metric[pair][name] = _write_metric(root / f"metric-scores/{pair}", pair, name, scores)
    return people, by_metric


def _write_metric(folder, pair, name, scores):
    """The files of a metric by each reference, by others with the reverse; its scores by the standard one."""
    _, standard, others, _ = PAIRS[pair]
    if name.endswith("-src"):
        write_scores(folder / name, scores)
        return scores
    if name == "prismRef" and pair == "zh-en":
        return None
    for reference in others:
        reversed_scores = {system: -values for system, values in scores.items() if system != reference}
        write_scores(folder / f"{name}-{reference}", reversed_scores)
    of_standard = {system: values for system, values in scores.items() if system != standard}
    if pair == "he-en" and name == "chrF":
        return None
    if pair == "he-en" and name == "BERTscore":
        del of_standard["refA"]
    write_scores(folder / f"{name}-{standard}", of_standard, ["sys"] if name == "MaTESe" else ["seg", "sys"])
    if name == "MaTESe":
        (folder / f"{name}-{others[0]}.seg.score").unlink()
    if pair == "he-en" and name == "f200spBLEU":
        rows = [f"{system}\tNone" for system, values in of_standard.items() for _ in values]
        write(folder / f"{name}-{standard}.seg.score", rows)
    return of_standard


def calibrated_accuracy(metric, human):
    """acc_eq of [systems, items] (Deutsch et al. 2023), by trying every difference as the threshold of ties."""
    first, second = map(list, zip(*itertools.combinations(range(len(metric)), 2), strict=True))
    rated = np.isfinite(human).all(axis=0)
    of_metric = (metric[first] - metric[second])[:, rated]
    of_people = (human[first] - human[second])[:, rated]
    best = 0.0
    for threshold in np.unique([0.0, *np.abs(of_metric).ravel()]):
        is_tie = np.abs(of_metric) <= threshold
        agrees = np.where(is_tie, of_people == 0, np.sign(of_metric) * np.sign(of_people) > 0)
        best = max(best, agrees.mean(axis=0).mean())
    return best


def official_mean(people, scores):
    """The weighted mean of the ten tasks: accuracy over all pairs of systems three times, nine others once."""
    agreed = []
    others = []
    for pair, human in people.items():
        systems = sorted(human)
        of_people = np.array([human[system] for system in systems])
        of_metric = np.array([scores[pair][system] for system in systems])
        people_of_systems = np.nanmean(of_people, axis=1)
        metric_of_systems = of_metric.mean(axis=1)
        for first, second in itertools.combinations(range(len(systems)), 2):
            gap = people_of_systems[first] - people_of_systems[second]
            agreed.append(np.sign(gap) == np.sign(metric_of_systems[first] - metric_of_systems[second]))
        rated = np.isfinite(of_people)
        others.append((1 + stats.pearsonr(metric_of_systems, people_of_systems)[0]) / 2)
        others.append((1 + stats.pearsonr(of_metric[rated], of_people[rated])[0]) / 2)
        others.append(calibrated_accuracy(of_metric, of_people))
    return (3 * np.mean(agreed) + sum(others)) / 12


@pytest.fixture(scope="module")
def swept(data_dir, tmp_path_factory):
    """The tables of a sweep of the whole tree, what it printed, and the scores that the tree was made of."""
    official = data_dir / "mt-metrics-eval-v2" / "wmt23"
    if not (official / "metric-scores").is_dir():
        pytest.skip("the test set wmt23 of mt-metrics-eval is not there")
    folder = tmp_path_factory.mktemp("wmt23")
    made = whole_tree(official, folder / "mt-metrics-eval-v2" / "wmt23")
    where = [f"data_dir={folder}", f"cache_dir={folder}/cache", f"output_dir={folder}/out", "tracking=none"]
    few = ["evaluation.tasks.resamples=40", "executor=sequential", "figures=page"]
    with pytest.warns(UserWarning, match="he-en: of the references refA, refB, metrics read refB"):
        status = compose_and_run(["tasks=wmt23", *where, *few])
    assert status == 0
    return folder / "out", made


def test_the_official_mean_of_every_metric_that_has_all_tasks(swept):
    folder, (people, by_metric) = swept
    ranking = pd.read_parquet(folder / "tables" / "task_ranking.parquet").set_index("metric")
    assert set(ranking.index) == set(RANKED)
    assert (ranking.n_tasks == 12).all() and (ranking.n_left_out == 0).all(), "accuracy is one task over three pairs"
    expected = {}
    for name in RANKED:
        scores = {pair: by_metric[pair][name] for pair in people}
        expected[name] = official_mean(people, scores)
    assert ranking.value.to_dict() == pytest.approx(expected, abs=1e-12)
    best_first = ranking.sort_values("value", ascending=False)
    assert best_first["rank"].iloc[0] == 1 and best_first["rank"].is_monotonic_increasing
    assert len(set(ranking["rank"])) > 1


def test_who_is_judged_in_each_pair(swept):
    folder, (people, _) = swept
    human = pd.read_parquet(folder / "tables" / "human_ranking.parquet")
    judged = {pair: set(rows.system) for pair, rows in human.groupby("language_pair")}
    assert judged == {pair: set(systems) for pair, systems in people.items()}
    assert "refA" in judged["he-en"] and "refA" not in judged["en-de"]


def test_a_metric_that_lacks_a_task_is_named_with_what_it_lacks(swept):
    folder, _ = swept
    printed = (folder / "log.txt").read_text()
    on_one_line = " ".join(printed.split())
    _, _, gaps = printed.partition("Metrics left out of the ranking, and the tasks that they lack\n")
    rows = [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in gaps.splitlines()[3 : 3 + len(LACKING)]]
    assert dict(rows) == LACKING, printed
    assert re.search(r"left out: .*BERTscore: no scores \(he-en\): .*has no scores of the system refA", on_one_line)
    assert re.search(
        r"left out: .*chrF: no scores \(he-en\): .*chrF-refA\S* is by another reference than refB", on_one_line
    )
