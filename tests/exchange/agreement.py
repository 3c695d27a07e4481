#!/usr/bin/env python3
"""An exported model in its engine computes what Weft computes.

Exports the checkpoint, translates SOURCE greedily in both, and requires: every translation is equal, log-probabilities
differ by at most 1e-4 (5e-4 in Marian), and sacreBLEU gives the engine's text the BLEU that `weft bleu` gives ours.
With --int8 CTranslate2's int8 must reach the BLEU of f32 up to 0.3.
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

TOLERANCE = {"ctranslate2": 1e-4, "huggingface": 1e-4,  # of a sentence's log-probability
             "marian": 5e-4}  # it prints six digits, and its layer norm has eps = 1e-6, ours 1e-5
LONGEST = 60       # tokens of a translation, on both sides: less than the learned positions of configs/variants
INT8_LOSS = 0.3    # of BLEU


def weft(*arguments, text=None):
    return subprocess.run([OPTIONS.weft, *map(str, arguments)], input=text, check=True, stdout=subprocess.PIPE,
                          text=True, env=os.environ | {"CUDA_VISIBLE_DEVICES": ""}).stdout


def lines_of(path):
    return pathlib.Path(path).read_text().split("\n")[:-1]


def joined(lines):
    return "".join(line + "\n" for line in lines)


def log_probs(source, translations, work):
    (work / "translations").write_text(joined(translations))
    scored = weft("score", "--quiet", "--json", "--checkpoint", OPTIONS.checkpoint, "--source", source,
                  "--target", work / "translations")
    return [json.loads(line)["log_prob"] for line in scored.splitlines()]


def bleu_of_weft(translations, reference, work):
    (work / "translations").write_text(joined(translations))
    return re.search(r"^BLEU[^=]* = ([0-9.]+) ", weft("bleu", "--width", 2, "--reference", reference,
                                                   work / "translations"), re.M).group(1)


def bleu_of_sacrebleu(translations, reference):
    return f"{sacrebleu.corpus_bleu(translations, [lines_of(reference)], force=True).score:.2f}"


def our_translations(lines):  # texts, and the log-probabilities of their tokens
    found = weft("translate", "--quiet", "--checkpoint", OPTIONS.checkpoint, "--beam", 1, "--max-length-factor", 0,
                 "--max-length-extra", LONGEST, "--scores", "--length-penalty", 0, text=joined(lines)).split("\n")[:-1]
    scores, texts = zip(*(line.split("\t", 1) for line in found))
    return list(texts), [float(score) for score in scores]


def compare(form, ours, scores, work):
    folder = work / form
    print(weft("export", "--checkpoint", OPTIONS.checkpoint, "--format", form, "--output", folder).splitlines()[0])
    lines, engine = lines_of(OPTIONS.source), ENGINES[form](folder)
    theirs = engine.translate(lines, LONGEST)
    different = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
    print(f"  {len(lines) - len(different)} of {len(lines)} translations are equal")
    for i in different[:3]:
        print(f"  line {i + 1}\n    Weft:   {ours[i]}\n    engine: {theirs[i]}")
    assert not different

    given = scores if form == "marian" else log_probs(OPTIONS.source, ours, work)
    gaps = [abs(a - b) for a, b in zip(given, engine.log_probs(lines, ours), strict=True)]
    print(f"  log-probabilities differ by at most {max(gaps):.1e}")
    assert max(gaps) < TOLERANCE[form]

    expected, found = bleu_of_weft(ours, OPTIONS.reference, work), bleu_of_sacrebleu(theirs, OPTIONS.reference)
    print(f"  BLEU {found}, by weft bleu {expected}")
    assert found == expected
    if OPTIONS.int8 and form == "ctranslate2":
        int8 = bleu_of_sacrebleu(CTranslate2(folder, "int8").translate(lines, LONGEST), OPTIONS.reference)
        print(f"  BLEU {int8} in int8")
        assert float(int8) >= float(expected) - INT8_LOSS


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("weft", "checkpoint", "source", "reference"):
        p.add_argument(name)
    p.add_argument("formats", nargs="+", choices=ENGINES)
    p.add_argument("--int8", action="store_true", help="also CTranslate2's int8")
    return p.parse_args()


if __name__ == "__main__":
    OPTIONS = parse()
    with tempfile.TemporaryDirectory() as temporary:
        own = our_translations(lines_of(OPTIONS.source))
        for wanted in OPTIONS.formats:
            compare(wanted, *own, pathlib.Path(temporary))
