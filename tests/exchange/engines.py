"""The engines that `weft export` writes for: each translates greedily, and scores given translations.

`translate(lines, longest)` returns texts of at most `longest` tokens (Marian's limit is its own); `log_probs(lines, translations)` returns the
natural logarithm of each translation's probability, end of sentence included.
"""
import os
import pathlib
import subprocess
import sys

import sentencepiece

BATCH = 50


def batches(rows):
    return [rows[i:i + BATCH] for i in range(0, len(rows), BATCH)]


class CTranslate2:
    def __init__(self, folder, compute_type="float32"):
        import ctranslate2
        joint = pathlib.Path(folder, "tokenizer.model")
        files = [joint, joint] if joint.exists() else [pathlib.Path(folder, f"{s}.model") for s in ("source", "target")]
        self.source, self.target = [sentencepiece.SentencePieceProcessor(model_file=str(f)) for f in files]
        self.translator = ctranslate2.Translator(str(folder), device="cpu", compute_type=compute_type, intra_threads=1)

    def translate(self, lines, longest):
        found = self.translator.translate_batch(self.source.encode(lines, out_type=str), beam_size=1,
                                                max_decoding_length=longest, max_batch_size=BATCH)
        return [self.target.decode(x.hypotheses[0]) for x in found]

    def log_probs(self, lines, translations):
        found = self.translator.score_batch(self.source.encode(lines, out_type=str),
                                            self.target.encode(translations, out_type=str), max_batch_size=BATCH)
        return [sum(x.log_probs) for x in found]


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

    def translate(self, lines, longest):
        texts = []
        for some in batches(lines):
            inputs = self.tokenizer(some, return_tensors="pt", padding=True)
            ids = self.model.generate(**inputs, num_beams=1, max_length=longest + 2)  # with begin and end
            texts += self.tokenizer.batch_decode(ids, skip_special_tokens=True)
        return texts

    def log_probs(self, lines, translations):
        torch, sums = self.torch, []
        begin, padding = self.model.config.decoder_start_token_id, self.model.config.pad_token_id
        for some, targets in zip(batches(lines), batches(translations)):
            inputs = self.tokenizer(some, return_tensors="pt", padding=True)
            wanted = self.tokenizer(text_target=targets, return_tensors="pt", padding=True).input_ids
            given = torch.cat([torch.full((len(some), 1), begin), wanted[:, :-1]], dim=1)
            with torch.no_grad():
                logits = self.model(**inputs, decoder_input_ids=given).logits
            found = logits.double().log_softmax(-1).gather(2, wanted[..., None])[..., 0]
            sums += found.masked_fill(wanted == padding, 0).sum(1).tolist()
        return sums


class Marian:
    """Through pymarian, whose library prints to standard error: a process of its own."""

    PROGRAM = "import sys, pymarian; print(pymarian.Translator(sys.argv[1]).translate(sys.stdin.read()))"

    def __init__(self, folder):
        self.options = f"--config {folder}/decoder.yml --cpu-threads 1 --mini-batch 16 --beam-size 1 --normalize 0 --n-best"
        self.scores = {}

    def translate(self, lines, longest):
        found = subprocess.run([sys.executable, "-c", self.PROGRAM, self.options], input="\n".join(lines), check=True,
                               capture_output=True, text=True).stdout.splitlines()
        columns = [line.split(" ||| ") for line in found if line]
        self.scores = {(source, text): float(score) for source, (_, text, _, score) in zip(lines, columns, strict=True)}
        return [text for _, text, _, _ in columns]

    def log_probs(self, lines, translations):  # of the tokens of its own translations; it prints six digits
        return [self.scores[pair] for pair in zip(lines, translations)]


ENGINES = {"ctranslate2": CTranslate2, "huggingface": HuggingFace, "marian": Marian}
