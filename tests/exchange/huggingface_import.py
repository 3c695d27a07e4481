"""huggingface_import.py WEFT SOURCE TARGET FOLDER: models of transformers' classes in Weft.

Makes models with random weights, with tokenizers trained on the lines of SOURCE and TARGET, imports them, and compares
the log-probability of every target token (within 1e-5, relative) and greedy translations with those of transformers.
Some lines get unknown characters. Ids follow the tokenizers' definitions, because transformers 5 makes
its tokenizers for NLLB and mBART from other files.
"""
import json
import math
import pathlib
import sys

import torch

from foreign_models import KINDS, run

TOLERANCE, LINES, LONGEST = 1e-5, 300, 30


@torch.no_grad()
def worst_difference(theirs, weft, checkpoint, sources, targets, folder):
    for name, lines in (("source", sources), ("target", targets)):
        (folder / name).write_text("".join(line + "\n" for line in lines))
    scores = run(weft, "score", "--checkpoint", checkpoint, "--source", folder / "source", "--target",
                 folder / "target", "--json", "--quiet", *theirs.options)
    worst = 0
    for source, target, score in zip(sources, targets, scores.splitlines(), strict=True):
        ids = theirs.target(target)
        inputs = torch.tensor([[theirs.start, *theirs.forced, *ids[:-1]]])
        logits = theirs.model(input_ids=torch.tensor([theirs.source(source)]), decoder_input_ids=inputs).logits[0]
        rows = logits[len(theirs.forced):].double().log_softmax(-1)
        wanted = rows.gather(1, torch.tensor(ids)[:, None])[:, 0]
        found = torch.tensor([x for x in json.loads(score)["log_probs"] if x is not None], dtype=torch.double)
        if len(found) != len(wanted):
            raise SystemExit(f"FAILED  {target!r} has {len(found)} tokens instead of {len(wanted)}")
        difference = ((found - wanted).abs() / wanted.abs().clamp(min=1)).max().item()
        worst = max(worst, difference if math.isfinite(difference) else math.inf)
    return worst


@torch.no_grad()
def equal_translations(theirs, weft, checkpoint, sources):
    found = run(weft, "translate", "--checkpoint", checkpoint, "--beam", 1, "--json", "--quiet", "--allow-unknown",
                "--max-length-factor", 0, "--max-length-extra", LONGEST, *theirs.options,
                lines="".join(line + "\n" for line in sources))
    equal = 0
    for source, line in zip(sources, found.splitlines(), strict=True):
        first = 1 + len(theirs.forced)
        ids = theirs.model.generate(torch.tensor([theirs.source(source)]), num_beams=1, do_sample=False,
                                    max_new_tokens=LONGEST + len(theirs.forced),
                                    forced_bos_token_id=theirs.forced[0] if theirs.forced else None)[0].tolist()[first:]
        wanted = theirs.pieces(ids[:ids.index(theirs.end)] if theirs.end in ids else ids)
        equal += json.loads(line)["pieces"][len(theirs.forced):-1] == wanted
    return equal


def main():
    weft, source, target, folder = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
    sources, targets = [file.read_text().splitlines()[:LINES] for file in (source, target)]
    for lines in (sources, targets):
        lines[3], lines[5] = "漢 " + lines[3] + " 漢字", lines[5] + "\u2603"
    for name, make in KINDS.items():
        place = folder / name
        place.mkdir(parents=True)
        theirs = make(place, source, target)
        theirs.model.save_pretrained(place)
        checkpoint = folder / (name + ".weft")
        run(weft, "import", "--from", place, "--output", checkpoint)
        worst = worst_difference(theirs, weft, checkpoint, sources, targets, folder)
        equal = equal_translations(theirs, weft, checkpoint, sources)
        print(f"{name}: worst relative difference of a log-probability {worst:.1e}, "
              f"{equal} of {len(sources)} greedy translations are equal", flush=True)
        if worst > TOLERANCE or equal < len(sources):
            raise SystemExit("FAILED  " + name)


main()
