"""Makes tables: medians, spreads, ratios by round, and warnings if the machine was too busy."""
from statistics import median

from machine import BUSY_SHARE

WIDE_SPREAD = 0.10  # of the median: between the slowest and the fastest run


def rate(steps):
    """Target tokens per second over all steps together, so that slow steps count with their time."""
    return sum(s["target_tokens"] for s in steps) / sum(s["seconds"] for s in steps)


def spread(values):
    return (max(values) - min(values)) / median(values)


def ratios(ours, theirs):
    """Ratios by round, so that a slow phase of the machine affects both."""
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} rounds against {len(theirs)}")
    return [a / b for a, b in zip(ours, theirs)]


def crowded(runs, what="runs"):
    """A list with one sentence if other processes used the cores, otherwise empty."""
    shares = [max(r["others"], r["stolen"]) for r in runs]
    busy = [share for share in shares if share > BUSY_SHARE]
    return [f"{len(busy)} of {len(runs)} {what} shared the cores with other processes or virtual machines, which took up to "
            f"{100 * max(busy):.0f} % of them (limit {100 * BUSY_SHARE:.0f} %)"] if busy else []


def doubts(runs, trials=()):
    """Reasons why the figures of these runs are unreliable; empty if there are none."""
    found = crowded(runs) + crowded([t for t in trials if "others" in t], "trials of PyTorch's forms")
    by_contestant = {}
    for run in runs:
        by_contestant.setdefault((run["case"], run["contestant"]), []).append(run["tokens_per_second"])
    wide = {name: spread(values) for name, values in by_contestant.items() if spread(values) > WIDE_SPREAD}
    if wide:
        (case, contestant), worst = max(wide.items(), key=lambda item: item[1])
        found.append(f"{len(wide)} of {len(by_contestant)} rows vary by more than {100 * WIDE_SPREAD:.0f} % between rounds, "
                     f"most of all {contestant} in {case} ({100 * worst:.0f} %)")
    return found


def markdown(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def summary(runs, case, contestant, opponent):
    """One row of a case's table; None without runs."""
    mine = [r for r in runs if r["case"] == case and r["contestant"] == contestant]
    theirs = [r for r in runs if r["case"] == case and r["contestant"] == opponent]
    if not mine:
        return None
    speeds = [r["tokens_per_second"] for r in mine]
    result = {"case": case, "contestant": contestant, "rounds": len(mine), "tokens_per_second": median(speeds),
              "slowest": min(speeds), "fastest": max(speeds), "spread": spread(speeds),
              "gflops": median(r["gflops"] for r in mine), "fill": median(r["fill"] for r in mine),
              "loss": median(r["loss"] for r in mine), "peak_mib": max(r["peak_mib"] for r in mine)}
    if theirs and contestant != opponent:
        found = ratios(speeds, [r["tokens_per_second"] for r in theirs])
        result |= {"opponent": opponent, "ratio": median(found), "lowest_ratio": min(found), "highest_ratio": max(found)}
    return result


def summary_cells(s):
    ratio = f"**{s['ratio']:.2f}** ({s['lowest_ratio']:.2f}-{s['highest_ratio']:.2f})" if "ratio" in s else ""
    return [s["contestant"], f"{s['tokens_per_second']:.0f} ({s['slowest']:.0f}-{s['fastest']:.0f})",
            f"{100 * s['spread']:.0f} %", f"{s['gflops']:.0f}", f"{100 * s['fill']:.1f} %", f"{s['loss']:.3f}",
            f"{s['peak_mib']:.0f}", ratio]


def self_check():
    steps = [{"target_tokens": 100, "seconds": 1.0}, {"target_tokens": 100, "seconds": 3.0}]
    assert rate(steps) == 50  # not the mean of the rates, 66.7
    assert ratios([20, 30], [10, 10]) == [2, 3]
    assert abs(spread([90, 100, 110]) - 0.2) < 1e-12

    def run(contestant, speed, others=0.0, stolen=0.0):
        return {"case": "c", "contestant": contestant, "tokens_per_second": speed, "others": others, "stolen": stolen,
                "gflops": 1, "fill": 1, "loss": 1, "peak_mib": 1}
    # A machine at half speed in one round: medians of the speeds would give 1.0, the rounds' ratios give 2.
    runs = [run("a", s) for s in (100, 50, 50)] + [run("b", s) for s in (50, 25, 25)]
    row = summary(runs, "c", "a", "b")
    assert (row["ratio"], row["lowest_ratio"], row["highest_ratio"], row["tokens_per_second"]) == (2, 2, 2, 50)
    assert "ratio" not in summary(runs, "c", "b", "b") and summary(runs, "c", "x", "b") is None
    assert not doubts([run("a", 100), run("a", 101)])
    assert "1 of 2 runs" in doubts([run("a", 100, others=0.3), run("a", 100)])[0]
    assert "1 of 1 trials" in doubts([run("a", 100)], [run("a", 90, others=0.2), {"failed": "no compiler"}])[0]
    assert "30 %" in doubts([run("a", 100, stolen=0.3)])[0]
    assert "vary" in doubts([run("a", 100), run("a", 150)])[0]
    assert markdown(["a", "b"], [[1, 2]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |\n"
