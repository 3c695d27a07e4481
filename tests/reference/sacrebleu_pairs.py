#!/usr/bin/env python3
"""Writes random damaged sentence pairs with sacreBLEU's statistics of each and scores of all.

Usage: pip install sacrebleu==2.6.0; tests/reference/sacrebleu_pairs.py [NUMBER [SEED [FOLDER]]]

sacrebleu_pairs.txt: a line a pair: hypothesis, tab, reference.
sacrebleu_pairs_stats.txt: a line a pair; by tabs: BLEU by 13a, intl, char, zh, none (hypothesis length, reference length,
matches of four orders), chrF++ (characters of the hypothesis and of the reference, words of both, matches of six and
two orders), TER and two more option sets (edits, reference length). The counts that follow from these are checked here.
An empty column is equal to the one before it.
sacrebleu_pairs_scores.json: scores of some runs of pairs. Further references of segment i are the reference and the
hypothesis of segment i + 1 (of the run, the first follows the last).
"""
import json
import pathlib
import sys

from sacrebleu.metrics import BLEU, CHRF, TER

from damaged_pairs import pairs
from sacrebleu_options import TER_OPTIONS, results

TOKENIZERS = ["13a", "intl", "char", "zh", "none"]
TER_SETS = ["TER", "TER normalized Asian", "TER Asian without punctuation"]


def bleu_columns(stats):
    hypothesis_length, reference_length, correct, total = stats[0], stats[1], stats[2:6], stats[6:]
    assert total == [max(0, hypothesis_length - n) for n in range(4)]
    return [hypothesis_length, reference_length] + correct


def chrf_columns(stats):
    """24 counts; the number of n-grams follows from the number of units, unless the reference has none."""
    orders = [stats[i:i + 3] for i in range(0, 24, 3)]
    columns = []
    for first, last in ((0, 6), (6, 8)):
        hypothesis, reference = orders[first][0], orders[first][1]
        for n in range(last - first):
            expected_reference = max(0, reference - n)
            assert orders[first + n][:2] == [max(0, hypothesis - n) if expected_reference else 0, expected_reference]
        columns += [hypothesis, reference]
    return columns + [order[2] for order in orders]


def statistics(made):
    hypotheses, references = [h for h, _ in made], [[r for _, r in made]]
    columns = []
    segments = lambda metric: metric._extract_corpus_statistics(hypotheses, references)
    for tokenizer in TOKENIZERS:
        columns.append(map(bleu_columns, segments(BLEU(tokenize=tokenizer, force=True))))
    columns.append(map(chrf_columns, segments(CHRF(word_order=2))))
    for name in TER_SETS:
        columns.append([edits, int(length)] for edits, length in segments(TER(**TER_OPTIONS[name])))
    for row in zip(*columns):
        texts = [" ".join(map(str, column)) for column in row]
        yield "\t".join("" if i > 0 and text == texts[i - 1] else text for i, text in enumerate(texts))


def references_of(made, num_references):
    next_pairs = made[1:] + made[:1]
    return [[r for _, r in made], [r for _, r in next_pairs], [h for h, _ in next_pairs]][:num_references]


def scores(made):
    size = len(made)
    runs = [(0, size, 1), (0, 200, 2), (200, 200, 3)] + [(i * (size // 12), i + 1, 1 + i % 3) for i in range(12)]
    for first, count, num_references in runs:
        run = made[first:first + count]
        yield {"first": first, "count": count, "num_references": num_references,
               "scores": results([h for h, _ in run], references_of(run, num_references))[0]}


def main():
    number, seed, folder = (sys.argv[1:] + ["2000", "1", str(pathlib.Path(__file__).parent)][len(sys.argv) - 1:])
    made = pairs(int(number), int(seed))
    folder = pathlib.Path(folder)
    write = lambda name, text: (folder / name).write_text(text, encoding="utf-8", newline="\n")
    write("sacrebleu_pairs.txt", "".join(f"{h}\t{r}\n" for h, r in made))
    write("sacrebleu_pairs_stats.txt", "".join(line + "\n" for line in statistics(made)))
    write("sacrebleu_pairs_scores.json", "[\n" + ",\n".join(json.dumps(row) for row in scores(made)) + "]\n")


if __name__ == "__main__":
    main()
