"""marian_import.py WEFT SOURCE TARGET FOLDER: models that Marian trains, in Weft.

Trains a small model of each form with pymarian, imports it, and compares with Marian: the log-probability of each
target sentence (the tolerance is the sum of those of its tokens, each 1e-5, relative), greedy translations, and those
of beam 4 with and without normalization. Some lines are empty, long, or contain unknown characters.

Marian does not normalize keys and values of earlier positions when it decodes with a pre-norm model, so for such models
only scores are compared. Translations that reach the maximum length are not compared, because Marian then also returns
unfinished ones.
"""
import json
import os
import pathlib
import subprocess
import sys

import sentencepiece

from foreign_models import long_line, run

TOLERANCE, LINES, UPDATES, MAX_LENGTH_FACTOR = 1e-5, 300, 250, 3
SIZES = {"type": "transformer", "dim-emb": 32, "transformer-heads": 4, "transformer-dim-ffn": 64, "enc-depth": 2,
         "dec-depth": 2}
FORMS = {
    "post-norm": {"tied-embeddings-all": "true"},
    "pre-norm": {"transformer-preprocess": "n", "transformer-postprocess": "da", "transformer-postprocess-top": "n",
                 "transformer-ffn-activation": "relu"},
    "tied-output": {"tied-embeddings": "true", "transformer-ffn-activation": "gelu", "output-omit-bias": "true"},
    "tied-inputs": {"tied-embeddings-src": "true", "transformer-postprocess-emb": "nd"},
}
ONE_VOCABULARY = ("post-norm", "tied-inputs")
WITH_IDS = ("tied-output", "tied-inputs")  # ids in a .yml
AS_BIN = ("pre-norm", "tied-output")
TRAIN = "import sys, pymarian; pymarian.Trainer(sys.argv[1]).train()"


def marian(*command, lines=""):
    return run(sys.executable, "-m", "pymarian", *command, lines=lines)


class Model:
    def __init__(self, form, source, target, folder):
        self.form, self.folder = form, folder
        files = [source, target]
        sides = [files, files] if form in ONE_VOCABULARY else [[source], [target]]
        self.pieces = [self.train_pieces(name, texts) for name, texts in zip(("source", "target"), sides)]
        self.vocabularies = [folder / "source.spm", folder / "target.spm"]
        if form in WITH_IDS:
            self.vocabularies = [self.write_ids(side) for side in (0, 1)]
            files = [self.encoded(file, side) for side, file in enumerate(files)]
        self.weights = folder / "model.npz"
        self.train(files)

    def train_pieces(self, name, texts):
        sentencepiece.SentencePieceTrainer.train(
            input=[str(f) for f in texts], model_prefix=str(self.folder / name), vocab_size=300, bos_id=-1, eos_id=0,
            unk_id=1, hard_vocab_limit=False, minloglevel=2)
        (self.folder / f"{name}.model").rename(self.folder / f"{name}.spm")
        return sentencepiece.SentencePieceProcessor(model_file=str(self.folder / f"{name}.spm"))

    def write_ids(self, side):
        file = self.folder / f"vocab.{side}.yml"
        model = self.pieces[side]
        order = [0, 1, *range(model.get_piece_size() - 1, 1, -1)]  # not the order of the pieces
        file.write_text("".join(f"{json.dumps(model.id_to_piece(i), ensure_ascii=False)}: {at}\n"
                                for at, i in enumerate(order)))
        return file

    def encoded(self, file, side):
        path = self.folder / f"text.{side}"
        path.write_text("".join(self.encode(line, side) + "\n" for line in file.read_text().splitlines()))
        return path

    def encode(self, line, side):
        return " ".join(self.pieces[side].encode(line, out_type=str)) if self.form in WITH_IDS else line

    def train(self, files):
        options = SIZES | FORMS[self.form] | {
            "model": self.weights, "train-sets": " ".join(map(str, files)),
            "vocabs": " ".join(map(str, self.vocabularies)), "mini-batch": 32, "after-batches": UPDATES,
            "learn-rate": 0.005, "lr-warmup": 50, "cpu-threads": 1, "workspace": 300, "seed": 1, "quiet": "true"}
        text = " ".join(f"--{k} {v}" for k, v in options.items())
        subprocess.run([sys.executable, "-c", TRAIN, text], check=True, capture_output=True)

    def options(self):
        return ["-m", self.weights, "-v", *self.vocabularies, "--cpu-threads", 1, "--quiet",
                "--mini-batch", 1]

    def score(self, sources, targets):
        for name, lines, side in (("s", sources, 0), ("t", targets, 1)):
            (self.folder / name).write_text("".join(self.encode(line, side) + "\n" for line in lines))
        return [float(line) for line in marian("score", *self.options(), "-t", self.folder / "s", self.folder / "t",
                                               "--max-length", 1000).split()]

    def translate(self, sources, beam, normalize):
        lines = marian("decode", *self.options(), "--beam-size", beam, "--normalize", normalize, "--max-length-factor",
                       MAX_LENGTH_FACTOR, lines="".join(self.encode(line, 0) + "\n" for line in sources)).splitlines()
        return [self.pieces[1].decode(line.split()) if self.form in WITH_IDS else line for line in lines]

    def reaches_max_length(self, source, translation):
        lengths = [len(model.encode(text)) for model, text in zip(self.pieces, (source, translation))]
        return lengths[1] >= MAX_LENGTH_FACTOR * (lengths[0] + 1) - 1


def compare_scores(theirs, weft, checkpoint, sources, targets, folder):
    for name, lines in (("source", sources), ("target", targets)):
        (folder / name).write_text("".join(line + "\n" for line in lines))
    found = run(weft, "score", "--checkpoint", checkpoint, "--source", folder / "source", "--target", folder / "target",
                "--json", "--quiet").splitlines()
    wanted = theirs.score(sources, targets)
    if len(found) != len(wanted):
        raise SystemExit(f"FAILED  {len(found)} scores instead of {len(wanted)}")
    worst = 0
    for line, score in zip(map(json.loads, found), wanted):
        allowed = sum(max(1, abs(x)) for x in line["log_probs"] if x is not None)
        worst = max(worst, abs(line["log_prob"] - score) / allowed)
    return worst


def compare_translations(theirs, weft, checkpoint, sources, beam, normalize):
    found = run(weft, "translate", "--checkpoint", checkpoint, "--beam", beam, "--length-penalty", normalize, "--quiet",
                lines="".join(line + "\n" for line in sources)).splitlines()
    equal = compared = 0
    for source, mine, wanted in zip(sources, found, theirs.translate(sources, beam, normalize), strict=True):
        if not any(theirs.reaches_max_length(source, translation) for translation in (mine, wanted)):
            compared += 1
            equal += mine == wanted
    return equal, compared


def main():
    weft, source, target, folder = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
    os.environ["OMP_NUM_THREADS"] = "1"
    sources, targets = [file.read_text().splitlines()[:LINES] for file in (source, target)]
    for lines in (sources, targets):
        lines[3], lines[5], lines[7] = "漢 " + lines[3] + " 漢字", lines[5] + "\u2603", ""
    for form in FORMS:
        place = folder / form
        place.mkdir(parents=True)
        theirs = Model(form, source, target, place)
        if form in AS_BIN:
            marian("convert", "-f", theirs.weights, "-t", place / "model.bin")
        sources[9], targets[9] = [long_line(lines[10:], pieces.encode)
                                  for lines, pieces in zip((sources, targets), theirs.pieces)]
        checkpoint = folder / (form + ".weft")
        run(weft, "import", "--from", place / ("model.bin" if form in AS_BIN else "model.npz"), "--output", checkpoint)
        worst = compare_scores(theirs, weft, checkpoint, sources, targets, folder)
        line = f"{form}: worst relative difference of a score {worst:.1e}"
        failed = worst > TOLERANCE
        for beam, normalize in ((1, 0), (4, 0), (4, 1)) if form != "pre-norm" else ():
            equal, compared = compare_translations(theirs, weft, checkpoint, sources, beam, normalize)
            line += f", beam {beam} normalize {normalize}: {equal} of {compared} are equal"
            failed |= equal < compared
        print(line, flush=True)
        if failed:
            raise SystemExit("FAILED  " + form)


main()
