"""The model in PyTorch, twice: as nn.Transformer, and the same parameters with a faster forward.

Runs on PyTorch 1.13 and newer. Both return the summed loss of the real target tokens, with dropout in Weft's places.
"""
import math
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional as F

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "trainer/export"))

from weft_transformer import NOTHING, WeftTransformer


class Batch:
    """Ids of some pairs, padded; a mask only where a source has padding. `rows`: the real rows of the flat targets."""

    def __init__(self, sources, targets, bos=1, eos=2):
        pad = nn.utils.rnn.pad_sequence
        self.source = pad([torch.tensor(s + [eos]) for s in sources], batch_first=True, padding_value=NOTHING)
        self.target = pad([torch.tensor([bos] + t) for t in targets], batch_first=True, padding_value=NOTHING)
        wanted = pad([torch.tensor(t + [eos]) for t in targets], batch_first=True, padding_value=NOTHING).flatten()
        self.rows = (wanted >= 0).nonzero().flatten()
        self.wanted = wanted[self.rows]
        self.num_target, self.num_source = len(self.rows), int((self.source >= 0).sum())
        self.mask = (self.source >= 0)[:, None, None, :] if self.num_source < self.source.numel() else None

    def to(self, device):
        for name, value in vars(self).items():
            if isinstance(value, torch.Tensor):
                setattr(self, name, value.to(device))
        return self


class Reference(WeftTransformer):
    """nn.Transformer itself, with the loss."""

    def set_dropout(self, residual, attention, feed_forward, embedding):
        for module in self.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = attention
            if isinstance(module, (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)):
                module.dropout.p = feed_forward
                for name in ("dropout1", "dropout2", "dropout3"):
                    if hasattr(module, name):
                        getattr(module, name).p = residual
        self.rates = dict(residual=residual, attention=attention, feed_forward=feed_forward, embedding=embedding)
        self.register_buffer("positions", self.sinusoids(512), persistent=False)
        return self

    def start(self):
        """Weft's initial values: Glorot and Bengio's for matrices, N(0, 1 / width) for embeddings, no biases."""
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)
        nn.init.normal_(self.target_embedding.weight, std=self.width**-0.5)
        return self

    def embed(self, ids, table, _):
        x = F.embedding(ids.clamp(min=0), table.weight) * self.scale + self.positions[:ids.shape[1]]
        return self.dropout(x, "embedding")

    def dropout(self, x, place):
        return F.dropout(x, self.rates[place], self.training)

    def loss(self, source, target, mask, rows, wanted, smoothing):
        return self.loss_of(super().forward(source, target).flatten(0, 1)[rows], wanted, smoothing)

    def loss_of(self, logits, wanted, smoothing):
        vocabulary = logits.shape[1]  # PyTorch spreads over all entries, Weft over all but the target
        return F.cross_entropy(logits.float(), wanted, reduction="sum",
                               label_smoothing=smoothing * vocabulary / (vocabulary - 1))


class Lean(Reference):
    """Fused projections, no mask where nothing is padded, the output projection on real rows alone."""

    attention = "sdpa"  # or "products": two batched matmuls with a softmax between them

    def heads(self, x, parts):
        batch, length, _ = x.shape
        return x.view(batch, length, parts, self.nhead, -1).permute(2, 0, 3, 1, 4).unbind(0)

    def attend(self, q, k, v, mask, causal):
        rate = self.rates["attention"] if self.training else 0.0
        if self.attention == "sdpa":
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=rate, is_causal=causal)
        else:
            scores = torch.matmul(q * q.shape[-1]**-0.5, k.transpose(-1, -2))
            if causal:
                hidden = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).triu(1)
                scores = scores.masked_fill(hidden, -math.inf)
            elif mask is not None:
                scores = scores.masked_fill(~mask, -math.inf)
            y = torch.matmul(F.dropout(F.softmax(scores, -1), rate).to(v.dtype), v)
        return y.transpose(1, 2).flatten(2)

    def self_attention(self, x, a, mask, causal):
        q, k, v = self.heads(F.linear(x, a.in_proj_weight, a.in_proj_bias), 3)
        return self.dropout(a.out_proj(self.attend(q, k, v, mask, causal)), "residual")

    def cross_attention(self, x, memory, a, mask):
        width = self.width
        q, = self.heads(F.linear(x, a.in_proj_weight[:width], a.in_proj_bias[:width]), 1)
        k, v = self.heads(F.linear(memory, a.in_proj_weight[width:], a.in_proj_bias[width:]), 2)
        return self.dropout(a.out_proj(self.attend(q, k, v, mask, False)), "residual")

    def feed_forward(self, x, layer):
        return self.dropout(layer.linear2(self.dropout(F.relu(layer.linear1(x)), "feed_forward")), "residual")

    def loss(self, source, target, mask, rows, wanted, smoothing):
        memory = self.embed(source, self.source_embedding, None)
        for layer in self.encoder.layers:
            memory = layer.norm1(memory + self.self_attention(memory, layer.self_attn, mask, False))
            memory = layer.norm2(memory + self.feed_forward(memory, layer))
        x = self.embed(target, self.target_embedding, None)
        for layer in self.decoder.layers:  # padding follows all real target rows, so the causal mask suffices
            x = layer.norm1(x + self.self_attention(x, layer.self_attn, None, True))
            x = layer.norm2(x + self.cross_attention(x, memory, layer.multihead_attn, mask))
            x = layer.norm3(x + self.feed_forward(x, layer))
        return self.loss_of(self.output(x.flatten(0, 1)[rows]), wanted, smoothing)


def new_model(spec, lean):
    model = (Lean if lean else Reference)(
        spec["vocabulary"], spec["vocabulary"], width=spec["width"], heads=spec["heads"],
        feed_forward=spec["feed_forward"], encoder_layers=spec["layers"], decoder_layers=spec["layers"])
    return model.set_dropout(**spec["dropout"]).start()


def self_check():
    """Without dropout both classes give the same loss and the same gradients, with and without padding."""
    spec = dict(vocabulary=30, width=16, heads=2, feed_forward=24, layers=2,
                dropout=dict.fromkeys(("residual", "attention", "feed_forward", "embedding"), 0.0))
    torch.manual_seed(1)
    models = [new_model(spec, lean=False), new_model(spec, lean=True), new_model(spec, lean=True)]
    models[2].attention = "products"
    if not hasattr(F, "scaled_dot_product_attention"):
        models.pop(1)
    for sources, targets in (([[5, 6], [7, 8, 9, 10]], [[4, 3, 9], [5]]), ([[5, 6], [7, 8]], [[4, 3], [5, 9]])):
        batch, results = Batch(sources, targets), []
        for model in models:
            model.load_state_dict(models[0].state_dict())
            model.zero_grad()
            loss = model.loss(batch.source, batch.target, batch.mask, batch.rows, batch.wanted, 0.1)
            loss.backward()
            results.append([loss.detach(), *(p.grad for p in model.parameters())])
        for other in results[1:]:
            for a, b in zip(results[0], other):
                torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
