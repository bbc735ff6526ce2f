"""Candidates of Input Marginalization: one pass per side against one pass per word.

A BERT of bert-base-multilingual-cased's width and vocabulary (119,547 tokens) with random weights and few layers.
    side by side           ours: all masked texts of a side in one pass, the vocabulary layer at the masks only
    mixed                  the masked texts of all sides, sorted by length, in passes of 8192 tokens: what it would
                           gain to give up results that are the same in any batch
    word by word           the whole model for each masked text, as a script with transformers would do it
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from harness import Bench

# isort: split
import numpy as np

from bmx_grid.explainers.input_marginalization import InputMarginalization, _best, _encode, _plan, load_masked_lm
from bmx_grid.models.loading import LoadedModel

VOCABULARY = 119_547
COUNT = 19  # candidates above 0.05
BATCH_TOKENS = 8192


def wide_bert(folder: Path, layers: int) -> Path:
    """A random BERT, and a tokenizer of which one word in four is split into two pieces."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens = [*specials, "##ed", *(f"w{number}" for number in range(VOCABULARY - 6))]
    made = Tokenizer(models.WordPiece({token: index for index, token in enumerate(tokens)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    PreTrainedTokenizerFast(
        tokenizer_object=made, model_max_length=512, **{f"{key}_token": value for key, value in names.items()}
    ).save_pretrained(folder)
    torch.manual_seed(0)
    BertForMaskedLM(BertConfig(vocab_size=VOCABULARY, num_hidden_layers=layers)).save_pretrained(folder)
    return folder


def sides(count: int, n: int) -> list[tuple[str, ...]]:
    """`count` sides of n words."""
    rng = np.random.Generator(np.random.PCG64(0))
    ends = np.where(rng.random((count, n)) < 0.25, "ed", "")
    numbers = rng.integers(100_000, size=(count, n))
    return [
        tuple(f"w{number}{end}" for number, end in zip(*row, strict=True)) for row in zip(numbers, ends, strict=True)
    ]


def word_by_word(lm: LoadedModel, texts: list[tuple[str, ...]]) -> None:
    """One text per pass, all logits."""
    import torch

    tokenizer, network = lm.tokenizer, lm.network
    for words in texts:
        for place in range(len(words)):
            text = " ".join([*words[:place], tokenizer.mask_token, *words[place + 1 :]])
            encoded = tokenizer(text, return_tensors="pt").to(lm.device)
            at = int((encoded["input_ids"][0] == tokenizer.mask_token_id).nonzero()[0])
            with torch.inference_mode():
                network(**encoded).logits[0, at].softmax(-1).topk(COUNT)


def mixed(lm: LoadedModel, texts: list[tuple[str, ...]]) -> None:
    """Masked texts of all sides by length, as many per pass as fit."""
    import torch

    rows = [one for words in texts for one in zip(*_encode(lm, words, range(len(words))), strict=True)]
    rows.sort(key=lambda one: len(one[0]))
    start = 0
    while start < len(rows):
        step = max(1, BATCH_TOKENS // len(rows[min(start + BATCH_TOKENS // 8, len(rows) - 1)][0]))
        part = rows[start : start + step]
        width = max(len(ids) for ids, _ in part)
        ids = torch.tensor([one + [0] * (width - len(one)) for one, _ in part])
        with torch.inference_mode():
            _best(lm, ids, (ids != 0).long(), np.array([at for _, at in part]), COUNT)
        start += step


bench = Bench(
    __doc__,
    rounds=3,
    words={"type": int, "nargs": "+", "default": [10, 25, 40]},
    layers={"type": int, "default": 2},
    sides={"type": int, "default": 3},
    device={"default": "auto"},
)
with tempfile.TemporaryDirectory() as folder:
    model = str(wide_bert(Path(folder), bench.options.layers))
    lm = load_masked_lm(model, None, "float32", bench.options.device, 512)
    explainer = InputMarginalization(model=model, revision=None, device=bench.options.device)
    for n in bench.options.words:
        texts = sides(bench.options.sides, n)
        bench.compare(
            f"{n} words, {lm.device}",
            {
                "side by side": lambda texts=texts: [_plan.__wrapped__(explainer, text) for text in texts],
                "mixed": lambda texts=texts: mixed(lm, texts),
                "word by word": lambda texts=texts: word_by_word(lm, texts[:1]),
            },
            share={"word by word": len(texts)},
            per=len(texts),
            unit=" per side",
            clock=time.process_time if str(lm.device) == "cpu" else time.perf_counter,
        )
sys.exit(bench.finish())
