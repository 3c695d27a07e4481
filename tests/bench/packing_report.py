"""Summarises runs of packing and loading, and writes a page: medians, ranges, and ratios within each round."""
from statistics import median

from table import markdown, ratios

BEFORE, OURS = "SentencePiece", "weft pack"


def packing_summary(runs):
    of = {name: [r for r in runs if r["contestant"] == name] for name in (BEFORE, OURS)}

    def row(name):
        speeds = [r["sentences_per_second"] for r in of[name]]
        return {"sentences_per_second": median(speeds), "slowest": min(speeds), "fastest": max(speeds),
                "tokens_per_second": median(r["tokens_per_second"] for r in of[name]),
                "wall_seconds": median(r["wall_seconds"] for r in of[name]),
                "cpu_seconds": median(r["cpu_seconds"] for r in of[name]), "peak_mib": max(r["peak_mib"] for r in of[name])}

    def ratio(field, invert=False):
        values = [[r[field] for r in of[name]] for name in (OURS, BEFORE)]
        found = ratios(*(reversed(values) if invert else values))
        return {"median": median(found), "lowest": min(found), "highest": max(found)}

    return {BEFORE: row(BEFORE), OURS: row(OURS), "speed_ratio": ratio("sentences_per_second"),
            "cpu_ratio": ratio("cpu_seconds", invert=True)}


def loading_summary(load, train):
    def row(epochs):
        tokens, seconds = (sum(e[field] for e in epochs) for field in ("target_tokens", "seconds"))
        cpu = sum(e["cpu_seconds"] for e in epochs)
        found = {"target_tokens_per_second": tokens / seconds, "cpu_nanoseconds_per_token": 1e9 * cpu / tokens}
        if train:
            found["times_training"] = tokens / seconds / train["tokens_per_second"]
            found["share_of_a_core_in_training"] = cpu / tokens * train["tokens_per_second"]
        return found
    return {"first_step_seconds": load["first_step_seconds"], "peak_mib": load["peak_mib"],
            "first epoch": row(load["epochs"][:1]), "later epochs": row(load["epochs"][1:])}


def markdown_report(results):
    m, s, p, l, t = (results[k] for k in ("machine", "settings", "packing", "loading", "training"))
    text = f"""# Packing and loading

{m['cpu']}, {m['cores']} cores{', a virtual machine' if m['virtual'] else ''}; {m['system']}.
{s['pairs']} pairs, {results['bytes'] / 1e6:.0f} MB of {'text drawn from a real one' if s['source'] else 'made-up words'}; vocabulary {s['vocabulary']}; {s['threads']} threads; {s['rounds']} rounds in turns.

"""
    if results["doubts"]:
        text += "**The machine was too busy or too uneven for reliable figures.** " + "; ".join(results["doubts"]) + ".\n\n"
    rows = [[name, f"{p[name]['sentences_per_second']:.0f} ({p[name]['slowest']:.0f}-{p[name]['fastest']:.0f})",
             f"{p[name]['tokens_per_second']:.0f}", f"{p[name]['wall_seconds']:.2f}", f"{p[name]['cpu_seconds']:.2f}",
             f"{p[name]['peak_mib']:.0f}"] for name in (BEFORE, OURS)]
    text += markdown(["", "sentences/s (range)", "tokens/s", "seconds", "CPU seconds", "MiB"], rows)
    speed, cpu = p["speed_ratio"], p["cpu_ratio"]
    text += (f"\n{OURS} to {BEFORE}, by rounds: **{speed['median']:.2f}** ({speed['lowest']:.2f}-{speed['highest']:.2f}) in speed, "
             f"{cpu['median']:.2f} ({cpu['lowest']:.2f}-{cpu['highest']:.2f}) by CPU time.\n\n")
    header, rows = ["loader", "target tokens/s", "CPU ns a token"], []
    for what, found in l.items():
        for name in ("first epoch", "later epochs"):
            of = found[name]
            rows.append([f"{what}, {name}", f"{of['target_tokens_per_second']:.0f}", f"{of['cpu_nanoseconds_per_token']:.0f}"])
            if t:
                rows[-1] += [f"{of['times_training']:.0f}", f"{100 * of['share_of_a_core_in_training']:.2f} %"]
    if t:
        header += ["times training", "of a core while training"]
    text += markdown(header, rows) + "\n"
    for what, found in l.items():
        text += (f"{what.capitalize()}: the first step is there after {found['first_step_seconds']:.3f} s; "
                 f"the loader's process had {found['peak_mib']:.0f} MiB at most.\n")
    if t:
        text += f"Training: the small model (256, 3+3), {t['precision']}, {t['tokens_per_second']:.0f} target tokens/s.\n"
    return text


def self_check():
    def run(contestant, speed, cpu):
        return {"contestant": contestant, "sentences_per_second": speed, "tokens_per_second": 20 * speed, "peak_mib": 1,
                "wall_seconds": 1 / speed, "cpu_seconds": cpu}
    # A machine at half speed in two rounds: medians of the speeds would give another ratio than the rounds do.
    runs = [run(BEFORE, 100, 2), run(BEFORE, 50, 2), run(BEFORE, 50, 2)]
    found = packing_summary(runs + [run(OURS, 80, 4), run(OURS, 40, 4), run(OURS, 45, 4)])
    assert found["speed_ratio"] == {"median": 0.8, "lowest": 0.8, "highest": 0.9}
    assert found["cpu_ratio"] == {"median": 0.5, "lowest": 0.5, "highest": 0.5}
    epoch = {"target_tokens": 1000, "seconds": 0.5, "cpu_seconds": 0.25}
    found = loading_summary({"first_step_seconds": 0, "peak_mib": 1, "epochs": [epoch, epoch, epoch]},
                            {"tokens_per_second": 10})["later epochs"]
    assert found["target_tokens_per_second"] == 2000 and found["cpu_nanoseconds_per_token"] == 250000
    assert found["times_training"] == 200 and found["share_of_a_core_in_training"] == 0.0025
