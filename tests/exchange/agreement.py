#!/usr/bin/env python3
"""An exported model in its engine computes what Weft computes.

Exports the checkpoint, translates SOURCE greedily in both, and requires: every translation is equal, log-probabilities
differ by at most 1e-4, and sacreBLEU gives the engine's text the BLEU that `weft bleu` gives ours.
With --int8 CTranslate2's int8 must reach the BLEU of f32 up to 0.3. Without FORMAT: every format that holds the model.
Run it with the Python of make_venv, on the grammar (run) or on real text:

    VENV/bin/python tests/exchange/agreement.py build/weft RUN test.en test.de --int8
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import sacrebleu

from engines import ENGINES, CTranslate2

TOLERANCE = 1e-4   # of a sentence's log-probability
INT8_LOSS = 0.3    # of BLEU
NOT_HELD = 2       # exit status of weft export


def weft(*arguments, text=None, check=True):
    done = subprocess.run([OPTIONS.weft, *map(str, arguments)], input=text, stdout=subprocess.PIPE, text=True,
                          stderr=None if check else subprocess.PIPE, env=os.environ | {"CUDA_VISIBLE_DEVICES": ""})
    if check:
        done.check_returncode()
    return done


def lines_of(path):
    return pathlib.Path(path).read_text().split("\n")[:-1]


def joined(lines):
    return "".join(line + "\n" for line in lines)


def tag_options():
    return [f"--{name}={tag}" for name, tag in (("tag", OPTIONS.tag), ("target-tag", OPTIONS.target_tag)) if tag]


def tags_of_engine():  # as arguments of its functions
    return {name: tag.split() for name, tag in (("tags", OPTIONS.tag), ("target_tags", OPTIONS.target_tag)) if tag}


def log_probs(translations, work):
    (work / "translations").write_text(joined(translations))
    scored = weft("score", "--quiet", "--json", "--checkpoint", OPTIONS.checkpoint, "--source", OPTIONS.source,
                  "--target", work / "translations", *tag_options()).stdout
    return [json.loads(line)["log_prob"] for line in scored.splitlines()]


def bleu_of_weft(translations, work):
    (work / "translations").write_text(joined(translations))
    return re.search(r"^BLEU[^=]* = ([0-9.]+) ", weft("bleu", "--width", 2, "--reference", OPTIONS.reference,
                                                   work / "translations").stdout, re.M).group(1)


def bleu_of_sacrebleu(translations):
    return f"{sacrebleu.corpus_bleu(translations, [lines_of(OPTIONS.reference)], force=True).score:.2f}"


def our_translations(lines):  # texts, and the log-probabilities of their tokens
    found = weft("translate", "--quiet", "--checkpoint", OPTIONS.checkpoint, "--beam", 1, "--max-length-factor", 0,
                 "--max-length-extra", OPTIONS.longest, "--scores", "--length-penalty", 0, *tag_options(),
                 text=joined(lines)).stdout.split("\n")[:-1]
    scores, texts = zip(*(line.split("\t", 1) for line in found))
    return list(texts), [float(score) for score in scores]


def failures(form, ours, scores, work):
    """Prints how the engine agrees, and returns what is wrong."""
    folder, wrong = work / form, []
    exported = weft("export", "--checkpoint", OPTIONS.checkpoint, "--format", form, "--output", folder, check=False)
    if exported.returncode == NOT_HELD and not OPTIONS.formats:
        print(exported.stderr, end="")
        return []
    if exported.returncode != 0:
        return [exported.stderr.strip()]
    print(exported.stdout.splitlines()[0])
    lines, engine, tags = lines_of(OPTIONS.source), ENGINES[form](folder), tags_of_engine()
    theirs = engine.translate(lines, OPTIONS.longest, **tags)
    different = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
    print(f"  {len(lines) - len(different)} of {len(lines)} translations are equal")
    for i in different[:3]:
        print(f"  line {i + 1}\n    Weft:   {ours[i]}\n    engine: {theirs[i]}")
    if different:
        wrong.append(f"{len(different)} translations differ")

    same = [i for i, (a, b) in enumerate(zip(ours, theirs)) if a == b]
    expected = scores if form == "marian" else log_probs(ours, work)
    found = engine.log_probs([lines[i] for i in same], [ours[i] for i in same], **tags)
    gap = max(abs(expected[i] - score) for i, score in zip(same, found, strict=True) if score is not None)
    print(f"  log-probabilities differ by at most {gap:.1e}")
    if not gap < TOLERANCE:
        wrong.append("log-probabilities differ too much")

    expected, found = bleu_of_weft(ours, work), bleu_of_sacrebleu(theirs)
    print(f"  BLEU {found}, by weft bleu {expected}")
    if found != expected:
        wrong.append("BLEU differs")
    if OPTIONS.int8 and form == "ctranslate2":
        int8 = bleu_of_sacrebleu(CTranslate2(folder, "int8").translate(lines, OPTIONS.longest, **tags))
        print(f"  BLEU {int8} in int8")
        if float(int8) < float(expected) - INT8_LOSS:
            wrong.append("BLEU in int8 is too low")
    return wrong


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("weft", "checkpoint", "source", "reference"):
        p.add_argument(name)
    p.add_argument("formats", nargs="*", metavar="FORMAT", help=", ".join(ENGINES))
    p.add_argument("--int8", action="store_true", help="also CTranslate2's int8")
    p.add_argument("--longest", type=int, default=60, help="tokens of a translation, fewer than learned positions")
    p.add_argument("--tag", help="in front of every source")
    p.add_argument("--target-tag", help="in front of every translation; not in Marian")
    return p.parse_args()


def main():
    wrong = []
    with tempfile.TemporaryDirectory() as temporary:
        ours, scores = our_translations(lines_of(OPTIONS.source))
        for form in OPTIONS.formats or ENGINES:
            wrong += [f"{form}: {what}" for what in failures(form, ours, scores, pathlib.Path(temporary))]
    for what in wrong:
        print("FAILED ", what, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    OPTIONS = parse()
    sys.exit(main())
