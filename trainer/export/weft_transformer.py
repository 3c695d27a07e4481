"""A Weft model in PyTorch, written by `weft export --format pytorch` with weights, configuration and tokenizers.

    python FOLDER/weft_transformer.py < SOURCE > TRANSLATION        (greedy search)

WeftTransformer is nn.Transformer with embeddings and an output layer. Translator adds tokenization (sentencepiece). The
full decoder pass is repeated for each token, so use this module for checks and as a starting point, not for serving.
"""
import functools
import json
import math
import pathlib
import sys

import torch
from torch import nn

BOS, EOS, NOTHING, ZERO = 1, 2, -1, -2  # NOTHING pads sentences after their end; the embedding of ZERO is 0


def gelu_sigmoid(x):
    return x * torch.sigmoid(1.702 * x)


ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": nn.functional.silu,
               "gelu_sigmoid": gelu_sigmoid,
               # No nn.GELU("tanh"): the fast path of PyTorch's encoder would compute the exact function.
               "gelu_tanh": functools.partial(nn.functional.gelu, approximate="tanh")}


class WeftTransformer(nn.Transformer):
    """Ids are [sentences, length], padded with -1. Sources end with eos, and targets start with the start token."""

    def __init__(self, source_vocabulary, target_vocabulary, width, heads, feed_forward, encoder_layers, decoder_layers,
                 norm="post", norm_eps=1e-5, final_norm=False, activation="relu", bias_output=False, tying="all",
                 scale_embeddings=True, positions="interleaved", position_offset=0, max_positions=1024):
        block = dict(d_model=width, nhead=heads, dim_feedforward=feed_forward, dropout=0.0, batch_first=True,
                     activation=ACTIVATIONS[activation], norm_first=norm == "pre", layer_norm_eps=norm_eps)
        norms = [nn.LayerNorm(width, norm_eps) if final_norm else None for _ in range(2)]  # not PyTorch's default
        super().__init__(width, heads, batch_first=True, custom_encoder=nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**block), encoder_layers, norms[0], enable_nested_tensor=False),
            custom_decoder=nn.TransformerDecoder(nn.TransformerDecoderLayer(**block), decoder_layers, norms[1]))
        self.source_embedding = nn.Embedding(source_vocabulary, width)
        self.target_embedding = nn.Embedding(target_vocabulary, width)
        self.output = nn.Linear(width, target_vocabulary, bias=bias_output)
        if tying != "none":
            self.output.weight = self.target_embedding.weight
        if tying == "all":
            self.source_embedding.weight = self.target_embedding.weight
        if positions == "learned":
            self.source_positions = nn.Embedding(max_positions, width)
            self.target_positions = nn.Embedding(max_positions, width)
        self.scale = math.sqrt(width) if scale_embeddings else 1.0
        self.layout, self.first, self.width, self.longest = positions, position_offset, width, max_positions - 1

    def sinusoids(self, length):
        pairs = self.width // 2 if self.layout == "tensor2tensor" else (self.width + 1) // 2
        divisor = max(pairs - 1, 1) if self.layout == "tensor2tensor" else self.width / 2
        rates = torch.exp(-math.log(10000) * torch.arange(pairs, dtype=torch.float64) / divisor)
        angles = torch.outer(torch.arange(length) + self.first, rates)
        if self.layout == "interleaved":
            table = torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)
        else:
            table = nn.functional.pad(torch.cat([angles.sin(), angles.cos()], dim=1), (0, 1))
        return table[:, :self.width].float()

    def embed(self, ids, table, learned):
        positions = learned.weight[:ids.shape[1]] if learned is not None else self.sinusoids(ids.shape[1])
        rows = table(ids.clamp(min=0)) * (self.scale * (ids >= 0)[..., None]).to(table.weight)
        return rows + positions.to(table.weight)

    def embed_source(self, ids):
        return self.embed(ids, self.source_embedding, getattr(self, "source_positions", None))

    def embed_target(self, ids):
        return self.embed(ids, self.target_embedding, getattr(self, "target_positions", None))

    @staticmethod
    def causal(ids):
        return torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool, device=ids.device).triu(1)

    def forward(self, source, target):  # maps ids to logits [sentences, length, vocabulary]
        hidden = super().forward(self.embed_source(source), self.embed_target(target), tgt_mask=self.causal(target),
                                 src_key_padding_mask=source == NOTHING,
                                 memory_key_padding_mask=source == NOTHING, tgt_key_padding_mask=target == NOTHING)
        return self.output(hidden)

    @torch.no_grad()
    def greedy(self, source, prefix, longest):
        """Returns up to longest[i] tokens of sentence i after the start tokens `prefix`, without eos and bos."""
        memory = self.encoder(self.embed_source(source), src_key_padding_mask=source == NOTHING)
        target = torch.tensor([prefix] * len(source), device=source.device)
        found, rows = [[] for _ in longest], torch.arange(len(longest))
        going = torch.tensor(longest) > 0
        while going.any():
            rows, source, memory, target = [x[going] for x in (rows, source, memory, target)]
            hidden = self.decoder(self.embed_target(target), memory, tgt_mask=self.causal(target),
                                  memory_key_padding_mask=source == NOTHING)
            logits = self.output(hidden[:, -1])
            logits[:, BOS] = -math.inf
            best = logits.argmax(1)
            target = torch.cat([target, best[:, None]], dim=1)
            going = []
            for row, token in zip(rows.tolist(), best.tolist()):
                found[row] += [token] if token != EOS else []
                going.append(token != EOS and len(found[row]) < longest[row])
            going = torch.tensor(going)
        return found


def read_weights(path):  # reads a safetensors file in F32, as written by weft export
    data = bytearray(pathlib.Path(path).read_bytes())
    begin = 8 + int.from_bytes(data[:8], "little")
    tensors = json.loads(data[8:begin])
    tensors.pop("__metadata__", None)
    return {name: torch.frombuffer(data, dtype=torch.float32, count=math.prod(t["shape"]),
                                   offset=begin + t["data_offsets"][0]).view(t["shape"]) for name, t in tensors.items()}


class Translator:
    """Translates with an exported folder. Tags are tokenizer entries that are put in front of every sentence."""

    def __init__(self, folder, device="cpu"):
        import sentencepiece
        folder = pathlib.Path(folder)
        config = json.loads((folder / "config.json").read_text())
        self.device, self.decode = device, config["decode"]
        self.start = config["special_ids"]["start"] if config["special_ids"]["start"] >= 0 else ZERO
        self.model = WeftTransformer(**config["model"])
        self.model.load_state_dict(read_weights(folder / "model.safetensors"))  # strict: checks all names and shapes
        self.model.eval().to(device)
        joint = folder / "tokenizer.model"
        files = [joint, joint] if joint.exists() else [folder / "source.model", folder / "target.model"]
        self.source, self.target = [sentencepiece.SentencePieceProcessor(model_file=str(f)) for f in files]

    def batch(self, rows):
        rows = [torch.tensor(row) for row in rows]
        return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=NOTHING).to(self.device)

    def sources(self, texts, tags):
        prefix = [self.source.piece_to_id(tag) for tag in tags]
        return self.batch([(prefix + ids)[:self.model.longest] + [EOS] for ids in texts])

    def translate(self, lines, longest=None, tags=(), target_tags=(), size=64):
        """Translates `size` lines at a time. `longest` is the maximum number of tokens; default: as in config.json."""
        prefix = [self.target.piece_to_id(tag) for tag in target_tags]
        factor, extra = (0, longest) if longest else (self.decode["max_length_factor"], self.decode["max_length_extra"])
        texts = []
        for first in range(0, len(lines), size):
            ids = self.source.encode(lines[first:first + size])
            limits = [min(int(factor * len(i)) + extra, self.model.longest - len(prefix)) if i else 0 for i in ids]
            texts += self.target.decode(self.model.greedy(self.sources(ids, tags), [self.start, *prefix], limits))
        return texts

    @torch.no_grad()
    def log_probs(self, lines, translations, tags=(), target_tags=(), size=64):
        """Returns the natural logarithms of the translations' probabilities, including eos, given the tags."""
        prefix, sums = [self.target.piece_to_id(tag) for tag in target_tags], []
        for first in range(0, len(lines), size):
            source = self.sources(self.source.encode(lines[first:first + size]), tags)
            targets = self.target.encode(translations[first:first + size])
            logits = self.model(source, self.batch([[self.start, *prefix, *ids] for ids in targets]))
            wanted = self.batch([ids + [EOS] for ids in targets])
            rows = logits[:, len(prefix):].double().log_softmax(-1).gather(2, wanted.clamp(min=0)[..., None])[..., 0]
            sums += rows.masked_fill(wanted < 0, 0).sum(1).tolist()
        return sums


if __name__ == "__main__":
    for translation in Translator(pathlib.Path(__file__).parent).translate([line.rstrip("\n") for line in sys.stdin]):
        print(translation)
