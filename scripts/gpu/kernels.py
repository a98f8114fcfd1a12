#!/usr/bin/env python3
"""Sums up `ncu --csv` by kernel: launches, time, share, mean of the memory bandwidth's share of the peak.

    python3 kernels.py profile.csv

Reads the metrics gpu__time_duration.sum and dram__throughput.avg.pct_of_peak_sustained_elapsed; prints the 25 kernels
that take the most time.
"""
import csv
import re
import sys
from collections import defaultdict

TIME, MEMORY = "gpu__time_duration.sum", "dram__throughput.avg.pct_of_peak_sustained_elapsed"
MICROSECONDS = {"nsecond": 1e-3, "ns": 1e-3, "usecond": 1.0, "us": 1.0, "msecond": 1e3, "ms": 1e3, "second": 1e6, "s": 1e6}


def rows(path):
    """The table's rows as dictionaries; ncu prints the program's output and its own before it."""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    head = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if head is None:
        sys.exit(f"kernels: {path} has no table of ncu's")
    return csv.DictReader(line for line in lines[head:] if line.startswith('"'))


def short(name):
    """Without return type, arguments and template arguments, as in dptrain::kernels::cuda::pool_forward."""
    depth, kept = 0, []
    for letter in re.sub(r"^void ", "", name):
        depth -= letter == ">"
        if depth == 0 and letter == "(" and kept and not "".join(kept).endswith("::"):
            break
        if depth == 0 and letter != ">":
            kept.append(letter)
        depth += letter == "<"
    return "".join(kept).replace("<", "").replace("(anonymous namespace)::", "")[-70:]


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    time, memory, launches = defaultdict(float), defaultdict(list), defaultdict(set)
    for row in rows(sys.argv[1]):
        name, value = short(row["Kernel Name"]), row["Metric Value"].replace(",", "")
        launches[name].add(row["ID"])
        if row["Metric Name"] == TIME:
            time[name] += float(value) * MICROSECONDS[row["Metric Unit"]]
        elif row["Metric Name"] == MEMORY:
            memory[name].append(float(value))
    if not time:
        sys.exit(f"kernels: {sys.argv[1]} has no {TIME}")
    total = sum(time.values())
    print(f"{'kernel':<70} {'launches':>8} {'us':>10} {'share':>6} {'memory':>7}")
    for name in sorted(time, key=time.get, reverse=True)[:25]:
        mean = f"{sum(memory[name]) / len(memory[name]):.0f} %" if memory[name] else "-"
        print(f"{name:<70} {len(launches[name]):>8} {time[name]:>10.1f} {100 * time[name] / total:>4.0f} % {mean:>7}")


if __name__ == "__main__":
    main()
