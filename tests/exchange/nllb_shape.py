"""nllb_shape.py WEFT FOLDER: the shape of NLLB-200's distilled 600M model, imported and trained on one machine.

Writes random weights of that shape (615 million parameters, f32) and a tokenizer of 256,000 pieces, imports them, and
trains two steps in bf16: all parameters, all but the table, and adapters. Prints times, peaks of resident memory, and
what the plan says. Needs 12 GB of disk and 16 GB of memory.
"""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import time

import numpy
import sentencepiece

PIECES, WIDTH, LAYERS, HEADS, INNER = 256_000, 1024, 12, 16, 4096
LANGUAGES = [f"lan{i:03}_Latn" for i in range(202)]
PAIRS = 400
METHODS = {"all parameters": [], "all but the table": ["--train.freeze=embedding.weight"],
           "adapters of rank 16": ["--lora.rank=16", "--lora.targets=q,k,v,out,up,down"]}


def write_tokenizer(folder, text):
    sentencepiece.SentencePieceTrainer.train(input=str(text), model_prefix=str(folder / "sentencepiece.bpe"),
                                             vocab_size=500, hard_vocab_limit=False, minloglevel=2, unk_id=0, bos_id=1,
                                             eos_id=2)
    file = folder / "sentencepiece.bpe.model"
    trained = sentencepiece.SentencePieceProcessor(model_file=str(file)).get_piece_size()
    with open(file, "ab") as model:  # more pieces are more fields of the same message
        for i in range(trained, PIECES):
            text = f"\u2581w{i}".encode()
            piece = bytes([0x0A, len(text)]) + text + b"\x15" + struct.pack("<f", -30)
            model.write(bytes([0x0A, len(piece)]) + piece)
    first = PIECES + 1
    added = {str(first + i): {"content": token} for i, token in enumerate([*LANGUAGES, "<mask>"])}
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": added}))
    return first + len(added)


def tensors(vocabulary):
    yield "model.shared.weight", (vocabulary, WIDTH)
    for side in ("encoder", "decoder"):
        for layer in range(LAYERS):
            at = f"model.{side}.layers.{layer}."
            for attention in ("self_attn", "encoder_attn")[:1 if side == "encoder" else 2]:
                for part in ("q", "k", "v", "out"):
                    yield f"{at}{attention}.{part}_proj.weight", (WIDTH, WIDTH)
                    yield f"{at}{attention}.{part}_proj.bias", (WIDTH,)
                yield from ((f"{at}{attention}_layer_norm.{part}", (WIDTH,)) for part in ("weight", "bias"))
            for name, shape in (("fc1", (INNER, WIDTH)), ("fc2", (WIDTH, INNER))):
                yield f"{at}{name}.weight", shape
                yield f"{at}{name}.bias", shape[:1]
            yield from ((f"{at}final_layer_norm.{part}", (WIDTH,)) for part in ("weight", "bias"))
        yield from ((f"model.{side}.layer_norm.{part}", (WIDTH,)) for part in ("weight", "bias"))


def write_model(folder, vocabulary):
    (folder / "config.json").write_text(json.dumps({
        "model_type": "m2m_100", "architectures": ["M2M100ForConditionalGeneration"], "vocab_size": vocabulary,
        "d_model": WIDTH, "encoder_layers": LAYERS, "decoder_layers": LAYERS, "encoder_attention_heads": HEADS,
        "decoder_attention_heads": HEADS, "encoder_ffn_dim": INNER, "decoder_ffn_dim": INNER, "dropout": 0.1,
        "activation_function": "relu", "scale_embedding": True, "max_position_embeddings": 1024, "pad_token_id": 1,
        "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}))
    header, at = {}, 0
    for name, shape in tensors(vocabulary):
        size = 4 * int(numpy.prod(shape))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    random = numpy.random.default_rng(1)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, shape in tensors(vocabulary):
            if "norm" in name:
                values = numpy.full(shape, 1.0 if name.endswith("weight") else 0.0, numpy.float32)
            else:
                values = 0.02 * random.standard_normal(shape, numpy.float32)
            file.write(values.tobytes())
    return at


def run(*command):
    """Runs a program; returns its output, its seconds, and its peak of resident memory in bytes."""
    begin = time.monotonic()
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(output)
    return output, time.monotonic() - begin, usage.ru_maxrss * 1024


def gib(size):
    return f"{size / 2**30:.2f} GiB"


def main():
    weft, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    place = folder / "nllb"
    place.mkdir(parents=True)
    for side, order in (("source", 1), ("target", -1)):
        words = [[f"{'aeiou'[i * k % 5]}{'bdgkl'[i * k // 5 % 5]}" for k in range(1, 9 + i % 13)] for i in range(PAIRS)]
        (folder / side).write_text("".join(" ".join(line[::order]) + "\n" for line in words))
    size = write_model(place, write_tokenizer(place, folder / "source"))
    begin = time.monotonic()
    with open(place / "model.safetensors", "rb") as file:
        while file.read(1 << 24):
            pass
    print(f"model.safetensors: {gib(size)}, read in {time.monotonic() - begin:.1f} s", flush=True)
    _, seconds, peak = run(weft, "import", "--from", place, "--output", folder / "imported")
    print(f"import: {seconds:.1f} s, peak {gib(peak)} = {peak / size:.2f} times the model", flush=True)
    run(weft, "pack", "--source", folder / "source", "--target", folder / "target", "--tokenizer", folder / "imported",
        "--tag", LANGUAGES[0], "--target-tag", LANGUAGES[1], "--output", folder / "packed", "--quiet")
    for number, (method, options) in enumerate(METHODS.items()):
        output, seconds, peak = run(
            weft, "train", "--config", folder / "imported/step-00000000/config.cfg",
            f"--data.train={folder / 'packed'}", f"--train.init={folder / 'imported'}",
            f"--train.output={folder / f'run-{number}'}", "--train.steps=2",
            "--train.precision=bf16", "--batch.rows=256", "--batch.blocks=1", "--train.tensorboard=false", *options)
        plan = re.search(r"  memory +([0-9.]+ [KMGi]+B) per rank", output)[1]
        losses = re.findall(r"step (\d)/2  loss ([0-9.]+)", output)
        kept = sum(f.stat().st_size for f in (folder / f"run-{number}/checkpoints").glob("step-*/*.safetensors")
                   if not f.parent.is_symlink())
        print(f"{method}: planned {plan}, peak {gib(peak)}, checkpoint {gib(kept)}, {seconds:.0f} s, losses {losses}",
              flush=True)


main()
