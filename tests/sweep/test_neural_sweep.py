"""Every metric and explainer of the paper through a whole sweep, on tiny local models: data to tables."""

import pyarrow.parquet as pq

MODELS = {  # option -> kind of tiny model, and what of the published model does not fit it
    "metric.bertscore": ("roberta", ["layer=1"]),
    "metric.xbertscore": ("xlm_roberta", ["layer=1"]),
    "metric.xlmr_sbert": ("xlm_roberta", []),
    "metric.xmoverscore": ("bert", ["layer=1"]),
    "explainer.input_marginalization": ("bert", ["max_length=64"]),
}


def test_all_metrics_and_explainers_of_the_paper_run_to_the_end(tiny_model, swept, tmp_path, blank_figures):
    chosen = [
        "metric=[bertscore,xbertscore,xlmr_sbert,xmoverscore,sentence_bleu,random]",
        "explainer=[erasure,lime,shap,input_marginalization,random]",
        *("explainer.lime.num_samples=12", "explainer.shap.max_evals=80", "dataset.sample.language_pairs=[de-en]"),
        *("limit=1", "evaluation=[grid]", "grid.p.step=1.0"),
    ]
    for option, (kind, changes) in MODELS.items():
        chosen += [f"{option}.model={tiny_model(kind)}", f"{option}.revision=null"]
        chosen += [f"{option}.{change}" for change in changes]
    assert swept(*chosen) == 0
    settings = pq.read_table(tmp_path / "out" / "tables" / "settings.parquet").to_pylist()
    assert len({(row["metric"], row["explainer"]) for row in settings}) == len(settings) == 30
    assert pq.read_metadata(tmp_path / "out" / "tables" / "grid.parquet").num_rows == 30 * 360
