#!/usr/bin/env python3
"""Prints sacrebleu_significance.json: sacreBLEU's intervals and p-values for three made-up systems.

Usage: pip install sacrebleu==2.6.0; tests/reference/sacrebleu_significance.py > tests/reference/sacrebleu_significance.json

Baseline "a", a slightly better "b" and a much worse "c" translate 200 sentences that have two references. The file holds
the sentences, too, so that the tests need no generator.
"""
import json
import random

import numpy
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

NUM_SEGMENTS = 200
WORDS = ("der die das ein eine Mann Frau Kind Hund Haus Wagen Markt Morgen Abend große kleine rote alte geht steht sieht "
         "kauft trägt vergisst schnell heute morgen nicht mit auf unter vor dem den Straße Brücke 3,50 1990-2000 z.B. (sehr) "
         "„Guten“ Größe").split()
METRICS = {
    "bleu": (BLEU, {}, "--metrics=bleu"),
    "bleu floor lower case": (BLEU, {"smooth_method": "floor", "lowercase": True},
                              "--metrics=bleu --smooth=floor --lowercase"),
    "chrf": (CHRF, {}, "--metrics=chrf"),
    "chrf++": (CHRF, {"word_order": 2}, "--metrics=chrf --chrf-word-order=2"),
    "ter": (TER, {}, "--metrics=ter"),
}


def damaged(words, rate, rng):
    """Words replaced, dropped, doubled or exchanged with the next one."""
    words = list(words)
    for i in range(len(words) - 1, -1, -1):
        if rng.random() >= rate:
            continue
        kind = rng.randrange(4)
        if kind == 0:
            words[i] = rng.choice(WORDS)
        elif kind == 1:
            del words[i]
        elif kind == 2:
            words.insert(i, words[i])
        elif i + 1 < len(words):
            words[i], words[i + 1] = words[i + 1], words[i]
    return words


def texts():
    rng = random.Random(20)
    first = [[rng.choice(WORDS) for _ in range(rng.randint(2, 14))] for _ in range(NUM_SEGMENTS)]
    second = [damaged(words, 0.3, rng) for words in first]
    systems = {name: [damaged(words, rate, rng) for words in first] for name, rate in [("a", .32), ("b", .29), ("c", .5)]}
    lines = lambda sentences: [" ".join(words) + "." for words in sentences]
    return {name: lines(sentences) for name, sentences in systems.items()}, [lines(first), lines(second)]


def results(score):
    return {"score": float(score.score), "mean": None if score.mean is None else float(score.mean),
            "half_width": None if score.ci is None else float(score.ci), "p": score.p_value}


def paired(metric, systems, references, test):
    _, scores = PairedTest(list(systems.items()), {"metric": metric}, references, test_type=test)()
    return [results(score) for name, column in scores.items() if name != "System" for score in column]


def main():
    systems, references = texts()
    cases = []
    for num_references in (1, 2):
        refs = references[:num_references]
        for name, (make, options, flags) in METRICS.items():
            line = make(**options)
            score = line.corpus_score(systems["a"], refs, n_bootstrap=1000)
            signature = line.get_signature()
            printed = score.format(width=2, signature=str(signature))
            cases.append({
                "name": name, "flags": flags.split(), "references": num_references,
                "confidence": printed.replace("version:" + sacrebleu.__version__, "version:VERSION"),
                "paired_bs": paired(make(**options), systems, refs, "bs"),
                "paired_ar": paired(make(**options), systems, refs, "ar"),
            })
    print('{"sacrebleu": "%s", "numpy": "%s",' % (sacrebleu.__version__, numpy.__version__))
    print('"cases": [\n' + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + "],")
    for name, lines in systems.items():
        print('"%s": %s,' % (name, json.dumps(lines, ensure_ascii=False)))
    print('"references": ' + json.dumps(references, ensure_ascii=False) + "}")


if __name__ == "__main__":
    main()
