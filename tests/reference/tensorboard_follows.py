#!/usr/bin/env python3
"""A TensorBoard that stays open while a run is killed or resumed: both of its ways to read event files follow.

Usage: tests/exchange/make_venv VENV; VENV/bin/python tests/reference/tensorboard_follows.py RUN COMMAND [ARGUMENT...]
COMMAND resumes RUN, which has steps. Before and after it, TensorBoard with and without --load_fast must show the steps
and validations of log.jsonl, each once.
"""
import json
import pathlib
import struct
import subprocess
import sys
import time

from tensorboard import context
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.data import provider, server_ingester
from tensorboard.util import grpc_util

run, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
TAGS = {"train/loss": "loss", "train/lr": "lr", "valid/loss": "valid_loss"}
WAIT = 60  # seconds for the data server, which reads by itself


def logged():
    records = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    single = lambda x: struct.unpack("f", struct.pack("f", x))[0]
    return {tag: [(r["step"], single(r[key])) for r in records if r.get(key) is not None] for tag, key in TAGS.items()}


def shown(source):
    read = source.read_scalars(context.RequestContext(), experiment_id="", plugin_name="scalars", downsample=100000,
                               run_tag_filter=provider.RunTagFilter(tags=list(TAGS)))
    return {tag: [(point.step, point.value) for point in points] for of_run in read.values() for tag, points in of_run.items()}


def follows(when):
    slow.Reload()
    want, end = logged(), time.monotonic() + WAIT
    assert shown(slow_source) == want, f"{when}, --load_fast=false shows {shown(slow_source)}, the log has {want}"
    while shown(fast.data_provider) != want:
        assert time.monotonic() < end, f"{when}, --load_fast=true shows {shown(fast.data_provider)}, the log has {want}"
        time.sleep(0.1)
    print(f"{when} both show steps 1 to {want['train/loss'][-1][0]}")


slow = plugin_event_multiplexer.EventMultiplexer(tensor_size_guidance={"scalars": 0}).AddRunsFromDirectory(str(run))
slow_source = data_provider.MultiplexerDataProvider(slow, str(run))
fast = server_ingester.SubprocessServerDataIngester(
    server_binary=server_ingester.get_server_binary(), logdir=str(run), reload_interval=1, samples_per_plugin={"scalars": 0},
    channel_creds_type=grpc_util.ChannelCredsType.LOCAL)
fast.start()
follows("before the resume")
subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
follows("after it")
