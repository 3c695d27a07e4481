"""The engines that `weft export` writes for: each translates greedily, and scores given translations.

`translate(lines, longest)` returns texts of at most `longest` tokens; `log_probs(lines, translations)` returns the natural
logarithm of each translation's probability, end of sentence included. Tags are in front of every line:
`tags` of the source, `target_tags` of the translation, which are given and add nothing to its probability.
"""
import importlib.util
import os
import pathlib
import subprocess
import sys

import sentencepiece

BATCH = 50


def batches(rows):
    return [rows[i:i + BATCH] for i in range(0, len(rows), BATCH)]


def tokenizers(folder, joint="tokenizer.model", separate="{}.model"):  # of source and target
    files = [pathlib.Path(folder, joint)] * 2
    if not files[0].exists():
        files = [pathlib.Path(folder, separate.format(side)) for side in ("source", "target")]
    return [sentencepiece.SentencePieceProcessor(model_file=str(f)) for f in files]


class CTranslate2:
    def __init__(self, folder, compute_type="float32", **options):
        import ctranslate2
        self.source, self.target = tokenizers(folder)
        options = {"intra_threads": 1} | options
        self.translator = ctranslate2.Translator(str(folder), device="cpu", compute_type=compute_type, **options)

    def pieces(self, lines, tags=()):
        return [[*tags, *pieces] for pieces in self.source.encode(lines, out_type=str)]

    def translate(self, lines, longest, tags=(), target_tags=()):
        found = self.translator.translate_batch(
            self.pieces(lines, tags), target_prefix=[list(target_tags)] * len(lines) if target_tags else None, beam_size=1,
            max_decoding_length=longest + len(target_tags), max_batch_size=BATCH)
        return [self.target.decode(x.hypotheses[0]) for x in found]

    def log_probs(self, lines, translations, tags=(), target_tags=()):
        targets = [[*target_tags, *pieces] for pieces in self.target.encode(translations, out_type=str)]
        found = self.translator.score_batch(self.pieces(lines, tags), targets, max_batch_size=BATCH)
        return [sum(x.log_probs[len(target_tags):]) for x in found]


class HuggingFace:
    def __init__(self, folder):
        os.environ["HF_HUB_OFFLINE"] = "1"
        import torch
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
        self.torch = torch
        torch.set_num_threads(1)
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model, report = AutoModelForSeq2SeqLM.from_pretrained(folder, output_loading_info=True)
        for problem, names in report.items():
            assert not names, (problem, names)
        self.model.eval()

    def begin(self, first, tags, count):  # [count, rows]
        return self.torch.tensor([first + self.tokenizer.convert_tokens_to_ids(list(tags))] * count, dtype=int)

    def inputs(self, lines, tags):
        if all(tag.startswith(">>") for tag in tags):  # the tokenizer knows it in text
            return self.tokenizer([" ".join([*tags, line]) for line in lines], return_tensors="pt", padding=True)
        inputs, torch = self.tokenizer(lines, return_tensors="pt", padding=True), self.torch
        given = self.begin([], tags, len(lines))
        return {"input_ids": torch.cat([given, inputs.input_ids], 1),
                "attention_mask": torch.cat([torch.ones_like(given), inputs.attention_mask], 1)}

    def translate(self, lines, longest, tags=(), target_tags=()):
        texts = []
        for some in batches(lines):
            given = self.begin([self.model.config.decoder_start_token_id], target_tags, len(some))
            ids = self.model.generate(**self.inputs(some, tags), decoder_input_ids=given, num_beams=1,
                                      max_length=given.shape[1] + longest + 1)  # with the end
            texts += self.tokenizer.batch_decode(ids[:, given.shape[1]:], skip_special_tokens=True)
        return texts

    def log_probs(self, lines, translations, tags=(), target_tags=()):
        torch, sums = self.torch, []
        for some, targets in zip(batches(lines), batches(translations)):
            begin = self.begin([self.model.config.decoder_start_token_id], target_tags, len(some))
            wanted = self.tokenizer(text_target=targets, return_tensors="pt", padding=True).input_ids
            given = torch.cat([begin, wanted[:, :-1]], dim=1)
            with torch.no_grad():
                logits = self.model(**self.inputs(some, tags), decoder_input_ids=given).logits[:, len(target_tags):]
            found = logits.double().log_softmax(-1).gather(2, wanted[..., None])[..., 0]
            sums += found.masked_fill(wanted == self.model.config.pad_token_id, 0).sum(1).tolist()
        return sums


class Marian:
    """Through pymarian, whose library prints to standard error: a process of its own, which reads and writes pieces."""

    PROGRAM = "import sys, pymarian; print(pymarian.Translator(sys.argv[1]).translate(sys.stdin.read()))"

    def __init__(self, folder):
        self.options = (f"--config {folder}/decoder.yml --cpu-threads 1 --mini-batch 16 --beam-size 1 --normalize 0 "
                        "--n-best --word-scores --no-spm-encode --no-spm-decode")
        self.source, self.target = tokenizers(folder, "vocab.spm", "{}.spm")
        self.scores = {}

    def translate(self, lines, longest, tags=()):
        options = f"{self.options} --max-length-factor {longest / 4}"  # of the tokens of a batch's longest source
        text = [" ".join([*tags, *pieces]) for pieces in self.source.encode(lines, out_type=str)]
        found = subprocess.run([sys.executable, "-c", self.PROGRAM, options], input="\n".join(text), check=True,
                               capture_output=True, text=True).stdout.split("\n")
        texts = []
        for line, (_, pieces, scores, _, score) in zip(lines, [line.split(" ||| ") for line in found if line], strict=True):
            pieces, score = pieces.split(), float(score)  # printed with six digits, those of tokens with five decimals
            texts.append(self.target.decode(pieces[:longest]))
            score = score if abs(score) < 10 else sum(map(float, scores.split()[1:]))
            self.scores[line, texts[-1]] = score if len(pieces) <= longest else None
        return texts

    def log_probs(self, lines, translations, tags=()):  # of its own translations; None of one that was cut
        return [self.scores[pair] for pair in zip(lines, translations)]


class PyTorch:
    """The module in the folder."""

    def __init__(self, folder):
        import torch
        torch.set_num_threads(1)
        spec = importlib.util.spec_from_file_location("weft_transformer", pathlib.Path(folder, "weft_transformer.py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        translator = module.Translator(folder)
        self.translate, self.log_probs = translator.translate, translator.log_probs


ENGINES = {"ctranslate2": CTranslate2, "huggingface": HuggingFace, "marian": Marian, "pytorch": PyTorch}
