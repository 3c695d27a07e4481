"""foreign_models.py: models of transformers' classes with random weights and tokenizers trained on two texts."""
import json
import subprocess

import sentencepiece
import torch
import transformers

SIZES = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
         "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 512}


def train(files, model, **options):
    sentencepiece.SentencePieceTrainer.train(input=[str(f) for f in files], model_prefix=str(model), vocab_size=300,
                                             hard_vocab_limit=False, minloglevel=2, **options)
    model.with_suffix(".vocab").unlink(missing_ok=True)
    return sentencepiece.SentencePieceProcessor(model_file=str(model) + ".model")


def random_model(kind, config):
    torch.manual_seed(7)
    model = kind(config)
    for parameter in model.parameters():
        if parameter.requires_grad:  # Marian's sinusoids are parameters that are not saved
            parameter.data += 0.15 * torch.randn_like(parameter)
    if "final_logits_bias" in dict(model.named_buffers()):
        model.final_logits_bias += 0.3 * torch.randn_like(model.final_logits_bias)
    return model.eval()


class Marian:
    """MarianMTModel: two SentencePiece models for one vocabulary, a target language in front of the source."""
    options = ["--tag", ">>deu<<"]

    def __init__(self, folder, source, target):
        pieces = {side: train([file], folder / side, bos_id=-1, eos_id=0, unk_id=1)
                  for side, file in (("source", source), ("target", target))}
        for side in pieces:
            (folder / f"{side}.model").rename(folder / f"{side}.spm")
        ids = {"</s>": 0, "<unk>": 1}
        for model in pieces.values():
            for i in range(model.get_piece_size()):
                ids.setdefault(model.id_to_piece(i), len(ids))
        for token in (">>deu<<", "<pad>"):
            ids[token] = len(ids)
        (folder / "vocab.json").write_text(json.dumps(ids))
        self.start, self.forced, self.end = ids["<pad>"], [], 0
        self.model = random_model(transformers.MarianMTModel, transformers.MarianConfig(
            vocab_size=len(ids), pad_token_id=self.start, bos_token_id=0, eos_token_id=0, forced_eos_token_id=None,
            decoder_start_token_id=self.start, scale_embedding=True, activation_function="swish", **SIZES))
        self.model.model.shared.weight.data[self.start] = 0
        self.model.generation_config.bad_words_ids = [[self.start]]
        self.tokenizer = transformers.MarianTokenizer(*[str(folder / f) for f in ("source.spm", "target.spm",
                                                                                 "vocab.json")])

    def source(self, line):
        return self.tokenizer(">>deu<< " + line)["input_ids"]

    def target(self, line):
        return self.tokenizer(text_target=line)["input_ids"]

    def pieces(self, ids):
        return self.tokenizer.convert_ids_to_tokens(ids)


class Shifted:
    """Ids of fairseq: <s>, <pad>, </s>, <unk>, then the model's pieces from the fourth on, languages, <mask>."""

    def __init__(self, folder, source, target, languages, kind, config):
        self.model_pieces = train([source, target], folder / "sentencepiece.bpe", unk_id=0, bos_id=1, eos_id=2)
        size = self.model_pieces.get_piece_size()
        self.tokens = ["<s>", "<pad>", "</s>", "<unk>", *map(self.model_pieces.id_to_piece, range(3, size)),
                       *languages, "<mask>"]
        added = {str(i): {"content": self.tokens[i]} for i in range(size + 1, len(self.tokens))}
        (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": added}))
        self.start, self.end = 2, 2
        self.language, self.forced = size + 1, [size + 2]
        self.options = ["--tag", languages[0], "--target-tag", languages[1]]
        self.model = random_model(kind, config(
            vocab_size=len(self.tokens), pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2,
            forced_eos_token_id=None, scale_embedding=True, **SIZES))

    def target(self, line):
        return [i + 1 if i > 2 else 3 for i in self.model_pieces.encode(line)] + [self.end]

    def source(self, line):
        return [self.language, *self.target(line)]

    def pieces(self, ids):
        return [self.tokens[i] for i in ids]


class M2M100:
    """Pieces in another order than the model's, without the last ones, then the languages of the tokenizer's class."""
    options = ["--tag", "__en__", "--target-tag", "__de__"]

    def __init__(self, folder, source, target):
        pieces = train([source, target], folder / "model", unk_id=0, bos_id=1, eos_id=2)
        known = range(pieces.get_piece_size() - 20, 2, -1)
        ids = {token: i for i, token in enumerate(["<s>", "<pad>", "</s>", "<unk>", *map(pieces.id_to_piece, known)])}
        (folder / "ids.json").write_text(json.dumps(ids))
        self.tokenizer = transformers.M2M100Tokenizer(str(folder / "ids.json"), str(folder / "model.model"),
                                                      src_lang="en", tgt_lang="de")
        self.tokenizer.save_pretrained(folder)
        languages = list(self.tokenizer.lang_token_to_id)  # transformers 5 does not save them; the published models do
        (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": languages}))
        self.start, self.end, self.forced = 2, 2, [self.tokenizer.get_lang_id("de")]
        self.model = random_model(transformers.M2M100ForConditionalGeneration, transformers.M2M100Config(
            vocab_size=len(ids) + 100 + 8, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2,
            forced_eos_token_id=None, scale_embedding=True, **SIZES))

    def source(self, line):
        return self.tokenizer(line)["input_ids"]

    def target(self, line):
        return self.tokenizer(text_target=line)["input_ids"][1:]

    def pieces(self, ids):
        return self.tokenizer.convert_ids_to_tokens(ids)


KINDS = {
    "MarianMTModel": Marian,
    "M2M100ForConditionalGeneration": M2M100,
    "NLLB": lambda *files: Shifted(
        *files, ["eng_Latn", "deu_Latn"], transformers.M2M100ForConditionalGeneration, transformers.M2M100Config),
    "MBartForConditionalGeneration": lambda *files: Shifted(
        *files, ["en_XX", "de_DE"], transformers.MBartForConditionalGeneration, transformers.MBartConfig),
}


def long_line(lines, encode, tokens=500):
    """Returns lines in one, of at most `tokens` tokens."""
    count = 1
    while len(encode(" ".join(lines[:count + 1]))) <= tokens:
        count += 1
    return " ".join(lines[:count])


def run(*command, lines=""):
    return subprocess.run([str(c) for c in command], input=lines, check=True, capture_output=True, text=True).stdout
