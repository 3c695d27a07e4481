#!/usr/bin/env python3
"""Writes tests/reference/pytorch/*.h5: PyTorch 2.x's results for tests/parity.

Usage: pip install torch numpy h5py; tests/reference/pytorch/parity.py (the committed files: torch 2.15.0)

Weights and inputs are f32 values; expected values are computed from them in f64, so that one file serves f32 results
and f64 formulas. Only real rows are stored, sentence after sentence: PyTorch gets a padded batch and masks, Weft a
block without padding. Parameters have the names of nn.Transformer's state_dict; the model around it is
`Model` of models.py. The output is reproducible.
"""
import math
import pathlib

import h5py
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from models import (EOS, IGNORED, SMOOTHING, Model, Variant, causal_mask, losses, num_target_tokens, padded,
                            smoothed_cross_entropy)

FOLDER = pathlib.Path(__file__).resolve().parent

# (source tokens, target tokens): unequal lengths, a source of only eos, a target longer than its source.
BATCHES = [
    [([5, 3, 7, 10, 4], [8, 3, 12]), ([], [6]), ([9, 4], [11, 5, 5, 10, 7]), ([6, 8, 3], [4, 9, 6])],
    [([4, 4, 10], [3, 7]), ([8], [12, 9, 4, 10])],
    [([7, 6, 5, 9, 3, 10], [5, 11, 8, 3, 6, 4, 9]), ([3, 8], []), ([10], [7, 12])],
]

CASES = {
    "post_relu": dict(norm="post", activation="relu", tying="none", bias_output=True),
    "post_gelu": dict(norm="post", activation="gelu", tying="output", bias_output=False),
    "pre_relu": dict(norm="pre", activation="relu", tying="all", bias_output=False),
    "pre_gelu": dict(norm="pre", activation="gelu", tying="none", bias_output=True),
    # Vaswani et al. 2017: no norm after the last block. nn.Transformer always has one, so it is replaced.
    "paper": dict(norm="post", activation="relu", tying="all", bias_output=False, final_norm=False),
}

# Models that nn.Transformer does not support. Parameters have Weft's names and shapes (docs/model.md).
VARIANTS = {
    "pre_rms_swiglu_grouped": dict(norm="pre", norm_kind="rms", activation="swiglu", positions="rotary", kv_heads=2,
                                   tying="all"),
    "post_geglu_one_kv_head": dict(norm="post", norm_kind="layer", activation="geglu", positions="rotary_halves",
                                   kv_heads=1, tying="output", final_norm=False),
    "pre_silu_rotary": dict(norm="pre", norm_kind="rms", activation="silu", positions="rotary", kv_heads=0,
                            tying="none", bias_output=True, bias_attention=False),
    "post_rms_glu": dict(norm="post", norm_kind="rms", activation="glu", positions="interleaved", kv_heads=2,
                         tying="all", bias_feed_forward=False, final_norm=False),
}


def full_config(case):
    vocabulary = 13
    defaults = dict(width=8, heads=2, feed_forward=12, layers=2, final_norm=True, target_vocabulary=vocabulary,
                    source_vocabulary=vocabulary if case["tying"] == "all" else 11)
    return defaults | case


def draw_weights(module, seed):
    """f32 values held in f64; no bias is zero and no norm's weight is one, so that every term counts."""
    draw = np.random.default_rng(seed)
    module.double().train()
    with torch.no_grad():
        for name, p in module.named_parameters():
            values = draw.standard_normal(tuple(p.shape))
            if p.dim() > 1:
                values *= p.shape[1] ** -0.5
            else:
                values = 0.1 * values + (1 if "norm" in name and name.endswith("weight") else 0)
            p.copy_(torch.from_numpy(values.astype(np.float32)))


def f32_values(seed, *shape):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32)).double()


def write(group, name, value, dtype=np.float64):
    value = value.detach().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
    group.create_dataset(name, data=value.astype(dtype), track_times=False)


def write_parameters(group, prefixed_modules, **kinds):
    """Names and sizes, and for each kind one vector of all parameters end to end: 64 small datasets would be mostly
    headers. A tied table appears under each of its names."""
    named = [(prefix + name, p) for prefix, module in prefixed_modules.items()
             for name, p in module.named_parameters(remove_duplicate=False)]
    group.create_dataset("parameter_names", data=np.array([name.encode() for name, _ in named]), track_times=False)
    write(group, "parameter_sizes", [p.numel() for _, p in named], np.int32)
    for kind, value_of in kinds.items():
        write(group, kind, torch.cat([value_of(p).detach().flatten() for _, p in named]),
              np.float32 if kind == "weights" else np.float64)


def write_attributes(group, values):
    group.attrs.update({name: int(v) if isinstance(v, bool) else v for name, v in values.items()})


def write_batch(group, batch):
    write(group, "source", [i for s, _ in batch for i in s], np.int32)
    write(group, "source_lengths", [len(s) for s, _ in batch], np.int32)
    write(group, "target", [i for _, t in batch for i in t], np.int32)
    write(group, "target_lengths", [len(t) for _, t in batch], np.int32)


def real_rows(padded_rows, lengths):
    return torch.cat([rows[:n] for rows, n in zip(padded_rows, lengths)])


def open_file(name):
    return h5py.File(FOLDER / name, "w", libver=("v108", "v110"))


def write_transformers():
    for norm in ("post", "pre"):
        with open_file(f"{norm}_norm.h5") as file:
            for seed, (name, case) in enumerate(CASES.items()):
                if case["norm"] == norm:
                    write_case(file.create_group(name), full_config(case), BATCHES[0], seed)


def write_variants():
    defaults = dict(width=16, heads=4, feed_forward=12, layers=1, bias_attention=True, bias_feed_forward=True,
                    bias_output=False)
    with open_file("variants.h5") as file:
        for seed, (name, case) in enumerate(VARIANTS.items()):
            write_case(file.create_group(name), full_config(defaults | case), BATCHES[0], 50 + seed, Variant)


def write_case(group, c, batch, seed, model_of=Model):
    model = model_of(c)
    draw_weights(model, seed)
    memory, hidden, logits = model(batch)
    loss, row_nll = losses(logits, batch)
    (loss / num_target_tokens(batch)).backward()
    write_attributes(group, c | dict(smoothing=SMOOTHING))
    write_batch(group, batch)
    write_parameters(group, {"": model}, weights=lambda p: p, gradients=lambda p: p.grad)  # of loss / target tokens
    source_lengths, target_lengths = [len(s) + 1 for s, _ in batch], [len(t) + 1 for _, t in batch]
    write(group, "encoder_output", real_rows(memory, source_lengths))
    write(group, "decoder_output", real_rows(hidden, target_lengths))
    write(group, "logits", real_rows(logits, target_lengths))
    write(group, "row_nll", row_nll)
    write(group, "loss", [loss.item()])  # sums over the target tokens
    write(group, "nll", [row_nll.sum().item()])


def write_weighted_pairs():
    """Of four pairs, one has weight 0. Losses are means weighted by the pair of each target token."""
    batch, pair_weights = BATCHES[0], [0.25, 3.0, 0.0, 1.5]
    c = full_config(CASES["pre_gelu"])
    with open_file("weighted_pairs.h5") as file:
        group = file.create_group("pre_gelu")
        model = Model(c)
        draw_weights(model, 60)
        logits = model(batch)[2].flatten(0, 1)
        targets = padded([t + [EOS] for _, t in batch], IGNORED).flatten()
        row_weights = torch.tensor(pair_weights, dtype=torch.float64).repeat_interleave(len(targets) // len(batch))
        weights = row_weights * (targets != IGNORED)
        loss = (weights * smoothed_cross_entropy(logits, targets, SMOOTHING, reduction="none")).sum()
        nll = (weights * F.cross_entropy(logits, targets, ignore_index=IGNORED, reduction="none")).sum()
        (loss / weights.sum()).backward()
        write_attributes(group, c | dict(smoothing=SMOOTHING))
        write_batch(group, batch)
        write(group, "pair_weights", pair_weights)
        write_parameters(group, {"": model}, weights=lambda p: p, gradients=lambda p: p.grad)  # of loss / weight
        write(group, "loss", [loss.item()])  # sums over the target tokens
        write(group, "nll", [nll.item()])


def philox(seed, group, step, purpose):
    """Four words of Philox 4x32-10 (Salmon et al. 2011), as in tensor/random.h."""
    counter, key = [group & 0xFFFFFFFF, group >> 32, step, purpose], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [second >> 32 ^ counter[1] ^ key[0], second & 0xFFFFFFFF, first >> 32 ^ counter[3] ^ key[1],
                   first & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def purpose_of(name):  # 32-bit FNV-1a
    value = 2166136261
    for c in name.encode():
        value = (value ^ c) * 16777619 & 0xFFFFFFFF
    return value


def kept(seed, purpose, lengths, width, rate):
    """1 for each element of block 0 that dropout keeps in step 3, otherwise 0. Weft lays the sentences end to end, and
    eight elements share the words of a group."""
    threshold = round(rate * 65536)

    def bits(index):
        return philox(seed, index // 8, 3, purpose_of(purpose))[index % 8 // 2] >> 16 * (index % 2) & 0xFFFF

    elements = [float(bits(i) >= threshold) for i in range(sum(lengths) * width)]
    rows = torch.tensor(elements, dtype=torch.float64).reshape(-1, width).split(lengths)
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


def divergence(p, q):  # KL(p || q) of each row of logits
    p, q = F.log_softmax(p, dim=-1), F.log_softmax(q, dim=-1)
    return (p.exp() * (p - q)).sum(dim=-1)


def write_consistency():
    """Losses of two passes, simcut and rdrop of docs/model.md, for block 0 and step 3 of a run with seed 7. The weights
    are not the defaults."""
    batch, seed, rate = BATCHES[0], 7, 0.25
    words = philox(seed, 0, 0, purpose_of("consistency"))
    seeds = [seed, words[1] << 32 | words[0]]  # of the first and the second pass
    lengths = dict(source=[len(s) + 1 for s, _ in batch], target=[len(t) + 1 for _, t in batch])
    targets = padded([t + [EOS] for _, t in batch], IGNORED).flatten()
    real = targets != IGNORED
    c = full_config(CASES["pre_relu"])
    with open_file("consistency.h5") as file:
        for kind, weight in (("simcut", 2.0), ("rdrop", 3.0)):
            model = Model(c)
            draw_weights(model, 70)
            logits = []
            for i in range(2):
                for side in ("source", "target"):
                    if kind == "rdrop":
                        mask = kept(seeds[i], f"{side}_embedding.dropout", lengths[side], c["width"], rate)
                        model.dropout[side] = mask / (1 - rate)
                    elif i == 1:
                        model.kept_tokens[side] = kept(seeds[1], f"{side}_embedding.cut", lengths[side], 1, rate)
                logits.append(model(batch)[2].flatten(0, 1)[real])
            p, q = logits
            entropies = [smoothed_cross_entropy(x, targets[real], SMOOTHING) for x in logits]
            nlls = [F.cross_entropy(x, targets[real], reduction="sum") for x in logits]
            if kind == "simcut":
                extra, loss, nll = weight * divergence(p, q).sum(), entropies[0], nlls[0]
            else:
                extra = weight / 4 * (divergence(p, q) + divergence(q, p)).sum()
                loss, nll = sum(entropies) / 2, sum(nlls) / 2
            ((loss + extra) / num_target_tokens(batch)).backward()
            group = file.create_group(kind)
            write_attributes(group, c | dict(smoothing=SMOOTHING, consistency=kind, weight=weight, rate=rate,
                                             dropout_embedding=rate if kind == "rdrop" else 0.0))
            write_batch(group, batch)
            write_parameters(group, {"": model}, weights=lambda p: p, gradients=lambda p: p.grad)
            for name, value in (("loss", loss + extra), ("nll", nll), ("divergence", extra)):
                write(group, name, [value.item()])  # sums over the target tokens


def write_layers():
    """One layer of width 4, 2 heads, feed-forward 8: small enough to follow by hand."""
    width, source_lengths, target_lengths = 4, [3, 2], [2, 4]
    with open_file("layers.h5") as file:
        for name, norm, activation in (("post_relu", "post", "relu"), ("pre_gelu", "pre", "gelu")):
            group = file.create_group(name)
            options = dict(dropout=0.0, activation=activation, norm_first=norm == "pre", batch_first=True)
            encoder = nn.TransformerEncoderLayer(width, 2, 8, **options)
            decoder = nn.TransformerDecoderLayer(width, 2, 8, **options)
            draw_weights(encoder, 20)
            draw_weights(decoder, 21)

            def leaf(seed, lengths):
                rows = f32_values(seed, sum(lengths), width).requires_grad_()
                return rows, nn.utils.rnn.pad_sequence(rows.split(lengths), batch_first=True)

            padding = padded([[False] * n for n in source_lengths], True)
            x, x_padded = leaf(22, source_lengths)
            y = real_rows(encoder(x_padded, src_key_padding_mask=padding), source_lengths)
            d_y = f32_values(23, *y.shape)
            y.backward(d_y)

            memory, memory_padded = leaf(24, source_lengths)
            target, target_padded = leaf(25, target_lengths)
            z = real_rows(decoder(target_padded, memory_padded, tgt_mask=causal_mask(max(target_lengths)),
                                  memory_key_padding_mask=padding), target_lengths)
            d_z = f32_values(26, *z.shape)
            z.backward(d_z)

            write_attributes(group, dict(width=width, heads=2, feed_forward=8, layers=1, norm=norm,
                                         activation=activation, tying="none", bias_output=False, final_norm=False,
                                         source_vocabulary=3, target_vocabulary=3))
            write(group, "source_lengths", source_lengths, np.int32)
            write(group, "target_lengths", target_lengths, np.int32)
            for kind, value in (("encoder/x", x), ("encoder/d_y", d_y), ("decoder/x", target),
                                ("decoder/memory", memory), ("decoder/d_y", d_z)):
                write(group, kind, value, np.float32)
            for kind, value in (("encoder/y", y), ("encoder/d_x", x.grad), ("decoder/y", z),
                                ("decoder/d_x", target.grad), ("decoder/d_memory", memory.grad)):
                write(group, kind, value)
            write_parameters(group, {"encoder.layers.0.": encoder, "decoder.layers.0.": decoder}, weights=lambda p: p,
                             gradients=lambda p: p.grad)


def inverse_sqrt_rate(step, lr, warmup):  # step 0, 1, ...
    return lr * min((step + 1) / warmup, math.sqrt(warmup / (step + 1)))


def write_training():
    """Ten steps over three batches in turn, with warm-up and clipping; Adam, and AdamW whose decay spares biases and
    norms."""
    c = full_config(dict(norm="pre", activation="gelu", tying="all", bias_output=False, layers=1))
    options = dict(beta1=0.9, beta2=0.98, eps=1e-9, clip_norm=1.0, lr=0.02, warmup=4, steps=10)
    with open_file("training.h5") as file:
        for i, batch in enumerate(BATCHES):
            write_batch(file.create_group(f"batch_{i}"), batch)
        for name, decay in (("adam", 0.0), ("adamw", 0.1)):
            group = file.create_group(name)
            write_attributes(group, c | options | dict(weight_decay=decay, smoothing=SMOOTHING))
            model = Model(c)
            draw_weights(model, 30)
            initial = {p: p.detach().clone() for p in model.parameters()}
            common = dict(lr=0.0, betas=(options["beta1"], options["beta2"]), eps=options["eps"])
            matrices, others = ([p for p in model.parameters() if (p.dim() > 1) == wanted] for wanted in (True, False))
            optimizer = torch.optim.Adam(model.parameters(), **common) if decay == 0 else torch.optim.AdamW(
                [dict(params=matrices, weight_decay=decay), dict(params=others, weight_decay=0.0)], **common)
            step_losses, norms = [], []
            for step in range(options["steps"]):
                batch = BATCHES[step % len(BATCHES)]
                for parameters in optimizer.param_groups:
                    parameters["lr"] = inverse_sqrt_rate(step, options["lr"], options["warmup"])
                optimizer.zero_grad()
                loss = losses(model(batch)[2], batch)[0] / num_target_tokens(batch)
                loss.backward()
                norms.append(nn.utils.clip_grad_norm_(model.parameters(), options["clip_norm"]).item())
                optimizer.step()
                step_losses.append(loss.item())
            write(group, "losses", step_losses)
            write(group, "grad_norms", norms)
            write_parameters(group, {"": model}, weights=lambda p: initial[p], final_weights=lambda p: p)


def write_formulas():
    """Scalar formulas in f64. Adam's constants are f32 values, because Weft's are."""
    with open_file("formulas.h5") as file:
        x = torch.linspace(-6, 6, 121, dtype=torch.float64, requires_grad=True)
        y = F.gelu(x)
        y.sum().backward()
        for name, value in (("x", x), ("y", y), ("derivative", x.grad)):
            write(file, f"gelu/{name}", value)

        logits = (3 * f32_values(40, 7, 11)).requires_grad_()
        targets = torch.arange(7) * 3 % 11
        loss = smoothed_cross_entropy(logits, targets, SMOOTHING, reduction="none")
        loss.sum().backward()
        nll = F.cross_entropy(logits, targets, reduction="none")
        for name, value in (("logits", logits), ("loss", loss), ("nll", nll), ("gradient", logits.grad)):
            write(file, f"cross_entropy/{name}", value)
        write(file, "cross_entropy/targets", targets, np.int32)

        options = dict(lr=2.0**-7, beta1=0.875, beta2=0.984375, eps=2.0**-30, weight_decay=0.125)
        p, gradients = f32_values(41, 5), f32_values(42, 10, 5)
        optimizer = torch.optim.AdamW([p], lr=options["lr"], betas=(options["beta1"], options["beta2"]),
                                      eps=options["eps"], weight_decay=options["weight_decay"])
        history = [p.clone()]
        for g in gradients:
            p.grad = g
            optimizer.step()
            history.append(p.clone())
        group = file.create_group("adam")
        write_attributes(group, options)
        write(group, "gradients", gradients)
        write(group, "params", torch.stack(history))


if __name__ == "__main__":
    torch.set_num_threads(1)
    write_transformers()
    write_variants()
    write_weighted_pairs()
    write_consistency()
    write_layers()
    write_training()
    write_formulas()
