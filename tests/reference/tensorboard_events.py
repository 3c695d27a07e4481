#!/usr/bin/env python3
"""Reads a run's event file with TensorBoard itself and compares it with the run's log.jsonl.

Usage: tests/exchange/make_venv VENV; VENV/bin/python tests/reference/tensorboard_events.py RUN [EVENTS]
EVENTS: the folder that `weft inspect RUN --tensorboard EVENTS` wrote; RUN/tensorboard without it.
"""
import html
import json
import pathlib
import re
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


def numbers(record, skipped=()):
    return {k: v for k, v in record.items() if k not in ("step", "time", *skipped) and type(v) in (int, float)}


def scalars_of_step(r):
    found = {f"train/{k}": v for k, v in numbers(r, ("seconds", "slowest_rank", "waiting", "source_tokens", "target_tokens")).items()}
    found |= {f"{group}/{k}": v for group in ("corpus_nll", "epochs") for k, v in r.get(group, {}).items() if v is not None}
    found |= {f"speed/{side}_tokens_per_second": r[f"{side}_tokens"] / r["seconds"] for side in ("source", "target")}
    return found | {"speed/step_seconds": r["seconds"]} | ({"speed/waiting": r["waiting"]} if "waiting" in r else {})


def scalars_of_validation(r):
    return {f"valid/{k.removeprefix('valid_')}": v for k, v in numbers(r).items()}


def scalars_of_score(r):
    return {f"valid/{k}": v for k, v in numbers(r).items() if k == "score" or k.endswith(".score")}


def text(tag, i=-1):  # without the escapes of Markdown
    markdown = read.Tensors(tag)[i].tensor_proto.string_val[0].decode()
    return html.unescape(re.sub(r"\\([\\`*_{}\[\]#|~>])", r"\1", markdown))


def code(lines):
    return "".join(f"    {line}\n" for line in lines)[:-1]


assert len({record["step"] for record in steps}) == len(steps)
expected = {}
for record in log:
    of_kind = (scalars_of_step if "loss" in record else scalars_of_validation if "valid_loss" in record else scalars_of_score)
    for tag, value in of_kind(record).items():
        expected.setdefault(tag, []).append((record["step"], single(value)))
texts = ("samples/", "config", "plan", "rollbacks", "stages")
found = {tag for tag in (*tags["scalars"], *tags["tensors"]) if not tag.startswith(texts)}
assert found == expected.keys(), f"TensorBoard alone has {found - expected.keys()}, the log {expected.keys() - found}"
for tag, want in expected.items():
    assert scalars(tag) == want, f"{tag}: {scalars(tag)[:3]} ..., the log has {want[:3]} ..."

for i, record in enumerate(validations):
    place_of = {}  # counted within each set
    for sample in record.get("samples", []):
        name = sample.get("set", "")
        place_of[name] = place_of.get(name, 0) + 1
        tag = f"samples/{name}{'.' if name else ''}{place_of[name]}"
        assert read.Tensors(tag)[i].step == record["step"]
        want = f"Source {sample['source']}\n\nReference {sample['reference']}\n\nTranslation {sample['hypothesis']}"
        shown = re.sub(r"^\*\*(\w+)\*\*", r"\1", text(tag, i), flags=re.M)
        assert shown == want, f"{tag}: {shown!r} instead of {want!r}"
pictures = read.Images("attention") if "attention" in tags["images"] else []
drawn = [r["attention"]["weights"] for r in validations if "attention" in r]
for event, weights in zip(pictures, drawn, strict=True):
    assert event.encoded_image_string.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", event.encoded_image_string[16:24])
    assert width / len(weights[0]) == height / len(weights) >= 8, "a weight is no square"
assert [e.step for e in (read.Tensors("rollbacks") if "rollbacks" in tags["tensors"] else [])] == rollbacks
assert read.Tensors("config")[0].tensor_proto.string_val[0].decode().rstrip() == code((run / "config.cfg").read_text().splitlines())
plans = [record["plan"] for record in log if "schema" in record]
assert [e.tensor_proto.string_val[0].decode().rstrip() for e in read.Tensors("plan")] == [code(plan.splitlines()) for plan in plans]
print(f"TensorBoard reads {len(expected)} scalars of {len(steps)} steps, {len(validations)} validations, {len(pictures)} pictures and "
      f"{len(rollbacks)} rollbacks as logged")
