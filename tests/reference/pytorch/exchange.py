#!/usr/bin/env python3
"""Weights from Weft to PyTorch and back, and the other way round. Run it by hand; it fails if a figure is off.

    pip install torch safetensors sentencepiece
    tests/reference/pytorch/exchange.py WEFT CHECKPOINT SOURCE TARGET

1. `weft export` the checkpoint; the module in the folder loads it strictly; its log-probabilities of the sentence pairs
   equal `weft score`'s.
2. `weft import` the exported folder and export it again: every byte is the same.
3. A freshly drawn PyTorch model, saved with save_file and with save_model, goes through import and export: every value
   has the same bits, and its log-probabilities equal `weft score`'s.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file, save_model

sys.dont_write_bytecode = True
TOLERANCE = 1e-5  # of the log-probability of a sentence, relative


def weft(*arguments):
    return subprocess.run([WEFT, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True).stdout


def compare_scores(what, translator, checkpoint):
    found = torch.tensor(translator.log_probs(open(SOURCE).read().splitlines(), open(TARGET).read().splitlines()))
    lines = weft("score", "--quiet", "--json", "--checkpoint", checkpoint, "--source", SOURCE, "--target", TARGET)
    expected = torch.tensor([json.loads(line)["log_prob"] for line in lines.splitlines()])
    error = ((found - expected).abs() / expected.abs()).max().item()
    print(f"{what}: {len(found)} sentence pairs, log-probabilities differ by at most {error:.1e} of their size")
    assert error < TOLERANCE, error


def compare_bits(what, expected, found):
    assert expected.keys() == found.keys(), expected.keys() ^ found.keys()
    for name in expected:
        assert torch.equal(expected[name].view(torch.int32), found[name].view(torch.int32)), name
    print(f"{what}: {len(expected)} tensors, {sum(t.numel() for t in expected.values())} values, every bit the same")


def import_weights(weights, config, output, tokenizers=()):
    weft("import", "--weights", weights, "--config", config, *tokenizers, "--output", output)


def draw(model, exported):
    """Random values; biases that are zero in the exported model stay zero, since it may lack them."""
    torch.manual_seed(1)
    for name, parameter in model.named_parameters():
        if not name.endswith("bias") or exported[name].any():
            torch.nn.init.normal_(parameter, std=0.1)


def export(checkpoint, folder):
    weft("export", "--checkpoint", checkpoint, "--format", "pytorch", "--output", folder)
    return load_file(folder / "model.safetensors")


def main(work):
    config = pathlib.Path(CHECKPOINT) / "config.cfg"
    exported = export(CHECKPOINT, work / "exported")
    sys.path.append(str(work / "exported"))
    from weft_transformer import Translator
    translator = Translator(work / "exported")
    compare_scores("exported from Weft", translator, CHECKPOINT)

    import_weights(work / "exported", config, work / "back")
    export(work / "back", work / "again")
    for file in (work / "exported").iterdir():
        assert file.read_bytes() == (work / "again" / file.name).read_bytes(), file
    print("exported, imported, exported: the same bytes")

    model = translator.model
    draw(model, exported)
    state = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
    save_file(state, work / "file.safetensors")
    save_model(model, work / "model.safetensors")
    joint = work / "exported/tokenizer.model"
    tokenizers = ["--tokenizer", joint] if joint.exists() else [
        part for side in ("source", "target") for part in (f"--{side}-tokenizer", work / f"exported/{side}.model")]
    for kind in ("file", "model"):
        import_weights(work / f"{kind}.safetensors", config, work / kind, tokenizers)
        compare_bits(f"save_{kind} of PyTorch, imported, exported", state, export(work / kind, work / f"{kind}-back"))
    compare_scores("imported from PyTorch", translator, work / "file")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    WEFT, CHECKPOINT, SOURCE, TARGET = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        main(pathlib.Path(folder))
