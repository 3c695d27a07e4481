"""huggingface_import.py WEFT SOURCE TARGET FOLDER: models of transformers' classes in Weft.

Makes small models, with tokenizers trained on the lines of SOURCE and TARGET, imports them, and compares
the log-probability of every target token (within 1e-5, relative) and translations with those of transformers.
Some lines are long, empty (only their scores are compared) or contain unknown characters. Ids follow the tokenizers'
definitions, because transformers 5 makes its tokenizers for NLLB and mBART from other files.
"""
import json
import math
import pathlib
import sys

import torch

from foreign_models import KINDS, long_line, run

TOLERANCE, LINES, LONGEST, STEPS, BATCH = 1e-5, 300, 60, 200, 32
WEIGHTS = {"MarianMTModel": "zip", "M2M100ForConditionalGeneration": "safetensors", "NLLB": "old file",
           "MBartForConditionalGeneration": "safetensors"}
SEARCHES = {
    "greedy": (1, {"weft": [], "theirs": {}}),
    "beam 4": (4, {"weft": [], "theirs": {}}),  # with the length penalty of transformers, 1
    "beam 4, early stopping, length penalty 0.5": (4, {
        "weft": ["--beam-kind", "first", "--length-penalty", 0.5],
        "theirs": {"early_stopping": True, "length_penalty": 0.5}})}


def save(model, place, weights):
    model.save_pretrained(place)
    if weights == "safetensors":
        return
    (place / "model.safetensors").unlink()
    torch.save(model.state_dict(), place / "pytorch_model.bin", _use_new_zipfile_serialization=weights == "zip")


def learn(theirs, sources, targets):
    """Trains for some steps, after which translations end."""
    optimizer = torch.optim.Adam(theirs.model.parameters(), lr=3e-3)
    for step in range(STEPS):
        at = step * BATCH % (len(sources) - BATCH)
        inputs = [torch.tensor(theirs.source(line)) for line in sources[at:at + BATCH]]
        outputs = [torch.tensor([theirs.start, *theirs.forced, *theirs.target(line)]) for line in targets[at:at + BATCH]]
        inputs, outputs = [torch.nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=-1)
                           for ids in (inputs, outputs)]
        logits = theirs.model(input_ids=inputs.clamp(min=0), attention_mask=(inputs >= 0).long(),
                              decoder_input_ids=outputs[:, :-1].clamp(min=0)).logits
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), outputs[:, 1:].flatten(), ignore_index=-1).backward()
        optimizer.step()
    if theirs.start != theirs.end:
        theirs.model.model.shared.weight.data[theirs.start] = 0


@torch.no_grad()
def worst_difference(theirs, weft, checkpoint, sources, targets, folder):
    """The model of transformers computes in double, so that the difference is Weft's own."""
    for name, lines in (("source", sources), ("target", targets)):
        (folder / name).write_text("".join(line + "\n" for line in lines))
    scores = run(weft, "score", "--checkpoint", checkpoint, "--source", folder / "source", "--target",
                 folder / "target", "--json", "--quiet", *theirs.options)
    theirs.model.double()
    worst = 0
    for source, target, score in zip(sources, targets, scores.splitlines(), strict=True):
        ids = theirs.target(target)
        inputs = torch.tensor([[theirs.start, *theirs.forced, *ids[:-1]]])
        logits = theirs.model(input_ids=torch.tensor([theirs.source(source)]), decoder_input_ids=inputs).logits[0]
        rows = logits[len(theirs.forced):].log_softmax(-1)
        wanted = rows.gather(1, torch.tensor(ids)[:, None])[:, 0]
        found = torch.tensor([x for x in json.loads(score)["log_probs"] if x is not None], dtype=torch.double)
        if len(found) != len(wanted):
            raise SystemExit(f"FAILED  {target!r} has {len(found)} tokens instead of {len(wanted)}")
        difference = ((found - wanted).abs() / wanted.abs().clamp(min=1)).max().item()
        worst = max(worst, difference if math.isfinite(difference) else math.inf)
    theirs.model.float()
    return worst


@torch.no_grad()
def compare_translations(theirs, weft, checkpoint, sources, beam, options):
    """Returns the numbers of equal and of compared translations: those that transformers ends with eos."""
    found = run(weft, "translate", "--checkpoint", checkpoint, "--beam", beam, "--json", "--quiet",
                "--max-length-factor", 0, "--max-length-extra", LONGEST, *options["weft"], *theirs.options,
                lines="".join(line + "\n" for line in sources))
    equal = compared = 0
    for source, line in zip(sources, found.splitlines(), strict=True):
        if not source:  # Weft's translation is empty
            continue
        first = 1 + len(theirs.forced)
        ids = theirs.model.generate(torch.tensor([theirs.source(source)]), num_beams=beam, do_sample=False,
                                    max_new_tokens=LONGEST + len(theirs.forced), **options["theirs"],
                                    forced_bos_token_id=theirs.forced[0] if theirs.forced else None)[0].tolist()[first:]
        if theirs.end in ids:
            ids = ids[:ids.index(theirs.end)]
        elif beam > 1:
            continue
        compared += 1
        equal += json.loads(line)["pieces"][len(theirs.forced):-1] == theirs.pieces(ids)
    return equal, compared


def main():
    weft, source, target, folder = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
    sources, targets = [file.read_text().splitlines()[:LINES] for file in (source, target)]
    for lines in (sources, targets):
        lines[3], lines[5], lines[7] = "漢 " + lines[3] + " 漢字", lines[5] + "\u2603", ""
    for name, make in KINDS.items():
        place = folder / name
        place.mkdir(parents=True)
        theirs = make(place, source, target)
        learn(theirs, sources[10:], targets[10:])
        sources[9], targets[9] = long_line(sources[10:], theirs.source), long_line(targets[10:], theirs.target)
        save(theirs.model, place, WEIGHTS[name])
        checkpoint = folder / (name + ".weft")
        run(weft, "import", "--from", place, "--output", checkpoint)
        worst = worst_difference(theirs, weft, checkpoint, sources, targets, folder)
        print(f"{name}: worst relative difference of a log-probability {worst:.1e}", flush=True)
        failed = worst > TOLERANCE
        for search, (beam, options) in SEARCHES.items():
            equal, compared = compare_translations(theirs, weft, checkpoint, sources, beam, options)
            print(f"{name}: {equal} of {compared} translations are equal: {search}", flush=True)
            failed |= equal < compared
        if failed:
            raise SystemExit("FAILED  " + name)


main()
