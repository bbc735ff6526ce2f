"""Teacher-forced scores of a translation model: batches against one pair per call, as a plain script asks for them.

    python benchmarks/translation.py [--pairs 1000] [--layers 2] [--systems 3] [--rounds 3] [--rates]

WMT19 de-en: the outputs of the first systems for the first segments, each given its source. The network has the
shape of M2M-100 418M (width 1,024, vocabulary of 128,112) with few layers and random weights; pieces are trained on
the texts.
"one by one" is `model(input_ids, attention_mask, labels=…)` for each pair, and the log-softmax of its logits, as
BARTScore's code has it. Both ways give the log-probability of each target token.

The output layer takes most of the work: 262 MFLOP per token. One pair at a time, its weights (525 MB) are read for some
40 tokens. `--rates` measures the rate of that product for 40 and for 2,048 tokens, and with it the least time that
the multiplications alone would take, hence the largest ratio that is possible on this machine.

Both ways round in float32: of nine pairs, ours was at most 6.2e-5 and one by one 7.1e-5 from the same network in
float64.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from harness import Bench

# isort: split
import numpy as np
import tiny_models

from bmx_grid.datasets.acl20 import Wmt19
from bmx_grid.guests.datscore.language_codes import languages_of, load_translator
from bmx_grid.guests.datscore.translation import target_log_probabilities

SHAPE = {
    "d_model": 1024,
    "encoder_ffn_dim": 4096,
    "decoder_ffn_dim": 4096,
    "encoder_attention_heads": 16,
    "decoder_attention_heads": 16,
    "vocab_size": 128_112,
    "max_position_embeddings": 1024,
}


def main() -> int:
    bench = Bench(
        __doc__,
        rounds=3,
        pairs={"type": int, "default": 1000, "help": "default: 1000"},
        layers={"type": int, "default": 2, "help": "of encoder and of decoder; default: 2"},
        systems={"type": int, "default": 3, "help": "outputs per source; default: 3"},
        rates={"action": "store_true", "help": "measure the output layer's product alone as well"},
    )
    given = bench.options
    sources, targets = outputs(given.data, given.pairs, given.systems)
    with tempfile.TemporaryDirectory() as folder:
        words = [*sources, *targets]
        layers = {"encoder_layers": given.layers, "decoder_layers": given.layers}
        made = tiny_models.tiny_m2m100(Path(folder) / "m", words, 8_000, **SHAPE, **layers)
        loaded = load_translator(str(made), None, "float32", "cpu")
        languages = languages_of(loaded, "de", "en")
        found = {}

        def ours() -> None:
            found["ours"] = target_log_probabilities(loaded, sources, targets, languages, with_entropies=False)

        def one_by_one() -> None:
            found["plain"] = [plain(loaded, languages, *pair) for pair in zip(sources, targets, strict=True)]

        ways = {"batches": ours, "one by one": one_by_one}
        medians = bench.compare(f"{given.pairs:,} pairs", ways, floor=3, per=given.pairs, unit=" per pair")
        scored, *_ = found["ours"]
        apart = [ours - plain for ours, plain in zip(scored.rows(), found["plain"], strict=True)]
        if given.rates:
            labels = loaded.tokenizer(text_target=targets)["input_ids"]
            asked = {(source, *one[:at]) for source, one in zip(sources, labels, strict=True) for at in range(len(one))}
            read = sum(map(len, loaded.tokenizer(list(dict.fromkeys(sources)))["input_ids"]))
            rates(bench, loaded, scored, read, len(asked), medians)
    mean, worst = (max(abs(how(one)) for one in apart) for how in (np.mean, lambda one: np.abs(one).max()))
    bench.row("difference", f"largest difference of a mean: {mean:.1e}", mean, 1e-4, most=True)
    bench.row("difference of a token", f"largest difference of a log-probability: {worst:.1e}", worst)
    return bench.finish()


def outputs(data: Path, count: int, systems: int) -> tuple[list[str], list[str]]:
    """Sources and outputs of `count` pairs: the first segments, each with the first `systems` systems."""
    segments = Wmt19(name="wmt19", language_pairs=("de-en",)).load_segments(data, "de-en")
    kept = set(segments.systems[:systems])
    ids = {name: row for row, name in enumerate(dict.fromkeys(one.id for one in segments.segments))}
    chosen = sorted((one for one in segments.segments if one.system in kept), key=lambda one: ids[one.id])[:count]
    return [str(one.source) for one in chosen], [one.hypothesis for one in chosen]


def plain(loaded, languages, source: str, target: str) -> np.ndarray:  # type: ignore[no-untyped-def, type-arg]
    """The log-probability of each of a target's tokens, by the model's own labels and logits."""
    import torch

    tokenizer = loaded.tokenizer
    tokenizer.src_lang, tokenizer.tgt_lang = languages.source, languages.target
    entered = tokenizer(source, return_tensors="pt")
    labels = tokenizer(text_target=target, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        logits = loaded.network(**entered, labels=labels).logits
        likely: np.ndarray = logits.log_softmax(dim=-1)[0].gather(1, labels[0][:, None])[:, 0].numpy()  # type: ignore[type-arg]
    return likely


def rates(bench, loaded, scored, read, distinct, medians) -> None:  # type: ignore[no-untyped-def]
    """Rows of the output layer's product alone: its rate for few and for many tokens, and what that bounds."""
    import time

    import torch

    weight = loaded.network.lm_head.weight
    vocabulary, width = weight.shape
    per_token = 2 * vocabulary * width / 1e9
    rate = {}
    for tokens in (40, 2_048):
        states = torch.randn(tokens, width)
        with torch.inference_mode():
            seconds = []
            for _ in range(3):
                start = time.process_time()
                for at in range(0, vocabulary, 8_192):
                    states @ weight[at : at + 8_192].T
                seconds.append(time.process_time() - start)
        rate[tokens] = tokens * per_token / min(seconds)
        bench.row(
            f"{tokens} tokens", f"output layer, {tokens:,} tokens at once: {rate[tokens]:.0f} GFLOP/s", rate[tokens]
        )
    pairs = len(scored)
    matrices = {
        side: sum(one.numel() for name, one in side.named_parameters() if one.ndim == 2 and name.startswith("layers."))
        for side in (loaded.network.base_model.encoder, loaded.network.base_model.decoder)
    }
    of_encoder, of_decoder = (2 * size / 1e9 for size in matrices.values())
    work = distinct * per_token + len(scored.values) * of_decoder + read * of_encoder
    least = work / rate[2_048]
    bound = medians["one by one"] / least
    told = f"{work / pairs:.1f} GFLOP per pair take {least / pairs * 1e3:.0f} ms at that rate: at most {bound:.1f}x"
    bench.row("bound", told, bound)


if __name__ == "__main__":
    sys.exit(main())
