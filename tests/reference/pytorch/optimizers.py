#!/usr/bin/env python3
"""Writes tests/reference/pytorch/optimizers.h5: what torch.optim.Muon and schedulefree.AdamWScheduleFree compute, and
the rates of transformers.get_wsd_schedule.

Usage: pip install torch numpy h5py schedulefree transformers; tests/reference/pytorch/optimizers.py
(the committed file: torch 2.15.0, schedulefree 1.4.1, transformers 5.23.0)

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
import transformers

MATRICES = {"wide": (6, 16), "tall": (24, 8), "first": (8, 8), "second": (8, 8)}


def rounded(array):
    return torch.from_numpy(array.astype(np.float32).astype(np.float64))


@contextlib.contextmanager
def iteration_in_double():
    kept, torch.bfloat16 = torch.bfloat16, torch.float64
    try:
        yield
    finally:
        torch.bfloat16 = kept


def run(group, shapes, steps, make):
    """Stores initial values, gradients and final values of one optimizer. Returns it with its parameters by name."""
    random = np.random.default_rng(7)
    params = {name: torch.nn.Parameter(rounded(random.normal(size=shape))) for name, shape in shapes.items()}
    gradients = {name: rounded(random.normal(size=(steps, *shape))) for name, shape in shapes.items()}
    optimizer = make(params)
    for name in shapes:
        group[f"{name}/initial"] = params[name].detach().numpy().astype(np.float32)
        group[f"{name}/gradients"] = gradients[name].numpy().astype(np.float32)
    for step in range(steps):
        for name, param in params.items():
            param.grad = gradients[name][step].clone()
        optimizer.step()
    for name, param in params.items():
        group[f"{name}/after"] = param.detach().numpy().copy()
    return optimizer, params


def muon(file, name, adjust, momentum, decay):
    steps, lr = 4, np.float32(0.02).item()
    group = file.create_group(name)
    group.attrs.update(lr=lr, momentum=momentum, weight_decay=decay, steps=float(steps), adjust=adjust)
    run(group, MATRICES, steps, lambda params: torch.optim.Muon(
        list(params.values()), lr=lr, momentum=momentum, weight_decay=decay, adjust_lr_fn=adjust))


def schedule_free(file, name, lr, warmup, decay):
    """Matrices, which decay, and a vector, which does not."""
    steps = 6
    lr, beta1, beta2, eps, decay = (np.float32(x).item() for x in (lr, 0.9, 0.98, 1e-8, decay))
    group = file.create_group(name)
    group.attrs.update(lr=lr, beta1=beta1, beta2=beta2, eps=eps, weight_decay=decay, warmup=float(warmup),
                       steps=float(steps))

    def make(params):
        groups = [{"params": [p for name, p in params.items() if name in MATRICES], "weight_decay": decay},
                  {"params": [params["vector"]], "weight_decay": 0.0}]
        optimizer = schedulefree.AdamWScheduleFree(groups, lr=lr, betas=(beta1, beta2), eps=eps, warmup_steps=warmup,
                                                   foreach=False)
        optimizer.train()
        return optimizer

    optimizer, params = run(group, {**MATRICES, "vector": (40,)}, steps, make)
    optimizer.eval()  # the parameters become x
    for name, param in params.items():
        group[f"{name}/evaluated"] = param.detach().numpy().copy()


def wsd(file, name, decay_type, warmup, decay, total, lowest):
    """Rates after 1, 2, ... steps of the schedule, of a highest rate of 1."""
    group = file.create_group(name)
    group.attrs.update(warmup=float(warmup), decay=float(decay), total=float(total), lowest=lowest, shape=decay_type)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = transformers.get_wsd_schedule(optimizer, num_warmup_steps=warmup, num_decay_steps=decay,
                                             num_training_steps=total, decay_type=decay_type, min_lr_ratio=lowest)
    rates = []
    for _ in range(total + 3):
        optimizer.step()
        schedule.step()
        rates.append(schedule.get_last_lr()[0])
    group["rates"] = np.array(rates)


def main():
    momentum, decay = np.float32(0.9).item(), np.float32(0.1).item()
    path = pathlib.Path(__file__).resolve().parent / "optimizers.h5"
    with h5py.File(path, "w") as file:
        with iteration_in_double():
            muon(file, "muon_match_rms_adamw", "match_rms_adamw", momentum, decay)
            muon(file, "muon_original", "original", momentum, 0.0)
        muon(file, "bf16_match_rms_adamw", "match_rms_adamw", momentum, decay)
        schedule_free(file, "schedule_free", 0.02, 0, 0.1)
        schedule_free(file, "schedule_free_warmup", 0.003, 4, 0.1)
        schedule_free(file, "schedule_free_fast", 0.2, 3, 0.0)
        wsd(file, "wsd_linear", "linear", 5, 8, 20, 0.0)
        wsd(file, "wsd_1-sqrt", "1-sqrt", 4, 5, 25, 0.0)
        wsd(file, "wsd_lowest", "1-sqrt", 3, 12, 24, 0.1)


if __name__ == "__main__":
    main()
