"""huggingface_import.py WEFT SOURCE TARGET FOLDER: models of transformers' classes in Weft.

Makes models with random weights, with tokenizers trained on the lines of SOURCE and TARGET, imports them, and compares
the log-probability of every target token (within 1e-5, relative) and greedy translations with those of transformers.
Some lines get unknown characters. Ids follow the tokenizers' definitions, because transformers 5 makes
its tokenizers for NLLB and mBART from other files.
"""
import json
import math
import pathlib
import subprocess
import sys

import sentencepiece
import torch
import transformers

TOLERANCE, LINES, LONGEST = 1e-5, 300, 30
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


KINDS = {
    "MarianMTModel": Marian,
    "M2M100ForConditionalGeneration": lambda *files: Shifted(
        *files, ["eng_Latn", "deu_Latn"], transformers.M2M100ForConditionalGeneration, transformers.M2M100Config),
    "MBartForConditionalGeneration": lambda *files: Shifted(
        *files, ["en_XX", "de_DE"], transformers.MBartForConditionalGeneration, transformers.MBartConfig),
}


def run(*command, lines=""):
    return subprocess.run([str(c) for c in command], input=lines, check=True, capture_output=True, text=True).stdout


@torch.no_grad()
def worst_difference(theirs, weft, checkpoint, sources, targets, folder):
    for name, lines in (("source", sources), ("target", targets)):
        (folder / name).write_text("".join(line + "\n" for line in lines))
    scores = run(weft, "score", "--checkpoint", checkpoint, "--source", folder / "source", "--target",
                 folder / "target", "--json", "--quiet", *theirs.options)
    worst = 0
    for source, target, score in zip(sources, targets, scores.splitlines(), strict=True):
        ids = theirs.target(target)
        inputs = torch.tensor([[theirs.start, *theirs.forced, *ids[:-1]]])
        logits = theirs.model(input_ids=torch.tensor([theirs.source(source)]), decoder_input_ids=inputs).logits[0]
        rows = logits[len(theirs.forced):].double().log_softmax(-1)
        wanted = rows.gather(1, torch.tensor(ids)[:, None])[:, 0]
        found = torch.tensor([x for x in json.loads(score)["log_probs"] if x is not None], dtype=torch.double)
        if len(found) != len(wanted):
            raise SystemExit(f"FAILED  {target!r} has {len(found)} tokens instead of {len(wanted)}")
        difference = ((found - wanted).abs() / wanted.abs().clamp(min=1)).max().item()
        worst = max(worst, difference if math.isfinite(difference) else math.inf)
    return worst


@torch.no_grad()
def equal_translations(theirs, weft, checkpoint, sources):
    found = run(weft, "translate", "--checkpoint", checkpoint, "--beam", 1, "--json", "--quiet", "--allow-unknown",
                "--max-length-factor", 0, "--max-length-extra", LONGEST, *theirs.options,
                lines="".join(line + "\n" for line in sources))
    equal = 0
    for source, line in zip(sources, found.splitlines(), strict=True):
        first = 1 + len(theirs.forced)
        ids = theirs.model.generate(torch.tensor([theirs.source(source)]), num_beams=1, do_sample=False,
                                    max_new_tokens=LONGEST + len(theirs.forced),
                                    forced_bos_token_id=theirs.forced[0] if theirs.forced else None)[0].tolist()[first:]
        wanted = theirs.pieces(ids[:ids.index(theirs.end)] if theirs.end in ids else ids)
        equal += json.loads(line)["pieces"][len(theirs.forced):-1] == wanted
    return equal


def main():
    weft, source, target, folder = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
    sources, targets = [file.read_text().splitlines()[:LINES] for file in (source, target)]
    for lines in (sources, targets):
        lines[3], lines[5] = "漢 " + lines[3] + " 漢字", lines[5] + "\u2603"
    for name, make in KINDS.items():
        place = folder / name
        place.mkdir(parents=True)
        theirs = make(place, source, target)
        theirs.model.save_pretrained(place)
        checkpoint = folder / (name + ".weft")
        run(weft, "import", "--from", place, "--output", checkpoint)
        worst = worst_difference(theirs, weft, checkpoint, sources, targets, folder)
        equal = equal_translations(theirs, weft, checkpoint, sources)
        print(f"{name}: worst relative difference of a log-probability {worst:.1e}, "
              f"{equal} of {len(sources)} greedy translations are equal", flush=True)
        if worst > TOLERANCE or equal < len(sources):
            raise SystemExit("FAILED  " + name)


main()
