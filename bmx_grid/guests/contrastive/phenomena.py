"""What errors metrics see, and which words they blame: accuracy by phenomenon."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bmx_grid.analysis.base import Column, SweepTables, Table, each_group, pivot_estimates
from bmx_grid.evaluations.base import BASE
from bmx_grid.guests.contrastive.aces_score import AcesRow
from bmx_grid.guests.contrastive.contrastive import ALL, ContrastiveRow

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 400
MOST_BRIEF_ROWS = 24  # of a table that fits a screen
FORM = ".3f"
NOTES = (
    "Accuracy: the share of pairs whose better output has the higher score; equal scores count as wrong. "
    "In brackets: Wilson's 95 % interval, in which every cluster of segments counts once.",
    "Gain: accuracy of the boosted scores above the metric alone, with a bootstrap of clusters. AUC: the probability "
    "that a word that is marked as wrong has a lower attribution than another one of its output (0.5: chance).",
)

OF_ACES = (
    "ACES-Score: the sum of weight x tau (Amrhein et al. 2022), from -29.1 to 29.1. Tau of a category: the mean over "
    "its phenomena of twice the accuracy minus 1. Undefined if a category has no pair. In brackets: 95 % intervals."
)


def compute(tables: SweepTables) -> dict[str, Any]:
    """contrastive: the metric alone once, and every point of each metric and explainer; all pairs of outputs together
    where there are several language pairs. aces_score: of all language pairs together. Empty without the evaluation."""
    rows = tables.frame("contrastive", ContrastiveRow)
    by = ["dataset", "metric", "explainer"]
    # Of several language pairs those of all together; of one its own.
    has_all = (rows["language_pair"] == ALL).groupby([rows[name] for name in by]).transform("any")
    shown = rows[(rows["language_pair"] == ALL) | ~has_all]
    scores = tables.frame("aces_score", AcesRow)
    return {
        "contrastive": shown.reset_index(drop=True),
        "contrastive_by_pair": rows.reset_index(drop=True),
        "aces_score": scores.reset_index(drop=True),
    }


def tables(result: Mapping[str, Any]) -> Iterator[Table]:
    """Accuracy of metrics by phenomenon, side by side; then gains of points and AUC of explainers."""
    rows: pd.DataFrame = result["contrastive"]
    if rows.empty:
        return
    alone = rows[rows["point"] == BASE].drop_duplicates(["dataset", "metric", "phenomenon"])
    for dataset, of_set in each_group(alone, "dataset"):
        values = of_set.rename(columns={"accuracy": "value", "accuracy_low": "low", "accuracy_high": "high"})
        wide = pivot_estimates(values, ["phenomenon", "n_pairs"], "metric")
        metrics = [_estimate(name) for name in sorted(set(of_set["metric"]))]
        columns = ("phenomenon", *metrics, Column("n_pairs", "pairs"))
        title = f"{dataset}: is the good translation scored above the one with an error"
        brief = len(wide) <= MOST_BRIEF_ROWS
        yield Table.from_rows(f"contrastive_{dataset}", title, wide, columns, NOTES[:1], brief=brief)
    scores: pd.DataFrame = result["aces_score"]
    of_metrics = scores[scores["point"] == BASE].drop_duplicates(["dataset", "metric", "category"])
    for dataset, of_set in each_group(of_metrics, "dataset"):
        wide = pivot_estimates(of_set.rename(columns={"tau": "value"}), ["category", "weight"], "metric")
        metrics = [_estimate(name) for name in sorted(set(of_set["metric"]))]
        columns = ("category", *metrics, Column("weight", form="g"))
        yield Table.from_rows(f"aces_score_{dataset}", f"{dataset}: ACES-Score", wide, columns, [OF_ACES], brief=True)
    boosted = rows[rows["gain"].notna() | ((rows["point"] == BASE) & rows["auc"].notna())]
    if boosted.empty:
        return
    columns = (
        *("dataset", "language_pair", "metric", "explainer", "phenomenon", "point"),
        *map(_estimate, ("accuracy", "gain", "auc")),
        Column("n_pairs", "pairs"),
    )
    title = "Boosts and explanations on contrastive pairs"
    yield Table.from_rows("contrastive_boosts", title, boosted, columns, NOTES, names=6, data=len(boosted) > MOST_ROWS)


def _estimate(name: str) -> Column:
    return Column(name, form=FORM, ends=(f"{name}_low", f"{name}_high"))
