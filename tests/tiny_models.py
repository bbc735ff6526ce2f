"""Random models of each architecture, small enough to be made in a test: a tokenizer trained on a few
sentences, two layers, saved as a folder that `from_pretrained` reads.
"""

from __future__ import annotations

from pathlib import Path

SENTENCES = [
    "The cat sat on the mat .",
    "A dog ran across the road , and nobody saw it .",
    "He paid 3.5 euros for the book yesterday .",
    "Die Katze saß auf der Matte .",
    "Ein Hund lief über die Straße , und niemand sah ihn .",
    "Er zahlte gestern 3,5 Euro für das Buch .",
    "El gato se sentó en la alfombra .",
    "Кошка сидела на коврике .",
    "猫坐在垫子上。",
    "She has never been to the north of the country before .",
    "The weather will be fine tomorrow in most places .",
    "Prices rose again , the ministry said on Monday .",
]
MAX_LENGTH = 64
_SMALL = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64}


def tiny_bert(folder: Path) -> Path:
    """A cased BERT with a masked-language-model head (WordPiece); also loads as an encoder."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=False)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator(SENTENCES, trainers.WordPieceTrainer(vocab_size=400, special_tokens=specials))
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=MAX_LENGTH,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        network = BertForMaskedLM(
            BertConfig(vocab_size=len(tokenizer), max_position_embeddings=MAX_LENGTH + 2, pad_token_id=0, **_SMALL)
        )
    return _saved(folder, tokenizer, network)


def tiny_roberta(folder: Path, **shape: int) -> Path:
    """A RoBERTa with a masked-language-model head (byte-level BPE); `shape` changes its configuration."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=specials, initial_alphabet=alphabet)
    made.train_from_iterator(SENTENCES, trainer)
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=MAX_LENGTH, **_ROBERTA_SPECIALS)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        config = RobertaConfig(**{"vocab_size": len(tokenizer), **_ROBERTA_CONFIG, **_SMALL, **shape})
        network = RobertaForMaskedLM(config)
    return _saved(folder, tokenizer, network)


def tiny_xlm_roberta(folder: Path) -> Path:
    """An XLM-R with a masked-language-model head (Unigram pieces, as SentencePiece makes them)."""
    import torch
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaForMaskedLM

    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=specials, unk_token="<unk>", show_progress=False)
    made.train_from_iterator(SENTENCES, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=MAX_LENGTH, **_ROBERTA_SPECIALS)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        network = XLMRobertaForMaskedLM(XLMRobertaConfig(vocab_size=len(tokenizer), **_ROBERTA_CONFIG, **_SMALL))
    return _saved(folder, tokenizer, network)


def tiny_sentence_piece(folder: Path) -> Path:
    """An XLM-R whose tokenizer comes as a SentencePiece file only, as XLM-R was first published."""
    import json

    import sentencepiece

    tiny_xlm_roberta(folder)
    (folder / "tokenizer.json").unlink()
    with (folder / "sentencepiece.bpe.model").open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(SENTENCES),
            model_writer=file,
            vocab_size=150,
            hard_vocab_limit=False,
            minloglevel=2,
        )
    settings = {"tokenizer_class": "XLMRobertaTokenizer", "model_max_length": MAX_LENGTH}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def tiny_gpt2(folder: Path) -> Path:
    """A GPT-2 language model (byte-level BPE, no padding token)."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    end = "<|endoftext|>"
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        SENTENCES, trainers.BpeTrainer(vocab_size=500, special_tokens=[end], initial_alphabet=alphabet)
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token=end, eos_token=end, unk_token=end, model_max_length=MAX_LENGTH
    )
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=MAX_LENGTH,
        n_embd=32,
        n_layer=2,
        n_head=4,
        bos_token_id=0,
        eos_token_id=0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        network = GPT2LMHeadModel(config)
    return _saved(folder, tokenizer, network)


_ROBERTA_SPECIALS = {
    "bos_token": "<s>",
    "cls_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}
_ROBERTA_CONFIG = {
    "max_position_embeddings": MAX_LENGTH + 2,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "type_vocab_size": 1,
}


def _saved(folder: Path, tokenizer: object, network: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
    network.save_pretrained(folder)
    return folder
