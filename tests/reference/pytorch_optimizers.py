#!/usr/bin/env python3
"""Writes tests/reference/pytorch_optimizers.h5: what torch.optim.Muon and schedulefree.AdamWScheduleFree compute.

Usage: pip install torch numpy h5py schedulefree; tests/reference/pytorch_optimizers.py
(the committed file: torch 2.15.0, schedulefree 1.4.1)

Initial values and gradients are f32 values; the expected ones are computed from them in f64. Muon's iteration, which
PyTorch computes in bf16, is in f64, too, in the groups muon_*, and as PyTorch has it in bf16_*. The output is
reproducible.
"""
import contextlib
import pathlib

import h5py
import numpy as np
import schedulefree
import torch

STEPS, LR = 4, np.float32(0.02).item()
SHAPES = {"wide": (6, 16), "tall": (24, 8), "first": (8, 8), "second": (8, 8)}


def rounded(array):
    return torch.from_numpy(array.astype(np.float32).astype(np.float64))


@contextlib.contextmanager
def iteration_in_double():
    kept, torch.bfloat16 = torch.bfloat16, torch.float64
    try:
        yield
    finally:
        torch.bfloat16 = kept


def run(group, shapes, make, values_at_end):
    """Stores initial values, gradients and values after each step of one optimizer."""
    random = np.random.default_rng(7)
    params = {name: torch.nn.Parameter(rounded(random.normal(size=shape))) for name, shape in shapes.items()}
    gradients = {name: rounded(random.normal(size=(STEPS, *shape))) for name, shape in shapes.items()}
    optimizer = make(list(params.values()))
    for name in shapes:
        group[f"{name}/initial"] = params[name].detach().numpy().astype(np.float32)
        group[f"{name}/gradients"] = gradients[name].numpy().astype(np.float32)
    after = {name: [] for name in shapes}
    for step in range(STEPS):
        for name, param in params.items():
            param.grad = gradients[name][step].clone()
        optimizer.step()
        for name, param in params.items():
            after[name].append(param.detach().numpy().copy())
    for name in shapes:
        group[f"{name}/after"] = np.stack(after[name])
    values_at_end(group, optimizer, params)


def muon(file, name, adjust, momentum, decay):
    group = file.create_group(name)
    group.attrs.update(lr=LR, momentum=momentum, weight_decay=decay, steps=float(STEPS), adjust=adjust)
    run(group, SHAPES, lambda params: torch.optim.Muon(params, lr=LR, momentum=momentum, weight_decay=decay,
                                                       adjust_lr_fn=adjust), lambda *_: None)


def schedule_free(file, name, warmup, decay):
    beta1, beta2, eps = (np.float32(x).item() for x in (0.9, 0.98, 1e-8))
    group = file.create_group(name)
    group.attrs.update(lr=LR, beta1=beta1, beta2=beta2, eps=eps, weight_decay=decay, warmup=float(warmup),
                       steps=float(STEPS))

    def evaluated(group, optimizer, params):
        optimizer.eval()  # the parameters become x
        for key, param in params.items():
            group[f"{key}/evaluated"] = param.detach().numpy().copy()

    def make(params):
        optimizer = schedulefree.AdamWScheduleFree(params, lr=LR, betas=(beta1, beta2), eps=eps, weight_decay=decay,
                                                   warmup_steps=warmup, foreach=False)
        optimizer.train()
        return optimizer

    run(group, {"vector": (40,)}, make, evaluated)


def main():
    momentum, decay = np.float32(0.9).item(), np.float32(0.1).item()
    path = pathlib.Path(__file__).resolve().parent / "pytorch_optimizers.h5"
    with h5py.File(path, "w") as file:
        with iteration_in_double():
            muon(file, "muon_match_rms_adamw", "match_rms_adamw", momentum, decay)
            muon(file, "muon_original", "original", momentum, 0.0)
        muon(file, "bf16_match_rms_adamw", "match_rms_adamw", momentum, decay)
        schedule_free(file, "schedule_free", 0, decay)
        schedule_free(file, "schedule_free_warmup", 4, 0.0)


if __name__ == "__main__":
    main()
