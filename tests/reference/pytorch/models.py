"""tests/reference/pytorch/models.py: the models in PyTorch, and their losses, for parity.py.

`Model` is nn.Transformer between tables, `Variant` a model with options that nn.Transformer does not have. A batch is a
list of pairs (source tokens, target tokens).
"""
import math

import torch
from torch import nn
from torch.nn import functional as F

BOS, EOS, PAD, IGNORED = 1, 2, 0, -100
SMOOTHING = 0.1


def sinusoids(length, width):
    """Vaswani et al. 2017, 3.5: column 2i is sin(p / 10000^(2i/width)), column 2i + 1 the cosine of the same."""
    angle = torch.arange(length, dtype=torch.float64)[:, None] / 10000 ** (
        torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.stack([angle.sin(), angle.cos()], dim=2).reshape(length, width)


def padded(sentences, value):
    return nn.utils.rnn.pad_sequence([torch.tensor(s) for s in sentences], batch_first=True, padding_value=value)


def causal_mask(length):
    return torch.ones(length, length, dtype=torch.bool).triu(1)  # True: may not attend


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.kept_tokens, self.dropout = {}, {}  # for each side, factors of the embeddings, before and after positions
        width = c["width"]
        self.source_embedding = nn.Embedding(c["source_vocabulary"], width)
        self.target_embedding = nn.Embedding(c["target_vocabulary"], width)
        self.output = nn.Linear(width, c["target_vocabulary"], bias=c["bias_output"])
        transformer = nn.Transformer(width, c["heads"], c["layers"], c["layers"], c["feed_forward"], dropout=0.0,
                                     activation=c["activation"], norm_first=c["norm"] == "pre", batch_first=True)
        self.encoder, self.decoder = transformer.encoder, transformer.decoder
        if not c["final_norm"]:
            self.encoder.norm, self.decoder.norm = nn.Identity(), nn.Identity()
        if c["tying"] != "none":
            self.output.weight = self.target_embedding.weight
        if c["tying"] == "all":
            self.source_embedding.weight = self.target_embedding.weight

    def embed(self, side, ids):
        width, table = self.c["width"], getattr(self, side + "_embedding")
        x = table(ids) * math.sqrt(width) * self.kept_tokens.get(side, 1) + sinusoids(ids.shape[1], width)
        return x * self.dropout.get(side, 1)

    def forward(self, batch):
        source = padded([s + [EOS] for s, _ in batch], PAD)
        target_in = padded([[BOS] + t for _, t in batch], PAD)
        source_padding = padded([[False] * (len(s) + 1) for s, _ in batch], True)
        memory = self.encoder(self.embed("source", source), src_key_padding_mask=source_padding)
        hidden = self.decoder(self.embed("target", target_in), memory,
                              tgt_mask=causal_mask(target_in.shape[1]), memory_key_padding_mask=source_padding)
        return memory, hidden, self.output(hidden)


def variant_norm(c):
    """The usual eps: nn.LayerNorm's default; 1e-6 for RMSNorm, as in T5 and Llama."""
    return nn.LayerNorm(c["width"]) if c["norm_kind"] == "layer" else nn.RMSNorm(c["width"], eps=1e-6)


def rotated(x, halves):
    """Su et al. 2021, 3.4: pair i of a head's columns turns by position * 10000^(-2i/K). x: [sentences, heads, length,
    K]; the pairs are columns 2i and 2i + 1, or i and i + K/2. A complex number a pair."""
    length, size = x.shape[-2:]
    rates = 10000 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    turns = torch.polar(torch.ones(length, size // 2, dtype=torch.float64),
                        torch.arange(length, dtype=torch.float64)[:, None] * rates)
    pairs = x.unflatten(-1, (2, size // 2)).transpose(-1, -2) if halves else x.unflatten(-1, (size // 2, 2))
    turned = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * turns)
    return (turned.transpose(-1, -2) if halves else turned).flatten(-2)


class VariantAttention(nn.Module):
    def __init__(self, c, is_self):
        super().__init__()
        width, self.heads, self.positions = c["width"], c["heads"], c["positions"] if is_self else "none"
        self.kv_heads = c["kv_heads"] or self.heads
        kv_width = width // self.heads * self.kv_heads
        self.fused = is_self and self.kv_heads == self.heads
        bias = c["bias_attention"]
        if self.fused:
            self.qkv = nn.Linear(width, 3 * width, bias=bias)
        else:
            self.q, self.kv = nn.Linear(width, width, bias=bias), nn.Linear(width, 2 * kv_width, bias=bias)
        self.out = nn.Linear(width, width, bias=bias)
        self.norm = variant_norm(c)

    def forward(self, x, source, may_see):
        q, k, v = self.qkv(x).chunk(3, -1) if self.fused else (self.q(x), *self.kv(source).chunk(2, -1))
        q, k, v = (y.unflatten(-1, (heads, -1)).transpose(1, 2)
                   for y, heads in ((q, self.heads), (k, self.kv_heads), (v, self.kv_heads)))
        if self.positions.startswith("rotary"):
            q, k = (rotated(y, halves=self.positions == "rotary_halves") for y in (q, k))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=may_see[:, None], enable_gqa=True)
        return self.out(y.transpose(1, 2).flatten(2))


class VariantFeedForward(nn.Module):
    GATES = dict(glu=torch.sigmoid, geglu=F.gelu, swiglu=F.silu)  # Shazeer 2020

    def __init__(self, c):
        super().__init__()
        self.activation, bias = c["activation"], c["bias_feed_forward"]
        gated = self.activation in self.GATES
        self.up = nn.Linear(c["width"], c["feed_forward"] * (2 if gated else 1), bias=bias)
        self.down = nn.Linear(c["feed_forward"], c["width"], bias=bias)
        self.norm = variant_norm(c)

    def forward(self, x):
        if self.activation not in self.GATES:
            return self.down(getattr(F, self.activation)(self.up(x)))
        gate, value = self.up(x).chunk(2, -1)
        return self.down(self.GATES[self.activation](gate) * value)


class VariantBlock(nn.Module):
    def __init__(self, c, is_decoder):
        super().__init__()
        self.pre = c["norm"] == "pre"
        self.self_attention = VariantAttention(c, is_self=True)
        if is_decoder:
            self.cross_attention = VariantAttention(c, is_self=False)
        self.feed_forward = VariantFeedForward(c)

    def around(self, sublayer, x, *arguments):
        if self.pre:
            y = sublayer.norm(x)
            return x + sublayer(y, *(y if a is None else a for a in arguments))
        return sublayer.norm(x + sublayer(x, *(x if a is None else a for a in arguments)))

    def forward(self, x, may_see, encoder_output=None, may_see_source=None):
        x = self.around(self.self_attention, x, None, may_see)  # None: the sublayer's own input
        if encoder_output is not None:
            x = self.around(self.cross_attention, x, encoder_output, may_see_source)
        return self.around(self.feed_forward, x)


class Blocks(nn.Module):
    def __init__(self, c, is_decoder):
        super().__init__()
        self.blocks = [VariantBlock(c, is_decoder) for _ in range(c["layers"])]
        for i, block in enumerate(self.blocks):
            self.add_module(str(i), block)
        self.norm = variant_norm(c) if c["final_norm"] else None

    def forward(self, x, *arguments):
        for block in self.blocks:
            x = block(x, *arguments)
        return x if self.norm is None else self.norm(x)


class Variant(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c, self.tying = c, c["tying"]
        tables = {"none": ("source_embedding", "target_embedding"), "output": ("source_embedding", "target_embedding"),
                  "all": ("embedding",)}[self.tying]
        for name in tables:
            self.add_module(name, nn.Embedding(c["source_vocabulary" if name[0] == "s" else "target_vocabulary"],
                                               c["width"]))
        self.encoder, self.decoder = Blocks(c, is_decoder=False), Blocks(c, is_decoder=True)
        if self.tying == "none":
            self.output = nn.Linear(c["width"], c["target_vocabulary"], bias=c["bias_output"])

    def embed(self, side, ids):
        x = getattr(self, "embedding" if self.tying == "all" else side + "_embedding")(ids) * math.sqrt(self.c["width"])
        return x if self.c["positions"].startswith("rotary") else x + sinusoids(ids.shape[1], self.c["width"])

    def forward(self, batch):
        source = padded([s + [EOS] for s, _ in batch], PAD)
        target_in = padded([[BOS] + t for _, t in batch], PAD)
        real = ~padded([[False] * (len(s) + 1) for s, _ in batch], True)[:, None]  # [sentences, 1, keys]
        encoder_output = self.encoder(self.embed("source", source), real)
        hidden = self.decoder(self.embed("target", target_in), ~causal_mask(target_in.shape[1])[None], encoder_output,
                              real)
        if self.tying == "none":
            return encoder_output, hidden, self.output(hidden)
        table = self.embedding if self.tying == "all" else self.target_embedding
        return encoder_output, hidden, F.linear(hidden, table.weight)


def smoothed_cross_entropy(logits, targets, smoothing, reduction="sum"):
    """1 - e on the target and e / (V - 1) on each other entry. PyTorch spreads its e over all V entries, the target
    included, so ours is PyTorch's with e V / (V - 1)."""
    vocabulary = logits.shape[-1]
    return F.cross_entropy(logits, targets, ignore_index=IGNORED, reduction=reduction,
                           label_smoothing=smoothing * vocabulary / (vocabulary - 1))


def losses(logits, batch):
    targets = padded([t + [EOS] for _, t in batch], IGNORED).flatten()
    rows = logits.flatten(0, 1)
    return smoothed_cross_entropy(rows, targets, SMOOTHING), F.cross_entropy(
        rows, targets, ignore_index=IGNORED, reduction="none")[targets != IGNORED]


def num_target_tokens(batch):
    return sum(len(t) + 1 for _, t in batch)
