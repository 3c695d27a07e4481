#!/usr/bin/env python3
"""An exported model in its engine computes what Weft computes.

    agreement.py WEFT CHECKPOINT FORMAT SOURCE REFERENCE

Exports the checkpoint, translates SOURCE greedily in both, and requires: every translation is equal, log-probabilities
differ by at most 1e-4, and sacreBLEU gives the engine's text the BLEU that `weft bleu` gives ours. CTranslate2's int8
must reach the BLEU of f32 up to 0.3.
"""
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
LONGEST = 60       # tokens of a translation, on both sides: less than the learned positions of configs/variants
INT8_LOSS = 0.3    # of BLEU


def weft(*arguments, text=None):
    return subprocess.run([WEFT, *map(str, arguments)], input=text, check=True, stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"CUDA_VISIBLE_DEVICES": ""}).stdout


def lines_of(path):
    return pathlib.Path(path).read_text().split("\n")[:-1]


def joined(lines):
    return "".join(line + "\n" for line in lines)


def log_probs(source, translations, work):
    (work / "translations").write_text(joined(translations))
    scored = weft("score", "--quiet", "--json", "--checkpoint", CHECKPOINT, "--source", source,
                  "--target", work / "translations")
    return [json.loads(line)["log_prob"] for line in scored.splitlines()]


def bleu_of_weft(translations, reference, work):
    (work / "translations").write_text(joined(translations))
    return re.search(r"^BLEU[^=]* = ([0-9.]+) ", weft("bleu", "--width", 2, "--reference", reference,
                                                   work / "translations"), re.M).group(1)


def bleu_of_sacrebleu(translations, reference):
    return f"{sacrebleu.corpus_bleu(translations, [lines_of(reference)], force=True).score:.2f}"


def main(work):
    folder = work / "exported"
    print(weft("export", "--checkpoint", CHECKPOINT, "--format", FORMAT, "--output", folder).splitlines()[0])
    lines = lines_of(SOURCE)
    ours = weft("translate", "--quiet", "--checkpoint", CHECKPOINT, "--beam", 1, "--max-length-factor", 0,
                "--max-length-extra", LONGEST, text=joined(lines)).split("\n")[:-1]
    engine = ENGINES[FORMAT](folder)
    theirs = engine.translate(lines, LONGEST)
    different = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
    print(f"  {len(lines) - len(different)} of {len(lines)} translations are equal")
    for i in different[:3]:
        print(f"  line {i + 1}\n    Weft:   {ours[i]}\n    engine: {theirs[i]}")
    assert not different

    gaps = [abs(a - b) for a, b in zip(log_probs(SOURCE, ours, work), engine.log_probs(lines, ours), strict=True)]
    print(f"  log-probabilities differ by at most {max(gaps):.1e}")
    assert max(gaps) < TOLERANCE

    expected, found = bleu_of_weft(ours, REFERENCE, work), bleu_of_sacrebleu(theirs, REFERENCE)
    print(f"  BLEU {found}, by weft bleu {expected}")
    assert found == expected
    if FORMAT == "ctranslate2":
        int8 = bleu_of_sacrebleu(CTranslate2(folder, "int8").translate(lines, LONGEST), REFERENCE)
        print(f"  BLEU {int8} in int8")
        assert float(int8) >= float(expected) - INT8_LOSS


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    WEFT, CHECKPOINT, FORMAT, SOURCE, REFERENCE = sys.argv[1:]
    with tempfile.TemporaryDirectory() as temporary:
        main(pathlib.Path(temporary))
