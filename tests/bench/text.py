"""The text for measuring packing: any number of pairs, drawn from a real text or synthetic, with unique lines.

Pairs of a real text are drawn with replacement, and in every line some words are exchanged with words of other lines,
because repeated lines would favour a program with a cache. The same seed makes the same files.
"""
import gzip
import pathlib
import random
import sys

import corpus

CHANGED = 0.15  # of the words of a line; one at least


def read_lines(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().splitlines()


def change(rng, words, all_words):
    for _ in range(max(1, round(CHANGED * len(words)))):
        words[rng.randrange(len(words))] = all_words[rng.randrange(len(all_words))]
    return " ".join(words)


def draw(source, target, folder, num_pairs, seed):
    rng = random.Random(seed)
    lines = read_lines(source), read_lines(target)
    pairs = [pair for s, t in zip(*lines) if all(pair := (s.split(), t.split()))]
    if len(lines[0]) != len(lines[1]) or not pairs:
        raise SystemExit(f"{source} and {target} have {len(lines[0])} and {len(lines[1])} lines: not the sides of one text")
    all_words = [[word for pair in pairs for word in pair[side]] for side in (0, 1)]
    with open(folder / "source.txt", "w", encoding="utf-8") as first, open(folder / "target.txt", "w", encoding="utf-8") as second:
        for _ in range(num_pairs):
            pair = pairs[rng.randrange(len(pairs))]
            for side, file in ((0, first), (1, second)):
                file.write(change(rng, list(pair[side]), all_words[side]) + "\n")


def make_text(folder, source, target, num_pairs, vocabulary, seed=1):
    """Two files in the folder; made once."""
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "complete"
    if not done.exists():
        if source:
            draw(source, target, folder, num_pairs, seed)
        else:
            corpus.write_text(folder, vocabulary, num_pairs, seed, mean=28, longest=128)
        done.touch()
    return folder / "source.txt", folder / "target.txt"


def head(path, num_lines, output):
    with open(path, "rb") as text, open(output, "wb") as first:
        for _, line in zip(range(num_lines), text):
            first.write(line)
    return output


def main():
    folder, source, target, num_pairs, vocabulary = sys.argv[1:]
    make_text(pathlib.Path(folder), source and pathlib.Path(source), target and pathlib.Path(target), int(num_pairs),
              int(vocabulary))


if __name__ == "__main__":
    main()
