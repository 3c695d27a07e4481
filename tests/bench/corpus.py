"""The corpus for both programs: sentences with lengths distributed like WMT's, packed by Weft, exported for PyTorch.

A word is one Hangul syllable or one Chinese character, and the vocabulary has nothing else (but SentencePiece's own 260
entries), so a word is one token and sentences keep the drawn lengths. Words follow Zipf's law. The same seed makes the
same files.
"""
import itertools
import json
import math
import pathlib
import random
import subprocess

OWN_ENTRIES = 3 + 256 + 1  # unk, bos, eos; byte fallback; the piece that begins a sentence
WORDS = [*map(chr, itertools.chain(range(0xAC00, 0xD7A4), range(0x4E00, 0xA000), range(0x3400, 0x4DC0)))]


def draw_lengths(rng, num_pairs, mean, longest):
    """Lengths of pairs in tokens without eos: log-normal like news sentences; targets within about 15 % of the source."""
    sigma = 0.6
    mu = math.log(mean) - sigma**2 / 2
    while num_pairs:
        source = round(rng.lognormvariate(mu, sigma))
        target = round(source * rng.lognormvariate(0, 0.15))
        if 2 <= min(source, target) and max(source, target) <= longest:
            yield source, target
            num_pairs -= 1


def write_text(folder, vocabulary, num_pairs, seed, mean, longest):
    rng = random.Random(seed)
    words = WORDS[:vocabulary - OWN_ENTRIES]
    weights = list(itertools.accumulate(1 / (i + 1) for i in range(len(words))))
    unseen = list(words)  # each occurs at least once, or the vocabulary would be smaller

    def sentence(length):  # its first piece is SentencePiece's mark of a beginning
        known = [unseen.pop() for _ in range(min(length - 1, len(unseen)))]
        return "".join(known + rng.choices(words, cum_weights=weights, k=length - 1 - len(known)))

    with open(folder / "source.txt", "w") as source, open(folder / "target.txt", "w") as target:
        for source_length, target_length in draw_lengths(rng, num_pairs, mean, longest):
            source.write(sentence(source_length) + "\n")
            target.write(sentence(target_length) + "\n")


def make_corpus(folder, weft, python, *, vocabulary, num_pairs, seed, mean=28, longest=128):
    """The folder of the packed corpus and the file for PyTorch; made once."""
    if not OWN_ENTRIES < vocabulary <= OWN_ENTRIES + len(WORDS):
        raise SystemExit(f"--vocabulary {vocabulary}: from {OWN_ENTRIES + 1} to {OWN_ENTRIES + len(WORDS)}")
    folder = folder / f"corpus-{vocabulary}-{num_pairs}-{seed}"
    packed, arrays = folder / "packed", folder / "corpus.npz"
    folder.mkdir(parents=True, exist_ok=True)
    if not (packed / "manifest.json").exists():
        write_text(folder, vocabulary, num_pairs, seed, mean, longest)
        subprocess.run([weft, "pack", "--source", folder / "source.txt", "--target", folder / "target.txt", "--output",
                        packed, "--vocab-size", str(vocabulary), "--character-coverage", "1", "--quiet"], check=True)
    if not arrays.exists():
        subprocess.run([python, __file__, packed, arrays], check=True)
    return packed, arrays


def describe(packed):
    manifest = json.loads((packed / "manifest.json").read_text())
    pairs = manifest["num_pairs"]
    return {"pairs": pairs, "vocabulary": manifest["target_vocabulary"],
            "mean_source": manifest["source_pieces"] / pairs + 1, "mean_target": manifest["target_pieces"] / pairs + 1,
            "longest_source": manifest["longest_source"] + 1, "longest_target": manifest["longest_target"] + 1}


def export(packed, arrays):
    """All shards as four arrays, by docs/formats/shard-format.md."""
    import h5py
    import numpy as np
    parts = {"source_pieces": [], "target_pieces": [], "source_lengths": [], "target_lengths": []}
    for shard in json.loads((packed / "manifest.json").read_text())["shards"]:
        with h5py.File(packed / shard["file"]) as file:
            for side in ("source", "target"):
                parts[f"{side}_pieces"].append(file[f"{side}_pieces"][:].astype(np.int64))
                parts[f"{side}_lengths"].append(np.diff(file[f"{side}_offsets"][:].astype(np.int64)))
    unfinished = arrays.with_suffix(".part.npz")
    np.savez(unfinished, **{name: np.concatenate(part) for name, part in parts.items()})
    unfinished.rename(arrays)


if __name__ == "__main__":
    import sys
    export(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
