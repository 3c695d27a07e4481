#!/usr/bin/env python3
"""Compares Weft and PyTorch with the same weights in both directions. Run it by hand; it fails if a figure is off.

    pip install torch numpy safetensors sentencepiece
    tests/reference/pytorch_exchange.py WEFT CHECKPOINT SOURCE TARGET

1. `weft export` the checkpoint; the module of docs/pytorch.md loads it strictly; its log-probabilities of the sentence
   pairs equal `weft score`'s.
2. `weft import` the exported file and export it again: every byte is the same.
3. A freshly drawn PyTorch model, saved with save_file and with save_model, goes through import and export: every value
   has the same bits, and its log-probabilities equal `weft score`'s.
"""
import configparser
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import sentencepiece
import torch
from safetensors.torch import load_file, save_file, save_model

BOS, EOS, NOTHING = 1, 2, -1
TOLERANCE = 1e-5  # of the log-probability of a sentence, relative


def module_of_the_documentation():
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "pytorch.md"
    scope = {}
    exec(re.search(r"```python\n(import math.*?)```", page.read_text(), re.S).group(1), scope)
    return scope["WeftTransformer"]


def weft(*arguments):
    return subprocess.run([WEFT, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True).stdout


def new_model(config):
    c = dict(config["model"])
    whole = {k: int(c[k]) for k in ("width", "heads", "feed_forward", "encoder_layers", "decoder_layers",
                                    "position_offset", "source_vocabulary", "target_vocabulary")}
    flags = {k: c[k] == "true" for k in ("final_norm", "bias_output", "scale_embeddings")}
    words = {k: c[k] for k in ("norm", "activation", "tying", "positions")}
    return module_of_the_documentation()(**whole, **flags, **words, max_positions=int(c["max_positions"]) or 1024)


def tokenizers(folder):
    joint = folder / "tokenizer.model"
    files = [joint, joint] if joint.exists() else [folder / "source.model", folder / "target.model"]
    return [sentencepiece.SentencePieceProcessor(model_file=str(f)) for f in files]


def batch(rows):
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(r) for r in rows], batch_first=True, padding_value=NOTHING)


def log_probs_of_torch(model, folder, source_lines, target_lines):
    source, target = tokenizers(folder)
    sources = [source.encode(line) + [EOS] for line in source_lines]
    targets = [target.encode(line) for line in target_lines]
    with torch.no_grad():
        logits = model(batch(sources), batch([[BOS] + t for t in targets]))
    wanted = batch([t + [EOS] for t in targets])
    rows = logits.double().log_softmax(-1).gather(2, wanted.clamp(min=0)[..., None])[..., 0]
    return rows.masked_fill(wanted < 0, 0).sum(1)


def log_probs_of_weft(checkpoint):
    lines = weft("score", "--quiet", "--json", "--checkpoint", checkpoint, "--source", SOURCE, "--target", TARGET)
    return torch.tensor([json.loads(line)["log_prob"] for line in lines.splitlines()], dtype=torch.float64)


def compare_scores(what, model, checkpoint, folder):
    found = log_probs_of_torch(model, folder, open(SOURCE).read().splitlines(), open(TARGET).read().splitlines())
    expected = log_probs_of_weft(checkpoint)
    error = ((found - expected).abs() / expected.abs()).max().item()
    print(f"{what}: {len(found)} sentence pairs, log-probabilities differ by at most {error:.1e} of their size")
    assert error < TOLERANCE, error


def compare_bits(what, expected, found):
    assert expected.keys() == found.keys(), expected.keys() ^ found.keys()
    for name in expected:
        assert torch.equal(expected[name].view(torch.int32), found[name].view(torch.int32)), name
    print(f"{what}: {len(expected)} tensors, {sum(t.numel() for t in expected.values())} values, every bit the same")


def import_file(weights, folder, output):
    joint = folder / "tokenizer.model"
    names = ["--tokenizer", joint] if joint.exists() else [
        "--source-tokenizer", folder / "source.model", "--target-tokenizer", folder / "target.model"]
    weft("import", "--format", "pytorch", "--weights", weights, "--config", folder / "config.cfg", *names,
         "--output", output)


def draw(model, config):
    torch.manual_seed(1)
    for name, parameter in model.named_parameters():
        torch.nn.init.normal_(parameter, std=0.1)
        absent = "bias_feed_forward" if ".linear" in name else "bias_attention" if "_proj" in name else None
        if name.endswith("bias") and absent and config["model"][absent] == "false":
            torch.nn.init.zeros_(parameter)


def export(checkpoint, file):
    weft("export", "--checkpoint", checkpoint, "--format", "pytorch", "--output", file)


def main(work):
    export(CHECKPOINT, work / "exported.safetensors")
    folder = pathlib.Path(CHECKPOINT)
    config = configparser.ConfigParser()
    config.read(folder / "config.cfg")
    model = new_model(config)
    model.load_state_dict(load_file(work / "exported.safetensors"))
    compare_scores("exported from Weft", model, CHECKPOINT, folder)

    import_file(work / "exported.safetensors", folder, work / "back")
    export(work / "back", work / "again.safetensors")
    assert (work / "exported.safetensors").read_bytes() == (work / "again.safetensors").read_bytes()
    print("exported, imported, exported: the same bytes")

    draw(model, config)
    state = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
    save_file(state, work / "file.safetensors")
    save_model(model, work / "model.safetensors")
    for kind in ("file", "model"):
        import_file(work / f"{kind}.safetensors", folder, work / kind)
        export(work / kind, work / f"{kind}-back.safetensors")
        compare_bits(f"save_{kind} of PyTorch, imported, exported", state, load_file(work / f"{kind}-back.safetensors"))
    compare_scores("imported from PyTorch", model, work / "file", folder)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    WEFT, CHECKPOINT, SOURCE, TARGET = sys.argv[1:]
    with tempfile.TemporaryDirectory() as work:
        main(pathlib.Path(work))
