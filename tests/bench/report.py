"""The result of a comparison as a page of tables."""
from machine import BUSY_SHARE
from table import WIDE_SPREAD, markdown, summary, summary_cells

OPPONENTS = ("PyTorch", "Debian's PyTorch")


def summaries(runs):
    """Weft against each PyTorch; Weft on two ranks against Weft on one; more rows against the fewest."""
    found = []
    for case in dict.fromkeys(r["case"] for r in runs):
        names = list(dict.fromkeys(r["contestant"] for r in runs if r["case"] == case))
        for name in names:
            pairs = [(name, o) for o in OPPONENTS if o in names] if name == "Weft" else [(name, names[0])]
            if name in OPPONENTS or not pairs:
                pairs = [(name, name)]
            found += [summary(runs, case, *pair) for pair in pairs]
    return found


def cases(results):
    for case in dict.fromkeys(s["case"] for s in results["summaries"]):
        rows = [summary_cells(s) + [s.get("opponent", "")] for s in results["summaries"] if s["case"] == case]
        header = ["run", "target tok/s (range)", "spread", "GFLOP/s", "fill", "loss", "MiB", "ratio by rounds (range)", "to"]
        yield f"## {case}\n\n" + markdown(header, rows)


def trials(results):
    rows = [[t["case"], t["contestant"], t["variant"] + (" (chosen)" if t["chosen"] else ""),
             f"{t['tokens_per_second']:.0f}" if "tokens_per_second" in t else t["failed"],
             f"{t['warm_seconds']:.0f}" if "warm_seconds" in t else "", f"{100 * t['others']:.0f} %" if "others" in t else ""]
            for t in results["trials"]]
    return "## What PyTorch was tried as\n\n" + markdown(
        ["case", "which", "variant", "tok/s", "warm-up and compilation, s", "CPU of others"], rows)


def parts(results):
    """Shares of Weft's step, as `weft bench` measures them."""
    if not results["parts"]:
        return []
    names = list(dict.fromkeys(part for bench in results["parts"].values() for part in bench["step"]["parts"]))
    rows = []
    for case, bench in results["parts"].items():
        step = bench["step"]
        rows.append([case, *(f"{100 * step['parts'].get(name, 0) / step['seconds']:.1f} %" for name in names),
                     f"{bench['mfu']:.2f}" if bench["mfu"] is not None else "", "yes" if bench["load"]["too_busy"] else "no"])
    return ["## Parts of Weft's step (`weft bench`)\n\n" + markdown(["case", *names, "MFU", "too busy"], rows)]


def load(results):
    rows = [[r["time"], r["case"], r["contestant"], r["round"] + 1, f"{r['tokens_per_second']:.0f}",
             f"{r['load_before']:.2f}", f"{r['load_after']:.2f}", f"{100 * r['others']:.1f} %", f"{100 * r['stolen']:.1f} %"]
            for r in results["runs"]]
    return "## Every run\n\n" + markdown(["time", "case", "run", "round", "tok/s", "load before", "load after",
                                        "CPU of others", "stolen"], rows)


def markdown_report(results):
    m, c, s = results["machine"], results["corpus"], results["settings"]
    tokens = s["rows"] * s["blocks"]
    text = f"""# Weft and PyTorch, one training step

{m['cpu']}, {m['cores']} cores{', a virtual machine' if m['virtual'] else ''}; {', '.join(m['instruction_sets'])}; {m['system']}.
{'; '.join(f'{name} {version}' for name, version in results['versions'].items())}.

{c['pairs']} sentence pairs, {c['mean_source']:.1f} and {c['mean_target']:.1f} tokens on average, at most {c['longest_source']} and
{c['longest_target']}, vocabulary {c['vocabulary']}. Steps of {tokens} target tokens: Weft in {s['blocks']} blocks of {s['rows']} rows, PyTorch
in buckets sorted by length. {s['rounds']} rounds in turns, {s['steps']} steps each after {s['warmup']}; {results['minutes']:.0f} minutes in all.
Adam, label smoothing 0.1, dropout 0.1 ({'everywhere' if s['dropout'] == 'all' else 'on residuals and embeddings'}). Speed: real target tokens by seconds of their steps.

"""
    if results["doubts"]:
        text += "**The machine was too busy or too uneven for reliable figures.** " + "; ".join(results["doubts"]) + ".\n\n"
    else:
        text += (f"The machine was quiet: in no run or trial did others take more than {100 * BUSY_SHARE:.0f} % of the cores, "
                 f"and no row varied by more than {100 * WIDE_SPREAD:.0f} %.\n\n")
    if s["quick"]:
        text += "**The short form: it shows that everything runs; nothing in it is to be quoted.**\n\n"
    for failure in results["failures"]:
        text += f"Failed, and left out: {failure}\n\n"
    sections = list(cases(results)) + parts(results) + [trials(results)]
    for name, operators in results["operators"].items():
        sections.append(f"## Shares of PyTorch's operators: {name}\n\n" + markdown(
            ["operator", "of its CPU time"], [[o, f"{100 * share:.1f} %"] for o, share in operators]))
    return text + "\n".join(sections + [load(results)])
