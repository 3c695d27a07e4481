"""tests/emulation/coverage_table.py: makes a table of gcov's counts of our kernels: lines and branches of each file, and
every branch that was never taken.

A branch is one outcome of a condition: of an if, a loop, && and ||, ?:. Exceptions do not count. A template's branch is
taken if any instance takes it. Instances of a line have different branches if a constant decides, so a branch is
identified also by the number of branches of the line in its instance.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys

SUFFIXES = (".cu", ".cuh")


def functions_of(gcno, source):
    """Yields (file, line, function, count, branches) of gcov's report on one object; branches without exceptions'."""
    report = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout", str(gcno)],
                            check=True, capture_output=True, text=True).stdout
    for text in report.splitlines():
        for file in json.loads(text)["files"]:
            name = file["file"]
            if pathlib.Path(name).is_absolute() and pathlib.Path(name).is_relative_to(source):
                name = str(pathlib.Path(name).relative_to(source))
            if not name.startswith("tensor/cuda/") or not name.endswith(SUFFIXES):
                continue
            for line in file["lines"]:
                yield (name, line["line_number"], line.get("function_name", ""), line["count"],
                       without_exceptions(line["branches"]))


def without_exceptions(branches):
    """A call that may throw has two branches, for the return and for the exception. Neither belongs to a condition."""
    kept = []
    skip_next = False
    for branch in branches:
        if skip_next:
            skip_next = False
        elif branch["throw"]:
            if kept and kept[-1]["fallthrough"]:
                kept.pop()
            else:
                skip_next = True
        else:
            kept.append(branch)
    return kept


class Line:
    def __init__(self):
        self.count = 0
        self.branches = collections.defaultdict(dict)  # (how many, which) -> {instance: count}


def read(objects, source):
    """{file: {line number: Line}} of all objects together; a function of a header that several objects have is one."""
    files = collections.defaultdict(lambda: collections.defaultdict(Line))
    for gcno in sorted(objects.rglob("*.gcno")):
        for name, number, function, count, branches in functions_of(gcno, source):
            line = files[name][number]
            line.count += count
            for which, branch in enumerate(branches):
                counts = line.branches[len(branches), which]
                counts[function] = counts.get(function, 0) + branch["count"]
    return files


def table(files):
    rows = ["| file | lines | entered | branches | entered | in instances | entered |", "|---|--:|--:|--:|--:|--:|--:|"]
    total = [0] * 6
    for name in sorted(files):
        lines = files[name].values()
        branches = [counts for line in lines for counts in line.branches.values()]
        each = [count for counts in branches for count in counts.values()]
        row = [len(lines), sum(line.count > 0 for line in lines), len(branches), sum(any(b.values()) for b in branches),
               len(each), sum(count > 0 for count in each)]
        total = [a + b for a, b in zip(total, row)]
        rows.append(f"| {name.removeprefix('tensor/cuda/')} | " + " | ".join(map(str, row)) + " |")
    rows.append("| **all** | " + " | ".join(map(str, total)) + " |")
    return rows


def never_entered(files, source):
    """Three lists of places: branches, lines, and branches of single instances of templates."""
    branches, lines, instances = [], [], []
    for name in sorted(files):
        text = (source / name).read_text().splitlines()
        for number in sorted(files[name]):
            where, code = f"{name}:{number}", f"`{text[number - 1].strip()}`"
            if files[name][number].count == 0:
                lines.append(f"{where}: {code}")
            for (of, which), counts in sorted(files[name][number].branches.items()):
                place = f"{where}, branch {which + 1} of {of}: {code}"
                if not any(counts.values()):
                    branches.append(place)
                else:
                    instances += [f"{place} in {function}" for function, count in counts.items() if count == 0]
    return branches, lines, instances


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--objects", type=pathlib.Path, required=True, help="folder with .gcno and .gcda")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--instances", action="store_true", help="list what single instances never enter, too")
    args = parser.parse_args()

    files = read(args.objects, args.source)
    if not files:
        sys.exit(f"{args.objects} has no counts of tensor/cuda")
    branches, lines, instances = never_entered(files, args.source)
    report = table(files)
    for title, items in (("Branches never entered", branches), ("Lines never entered", lines),
                         ("Never entered by an instance", instances if args.instances else [])):
        if items:
            report += ["", f"{title}: {len(items)}", ""] + [f"- {item}" for item in items]
    args.output.write_text("\n".join(report) + "\n")
    print("\n".join(report))
    sys.exit(1 if branches else 0)


if __name__ == "__main__":
    main()
