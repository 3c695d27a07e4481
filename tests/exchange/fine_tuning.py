"""fine_tuning.py WEFT SOURCE TARGET FOLDER: fine-tuning of imported models equals PyTorch's.

Takes ten steps of Adam with an imported MarianMTModel and an NLLB-shaped model: with frozen tables, and with low-rank
adapters (against peft, which then also loads and saves them). Compares losses (relative) and weights (relative to the largest of each tensor) on four grids.
The corpus is one long pair, so that every block contains the same mean loss, however many copies of it fit.
"""
import copy
import json
import pathlib
import sys

import peft
import safetensors.torch
import torch

from foreign_models import KINDS, run

TOLERANCE, STEPS, RATE, RANK, ALPHA = 1e-5, 10, 1e-3, 4, 6
EPS = 1e-6  # of Adam: smaller ones turn the rounding errors of tiny gradients into steps
GRIDS = [(1, 1), (2, 1), (1, 2), (2, 2)]
TARGETS = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "out": "out_proj", "up": "fc1", "down": "fc2"}
NO_DROPOUT = [f"--model.dropout{site}=0" for site in ("", "_embedding", "_residual", "_attention", "_feed_forward")]


def without_dropout(model):  # nor whole layers that are dropped
    for module in model.modules():
        for rate in ("dropout", "activation_dropout", "attention_dropout", "layerdrop"):
            if isinstance(getattr(module, rate, None), float):
                setattr(module, rate, 0.0)
    return model.train()


def tensors_of(checkpoint):
    (folder,) = pathlib.Path(checkpoint).glob("step-*/model.safetensors")
    return safetensors.torch.load_file(folder)


def layer_of_peft(name):
    """decoder.0.cross_attention.kv.k -> model.decoder.layers.0.encoder_attn.k_proj"""
    side, layer, sublayer, *rest = name.split(".")
    part = TARGETS[rest[-1]]
    place = {"self_attention": "self_attn.", "cross_attention": "encoder_attn.", "feed_forward": ""}[sublayer]
    return f"model.{side}.layers.{layer}.{place}{part}"


class Weft:
    def __init__(self, weft, kind, theirs, folder, source, target):
        self.weft, self.folder, self.imported = weft, folder, folder / "imported"
        theirs.model.save_pretrained(folder)
        run(weft, "import", "--from", folder, "--output", self.imported)
        for side, line in (("source", source), ("target", target)):
            (folder / side).write_text(line + "\n")
        run(weft, "pack", "--source", folder / "source", "--target", folder / "target", "--tokenizer", self.imported,
            "--output", folder / "packed", "--quiet", *theirs.options)

    def train(self, output, *options, dp=1, tp=1, steps=STEPS, rate=RATE):
        run(self.weft, "launch", "-n", dp * tp, "train", "--config", self.imported / "step-00000000/config.cfg",
            f"--train.init={self.imported}", f"--data.train={self.folder / 'packed'}", f"--train.output={output}",
            f"--parallel.dp={dp}", f"--parallel.tp={tp}", f"--train.steps={steps}", f"--schedule.lr={rate}",
            "--schedule.kind=constant", "--schedule.warmup=0", "--batch.rows=512", "--batch.blocks=2",
            "--optimizer.clip_norm=0", f"--optimizer.eps={EPS}", "--train.precision=f32", "--train.ema=0",
            "--train.tensorboard=false", "--data.valid=", "--train.keep_best=loss", *NO_DROPOUT, *options)
        records = [json.loads(line) for line in (output / "log.jsonl").read_text().splitlines()]
        return [record["loss"] for record in records if "lr" in record]


def steps_of(model, source, target, start):
    """Losses of ten steps of PyTorch."""
    adam = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=RATE, betas=(0.9, 0.98), eps=EPS)
    entries = model.get_output_embeddings().weight.shape[0]
    # Weft gives 0.1 to all entries but the correct one, and PyTorch to all.
    loss_of = torch.nn.CrossEntropyLoss(label_smoothing=0.1 * entries / (entries - 1))
    losses = []
    for _ in range(STEPS):
        logits = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([[start, *target[:-1]]])).logits
        loss = loss_of(logits[0], torch.tensor(target))
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    return losses


def freeze_tables(model):
    for name, parameter in model.named_parameters():
        if "shared" in name or "embed" in name or "lm_head" in name:
            parameter.requires_grad = False
    return model


def adapted(model, initial):
    options = peft.LoraConfig(r=RANK, lora_alpha=ALPHA, lora_dropout=0.0, target_modules=list(TARGETS.values()))
    wrapped = peft.get_peft_model(model, options)
    parameters = dict(wrapped.named_parameters())
    for name, values in initial.items():
        base, which = name.rsplit(".lora_", 1)
        theirs = parameters[f"base_model.model.{layer_of_peft(base)}.lora_{which.upper()}.default.weight"]
        theirs.data = values.reshape(theirs.shape).clone()
    return wrapped


def compare(kind, method, weft, losses, wanted, options, merged):
    for dp, tp in GRIDS:
        output = weft.folder / f"{method}-{dp}x{tp}"
        found = weft.train(output, *options, dp=dp, tp=tp)
        loss = max(abs(a - b) / abs(b) for a, b in zip(found, losses, strict=True))
        if merged:
            run(weft.weft, "average", output, "--last", 1, "--output", weft.folder / f"{output.name}-merged")
            output = weft.folder / f"{output.name}-merged"
        else:
            output /= "checkpoints"
        worst = 0
        for name, values in tensors_of(output).items():
            # The gradient of a key's bias is 0, and Adam makes full steps of its rounding errors.
            rows = values.shape[0] - 2 if name.endswith(("qkv.bias", "kv.bias")) else None
            pairs = [(values, wanted[name])] if rows is None else [
                (values[i], wanted[name][i]) for i in range(values.shape[0]) if i != rows]
            worst = max(worst, *((a - b).abs().max().item() / b.abs().max().clamp(min=1).item() for a, b in pairs))
        print(f"{kind}, {method}, dp {dp} x tp {tp}: worst relative difference of {STEPS} losses {loss:.1e}, "
              f"of a weight {worst:.1e}", flush=True)
        if loss > TOLERANCE or worst > TOLERANCE:
            raise SystemExit(f"FAILED  {kind}, {method}")


def exchange(kind, theirs, weft):
    """Adapters that Weft has trained, in peft and back."""
    run_folder, there, back = weft.folder / "adapters-1x1", weft.folder / "peft", weft.folder / "peft-of-peft"
    run(weft.weft, "export", "--checkpoint", run_folder, "--format", "peft", "--output", there)
    loaded = peft.PeftModel.from_pretrained(copy.deepcopy(theirs.model), there)
    trained = tensors_of(run_folder / "checkpoints")
    parameters = dict(loaded.named_parameters())
    for name, values in trained.items():
        base, which = name.rsplit(".lora_", 1)
        found = parameters[f"base_model.model.{layer_of_peft(base)}.lora_{which.upper()}.default.weight"]
        if not torch.equal(found, values.reshape(found.shape)):
            raise SystemExit(f"FAILED  {kind}: {name} differs in peft")
    if loaded.peft_config["default"].lora_alpha != ALPHA or loaded.peft_config["default"].r != RANK:
        raise SystemExit(f"FAILED  {kind}: rank or alpha differ in peft")
    loaded.save_pretrained(back)
    run(weft.weft, "import", "--from", back, "--base", weft.imported, "--output", weft.folder / "back")
    returned = tensors_of(weft.folder / "back")
    if returned.keys() != trained.keys() or not all(torch.equal(returned[n], trained[n]) for n in trained):
        raise SystemExit(f"FAILED  {kind}: adapters that come back from peft differ")
    scores = [run(weft.weft, "score", "--checkpoint", checkpoint, "--source", weft.folder / "source", "--target",
                  weft.folder / "target", "--json", "--quiet", *theirs.options)
              for checkpoint in (run_folder, weft.folder / "back")]
    if scores[0] != scores[1]:
        raise SystemExit(f"FAILED  {kind}: scores of adapters that come back from peft differ")
    print(f"{kind}: {len(trained)} tensors of adapters are equal in peft, and equal when they come back", flush=True)


def main():
    weft_program, source, target, folder = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
    source_line, target_line = [" ".join(file.read_text().splitlines()[:6]) for file in (source, target)]
    for kind in ("MarianMTModel", "NLLB"):
        place = folder / kind
        place.mkdir(parents=True)
        theirs = KINDS[kind](place, source, target)
        weft = Weft(weft_program, kind, theirs, place, source_line, target_line)
        ids = theirs.source(source_line), [*theirs.forced, *theirs.target(target_line)]

        def trained(method, change, finish):
            model = change(without_dropout(copy.deepcopy(theirs.model)))
            losses = steps_of(model, *ids, theirs.start)
            there = place / f"torch-{method}"
            finish(model).eval().save_pretrained(there)
            for file in place.iterdir():
                if file.suffix in (".spm", ".model") or file.name in ("vocab.json", "tokenizer_config.json"):
                    (there / file.name).write_bytes(file.read_bytes())
            run(weft_program, "import", "--from", there, "--output", place / f"wanted-{method}")
            return losses, tensors_of(place / f"wanted-{method}")

        compare(kind, "frozen", weft, *trained("frozen", freeze_tables, lambda model: model),
                ["--train.freeze=*embedding.weight" + (",output.bias" if kind == "MarianMTModel" else "")],
                merged=False)
        lora = [f"--lora.rank={RANK}", f"--lora.alpha={ALPHA}", "--lora.targets=" + ",".join(TARGETS)]
        weft.train(place / "initial", *lora, steps=1, rate=0)
        initial = tensors_of(place / "initial/checkpoints")
        compare(kind, "adapters", weft,
                *trained("adapters", lambda model: adapted(model, initial), lambda model: model.merge_and_unload()),
                lora, merged=True)
        exchange(kind, theirs, weft)


main()
