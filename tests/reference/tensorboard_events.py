#!/usr/bin/env python3
"""Reads a run's event file with TensorBoard itself and compares it with the run's log.jsonl.

Usage: tests/exchange/make_venv VENV; VENV/bin/python tests/reference/tensorboard_events.py RUN [EVENTS]
EVENTS: the folder that `weft inspect RUN --tensorboard EVENTS` wrote; RUN/tensorboard without it.
"""
import json
import pathlib
import struct
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

run = pathlib.Path(sys.argv[1])
events = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else run / "tensorboard"
log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
steps = [record for record in log if "loss" in record]
validations = [record for record in log if "valid_loss" in record]
rollbacks = [record["step"] for record in log if "rolled_back_to" in record]

read = EventAccumulator(str(events), size_guidance={"tensors": 0, "images": 0, "scalars": 0})
read.Reload()
tags = read.Tags()


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def scalars(tag):  # EventAccumulator turns old scalars into tensors or keeps them, by version
    if tag in tags["scalars"]:
        return [(e.step, e.value) for e in read.Scalars(tag)]
    return [(e.step, e.tensor_proto.float_val[0]) for e in read.Tensors(tag)]


def expect(tag, records, key):
    want = [(r["step"], single(r[key])) for r in records if r.get(key) is not None]
    assert scalars(tag) == want, f"{tag}: {scalars(tag)[:3]} ..., the log has {want[:3]} ..."


assert len({record["step"] for record in steps}) == len(steps)
for key in ("loss", "nll", "lr", "grad_norm", "fill"):
    expect(f"train/{key}", steps, key)
for key in ("valid_loss", "valid_nll", "bleu", "chrf"):
    expect("valid/" + key.removeprefix("valid_"), validations, key)
place_of = {}  # counted within each set
for sample in validations[-1].get("samples", []):
    name = sample.get("set", "")
    place_of[name] = place_of.get(name, 0) + 1
    shown = read.Tensors(f"samples/{name}{'.' if name else ''}{place_of[name]}")
    assert [e.step for e in shown] == [r["step"] for r in validations]
    assert shown[-1].tensor_proto.string_val[0].startswith(b"**Source** ")
pictures = read.Images("attention") if "attention" in tags["images"] else []
assert len(pictures) == sum("attention" in r for r in validations)
assert all(e.encoded_image_string.startswith(b"\x89PNG") for e in pictures)
assert [e.step for e in (read.Tensors("rollbacks") if "rollbacks" in tags["tensors"] else [])] == rollbacks
assert read.Tensors("config")[0].tensor_proto.string_val[0].startswith(b"    ")
print(f"TensorBoard reads {len(steps)} steps, {len(validations)} validations, {len(pictures)} pictures and "
      f"{len(rollbacks)} rollbacks as logged")
