"""Random models of each architecture, small enough to be made in a test: a tokenizer trained on a few
sentences, two layers, saved as a folder that `from_pretrained` reads.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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
END = "<|endoftext|>"
_SMALL = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64}
_POSITIONS = {"max_position_embeddings": MAX_LENGTH + 2}
_FAIRSEQ = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
_ROBERTA = {**_POSITIONS, **_FAIRSEQ, **_SMALL, "type_vocab_size": 1}
_TRANSLATION = {
    "d_model": 32,
    **{f"{side}_layers": 2 for side in ("encoder", "decoder")},
    **{f"{side}_attention_heads": 4 for side in ("encoder", "decoder")},
    **{f"{side}_ffn_dim": 64 for side in ("encoder", "decoder")},
    **_POSITIONS,
    **_FAIRSEQ,
    "decoder_start_token_id": 2,
    "init_std": 0.1,  # distributions far from uniform, so that an error of a token shows
}
_BERT_TOKENS = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_ROBERTA_TOKENS = {"bos": "<s>", "cls": "<s>", "pad": "<pad>", "eos": "</s>", "sep": "</s>", "unk": "<unk>"}
_ROBERTA_TOKENS |= {"mask": "<mask>"}
_SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def tiny_bert(folder: Path) -> Path:
    """A cased BERT with a masked-language-model head (WordPiece); also loads as an encoder."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = list(_BERT_TOKENS.values())
    tokenizer.train_from_iterator(SENTENCES, trainers.WordPieceTrainer(vocab_size=400, special_tokens=specials))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    shape = {**_POSITIONS, "pad_token_id": 0, **_SMALL}
    return _saved(folder, _fast(tokenizer, _BERT_TOKENS), "BertForMaskedLM", 1, shape)


def tiny_roberta(folder: Path, **shape: int) -> Path:
    """A RoBERTa with a masked-language-model head (byte-level BPE); `shape` changes its configuration."""
    return _saved(folder, _fast(_byte_level(_SPECIALS), _ROBERTA_TOKENS), "RobertaForMaskedLM", 2, _ROBERTA | shape)


def tiny_xlm_roberta(folder: Path, **shape: int) -> Path:
    """An XLM-R with a masked-language-model head (Unigram pieces, as SentencePiece makes them).

    `shape` changes its configuration.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=_SPECIALS, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return _saved(folder, _fast(tokenizer, _ROBERTA_TOKENS), "XLMRobertaForMaskedLM", 3, _ROBERTA | shape)


def tiny_gpt2(folder: Path) -> Path:
    """A GPT-2 language model (byte-level BPE, no padding token)."""
    tokenizer = _fast(_byte_level([END]), {"bos": END, "eos": END, "unk": END})
    shape = {"n_positions": MAX_LENGTH, "n_embd": 32, "n_layer": 2, "n_head": 4, "bos_token_id": 0, "eos_token_id": 0}
    return _saved(folder, tokenizer, "GPT2LMHeadModel", 4, shape)


def tiny_chat(folder: Path) -> Path:
    """A Llama with a chat template that answers with one digit from 1 to 5, whatever it is asked."""
    from transformers import GenerationConfig

    tokenizer = _fast(_byte_level([END]), {"eos": END, "pad": END}, 512)
    tokenizer.chat_template = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    digits = {tokenizer.convert_tokens_to_ids(digit) for digit in "12345"}
    others = [token for token in range(len(tokenizer)) if token not in digits]
    shape = {"max_position_embeddings": 512, "initializer_range": 0.5, "eos_token_id": 0, "pad_token_id": 0, **_SMALL}
    generation = GenerationConfig(eos_token_id=0, pad_token_id=0, suppress_tokens=others)
    return _saved(folder, tokenizer, "LlamaForCausalLM", 10, shape, generation)


def tiny_m2m100(folder: Path, sentences: list[str] = SENTENCES, n_pieces: int = 150, **shape: int) -> Path:
    """An M2M-100 (SentencePiece pieces, language codes in front); `shape` changes its configuration."""
    import sentencepiece
    from transformers import M2M100Tokenizer

    folder.mkdir(parents=True, exist_ok=True)
    model, vocabulary = folder / "sentencepiece.bpe.model", folder / "vocab.json"
    options = {"vocab_size": n_pieces, "hard_vocab_limit": False, "minloglevel": 2}
    with model.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(sentences), model_writer=file, **options)
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model))
    names = [pieces.id_to_piece(number) for number in range(pieces.get_piece_size())]
    names = _SPECIALS[:4] + [name for name in names if name not in _SPECIALS]
    vocabulary.write_text(json.dumps({name: number for number, name in enumerate(names)}))
    longest = shape.get("max_position_embeddings", MAX_LENGTH)
    tokenizer = M2M100Tokenizer(vocab_file=str(vocabulary), spm_file=str(model), model_max_length=longest)
    size = max(tokenizer.lang_token_to_id.values()) + 1  # the codes are not part of len(tokenizer)
    return _saved(folder, tokenizer, "M2M100ForConditionalGeneration", 5, {"vocab_size": size, **_TRANSLATION, **shape})


def tiny_nllb(folder: Path) -> Path:
    """An NLLB: the network of M2M-100 with byte pairs and language codes such as deu_Latn."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import NllbTokenizer

    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trained.train_from_iterator(SENTENCES, trainers.BpeTrainer(vocab_size=300, special_tokens=_SPECIALS[:4]))
    merges = [tuple(pair) for pair in json.loads(trained.to_str())["model"]["merges"]]
    tokenizer = NllbTokenizer(vocab=trained.get_vocab(), merges=merges, model_max_length=MAX_LENGTH)
    return _saved(folder, tokenizer, "M2M100ForConditionalGeneration", 6, _TRANSLATION)


def tiny_mbart(folder: Path, kind: str = "mbart") -> Path:
    """An mBART (Unigram pieces, language codes behind, with which the decoder starts)."""
    from importlib import import_module

    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    trained = Tokenizer(models.Unigram())
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False)
    trained.train_from_iterator(SENTENCES, trainer)
    pieces = [piece for piece in trained.get_vocab() if piece != "<unk>"]
    codes = import_module(f"transformers.models.{kind}.tokenization_{kind}").FAIRSEQ_LANGUAGE_CODES
    names = [*_SPECIALS[:4], *pieces, *codes, "<mask>"]
    likely = {piece: -1.0 - number / 100 for number, piece in enumerate(pieces)}
    vocabulary = [(name, likely.get(name, 0.0)) for name in names]
    tokenizer = getattr(transformers, kind.replace("mb", "MB") + "Tokenizer")(
        vocab=vocabulary, model_max_length=MAX_LENGTH
    )
    return _saved(folder, tokenizer, "MBartForConditionalGeneration", 7, _TRANSLATION)


def tiny_mbart50(folder: Path) -> Path:
    """An mBART-50, whose language codes stand in front."""
    return tiny_mbart(folder, "mbart50")


def tiny_bart(folder: Path) -> Path:
    """A BART (byte-level BPE, no language codes), whose logits have biases."""
    tokenizer = _fast(_byte_level(_SPECIALS), _ROBERTA_TOKENS)
    return _saved(folder, tokenizer, "BartForConditionalGeneration", 9, _TRANSLATION)


def _byte_level(specials: list[str]) -> Any:
    """A byte-level BPE; with the special tokens of RoBERTa, around each text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>") if "<unk>" in specials else models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=specials, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    if "</s>" in specials:
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return tokenizer


def _fast(tokenizer: Any, tokens: dict[str, str], max_length: int = MAX_LENGTH) -> Any:
    from transformers import PreTrainedTokenizerFast

    named = {f"{name}_token": token for name, token in tokens.items()}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=max_length, **named)


def _saved(folder: Path, tokenizer: Any, kind: str, seed: int, shape: dict[str, Any], generation: Any = None) -> Path:
    """The folder with the tokenizer and a network of this kind with random weights."""
    import torch
    import transformers

    architecture = getattr(transformers, kind)
    config = architecture.config_class(**{"vocab_size": len(tokenizer), **shape})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = architecture(config)
        if kind.startswith("Bart"):
            network.final_logits_bias.normal_()
    if generation is not None:
        network.generation_config = generation
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
    network.save_pretrained(folder)
    return folder
