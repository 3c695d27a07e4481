"""Runs Weft and PyTorch as commands and reads their results; searches for the fastest variant of PyTorch."""
import glob
import json
import os
import pathlib
import shutil
import sys
import tempfile
from statistics import median

from machine import RunFailed, cores, run_measured
from table import rate

BENCH = pathlib.Path(__file__).resolve().parent
ADAM = dict(beta1=0.9, beta2=0.98, eps=1e-9)
LEARNING_RATE, SMOOTHING, SEED = 1e-4, 0.1, 1
MODELS = {
    "base": dict(width=512, layers=6, feed_forward=2048, heads=8),
    "big": dict(width=1024, layers=6, feed_forward=4096, heads=16),
    "small": dict(width=256, layers=3, feed_forward=1024, heads=8),
}
KINDS = {"eager": "written for speed", "module": "nn.Transformer", "compile": "torch.compile, one code for all shapes",
         "compile-static": "torch.compile, each shape its own code"}
PLACES = ("residual", "attention", "feed_forward", "embedding")


def dropout_rates(where):
    """Dropout rates: in all four places, or only on residuals and embeddings as in the paper."""
    return {place: 0.1 if where == "all" or place in ("residual", "embedding") else 0.0 for place in PLACES}


def training_flops(model, vocabulary, steps, corpus):
    """Counts like model/flops.h: only matmuls, backward twice forward."""
    d, f, n = model["width"], model["feed_forward"], model["layers"]
    s, t = corpus["mean_source"], corpus["mean_target"]
    source = 2 * n * (4 * d * d + 2 * d * f) + 4 * n * d * s + 2 * n * 2 * d * d
    target = 2 * n * (6 * d * d + 2 * d * f) + 2 * d * vocabulary + 4 * n * d * (t + 1) / 2 + 4 * n * d * s
    return 3 * sum(source * x["source_tokens"] + target * x["target_tokens"] for x in steps)


def result_of(steps, measured, model, corpus):
    last = steps[-max(1, len(steps) // 2):]
    return measured | {
        "tokens_per_second": rate(steps),
        "gflops": training_flops(model, corpus["vocabulary"], steps, corpus) / sum(x["seconds"] for x in steps) / 1e9,
        "fill": sum(x["target_tokens"] for x in steps) / sum(x["target_rows"] for x in steps),
        "loss": sum(x["loss"] for x in last) / len(last),
        "seconds_per_step": sum(x["seconds"] for x in steps) / len(steps), "num_steps": len(steps)}


class Weft:
    def __init__(self, program, packed, corpus, work, dropout, device="cpu"):
        self.program, self.packed, self.corpus, self.work = program, packed, corpus, work
        self.dropout, self.device = dropout_rates(dropout), device

    def shape(self, model_name, rows, blocks):
        model = MODELS[model_name]
        return {f"model.dropout_{place}": value for place, value in self.dropout.items()} | {
            "model.width": model["width"], "model.heads": model["heads"], "model.feed_forward": model["feed_forward"],
            "model.encoder_layers": model["layers"], "model.decoder_layers": model["layers"], "batch.rows": rows,
            "batch.blocks": blocks}

    def run(self, model_name, precision, *, rows, blocks, steps, warmup, ranks=1, tp=1, sequence=False):
        threads = max(1, cores() // ranks)
        with tempfile.TemporaryDirectory(dir=self.work) as folder:
            config = pathlib.Path(folder) / "step.cfg"
            config.write_text("# every option is on the command line\n")
            options = self.shape(model_name, rows, blocks) | {f"optimizer.{k}": v for k, v in ADAM.items()} | {
                "data.train": self.packed, "parallel.dp": ranks // tp, "parallel.tp": tp,
                "parallel.sequence": str(sequence).lower(), "schedule.kind": "constant",
                "schedule.warmup": 0, "schedule.lr": LEARNING_RATE, "train.label_smoothing": SMOOTHING,
                "train.seed": SEED, "train.precision": precision, "train.steps": warmup + steps,
                "train.output": f"{folder}/run", "train.validate_every": 0, "train.save_every": 0,
                "train.keep_best": "loss", "device": self.device}
            command = [self.program, "train", "--config", config, *(f"--{k}={v}" for k, v in options.items())]
            environment = {"OMP_NUM_THREADS": str(threads)}
            if ranks > 1:
                command = ["mpirun", "--quiet", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", *command]
                environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            _, measured = run_measured(command, environment)
            records = [json.loads(line) for line in open(f"{folder}/run/log.jsonl")]
        taken = [r | {"target_rows": rows * blocks} for r in records if "seconds" in r][warmup:]
        return result_of(taken, measured, MODELS[model_name], self.corpus)


    def parts(self, model_name, precision, *, rows, blocks):
        """The parts of a step's time from `weft bench`, for synthetic sentences of the same lengths."""
        options = self.shape(model_name, rows, blocks) | {"vocabulary": self.corpus["vocabulary"], "precision": precision}
        output, _ = run_measured([self.program, "bench", "--json", *(f"--{k}={v}" for k, v in options.items())],
                                 {"OMP_NUM_THREADS": str(cores())})
        return json.loads(output)


def library(python, name):
    beside = pathlib.Path(python).parent.parent / "lib"
    found = glob.glob(f"{beside}/{name}") + glob.glob(f"/usr/lib/*/{name}") + glob.glob(f"/usr/lib64/{name}")
    return found[0] if found else None


def environments(python):
    """Settings of threads and memory that are known to matter for PyTorch on CPUs."""
    pinned = {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores", "OMP_WAIT_POLICY": "ACTIVE"}
    found = {"as it comes": {}, "pinned": pinned}
    # glibc returns large freed blocks to the system, so every step has page faults for them.
    keep = {"MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TOP_PAD_": str(64 << 20)}
    found["malloc keeps memory"] = keep
    found["pinned, malloc keeps memory"] = pinned | keep
    openmp = library(python, "libiomp5.so")
    if openmp:
        for name, blocktime in (("1", "1"), ("infinite", "infinite")):
            found[f"Intel OpenMP, KMP_BLOCKTIME={name}"] = keep | {
                "LD_PRELOAD": openmp, "KMP_AFFINITY": "granularity=fine,compact,1,0", "KMP_BLOCKTIME": blocktime}
    for allocator in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4"):
        path = library(python, allocator)
        if path:
            found[allocator] = {"LD_PRELOAD": path}
    found["huge pages"] = keep | {"THP_MEM_ALLOC_ENABLE": "1", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    return found


class PyTorch:
    """One interpreter's PyTorch. A variant: kind, attention, micro-batches a step, environment."""

    def __init__(self, name, python, arrays, corpus, work, dropout, device="cpu"):
        self.name, self.python, self.arrays, self.corpus, self.device = name, str(python), arrays, corpus, device
        self.dropout, self.version, self.cache = dropout_rates(dropout), None, work / "compiled"
        self.settings = environments(python)

    def pytorch_spec(self, variant, model_name, precision, tokens, steps, warmup, profile):
        return dict(MODELS[model_name], **ADAM, arrays=str(self.arrays), vocabulary=self.corpus["vocabulary"],
                    kind=variant["kind"], attention=variant["attention"], micro=variant["micro"], precision=precision,
                    tokens=tokens, steps=steps, warmup=warmup, threads=cores(), lr=LEARNING_RATE, smoothing=SMOOTHING,
                    seed=SEED, dropout=self.dropout, profile=profile, device=self.device)

    def run(self, variant, model_name, precision, *, tokens, steps, warmup, profile=False, limit=3600):
        spec = self.pytorch_spec(variant, model_name, precision, tokens, steps, warmup, profile)
        environment = {"OMP_NUM_THREADS": str(cores()), "TORCHINDUCTOR_CACHE_DIR": str(self.cache),
                       "TORCHINDUCTOR_COMPILE_THREADS": str(cores() if self.device == "cuda" else 1),
                       "PYTHONDONTWRITEBYTECODE": "1",
                       **self.settings[variant["environment"]]}
        output, measured = run_measured([self.python, BENCH / "pytorch_step.py", json.dumps(spec)], environment, limit)
        found = json.loads(output.splitlines()[-1])
        self.version = found["torch"]
        extra = {key: found[key] for key in ("torch", "adam", "threads", "warm_seconds", "operators") if key in found}
        return result_of(found["steps"], measured, MODELS[model_name], self.corpus) | extra

    def best_variant(self, model_name, precision, *, kinds, tokens, steps, quick, say, limit):
        """Finds the fastest variant: kinds of code, then attention and micro-batches, then environments, each for the best so far."""
        tried = []

        def attempt(**changes):
            variant = (best()["variant"] if any("tokens_per_second" in t for t in tried) else
                       dict(kind="eager", attention="sdpa", micro=1, environment="as it comes")) | changes
            if variant in (t["variant"] for t in tried):
                return
            try:
                found = self.run(variant, model_name, precision, tokens=tokens, steps=steps, warmup=1, limit=limit)
                tried.append({"variant": variant} | found)
                say(f"  {describe(variant)}: {found['tokens_per_second']:.0f} tok/s")
            except RunFailed as error:
                tried.append({"variant": variant, "failed": str(error)})
                say(f"  {describe(variant)}: {error}")

        def best():
            return max((t for t in tried if "tokens_per_second" in t), key=lambda t: t["tokens_per_second"])

        for kind in kinds:
            attempt(kind=kind, attention="sdpa")
        lean = [t for t in tried if "tokens_per_second" in t and t["variant"]["kind"] != "module"]
        attempt(kind=max(lean, key=lambda t: t["tokens_per_second"])["variant"]["kind"] if lean else "eager",
                attention="products")
        if not any("tokens_per_second" in t for t in tried):
            raise SystemExit(f"{self.name} does not run: {tried[0]['failed']}")
        if not quick:
            attempt(micro=2)
        for name in list(self.settings)[:3] if quick else self.settings:
            attempt(environment=name)
        return self.final(tried, model_name, precision, tokens=tokens, steps=steps, say=say), tried

    def final(self, tried, model_name, precision, *, tokens, steps, say):
        """Runs the two fastest again in turns, because a short trial may have been lucky; the median decides."""
        finalists = sorted((t for t in tried if "tokens_per_second" in t), key=lambda t: -t["tokens_per_second"])[:2]
        if len(finalists) == 1:
            return finalists[0]["variant"]
        for t in finalists:
            t["speeds"] = [t["tokens_per_second"]]
        for _ in range(2):
            for t in finalists:
                found = self.run(t["variant"], model_name, precision, tokens=tokens, steps=steps, warmup=1)
                t["speeds"].append(found["tokens_per_second"])
                say(f"  final, {describe(t['variant'])}: {found['tokens_per_second']:.0f} tok/s")
        return max(finalists, key=lambda t: median(t["speeds"]))["variant"]


def describe(variant):
    batches = "" if variant["micro"] == 1 else f", {variant['micro']} micro-batches"
    attention = "" if variant["kind"] == "module" else f", {variant['attention']}"
    return f"{variant['kind']}{attention}{batches}, {variant['environment']}"


def make_venv(folder, requirement, say):
    """A virtual environment with PyTorch, made once. pip reads the user's settings (PIP_INDEX_URL, ...)."""
    python, done = folder / "bin" / "python", folder / ".complete"
    if done.exists() and done.read_text() == requirement:
        return python
    say(f"making {folder} with {requirement}, numpy and h5py")
    shutil.rmtree(folder, ignore_errors=True)
    for command in ([sys.executable, "-m", "venv", folder],
                    [python, "-m", "pip", "install", "--quiet", requirement, "numpy", "h5py"]):
        try:
            run_measured(command, {"PIP_DISABLE_PIP_VERSION_CHECK": "1"})
        except RunFailed as error:
            raise SystemExit(f"{folder}: {error}. Debian, Ubuntu: apt-get install python3-venv; or give --python") from None
    try:  # another OpenMP to try; PyTorch works without
        run_measured([python, "-m", "pip", "install", "--quiet", "intel-openmp"])
    except RunFailed as error:
        say(f"without Intel's OpenMP: {error}")
    done.write_text(requirement)
    return python


def debian_python(say):
    """Debian's interpreter if its python3-torch is installed."""
    python = "/usr/bin/python3"
    try:
        run_measured([python, "-c", "import torch, numpy"])
        return python
    except (RunFailed, OSError) as error:
        say(f"no PyTorch of Debian (apt-get install python3-torch): {error}")
        return None


def versions(program):
    lines = {}
    for name, command in {"compiler": ["c++", "--version"], "mpirun": ["mpirun", "--version"],
                          "commit": ["git", "-C", BENCH, "describe", "--always", "--dirty"]}.items():
        try:
            lines[name] = run_measured(command)[0].splitlines()[0]
        except (RunFailed, OSError, IndexError):
            lines[name] = "unknown"
    lines["weft"] = os.path.realpath(program)
    return lines
