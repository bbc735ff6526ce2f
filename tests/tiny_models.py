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


def tiny_xlm_roberta(folder: Path, **shape: int) -> Path:
    """An XLM-R with a masked-language-model head (Unigram pieces, as SentencePiece makes them).

    `shape` changes its configuration.
    """
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
        config = XLMRobertaConfig(**{"vocab_size": len(tokenizer), **_ROBERTA_CONFIG, **_SMALL, **shape})
        network = XLMRobertaForMaskedLM(config)
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


def tiny_chat(folder: Path) -> Path:
    """A Llama with a chat template that answers with one digit from 1 to 5, whatever it is asked."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    end = "<|endoftext|>"
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        SENTENCES, trainers.BpeTrainer(vocab_size=500, special_tokens=[end], initial_alphabet=alphabet)
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, eos_token=end, pad_token=end, model_max_length=512)
    tokenizer.chat_template = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    digits = {tokenizer.convert_tokens_to_ids(digit) for digit in "12345"}
    others = [token for token in range(len(tokenizer)) if token not in digits]
    shape = {"max_position_embeddings": 512, "initializer_range": 0.5, **_SMALL}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(10)
        network = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), eos_token_id=0, pad_token_id=0, **shape))
    network.generation_config = GenerationConfig(eos_token_id=0, pad_token_id=0, suppress_tokens=others)
    return _saved(folder, tokenizer, network)


def tiny_m2m100(folder: Path, sentences: list[str] = SENTENCES, n_pieces: int = 150, **shape: int) -> Path:
    """An M2M-100 (SentencePiece pieces, language codes in front); `shape` changes its configuration."""
    import json

    import torch
    from transformers import M2M100Config, M2M100ForConditionalGeneration, M2M100Tokenizer

    pieces = _sentence_pieces(folder / "sentencepiece.bpe.model", sentences, n_pieces)
    vocabulary = ["<s>", "<pad>", "</s>", "<unk>", *pieces]
    path = folder / "vocab.json"
    path.write_text(json.dumps({piece: number for number, piece in enumerate(vocabulary)}))
    longest = shape.get("max_position_embeddings", MAX_LENGTH)
    tokenizer = M2M100Tokenizer(
        vocab_file=str(path), spm_file=str(folder / "sentencepiece.bpe.model"), model_max_length=longest
    )
    # the codes are not part of len(tokenizer)
    size = max(tokenizer.lang_token_to_id.values()) + 1
    config = M2M100Config(**{"vocab_size": size, "decoder_start_token_id": 2, **_TRANSLATION_SHAPE, **shape})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        network = M2M100ForConditionalGeneration(config)
    return _saved(folder, tokenizer, network)


def tiny_nllb(folder: Path) -> Path:
    """An NLLB: the network of M2M-100 with byte pairs and language codes such as deu_Latn."""
    import torch
    from transformers import M2M100Config, M2M100ForConditionalGeneration, NllbTokenizer

    vocabulary, merges = _byte_pairs()
    tokenizer = NllbTokenizer(vocab=vocabulary, merges=merges, model_max_length=MAX_LENGTH)
    config = M2M100Config(**{"vocab_size": len(tokenizer), "decoder_start_token_id": 2, **_TRANSLATION_SHAPE})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(6)
        network = M2M100ForConditionalGeneration(config)
    return _saved(folder, tokenizer, network)


def tiny_mbart(folder: Path) -> Path:
    """An mBART (Unigram pieces, language codes behind, with which the decoder starts)."""
    from transformers import MBartTokenizer
    from transformers.models.mbart.tokenization_mbart import FAIRSEQ_LANGUAGE_CODES

    return _tiny_mbart(folder, MBartTokenizer, FAIRSEQ_LANGUAGE_CODES)


def tiny_mbart50(folder: Path) -> Path:
    """An mBART-50, whose language codes stand in front."""
    from transformers import MBart50Tokenizer
    from transformers.models.mbart50.tokenization_mbart50 import FAIRSEQ_LANGUAGE_CODES

    return _tiny_mbart(folder, MBart50Tokenizer, FAIRSEQ_LANGUAGE_CODES)


def _tiny_mbart(folder: Path, made: type, codes: list[str]) -> Path:
    import torch
    from transformers import MBartConfig, MBartForConditionalGeneration

    specials = [(name, 0.0) for name in ("<s>", "<pad>", "</s>", "<unk>")]
    pieces = [(piece, -1.0 - number / 100) for number, piece in enumerate(_plain_pieces())]
    vocabulary = [*specials, *pieces, *((code, 0.0) for code in codes), ("<mask>", 0.0)]
    tokenizer = made(vocab=vocabulary, model_max_length=MAX_LENGTH)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        network = MBartForConditionalGeneration(MBartConfig(**{"vocab_size": len(tokenizer), **_TRANSLATION_SHAPE}))
    return _saved(folder, tokenizer, network)


def tiny_marian(folder: Path, targets: tuple[str, ...] = (), source: str = "de", target: str = "en") -> Path:
    """A Marian model from `source` to `target`, or to any of `targets`, whose codes then stand before a source."""
    import json

    import torch
    from transformers import MarianConfig, MarianMTModel, MarianTokenizer

    for name in ("source.spm", "target.spm"):
        pieces = _sentence_pieces(folder / name)
    codes = [f">>{code}<<" for code in targets]
    vocabulary = ["</s>", "<unk>", *pieces, *codes, "<pad>"]
    path = folder / "vocab.json"
    path.write_text(json.dumps({piece: number for number, piece in enumerate(vocabulary)}))
    tokenizer = MarianTokenizer(
        source_spm=str(folder / "source.spm"),
        target_spm=str(folder / "target.spm"),
        vocab=str(path),
        source_lang=source,
        target_lang=target,
        model_max_length=MAX_LENGTH,
    )
    pad = vocabulary.index("<pad>")
    special = {"pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0, "forced_eos_token_id": 0}
    config = MarianConfig(**{"vocab_size": len(vocabulary), **_TRANSLATION_SHAPE, **special})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(8)
        network = MarianMTModel(config)
        network.final_logits_bias.normal_()
    return _saved(folder, tokenizer, network)


def tiny_bart(folder: Path) -> Path:
    """A BART (byte-level BPE, no language codes)."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        SENTENCES, trainers.BpeTrainer(vocab_size=500, special_tokens=specials, initial_alphabet=alphabet)
    )
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=MAX_LENGTH, **_ROBERTA_SPECIALS)
    config = BartConfig(**{"vocab_size": len(tokenizer), "decoder_start_token_id": 2, **_TRANSLATION_SHAPE})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(9)
        network = BartForConditionalGeneration(config)
    return _saved(folder, tokenizer, network)


def _sentence_pieces(path: Path, sentences: list[str] = SENTENCES, n_pieces: int = 150) -> list[str]:
    """Train a SentencePiece model into `path`; its pieces without special ones."""
    import sentencepiece

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=file,
            vocab_size=n_pieces,
            hard_vocab_limit=False,
            minloglevel=2,
        )
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    pieces = [model.id_to_piece(number) for number in range(model.get_piece_size())]
    return [piece for piece in pieces if piece not in ("<s>", "</s>", "<unk>")]


def _plain_pieces() -> list[str]:
    """Pieces of a trained Unigram model, without special ones."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False)
    made.train_from_iterator(SENTENCES, trainer)
    return [piece for piece in made.get_vocab() if piece != "<unk>"]


def _byte_pairs() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Vocabulary and merges of a trained BPE, with the special tokens of fairseq in front."""
    import json

    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    made.train_from_iterator(SENTENCES, trainers.BpeTrainer(vocab_size=300, special_tokens=specials))
    merges = json.loads(made.to_str())["model"]["merges"]
    return made.get_vocab(), [(left, right) for left, right in merges]


_TRANSLATION_SHAPE = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": MAX_LENGTH + 2,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "init_std": 0.1,  # distributions far from uniform, so that an error of a token shows
}
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
