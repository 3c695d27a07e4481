"""One run of PyTorch: trains for a few steps and prints its seconds and tokens as JSON; `compare` starts it.

    python pytorch_step.py '{"arrays": "corpus.npz", "kind": "compile", ...}'      what is in it: compare's `pytorch_spec`

Batches are buckets of pairs with similar lengths, limited by the number of real target tokens. A short run uses
buckets spread evenly over the lengths, so that it has the corpus's mixture. The ids are in memory as padded tensors
before the clock starts: reading is not timed.
"""
import contextlib
import json
import random
import sys
import time
import warnings

import numpy as np
import torch

from pytorch_model import Batch, Lean, new_model, self_check


def cut(order, lengths, tokens):
    """Divides consecutive pairs into batches of at most `tokens` tokens."""
    buckets, begin, filled = [], 0, 0
    for i, length in enumerate(lengths[order].tolist()):
        if filled + length > tokens and i > begin:
            buckets.append(order[begin:i])
            begin, filled = i, 0
        filled += length
    return buckets + [order[begin:]]


def sorted_buckets(source, target, tokens):
    """Buckets from strips of similar sources, each sorted by target; chooses the strip width with the least padding."""
    by_source = np.lexsort((target, source))

    def strips(width):
        return [bucket for strip in cut(by_source, target, width * tokens)
                for bucket in cut(strip[np.argsort(target[strip], kind="stable")], target, tokens)]

    def rows(buckets):
        return sum(len(b) * int(source[b].max() + target[b].max()) for b in buckets)

    return min((strips(width) for width in (1, 2, 4, 8, 16, 32, 64)), key=rows)


def choose_steps(arrays, spec):
    """`steps` lists of `micro` batches each."""
    lengths = [arrays[f"{side}_lengths"] + 1 for side in ("source", "target")]  # eos
    tokens = spec["tokens"] // spec["micro"]
    buckets = sorted_buckets(*lengths, tokens)
    buckets = [b for b in buckets if lengths[1][b].sum() > 0.9 * tokens] or buckets  # without the rest of a strip

    def sentence(side, pair):
        end = ends[side][pair]
        return arrays[f"{side}_pieces"][end - arrays[f"{side}_lengths"][pair]:end].tolist()

    ends = {side: np.cumsum(arrays[f"{side}_lengths"]) for side in ("source", "target")}
    count = spec["steps"] * spec["micro"]
    chosen = [buckets[int((i + 0.5) * len(buckets) / count)] for i in range(count)]
    random.Random(spec["seed"]).shuffle(chosen)
    batches = [Batch([sentence("source", p) for p in b], [sentence("target", p) for p in b]).to(spec["device"])
               for b in chosen]
    return [batches[i:i + spec["micro"]] for i in range(0, count, spec["micro"])]


def new_optimizer(model, spec):
    options = dict(lr=spec["lr"], betas=(spec["beta1"], spec["beta2"]), eps=spec["eps"])
    try:
        return torch.optim.Adam(model.parameters(), fused=True, **options), "fused"
    except (RuntimeError, TypeError):
        return torch.optim.Adam(model.parameters(), foreach=True, **options), "foreach"


class Trainer:
    def __init__(self, spec):
        self.model = new_model(spec, lean=spec["kind"] != "module").train().to(spec["device"])
        self.finish = torch.cuda.synchronize if spec["device"] == "cuda" else lambda: None
        self.smoothing = spec["smoothing"]
        if isinstance(self.model, Lean):
            self.model.attention = spec["attention"]
        self.loss = self.model.loss
        if spec["kind"].startswith("compile"):
            self.loss = torch.compile(self.loss, dynamic=spec["kind"] == "compile")
        self.optimizer, self.adam = new_optimizer(self.model, spec)
        self.precision = contextlib.nullcontext
        if spec["precision"] == "bf16":
            self.precision = lambda: torch.autocast(spec["device"], dtype=torch.bfloat16)

    def step(self, batches):
        begin = time.perf_counter()
        tokens, total = sum(b.num_target for b in batches), []
        self.optimizer.zero_grad(set_to_none=True)
        for b in batches:
            with self.precision():
                loss = self.loss(b.source, b.target, b.mask, b.rows, b.wanted, self.smoothing) / tokens
            loss.backward()
            total.append(loss.detach())
        self.optimizer.step()
        self.finish()  # a GPU works on while the host goes ahead; it waits here alone
        return {"seconds": time.perf_counter() - begin, "target_tokens": tokens, "loss": sum(x.item() for x in total),
                "source_tokens": sum(b.num_source for b in batches),
                "target_rows": sum(b.target.numel() for b in batches),
                "source_rows": sum(b.source.numel() for b in batches)}


def time_by_operator(trainer, steps):
    with torch.profiler.profile() as profile:
        for batches in steps:
            trainer.step(batches)
    events = sorted(profile.key_averages(), key=lambda e: -e.self_cpu_time_total)
    total = sum(e.self_cpu_time_total for e in events)
    return [[e.key, e.self_cpu_time_total / total] for e in events[:14]]


def main(spec):
    torch.manual_seed(spec["seed"])
    torch.set_num_threads(spec["threads"])
    torch.set_flush_denormal(True)
    if spec["kind"] == "compile-static":
        from torch._dynamo import config
        config.recompile_limit = 1000  # each shape its own code
    with np.load(spec["arrays"]) as arrays:
        steps = choose_steps(dict(arrays), spec)
    trainer = Trainer(spec)
    begin = time.perf_counter()
    # Compiles code for every shape before timing: an advantage for PyTorch, because a real run would wait for
    # it.
    for batches in steps if spec["kind"].startswith("compile") else steps[:spec["warmup"]]:
        trainer.step(batches)
    warm_seconds = time.perf_counter() - begin
    result = {"steps": [trainer.step(batches) for batches in steps], "warm_seconds": warm_seconds,
              "torch": torch.__version__, "adam": trainer.adam, "threads": torch.get_num_threads()}
    if spec["profile"]:
        result["operators"] = time_by_operator(trainer, steps[:2])
    print(json.dumps(result))


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    if sys.argv[1:] == ["--self-check"]:
        self_check()
    else:
        main(json.loads(sys.argv[1]))
